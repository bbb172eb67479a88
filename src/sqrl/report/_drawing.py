"""The values that a rule speaks of, counted in bins whose edges are the rule's bounds.

Bins are as wide inside the bounds as outside, and a bound is always an edge between two of them: a
bin is wholly held or wholly broken, so that a drawing never colours a value wrongly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqrl._check.row_outcomes import choose, interval_ends
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language import to_text
from sqrl._language.forms import Form
from sqrl._language.short import short_node
from sqrl._rows.rows import Rows

MOST_DOTS = 40  # mini-batches drawn one by one; more are counted in bins
MOST_PIECES = 8
INSIDE, OUTSIDE = 24, 8  # bins between the bounds, and at most so many beyond each
INSIDE_OF_PIECES, OUTSIDE_OF_PIECES = 12, 4
WIDE = 12.0  # an upper bound so many times the lower one is drawn on a logarithmic scale


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts in bins from `first` on: `n_below` of them under the bounds, then those inside.

    The outermost bins also hold what lies further out: from `least` to `most`. `first` and `width`
    are of the decimal logarithm where `is_log`. `test` says when the piece's turn is.
    """

    lower: float | None
    upper: float | None
    first: float
    width: float
    n_below: int
    n_inside: int
    counts: Int64s
    least: float | None
    most: float | None
    is_log: bool = False
    other: Int64s | None = None
    test: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """The statistic of each mini-batch, and the bounds that it should lie between."""

    lower: float | None
    upper: float | None
    values: Floats
    other: Floats | None = None


@dataclass(frozen=True, slots=True)
class RightWrong:
    """How often a class rule was right and how often wrong; the same of the other result."""

    right: int
    wrong: int
    other: tuple[int, int] | None = None


Drawing = list[Histogram] | Dots | RightWrong


def draw_rule(
    violations: Violations,
    rule: int,
    rows: Rows,
    *,
    other: Violations | None = None,
    other_rows: Rows | None = None,
) -> Drawing:
    """What there is to draw of a rule: bins for each piece, dots, or a bar.

    `rows` are those of the table or a sample of them; `other` is drawn behind and has the same
    rules.
    """
    form = violations.rules.form(rule)
    if not form.has_bounds:
        return _bar(violations, rule, other)
    if form.is_single:
        return _pieces(form, rows, other_rows)
    (lower,), (upper,) = interval_ends(form)
    values = _known(violations.batch_values[rule])
    behind = None if other is None else _known(other.batch_values[rule])
    if max(values.size, 0 if behind is None else behind.size) > MOST_DOTS:
        is_log = wants_log(np.array([lower]), np.array([upper]))
        return [count_in_bins(values, lower, upper, other=behind, is_log=is_log)]
    return Dots(_finite(lower), _finite(upper), values, behind)


def _bar(violations: Violations, rule: int, other: Violations | None) -> RightWrong:
    def right_and_wrong(one: Violations) -> tuple[int, int]:
        wrong = int(one.broken[rule])
        return int(one.applicable[rule]) - wrong, wrong

    behind = None if other is None else right_and_wrong(other)
    return RightWrong(*right_and_wrong(violations), behind)


def _pieces(form: Form, rows: Rows, other_rows: Rows | None) -> list[Histogram]:
    lower, upper = interval_ends(form)
    shown = min(len(form.pieces), MOST_PIECES)
    inside, outside = (INSIDE, OUTSIDE) if shown == 1 else (INSIDE_OF_PIECES, OUTSIDE_OF_PIECES)
    values = piece_values(form, rows)
    behind = piece_values(form, other_rows) if other_rows is not None else None
    return [
        count_in_bins(
            next(values),
            lower[index],
            upper[index],
            other=next(behind) if behind is not None else None,
            test=_test_text(form, index),
            is_log=wants_log(lower, upper),
            inside=inside,
            outside=outside,
        )
        for index in range(shown)
    ]


def piece_values(form: Form, rows: Rows) -> Iterator[Floats]:
    """The values that each piece of a `sample` rule bounds, one piece after the other."""
    assert form.subject is not None
    values = rows.numbers(form.subject)
    left = rows.all_true(form.given) & ~np.isnan(values)
    for piece in form.pieces:
        here, left = choose(piece.test, left, rows)
        yield values[here]


def _test_text(form: Form, index: int) -> str | None:
    """When a piece's turn is; the last one says what all before it did not."""
    if len(form.pieces) == 1:
        return None
    test = form.pieces[index].test
    return to_text(short_node(test)) if test is not None else "all others"


