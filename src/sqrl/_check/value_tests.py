"""Tests of statistics of values: what held-out rows fix, what is counted of rows, and the p-value.

Beside [rows, mean, variance] the evidence of some statistics has more numbers. The first of these
are fixed by the held-out rows, `marks`; what new rows say is about the same marks.

    mean      nothing more
    std       centre; variance of the squared distances from it
    median    cut, the held-out median; how many values are no greater
    min max   cut, which one row of a mini-batch is expected to be beyond, and the extreme; how many
              values are no greater than the cut, and how many are beyond the extreme
    repeats   the largest key that is looked at, as a share of all; how many rows have the key of
              another one
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from sqrl._check.hypergeometric import at_least
from sqrl._check.null_tests import fisher, mean_test
from sqrl._kernels.arrays import Bools, Floats, Ints
from sqrl._language.forms import Form
from sqrl._language.statistics import batch_statistic, values
from sqrl._rows.cells import Grid
from sqrl._rows.order_statistics import Ordered, OrderStatistics
from sqrl._rows.questions import Of
from sqrl._rows.unit_batches import rows_in_batch

MOMENTS = 3  # rows, mean, variance
MOST_REPEATS = 0.02  # of held-out rows; where more repeat, that is how such rows are


@dataclass(frozen=True, slots=True)
class ForRanks:
    """Wants the values that marks are made of: the middle, or a cut near an end and that end."""

    name: str
    per_batch: float  # rows that count in a mini-batch

    def __call__(self, counts: Ints) -> Ints:
        """Ranks from 0, -1 where there is no value."""
        beyond = np.minimum(np.ceil(counts / self.per_batch).astype(np.int64), counts)
        wanted = {
            "median": [(counts - 1) // 2],
            "max": [np.maximum(counts - 1 - beyond, 0), counts - 1],
            "min": [np.maximum(beyond - 1, 0), np.zeros_like(counts)],
        }[self.name]
        return np.where(counts[:, None] > 0, np.stack(wanted, axis=1), -1)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """How a statistic of values is tested.

    `n_marks` numbers of the evidence are marks, `n_more` others follow. `ranked` says which order
    statistics the marks are; `test` gives two-sided p-values from evidence, held out and new, and
    `rises` whether the statistic is higher in the new.
    """

    n_marks: int
    n_more: int
    test: Callable[[Floats, Floats], Floats]
    rises: Callable[[Floats, Floats], Bools]
    ranked: str | None = None
    has_keys: bool = False  # it counts which values occur more than once

    def marks(self, held_out: list[float] | None) -> tuple[float, ...]:
        """The marks in the evidence of held-out rows; none where it has none."""
        if held_out is None or len(held_out) != MOMENTS + self.n_marks + self.n_more:
            return ()
        return tuple(held_out[MOMENTS : MOMENTS + self.n_marks])


def ranks_question(
    of: Of, form: Form, n_rows: int, n_units: int, counted: float
) -> OrderStatistics | None:
    """The question for the order statistics that the marks of a rule are; None where it has none.

    Of `n_rows` rows in `n_units` units `counted` have a value and are in the rule's condition.
    """
    test = value_test_of(form)
    if test is None or test.ranked is None or not counted:
        return None
    assert form.subject is not None
    assert form.over is not None
    in_batch = rows_in_batch(form.over, n_rows, n_units)
    per_batch = max(1.0, ceil(in_batch * counted / max(n_rows, 1)))
    grid = Grid((form.given,), ((),), (), (), np.zeros(1, np.int64))
    return OrderStatistics(of, grid, (0,), (form.subject,), ForRanks(test.ranked, per_batch))


def marks_of(found: list[Ordered]) -> tuple[float, ...]:
    """The marks that order statistics are."""
    return tuple(found[0].values[0].tolist())


def _std_test(held_out: Floats, new: Floats) -> Floats:
    """The mean squared distance from the mean, compared as means are."""
    return mean_test(_squares(held_out), _squares(new))


def _squares(evidence: Floats) -> Floats:
    rows, variance, spread = evidence[:, 0], evidence[:, 2], evidence[:, 4]
    unbiased = variance * rows / np.maximum(rows - 1.0, 1.0)
    return np.stack([rows, unbiased, spread], axis=1)


def _share_test(held_out: Floats, new: Floats) -> Floats:
    """The share of values that are no greater than the cut, by Fisher's exact test."""
    at = held_out.shape[1] - 1
    return fisher((held_out[:, 0], held_out[:, at]), (new[:, 0], new[:, at]))


