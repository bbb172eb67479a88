"""Rows to learn from and the templates to fill: the data and the schema, checked together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sqrl._data.extractors import Extractor
from sqrl._data.formats.boxes import is_box_file
from sqrl._data.given_path import given_path
from sqrl._data.table import Table
from sqrl._language.tree import Units
from sqrl._learn.candidates import Template, make_templates
from sqrl._learn.rows_in_memory import RowsInMemory, read_rows
from sqrl._learn.schema_checks import (
    as_unit,
    asked_to_hold,
    check_batches,
    check_kinds,
    check_names,
    check_prediction,
    check_undeclared,
    choose_schema,
    in_file,
    names_used,
    refuse_moved_label,
    unit_given,
)
from sqrl._learn.supervise import SUPERVISE
from sqrl._progress import Track
from sqrl._rows.questions import Answers, Asking, FindUnits, Of
from sqrl._rows.unit_batches import check_has_unit
from sqrl._rules.ruleset import Provenance
from sqrl._rules.schema import Schema
from sqrl._rules.sequence_names import order_given
from sqrl._scan.scan import as_scan, refuse_extractors, scan_anyway
from sqrl._version import __version__

if TYPE_CHECKING:
    from sqrl._learn.rows_scanned import RowsScanned


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Rows that answer questions, and the templates with their domains resolved.

    `table` has the names, kinds and distinct values of the train rows' columns. `provenance` has
    no counts of candidates yet.
    """

    schema: Schema
    templates: tuple[Template, ...]
    rows: Answers
    table: Table
    provenance: Provenance


def prepare(  # noqa: PLR0913  (as those of `learn`)
    train: Any,
    schema: Schema | Mapping[str, Any] | str | Path | None,
    *,
    valid: Any = None,
    label: str | None = None,
    order: str | Sequence[str] | None = None,
    entity: str | Sequence[str] | None = None,
    prediction: str | None = None,
    unit: str | Sequence[str] | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
    holds: float | None = None,
    min_support: int | None = None,
    track: Track | None = None,
) -> Prepared:
    """The data and the schema, checked against each other.

    Cost: of scanned rows a pass over all columns, and a few more for the cut points of literals.
    """
    source = _open(train, valid, extractors)
    in_order = order_given(order, entity)
    units = as_unit(unit) if unit is not None else _usual_unit(train)
    given = None
    if schema == SUPERVISE:  # which is about any table: it is filled in by this one
        given = source.propose(
            label, in_order, seed=seed, unit=units, supervise=True, min_support=min_support
        )
    elif schema is not None:
        given = choose_schema(schema, label, {**in_order, **unit_given(as_unit(unit))})
        given = given if given.units else choose_schema(given, label, unit_given(units))
    check_prediction(label if given is None else given.label, prediction)
    chosen = given or source.propose(label, in_order, seed=seed, prediction=prediction, unit=units)
    chosen = asked_to_hold(chosen, holds)
    refuse_moved_label(chosen, prediction)
    known = source.look(chosen, seed=seed, track=track, prediction=prediction)
    statistics = chosen.expressions()
    with in_file(schema):
        check_names(statistics, chosen, known.whole)
        check_undeclared(chosen, known.whole)
        with np.errstate(invalid="ignore"):  # infinite values are reported later
            templates = make_templates(chosen, known.rows, known.cut_literals())
        check_has_unit([template.form for template in templates], chosen.units)
    used = names_used(templates, statistics).with_value(prediction).with_names(chosen.units)
    known.check_used(used)
    if known.valid is not None:
        check_kinds(known.whole, known.valid, used.names)
    answers, sources = known.answers(used.names), [source for source, _ in known.sizes]
    n_units = dict(zip(sources, count_units(templates, answers, chosen), strict=False))
    check_batches(templates, dict(known.sizes), n_units)
    (_, train_rows), *held_out = known.sizes
    provenance = Provenance(
        sqrl=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=known.whole.source,
        rows=known.whole.n_rows,
        train_rows=train_rows,
        valid_rows=sum(n_rows for _, n_rows in held_out),
        seed=seed,
        fingerprint=known.fingerprint(),
        valid_source=None if known.valid is None else known.valid.source,
        extractors=[extractor.name for extractor in extractors],
    )
    return Prepared(chosen, templates, answers, known.rows.table, provenance)


def count_units(templates: Sequence[Template], answers: Answers, schema: Schema) -> list[int]:
    """How many train units there are, and held-out ones, if any mini-batches are of units."""
    if not any(isinstance(template.form.over, Units) for template in templates):
        return []
    asked: tuple[Of, ...] = ("train", "valid") if schema.validate else ("train",)

    def find(of: Of) -> Asking[int]:
        (units,) = yield [FindUnits(of, schema.units)]
        return int(units.n)

    return answers.ask([find(of) for of in asked])


def _usual_unit(train: Any) -> tuple[str, ...]:
    """The unit of data that says it by itself: boxes belong to their image."""
    is_boxes = isinstance(train, str | Path) and is_box_file(given_path(train))
    return ("image",) if is_boxes else ()


def propose(
    train: Any,
    *,
    valid: Any = None,
    label: str | None = None,
    order: str | Sequence[str] | None = None,
    entity: str | Sequence[str] | None = None,
    prediction: str | None = None,
    unit: str | Sequence[str] | None = None,
    seed: int = 0,
) -> Schema:
    """The schema that `prepare` would propose for data that has none."""
    check_prediction(label, prediction)
    source, in_order = _open(train, valid, ()), order_given(order, entity)
    units = as_unit(unit) if unit is not None else _usual_unit(train)
    return source.propose(label, in_order, seed=seed, prediction=prediction, unit=units)


def _open(train: Any, valid: Any, extractors: Sequence[Extractor]) -> "RowsInMemory | RowsScanned":
    """The data, read into memory or scanned: both parts in the same way."""
    scanned = as_scan(train)
    if scanned is None and as_scan(valid) is not None:
        scanned = scan_anyway(train)
    if scanned is None:
        held = None if valid is None else read_rows(valid, extractors)
        return RowsInMemory(read_rows(train, extractors), held)
    from sqrl._learn.rows_scanned import RowsScanned

    refuse_extractors(extractors, scanned.name)
    held_out = None if valid is None else scan_anyway(valid).engine
    return RowsScanned(scanned.engine, held_out, scanned.memory)
