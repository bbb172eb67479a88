"""Everything that can be wrong with the data or the schema, found before any work is done."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from sqrl._candidates import Template, make_templates
from sqrl._data import Column, Table, as_table
from sqrl._evaluate import Rows, check_finite
from sqrl._extract import Extractor
from sqrl._forms import sentence_of
from sqrl._language.tree import Compare, In, Name, Node, Word, walk
from sqrl._propose import check_label, propose_schema
from sqrl._sample import draw_batches, split_rows
from sqrl._schema import Schema, as_schema, is_hole_like, load_schema, no_domain
from sqrl.errors import DataError, SchemaError, SqrlError, unknown


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
    table = _read(train, extractors)
    given = None if valid is None else _read(valid, extractors)
    chosen = _choose_schema(schema, table, label, given)
    if chosen.label is not None:
        check_label(table, chosen.label)
    statistics = chosen.expressions()
    fit, held_out = _divide(table, given, chosen, seed)
    rows = Rows(fit, statistics)
    with _in_file(schema):
        _check_names(statistics, chosen, table)
        _check_undeclared(chosen, table)
        templates = _make_templates(chosen, rows)
    used = _names_used(templates, statistics)
    _check_columns(Rows(table, statistics), used)
    if given is not None:
        _check_columns(Rows(given, statistics), used)
        _check_kinds(table, given, used)
    _check_batches(templates, fit, held_out)
    return Prepared(
        schema=chosen,
        train=rows,
        valid=None if held_out is None else Rows(held_out, statistics),
        templates=templates,
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
        fix = "give data to learn from"
        raise DataError("The table has no rows.", where=table.source, fix=fix)
    return table


def _choose_schema(
    schema: Schema | Mapping[str, Any] | str | Path | None,
    table: Table,
    label: str | None,
    valid: Table | None,
) -> Schema:
    if schema is None:
        return propose_schema(table, label=label, valid=valid)
    chosen = load_schema(schema) if isinstance(schema, str | Path) else as_schema(schema)
    if label is None or chosen.label == label:
        return chosen
    if chosen.label is not None:
        raise SchemaError(
            f"The schema's label is {chosen.label!r}, not {label!r}.",
            fix="leave one of them out",
        )
    return replace(chosen, label=label)


def _divide(
    table: Table, valid: Table | None, schema: Schema, seed: int
) -> tuple[Table, Table | None]:
    """The rows to learn from and those held out: given, or split off, or none."""
    if valid is not None:
        if not schema.validate:
            raise SchemaError(
                "Held-out rows are given, but the schema says 'validate: false'.",
                where=valid.source,
                fix="leave the held-out rows out, or that line",
            )
        return table, valid
    if not schema.validate:
        return table, None
    fit, rest = split_rows(table.n_rows, schema.validate.share, seed=seed)
    if not fit.size or not rest.size:
        raise DataError(
            f"{table.n_rows} {'row is' if table.n_rows == 1 else 'rows are'} too few to hold "
            "some out for validation.",
            where=table.source,
            fix="give a validation file (--valid), or set 'validate: false' in the schema",
        )
    held_out = as_table(table.take(rest), source=f"{table.source} (held-out rows)")
    return table.take(fit), held_out


@contextmanager
def _in_file(schema: object) -> Iterator[None]:
    """Errors in a schema that was read from a file say which file."""
    try:
        yield
    except SqrlError as error:
        raise error.at(str(schema)) if isinstance(schema, str | Path) else error from None


def _make_templates(schema: Schema, rows: Rows) -> tuple[Template, ...]:
    with np.errstate(invalid="ignore"):  # infinite values are reported later
        return make_templates(schema, rows)


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


def _check_undeclared(schema: Schema, table: Table) -> None:
    """Raise for a name such as `Y` that is neither declared as a hole nor found in the data."""
    known = {*schema.let, *schema.statistics, *table.names}
    for index, (form, text) in enumerate(zip(schema.forms(), schema.rules, strict=True)):
        for node in walk(sentence_of(form)):
            for name in _unknown_names(node, table, known):
                if is_hole_like(name):
                    example = "[width, height]" if isinstance(node, Name) else "values(column)"
                    raise no_domain(name, example, schema.let, f"rules[{index}], {text}")


def _unknown_names(node: Node, table: Table, known: set[str]) -> Iterator[str]:
    """The names in a node, not in its parts, that are no column, and the words no category."""
    match node:
        case Name(name) if name not in known:
            yield name
        case Compare(Name(column), _, Word(text)):
            yield from _unknown_words(column, (Word(text),), table, known)
        case In(Name(column), values):
            yield from _unknown_words(column, values, table, known)


def _unknown_words(
    column: str, values: tuple[Node, ...], table: Table, known: set[str]
) -> Iterator[str]:
    categories = table[column].categories if column in table else ()
    for value in values:
        if isinstance(value, Word) and value.text not in {*known, *categories}:
            yield value.text


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


def _check_kinds(train: Table, valid: Table, used: set[str]) -> None:
    """Raise where a column holds one thing in the train rows and another in the held-out rows."""
    for name in sorted(used & set(train.names)):
        here, there = _content(train[name]), _content(valid[name])
        if here != there:
            raise DataError(
                f"Column {name!r} holds {there}, but {here} in {train.source}.",
                where=valid.source,
                fix="write it in the same way in both files",
            )


def _check_batches(templates: tuple[Template, ...], *tables: Table | None) -> None:
    """Raise where a mini-batch is larger than the table it is to be drawn from."""
    for template in templates:
        for table in tables:
            if template.form.over and table is not None:
                draw_batches(table.n_rows, template.form.over, 0, seed=0, where=table.source)


def _content(column: Column) -> str:
    if column.kind in {"number", "boolean"}:
        return "numbers"
    return "categories" if column.kind == "category" else "neither numbers nor categories"
