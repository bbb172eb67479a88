"""Extractors for texts and images: a column of them becomes numbers that rules can name.

    sentiment = sqrl.extract.texts("review", "models/sentiment")
    rules = sqrl.learn("reviews.csv", extractors=[sentiment])
    found = sqrl.check(rules, "new.csv", extractors=[sentiment])

The model is a folder of Hugging Face's transformers on this machine, one of its pipelines, or any
function. Nothing is downloaded, and no code and no pickle of a folder is run.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._data.extractors import Batch, Extractor
from sqrl._kernels.arrays import Floats
from sqrl._progress import Bar, Track
from sqrl.errors import DataError
from sqrl.extract._images import open_image
from sqrl.extract._names import column_names
from sqrl.extract._scorers import Scorer, scorer_of

__all__ = ["images", "texts"]

ALL_ROWS = 1 << 62  # batches are made of distinct values, here
DIGITS = 6  # a score depends a little on the texts that it was computed beside


def texts(
    column: str,
    model: Any,
    *,
    labels: Sequence[str] | None = None,
    prefix: str | None = None,
    batch_size: int = 32,
    track: Track | None = None,
) -> Extractor:
    """An extractor that gives each text of a column a score for each label.

    `model` is a folder, and what is in it says what scores are: a classifier's probabilities of its
    labels, or of those named; of a model of entailment the probabilities of any `labels`
    (zero-shot); of a model without a head how near a text is to each of them (the cosine of mean
    embeddings). A pipeline of transformers does the same. A function takes a list of texts and
    gives a number for each of the `labels`: an array (texts, labels).

    A column is named by `prefix`, which is the name of the texts' column and `_` unless given, and
    the label in small letters. Texts that are missing or blank have nan. Each text is computed
    once.

    >>> count = texts("said", lambda batch: [[len(text)] for text in batch], labels=["length"])
    >>> count({"said": ["well", None]})["said_length"].values.tolist()
    [4.0, nan]
    """
    score = scorer_of(model, labels, "text")
    return _extractor("texts", column, score, lambda text: text, prefix, batch_size, track)


def images(
    column: str,
    model: Any,
    *,
    labels: Sequence[str] | None = None,
    folder: str | Path = ".",
    prefix: str | None = None,
    batch_size: int = 8,
    track: Track | None = None,
) -> Extractor:
    """An extractor that gives each image that a column names a score for each label.

    As `texts`: of a classifier of images the probabilities of its labels, of a model of images and
    texts (CLIP) those of any `labels`. A function takes a list of images of Pillow, in RGB. The
    column has paths of files that lie in `folder`; where one is missing, scores are nan.
    """
    score = scorer_of(model, labels, "image")
    within = Path(folder).expanduser()
    return _extractor(
        "images", column, score, lambda name: open_image(name, within), prefix, batch_size, track
    )


def _extractor(
    kind: str,
    column: str,
    score: Scorer,
    prepare: Callable[[str], Any],
    prefix: str | None,
    batch_size: int,
    track: Track | None,
) -> Extractor:
    names = column_names(score.labels, f"{column}_" if prefix is None else prefix)

    def extract(batch: Batch) -> dict[str, Floats]:
        given = [_text_or_none(value, column) for value in batch[column]]
        distinct = sorted(
            {one for one in given if one is not None}, key=lambda one: (len(one), one)
        )
        scores = _score_all(score, prepare, distinct, batch_size, track)
        place = {one: at for at, one in enumerate(distinct)}
        missing = len(distinct)
        rows = np.array([missing if one is None else place[one] for one in given], np.int64)
        return {name: scores[rows, at] for at, name in enumerate(names)}

    called = f"sqrl.extract.{kind}({column!r}, ...)"
    return Extractor(extract, called, (column,), tuple(names), ALL_ROWS)


def _score_all(
    score: Scorer,
    prepare: Callable[[str], Any],
    distinct: Sequence[str],
    batch_size: int,
    track: Track | None,
) -> Floats:
    """Scores of all texts, some at a time, and a last row of nan for those that are missing."""
    made = np.full((len(distinct) + 1, len(score.labels)), np.nan)
    with Bar() as bar:
        for start in range(0, len(distinct), batch_size):
            some = [prepare(one) for one in distinct[start : start + batch_size]]
            made[start : start + len(some)] = score(some)
            (track or bar)("extract", start + len(some), len(distinct))
    return np.round(made, DIGITS)


def _text_or_none(value: object, column: str) -> str | None:
    """A text; None where it is missing or blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(
            f"Column {column!r} holds numbers.", where=column, fix="name a column of texts"
        )
    return value if value.strip() else None
