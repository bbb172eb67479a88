"""Whether a schema and the data agree: everything that can be wrong, found before any work."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from sqrl._data.draws import draw_batches
from sqrl._data.table import Column, Table
from sqrl._language.forms import sentence_of
from sqrl._language.names import base_of
from sqrl._language.tree import Compare, In, Name, Node, Units, Word, walk
from sqrl._learn.candidates import Template
from sqrl._rows.sequences import columns_behind, with_sequences
from sqrl._rows.unit_batches import check_enough_units
from sqrl._rules.needed_columns import names_by_value
from sqrl._rules.schema import Schema, as_schema, is_hole_like, load_schema, no_domain
from sqrl._rules.sequence_names import order_given, row_order_of, sequence_names
from sqrl.errors import DataError, OutputError, SchemaError, SqrlError, unknown

NO_ORDER: Mapping[str, str | list[str]] = {}


def choose_schema(
    schema: Schema | Mapping[str, Any] | str | Path,
    label: str | None,
    row_order: Mapping[str, str | list[str]] = NO_ORDER,
) -> Schema:
    """The schema, with the label that rules are about, and the order or unit of its rows."""
    if isinstance(schema, Mapping):  # what is given may be what it needs to be one
        schema = {**row_order, **schema}
    chosen = load_schema(schema) if isinstance(schema, str | Path) else as_schema(schema)
    given: dict[str, Any] = {"label": label, **row_order}
    known = {"label": chosen.label, **order_given(chosen.order, chosen.entity)}
    known |= unit_given(chosen.units)
    new = {key: value for key, value in given.items() if value not in (None, known.get(key))}
    for key, value in new.items():
        if known.get(key) is not None:
            raise SchemaError(
                f"The schema's {key} is {known[key]!r}, not {value!r}.",
                fix="leave one of them out",
            )
    return replace(chosen, **new) if new else chosen


def asked_to_hold(schema: Schema, holds: float | None) -> Schema:
    """The schema, whose rules must hold this often on held-out rows, if that is asked for."""
    if holds is None:
        return schema
    if not schema.validate:
        raise SchemaError(
            f"holds={holds:g} needs held-out rows, but the schema says 'validate: false'.",
            fix="leave that line out, or holds",
        )
    return replace(schema, validate=replace(schema.validate, holds=holds))


def unit_given(unit: tuple[str, ...]) -> dict[str, str | list[str]]:
    """The unit as a schema has it, if there is one: one column by its name alone."""
    if not unit:
        return {}
    return {"unit": unit[0] if len(unit) == 1 else list(unit)}


def as_unit(unit: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of a unit, however they were given."""
    return (unit,) if isinstance(unit, str) else tuple(unit or ())


def check_unit(unit: Iterable[str], table: Table) -> None:
    """Raise where a column of the unit is not there, or holds nothing that tells units apart."""
    for name in unit:
        if name not in table:
            raise unknown("column", name, table.names, where=f"unit, {table.source}")
        if table[name].kind == "other":
            raise DataError(
                f"Column {name!r} is of a type that no unit can be told by.",
                where=table.source,
                fix="name a column of numbers, words or dates",
            )


def check_prediction(label: str | None, prediction: str | None) -> None:
    """Raise where a prediction has no label whose place it could take."""
    if prediction is None:
        return
    if label is None:
        raise SchemaError(
            f"The prediction {prediction!r} takes the place of a label, and there is none.",
            fix="name it (--label), or set 'label:' in the schema",
        )
    if label == prediction:
        raise SchemaError(
            f"The prediction {prediction!r} is the label itself.",
            fix="name the column with what a model said",
        )


def refuse_moved_label(schema: Schema, prediction: str | None) -> None:
    """Raise where columns follow from the label, which a prediction cannot take the place of."""
    if prediction is None or schema.label is None:
        return
    row_order, statistics = row_order_of(schema), schema.expressions()
    for name in sorted(sequence_names(schema)):
        if schema.label in columns_behind([name], row_order, statistics):
            raise SchemaError(
                f"{name} follows from the label {schema.label!r} of the rows before, whose place "
                f"the prediction {prediction!r} cannot take while rules are learned.",
                fix="leave that rule out, or the prediction",
            )


def add_sequences(table: Table, schema: Schema) -> Table:
    """The table with the columns of the schema that follow from the rows before."""
    names = needed_sequences(schema, table.names)
    return with_sequences(table, names, row_order_of(schema), schema.expressions())


def needed_sequences(schema: Schema, known: Iterable[str]) -> frozenset[str]:
    """The columns of a schema that follow from the rows before, of data with these columns.

    Not those of what may be a hole that nobody declared: that is reported later.
    """
    there, names = set(known), sequence_names(schema)
    return names - {n for n in names if is_hole_like(base_of(n)) and base_of(n) not in there}


def hide_column(table: Table, name: str | None) -> Table:
    """The table with a column that no rule may speak of; its name stays taken."""
    if name is None:
        return table
    hidden = Column(name, "other", np.full(table[name].values.size, np.nan))
    return Table({**table.columns, name: hidden}, table.n_rows, table.source)


def refuse_held_out(schema: Schema, source: str) -> None:
    """Raise where held-out rows are given to a schema that does not validate."""
    if not schema.validate:
        raise SchemaError(
            "Held-out rows are given, but the schema says 'validate: false'.",
            where=source,
            fix="leave the held-out rows out, or that line",
        )