def wants_log(lower: Floats, upper: Floats) -> bool:
    """Whether bounds are so far apart that most values would fall in one bin.

    >>> wants_log(np.array([10.0]), np.array([5000.0])), wants_log(np.array([0.0]), np.array([9.0]))
    (True, False)
    """
    least, most = float(lower.min()), float(upper.max())
    return least > 0 and np.isfinite(most) and most / least > WIDE


def count_in_bins(
    values: Floats,
    lower: float,
    upper: float,
    *,
    other: Floats | None = None,
    test: str | None = None,
    is_log: bool = False,
    inside: int = INSIDE,
    outside: int = OUTSIDE,
) -> Histogram:
    """The values counted in bins that begin and end at the bounds; an infinite bound is open.

    >>> bins = count_in_bins(np.array([0.0, 1.0, 4.0, 4.5]), 1.0, 4.0, inside=3, outside=2)
    >>> bins.first, bins.width, bins.n_below, bins.counts.tolist()
    (0.0, 1.0, 1, [1, 1, 0, 1, 1])
    """
    both = values if other is None else np.concatenate([values, other])
    both = both[np.isfinite(both) & (both > 0 if is_log else True)]
    grid = _grid(both, float(lower), float(upper), is_log=is_log, inside=inside, outside=outside)
    places = _place(values, lower, upper, grid)
    behind = None if other is None else _place(other, lower, upper, grid)
    all_places = places if behind is None else np.concatenate([places, behind])
    # A bin is kept beyond each bound even if it is empty: the bound is seen to be one.
    n_below = int(max(-all_places.min(initial=0), np.isfinite(lower)))
    n_above = int(max(all_places.max(initial=0) - grid.n_inside + 1, np.isfinite(upper)))
    n_bins = n_below + grid.n_inside + n_above

    def counted(found: Int64s) -> Int64s:
        return np.bincount(found + n_below, minlength=n_bins).astype(np.int64)

    return Histogram(
        lower=_finite(lower),
        upper=_finite(upper),
        first=grid.low - n_below * grid.width,
        width=grid.width,
        n_below=n_below,
        n_inside=grid.n_inside,
        counts=counted(places),
        least=_finite(values.min(initial=np.inf)),
        most=_finite(values.max(initial=-np.inf)),
        is_log=is_log,
        other=None if behind is None else counted(behind),
        test=test,
    )


@dataclass(frozen=True, slots=True)
class BinGrid:
    """Where bins begin: `n_inside` from `low` to `high`, at most `outside` more on either side."""

    low: float
    high: float
    width: float
    n_inside: int
    outside: int
    is_log: bool

    def scaled(self, values: Floats) -> Floats:
        """The values on the scale that the bins are cut on."""
        if not self.is_log:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(values > 0, np.log10(values), -np.inf)


def _grid(
    values: Floats, lower: float, upper: float, *, is_log: bool, inside: int, outside: int
) -> BinGrid:
    low, high = _ends(values, lower, upper)
    if is_log:
        low, high, values = float(np.log10(low)), float(np.log10(high)), np.log10(values)
    # Divided first: the difference of two huge bounds is not a number any more.
    width = high / inside - low / inside
    if width > 0:
        return BinGrid(low, high, width, inside, outside, is_log)
    return BinGrid(low, low, _some_width(values, low, outside), 1, outside, is_log)


def _ends(values: Floats, lower: float, upper: float) -> tuple[float, float]:
    """The bounds, an open one replaced by the end of the values."""
    low, high = lower, upper
    if not np.isfinite(low):
        low = min(float(values.min(initial=np.inf)), high)
    if not np.isfinite(high):
        high = max(float(values.max(initial=-np.inf)), low)
    if not np.isfinite(low):
        low = high if np.isfinite(high) else 0.0
    return low, high if np.isfinite(high) else low


def _some_width(values: Floats, at: float, outside: int) -> float:
    """The width of bins around bounds that are one point, so that the values fit."""
    spread = float(np.abs(values / 2 - at / 2).max(initial=0.0)) * 2
    return spread / outside if spread > 0 else max(abs(at), 1.0) / outside


def _place(values: Floats, lower: float, upper: float, grid: BinGrid) -> Int64s:
    """The bin of each value: 0 begins at the lower bound, negative ones are below it."""
    # Which side of a bound decides by the value itself, so that no rounding colours it wrongly.
    below, above = values < lower, values > upper
    scaled = grid.scaled(values)
    with np.errstate(over="ignore"):
        steps = np.floor((scaled - grid.low) / grid.width)
        past = np.floor((scaled - grid.high) / grid.width)
    place = np.clip(steps, 0, grid.n_inside - 1)
    place[below] = np.clip(steps[below], -grid.outside, -1)
    place[above] = grid.n_inside + np.clip(past[above], 0, grid.outside - 1)
    return place.astype(np.int64)


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
