"""Error prediction: how well the rules that rows break tell which predictions are wrong."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl.errors import MissingExtraError

Scorer = Callable[[Int64s, Int64s], Floats]  # train rows, test rows -> scores of the test rows

# What the penalty is divided by: at C, a rule gets a weight once the rows that break it have 1 / C
# more errors than they would have by chance.
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
MIDDLE = 0.3  # where there are too few errors to choose by
INNER_FOLDS = 3
STEPS = 10  # of a score, so that a linear model can bend it


@dataclass(frozen=True, slots=True)
class ErrorPrediction:
    """How well one thing predicts errors: the AUC on rows held out, over folds."""

    name: str
    by_fold: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The mean over folds: 1 is perfect, 0.5 is chance."""
        return float(np.mean(self.by_fold))

    @property
    def spread(self) -> float:
        """The standard deviation over folds."""
        return float(np.std(self.by_fold, ddof=1)) if len(self.by_fold) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "name": self.name,
            "auc": self.auc,
            "spread": self.spread,
            "by_fold": list(self.by_fold),
        }


def need_sklearn() -> None:
    """Raise where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "This needs scikit-learn, which is not installed.",
            fix='pip install "sqrl-rules[explain]"',
        ) from None


def predict_errors(
    broken: Any,
    wrong: Bools,
    score: Floats | None = None,
    classes: Any = None,
    *,
    folds: int,
    seed: int,
    units: Int64s | None = None,
) -> tuple[ErrorPrediction, ...]:
    """The AUC of the broken rules beside simpler things, each on rows that it was not fitted to.

    The strength of the penalty, and whether a high score means an error or none, are found within
    the rows that a model is fitted to. The predicted class is among the simpler things because
    rules are about classes: one that is often wrong would make its rules look as if they did.
    Nothing comes back where there are too few errors, or too few right predictions, to have one of
    each in two folds.

    Rows of one unit, by its key in `units`, are in the same fold.

    Shapes: broken (rows, rules) and classes (rows, classes) sparse; wrong, score, units (rows,).
    """
    folds = min(folds, int(wrong.sum()), int((~wrong).sum()))
    if units is not None:
        folds = min(folds, np.unique(units).size)
    if folds < 2:
        return ()
    parts = [part for part in _split(wrong, folds, seed, units) if _has_both(wrong, part)]
    if len(parts) < 2:
        return ()
    return tuple(
        ErrorPrediction(name, tuple(auc(wrong[test], way(train, test)) for train, test in parts))
        for name, way in _ways(broken, wrong, score, classes, seed).items()
    )


def _ways(
    broken: Any, wrong: Bools, score: Floats | None, classes: Any, seed: int
) -> dict[str, Scorer]:
    """What errors can be predicted from, by name."""
    counts = np.asarray(broken.sum(axis=1), np.float64).ravel()
    nothing = broken[:, :0]
    ways: dict[str, Scorer] = {}
    if score is not None:
        ways["score alone"] = _by_itself(score, wrong)
    ways["number of broken rules alone"] = _by_itself(counts, wrong)
    ways["broken rules"] = _by_model(broken, wrong, seed)
    if score is not None:
        ways["broken rules and score"] = _by_model(join(broken, score), wrong, seed)
    if classes is not None:
        also = "" if score is None else " and score"
        ways[f"predicted class{also}"] = _by_model(join(nothing, score, classes), wrong, seed)
        name = f"broken rules, class{also}" if also else "broken rules and class"
        ways[name] = _by_model(join(broken, score, classes), wrong, seed)
    return ways


def fit_weights(design: Any, wrong: Bools, *, seed: int) -> Floats:
    """The weight of each column of the design in one model of all rows; zeros where none is."""
    if wrong.all() or not wrong.any() or not design.shape[1]:
        return np.zeros(design.shape[1])
    model = _fitted(design, wrong, seed)
    return np.zeros(design.shape[1]) if model is None else np.asarray(model.coef_[0])


def join(broken: Any, score: Floats | None, classes: Any = None) -> Any:
    """The broken rules beside the score, itself and in steps, and the classes: sparse columns."""
    from scipy.sparse import csr_matrix, hstack

    parts = [broken]
    if score is not None and score.size:
        spread = float(score.std()) or 1.0
        steps = score[:, None] > np.unique(np.quantile(score, np.arange(1, STEPS) / STEPS))
        parts.append(csr_matrix(np.column_stack([(score - score.mean()) / spread, steps])))
    if classes is not None:
        parts.append(classes)
    return hstack(parts).tocsr()


def auc(wrong: Bools, score: Floats) -> float:
    """The share of pairs of a wrong and a right row in which the wrong one scores higher.

    >>> auc(np.array([True, False, False]), np.array([2.0, 1.0, 2.0]))
    0.75
    """
    from scipy.stats import rankdata

    n_wrong = int(wrong.sum())
    n_right = wrong.size - n_wrong
    ranks = rankdata(score)[wrong].sum()
    return float((ranks - n_wrong * (n_wrong + 1) / 2) / (n_wrong * n_right))


def _by_itself(values: Floats, wrong: Bools) -> Scorer:
    def way(train: Int64s, test: Int64s) -> Floats:
        sign = 1.0 if auc(wrong[train], values[train]) >= 0.5 else -1.0
        return sign * values[test]

    return way


def _by_model(design: Any, wrong: Bools, seed: int) -> Scorer:
    def way(train: Int64s, test: Int64s) -> Floats:
        model = _fitted(design[train], wrong[train], seed) if design.shape[1] else None
        return np.zeros(test.size) if model is None else _said(model, design[test])

    return way


def _fitted(design: Any, wrong: Bools, seed: int) -> Any:
    """An L1 logistic model, its strength the best on folds of these rows; None for all zeros."""
    folds = min(INNER_FOLDS, int(wrong.sum()), int((~wrong).sum()))
    best = MIDDLE
    if folds >= 2:
        total = np.zeros(len(STRENGTHS))
        for train, test in _split(wrong, folds, seed):
            known, other = design[train], design[test]
            for index, strength in enumerate(STRENGTHS):
                model = _fit(known, wrong[train], strength, seed)
                total[index] += 0.5 if model is None else auc(wrong[test], _said(model, other))
        best = STRENGTHS[int(total.argmax())]
    return _fit(design, wrong, best, seed)


def _fit(design: Any, wrong: Bools, strength: float, seed: int) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if not design.nnz:
        return None
    model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=strength, random_state=seed)
    with warnings.catch_warnings():
        # A model that is nearly the best one serves: it is tested on rows held out.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(design, wrong)


def _said(model: Any, design: Any) -> Floats:
    return np.asarray(model.decision_function(design), np.float64)


def _split(
    wrong: Bools, folds: int, seed: int, units: Int64s | None = None
) -> Iterator[tuple[Int64s, Int64s]]:
    """Train and test rows of each fold, errors spread evenly, and units kept whole."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind = StratifiedKFold if units is None else StratifiedGroupKFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    yield from splitter.split(np.zeros((wrong.size, 1)), wrong, units)


def _has_both(wrong: Bools, part: tuple[Int64s, Int64s]) -> bool:
    """Whether train and test rows have right and wrong predictions: whole units may not."""
    return all(0 < np.count_nonzero(wrong[rows]) < rows.size for rows in part)
