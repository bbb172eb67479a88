"""A table with a model's predictions in the place of its label, and a model that is worse.

Boosted trees learn from a quarter of the rows, which are then left out; the worse model has seen 60
of them. What arrives in production has no true label, so the label goes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from pandas.api.types import is_numeric_dtype

Frame = Any  # pandas has no types here
PREDICTION = "prediction"
FEW = 60  # rows that the worse model has seen
MOST = 8_000  # rows that a model learns from


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """Rows with predictions, and what a worse model would predict of such rows."""

    frame: Frame
    worse: Callable[[Frame], Any]


def predict(frame: Frame, label: str, rng: Generator) -> Predicted:
    """The rows that no model has seen, with the predictions of the good one."""
    order = rng.permutation(len(frame))
    n_seen = min(len(frame) // 4, MOST)
    seen, rest = frame.iloc[order[:n_seen]], frame.iloc[order[n_seen:]].reset_index(drop=True)
    good, worse = fit_model(seen, label), fit_model(seen[:FEW], label)
    features = rest.drop(columns=label)
    return Predicted(features.assign(**{PREDICTION: good(features)}), worse)


def fit_model(seen: Frame, label: str) -> Callable[[Frame], Any]:
    """What boosted trees that saw these rows predict of others; ids are left out."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    names = [name for name in seen if name != label and not _is_id(seen[name])]
    words = {
        name: {word: place for place, word in enumerate(sorted(seen[name].dropna().unique()))}
        for name in names
        if not is_numeric_dtype(seen[name])
    }

    def coded(rows: Frame) -> Frame:
        return pd.DataFrame(
            {
                name: rows[name].map(words[name]).fillna(-1) if name in words else rows[name]
                for name in names
            }
        ).astype(float)

    def predicted(rows: Frame) -> Any:
        with threadpool_limits(1):
            return model.predict(coded(rows))

    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    with threadpool_limits(1):  # threads that wait for each other on a busy machine
        model.fit(coded(seen), seen[label].to_numpy())
    return predicted


def _is_id(values: Frame) -> bool:
    return bool(is_numeric_dtype(values) and values.is_unique and np.all(values % 1 == 0))
