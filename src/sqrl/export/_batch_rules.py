"""Statistics of mini-batches as SQL aggregates; a column tells the mini-batches apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from sqrl._language.forms import Form, sentence_of
from sqrl._language.kinds import handler
from sqrl._language.printer import to_text
from sqrl._language.statistics import BatchStatistic, batch_statistic, values
from sqrl._language.statistics.arithmetic import COUNTS, compute, formula_of
from sqrl._language.tree import Name, Node, Number, Units
from sqrl.errors import SchemaError
from sqrl.export._formulas import all_of, condition, given, is_null
from sqrl.export._row_rules import is_outside
from sqrl.export._steps import SqlSteps, column_of, double, is_finite, quotient

BATCH = "mini_batch"
SIZE = "n_rows"
UNIT = "unit_"


@dataclass(slots=True, eq=False)
class Groups:
    """The aggregates that statistics of mini-batches are made of, each computed once.

    `unit` has the columns of the query that say which rows belong together.
    """

    steps: SqlSteps
    unit: tuple[str, ...] = ()
    aggregates: dict[exp.Expression, str] = field(default_factory=dict)

    def is_broken(self, form: Form) -> exp.Expression:
        """Whether a mini-batch breaks a rule about these; NULL for one of too few rows or units."""
        assert form.over is not None
        value = handler(STATISTICS, form.kind, "sql")(self, form)
        size, most = column_of(SIZE), form.over
        if isinstance(most, Units):
            size, most = self._n_units(), most.n
        is_whole = exp.GTE(this=size, expression=exp.Literal.number(most))
        if form.evidence != "counts":  # shares of counts are finite
            is_whole = exp.and_(is_whole, is_finite(value.copy()), copy=False)
        return given(is_whole, is_outside(value, form.pieces[0]))

    def _name(self, aggregate: exp.Expression) -> exp.Expression:
        return column_of(self.aggregates.setdefault(aggregate, f"g{len(self.aggregates) + 1}"))

    def _n_units(self) -> exp.Expression:
        """How many units the rows of each mini-batch are of: the rank of the last, without gaps."""
        order = exp.Order(expressions=[column_of(name) for name in self.unit])
        rank = self.steps.name(_over_batch(exp.DenseRank(), order))
        return self._name(exp.Max(this=rank))

    def of_values(self, form: Form) -> exp.Expression:
        """A statistic of an expression's values."""
        assert form.statistic is not None
        assert form.subject is not None
        value = self.steps.number(form.subject)
        if form.given:
            value = self.steps.name(given(all_of(form.given, self.steps), value))
        statistic = batch_statistic(form.statistic)
        if statistic.sql is not None:
            return self._name(_written(statistic, {"value": value}))
        if statistic.function in IN_STEPS:
            return self._name(IN_STEPS[statistic.function](value, self.steps))
        raise _no_sql(statistic, form)

    def of_counts(self, form: Form) -> exp.Expression:
        """A statistic of how many rows of each mini-batch formulas hold on."""
        assert form.statistic is not None
        statistic = batch_statistic(form.statistic)
        counts = dict(zip(COUNTS, self._counts(form), strict=True))
        formula = formula_of(statistic.function)
        if statistic.sql is not None:
            return exp.paren(_written(statistic, counts))
        if formula is None:
            raise _no_sql(statistic, form)

        def leaf(node: Node) -> exp.Expression:
            assert isinstance(node, Name | Number), node
            return counts[node.name].copy() if isinstance(node, Name) else double(node.value)

        return exp.paren(compute(formula, leaf, _apply), copy=False)

    def _counts(self, form: Form) -> tuple[exp.Expression, ...]:
        """How many rows are in the body, the head, both and in all."""
        body, here = all_of(form.body, self.steps), all_of(form.given, self.steps)
        if form.head is None:
            inside, formula = self._count(here, body), exp.Paren(this=body)
            known = exp.Not(this=is_null(formula.copy()))
            return inside, inside, inside, self._count(here, known)
        head = condition(form.head, self.steps)
        known = exp.Not(this=is_null(exp.Paren(this=head.copy())))
        return (
            self._count(here, known, body),
            self._count(here, head),
            self._count(here, body, head),
            self._count(here, known),
        )

    def _count(self, *conditions: exp.Expression | None) -> exp.Expression:
        """How many rows meet all of the conditions, as a number that divides like one."""
        met = [exp.paren(part, copy=True) for part in conditions if part is not None]
        one = exp.Literal.number(1)
        counted = exp.Case().when(exp.and_(*met, copy=False), one) if met else exp.Star()
        return exp.cast(self._name(exp.Count(this=counted)), "DOUBLE")


