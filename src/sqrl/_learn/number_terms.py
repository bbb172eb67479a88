"""Expressions of a number whose means within classes are worth stating.

The number itself, held between limits beyond which few rows lie (one row of 16,020 would rule a
mean), and the same held at or above some quantiles: `max(120, min(ap_hi, 180))`. A model that adds
multiples of these is linear between the quantiles.
"""

import math

import numpy as np

from sqrl._kernels.arrays import Floats
from sqrl._language.tree import Call, Node, Number

OUTSIDE = 0.01  # of the rows lie beyond each limit
FEWEST_OUTSIDE = 5  # rows: with fewer a limit would be a value of a row that can be told
FAR_OUT = 10.0  # times the distance between the quartiles, beyond them
DIGITS = 2  # of the range, after the first, to which limits are rounded


def number_terms(subject: Node, values: Floats, n_knots: int) -> list[Node]:
    """The number between its limits, and the same held above each of some quantiles.

    >>> from sqrl._language import parse_formula, to_text
    >>> [to_text(one) for one in number_terms(parse_formula("age"), np.arange(1000.0), 1)]
    ['max(10, min(age, 989))', 'max(500, min(age, 989))']
    """
    low, high = limits_of(values)
    lowest, highest = float(values.min()), float(values.max())
    cut: Node = subject if high >= highest else Call("min", (subject, Number(high)))
    made = [cut if low <= lowest else Call("max", (Number(low), cut))]
    shares = np.arange(1, n_knots + 1) / (n_knots + 1)
    knots = {rounded(float(one), high - low) for one in np.quantile(values, shares)}
    made += [Call("max", (Number(one), cut)) for one in sorted(knots) if low < one < high]
    return made


def limits_of(values: Floats) -> tuple[float, float]:
    """Rounded values beyond which few rows lie, but not so few that these can be told.

    >>> limits_of(np.array([0.0] * 90 + [5.0] * 9 + [16_020.0]))
    (0.0, 5.0)
    """
    order = np.sort(values)
    place = min(max(int(OUTSIDE * order.size), FEWEST_OUTSIDE), (order.size - 1) // 2)
    low, high = float(order[place]), float(order[order.size - 1 - place])
    if not high > low:  # nearly all rows have one value: the others are told from it
        return float(order[0]), float(order[-1])
    first, third = order[order.size // 4], order[order.size - 1 - order.size // 4]
    if third > first:  # what lies further out would rule the mean, be it some percent of the rows
        low = max(low, float(first - FAR_OUT * (third - first)))
        high = min(high, float(third + FAR_OUT * (third - first)))
    return rounded(low, high - low), rounded(high, high - low)


def rounded(value: float, width: float) -> float:
    """A number to about a hundredth of a range.

    >>> rounded(183.4567, 80.0), rounded(0.0123456, 0.3), rounded(19834.0, 12_000)
    (183.5, 0.012, 19800.0)
    """
    if not width > 0 or not math.isfinite(width):
        return value
    return round(value, DIGITS - math.floor(math.log10(width)))
