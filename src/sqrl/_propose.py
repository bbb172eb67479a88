"""A default schema for a table nobody has written one for.

For a label with classes: an interval of every number within every class, and the F1 of conjunctions
of facts for every class. For a label that is a number: its range under every fact. With no label:
the range of every number, and of every number given another. As many literals and pairs as the
budget allows.
"""

import math

from sqrl._candidates import check_limit, make_templates
from sqrl._data import Column, Table
from sqrl._domains import MOST_LITERALS
from sqrl._evaluate import Rows
from sqrl._language.printer import name_text
from sqrl._schema import Batches, Schema, Select
from sqrl.errors import DataError, LimitError

BUDGET = 300_000  # candidates
MOST_CLASSES = 50
MOST_COLUMNS = 60  # with more, each logic rule is about a narrower share of them
TOP = 50


def propose_schema(table: Table, *, label: str | None = None, budget: int = BUDGET) -> Schema:
    """A schema of conditional intervals and logic rules that fits the table and the budget.

    >>> from sqrl._data import as_table
    >>> people = as_table({"age": [20.5, 30.5, 40.5] * 40, "sick": ["no", "no", "yes"] * 40})
    >>> print("\\n".join(propose_schema(people, label="sick").rules))
    sick = Y => ? <= A <= ?
    ? <= f1(L{1..2} => sick = Y) <= ? over 16
    """
    target = table[label] if label is not None else None
    usable = [
        column for column in table.columns.values() if column.name != label and is_usable(column)
    ]
    if not usable:
        raise DataError(
            "No column can be used: each is constant, an identifier, or of another type.",
            where=table.source,
            fix="give a table with numbers or categories",
        )
    if target is not None and len(target.distinct()) <= MOST_CLASSES:
        return _for_classes(table, target, usable, budget)
    return _for_numbers(table, target, usable, budget)


def is_usable(column: Column) -> bool:
    """Whether a column can tell rows apart and is more than a row's name.

    An identifier is a whole number or a text that is different in every row.
    """
    if column.kind == "other":
        return False
    present = int((~column.missing()).sum())
    distinct = len(column.distinct())
    is_name = distinct == present and present > 20
    if column.kind == "category":
        return 2 <= distinct <= MOST_LITERALS
    return distinct >= 2 and not (is_name and column.is_integer)


def _for_classes(table: Table, label: Column, usable: list[Column], budget: int) -> Schema:
    numbers = [column for column in usable if _is_measure(column)]
    name = name_text(label.name)
    let: dict[str, object] = {"Y": f"values({name})"}
    rules = []
    if numbers:
        let["A"] = [name_text(column.name) for column in numbers]
        rules.append(f"{name} = Y => ? <= A <= ?")
    let["L"] = _literals(usable)
    size = _batch_size(table.n_rows)
    for n_literals in (3, 2, 1):
        logic = f"? <= f1(L{{1..{n_literals}}} => {name} = Y) <= ? over {size}"
        schema = _schema([*rules, logic], let, label.name)
        if _fits(schema, table, budget):
            return schema
    return _schema(rules or [logic], let, label.name)


def _for_numbers(table: Table, label: Column | None, usable: list[Column], budget: int) -> Schema:
    numbers = [column for column in usable if _is_measure(column)]
    names = [name_text(column.name) for column in numbers]
    if label is not None:
        subject = name_text(label.name)
        choices = [
            (["? <= X <= ?".replace("X", subject), f"L{{1..2}} => ? <= {subject} <= ?"], "L"),
            ([f"? <= {subject} <= ?", f"L => ? <= {subject} <= ?"], "L"),
            ([f"? <= {subject} <= ?"], ""),
        ]
    else:
        choices = [(["? <= A <= ?", "? <= B <= ? by A/4"], "AB"), (["? <= A <= ?"], "A")]
        if not numbers:
            raise DataError(
                "The table has no numbers to bound.", where=table.source, fix="give a --label"
            )
    domains: dict[str, object] = {"A": names, "B": names, "L": _literals(usable)}
    for rules, holes in choices:
        schema = _schema(rules, {hole: domains[hole] for hole in holes}, label and label.name)
        if _fits(schema, table, budget):
            return schema
    return schema


def _schema(rules: list[str], let: dict[str, object], label: str | None) -> Schema:
    return Schema(
        rules=tuple(rules),
        let=let,  # type: ignore[arg-type]
        label=label,
        batches=Batches(train=100, valid=50),
        select=Select(top=TOP, per="Y" if "Y" in let else None, by="lower"),
    )


def _is_measure(column: Column) -> bool:
    return column.kind == "number" and len(column.distinct()) > 10


def _literals(columns: list[Column]) -> str:
    """`age/8` for a number with many values, the plain name for one with few."""
    parts = []
    for column in columns[:MOST_COLUMNS]:
        name = name_text(column.name)
        parts.append(f"{name}/{4 if len(columns) > 20 else 8}" if _is_measure(column) else name)
    return f"literals({', '.join(parts)})"


def _batch_size(n_rows: int) -> int:
    """A power of two of which the held-out fifth of the rows holds at least one."""
    return int(min(4096, 2 ** max(3, math.floor(math.log2(max(n_rows, 64) / 5)))))


def _fits(schema: Schema, table: Table, budget: int) -> bool:
    try:
        templates = make_templates(schema, Rows(table, {}))
        return check_limit(templates, budget) <= budget
    except LimitError:
        return False
