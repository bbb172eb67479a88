"""What a reader should know of a check beside its counts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Column, Table
from sqrl._language.forms import Form
from sqrl._rules.label import MOST_SHOWN, classes_of, value_text
from sqrl._rules.ruleset import RuleSet

Ints = NDArray[np.int64]


def idle_notes(forms: Sequence[Form], n_rows: int, applicable: Ints) -> list[str]:
    """What a reader should know of rules that could not be checked."""
    notes = []
    for size in sorted({form.over for form in forms if form.over is not None}):
        if size > n_rows > 0:
            count = sum(form.over == size for form in forms)
            notes.append(
                f"{n_rows:,} rows do not fill a mini-batch of {size:,}: "
                f"{count:,} rules were not checked"
            )
    idle = int(np.count_nonzero(applicable == 0))
    if idle and n_rows:
        notes.append(f"{idle:,} of {len(forms):,} rules applied to no sample")
    return notes


def label_notes(
    rules: RuleSet,
    table: Table,
    label: str | None,
    called: str | None,
    *,
    missing: int | None = None,
    counts: NDArray[np.int64] | None = None,
) -> list[str]:
    """What to know of the label, or of the prediction `called` so: missing and unknown values.

    Where the table holds each value only once, `counts` says how many rows have it, and `missing`
    how many have none.
    """
    wanted = classes_of(rules, label) if label else []
    if label is None or not wanted or label not in table or table[label].kind == "other":
        return []
    column, name = table[label], called or label
    notes = []
    missing = int(np.count_nonzero(column.missing())) if missing is None else missing
    if missing:
        notes.append(f"{missing:,} of {table.n_rows:,} rows have no value in {name!r}")
    distinct = column.distinct()
    if len(distinct) > MOST_VALUES:
        return notes
    others = [value for value in distinct if value_text(value) not in wanted]
    if others:
        shown = ", ".join(value_text(value) for value in others[:MOST_SHOWN])
        more = ", ..." if len(others) > MOST_SHOWN else ""
        count = int((_is_one_of(column, others) * (1 if counts is None else counts)).sum())
        notes.append(
            f"{count:,} of {table.n_rows:,} rows have a value in {name!r} of which no rule speaks: "
            f"{shown}{more}"
        )
    return notes


def _is_one_of(column: Column, values: list[str | float | bool]) -> NDArray[np.int64]:
    """1 for each row that has one of the values, 0 for the others."""
    if column.kind == "category":
        codes = [column.categories.index(str(value)) for value in values]
        return np.isin(column.values, codes).astype(np.int64)
    return np.isin(column.values, [float(value) for value in values]).astype(np.int64)
