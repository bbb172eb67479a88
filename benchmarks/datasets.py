"""The data that is measured on: real where it is there, else made up in the same shape."""

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from sqrl import load_schema
from sqrl_paper.cardio.made import make_cardio

Bools = NDArray[np.bool_]
Columns = dict[str, NDArray[Any]]
ROWS = 70_000
ROWS_QUICK = 24_000  # enough for the schema's mini-batches of 4,096 from 18.75 % held out
BUCKETED = ("age", "height", "weight", "ap_hi", "ap_lo")
PERCENTILES = (5, 20, 35, 50, 65, 80, 95)
FACTORS = (
    *("multiple_objects", "background", "color", "brighter", "darker", "style", "larger"),
    *("smaller", "object_blocking", "person_blocking", "partial_view", "pattern", "pose"),
    *("shape", "subcategory", "texture"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Cardio:
    """The cardio table: its file, its columns, and whether it is the real one."""

    path: Path
    columns: Columns
    is_real: bool

    @property
    def n_rows(self) -> int:
        """How many patients there are."""
        return len(self.columns["cardio"])

    @property
    def head(self) -> Bools:
        """Who has the disease."""
        return np.asarray(self.columns["cardio"] == 1)


def data_folder(given: Path | None) -> Path:
    """The folder given, else that of `SQRL_DATA`, else `./data`."""
    return given or Path(os.environ.get("SQRL_DATA", "data"))


def read_cardio(folder: Path, scratch: Path, *, quick: bool, seed: int) -> Cardio:
    """The real table, or one made up and written to `scratch`."""
    path = folder / "cardio" / "cardio_train.csv"
    if path.exists():
        options = pyarrow.csv.ParseOptions(delimiter=";")
        table = pyarrow.csv.read_csv(path, parse_options=options)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        return Cardio(path, columns, True)
    columns = make_cardio(ROWS_QUICK if quick else ROWS, seed=seed)
    path = scratch / "cardio_train.csv"
    pyarrow.csv.write_csv(pa.table(columns), path, pyarrow.csv.WriteOptions(delimiter=";"))
    return Cardio(path, columns, False)


def cardio_features(columns: Mapping[str, NDArray[Any]], fit: NDArray[np.int64]) -> Bools:
    """The paper's 52 boolean features of every row, cut at the percentiles of the rows `fit`.

    Buckets that hold no row, because percentiles coincide, are kept as features that are never
    true. Shapes: result (52, n_rows).
    """
    features: list[Bools] = []
    for name in BUCKETED:
        values = columns[name]
        bucket = np.searchsorted(np.percentile(values[fit], PERCENTILES), values, side="left")
        features += [bucket == index for index in range(len(PERCENTILES) + 1)]
    for name in ("cholesterol", "gluc"):
        features += [columns[name] == value for value in (1, 2, 3)]
    for name in ("smoke", "alco", "active"):
        features += [columns[name] == value for value in (0, 1)]
    return np.array(features)


def made_features(n_features: int, n_rows: int, seed: int) -> tuple[Bools, Bools]:
    """Booleans of many densities, and a head: shapes (n_features, n_rows) and (n_rows,)."""
    rng = np.random.default_rng(seed)
    shares = rng.uniform(0.02, 0.5, (n_features, 1))
    return rng.random((n_features, n_rows)) < shares, rng.random(n_rows) < 0.5


def write_booleans(true: Bools, head: Bools, path: Path) -> Path:
    """A table of columns f0, f1, ... of 0 and 1 and a column `cardio`."""
    columns = {f"f{index}": row.astype(np.int8) for index, row in enumerate(true)}
    pyarrow.parquet.write_table(pa.table(columns | {"cardio": head.astype(np.int8)}), path)
    return path


def boolean_schema(
    n_features: int,
    *,
    literals: int = 3,
    over: int = 4096,
    train: int = 67,
    valid: int = 22,
) -> dict[str, Any]:
    """The cardio schema with free booleans: no two of them exclude each other."""
    cardio = load_schema("cardio")
    assert cardio.validate
    names = ", ".join(f"f{index} = 1" for index in range(n_features))
    return {
        "coverage": cardio.coverage,
        "let": {"Y": "values(cardio)", "L": f"literals({names})"},
        "rules": [f"? <= f1(L{{1..{literals}}} => cardio = Y) <= ? over {over}"],
        "batches": {"train": train, "valid": valid},
        "bounds": {"min_support": min(train, 50)},
        "validate": {"epsilon": cardio.validate.epsilon, "share": cardio.validate.share},
        "select": {"top": 200, "per": "Y", "by": "lower"},
    }


def read_imagenet_x(folder: Path, *, seed: int) -> tuple[Columns, bool]:
    """The train annotations' 16 factors and the metaclass, and whether they are the real ones."""
    root = folder / "imagenet_x"
    annotations = root / "annotations" / "imagenet_x_train_multi_factor.jsonl.gz"
    if not annotations.exists():
        return _made_imagenet_x(seed), False
    metaclass = {}
    for line in (root / "class_to_17_metaclasses.csv").read_text().splitlines()[1:]:
        number, name = line.split(",")[:2]
        metaclass[int(number)] = name
    with gzip.open(annotations, "rt") as file:
        records = [json.loads(line) for line in file]
    columns = {name: np.array([record[name] for record in records]) for name in FACTORS}
    columns["metaclass"] = np.array([metaclass[record["class"]] for record in records])
    return columns, True


def _made_imagenet_x(seed: int, n: int = 11_233) -> Columns:
    rng = np.random.default_rng(seed)
    shares = rng.beta(0.3, 2, len(FACTORS))
    columns: Columns = {
        name: (rng.random(n) < share).astype(np.int64)
        for name, share in zip(FACTORS, shares, strict=True)
    }
    columns["metaclass"] = np.array([f"m{index % 17}" for index in range(n)])
    return columns


def made_task_tables(seed: int) -> dict[str, dict[str, Any]]:
    """Small tables for the schemas whose number of rules does not depend on the data."""
    rng = np.random.default_rng(seed)
    n = 300
    left, top = rng.uniform(0, 900, n), rng.uniform(0, 200, n)
    boxes = {
        "type": rng.choice(load_schema("detection").let["Y"], n).tolist(),
        "left": left,
        "top": top,
        "right": left + rng.uniform(5, 300, n),
        "bottom": top + rng.uniform(5, 150, n),
    }
    vitals = {str(name): rng.normal(size=n) for name in load_schema("imputation").let["A"]}
    topics = {str(name): rng.random(n) for name in load_schema("sentiment").let["A"]}
    sentiment = rng.choice(["negative", "neutral", "positive"], n).tolist()
    return {
        "detection": boxes,
        "imputation": vitals,
        "sentiment": {**topics, "sentiment": sentiment},
    }
