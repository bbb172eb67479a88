"""Rows to learn from that are in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._check.evidence import Evidence
from sqrl._check.row_scores import CountScores, CountTails
from sqrl._data.draws import draw_batches, split_rows
from sqrl._data.extractors import Extractor
from sqrl._data.table import CHUNK_ROWS, Table, as_table, take_rows
from sqrl._kernels.arrays import Ints
from sqrl._language.tree import Name
from sqrl._learn.domains import Cut
from sqrl._learn.roles import check_label
from sqrl._learn.schema_checks import (
    Used,
    add_sequences,
    check_known,
    check_unit,
    hide_column,
    no_rows,
    nowhere_known,
    refuse_held_out,
    too_few_rows,
)
from sqrl._progress import Track
from sqrl._rows.questions import Answers, MemoryAnswers
from sqrl._rows.rows import Rows, check_finite
from sqrl._rows.units import held_out_units, is_among, too_few_units, unit_keys
from sqrl._rules.needed_columns import names_in
from sqrl._rules.schema import Schema
from sqrl._scan.held_rows import MANY_ROWS, HeldAnswers


@dataclass(frozen=True, slots=True, eq=False)
class LookedAt:
    """Rows to learn from, and rows held out, as a schema wants them.

    `whole` and `valid` have the columns of the data that was given. `rows` has each value of the
    train rows' columns at least once. `sizes` are how many rows there are to learn from, and how
    many are held out, with what messages call them.
    """

    whole: Table
    valid: Table | None
    rows: Rows
    sizes: list[tuple[str, int]]
    cut_literals: Callable[[], Cut | None]  # None: on `rows`, which are then all of them
    check_used: Callable[[Used], None]  # raises where a column cannot be used
    answers: Callable[[frozenset[str]], Answers]  # of questions about the columns that are used
    fingerprint: Callable[[], str]


@dataclass(frozen=True, slots=True, eq=False)
class RowsInMemory:
    """A table to learn from, and one of held-out rows if such are given."""

    table: Table
    valid: Table | None

    def propose(
        self,
        label: str | None,
        in_order: Mapping[str, Any],
        *,
        seed: int,
        prediction: str | None = None,
        unit: tuple[str, ...] = (),
        supervise: bool = False,
        min_support: int | None = None,
    ) -> Schema:
        """A schema for data without one, in which no rule speaks of the prediction or the unit.

        It is proposed from some of the rows where there are many.
        """
        from sqrl._learn.propose import PROPOSED_FROM, propose_schema
        from sqrl._learn.watched_sequences import add_moves

        check_unit(unit, self.table)
        table = hide_column(self.table, prediction)
        if supervise:
            from sqrl._learn.supervise import propose_supervision

            return propose_supervision(
                table, label=label, valid=self.valid, unit=unit, min_support=min_support
            )
        lacking = frozenset(
            name
            for name, column in table.columns.items()
            if column.kind != "other" and column.missing().any()
        )
        table = add_moves(table, **in_order)  # before rows are drawn, that others follow from
        if table.n_rows > PROPOSED_FROM:
            where = table.source
            drawn = draw_batches(table.n_rows, PROPOSED_FROM, 1, seed=seed, where=where)
            table = table.take(drawn[0])
        return propose_schema(
            table, label=label, valid=self.valid, seed=seed, lacking=lacking, unit=unit, **in_order
        )

    def look(
        self,
        schema: Schema,
        *,
        seed: int,
        track: Track | None,  # noqa: ARG002
        prediction: str | None = None,  # noqa: ARG002
    ) -> LookedAt:
        """The rows divided into those to learn from and those held out."""
        if schema.label is not None:
            check_label(self.table, schema.label)
        for table in (self.table, self.valid):
            if table is not None:
                check_unit(schema.units, table)
        valid = None if self.valid is None else add_sequences(self.valid, schema)
        whole = RowsInMemory(add_sequences(self.table, schema), valid)
        fit, held_out = whole._divide(schema, seed)
        statistics = schema.expressions()
        rows = Rows(fit, statistics)
        others = None if held_out is None else Rows(held_out, statistics)

        def check_used(used: Used) -> None:
            for table in (whole.table, whole.valid):
                if table is not None:
                    _check_columns(Rows(table, statistics), used.names)

        return LookedAt(
            whole=whole.table,
            valid=whole.valid,
            rows=rows,
            sizes=[(one.source, one.n_rows) for one in (fit, held_out) if one is not None],
            cut_literals=lambda: None,
            check_used=check_used,
            answers=lambda used: _answers(rows, others, used),
            fingerprint=self.table.fingerprint,
        )

    def _divide(self, schema: Schema, seed: int) -> tuple[Table, Table | None]:
        """The rows to learn from and those held out: given, or split off, or none."""
        table = self.table
        if self.valid is not None:
            refuse_held_out(schema, self.valid.source)
            return table, self.valid
        if not schema.validate:
            return table, None
        if schema.units:
            fit, rest = self._divide_units(schema, schema.validate.share, seed)
        else:
            fit, rest = split_rows(table.n_rows, schema.validate.share, seed=seed)
        if not fit.size or not rest.size:
            raise too_few_rows(table.n_rows, table.source)
        held_out = as_table(table.take(rest), source=f"{table.source} (held-out rows)")
        return table.take(fit), held_out

    def _divide_units(self, schema: Schema, share: float, seed: int) -> tuple[Ints, Ints]:
        """The rows of the units to learn from, and those of the units held out."""
        keys = unit_keys(Rows(self.table, {}), schema.units)
        units = np.unique(keys)
        if units.size < 2:
            raise too_few_units(units.size, schema.units, self.table.source)
        is_held_out = is_among(keys, held_out_units(units, share, seed=seed))
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _answers(rows: Rows, others: Rows | None, used: frozenset[str]) -> Answers:
    """Answers of rows in memory: all rows at once where they are few, else slice by slice."""
    if rows.n + (0 if others is None else others.n) <= MANY_ROWS:
        return MemoryAnswers(rows, others)
    names = frozenset(names_in(map(Name, used), rows.statistics))
    return HeldAnswers(rows, others, names, (Evidence, CountTails, CountScores))


def read_rows(data: Any, extractors: Sequence[Extractor]) -> Table:
    """The table in any data, with what is extracted from it."""
    table = as_table(data)
    for extract in extractors:
        table = extract(table)
    if table.n_rows == 0:
        raise no_rows(table.source)
    return table


def _check_columns(rows: Rows, used: frozenset[str]) -> None:
    """Raise where a column is unknown, holds infinite values, or is missing on every row."""
    check_known(used, [*rows.table.names, *rows.statistics], rows.table.source)
    for name in sorted(used):
        if name in rows.statistics:
            missing = not _is_anywhere(name, rows)
        else:
            column = rows.table[name]
            missing = column.kind != "other" and bool(column.missing().all())
        if missing:
            raise nowhere_known(name, rows.table.source)
    check_finite(rows, set(used))


def _is_anywhere(name: str, rows: Rows) -> bool:
    """Whether a statistic is known on any row; mostly the first ones say so."""
    for first in range(0, rows.n, CHUNK_ROWS):
        some = slice(first, min(first + CHUNK_ROWS, rows.n))
        part = Rows(take_rows(rows.table, some, rows.table.names), rows.statistics)
        if not np.isnan(part.numbers(Name(name))).all():
            return True
    return False
