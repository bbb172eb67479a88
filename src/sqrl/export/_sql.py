"""to_sql(): one query that counts what rules find, or that names the rows that break them."""

from collections.abc import Sequence
from typing import Any

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.errors import SqlglotError

from sqrl._language.forms import Form
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, unknown
from sqrl.export._allowance import Allowance, allowances
from sqrl.export._batch_rules import BATCH, SIZE, Groups
from sqrl.export._columns import find_columns, refuse_unwritable
from sqrl.export._query import (
    TOGETHER,
    Query,
    add_steps,
    allowed_violations,
    counts_of,
    listed,
    select,
    subquery,
    summary_of,
)
from sqrl.export._row_rules import is_broken
from sqrl.export._rules_to_export import (
    MOST_RULES,
    about_batches,
    refuse_all_batches,
    refuse_batches,
    rules_as_forms,
)
from sqrl.export._steps import Steps, column_of
from sqrl.export._targets import DIALECTS

AT_ONCE = 250  # rules counted in one table of the query: Postgres has at most 1,600 columns


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
    the same columns, else guessed from the rules. `prediction` stands in for the label, as in
    `check`. Rules are counted from 1.

    >>> rules = RuleSet.from_texts(["0 <= x <= 9"])
    >>> print(to_sql(rules, table="boxes", rows=["id"]))  # doctest: +ELLIPSIS
    WITH sqrl_columns AS (
      SELECT
        "id" AS "key_1",
    ...
    """
    forms = rules_as_forms(rules, limit)
    check_dialect(dialect)
    columns = find_columns(rules, forms, like=like, prediction=prediction)
    steps = Steps(columns, rules.statistics())
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
    steps: Steps,
    table: exp.Table,
    *,
    first: int = 1,
) -> tuple[Query, exp.Select]:
    """A line for each rule: how often it applies, is broken, and would be by chance.

    The tables it reads from, and the select. `first` is the number of the first rule.
    """
    query = Query()
    if batch_column is not None and about_batches(forms):
        refuse_unwritable(batch_column, "column")
        steps.keep(BATCH, column_of(batch_column))
    texts, chances = rules.texts(), allowances(rules, forms)
    for text in texts:
        refuse_unwritable(text, "rule")
    blocks = [block for kind in (True, False) for block in _blocks(forms, is_single=kind)]
    made = [_Block(block, first, forms, steps) for block in blocks]
    last = add_steps(query, steps, table)
    selects = [block.select(query, last, texts, chances) for block in made]
    union = exp.union(*selects, distinct=False, copy=False) if len(selects) > 1 else selects[0]
    together = subquery(union, TOGETHER)
    names = ("rule", "text", "applicable", "violations")
    shown = [*((name, column_of(name)) for name in names), ("allowed", allowed_violations())]
    return query, select(shown, together)


class _Block:
    """Rules that are counted together, all about rows or all about mini-batches."""

    def __init__(
        self, places: Sequence[int], first: int, forms: Sequence[Form], steps: Steps
    ) -> None:
        self.places, self.numbers = places, [first + place for place in places]
        self.groups = None if forms[places[0]].is_single else Groups(steps)
        judge = self.groups.is_broken if self.groups else lambda form: is_broken(form, steps)
        self.judged = [(f"r{first + place}", judge(forms[place])) for place in places]

    def select(
        self, query: Query, last: str, texts: Sequence[str], chances: Sequence[Allowance]
    ) -> exp.Select:
        """The lines of these rules, from the table of values."""
        first, source = self.numbers[0], last
        if self.groups:
            source = query.add(f"sqrl_batches_{first}", self._aggregated(last))
        judged = query.add(f"sqrl_judged_{first}", select(self.judged, exp.to_table(source)))
        names = [name for name, _ in self.judged]
        counts = query.add(f"sqrl_counts_{first}", counts_of(names, judged))
        known = [(texts[place], chances[place]) for place in self.places]
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
    forms: Sequence[Form], keys: Sequence[str], steps: Steps, table: exp.Table
) -> exp.Query:
    """A line for each row that breaks a rule: its keys, and the numbers of the rules."""
    query = Query()
    for number, key in enumerate(keys, start=1):
        refuse_unwritable(key, "column")
        steps.keep(f"key_{number}", column_of(key))
    spelt = [
        exp.Case()
        .when(is_broken(form, steps), exp.Literal.string(f" {number}"))
        .else_(exp.Literal.string(""))
        for number, form in enumerate(forms, start=1)
    ]
    last = add_steps(query, steps, table)
    kept = [(key, column_of(f"key_{number}")) for number, key in enumerate(keys, start=1)]
    name = "broken_rules"
    judged = query.add("sqrl_judged", select([*kept, (name, _joined(spelt))], exp.to_table(last)))
    shown = [*((key, column_of(key)) for key in keys), (name, exp.Trim(this=column_of(name)))]
    is_any = exp.NEQ(this=column_of(name), expression=exp.Literal.string(""))
    return query.with_parts(select(shown, exp.to_table(judged)).where(is_any, copy=False))


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
