"""The tables that models are trained on by rules: real ones, and those that scikit-learn ships."""

import gzip
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

LABEL = "y"
SHIPPED = ("breast_cancer", "wine", "digits")
STATIC = ("RecordID", "Age", "Gender", "Height", "ICUType")
LEFT_OUT = ("DontCare", "Misc")
SAME_KIND = {"person": "Pedestrian", "car": "Car", "truck": "Truck"}  # of Cityscapes in KITTI


FILES = {  # of each real table, in the data folder
    "cardio": ("cardio/cardio_train.csv",),
    "physionet": ("physionet2012/set-a.tar.gz", "physionet2012/Outcomes-a.txt"),
    "phrasebank": ("phrasebank/Sentences_50Agree.txt",),
    "kitti": ("kitti/data_object_label_2.zip", "kitti/frames.csv"),
    "cityscapes": ("cityscapes/instancesonly_filtered_gtFine_val.json.gz",),
}


def read_cardio(folder: Path) -> pd.DataFrame:
    """A row a patient; `y` is whether he or she has the disease."""
    table = pd.read_csv(folder / "cardio" / "cardio_train.csv", sep=";")
    return table.drop(columns="id").rename(columns={"cardio": LABEL})


def read_physionet(folder: Path) -> pd.DataFrame:
    """A row a patient: the mean and the last value of each series, and whether he or she died."""
    place = folder / "physionet2012"
    died = pd.read_csv(place / "Outcomes-a.txt").set_index("RecordID")["In-hospital_death"]
    rows = []
    with tarfile.open(place / "set-a.tar.gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".txt") else None
            if file is None:
                continue
            lines = pd.read_csv(file)
            lines = lines[lines["Value"] != -1]
            values = lines.groupby("Parameter")["Value"]
            record = int(Path(member.name).stem)
            row = {LABEL: int(died[record])}
            row |= {f"{k}_mean": v for k, v in values.mean().items() if k != "RecordID"}
            row |= {f"{k}_last": v for k, v in values.last().items() if k not in STATIC}
            rows.append(row)
    return pd.DataFrame(rows)


def read_kitti(folder: Path) -> pd.DataFrame:
    """A row a box: where it lies and how large it is, as shares of the image, and its class."""
    sizes = pd.read_csv(folder / "kitti" / "frames.csv").astype({"frame": str})
    sizes["frame"] = sizes["frame"].str.zfill(6)
    by_frame = sizes.set_index("frame")[["img_w", "img_h"]].to_dict("index")
    boxes = list(_kitti_boxes(folder, by_frame))
    return _geometry(pd.DataFrame(boxes, columns=[LABEL, "left", "top", "right", "bottom"]))


def _kitti_boxes(folder: Path, sizes: dict[str, dict[str, float]]) -> Iterator[tuple[object, ...]]:
    with zipfile.ZipFile(folder / "kitti" / "data_object_label_2.zip") as archive:
        for name in sorted(archive.namelist()):
            size = sizes.get(Path(name).stem)
            if size is None or not name.endswith(".txt"):
                continue
            for line in archive.read(name).decode().splitlines():
                kind, *rest = line.split()
                if kind not in LEFT_OUT:
                    left, top, right, bottom = map(float, rest[3:7])
                    width, height = size["img_w"], size["img_h"]
                    yield kind, left / width, top / height, right / width, bottom / height


def read_cityscapes(folder: Path) -> pd.DataFrame:
    """Boxes of Cityscapes, of the classes that KITTI has too."""
    path = folder / "cityscapes" / "instancesonly_filtered_gtFine_val.json.gz"
    with gzip.open(path) as file:
        content = json.load(file)
    kinds = {one["id"]: SAME_KIND.get(one["name"]) for one in content["categories"]}
    sizes = {one["id"]: (one["width"], one["height"]) for one in content["images"]}
    boxes = []
    for one in content["annotations"]:
        kind, (width, height) = kinds[one["category_id"]], sizes[one["image_id"]]
        if kind is not None:
            x, y, w, h = one["bbox"]
            boxes.append((kind, x / width, y / height, (x + w) / width, (y + h) / height))
    return _geometry(pd.DataFrame(boxes, columns=[LABEL, "left", "top", "right", "bottom"]))


def _geometry(boxes: pd.DataFrame) -> pd.DataFrame:
    boxes = boxes[(boxes.right > boxes.left) & (boxes.bottom > boxes.top)].copy()
    boxes["width"], boxes["height"] = boxes.right - boxes.left, boxes.bottom - boxes.top
    boxes["ratio"], boxes["area"] = boxes.width / boxes.height, boxes.width * boxes.height
    boxes["x_center"] = (boxes.left + boxes.right) / 2
    return boxes


def read_phrasebank(folder: Path) -> pd.DataFrame:
    """A row a sentence: the shares of its words with an emotion or of a topic; its sentiment."""
    from sqrl_paper.sentiment.lexicons import read_nrc
    from sqrl_paper.sentiment.phrasebank import read_phrasebank as read
    from sqrl_paper.sentiment.text_features import WORD, lexicon_features

    phrases = read(folder, agreement=50)
    features = lexicon_features(phrases.texts)
    table = pd.DataFrame({name: features[name].values for name in features.names})
    listed = read_nrc()
    for mood in ("positive", "negative"):
        words = [[word.lower() for word in WORD.findall(text)] for text in phrases.texts]
        table[mood] = [sum(w in listed[mood] for w in some) / max(1, len(some)) for some in words]
    for name in ("rose", "fell", "up", "down", "from", "increase", "decrease", "loss", "profit"):
        table[f"says_{name}"] = [int(name in text.lower().split()) for text in phrases.texts]
    table["n_words"] = [len(text.split()) for text in phrases.texts]
    table[LABEL] = phrases.sentiments
    return table


def read_shipped(name: str) -> pd.DataFrame:
    """A table of scikit-learn."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    table: pd.DataFrame = bunch.data.copy()
    table[LABEL] = np.asarray(bunch.target)
    return table


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "cardio": read_cardio,
    "physionet": read_physionet,
    "phrasebank": read_phrasebank,
    "kitti": read_kitti,
    **{name: lambda _folder, name=name: read_shipped(name) for name in SHIPPED},  # type: ignore[misc]
}
