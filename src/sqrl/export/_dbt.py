"""to_dbt(): a singular test of dbt for each rule, as files by name.

A test selects nothing where its rule is kept, and the rule with its counts where it is broken more
often than chance explains. dbt reads a test as a Jinja template first, so every brace of ours is
written as an expression that prints one.
"""

import re
from typing import Any

from sqlglot import exp

from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError
from sqrl.export._columns import find_columns
from sqrl.export._rules_to_export import MOST_RULES, refuse_batches, rules_as_forms
from sqrl.export._sql import Query, check_dialect, summary_query, write
from sqrl.export._steps import SqlSteps, column_of
from sqrl.export._targets import TESTS

_MODEL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?\Z", re.ASCII)
_PLACE = "\0"  # which no rule may hold
LONGEST_SLUG = 60


def to_dbt(
    rules: RuleSet,
    *,
    table: str = "data",
    dialect: str = "duckdb",
    batch_column: str | None = None,
    like: Any = None,
    prediction: str | None = None,
    limit: int = MOST_RULES,
) -> dict[str, str]:
    """The text of each test by the name of its file; `table` is a model, or `source.table`.

    >>> tests = to_dbt(RuleSet.from_texts(["0 <= x <= 9"]), table="boxes")
    >>> list(tests)
    ['sqrl_boxes_1_0_x_9.sql']
    >>> "FROM {{ ref('boxes') }}" in tests["sqrl_boxes_1_0_x_9.sql"]
    True
    """
    rules = rules.in_force()
    forms = rules_as_forms(rules, limit)
    check_dialect(dialect)
    refuse_batches(forms, batch_column)
    columns = find_columns(rules, forms, like=like, prediction=prediction)
    place, relation = exp.Table(this=exp.Var(this=_PLACE)), _relation(table)
    files = {}
    for index, form in enumerate(forms):
        one = rules[index : index + 1]
        steps = SqlSteps(columns, rules.statistics())
        made = summary_query(one, [form], batch_column, steps, place.copy(), first=index + 1)
        text = write(_only_beyond(*made), dialect).replace("{", "{{ '{' }}")
        text = text.replace("\r", "{{ '\\r' }}")  # which Jinja would make a line feed of
        name = (
            f"{TESTS.prefix}{_slug(table)}_{index + 1:0{len(str(len(rules)))}}_{_slug(one[0].text)}"
        )
        files[f"{name.rstrip('_')}{TESTS.suffix}"] = text.replace(_PLACE, relation)
    return files


def _only_beyond(query: Query, found: exp.Select) -> exp.Select:
    """The lines of rules that are broken more often than chance explains."""
    source = exp.to_table(query.add("sqrl_found", found))
    beyond = exp.GT(this=column_of("violations"), expression=column_of("allowed"))
    chosen = exp.Select(expressions=[exp.Star()]).from_(source, copy=False)
    return query.with_parts(chosen.where(beyond, copy=False))


def _relation(table: str) -> str:
    if not _MODEL.match(table):
        raise DataError(
            f"{table!r} does not name a dbt model.",
            fix="write a model, such as boxes, or a source and its table: road.boxes",
        )
    first, _, second = table.partition(".")
    return f"{{{{ source('{first}', '{second}') }}}}" if second else f"{{{{ ref('{first}') }}}}"


def _slug(text: str) -> str:
    """Text as part of a file's name that every system and dbt take.

    >>> _slug("type = Car => 0.5 <= width")
    'type_car_0_5_width'
    """
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return plain[:LONGEST_SLUG].strip("_")
