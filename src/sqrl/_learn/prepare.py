"""Rows to learn from and the templates to fill, from data in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._data.draws import split_rows
from sqrl._data.extractors import Extractor
from sqrl._data.table import Table, as_table
from sqrl._language.tree import Name
from sqrl._learn.candidates import Template, make_templates
from sqrl._learn.propose import check_label, propose_schema
from sqrl._learn.schema_checks import (
    check_batches,
    check_kinds,
    check_known,
    check_names,
    check_undeclared,
    choose_schema,
    in_file,
    names_used,
    no_rows,
    nowhere_known,
    refuse_held_out,
    too_few_rows,
)
from sqrl._rows.questions import Answers, InMemory
from sqrl._rows.rows import Rows, check_finite
from sqrl._rules.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Who answers for the rows, and the templates with their domains resolved.

    `table` has the names, kinds and distinct values of the train rows' columns.
    """

    schema: Schema
    templates: tuple[Template, ...]
    rows: Answers
    table: Table
    train_rows: int
    valid_rows: int
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
    table = _read(train, extractors)
    given = None if valid is None else _read(valid, extractors)
    if schema is None:
        chosen = propose_schema(table, label=label, valid=given)
    else:
        chosen = choose_schema(schema, label)
    if chosen.label is not None:
        check_label(table, chosen.label)
    statistics = chosen.expressions()
    fit, held_out = _divide(table, given, chosen, seed)
    rows = Rows(fit, statistics)
    with in_file(schema):
        check_names(statistics, chosen, table)
        check_undeclared(chosen, table)
        with np.errstate(invalid="ignore"):  # infinite values are reported later
            templates = make_templates(chosen, rows)
    used = names_used(templates, statistics)
    _check_columns(Rows(table, statistics), used)
    if given is not None:
        _check_columns(Rows(given, statistics), used)
        check_kinds(table, given, used)
    tables = (fit,) if held_out is None else (fit, held_out)
    check_batches(templates, {table.source: table.n_rows for table in tables})
    return Prepared(
        schema=chosen,
        templates=templates,
        rows=InMemory(rows, None if held_out is None else Rows(held_out, statistics)),
        table=fit,
        train_rows=fit.n_rows,
        valid_rows=0 if held_out is None else held_out.n_rows,
        extractors=tuple(extractors),
        source=table.source,
        valid_source=None if given is None else given.source,
        n_rows=table.n_rows,
        fingerprint=table.fingerprint(),
    )


def _read(data: Any, extractors: Sequence[Extractor]) -> Table:
    table = as_table(data)
    for extract in extractors:
        table = extract(table)
    if table.n_rows == 0:
        raise no_rows(table.source)
    return table


def _divide(
    table: Table, valid: Table | None, schema: Schema, seed: int
) -> tuple[Table, Table | None]:
    """The rows to learn from and those held out: given, or split off, or none."""
    if valid is not None:
        refuse_held_out(schema, valid.source)
        return table, valid
    if not schema.validate:
        return table, None
    fit, rest = split_rows(table.n_rows, schema.validate.share, seed=seed)
    if not fit.size or not rest.size:
        raise too_few_rows(table.n_rows, table.source)
    held_out = as_table(table.take(rest), source=f"{table.source} (held-out rows)")
    return table.take(fit), held_out


def _check_columns(rows: Rows, used: set[str]) -> None:
    """Raise where a column is unknown, holds infinite values, or is missing on every row."""
    check_known(used, [*rows.table.names, *rows.statistics], rows.table.source)
    for name in sorted(used):
        if name in rows.statistics:
            missing = bool(np.isnan(rows.numbers(Name(name))).all())
        else:
            column = rows.table[name]
            missing = column.kind != "other" and bool(column.missing().all())
        if missing:
            raise nowhere_known(name, rows.table.source)
    check_finite(rows, used)
