"""Slices: the conditions under which rows break rules more often than elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sqrl._check.hypergeometric import at_least
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats, Int64s, distinct
from sqrl._language.printer import to_text
from sqrl._language.tree import Between, Compare, Name, Node, Number, Truth, Word
from sqrl._rows.rows import Rows
from sqrl.errors import unknown

LEVEL = 0.05
QUARTERS = 4
FEW_VALUES = 10  # a number with no more has a slice for each
MOST_CATEGORIES = 1000  # a column with more names rows rather than groups


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """A column cut into slices: the condition of each, and the slice of each row, -1 for none."""

    column: str
    conditions: list[Node]
    codes: Int64s


def slices(
    violations: Violations, *, columns: Sequence[str] | None = None, most: int = 20
) -> pa.Table:
    """The values, and quarters of numbers, where the most rows break a rule beyond the rest.

    A row for each slice: its condition in the language of rules, the column it is of, how many rows
    it has and how many of those break at least one rule, that share inside and outside, the
    difference, how many rows that makes (`excess`), rules broken a row inside and outside, and the
    p-value of so many broken rows if the slice were any rows (hypergeometric). Significant slices,
    with at most 5 % false alarms expected among them, come first, the greatest excess leading.

    `columns` may name statistics that the rules derive; with none given all are looked at.

    Cost: a sort of each column of numbers; nothing grows with rows x slices.

    >>> from sqrl._check.check import check
    >>> from sqrl._rules.ruleset import RuleSet
    >>> data = {"kind": ["a"] * 50 + ["b"] * 50, "x": [1.0] * 60 + [9.0] * 40}
    >>> found = slices(check(RuleSet.from_texts(["x <= 5"]), data), columns=["kind"])
    >>> found["condition"].to_pylist(), found["share"].to_pylist()
    (['kind = b', 'kind = a'], [0.8, 0.0])
    """
    here = Rows(violations.table, violations.rules.statistics())
    counts = violations.row_counts().astype(np.float64)
    cuts = [cut for name in _names(here, columns) if (cut := _cut(name, here)) is not None]
    return _table(cuts, counts, most)


def _names(here: Rows, columns: Sequence[str] | None) -> Iterator[str]:
    known = list(dict.fromkeys([*here.table.names, *here.statistics]))
    if columns is None:
        yield from known
        return
    for name in columns:
        if name not in known:
            raise unknown("column", name, known, where=here.table.source)
        yield name


def _cut(name: str, here: Rows) -> _Cut | None:
    if name not in here.statistics:
        column = here.table[name]
        if column.kind in {"date", "other"}:
            return None
        if column.kind == "category":
            if not 1 < len(column.categories) <= MOST_CATEGORIES:
                return None
            conditions: list[Node] = [
                Compare(Name(name), "=", Word(text)) for text in column.categories
            ]
            return _Cut(name, conditions, column.values.astype(np.int64))
        if column.kind == "boolean":
            return _of_values(
                name, column.values, [Truth(False), Truth(True)], np.array([0.0, 1.0])
            )
    return _of_numbers(name, here.numbers(Name(name)))


def _of_numbers(name: str, values: Floats) -> _Cut | None:
    """Each value of a number that has few, else its quarters."""
    present = np.sort(values[np.isfinite(values)])
    each = distinct(present)
    if each.size < 2:
        return None
    if each.size <= FEW_VALUES:
        return _of_values(name, values, [Number(value) for value in each.tolist()], each)
    places = (np.arange(1, QUARTERS) * present.size) // QUARTERS - 1
    cuts = distinct(present[np.maximum(places, 0)])
    cuts = cuts[cuts < present[-1]]  # nothing lies above the greatest value
    codes = np.where(np.isfinite(values), np.searchsorted(cuts, values, "left"), -1)
    item, ends = Name(name), [Number(cut) for cut in cuts.tolist()]
    conditions: list[Node] = [Compare(item, "<=", ends[0])]
    conditions += [Between(low, "<", item, "<=", high) for low, high in pairwise(ends)]
    conditions.append(Compare(item, ">", ends[-1]))
    return _Cut(name, conditions, codes)


def _of_values(name: str, values: Floats, constants: Sequence[Node], of: Floats) -> _Cut:
    place = np.minimum(np.searchsorted(of, values), of.size - 1)
    codes = np.where(of[place] == values, place, -1)
    return _Cut(name, [Compare(Name(name), "=", constant) for constant in constants], codes)


def _table(cuts: list[_Cut], counts: Floats, most: int) -> pa.Table:
    """The slices of all columns, tested and ordered."""
    sizes = [len(cut.conditions) for cut in cuts]
    breaks = (counts > 0).astype(np.float64)
    n, k, total = (
        _sums([cut.codes for cut in cuts], sizes, weights)
        for weights in (np.ones_like(counts), breaks, counts)
    )
    whole, broken = counts.size, int(breaks.sum())
    tested = np.flatnonzero((n > 0) & (n < whole))
    n, k, total = n[tested], k[tested], total[tested]
    share, outside = k / n, (broken - k) / (whole - n)
    p = at_least(k, whole, broken, n)
    significant = benjamini_hochberg(p, LEVEL)
    excess = k - n * outside
    order = np.lexsort((tested, -excess, ~significant))[:most]
    names = np.repeat(np.arange(len(cuts)), sizes)[tested[order]]
    conditions = [condition for cut in cuts for condition in cut.conditions]
    return pa.table(
        {
            "condition": pa.array([to_text(conditions[i]) for i in tested[order]], pa.string()),
            "column": pa.array([cuts[i].column for i in names], pa.string()),
            "rows": n[order].astype(np.int64),
            "broken": k[order].astype(np.int64),
            "share": share[order],
            "share_outside": outside[order],
            "difference": (share - outside)[order],
            "excess": excess[order],
            "rules_a_row": (total / n)[order],
            "rules_a_row_outside": ((counts.sum() - total) / (whole - n))[order],
            "p_value": p[order],
            "significant": significant[order],
        }
    )


def _sums(codes: list[Int64s], sizes: list[int], weights: Floats) -> Floats:
    """The sum of the rows' weights in each slice of each column; rows of no slice are left out."""
    sums = [
        np.bincount(code + 1, weights, size + 1)[1:]
        for code, size in zip(codes, sizes, strict=True)
    ]
    return np.concatenate([np.empty(0), *sums])
