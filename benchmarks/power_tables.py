"""The tables that faults are planted in: three made-up ones, and real ones where they are there.

Each is a pandas frame with the types that a reader of CSV gives, and knows its label, if any. Made
dates have a season, as dates do: where every month is alike, nobody can see that months are wrong.
"""

import io
import tarfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng

from power_predictions import PREDICTION, predict

MADE_ROWS = 24_000
CITIES = ("Oslo", "Bergen", "Trondheim", "Stavanger", "Bodo", "Hamar", "Molde")
DEGREES = ("basic", "school", "bachelor", "master", "doctor")
WORDS = ("order", "late", "please", "call", "back", "thanks", "wrong", "size", "gift", "invoice")
PREDICTED = ("cardio", "kitti", "sensor")  # tables whose label a model tells far above chance
SENSES = ("HR", "Temp", "MAP", "SysABP", "Glucose", "Creatinine", "GCS", "Urine", "WBC", "K")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table, which of its columns is a label, and a worse model where the label is predicted."""

    name: str
    frame: pd.DataFrame
    label: str | None
    is_real: bool
    worse: Callable[[Any], Any] | None = None


def tables(folder: Path, wanted: Collection[str] | None = None, *, seed: int) -> Iterator[Source]:
    """Every table that can be had, or those wanted; after a table, that with its predictions."""
    for name, (label, make) in _SOURCES.items():
        with_predictions = f"{name}, predicted"
        if wanted is not None and not {name, with_predictions} & set(wanted):
            continue
        rng = default_rng([seed, crc32(name.encode())])
        try:
            frame = make(folder, rng)
        except FileNotFoundError:
            continue
        is_real = make not in (_people, _orders, _sensor)
        if wanted is None or name in wanted:
            yield Source(name, frame, label, is_real)
        if name in PREDICTED and (wanted is None or with_predictions in wanted):
            assert label is not None
            predicted = predict(frame, label, rng)
            yield Source(with_predictions, predicted.frame, PREDICTION, is_real, predicted.worse)


def _cardio(folder: Path, _rng: Generator) -> pd.DataFrame:
    frame = pd.read_csv(folder / "cardio" / "cardio_train.csv", sep=";")
    sexes = frame["gender"].map({1: "female", 2: "male"})
    levels = {1: "normal", 2: "above", 3: "far above"}
    named = {name: frame[name].map(levels) for name in ("cholesterol", "gluc")}
    return frame.assign(gender=sexes, **named)


def _kitti(folder: Path, _rng: Generator) -> pd.DataFrame:
    from sqrl.boxes import read_boxes

    path = folder / "kitti" / "data_object_label_2.zip"
    if not path.exists():
        raise FileNotFoundError(path)
    boxes = read_boxes(path, images=folder / "kitti" / "frames.csv").table
    kinds = np.array(boxes["type"].categories, object)[boxes["type"].values]
    sides = ("left", "top", "right", "bottom")
    frame = pd.DataFrame({"type": kinds} | {side: boxes[side].values for side in sides})
    return frame.assign(width=frame.right - frame.left, height=frame.bottom - frame.top)


def _physionet(folder: Path, _rng: Generator) -> pd.DataFrame:
    """A row for each patient: what is known on arrival, and the mean of what was measured."""
    path = folder / "physionet2012" / "set-a.tar.gz"
    outcomes = pd.read_csv(folder / "physionet2012" / "Outcomes-a.txt").set_index("RecordID")
    rows = []
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".txt") else None
            if file is None:
                continue
            read = pd.read_csv(io.BytesIO(file.read()))
            known = read[read.Value != -1].groupby("Parameter").Value.mean()
            wanted = ("RecordID", "Age", "Gender", "Height", "Weight", "ICUType", *SENSES)
            rows.append({name: known.get(name, np.nan) for name in wanted})
    frame = pd.DataFrame(rows).astype({"RecordID": int, "ICUType": int, "Age": int})
    died = outcomes.loc[frame.RecordID, "In-hospital_death"].to_numpy()
    units = {1: "coronary", 2: "cardiac surgery", 3: "medical", 4: "surgical"}
    sexes = frame.Gender.map({0: "female", 1: "male"})
    frame = frame.assign(ICUType=frame.ICUType.map(units), Gender=sexes, died=died)
    return frame.drop(columns="RecordID")


def _people(_folder: Path, rng: Generator) -> pd.DataFrame:
    n = MADE_ROWS
    age = rng.integers(18, 80, n)
    degree = rng.choice(5, n, p=(0.15, 0.35, 0.28, 0.17, 0.05))
    experience = np.clip(age - 18 - 2 * degree - rng.gamma(2.0, 2.0, n).astype(int), 0, None)
    city = rng.choice(7, n, p=(0.4, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03))
    log_income = 10.1 + 0.16 * degree + 0.012 * experience + 0.05 * (city == 0)
    income = np.exp(log_income + rng.normal(0, 0.35, n)).round()
    risk = -2.0 + 0.8 * (income < 30_000) - 0.02 * (age - 45) + rng.normal(0, 0.6, n)
    intake = np.where(rng.random(n) < 0.9, rng.integers(212, 304, n), rng.integers(0, 365, n))
    day = np.datetime64("2025-01-01") + intake.astype("timedelta64[D]")  # most from August on
    return pd.DataFrame(
        {
            "id": rng.permutation(n) + 100_000,
            "joined": pd.Series(day).dt.strftime("%Y-%m-%d"),
            "age": age,
            "experience": experience,
            "city": np.array(CITIES)[city],
            "degree": np.array(DEGREES)[degree],
            "degree_level": degree + 1,
            "income": np.where(rng.random(n) < 0.03, np.nan, income),
            "children": rng.poisson(1.2, n),
            "owner": np.where(rng.random(n) < 0.3 + 0.004 * age, "yes", "no"),
            "default": np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no"),
        }
    )


def _orders(_folder: Path, rng: Generator) -> pd.DataFrame:
    n = MADE_ROWS
    country = rng.choice(5, n, p=(0.45, 0.25, 0.15, 0.1, 0.05))
    price = np.round(rng.lognormal(3.0, 0.8, n), 2)
    quantity = 1 + rng.poisson(0.8, n)
    shipping = np.round(4 + 2 * (country > 1) + rng.gamma(2.0, 1.0, n), 2)
    ordered = np.datetime64("2025-03-01") + rng.integers(0, 90, n).astype("timedelta64[D]")
    shipped = ordered + rng.integers(0, 6, n).astype("timedelta64[D]")
    words = np.array(WORDS)[rng.integers(0, len(WORDS), (n, 3))]
    return pd.DataFrame(
        {
            "order_id": np.arange(n) + 1,
            "ordered": pd.Series(ordered).dt.strftime("%Y-%m-%d"),
            "shipped": pd.Series(shipped).dt.strftime("%Y-%m-%d"),
            "country": np.array(["NO", "SE", "DK", "FI", "IS"])[country],
            "currency": np.array(["NOK", "SEK", "DKK", "EUR", "ISK"])[country],
            "price": price,
            "quantity": quantity,
            "shipping": shipping,
            "total": np.round(price * quantity + shipping, 2),
            "channel": rng.choice(["web", "app", "shop"], n, p=(0.6, 0.3, 0.1)),
            "note": [" ".join(line) for line in words],
        }
    )


def _sensor(_folder: Path, rng: Generator) -> pd.DataFrame:
    n = MADE_ROWS
    state = rng.choice(3, n, p=(0.7, 0.25, 0.05))
    load = rng.beta(2, 3, n) * (state > 0) + 0.02 * rng.random(n)
    temperature = 22 + 35 * load + rng.normal(0, 1.5, n)
    speed = np.round(1500 * load + rng.normal(0, 20, n))
    current = 0.8 + 6 * load + 0.002 * (temperature - 22) + rng.normal(0, 0.15, n)
    vibration = rng.gamma(1.5, 0.4, n) * (1 + 3 * (state == 2)) + 0.5 * load
    return pd.DataFrame(
        {
            "machine": rng.choice([f"m{i:02d}" for i in range(1, 13)], n),
            "state": np.array(["idle", "run", "overload"])[state],
            "speed": speed,
            "temperature": np.round(temperature, 2),
            "current": np.round(current, 3),
            "power": np.round(230 * current + rng.normal(0, 10, n), 1),
            "vibration": np.round(vibration, 3),
            "humidity": np.round(np.clip(rng.normal(45, 8, n), 5, 95), 1),
            "door_open": rng.random(n) < 0.02,
        }
    )


def _digits(_folder: Path, _rng: Generator) -> pd.DataFrame:
    from sklearn.datasets import load_digits

    frame: pd.DataFrame = load_digits(as_frame=True).frame
    return frame


_SOURCES: dict[str, tuple[str | None, Callable[[Path, Generator], pd.DataFrame]]] = {
    "people": ("default", _people),
    "orders": (None, _orders),
    "sensor": ("state", _sensor),
    "digits": ("target", _digits),
    "physionet": ("died", _physionet),
    "kitti": ("type", _kitti),
    "cardio": ("cardio", _cardio),
}