def _end_test(held_out: Floats, new: Floats) -> Floats:
    """The share beyond the cut, or rows beyond all that were held out; twice the lesser."""
    n, m, beyond = held_out[:, 0], new[:, 0], new[:, 6]
    share = fisher((n, held_out[:, 5]), (m, new[:, 5]))
    # Of rows beyond the extreme held-out ones are none; a longer past may have some.
    outermost = at_least(beyond, n + m, held_out[:, 6] + beyond, m)
    known = np.where((n > 0) & (m > 0), outermost, np.nan)
    return np.asarray(np.minimum(2.0 * np.minimum(share, known), 1.0))


def _repeats_test(held_out: Floats, new: Floats) -> Floats:
    """Whether more rows repeat an earlier one than did among held-out rows.

    Given how many do in all, as many of them are new as rows, or as pairs of rows, are: which of
    the two depends on whether a repeat follows its original, so that the greater p-value counts.
    """
    n, kept, repeats = held_out[:, 0], held_out[:, 3], held_out[:, 4]
    m, new_kept, new_repeats = new[:, 0], new[:, 3], new[:, 4]
    with np.errstate(all="ignore"):
        by_rows = m * new_kept / (m * new_kept + n * kept)
        pairs, new_pairs = n * (n - 1) * kept, m * (m - 1) * new_kept
        by_pairs = new_pairs / (new_pairs + pairs)
    share = np.fmax(by_rows, by_pairs)
    p = np.array([_binomial_above(*one) for one in zip(new_repeats, repeats, share, strict=True)])
    usual = repeats > MOST_REPEATS * n * kept
    return np.where((n < 2) | (m < 2) | usual | (kept <= 0) | (new_kept <= 0), np.nan, p)


def _binomial_above(new: float, old: float, share: float) -> float:
    """The probability that of new + old at least `new` fall to a share."""
    if new <= 0 or not 0 < share < 1:
        return 1.0
    from scipy.special import bdtrc

    return float(bdtrc(new - 1, int(new + old), share))


def _rises_by_share(held_out: Floats, new: Floats) -> Bools:
    """Fewer values no greater than the cut: the statistic is higher."""
    at = 5 if held_out.shape[1] > 5 else held_out.shape[1] - 1
    return np.asarray(new[:, at] / new[:, 0] < held_out[:, at] / held_out[:, 0])


def _rises_at_top(held_out: Floats, new: Floats) -> Bools:
    """The greatest value is higher: some are beyond all that were held out, or more near it."""
    return np.asarray((new[:, 6] > 0) | _rises_by_share(held_out, new))


def _rises_at_bottom(held_out: Floats, new: Floats) -> Bools:
    """The least value is higher: none is beyond all that were held out, and fewer near it."""
    return np.asarray((new[:, 6] == 0) & _rises_by_share(held_out, new))


def _rises_by_spread(held_out: Floats, new: Floats) -> Bools:
    return np.asarray(_squares(new)[:, 1] > _squares(held_out)[:, 1])


def _rises_by_repeats(held_out: Floats, new: Floats) -> Bools:
    rate, new_rate = (one[:, 4] / (one[:, 0] * one[:, 3]) for one in (held_out, new))
    return np.asarray(new_rate > rate)


def _rises_by_mean(held_out: Floats, new: Floats) -> Bools:
    return np.asarray(new[:, 1] > held_out[:, 1])


# By function, as a user may have given its name to another one.
VALUE_TESTS: Mapping[Callable[..., Floats], ValueTest] = {
    values.mean: ValueTest(0, 0, mean_test, _rises_by_mean),
    values.std: ValueTest(1, 1, _std_test, _rises_by_spread),
    values.median: ValueTest(1, 1, _share_test, _rises_by_share, "median"),
    values.minimum: ValueTest(2, 2, _end_test, _rises_at_bottom, "min"),
    values.maximum: ValueTest(2, 2, _end_test, _rises_at_top, "max"),
    values.repeats: ValueTest(0, 2, _repeats_test, _rises_by_repeats, has_keys=True),
}


def value_test_of(form: Form) -> ValueTest | None:
    """The test of a rule about a statistic of values; None for others, and where there is none."""
    if form.statistic is None or form.evidence != "moments":
        return None
    return VALUE_TESTS.get(batch_statistic(form.statistic).function)
