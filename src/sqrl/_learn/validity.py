"""Validity: whether held-out truth keeps each rule often enough, by a lower confidence limit.

That bounds agree on held-out rows (Jaccard) says that they are stable, not that they hold: an
interval may hold 98 % of a class while most rows in it are of another. A sample is a held-out row
that a rule applies to, or a held-out mini-batch that its statistic is defined on. The limit is the
exact one-sided one of a binomial share (Clopper and Pearson). Where rows belong to units they are
not a sample: the share must also reach the limit that its spread between units gives.

PAPER: Algorithm 1 asks for the agreement alone; its text asks that a rule holds on 1 - delta.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sqrl._check.evidence import Evidence
from sqrl._check.mini_batches import measure_batches, outside_counts
from sqrl._check.unit_sums import CountUnits, UnitSums
from sqrl._data.table import CHUNK_ROWS
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.forms import Form, sentence_of
from sqrl._language.printer import to_text
from sqrl._language.short import short_text
from sqrl._learn.bounds import Sampler
from sqrl._learn.selection import Learned
from sqrl._rows.quantiles import tolerance_depth
from sqrl._rows.questions import Asking
from sqrl._rules.schema import Schema, Validate

MORE = 4  # times the fewest mini-batches that could show it: one outside is then allowed
DIGITS = 9  # of limits: what is beyond may differ between machines
MOST_TOLD = 20  # sentences that are kept of a template


class Limit(NamedTuple):
    """How often a rule holds at least, by so many samples, or by so many units of them."""

    n: int
    broken: int
    lower: float
    of: str  # what a sample is
    n_units: int | None = None

    def tell(self, holds: float, confidence: float) -> str:
        """Why a rule is left out.

        >>> Limit(40, 3, 0.8174, "row").tell(0.95, 0.95)
        '3 of 40 held-out rows break it: it holds on at least 0.81 of them (confidence 0.95), \
not on 0.95'
        >>> Limit(0, 0, 0.0, "row").tell(0.95, 0.95)
        'no held-out row is one that it applies to'
        """
        if not self.n:
            what = "applies to" if self.of == "row" else "can be measured on"
            return f"no held-out {self.of} is one that it {what}"
        if self.n_units == 1:
            return f"all {self.n:,} held-out rows that it applies to are of one unit"
        units = "" if self.n_units is None else f" in {self.n_units:,} units"
        least = f"{np.floor(100 * self.lower) / 100:.2f}"
        return (
            f"{self.broken:,} of {self.n:,} held-out {self.of}s{units} break it: it holds on at "
            f"least {least} of them (confidence {confidence:g}), not on {holds:g}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Held-out samples of some rules, and how many break each. Shapes: (n_rules,) each."""

    n: Int64s
    broken: Int64s
    of: str
    units: UnitSums | None = None


def fewest_samples(holds: float, confidence: float) -> int:
    """How many samples, none of which breaks a rule, show that it holds so often.

    >>> fewest_samples(0.95, 0.95), fewest_samples(0.8, 0.95)
    (59, 14)
    """
    n = max(1, int(np.log1p(-confidence) / np.log(holds)) - 1)
    while not is_shown(np.array([n]), np.array([0]), holds, confidence)[0]:
        n += 1
    return n


def is_shown(n: Int64s, broken: Int64s, holds: float, confidence: float) -> Bools:
    """Whether so few of n samples break each rule that it holds on a share of at least `holds`.

    That is where the exact lower limit reaches it: fewer break it than would with this confidence
    if a share of 1 - holds did.

    >>> is_shown(np.array([58, 59, 59]), np.array([0, 0, 1]), 0.95, 0.95).tolist()
    [False, True, False]
    """
    depth = tolerance_depth(np.asarray(n, np.int64), round(1.0 - holds, 12), confidence, False)
    return np.asarray(broken < depth)


def lower_limits(n: Int64s, broken: Int64s, confidence: float) -> Floats:
    """The exact one-sided lower confidence limit of the share of samples that keep a rule.

    >>> lower_limits(np.array([59, 40, 0]), np.array([0, 3, 0]), 0.95).round(4).tolist()
    [0.9505, 0.8174, 0.0]
    """
    from scipy.special import betaincinv

    kept = np.asarray(n) - broken
    found = betaincinv(np.maximum(kept, 1), np.asarray(broken) + 1.0, 1.0 - confidence)
    return np.where(kept > 0, np.round(found, DIGITS), 0.0)


