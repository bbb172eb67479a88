"""A cardio table made up in the published format, for a look where the real one is not there."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

FILE = "cardio/cardio_train.csv"  # as `sqrl_paper.cardio.task` has it, which would import torch

N_ROWS = 2000


def write_cardio(folder: Path, *, n_rows: int = N_ROWS, seed: int = 0) -> Path:
    """The file, written where the reader looks for it: age and pressure make the disease likelier.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_cardio(Path(folder), n_rows=10).read_text().partition(";")[0]
    '"id"'
    """
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = pa.table(make_cardio(n_rows, seed=seed))
    pyarrow.csv.write_csv(columns, path, pyarrow.csv.WriteOptions(delimiter=";"))
    return path


def make_cardio(n_rows: int, *, seed: int) -> dict[str, np.ndarray]:
    """The columns of the table, most of them independent of each other."""
    rng = np.random.default_rng(seed)
    age = rng.normal(19_469, 2_467, n_rows).round()
    ap_hi = 10 * rng.normal(12.7, 1.7, n_rows).round()
    risk = (age - 19_469) / 4_000 + (ap_hi - 127) / 15
    return {
        "id": np.arange(n_rows),
        "age": age.astype(np.int64),
        "gender": rng.integers(1, 3, n_rows),
        "height": rng.normal(164, 8, n_rows).round().astype(np.int64),
        "weight": rng.normal(74, 14, n_rows).round(),
        "ap_hi": ap_hi.astype(np.int64),
        "ap_lo": (10 * rng.normal(8.1, 1.0, n_rows).round()).astype(np.int64),
        "cholesterol": rng.choice([1, 2, 3], n_rows, p=[0.75, 0.135, 0.115]),
        "gluc": rng.choice([1, 2, 3], n_rows, p=[0.85, 0.07, 0.08]),
        "smoke": (rng.random(n_rows) < 0.088).astype(np.int64),
        "alco": (rng.random(n_rows) < 0.054).astype(np.int64),
        "active": (rng.random(n_rows) < 0.8).astype(np.int64),
        "cardio": (rng.random(n_rows) < 1 / (1 + np.exp(-risk))).astype(np.int64),
    }
