"""Statistics of mini-batches as SQL aggregates; a column tells the mini-batches apart."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from sqrl._language.forms import Form, sentence_of
from sqrl._language.printer import to_text
from sqrl._language.statistics import count_statistic, statistic_kind, value_statistic, values
from sqrl._language.statistics import counts as counts_module
from sqrl.errors import SchemaError
from sqrl.export._formulas import all_of, condition, given, is_null
from sqrl.export._row_rules import is_outside
from sqrl.export._steps import Steps, column_of, double, is_finite, quotient

BATCH = "mini_batch"
SIZE = "n_rows"


@dataclass(slots=True, eq=False)
class Groups:
    """The aggregates that statistics of mini-batches are made of, each computed once."""

    steps: Steps
    aggregates: dict[exp.Expression, str] = field(default_factory=dict)

    def is_broken(self, form: Form) -> exp.Expression:
        """Whether a mini-batch breaks a `batch` or `logic` rule; NULL for one of too few rows."""
        assert form.over is not None
        value = self._values(form) if form.kind == "batch" else self._counts(form)
        is_whole = exp.GTE(this=column_of(SIZE), expression=exp.Literal.number(form.over))
        if form.kind == "batch":
            is_whole = exp.and_(is_whole, is_finite(value.copy()), copy=False)
        return given(is_whole, is_outside(value, form.pieces[0]))

    def _name(self, aggregate: exp.Expression) -> exp.Expression:
        return column_of(self.aggregates.setdefault(aggregate, f"g{len(self.aggregates) + 1}"))

    def _values(self, form: Form) -> exp.Expression:
        assert form.statistic is not None
        assert form.subject is not None
        value = self.steps.number(form.subject)
        if form.given:
            value = self.steps.name(given(all_of(form.given, self.steps), value))
        make = _OF_VALUES.get(value_statistic(form.statistic))
        if make is None:
            raise _unknown_to_sql(form)
        return self._name(make(value, self.steps))

    def _counts(self, form: Form) -> exp.Expression:
        assert form.statistic is not None
        body = all_of(form.body, self.steps)
        here = all_of(form.given, self.steps)
        if statistic_kind(form.statistic) == "share":
            return exp.Paren(this=quotient(self._count(here, body), self._count(here)))
        assert form.head is not None
        head = condition(form.head, self.steps)
        known = exp.Not(this=is_null(exp.Paren(this=head.copy())))
        make = _OF_COUNTS.get(count_statistic(form.statistic))
        if make is None:
            raise _unknown_to_sql(form)
        counts = (
            self._count(here, known, body),
            self._count(here, head),
            self._count(here, body, head),
            self._count(here, known),
        )
        return exp.Paren(this=quotient(*map(exp.paren, make(*counts))))

    def _count(self, *conditions: exp.Expression | None) -> exp.Expression:
        """How many rows meet all of the conditions, as a number that divides like one."""
        met = [exp.paren(part, copy=True) for part in conditions if part is not None]
        one = exp.Literal.number(1)
        counted = exp.Case().when(exp.and_(*met, copy=False), one) if met else exp.Star()
        return exp.cast(self._name(exp.Count(this=counted)), "DOUBLE")


def _std(value: exp.Expression, steps: Steps) -> exp.Expression:
    """The root of the mean square: built-in ones raise where the squares are too large."""
    mean = steps.name(_over_batch(exp.Avg(this=value)))
    away = steps.name(exp.Sub(this=value.copy(), expression=mean))
    return exp.Sqrt(this=exp.Avg(this=exp.Mul(this=away, expression=away.copy())))


def _median(value: exp.Expression, steps: Steps) -> exp.Expression:
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


def _unknown_to_sql(form: Form) -> SchemaError:
    return SchemaError(
        f"The statistic {form.statistic!r} is a Python function, of which there is no SQL.",
        where=to_text(sentence_of(form)),
        fix="leave out the rules that use it, or check them with 'sqrl check'",
    )


_OF_VALUES: dict[object, Callable[[exp.Expression, Steps], exp.Expression]] = {
    values.mean: lambda value, _: exp.Avg(this=value),
    values.minimum: lambda value, _: exp.Min(this=value),
    values.maximum: lambda value, _: exp.Max(this=value),
    values.std: _std,
    values.median: _median,
}


def _add(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Add(this=left, expression=right)


def _times(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Mul(this=left, expression=right)


def _agreeing(*counts: exp.Expression) -> exp.Expression:
    """Rows in both or in neither."""
    body, head, both, rows = counts
    neither = exp.Sub(this=exp.Sub(this=rows, expression=body), expression=head)
    return _add(neither, _times(double(2.0), both))


Parts = tuple[exp.Expression, exp.Expression]
# By the function, not its name: a name may have been given to another function since.
_OF_COUNTS: dict[object, Callable[..., Parts]] = {
    counts_module.f1: lambda body, head, both, _: (_times(double(2.0), both), _add(body, head)),
    counts_module.f1_given: lambda body, _, both, __: (
        _times(double(2.0), both),
        _add(body, both.copy()),
    ),
    counts_module.precision: lambda body, _, both, __: (both, body),
    counts_module.recall: lambda _, head, both, __: (both, head),
    counts_module.accuracy: lambda *counts: (_agreeing(*counts), counts[3].copy()),
    counts_module.support: lambda _, __, both, rows: (both, rows),
    counts_module.lift: lambda body, head, both, rows: (_times(both, rows), _times(body, head)),
}
