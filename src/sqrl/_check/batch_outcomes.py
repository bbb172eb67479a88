"""Rules about mini-batches over a table: the statistic of each mini-batch."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqrl._check.probabilities import Probabilities
from sqrl._check.row_outcomes import interval_ends
from sqrl._data.draws import draw_batches, shuffle_rows
from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.kinds import handler
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Node
from sqrl._rows.packed_batches import Batches, count_formula
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import columns_of


def make_batches(n_rows: int, size: int, n_batches: int | None, *, seed: int, where: str) -> Int64s:
    """Rows of each mini-batch: disjoint ones from shuffled rows, or as many drawn as are asked for.

    Disjoint mini-batches share no row, so that each speaks for itself; rows that do not fill one
    are left out.

    >>> make_batches(7, 3, None, seed=0, where="rows").shape
    (2, 3)
    """
    if n_batches is not None:
        return draw_batches(n_rows, size, n_batches, seed=seed, where=where)
    fit = n_rows // size
    return shuffle_rows(n_rows, seed=seed)[: fit * size].reshape(fit, size)


def measure_batches(
    forms: Sequence[Form],
    table: Table,
    statistics: Mapping[str, Node],
    batches: Int64s,
    *,
    predicted: Probabilities | None = None,
    at_once: int,
) -> Floats:
    """The statistic of each `batch` or `logic` rule on each mini-batch; nan where undefined.

    With `predicted`, a head counts by its probability: the expected statistic under the predicted
    distribution; nan where a rule speaks of the label elsewhere.

    Shapes: batches (k, size), result (n_forms, k). Cost: one pass over the rows of the mini-batches
    for each rule; memory for `at_once` rows, or those of one mini-batch.
    """
    n_batches, size = batches.shape
    values = np.full((len(forms), n_batches), np.nan)
    step = max(1, at_once // size)
    names = columns_of(forms, statistics)
    for first in range(0, n_batches, step):
        chosen = batches[first : first + step].ravel()
        rows = Rows(take_rows(table, chosen, names), statistics)
        here = None if predicted is None else predicted.take(chosen)
        part = Batches(rows, chosen.size // size)
        for index, form in enumerate(forms):
            values[index, first : first + step] = _measure(form, part, here)
    return values


def take_rows(table: Table, chosen: slice | Int64s, names: Collection[str]) -> Table:
    """Only these rows, and of these columns those that are there; a slice copies nothing."""
    columns = {
        name: replace(column, values=column.values[chosen])
        for name, column in table.columns.items()
        if name in names
    }
    n_rows = chosen.stop - chosen.start if isinstance(chosen, slice) else chosen.size
    return Table(columns, n_rows, table.source)


def _measure(form: Form, batches: Batches, predicted: Probabilities | None) -> Floats:
    """The statistic of each mini-batch."""
    assert form.statistic is not None
    rows = batches.rows
    if predicted is not None and not predicted.can_weigh(form, rows.statistics):
        return np.full(batches.n, np.nan)
    given = handler(GIVEN_TO_STATISTIC, form.kind, "batches")(form, batches, predicted)
    return batch_statistic(form.statistic)(*given)


def _values(form: Form, batches: Batches, predicted: Probabilities | None) -> tuple[Floats, ...]:  # noqa: ARG001
    """The values that an expression takes on the rows of each mini-batch."""
    assert form.subject is not None
    rows = batches.rows
    here = rows.all_true(form.given)
    return (np.where(here, rows.numbers(form.subject), np.nan).reshape(batches.n, -1),)


def _counts(form: Form, batches: Batches, predicted: Probabilities | None) -> tuple[Floats, ...]:
    """How many rows of each mini-batch are in the body, the head, both and in all."""
    head = () if form.head is None else (form.head,)
    if predicted is not None and predicted.names(head, batches.rows.statistics):
        return tuple(_weighted_counts(form, batches, predicted.of(head)))
    return count_formula(form, batches)


GIVEN_TO_STATISTIC: Mapping[
    str, Callable[[Form, Batches, Probabilities | None], tuple[Floats, ...]]
] = {
    "batch": _values,
    "logic": _counts,
}


def _weighted_counts(form: Form, batches: Batches, head: Floats) -> Iterator[Floats]:
    """The four counts of each mini-batch with the head counted by its probability."""
    here = batches.rows.all_true(form.given) & ~np.isnan(head)
    body = here & batches.rows.all_true(form.body)
    heads = np.where(here, head, 0.0), np.where(body, head, 0.0)
    for weight in (body.astype(np.float64), *heads, here.astype(np.float64)):
        yield np.asarray(weight.reshape(batches.n, -1).sum(axis=1))


def outside_counts(forms: Sequence[Form], values: Floats) -> tuple[Int64s, Int64s]:
    """On how many mini-batches each statistic is defined, and on how many outside its bounds."""
    ends = np.array([interval_ends(form) for form in forms])
    outside = (values < ends[:, 0]) | (values > ends[:, 1])
    return np.count_nonzero(~np.isnan(values), axis=1), np.count_nonzero(outside, axis=1)
