"""Names of columns as they stand in sentences; some say how the column follows from other rows.

`lag(x)`, `delta(x)` and `rolling_mean(x, 24)` look at the rows before a row, so that no row can
compute them by itself. They are read as names, of columns that are computed once, before rows are
divided in any way: to all that comes later such a column is one of the table's.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

KEYWORDS = frozenset(
    ["and", "or", "not", "in", "each", "of", "if", "else", "by", "over", "true", "false"]
)
SEQUENCE_FUNCTIONS = {
    "lag": "what a column was so many rows ago",
    "delta": "how far a column has moved since so many rows ago",
    "rolling_mean": "the mean of a column over so many rows up to this one",
}
SINCE_LAST = "since_last"  # how long ago the row before was; a name like any other
MOST_ROWS_BACK = 1_000_000
DEEPEST_SEQUENCE = 8  # as in lag(delta(x)), of depth 2

_BARE = re.compile(r"[^\W\d]\w*\Z")
_SEQUENCE = re.compile(r"(lag|delta|rolling_mean)\((.+?)(?:, ([1-9]\d{0,6}))?\)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SequenceColumn:
    """A column that follows from another, named `of`, on the rows before: so many of them."""

    function: str
    of: str
    n_rows: int

    @property
    def name(self) -> str:
        """The one way to write it, which is its name too.

        >>> SequenceColumn("lag", "x", 1).name, SequenceColumn("rolling_mean", "a b", 24).name
        ('lag(x)', 'rolling_mean(`a b`, 24)')
        """
        counted = self.n_rows != 1 or self.function == "rolling_mean"
        return f"{self.function}({name_text(self.of)}{f', {self.n_rows}' if counted else ''})"


@lru_cache(maxsize=4096)
def sequence_of(name: str) -> SequenceColumn | None:
    """What a name says of how its column follows from others; None for a plain name.

    >>> sequence_of("delta(heart_rate)")
    SequenceColumn(function='delta', of='heart_rate', n_rows=1)
    >>> sequence_of("delta(heart rate)") is None
    True
    """
    found = _SEQUENCE.match(name)
    if found is None or name.count("(") > DEEPEST_SEQUENCE:
        return None
    function, inner, rows = found.groups()
    of = inner[1:-1].replace("``", "`") if inner.startswith("`") else inner
    made = SequenceColumn(function, of, int(rows or 1))
    return made if made.n_rows <= MOST_ROWS_BACK and made.name == name else None


def base_of(name: str) -> str:
    """The column or statistic at the bottom of a name: `x` of `lag(delta(x))`, or of `x` itself.

    >>> base_of("lag(delta(x))"), base_of("x")
    ('x', 'x')
    """
    while (made := sequence_of(name)) is not None:
        name = made.of
    return name


def with_base(name: str, base: str) -> str:
    """The name with another column or statistic at its bottom.

    >>> with_base("lag(delta(A))", "left")
    'lag(delta(left))'
    """
    made = sequence_of(name)
    if made is None:
        return base
    return SequenceColumn(made.function, with_base(made.of, base), made.n_rows).name


def name_text(name: str) -> str:
    """A column's name as it stands in a rule: in backticks where it is not one plain word.

    >>> name_text("age"), name_text("Glasgow Coma Score"), name_text("delta(age)")
    ('age', '`Glasgow Coma Score`', 'delta(age)')
    """
    if is_bare(name) or sequence_of(name) is not None:
        return name
    return "`" + name.replace("`", "``") + "`"


def is_bare(word: str) -> bool:
    """Whether a word can stand in a sentence as it is.

    >>> is_bare("age"), is_bare("and"), is_bare("2nd")
    (True, False, False)
    """
    return _BARE.match(word) is not None and word not in KEYWORDS
