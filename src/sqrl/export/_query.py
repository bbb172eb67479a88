"""Common table expressions and selects: how the parts of an exported query are put together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqrl.export._allowance import DEVIATIONS, Allowance
from sqrl.export._steps import Steps, column_of, double, quotient

COLUMNS = "sqrl_columns"
TOGETHER = "sqrl_counts"
KNOWN = ("rule", "text", "share", "learned_from")  # of each rule


@dataclass(slots=True, eq=False)
class Query:
    """Tables with names of ours, each a select from the one before, and the user's table below."""

    parts: list[tuple[str, exp.Select]] = field(default_factory=list)

    def add(self, name: str, made: exp.Select) -> str:
        """Add a table; its name."""
        self.parts.append((name, made))
        return name

    def with_parts(self, last: exp.Select) -> exp.Select:
        """The last select, with the tables it reads from."""
        for name, made in self.parts:
            last = last.with_(exp.to_identifier(name), as_=made, copy=False)
        return last


def select(columns: Iterable[tuple[str, exp.Expression]], source: exp.Expression) -> exp.Select:
    """Expressions under their names."""
    named = [exp.alias_(made, name, quoted=True, copy=False) for name, made in columns]
    return exp.Select(expressions=named).from_(source, copy=False)


def add_steps(query: Query, steps: Steps, table: exp.Table) -> str:
    """Add the tables of columns and of what is computed of them; the name of the last."""
    last = query.add(COLUMNS, select(steps.levels[0].items(), table))
    for level, made in enumerate(steps.levels[1:], start=1):
        chosen = select(made.items(), exp.to_table(last))
        chosen.set("expressions", [exp.Star(), *chosen.expressions])
        last = query.add(f"sqrl_values_{level}", chosen)
    return last


def counts_of(names: Sequence[str], source: str) -> exp.Select:
    """How often each rule applies and is broken, in one line: `a1`, `b1` and so on."""
    columns: list[tuple[str, exp.Expression]] = []
    for name in names:
        one = exp.Case().when(column_of(name), exp.Literal.number(1))
        columns.append((f"a{name[1:]}", exp.Count(this=column_of(name))))
        columns.append((f"b{name[1:]}", exp.Count(this=one)))
    return select(columns, exp.to_table(source))


def listed(
    numbers: Sequence[int], texts: Sequence[str], chances: Sequence[Allowance]
) -> exp.Values:
    """A line for each rule, with what is known of it."""
    lines = [
        exp.Tuple(
            expressions=[
                exp.Literal.number(number),
                exp.Literal.string(text),
                double(chance.share),
                double(chance.learned_from),
            ]
        )
        for number, text, chance in zip(numbers, texts, chances, strict=True)
    ]
    names = [exp.to_identifier(name, quoted=True) for name in KNOWN]
    alias = exp.TableAlias(this=exp.to_identifier("sqrl_rules"), columns=names)
    return exp.Values(expressions=lines, alias=alias)


def subquery(made: exp.Query, name: str) -> exp.Subquery:
    """A select in parentheses, with a name."""
    return exp.Subquery(this=made, alias=exp.TableAlias(this=exp.to_identifier(name)))


def summary_of(numbers: Sequence[int], counts: str, rules: exp.Values) -> exp.Select:
    """The one line of counts as a line for each rule.

    A union of selects would be shorter, but some databases compute the counts anew for each.
    """
    columns = [(name, column_of(name)) for name in ("rule", "text")]
    for name, letter in (("applicable", "a"), ("violations", "b")):
        picked = exp.Case(this=column_of("rule"))
        for number in numbers:
            count = column_of(f"{letter}{number}")
            picked = picked.when(exp.Literal.number(number), count, copy=False)
        columns.append((name, picked))
    columns += [(name, column_of(name)) for name in ("share", "learned_from")]
    return select(columns, exp.to_table(counts)).join(rules, join_type="cross", copy=False)


def allowed_violations() -> exp.Expression:
    """How many violations chance explains: see `Allowance`."""
    n, share = exp.cast(column_of("applicable"), "DOUBLE"), column_of("share")
    mean = exp.Mul(this=n, expression=share)
    rest = exp.Paren(this=exp.Sub(this=double(1.0), expression=share.copy()))
    ratio = quotient(n.copy(), column_of("learned_from"))
    wider = exp.Paren(this=exp.Add(this=double(1.0), expression=ratio))
    variance = exp.Mul(this=exp.Mul(this=mean.copy(), expression=rest), expression=wider)
    spread = exp.Mul(this=double(DEVIATIONS), expression=exp.Sqrt(this=variance))
    return exp.Add(this=mean, expression=spread)
