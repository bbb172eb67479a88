"""Facts of a column: formulas of which at most one holds on a row.

Buckets of a number, values of a category (one for all rare ones together), and a missing value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sqrl._data.table import Column
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import bucket_formulas
from sqrl._language.tree import Call, Compare, In, Known, Name, Node, Not
from sqrl._learn.roles import Watched
from sqrl._rows.rows import Rows, constant_of
from sqrl._rules.label import value_text


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The facts of one column: formulas of which at most one holds on a row, and which one does.

    Shapes: codes (n_rows,), -1 where none holds.
    """

    column: str
    formulas: tuple[Node, ...]
    codes: Int64s

    @property
    def needed(self) -> tuple[Node, ...]:
        """The formulas that have to be said: of two that fill all rows, one implies the other."""
        is_pair = len(self.formulas) == 2 and bool((self.codes >= 0).all())
        return self.formulas[1:] if is_pair else self.formulas

    def take(self, rows: Int64s) -> "Facts":
        """The facts of some of the rows."""
        return replace(self, codes=self.codes[rows])


def facts_of(
    seen: Rows, watched: Sequence[Watched], rows: Int64s, n_buckets: int, fewest: float
) -> list[Facts]:
    """The facts of each column that has any; no label has a part in them."""
    return [
        one for column in watched if (one := facts_of_column(seen, column, rows, n_buckets, fewest))
    ]


def facts_of_column(
    seen: Rows, watched: Watched, rows: Int64s, n_buckets: int, fewest: float
) -> Facts | None:
    """The facts of a column; None where it has none that tell rows apart."""
    column = watched.column.take(rows)
    subject: Node = Name(watched.name)
    is_date = watched.role == "date"
    if is_date:
        subject = Call("days", (subject,))
    formulas: list[Node] = []
    code = np.full(rows.size, -1, np.int64)
    if watched.role in {"number", "few"} or is_date:
        values = seen.numbers(subject)[rows]
        there = ~np.isnan(values)
        distinct = np.unique(values[there])
        if distinct.size > n_buckets:
            cuts = cut_at(values[there], n_buckets)
            formulas = bucket_formulas(subject, cuts)
            code[there] = np.searchsorted(cuts, values[there], "left")
        else:
            formulas = [Compare(subject, "=", constant_of(value_text(v))) for v in distinct]
            code[there] = np.searchsorted(distinct, values[there])
    elif watched.role == "category":
        formulas, code = _of_values(column, subject, fewest)
    missing = column.missing()
    if missing.sum() >= fewest and formulas:
        code[missing] = len(formulas)
        formulas.append(Not(Known(subject if not is_date else Name(watched.name))))
    counts = np.bincount(code[code >= 0], minlength=len(formulas))
    kept = np.flatnonzero(counts >= fewest)
    if kept.size < 1 or (counts == rows.size).any():
        return None
    places = np.full(len(formulas) + 1, -1)
    places[kept] = np.arange(kept.size)
    return Facts(watched.name, tuple(formulas[i] for i in kept), places[code])


def cut_at(values: Floats, n_buckets: int) -> Floats:
    """Values that cut others into about equal parts; each part has some.

    >>> cut_at(np.arange(9.0), 3).tolist()
    [2.0, 5.0]
    >>> cut_at(np.array([1.0, 2.0, 9.0, 9.0, 9.0, 9.0]), 2).tolist()  # half of them are the largest
    [2.0]
    """
    order = np.sort(values)
    places = np.arange(1, n_buckets) * order.size // n_buckets
    cuts = np.unique(order[np.maximum(places - 1, 0)])
    cuts = cuts[cuts < order[-1]]
    return np.asarray(cuts if cuts.size else order[order < order[-1]][-1:])


def _of_values(column: Column, subject: Node, fewest: float) -> tuple[list[Node], Int64s]:
    """A fact for each value that occurs often enough, and one for all others together."""
    codes = column.values.astype(np.int64)
    if column.kind != "category":  # booleans
        codes = np.where(column.missing(), -1, column.values).astype(np.int64)
        names: Sequence[Any] = ("false", "true")
    else:
        names = column.categories
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    often = np.flatnonzero(counts >= fewest)
    words = [constant_of(names[i]) for i in often.tolist()]
    formulas: list[Node] = [Compare(subject, "=", word) for word in words]
    places = np.full(len(names) + 1, -1, np.int64)
    places[often] = np.arange(often.size)
    made = places[codes]
    rest = (codes >= 0) & (made < 0)
    if often.size and rest.sum() >= fewest:
        made[rest] = len(formulas)
        formulas.append(Not(In(subject, tuple(words))))
    return formulas, made
