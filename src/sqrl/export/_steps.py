"""Expressions as named columns of SQL, each computed once, in as few passes as they nest.

    sqrl_columns    the table's columns as double precision or text, NaN as NULL
    sqrl_values_1   what can be computed of those, and so on

What is not finite is NULL, as `check` has it. Every division, root and logarithm is guarded: some
databases raise where others give infinity. A guard names its operand twice; as operands are columns
by then, a query grows with its rules and never with the power of how they nest.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqrl._language.names import sequence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import Binary, Call, Name, Negative, Node, Number
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import check_call
from sqrl.errors import SchemaError
from sqrl.export._columns import Columns
from sqrl.export._windows import followed

LARGEST_WHOLE = 2.0**53
_OPERATORS = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


@dataclass(slots=True, eq=False)
class SqlSteps:
    """The columns computed so far; `number` and `text` name one, and compute it when it is new."""

    columns: Columns
    statistics: Mapping[str, Node]
    levels: list[dict[str, exp.Expression]] = field(default_factory=lambda: [{}])
    _level_of: dict[str, int] = field(default_factory=dict)
    _named: dict[exp.Expression, str] = field(default_factory=dict)
    _numbers: dict[Node, exp.Expression] = field(default_factory=dict)

    def number(self, node: Node) -> exp.Expression:
        """The expression's value, short enough to be written twice; NULL where undefined."""
        if node not in self._numbers:
            self._numbers[node] = self._number(node)
        return self._numbers[node].copy()

    def holds_categories(self, name: str) -> bool:
        """Whether a name stands for a column of categories."""
        return name not in self.statistics and self.columns.holds[name] in {"category", "date"}

    def text(self, name: str) -> exp.Expression:
        """A column's categories."""
        if name in self.columns.computed:
            made = sequence_of(name)
            assert made is not None  # time since is a number
            return self.name(self._followed("lag", self.text(made.of), made.n_rows))
        return self.name(exp.cast(column_of(self.columns.place(name)), "TEXT"), level=0)

    def name(self, made: exp.Expression, *, level: int | None = None) -> exp.Expression:
        """The column that holds an expression of other columns."""
        if made not in self._named:
            if level is None:
                used = [self._level_of[part.name] for part in made.find_all(exp.Column)]
                level = 1 + max(used, default=0)
            name = f"v{len(self._level_of) + 1}"
            self.levels += [{} for _ in range(level + 1 - len(self.levels))]
            self.levels[level][name] = made
            self._level_of[name], self._named[made] = level, name
        return column_of(self._named[made])

    def keep(self, name: str, made: exp.Expression) -> None:
        """Keep a column of the table under a name that the query can rely on."""
        self.levels[0][name], self._level_of[name] = made, 0

    def _number(self, node: Node) -> exp.Expression:  # noqa: PLR0911  (a case for each node)
        match node:
            case Number(value):
                return double(value)
            case Name(name) if name in self.statistics:
                return self.number(self.statistics[name])
            case Name(name) if name in self.columns.computed:
                return self._sequence(name)
            case Name(name):
                return self._column(name)
            case Negative(item):
                return exp.Paren(this=exp.Neg(this=self.number(item)))
            case Binary("**", base, exponent):
                return self._finite(power(self.number(base), self.number(exponent)))
            case Binary():
                return self._finite(self._inline(node))
        assert isinstance(node, Call), node
        return self._finite(self._call(node))

    def _inline(self, node: Node) -> exp.Expression:
        """Sums, products and quotients as written: once one is not finite, the whole is not."""
        if not isinstance(node, Binary) or node.op == "**":
            return self.number(node)
        left = self._inline(node.left)
        if node.op == "/":  # by infinity is zero, so that a divisor must be clean
            made: exp.Expression = quotient(left, self.number(node.right))
        else:
            made = _OPERATORS[node.op](this=left, expression=self._inline(node.right))
        return exp.Paren(this=made)

    def _call(self, node: Call) -> exp.Expression:
        check_call(node)
        if node.function in COLUMN_FUNCTIONS:
            return self._of_column(node)
        values = [self.number(argument) for argument in node.arguments]
        if node.function in {"min", "max"}:
            return extreme(node.function, values)
        return guarded(node.function, values[0])

    def _of_column(self, node: Call) -> exp.Expression:
        (item,), reason = node.arguments, COLUMN_FUNCTIONS[node.function].refused.get("sql")
        if reason is not None or not isinstance(item, Name):
            raise SchemaError(
                f"{node.function}(...) has no SQL: {reason}.",
                where=to_text(node),
                fix="leave out the rules that use it, or check them with 'sqrl check'",
            )
        return exp.cast(exp.Length(this=self.text(item.name)), "DOUBLE")

    def _sequence(self, name: str) -> exp.Expression:
        """A number that follows from the rows before."""
        made, row_order = sequence_of(name), self.columns.row_order
        assert row_order is not None
        if made is None:
            when = self.number(Name(row_order.order[0]))
            return self._finite(self.name(self._followed("delta", when, 1)))
        value = self.number(Name(made.of))
        return self._finite(self.name(self._followed(made.function, value, made.n_rows)))

    def _followed(self, function: str, value: exp.Expression, n_rows: int) -> exp.Expression:
        row_order = self.columns.row_order
        assert row_order is not None
        entity, order = (
            [self.name(column_of(self.columns.place(name)), level=0) for name in names]
            for names in (row_order.entity, row_order.order)
        )
        return followed(function, value, n_rows, entity=entity, order=order)

    def _column(self, name: str) -> exp.Expression:
        column = column_of(self.columns.place(name))
        if self.columns.holds[name] == "boolean":
            # No database turns booleans into double precision but by such a detour.
            truth = exp.cast(column, "BOOLEAN")
            made = exp.Case().when(truth, double(1.0)).when(exp.Not(this=truth.copy()), double(0.0))
            return self.name(made, level=0)
        value = exp.cast(column, "DOUBLE")
        # NaN is more than infinity (in BigQuery: neither more nor less), and to us it is missing.
        known = exp.LTE(this=value, expression=double(float("inf")))
        return self.name(exp.Case().when(known, value.copy()), level=0)

    def _finite(self, made: exp.Expression) -> exp.Expression:
        return self.name(exp.Case().when(is_finite(made), made.copy()))


