"""RuleFlag and RuleFilter: rules as steps of a scikit-learn pipeline."""

from typing import Any, Literal, Self

import numpy as np

from sqrl._check.check import check
from sqrl._check.violations import Violations
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Array, Bools, Floats
from sqrl._learn.detector import interval_schema
from sqrl._learn.learn import learn
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, MissingExtraError, SchemaError, unknown

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils import Tags
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "RuleFlag and RuleFilter need scikit-learn, which is not installed.",
        fix='pip install "sqrl-rules[explain]"',
    ) from None

MOST_TOLD = 5  # rows or findings in an error


class _RuleStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step that has rules: those given, or those learned from the rows it is fitted on."""

    def __init__(self, rules: RuleSet | None = None, *, schema: Any = None, seed: int = 0) -> None:
        self.rules = rules
        self.schema = schema
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803  (scikit-learn's names)
        """Take the rules, or learn them from the rows of X; y is not looked at."""
        if self.rules is not None and self.schema is not None:
            raise SchemaError(
                "Both rules and a schema to learn them by are given.", fix="give one of them"
            )
        table = self._table(X, reset=True)
        if self.rules is not None:
            self.rules_: RuleSet = self.rules
        else:
            plain = self.schema is None and not _is_frame(X)
            schema = interval_schema(table) if plain else self.schema
            self.rules_ = learn(table, schema, seed=self.seed)
        return self

    def check(self, X: Any) -> Violations:  # noqa: N803
        """What a check of the rows finds."""
        check_is_fitted(self)
        return check(self.rules_, self._table(X, reset=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = True
        return tags

    def _table(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        """The rows as a table: a frame with its own kinds of columns, an array as numbers."""
        if _is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return as_table(X, source="X")
        numbers = self._array(X, reset=reset)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{place}" for place in range(numbers.shape[1])]
        return as_table(dict(zip(names, numbers.T, strict=True)), source="X")

    def _array(self, X: Any, *, reset: bool = False) -> Floats:  # noqa: N803
        options = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        least = 2 if reset else 1
        return np.asarray(validate_data(self, X, reset=reset, ensure_min_samples=least, **options))


class RuleFlag(_RuleStep):
    """Adds a column to the rows: how many rules each of them breaks.

    The rules are those given, or learned by `fit`: by `schema`, else for a frame by a proposed
    one, for an array by the intervals of `RuleDetector`. A frame stays a frame.

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 200)
    >>> RuleFlag().fit(np.column_stack([x, 2 * x])).transform([[0.4, 0.8], [0.4, 9.0]]).tolist()
    [[0.4, 0.8, 0.0], [0.4, 9.0, 3.0]]
    """

    column = "rules_broken"

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows with a column more."""
        counts = self.check(X).row_counts()
        if not _is_frame(X):
            return np.column_stack([self._array(X), counts])
        import narwhals as nw

        frame: Any = nw.from_native(X, eager_only=True)
        if self.column in frame.columns:
            raise DataError(
                f"There is already a column named {self.column!r}.",
                where="X",
                fix="rename it: RuleFlag adds one of this name",
            )
        if frame.implementation.is_pandas():  # whose index stays
            return X.assign(**{self.column: counts})
        flags = nw.new_series(self.column, counts, backend=frame.implementation)
        return frame.with_columns(flags).to_native()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns, and that of the flag."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.append(names, self.column).astype(object)


class RuleFilter(_RuleStep):
    """Lets rows pass as they are, or refuses them: a pipeline then predicts nothing from them.

    With `refuse="findings"` it raises where something has changed beyond chance, with "rows" where
    any row breaks a rule. `keep(X)` says which rows keep all rules, to drop the others before a
    pipeline: its steps cannot.

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 200)
    >>> step = RuleFilter(refuse="rows").fit(np.column_stack([x, 2 * x]))
    >>> step.keep([[0.4, 0.8], [0.4, 9.0]]).tolist()
    [True, False]
    """

    def __init__(
        self,
        rules: RuleSet | None = None,
        *,
        schema: Any = None,
        refuse: Literal["findings", "rows"] = "findings",
        seed: int = 0,
    ) -> None:
        super().__init__(rules, schema=schema, seed=seed)
        self.refuse = refuse

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows as they are; raises where they are refused."""
        if self.refuse not in ("findings", "rows"):
            raise unknown("choice of refuse", str(self.refuse), ("findings", "rows"))
        found = self.check(X)
        told = [finding.text for finding in found.findings()]
        if self.refuse == "rows":
            rows = np.flatnonzero(found.row_counts())
            told = [f"row {row}" for row in rows.tolist()]
        if told:
            more = f" and {len(told) - MOST_TOLD:,} more" if len(told) > MOST_TOLD else ""
            what = "rows that break rules" if self.refuse == "rows" else "rows that have changed"
            raise DataError(
                f"Refused {what}: {'; '.join(told[:MOST_TOLD])}{more}.",
                where="X",
                fix="look at step.check(X); drop rows by step.keep(X)",
            )
        return X if _is_frame(X) else self._array(X)

    def keep(self, X: Any) -> Bools:  # noqa: N803
        """Which rows break no rule."""
        return np.asarray(self.check(X).row_counts() == 0)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns, as they came in."""
        check_is_fitted(self)
        return np.asarray(_check_feature_names_in(self, input_features), dtype=object)


def _is_frame(X: Any) -> bool:  # noqa: N803
    """Whether X is a dataframe, whose columns have names and kinds."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__")
