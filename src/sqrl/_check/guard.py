"""guard(): which rules one row breaks, in words, quickly enough for a service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from sqrl._check.check import check
from sqrl._check.one_row_rules import IsBroken, cell_test, row_test
from sqrl._check.sentences import reason, sentences_of
from sqrl._data.column import Column, from_plain
from sqrl._kernels.arrays import Bools, Floats
from sqrl._language.forms import Form
from sqrl._language.tree import Node
from sqrl._rows.one_row import Compiler
from sqrl._rows.row_functions import Cell, Cells, OddRowError, TruthOf, cell_of
from sqrl._rows.truths import Truths
from sqrl._rules.label import known_label
from sqrl._rules.needed_columns import (
    Need,
    axes_of,
    column_needs,
    columns_of,
    names_by_value,
    parts_of,
)
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError

SOURCE = "row"


def guard(rules: RuleSet, *, prediction: str | None = None) -> "Guard":
    """A function of one row, a dict, that gives a sentence for each rule that the row breaks.

    Rules are compiled once; a call then takes a fraction of a millisecond for hundreds of rules.
    Rules about mini-batches say nothing of one row: they are left out and counted, as rejected ones
    are, in `n_left_out`. `prediction` names the value that takes the label's place. A value that is
    None or not there is missing, and breaks no rule but those that say it is known.

    >>> accept = guard(RuleSet.from_texts(["kind = a => 0 <= x <= 9", "mean(x) <= 5 over 64"]))
    >>> accept({"kind": "a", "x": 12.0})
    ['x 12 is above 9, the most that rows with kind = a may have']
    >>> accept({"kind": "b", "x": 12.0}), accept.n_left_out
    ([], 1)
    """
    in_force = set(rules.in_force().ids())
    known = enumerate(zip(rules.ids(), rules.forms(), strict=True))
    places = tuple(place for place, (one, form) in known if form.is_single and one in in_force)
    label = None if prediction is None else known_label(rules)
    single = rules.take(np.array(places, np.int64))
    if rules.schema is not None and rules.schema.units:  # a row is checked by itself
        single = replace_fields(single, schema=replace(rules.schema, unit=None))
    return Guard(single, places, len(rules) - len(places), label, prediction)


@dataclass(frozen=True, eq=False)
class Guard:
    """Rules about rows, compiled; `places` are theirs among the rules that were given."""

    rules: RuleSet
    places: tuple[int, ...]
    n_left_out: int
    label: str | None
    prediction: str | None

    def __post_init__(self) -> None:
        _ = self._groups, self._columns, self._coverage  # now, not with the first row

    def __call__(self, row: Mapping[str, Any]) -> list[str]:
        """A sentence for each rule that the row breaks, in the order of the rules."""
        row, is_said = self._predicted(row), self.prediction is not None
        try:
            cells = self._cells(row)
            broken = self._find(cells)
            here = _OneRow(row, cells, self._compiler)
            made = [
                reason(self._forms[i], self._coverage[i], here, predicted=is_said) for i in broken
            ]
        except OddRowError:
            return self._by_table(row)[1]
        assert None not in made
        return made  # type: ignore[return-value]

    def broken(self, row: Mapping[str, Any]) -> list[int]:
        """The places of the rules that the row breaks, among those that were given."""
        row = self._predicted(row)
        try:
            found = self._find(self._cells(row))
        except OddRowError:
            found = self._by_table(row)[0]
        return [self.places[place] for place in found]

    def __repr__(self) -> str:
        return f"Guard of {len(self.rules):,} rules, {self.n_left_out:,} left out"

    def _predicted(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row with the prediction in the label's place."""
        if self.label is None or self.prediction is None:
            return row
        if self.prediction not in row:
            raise DataError(
                f"The row has no value for the prediction {self.prediction!r}.",
                where=SOURCE,
                fix=f"give one, or None where it is missing; the row has {', '.join(row)}",
            )
        return {**row, self.label: row[self.prediction]}

    def _cells(self, row: Mapping[str, Any]) -> dict[str, Cell]:
        """The row's values as rules see them; raises where they do not suit the rules."""
        cells: dict[str, Cell] = {}
        gone = False
        for name, suits in self._columns:
            if name in row:
                cell = cells[name] = cell_of(row[name])
                if not suits(cell):
                    raise OddRowError
            else:
                cells[name] = np.nan
                gone = True
        if gone and all(any(name not in row for name in names) for names in self._names):
            raise OddRowError  # a check says that nothing is left to check
        return cells

    def _find(self, cells: Cells) -> list[int]:
        """The rules that are broken, in order."""
        found = []
        for given, tests in self._groups:
            if all(holds(cells) for holds in given):
                found += [place for place, is_broken in tests if is_broken(cells)]
        return sorted(found)

    def _by_table(self, row: Mapping[str, Any]) -> tuple[list[int], list[str]]:
        """The broken rules and their sentences by a check, which takes values of any kind."""
        table = {name: [row[name]] for name, _ in self._columns if name in row}
        if not table:
            known = ", ".join(name for name, _ in self._columns)
            raise DataError(
                "The row has none of the columns that rules name.",
                where=SOURCE,
                fix=f"give values for {known}",
            )
        found = check(self.rules, table)
        places = found.pair_rule.tolist()
        return places, sentences_of(found, 0, places)

    @cached_property
    def _forms(self) -> list[Form]:
        return self.rules.forms()

    @cached_property
    def _coverage(self) -> list[float | None]:
        return self.rules.table["coverage"].to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def _compiler(self) -> Compiler:
        return Compiler(self.rules.statistics())

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        """The columns of each rule."""
        return [columns_of([form], self.rules.statistics()) for form in self._forms]

    @cached_property
    def _columns(self) -> list[tuple[str, Callable[[Cell], bool]]]:
        """The columns that rules name, each with a test of what its cell may be."""
        statistics = self.rules.statistics()
        names, needs = column_needs(self._forms, statistics)
        trees = [
            node
            for form in self._forms
            for part in (*parts_of(form), axes_of(form))
            for node in part
        ]
        by_value = {
            name for node in (*trees, *statistics.values()) for name in names_by_value(node)
        }
        of_column: dict[str, set[Need]] = {name: set() for name in sorted(names)}
        for name, need, _ in needs:
            of_column[name].add(need)
        return [(name, cell_test(of_column[name], by_value=name in by_value)) for name in of_column]

    @cached_property
    def _groups(self) -> list[tuple[list[TruthOf], list[tuple[int, IsBroken]]]]:
        """Conditions, and under each the rules that share it."""
        groups: dict[tuple[Node, ...], list[tuple[int, IsBroken]]] = {}
        for place, form in enumerate(self._forms):
            made = row_test(form, self._compiler)
            groups.setdefault(form.given, []).append((place, made))
        return [
            ([self._compiler.truth(node) for node in given], tests)
            for given, tests in groups.items()
        ]


@dataclass(frozen=True, slots=True)
class _OneRow:
    """A row for sentences, by the functions that were compiled."""

    row: Mapping[str, Any]
    cells: Cells
    compiler: Compiler

    @property
    def statistics(self) -> Mapping[str, Node]:
        return self.compiler.statistics

    @property
    def table(self) -> "_OneRow":
        return self

    def __getitem__(self, name: str) -> Column:
        return from_plain(name, [self.row.get(name)], SOURCE)

    def numbers(self, node: Node) -> Floats:
        return np.array([self.compiler.number(node)(self.cells)])

    def truths(self, node: Node) -> Truths[Bools]:
        holds = self.compiler.truth(node)(self.cells)
        return Truths(np.array([holds is True]), np.array([holds is False]))

    def all_true(self, nodes: tuple[Node, ...]) -> Bools:
        return np.array([all(self.compiler.truth(node)(self.cells) for node in nodes)])