def column_of(name: str) -> exp.Column:
    """A column by its name, quoted."""
    return exp.column(exp.to_identifier(name, quoted=True))


def double(value: float) -> exp.Expression:
    """A number that comes back to the same bits: `0.1` alone is a decimal in most databases.

    >>> double(0.1).sql("duckdb"), double(-3.0).sql("postgres")
    ("CAST('0.1' AS DOUBLE)", 'CAST(-3 AS DOUBLE PRECISION)')
    """
    is_whole = value.is_integer() and abs(value) < LARGEST_WHOLE
    plain = exp.Literal.number(int(value)) if is_whole else exp.Literal.string(repr(float(value)))
    return exp.cast(plain, "DOUBLE")


def is_finite(value: exp.Expression) -> exp.Expression:
    """Whether a value is neither NaN nor infinite: NULL for NULL."""
    largest = sys.float_info.max
    return exp.Between(this=value, low=double(-largest), high=double(largest))


def quotient(top: exp.Expression, bottom: exp.Expression) -> exp.Expression:
    """A quotient, NULL where the divisor is zero."""
    return exp.Div(this=top, expression=exp.Nullif(this=bottom, expression=double(0.0)))


def guarded(name: str, value: exp.Expression) -> exp.Expression:
    """A function of one value, NULL where it is not defined or would be too large."""
    other, zero = value.copy(), double(0.0)
    match name:
        case "sqrt":
            return exp.Case().when(exp.GTE(this=value, expression=zero), exp.Sqrt(this=other))
        case "log":
            return exp.Case().when(exp.GT(this=value, expression=zero), exp.Ln(this=other))
        case "exp":
            small = exp.LT(this=value, expression=double(-745.2))
            fits = exp.LT(this=value.copy(), expression=double(709.79))
            return exp.Case().when(small, zero).when(fits, exp.Exp(this=other))
    return exp.Abs(this=value)


def extreme(name: str, values: list[exp.Expression]) -> exp.Expression:
    """The least or the greatest, NULL where one is: LEAST passes over NULL in some databases."""
    values = list(dict.fromkeys(values))  # DuckDB refuses some plans with LEAST(x, x)
    if len(values) == 1:
        return values[0]
    known = [exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())) for value in values]
    kind = exp.Least if name == "min" else exp.Greatest
    chosen = kind(this=values[0], expressions=values[1:])
    return exp.Case().when(exp.and_(*known, copy=False), chosen)


def power(base: exp.Expression, exponent: exp.Expression) -> exp.Expression:
    """A power, NULL where it is not a real number or would be infinite by division."""
    zero = double(0.0)
    of_zero = exp.and_(
        exp.EQ(this=base.copy(), expression=zero),
        exp.LT(this=exponent.copy(), expression=zero.copy()),
    )
    of_negative = exp.and_(
        exp.LT(this=base.copy(), expression=zero.copy()),
        exp.GTE(this=base.copy(), expression=double(-sys.float_info.max)),
        exp.NEQ(this=exponent.copy(), expression=exp.Floor(this=exponent.copy())),
    )
    made = exp.Case().when(exp.or_(of_zero, of_negative), exp.Null())
    return made.else_(exp.Pow(this=base, expression=exponent))
