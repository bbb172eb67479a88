"""RuleDetector: rules as an outlier detector in the manner of scikit-learn."""

from typing import Any, Literal, Self

import numpy as np

from sqrl._check.check import check
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.names import name_text
from sqrl._learn.learn import learn
from sqrl._learn.propose import free_holes
from sqrl._learn.schema_checks import choose_schema
from sqrl._rows.quantiles import BoundOptions
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Entry, Schema
from sqrl.errors import MissingExtraError, SchemaError

try:
    from sklearn.base import BaseEstimator, OutlierMixin
    from sklearn.utils import Tags
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "RuleDetector needs scikit-learn, which is not installed.",
        fix='pip install "sqrl-rules[explain]"',
    ) from None

MOST_PAIRED = 30  # features to bound given each other
FEWEST = 10  # samples behind a bound, or a tenth of them where there are fewer


class RuleDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Finds rows that break rules learned from other rows of the same columns.

    Without a `schema` the rules are the range that `coverage` of each feature's values lie in, by
    itself and, for at most 30 features, in each of `buckets` parts of every other feature. A row's
    score is minus that of its worst violation, as `violations.row_scores()` has it: 0 is a row that
    keeps every rule. Rows below `offset_` are outliers: with `contamination`
    that share of the rows fitted, with "auto" the share that a single rule leaves out. A missing
    value breaks no rule.

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 200)
    >>> detector = RuleDetector().fit(np.column_stack([x, 2 * x]))
    >>> detector.predict([[0.4, 0.8], [0.4, 1.9]]).tolist()
    [1, -1]
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        coverage: float = 0.98,
        buckets: int = 4,
        contamination: float | Literal["auto"] = "auto",
        seed: int = 0,
    ) -> None:
        self.schema = schema
        self.coverage = coverage
        self.buckets = buckets
        self.contamination = contamination
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803  (scikit-learn's names)
        """Learn the rules and the offset from the rows of X; y is not looked at."""
        share = self._share()
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        table = self._table(X)
        schema = self.schema
        if schema is None:
            schema = interval_schema(table, self.coverage, self.buckets)
        self.rules_: RuleSet = learn(table, schema, seed=self.seed)
        self.offset_ = float(np.percentile(self._score(table), 100.0 * share))
        return self

    def score_samples(self, X: Any) -> Floats:  # noqa: N803
        """Minus how badly each row breaks its worst rule: higher is more normal, 0 the most."""
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        return self._score(self._table(X))

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The score above the offset: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Int64s:  # noqa: N803
        """-1 for outliers, +1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _share(self) -> float:
        """The share of the rows fitted that are to be outliers."""
        if self.contamination == "auto":
            return 1.0 - (
                self.coverage if self.schema is None else choose_schema(self.schema, None).coverage
            )
        if not 0.0 < float(self.contamination) <= 0.5:
            raise SchemaError(
                f"contamination is {self.contamination}.",
                fix='use "auto", or a share above 0 and at most 0.5',
            )
        return float(self.contamination)

    def _table(self, X: Floats) -> Table:  # noqa: N803
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{place}" for place in range(X.shape[1])]
        return as_table(dict(zip(names, X.T, strict=True)), source="X")

    def _score(self, table: Table) -> Floats:
        return 0.0 - check(self.rules_, table).row_scores()


def interval_schema(table: Table, coverage: float = 0.98, buckets: int = 4) -> Schema:
    """Intervals of every number, and of every number in parts of every other if there are few."""
    names: list[Entry] = [name_text(name) for name in table.names]
    first, second = free_holes(table, "AB")
    rules = [f"? <= {first} <= ?"]
    let: dict[str, str | list[Entry]] = {first: names}
    if 1 < len(names) <= MOST_PAIRED and buckets > 1:
        rules.append(f"? <= {second} <= ? by {first}/{buckets}")
        let[second] = names
    fewest = max(1, min(FEWEST, table.n_rows // 10))
    return Schema(
        coverage=coverage,
        let=let,
        rules=tuple(rules),
        bounds=BoundOptions(min_support=fewest),
        validate=False,  # the rows to come are what the rules are held against
    )
