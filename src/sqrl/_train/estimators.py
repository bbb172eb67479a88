"""RuleClassifier and RuleRegressor: trained by rules in the manner of scikit-learn."""

import warnings
from typing import Any, Self

import numpy as np

from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Array, Floats, Int64s
from sqrl._rules.files import load_rules
from sqrl._rules.label import class_codes
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema  # noqa: F401 - for the example
from sqrl._train.additive import Additive, fit_additive
from sqrl._train.misfit import Misfit, misfit_of
from sqrl._train.stated import Stated, read_stated
from sqrl.errors import AdaptError, AdaptWarning, DataError, MissingExtraError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtraError(
        "RuleClassifier needs scikit-learn, which is not installed.",
        fix='pip install "sqrl-rules[explain]"',
    ) from None


class _ByRules(BaseEstimator):  # type: ignore[misc]
    """What both have: an additive model whose facts are the bodies of the rules."""

    rules: Any
    classes: Any
    strength: Any
    seed: int

    def _fit(self, X: Any, y: Any, *, is_number: bool) -> Table:  # noqa: N803
        rules = self.rules if isinstance(self.rules, RuleSet) else load_rules(self.rules)
        stated = read_stated(rules, self.classes)
        if stated.is_number is not is_number:
            what = "means of a number" if stated.is_number else "rates of classes"
            other = "RuleRegressor" if stated.is_number else "RuleClassifier"
            raise AdaptError(f"The rules state {what}.", fix=f"use sqrl.{other}")
        table = _table(rules, X)
        terms = stated.held(table, rules.statistics())
        codes, numbers = _labels(stated, y, table.n_rows)
        self.rules_: RuleSet = rules
        self.stated_: Stated = stated
        self.model_: Additive = fit_additive(
            stated,
            terms,
            codes=codes,
            numbers=numbers,
            strength=self.strength,
            by=rules.schema.train if rules.schema else None,
            seed=self.seed,
        )
        self.misfit_: Misfit = misfit_of(rules, stated, terms, self.model_.predict(terms))
        if self.misfit_.warning:
            warnings.warn(self.misfit_.warning, AdaptWarning, stacklevel=3)
        return table

    def _predict(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        table = _table(self.rules_, X)
        return self.model_.predict(self.stated_.held(table, self.rules_.statistics()))

    @property
    def effects_(self) -> list[tuple[str, list[float]]]:
        """What each fact adds to the logits of the classes (to the mean, of a number label).

        An expression, whose means within classes the rules state, adds so much times its value.
        """
        check_is_fitted(self)
        return list(zip(self.stated_.term_texts(), self.model_.effects.tolist(), strict=True))


class RuleClassifier(ClassifierMixin, _ByRules):  # type: ignore[misc]
    """A classifier trained by the rates that rules state, on rows without labels.

    Each fact of the rules adds a number to the logits of the classes; among all probabilities that
    have the stated rates, these have the highest entropy. `y` is used where it is given, for some
    rows (None or nan elsewhere) or for all. `classes` names all classes in order where the rules
    speak of one alone; `strength` holds effects back, and follows from the rules' spreads unless
    given. `misfit_` says which facts and rates do not fit the rows, and a warning says so.

    >>> texts = ["0.1 <= precision(age <= 50 => sick = 1) <= 0.3 over 9",
    ...          "0.7 <= precision(age > 50 => sick = 1) <= 0.9 over 9"]
    >>> rules = RuleSet.from_texts(texts, centre=[0.2, 0.8], spread=[0.01, 0.01])
    >>> model = RuleClassifier(rules).fit({"age": list(range(1, 101))})
    >>> model.predict_proba({"age": [30, 70]}).round(2).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """

    def __init__(
        self,
        rules: Any,
        *,
        classes: Any = None,
        strength: float | None = None,
        seed: int = 0,
    ) -> None:
        self.rules = rules
        self.classes = classes
        self.strength = strength
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  (scikit-learn's names)
        """Find what each fact adds, on the rows of X; labels in y are used where there are any."""
        self._fit(X, y, is_number=False)
        self.classes_: Array = _as_values(self.stated_.classes)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probability of each class, in the order of `classes_`."""
        return self._predict(X)

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The likeliest class of each row."""
        return np.asarray(self.classes_[self._predict(X).argmax(axis=1)])


class RuleRegressor(RegressorMixin, _ByRules):  # type: ignore[misc]
    """A regression trained by the means that rules state, on rows without labels.

    >>> texts = ["0 <= mean(y) <= 9 over 9", "x <= 5 => 1 <= mean(y) <= 3 over 9",
    ...          "x > 5 => 7 <= mean(y) <= 9 over 9"]
    >>> schema = Schema(label="y", rules=("? <= mean(y) <= ? over 9",))
    >>> rules = RuleSet.from_texts(texts, schema=schema, centre=[5, 2, 8], spread=[0.01] * 3)
    >>> model = RuleRegressor(rules).fit({"x": list(range(1, 11))})
    >>> model.predict({"x": [3, 7]}).round(1).tolist()
    [2.0, 8.0]
    """

    classes = None

    def __init__(self, rules: Any, *, strength: float | None = None, seed: int = 0) -> None:
        self.rules = rules
        self.strength = strength
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Find what each fact adds, on the rows of X; numbers in y are used where there are any."""
        self._fit(X, y, is_number=True)
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected number of each row."""
        return self._predict(X)[:, 0]


def _table(rules: RuleSet, data: Any) -> Table:
    """Any table with the columns that the rules need, and those that follow from rows before."""
    if isinstance(data, np.ndarray):
        raise DataError(
            "X is an array, and rules speak of columns by name.",
            fix="give a dataframe or a dict of columns, such as {'age': X[:, 0]}",
        )
    table = as_table(data)
    if not table.n_rows:
        raise DataError("X has no rows.", where=table.source, fix="give rows to train on")
    return rules.with_sequences(table)


def _labels(stated: Stated, y: Any, n_rows: int) -> tuple[Int64s | None, Floats | None]:
    """The classes of the rows, -1 where unknown, or their numbers, nan where unknown."""
    if y is None:
        return None, None
    column = as_table({stated.label: _plain(y)}, source="y")[stated.label]
    if len(column.values) != n_rows:
        raise DataError(f"y has {len(column.values):,} rows, X {n_rows:,}.", fix="give as many")
    if stated.is_number:
        return None, column.values.astype(np.float64)
    names, codes = class_codes(column)
    places = []
    for name in names:
        if name not in stated.classes:
            if not (codes == names.index(name)).any():
                places.append(-1)
                continue
            raise DataError(
                f"y has the class {name!r}, of which the rules do not speak.",
                fix=f"name all classes: classes={[*stated.classes, name]}",
            )
        places.append(stated.classes.index(name))
    return np.append(places, -1)[codes].astype(np.int64), None


def _plain(y: Any) -> Any:
    """Labels without the index that a series may have."""
    return y.tolist() if hasattr(y, "tolist") else list(y)


def _as_values(names: tuple[str, ...]) -> Array:
    """Classes as a label column has them: numbers where all are."""
    try:
        values = np.array([float(name) for name in names])
    except ValueError:
        return np.array(names)
    return values.astype(np.int64) if (values == np.round(values)).all() else values