def _std(value: exp.Expression, steps: SqlSteps) -> exp.Expression:
    """The root of the mean square: built-in ones raise where the squares are too large."""
    mean = steps.name(_over_batch(exp.Avg(this=value)))
    away = steps.name(exp.Sub(this=value.copy(), expression=mean))
    return exp.Sqrt(this=exp.Avg(this=exp.Mul(this=away, expression=away.copy())))


def _median(value: exp.Expression, steps: SqlSteps) -> exp.Expression:
    """The mean of the two in the middle by rank, which every database computes alike."""
    is_last = exp.Case().when(is_null(value.copy()), exp.Literal.number(1))
    order = exp.Order(expressions=[is_last.else_(exp.Literal.number(0)), value.copy()])
    rank = steps.name(_over_batch(exp.RowNumber(), order))
    count = steps.name(_over_batch(exp.Count(this=value.copy())))
    twice = exp.Mul(this=exp.Literal.number(2), expression=rank)
    most = exp.Add(this=count.copy(), expression=exp.Literal.number(2))
    middle = exp.Between(this=twice, low=count, high=most)
    return exp.Avg(this=exp.Case().when(middle, value))


def _over_batch(made: exp.Expression, order: exp.Order | None = None) -> exp.Expression:
    return exp.Window(this=made, partition_by=[column_of(BATCH)], order=order)


def _no_sql(statistic: BatchStatistic, form: Form) -> SchemaError:
    what = f"The statistic {statistic.name!r}"
    reason = statistic.reasons.get("sql")
    return SchemaError(
        f"{what} has no SQL: {reason}."
        if reason
        else f"{what} is a Python function, of which there is no SQL.",
        where=to_text(sentence_of(form)),
        fix="leave out the rules that use it, or check them with 'sqrl check'",
    )


def _written(statistic: BatchStatistic, columns: Mapping[str, exp.Expression]) -> exp.Expression:
    """The SQL that a statistic was registered with, about these columns."""
    try:
        parsed = parse(statistic.sql or "", dialect="duckdb")
    except SqlglotError:
        parsed = []
    made = parsed[0] if len(parsed) == 1 and parsed[0] else exp.Null()
    named = {part.name for part in made.find_all(exp.Column)}
    if not named or not named <= set(columns) or made.find(exp.Query):
        raise SchemaError(
            f"The SQL of the statistic {statistic.name!r} is not an aggregate: {statistic.sql!r}.",
            fix=f"write one of {' and '.join(columns)}, such as 'max({next(iter(columns))})'",
        )
    return made.transform(
        lambda part: columns[part.name].copy() if isinstance(part, exp.Column) else part
    )


# By the function, not its name: a name may have been given to another function since.
IN_STEPS: Mapping[object, Callable[[exp.Expression, SqlSteps], exp.Expression]] = {
    values.std: _std,
    values.median: _median,
}
STATISTICS: Mapping[str, Callable[[Groups, Form], exp.Expression]] = {
    "batch": Groups.of_values,
    "logic": Groups.of_counts,
}
_OPERATORS = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


def _apply(op: str, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """An operator between two values, in parentheses where the order of operations asks for it."""
    if op == "/":
        return quotient(exp.paren(left, copy=False), exp.paren(right, copy=False))
    if isinstance(left, exp.Div) or (op == "*" and isinstance(left, exp.Add | exp.Sub)):
        left = exp.paren(left, copy=False)
    if isinstance(right, exp.Binary) and not (op != "*" and isinstance(right, exp.Mul)):
        right = exp.paren(right, copy=False)
    return _OPERATORS[op](this=left, expression=right)
