"""Rules as SQL: true where one is broken, false where it is held, NULL where it does not apply."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from sqrl._language.forms import Form, Piece
from sqrl._language.kinds import handler
from sqrl._language.tree import Number
from sqrl.export._formulas import all_of, choose, condition, given, is_null
from sqrl.export._steps import SqlSteps, double


def is_broken(form: Form, steps: SqlSteps) -> exp.Expression:
    """Whether a row breaks a rule about single rows.

    >>> from sqrl._rules.ruleset import RuleSet
    >>> from sqrl.export._columns import find_columns
    >>> rules = RuleSet.from_texts(["x > 0 => y <= 9"])
    >>> form = rules.form(0)
    >>> is_broken(form, SqlSteps(find_columns(rules, [form]), {})).sql("duckdb")
    'CASE WHEN "v1" > CAST(0 AS DOUBLE) THEN "v2" > CAST(9 AS DOUBLE) END'
    """
    is_claim_broken = handler(CLAIMS, form.kind, "sql")
    return given(all_of(form.given, steps), is_claim_broken(form, steps))


def _lacks_head(form: Form, steps: SqlSteps) -> exp.Expression:
    assert form.head is not None
    return exp.Not(this=exp.Paren(this=condition(form.head, steps)))


def _is_out_of_bounds(form: Form, steps: SqlSteps) -> exp.Expression:
    assert form.subject is not None
    value = steps.number(form.subject)
    outside = [(piece.test, is_outside(value, piece)) for piece in form.pieces]
    pieces = [(test, broken) for test, broken in outside if test is not None]
    last = outside[-1][1] if outside[-1][0] is None else None
    return last if last is not None and not pieces else choose(pieces, last, steps)


CLAIMS: Mapping[str, Callable[[Form, SqlSteps], exp.Expression]] = {
    "sample": _is_out_of_bounds,
    "class": _lacks_head,
}


def is_outside(value: exp.Expression, piece: Piece) -> exp.Expression:
    """Whether a value lies outside a piece's bounds; NULL where it is missing."""
    value = value.copy()
    match piece.lower, piece.upper:
        case Number(lower), Number(upper):
            inside = exp.Between(this=value, low=double(lower), high=double(upper))
            return exp.Not(this=inside)
        case Number(lower), _:
            return exp.LT(this=value, expression=double(lower))
        case _, Number(upper):
            return exp.GT(this=value, expression=double(upper))
    return exp.Case().when(exp.Not(this=is_null(value)), exp.false())
