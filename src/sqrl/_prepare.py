"""Everything that can be wrong with the data or the schema, found before any work is done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._candidates import Template, make_templates
from sqrl._data import Table, as_table
from sqrl._evaluate import Rows, check_finite
from sqrl._extract import Extractor
from sqrl._forms import sentence_of
from sqrl._language.tree import Name, Node, walk
from sqrl._sample import split_rows
from sqrl._schema import Schema, as_schema, load_schema
from sqrl.errors import DataError, SchemaError, unknown


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Rows to learn from, rows held out, and the templates with their domains resolved."""

    schema: Schema
    train: Rows
    valid: Rows | None
    templates: tuple[Template, ...]
    extractors: tuple[Extractor, ...]
    source: str
    valid_source: str | None
    n_rows: int
    fingerprint: str


def prepare(
    train: Any,
    schema: Schema | Mapping[str, Any] | str | Path | None,
    *,
    valid: Any = None,
    label: str | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
) -> Prepared:
    """The data and the schema, checked against each other."""
    table = _extended(as_table(train), extractors)
    _check_rows(table)
    chosen = _choose_schema(schema, table, label)
    if chosen.label is not None:
        _check_label(table, chosen.label)
    fit, held_out = _divide(table, valid, chosen, seed, extractors)
    statistics = chosen.expressions()
    rows = Rows(fit, statistics)
    _check_names(statistics, chosen, table)
    templates = make_templates(chosen, rows)
    used = _names_used(templates, statistics)
    checked = [rows] if held_out is None else [rows, Rows(held_out, statistics)]
    for part in checked:
        _check_columns(part, used)
    return Prepared(
        schema=chosen,
        train=rows,
        valid=checked[1] if held_out is not None else None,
        templates=templates,
        extractors=tuple(extractors),
        source=table.source,
        valid_source=held_out.source if valid is not None and held_out is not None else None,
        n_rows=table.n_rows,
        fingerprint=table.fingerprint(),
    )


def _extended(table: Table, extractors: Sequence[Extractor]) -> Table:
    for extract in extractors:
        table = extract(table)
    return table


def _check_rows(table: Table) -> None:
    if table.n_rows == 0:
        raise DataError("The table has no rows.", where=table.source, fix="give data to learn from")


def _choose_schema(
    schema: Schema | Mapping[str, Any] | str | Path | None, table: Table, label: str | None
) -> Schema:
    if schema is None:
        from sqrl._propose import propose_schema

        return propose_schema(table, label=label)
    if isinstance(schema, str | Path):
        schema = load_schema(schema)
    chosen = as_schema(schema)
    if label is not None and chosen.label not in {None, label}:
        raise SchemaError(
            f"The schema's label is {chosen.label!r}, not {label!r}.",
            fix="leave one of them out",
        )
    return chosen


def _check_label(table: Table, label: str) -> None:
    column = table[label]
    distinct = len(column.distinct())
    if column.kind == "other" or distinct == 0:
        raise DataError(
            f"The label {label!r} has no values that can be used.",
            where=table.source,
            fix="use a column of numbers or categories",
        )
    if distinct == 1:
        raise DataError(
            f"The label {label!r} is {column.distinct()[0]} in every row: there is nothing to tell.",
            where=table.source,
            fix="use a column with at least two values",
        )


def _divide(
    table: Table, valid: Any, schema: Schema, seed: int, extractors: Sequence[Extractor]
) -> tuple[Table, Table | None]:
    """The rows to learn from and those held out: given, or split off, or none."""
    if valid is not None:
        held_out = _extended(as_table(valid), extractors)
        _check_rows(held_out)
        return table, held_out
    if not schema.validate:
        return table, None
    fit, rest = split_rows(table.n_rows, schema.validate.share, seed=seed)
    if not fit.size or not rest.size:
        raise DataError(
            f"{table.n_rows} rows are too few to hold some out for validation.",
            where=table.source,
            fix="give a validation file (--valid), or set 'validate: false' in the schema",
        )
    source = table.source
    return table.take(fit), as_table(table.take(rest), source=f"{source} (held-out rows)")


def _names_used(templates: tuple[Template, ...], statistics: Mapping[str, Node]) -> set[str]:
    """Columns and derived statistics that the templates speak of."""
    return {
        node.name
        for template in templates
        for tree in _trees(template)
        for node in walk(tree)
        if isinstance(node, Name) and node.name not in template.holes
    } | {node.name for tree in statistics.values() for node in walk(tree) if isinstance(node, Name)}


def _trees(template: Template) -> Iterator[Node]:
    yield sentence_of(template.form)
    for domain in template.names.values():
        yield from domain
    for family in template.families.values():
        yield from family.literals.features


def _check_names(statistics: Mapping[str, Node], schema: Schema, table: Table) -> None:
    for name, tree in statistics.items():
        if name in table:
            raise SchemaError(
                f"The statistic {name!r} has the name of a column.",
                where=f"statistics.{name}",
                fix="give it another name",
            )
        for node in walk(tree):
            known = [*table.names, *statistics]
            if isinstance(node, Name) and node.name not in known:
                raise unknown(
                    "column", node.name, known, where=f"statistics.{name}, {table.source}"
                )
    for hole in schema.let:
        if hole in table:
            raise SchemaError(
                f"The hole {hole!r} has the name of a column.",
                where=f"let.{hole}",
                fix=f"rename the hole, such as to {hole + '1'!r}",
            )


def _check_columns(rows: Rows, used: set[str]) -> None:
    """Raise where a column is unknown, holds infinite values, or is missing on every row."""
    known = [*rows.table.names, *rows.statistics]
    for name in sorted(used):
        if name not in known:
            raise unknown("column or statistic", name, known, where=rows.table.source)
        if name in rows.statistics:
            missing = bool(np.isnan(rows.numbers(Name(name))).all())
        else:
            column = rows.table[name]
            missing = column.kind != "other" and bool(column.missing().all())
        if missing:
            raise DataError(
                f"{name!r} is missing or undefined on every row.",
                where=rows.table.source,
                fix="leave it out of the schema, or check how it is computed",
            )
    check_finite(rows, used)
