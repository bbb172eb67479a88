"""Compiled loops: values in spans of sortable bits, or around guessed ranges."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int64s, Words64
from sqrl._kernels.compiled.jit import inlined, kernel
from sqrl._kernels.selection_rounds import LoopSpans

SIGN = np.int64(-(2**63))


@inlined
def sortable(value: float) -> np.uint64:
    """The bits of a float, such that they are in the order of the floats; -0.0 counts as 0.0."""
    bits = np.float64(value + 0.0).view(np.int64)
    return np.uint64(bits ^ ((bits >> 63) | SIGN))


@inlined
def find_span(bits: np.uint64, group: int, first: Int64s, lows: Words64, widths: Words64) -> int:
    """The group's span that holds the bits, -1 for none."""
    for span in range(first[group], first[group + 1]):
        if bits - lows[span] <= widths[span]:  # wraps to more than any width if below
            return span
    return -1


@kernel
def count_rows(
    values: Floats,
    groups: Int64s,
    spans: LoopSpans,
    shifts: Words64,
    starts: Int64s,
    counts: Int64s,
    least: Words64,
    greatest: Words64,
) -> None:
    """Add each value to the bin of its group's span that holds it, if any does.

    Shapes: values and groups (n,); shifts (spans,), starts (spans + 1,); counts, least and
    greatest (bins,).
    """
    first, lows, widths, after, before = spans
    for row in range(values.size):
        group = groups[row]
        value = values[row]
        # Between the spans of two bounds lie most values: a branch that can be predicted.
        if group < 0 or after[group] < value < before[group] or np.isnan(value):
            continue
        bits = sortable(value)
        span = find_span(bits, group, first, lows, widths)
        if span >= 0:
            place = starts[span] + np.int64((bits - lows[span]) >> shifts[span])
            counts[place] += 1
            least[place] = min(least[place], bits)
            greatest[place] = max(greatest[place], bits)


@kernel
def collect_rows(
    values: Floats,
    groups: Int64s,
    spans: LoopSpans,
    begin: int,
    found: Int64s,
    owners: Array,
    kept: Words64,
) -> int:
    """The row to go on with once there is room, or the number of rows; keeps what spans hold.

    Shapes: as for `count_rows`; found (1,): how many of owners and kept are in use.
    """
    first, lows, widths, after, before = spans
    size = found[0]
    for row in range(begin, values.size):
        group = groups[row]
        value = values[row]
        # Between the spans of two bounds lie most values: a branch that can be predicted.
        if group < 0 or after[group] < value < before[group] or np.isnan(value):
            continue
        bits = sortable(value)
        span = find_span(bits, group, first, lows, widths)
        if span >= 0:
            if size == kept.size:
                found[0] = size
                return row
            owners[size] = span
            kept[size] = bits
            size += 1
    found[0] = size
    return int(values.size)


@kernel
def place_rows(
    values: Floats, groups: Int64s, lows: Floats, highs: Floats, counts: Int64s, inside: Array
) -> int:
    """How many rows lie inside a range of their group; counts the places of all.

    The place of a value is twice the number of ranges below it, and one more inside of one.

    Shapes: values, groups and inside (n,); lows and highs (n_groups, ranges), nan where there are
    fewer; counts (n_groups, places). Rows inside a range of one value are counted alone.
    """
    found, n_ranges = 0, lows.shape[1]
    for row in range(values.size):
        group = groups[row]
        value = values[row]
        if group < 0:
            continue
        # Between the ranges of two bounds lie most values: a branch that can be predicted.
        if n_ranges == 2 and value > highs[group, 0] and value < lows[group, 1]:
            counts[group, 2] += 1
            continue
        if np.isnan(value):
            continue
        place = 0
        for index in range(n_ranges):  # no early exit: it could not be predicted
            place += int(value >= lows[group, index]) + int(value > highs[group, index])
        counts[group, place] += 1
        if place & 1:
            inside[found] = row
            found += int(lows[group, place >> 1] < highs[group, place >> 1])
    return found
