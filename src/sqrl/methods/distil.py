"""Distil: predictions as a classifier of the table makes them, where the model's feed is wrong."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl._adapt.batches import Batch, Categories
from sqrl._adapt.model_copy import device_of
from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError, unknown
from sqrl.methods._logits import Pick, log_probabilities, logits_of
from sqrl.methods._training import training_batches

MOST_ROWS = 20_000  # of the training data
SPREADS = 3  # standard errors that chance is given


class Distil(Objective):
    """KL(classifier || model) beyond what the two differ by on training data; 0 below that.

    `classifier` is any fitted one with `predict_proba`, such as a logistic regression of the
    table's training rows. It predicts from the columns of a batch, by the names it was fitted with,
    or from what `features(batch)` gives. `training` are batches of training data, best of rows that
    neither was fitted on; None asks for the classifier's own probabilities, though it may be the
    worse of the two. `classes` says which class each logit is of: by default the classifier's, in
    order. No label of the new rows is used.

    >>> class Fair:
    ...     classes_ = [0, 1]
    ...     def predict_proba(self, rows):
    ...         return np.full((len(rows), 2), 0.5)
    >>> distil = Distil(Fair(), None, features=lambda batch: batch)
    >>> distil(torch.zeros(1, 3), torch.tensor([[0.8, 0.2]]).log())  # log(0.5 / 0.4)
    tensor(0.2231)
    """

    lr = 1e-2
    epochs = 30

    def __init__(
        self,
        classifier: Any,
        training: Iterable[Any] | None,
        *,
        features: Callable[[Any], Any] | None = None,
        classes: Sequence[Any] | None = None,
        logits: Pick | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(classifier, "predict_proba") or not hasattr(classifier, "classes_"):
            raise AdaptError(
                f"A {type(classifier).__name__} gives no probabilities, or was not fitted.",
                fix="give a fitted classifier with predict_proba, such as LogisticRegression()",
            )
        known = [_plain(one) for one in classifier.classes_]
        self.places = [_place(_plain(one), known) for one in classes or known]
        self.classifier, self.training_data, self.features = classifier, training, features
        self.logits = logits
        self._device = torch.device("cpu")
        self._usual: tuple[float, float] | None = None

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model itself, with nothing known yet of training data."""
        self._device, self._usual = device_of(model), None
        return model

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number to minimise, averaged over rows."""
        rows = self._divergence(batch, out)
        value = rows.mean()
        if self.training_data is None:
            return value
        mean, spread = self._usual or self._measure(context)
        return (value - mean - SPREADS * spread / math.sqrt(len(rows))).clamp(min=0)

    def _divergence(self, batch: Any, out: Any) -> Tensor:
        log_p = log_probabilities(logits_of(out, self.logits))
        given = self.features(batch) if self.features else frame_of(self.classifier, batch)
        told = np.asarray(self.classifier.predict_proba(given))[:, self.places]
        if told.shape != tuple(log_p.shape):
            raise AdaptError(
                f"The classifier's probabilities have the shape {told.shape}, the model's "
                f"{tuple(log_p.shape)}.",
                fix="give a classifier of the same classes and rows, or say classes=[...]",
            )
        target = torch.from_numpy(told).to(log_p)
        return divergence(target, log_p)

    def _measure(self, context: Context | None) -> tuple[float, float]:
        """The mean and spread over training rows of how the source differs from the classifier."""
        if context is None:
            raise AdaptError(
                "Distil runs the source on training data, and there is no model here to run.",
                fix="use it through sqrl.adapt(model, batches, Distil(...)), or give training=None",
            )
        assert self.training_data is not None
        parts, n_rows = [], 0
        with torch.no_grad():
            for batch in training_batches(self.training_data, self._device):
                parts.append(self._divergence(batch, context.source(batch)).double())
                n_rows += len(parts[-1])
                if n_rows >= MOST_ROWS:
                    break
        rows = torch.cat(parts)
        self._usual = float(rows.mean()), float(rows.std(correction=0))
        return self._usual


def divergence(target: Tensor, log_p: Tensor) -> Tensor:
    """KL(target || p) of each row, from probabilities and the logarithms of probabilities.

    >>> divergence(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5]]).log())  # log(2)
    tensor([0.6931])
    """
    found: Tensor = torch.special.xlogy(target, target) - target * log_p
    return found.sum(dim=-1)


def frame_of(classifier: Any, batch: Any) -> Any:
    """The columns of a batch that a classifier was fitted with, as a data frame."""
    names = getattr(classifier, "feature_names_in_", None)
    if names is None or not isinstance(batch, Batch):
        what = "The classifier" if names is None else f"A batch, a {type(batch).__name__},"
        raise AdaptError(
            f"{what} does not know the names of its columns.",
            fix="fit the classifier on a data frame and make batches with sqrl.Batches(inputs,"
            " table), or pass features=lambda batch: ...",
        )
    import pandas as pd

    for name in names:
        if name not in batch.columns:
            raise unknown("column", str(name), batch.columns, where="batch.columns")
    return pd.DataFrame({name: _values(batch.columns[name]) for name in names})


def _values(column: Tensor | Categories) -> Any:
    if isinstance(column, Tensor):
        return column.cpu().numpy()
    names = np.array([*column.names, None], dtype=object)  # -1, missing, is the last
    return names[column.codes.cpu().numpy()]


def _plain(value: Any) -> Any:
    """A class as Python has it; numpy's numbers print otherwise."""
    return value.item() if isinstance(value, np.generic) else value


def _place(value: Any, known: Sequence[Any]) -> int:
    if value not in known:
        raise AdaptError(
            f"The classifier does not know the class {value!r}.",
            where="classes=",
            fix=f"it knows {', '.join(map(repr, known))}",
        )
    return known.index(value)