def too_few_rows(n_rows: int, source: str) -> DataError:
    """The error for rows of which none can be held out."""
    return DataError(
        f"{n_rows} {'row is' if n_rows == 1 else 'rows are'} too few to hold "
        "some out for validation.",
        where=source,
        fix="give a validation file (--valid), or set 'validate: false' in the schema",
    )


def no_rows(source: str) -> DataError:
    """The error for a table without rows."""
    return DataError("The table has no rows.", where=source, fix="give data to learn from")


@contextmanager
def in_file(schema: object) -> Iterator[None]:
    """Errors in a schema that was read from a file say which file.

    Rows are looked at on the way: what is wrong with data, or an output, has no part in a schema.
    """
    try:
        yield
    except (DataError, OutputError):
        raise
    except SqrlError as error:
        raise error.at(str(schema)) if isinstance(schema, str | Path) else error from None


@dataclass(frozen=True, slots=True)
class Used:
    """Columns and derived statistics that templates speak of, and those whose values they use.

    Of the others only functions of text, or whether they have a value, are asked.
    """

    names: frozenset[str]
    by_value: frozenset[str]

    def with_names(self, names: Iterable[str]) -> "Used":
        """More columns, whose values no rule uses."""
        return Used(self.names | frozenset(names), self.by_value)

    def with_value(self, name: str | None) -> "Used":
        """One more column whose values are used, if it is one."""
        also = frozenset() if name is None else frozenset([name])
        return Used(self.names | also, self.by_value | also)


def names_used(templates: tuple[Template, ...], statistics: Mapping[str, Node]) -> Used:
    """Columns and derived statistics that the templates speak of."""
    names, by_value = set(), set()
    for template in templates:
        for tree in _trees(template):
            names |= _filled((n.name for n in walk(tree) if isinstance(n, Name)), template)
            by_value |= _filled(names_by_value(tree), template)
    for tree in statistics.values():
        names |= {node.name for node in walk(tree) if isinstance(node, Name)}
        by_value |= set(names_by_value(tree))
    return Used(frozenset(names), frozenset(by_value))


def _filled(names: Iterable[str], template: Template) -> set[str]:
    """The names that are no holes, and of `delta(A)` all that it can be."""
    found: set[str] = set()
    for name in names:
        domain = template.domain(Name(name)) if base_of(name) != name else None
        if domain is not None:
            found |= {node.name for node in domain if isinstance(node, Name)}
        elif name not in template.holes:
            found.add(name)
    return found


def _trees(template: Template) -> Iterator[Node]:
    yield sentence_of(template.form)
    for domain in template.names.values():
        yield from domain
    for family in template.families.values():
        yield from family.literals.features


def check_names(statistics: Mapping[str, Node], schema: Schema, table: Table) -> None:
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


def check_undeclared(schema: Schema, table: Table) -> None:
    """Raise for a name such as `Y` that is neither declared as a hole nor found in the data."""
    known = {*schema.let, *schema.statistics, *table.names}
    for index, (form, text) in enumerate(zip(schema.forms(), schema.sentences, strict=True)):
        for node in walk(sentence_of(form)):
            for name in _unknown_names(node, table, known):
                if is_hole_like(name):
                    example = "[width, height]" if isinstance(node, Name) else "values(column)"
                    raise no_domain(name, example, schema.let, f"rules[{index}], {text}")


def _unknown_names(node: Node, table: Table, known: set[str]) -> Iterator[str]:
    """The names in a node, not in its parts, that are no column, and the words no category."""
    match node:
        case Name(name) if name not in known and base_of(name) not in known:
            yield base_of(name)
        case Compare(Name(column), _, Word() as one) | In(Name(column), one):
            categories = table[column].categories if column in table else ()
            for value in one if isinstance(one, tuple) else (one,):
                if isinstance(value, Word) and value.text not in {*known, *categories}:
                    yield value.text


def check_known(used: Iterable[str], known: Iterable[str], source: str) -> None:
    """Raise where a name is neither a column nor a statistic."""
    known = list(known)
    for name in sorted(used):
        if name not in known:
            raise unknown("column or statistic", name, known, where=source)


def nowhere_known(name: str, source: str) -> DataError:
    """The error for a column or statistic that no row has a value of."""
    return DataError(
        f"{name!r} is missing or undefined on every row.",
        where=source,
        fix="leave it out of the schema, or check how it is computed",
    )


def check_kinds(train: Table, valid: Table, used: frozenset[str]) -> None:
    """Raise where a column holds one thing in the train rows and another in the held-out rows."""
    for name in sorted(used & set(train.names)):
        here, there = _content(train[name]), _content(valid[name])
        if here != there:
            raise DataError(
                f"Column {name!r} holds {there}, but {here} in {train.source}.",
                where=valid.source,
                fix="write it in the same way in both files",
            )


def check_batches(
    templates: tuple[Template, ...], sizes: Mapping[str, int], units: Mapping[str, int]
) -> None:
    """Raise where a mini-batch is larger than what it is to be drawn from: rows, units, by source.

    Units are counted only where mini-batches are of such.
    """
    for template in templates:
        over = template.form.over
        if isinstance(over, Units):
            for source, n_units in units.items():
                check_enough_units(over.n, n_units, source)
        elif over:
            for source, n_rows in sizes.items():
                draw_batches(n_rows, over, 0, seed=0, where=source)


def _content(column: Column) -> str:
    if column.kind in {"number", "boolean"}:
        return "numbers"
    if column.kind == "date":
        return "dates"
    return "categories" if column.kind == "category" else "neither numbers nor categories"