def unit_limit(sums: Int64s, confidence: float) -> tuple[int, float]:
    """Units that a rule applies to, and the lower limit of its share by their spread.

    The share of all their rows is a ratio of two sums over units; its standard error is that of
    the residuals, the limit Student's. Of fewer than two units it is 0.

    Shapes: sums (n_units, 2), rows that the rule applies to and those that break it.

    >>> n_units, lower = unit_limit(np.array([[10, 0], [10, 0], [10, 3], [0, 0]]), 0.95)
    >>> n_units, round(lower, 3)
    (3, 0.608)
    """
    from scipy.special import stdtrit

    applies, broken = sums[sums[:, 0] > 0].T.astype(np.float64)
    n_units, total = applies.size, applies.sum()
    if n_units < 2:
        return n_units, 0.0
    share = 1.0 - broken.sum() / total
    apart = (applies - broken) - share * applies
    error = np.sqrt(n_units / (n_units - 1) * np.square(apart).sum()) / total
    lower = share - stdtrit(n_units - 1, confidence) * error
    return n_units, max(0.0, round(float(lower), DIGITS))


def keep_valid(learned: Learned, schema: Schema, sampler: Sampler) -> Asking[Learned]:
    """The selected rules of a template that held-out truth keeps as often as is asked for.

    `sampler` draws held-out mini-batches, for rules about such; there are at least as many as it
    takes. They may share rows, and count as if they did not.

    Cost: of rules about rows one evaluation of the held-out rows; of others that of their
    mini-batches.
    """
    validate = schema.validate
    if not validate or validate.holds is None or not learned.selected.size:
        return learned
    forms = [learned.measure.form(index, learned.bounds) for index in learned.selected.tolist()]
    if forms[0].over is None:
        counted = yield from _count_rows(forms, schema)
    else:
        counted = yield from _count_batches(forms, validate, sampler)
    is_valid, limits = judge(counted, validate)
    told = [
        f"{short_text(to_text(sentence_of(form)))}: "
        f"{limit.tell(validate.holds, validate.confidence)}"
        for form, limit, valid in zip(forms, limits, is_valid, strict=True)
        if not valid
    ]
    return learned.leave_out(learned.selected[~is_valid], told[:MOST_TOLD])


def judge(counted: Counted, validate: Validate) -> tuple[Bools, list[Limit]]:
    """Which rules hold often enough, and the limit of each."""
    assert validate.holds is not None
    n, broken = counted.n, counted.broken
    is_valid = is_shown(n, broken, validate.holds, validate.confidence)
    lower = lower_limits(n, broken, validate.confidence)
    limits = []
    for place in range(n.size):
        n_units, least = None, float(lower[place])
        if counted.units is not None:
            sums = counted.units.of_rule(place)
            n_units, between = unit_limit(sums, validate.confidence)
            least = min(least, between)
            is_valid[place] &= between >= validate.holds
        limits.append(Limit(int(n[place]), int(broken[place]), least, counted.of, n_units))
    return is_valid, limits


def _count_rows(forms: Sequence[Form], schema: Schema) -> Asking[Counted]:
    """Held-out rows that rules apply to, by unit where rows have one."""
    asked: list[Any] = [Evidence("valid", forms)]
    if schema.units:
        asked.append(CountUnits("valid", schema.units, forms, [()] * len(forms)))
    outcomes, *units = yield asked
    n, broken = np.array(outcomes, np.int64).reshape(-1, 2).T
    return Counted(n, broken, "row", units[0] if units else None)


def _count_batches(forms: Sequence[Form], validate: Validate, sampler: Sampler) -> Asking[Counted]:
    """Held-out mini-batches on which the statistics of rules are defined, and lie outside."""
    assert validate.holds is not None
    over = forms[0].over
    assert over is not None
    least = MORE * fewest_samples(validate.holds, validate.confidence)
    drawn = Sampler(sampler.of, max(sampler.n_batches, least), sampler.seed, sampler.unit)
    rows, batches = yield from drawn.draw(over)
    values = measure_batches(forms, rows.table, rows.statistics, batches, at_once=CHUNK_ROWS)
    n, broken = outside_counts(forms, values)
    return Counted(n, broken, "mini-batch")
