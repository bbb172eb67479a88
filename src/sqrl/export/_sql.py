"""to_sql(): one query that counts what rules find, or that names the rows that break them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.errors import SqlglotError

from sqrl._language.forms import Form
from sqrl._language.tree import Units
from sqrl._rows.unit_batches import check_has_unit
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, unknown
from sqrl.export._batch_rules import BATCH, SIZE, UNIT, Groups
from sqrl.export._columns import find_columns, refuse_unwritable
from sqrl.export._row_rules import is_broken
from sqrl.export._rules_to_export import (
    DEVIATIONS,
    MOST_RULES,
    Allowance,
    about_batches,
    allowances,
    refuse_all_batches,
    refuse_batches,
    rules_as_forms,
)
from sqrl.export._steps import SqlSteps, column_of, double, quotient
from sqrl.export._targets import DIALECTS

COLUMNS = "sqrl_columns"
TOGETHER = "sqrl_counts"
KNOWN = ("rule", "text", "share", "learned_from")  # of each rule
AT_ONCE = 250  # rules counted in one table of the query: Postgres has at most 1,600 columns
BROKEN_RULES = "broken_rules"  # the column that says which


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


def to_sql(
    rules: RuleSet,
    *,
    table: str = "data",
    dialect: str = "duckdb",
    batch_column: str | None = None,
    rows: Sequence[str] = (),
    like: Any = None,
    prediction: str | None = None,
    limit: int = MOST_RULES,
) -> str:
    """A query with a line for each rule: rule, text, applicable, violations, allowed.

    With `rows`, the columns that a row is known by, it gives a line for each row that breaks rules
    instead: those columns, and the numbers of the rules. `batch_column` names the mini-batch that
    a row belongs to, for rules about these. What columns hold is read off `like`, any table with
    the same columns, else guessed from the rules. `prediction` takes the place of the label,
    as in `check`. Rules are counted from 1.

    >>> rules = RuleSet.from_texts(["0 <= x <= 9"])
    >>> print(to_sql(rules, table="boxes", rows=["id"]))  # doctest: +ELLIPSIS
    WITH sqrl_columns AS (
      SELECT
        "id" AS "key_1",
    ...
    """
    rules = rules.in_force()
    forms = rules_as_forms(rules, limit)
    check_dialect(dialect)
    columns = find_columns(rules, forms, like=like, prediction=prediction)
    steps = SqlSteps(columns, rules.statistics())
    if rows:
        refuse_all_batches(forms)
        made = _rows_query(forms, rows, steps, as_table_name(table, dialect))
    else:
        refuse_batches(forms, batch_column)
        query, last = summary_query(
            rules, forms, batch_column, steps, as_table_name(table, dialect)
        )
        made = query.with_parts(last.order_by(column_of("rule"), copy=False))
    return write(made, dialect)


def write(made: exp.Expression, dialect: str) -> str:
    """The query as text in a dialect, one column a line."""
    text: str = made.sql(dialect, pretty=True, unsupported_level=ErrorLevel.RAISE)
    return text + "\n"


def summary_query(
    rules: RuleSet,
    forms: Sequence[Form],
    batch_column: str | None,
    steps: SqlSteps,
    table: exp.Table,
    *,
    first: int = 1,
) -> tuple[Query, exp.Select]:
    """A line for each rule: how often it applies, is broken, and how often chance explains.

    The tables it reads from, and the select. `first` is the number of the first rule.
    """
    query = Query()
    if batch_column is not None and about_batches(forms):
        refuse_unwritable(batch_column, "column")
        steps.keep(BATCH, column_of(batch_column))
    unit = _keep_unit(rules, forms, steps)
    texts, allowed = rules.texts(), allowances(rules, forms)
    for text in texts:
        refuse_unwritable(text, "rule")
    blocks = [block for kind in (True, False) for block in _blocks(forms, is_single=kind)]
    made = [_Block(block, first, forms, steps, unit) for block in blocks]
    last = add_steps(query, steps, table)
    selects = [block.select(query, last, texts, allowed) for block in made]
    union = exp.union(*selects, distinct=False, copy=False) if len(selects) > 1 else selects[0]
    together = exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier(TOGETHER)))
    names = ("rule", "text", "applicable", "violations")
    shown = [*((name, column_of(name)) for name in names), ("allowed", allowed_violations())]
    return query, select(shown, together)


def _keep_unit(rules: RuleSet, forms: Sequence[Form], steps: SqlSteps) -> tuple[str, ...]:
    """The columns that name a unit, kept under names of the query where rules are about units."""
    if not any(isinstance(form.over, Units) for form in forms):
        return ()
    unit = rules.schema.units if rules.schema is not None else ()
    check_has_unit(forms, unit)
    kept = {f"{UNIT}{number}": name for number, name in enumerate(unit, start=1)}
    for ours, name in kept.items():
        refuse_unwritable(name, "column")
        steps.keep(ours, column_of(name))
    return tuple(kept)


class _Block:
    """Rules that are counted together, all about rows or all about mini-batches."""

    def __init__(
        self,
        places: Sequence[int],
        first: int,
        forms: Sequence[Form],
        steps: SqlSteps,
        unit: tuple[str, ...],
    ) -> None:
        self.places, self.numbers = places, [first + place for place in places]
        self.groups = None if forms[places[0]].is_single else Groups(steps, unit)
        broken = self.groups.is_broken if self.groups else lambda form: is_broken(form, steps)
        self.outcomes = [(f"r{first + place}", broken(forms[place])) for place in places]

    def select(
        self, query: Query, last: str, texts: Sequence[str], allowed: Sequence[Allowance]
    ) -> exp.Select:
        """The lines of these rules, from the table of values."""
        first, source = self.numbers[0], last
        if self.groups:
            source = query.add(f"sqrl_batches_{first}", self._aggregated(last))
        made = query.add(f"sqrl_outcomes_{first}", select(self.outcomes, exp.to_table(source)))
        names = [name for name, _ in self.outcomes]
        counts = query.add(f"sqrl_counts_{first}", counts_of(names, made))
        known = [(texts[place], allowed[place]) for place in self.places]
        rules = listed(self.numbers, *zip(*known, strict=True))
        return summary_of(self.numbers, counts, rules)

    def _aggregated(self, last: str) -> exp.Select:
        assert self.groups
        made = [(name, aggregate) for aggregate, name in self.groups.aggregates.items()]
        columns = [(SIZE, exp.Count(this=exp.Star())), *made]
        is_missing = exp.Is(this=column_of(BATCH), expression=exp.Null())
        found = select(columns, exp.to_table(last)).where(exp.Not(this=is_missing), copy=False)
        return found.group_by(column_of(BATCH), copy=False)


def _blocks(forms: Sequence[Form], *, is_single: bool) -> list[list[int]]:
    places = [i for i, form in enumerate(forms) if form.is_single == is_single]
    return [places[first : first + AT_ONCE] for first in range(0, len(places), AT_ONCE)]


def _rows_query(
    forms: Sequence[Form], keys: Sequence[str], steps: SqlSteps, table: exp.Table
) -> exp.Query:
    """A line for each row that breaks a rule: its keys, and the numbers of the rules."""
    query = Query()
    for number, key in enumerate(keys, start=1):
        refuse_unwritable(key, "column")
        if key == BROKEN_RULES:
            raise DataError(
                f"A column cannot be shown under the name {BROKEN_RULES!r}: the result has it.",
                fix="rename the column in a view, or show another",
            )
        steps.keep(f"key_{number}", column_of(key))
    spelt = [
        exp.Case()
        .when(is_broken(form, steps), exp.Literal.string(f" {number}"))
        .else_(exp.Literal.string(""))
        for number, form in enumerate(forms, start=1)
    ]
    last = add_steps(query, steps, table)
    kept = [(key, column_of(f"key_{number}")) for number, key in enumerate(keys, start=1)]
    name = BROKEN_RULES
    made = query.add("sqrl_outcomes", select([*kept, (name, _joined(spelt))], exp.to_table(last)))
    shown = [*((key, column_of(key)) for key in keys), (name, exp.Trim(this=column_of(name)))]
    is_any = exp.NEQ(this=column_of(name), expression=exp.Literal.string(""))
    return query.with_parts(select(shown, exp.to_table(made)).where(is_any, copy=False))


def _joined(texts: list[exp.Expression]) -> exp.Expression:
    """The texts one after the other: functions take at most a hundred arguments."""
    while len(texts) > 1:
        several = [texts[first : first + 50] for first in range(0, len(texts), 50)]
        # By name, as `||` would nest as deeply as there are texts.
        texts = [exp.Anonymous(this="CONCAT", expressions=some) for some in several]
    return texts[0]


def check_dialect(dialect: str) -> None:
    """Raise for a dialect that is not written."""
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)


def as_table_name(table: str, dialect: str) -> exp.Table:
    """A table's name as a person writes it, perhaps with its schema; nothing else."""
    refuse_unwritable(table, "table")
    try:
        made = parse_one(table, into=exp.Table, dialect=dialect)
    except SqlglotError:
        made = None
    if not isinstance(made, exp.Table) or any(
        part.comments or not isinstance(part, exp.Identifier | exp.Table) for part in made.walk()
    ):
        raise DataError(
            f"{table!r} does not name a table.",
            fix='write a name, such as boxes, road.boxes or "my table"',
        )
    return made


def select(columns: Iterable[tuple[str, exp.Expression]], source: exp.Expression) -> exp.Select:
    """Expressions under their names."""
    named = [exp.alias_(made, name, quoted=True, copy=False) for name, made in columns]
    return exp.Select(expressions=named).from_(source, copy=False)


def add_steps(query: Query, steps: SqlSteps, table: exp.Table) -> str:
    """Add the tables of columns and of what is computed of them; the name of the last."""
    columns = steps.levels[0] or {"one": exp.Literal.number(1)}  # rules may name no column at all
    last = query.add(COLUMNS, select(columns.items(), table))
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
    numbers: Sequence[int], texts: Sequence[str], allowed: Sequence[Allowance]
) -> exp.Values:
    """A line for each rule, with what is known of it."""
    lines = [
        exp.Tuple(
            expressions=[
                exp.Literal.number(number),
                exp.Literal.string(text),
                double(one.share),
                double(one.learned_from),
            ]
        )
        for number, text, one in zip(numbers, texts, allowed, strict=True)
    ]
    names = [exp.to_identifier(name, quoted=True) for name in KNOWN]
    alias = exp.TableAlias(this=exp.to_identifier("sqrl_rules"), columns=names)
    return exp.Values(expressions=lines, alias=alias)


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
