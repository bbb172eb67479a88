"""Rules about mini-batches over a table: the statistic of each mini-batch, and which are outside."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sqrl._evaluate import Bools, Floats, Rows
from sqrl._forms import Form
from sqrl._language.tree import Compare, Name, Node
from sqrl._sample import draw_batches, shuffle_rows
from sqrl._stats import count_statistic, statistic_kind, value_statistic

Ints = NDArray[np.int64]
Soft = Mapping[Node, Floats]  # for a head, the probability of it on each row


def make_batches(n_rows: int, size: int, n_batches: int | None, *, seed: int, where: str) -> Ints:
    """Rows of each mini-batch: disjoint ones from shuffled rows, or as many drawn as are asked for.

    Disjoint mini-batches share no row, so that each speaks for itself; rows that do not fill one are
    left out.

    >>> make_batches(7, 3, None, seed=0, where="rows").shape
    (2, 3)
    """
    if n_batches is not None:
        return draw_batches(n_rows, size, n_batches, seed=seed, where=where)
    fit = n_rows // size
    return shuffle_rows(n_rows, seed=seed)[: fit * size].reshape(fit, size)


def measure_batches(
    forms: Sequence[Form], rows: Rows, batches: Mapping[int, Ints], soft: Soft | None = None
) -> list[Floats]:
    """The statistic of each `batch` or `logic` rule on each mini-batch of its size; nan undefined.

    With `soft`, a head counts by its probability: the expected statistic under the predicted
    distribution.

    Cost: one pass over the rows of the mini-batches for each rule.
    """
    return [_measure(form, rows, batches[form.over or 0], soft) for form in forms]


def _measure(form: Form, rows: Rows, batches: Ints, soft: Soft | None) -> Floats:
    assert form.statistic is not None
    here = rows.all_true(form.given)
    if form.kind == "batch":
        assert form.subject is not None
        values = np.where(here, rows.numbers(form.subject), np.nan)
        return np.asarray(value_statistic(form.statistic)(values[batches]), np.float64)
    body = rows.all_true(form.body)
    if statistic_kind(form.statistic) == "share":
        inside, total = _sums(batches, here & body, here)
        with np.errstate(invalid="ignore"):
            return np.asarray(inside / total)
    assert form.head is not None
    head, known = _head(form.head, rows, soft)
    here &= known
    in_body, in_head, in_both, in_all = _sums(
        batches, here & body, np.where(here, head, 0.0), np.where(here & body, head, 0.0), here
    )
    return np.asarray(count_statistic(form.statistic)(in_body, in_head, in_both, in_all))


def _head(head: Node, rows: Rows, soft: Soft | None) -> tuple[Floats, Bools]:
    """How much of the head each row has (0 or 1, or its probability), and where that is known."""
    if soft is not None and head in soft:
        chance = soft[head]
        return chance, ~np.isnan(chance)
    truths = rows.truths(head)
    return truths.true.astype(np.float64), truths.true | truths.false


def _sums(batches: Ints, *columns: NDArray[np.generic]) -> tuple[Floats, ...]:
    return tuple(column[batches].sum(axis=1, dtype=np.float64) for column in columns)


def soft_heads(label: str, probabilities: Mapping[Node, Floats]) -> dict[Node, Floats]:
    """Probabilities of the label's values as those of the heads `label = value`."""
    return {Compare(Name(label), "=", value): chance for value, chance in probabilities.items()}
