"""Tabular classification: who has a cardiovascular disease, in 70,000 patients' records.

The Cardiovascular Disease data set: age in days, gender, height, weight, blood pressure, and what
patients say of themselves. The file is used as it is published, with its impossible pressures.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import nn

from sqrl import RuleSet, Table, learn, read_table, shuffle_rows
from sqrl.errors import DataError
from sqrl_paper.cardio.ft_transformer import Size, make_ft_transformer
from sqrl_paper.cardio.inputs import TableInputs, fit_inputs, labels_of
from sqrl_paper.shared.checkpoints import load_or_train
from sqrl_paper.shared.data_files import find_file
from sqrl_paper.shared.training import Examples, Training, train_classifier

FILE = "cardio/cardio_train.csv"
TITLE = "Cardiovascular Disease dataset"
PAGE = "https://www.kaggle.com/datasets/sulianova/cardiovascular-disease-dataset"
N_ROWS = 70_000
LABEL = "cardio"
NUMBERS = ("age", "height", "weight", "ap_hi", "ap_lo")
CATEGORIES = ("gender", "cholesterol", "gluc", "smoke", "alco", "active")
SHARES = {"train": 0.65, "valid": 0.15}  # the rest is for testing
SCHEMA = "cardio"


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The rows to learn from, those to choose by, and those to test on."""

    train: Table
    valid: Table
    test: Table


def read_cardio(folder: str | Path | None = None, *, n_rows: int | None = N_ROWS) -> Table:
    """The table of patients in `cardio/cardio_train.csv` of the data folder, checked.

    Without a `folder`, `SQRL_DATA` and `./data` are tried. A file with another number of rows
    than published is taken for damaged; `n_rows=None` takes any.
    """
    path = find_file(folder, FILE, title=TITLE, page=PAGE)
    table = read_table(path, separator=";")
    absent = [name for name in (*NUMBERS, *CATEGORIES, LABEL) if name not in table]
    if absent:
        raise _damaged(f"There is no column named {absent[0]!r}.", path)
    for name in (*NUMBERS, *CATEGORIES, LABEL):
        column = table[name]
        if column.kind != "number" or column.missing().any():
            raise _damaged(f"Column {name!r} has values that are not numbers.", path)
    if n_rows is not None and table.n_rows != n_rows:
        raise _damaged(f"There are {table.n_rows:,} rows instead of {n_rows:,}.", path)
    labels = table[LABEL].distinct()
    if labels != (0, 1):
        raise _damaged(f"Column {LABEL!r} has other values than 0 and 1.", path)
    return table


def split_cardio(table: Table, *, seed: int) -> Parts:
    """The rows in three parts, 65, 15 and 20 in a hundred, drawn by the seed.

    >>> from sqrl import as_table
    >>> parts = split_cardio(as_table({"age": list(range(100))}), seed=0)
    >>> len(parts.train), len(parts.valid), len(parts.test)
    (65, 15, 20)
    """
    n_train, n_valid = (round(table.n_rows * share) for share in SHARES.values())
    order = shuffle_rows(table.n_rows, seed=seed)
    train, valid, test = np.split(order, [n_train, n_train + n_valid])
    return Parts(table.take(train), table.take(valid), table.take(test))


def learn_cardio(
    parts: Parts, *, seed: int, track: Callable[[str, int, int], None] | None = None
) -> RuleSet:
    """The paper's rules for the task: bounds from the train part, checked on the valid part."""
    return learn(parts.train, SCHEMA, valid=parts.valid, seed=seed, track=track)


def fit_cardio_inputs(parts: Parts) -> TableInputs:
    """What the network is given of a table, with means and spreads from the train part alone."""
    return fit_inputs(parts.train, numbers=NUMBERS, categories=CATEGORIES)


def train_cardio(
    parts: Parts,
    inputs: TableInputs,
    *,
    seed: int,
    size: Size | None = None,
    training: Training | None = None,
    cache: Path | None = None,
    track: Callable[[str, int, int], None] | None = None,
) -> nn.Module:
    """The source model: an FT-Transformer that has seen only the train and valid parts.

    The weights are kept in `cache`, by default a folder of the user's, and trained once.
    """
    chosen, how = size or Size(), training or Training()
    model = make_ft_transformer(
        len(NUMBERS), inputs.cardinalities, n_classes=2, size=chosen, seed=seed
    )

    def train(untrained: nn.Module) -> dict[str, list[float]]:
        train, valid = (
            Examples(inputs(part), labels_of(part, LABEL)) for part in (parts.train, parts.valid)
        )
        losses = train_classifier(untrained, train, valid, training=how, seed=seed, track=track)
        return {"losses": losses}

    key = {
        "train": parts.train.fingerprint(),
        "valid": parts.valid.fingerprint(),
        "size": asdict(chosen),
        "training": asdict(how),
        "seed": seed,
    }
    load_or_train(model, train, name="cardio", key=key, folder=cache)
    return model.eval()


def _damaged(what: str, path: Path) -> DataError:
    return DataError(what, where=str(path), fix=f"fetch it again from {PAGE}")
