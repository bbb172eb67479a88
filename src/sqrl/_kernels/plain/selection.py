"""Values in spans of sortable bits, or around guessed ranges, by numpy."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int64s, Words64
from sqrl._kernels.selection_rounds import LoopSpans

SIGN = np.uint64(1 << 63)


def sortable(values: Floats) -> Words64:
    """The bits of floats, such that they are in the order of the floats; -0.0 counts as 0.0."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits >= SIGN, ~bits, bits | SIGN)


def find_spans(values: Floats, groups: Int64s, spans: LoopSpans) -> tuple[Int64s, Int64s, Words64]:
    """The rows whose group has a span that holds their value, the span and the sortable bits."""
    first, lows, widths, *_ = spans
    rows = np.flatnonzero((groups >= 0) & ~np.isnan(values))
    bits, span = sortable(values[rows]), first[groups[rows]]
    end = first[groups[rows] + 1]
    found = np.full(rows.size, -1, np.int64)
    left = np.flatnonzero(span < end)
    while left.size:
        here = span[left]
        inside = bits[left] - lows[here] <= widths[here]  # wraps if the value is below
        found[left[inside]] = here[inside]
        left = left[~inside]
        span[left] += 1
        left = left[span[left] < end[left]]
    held = found >= 0
    return rows[held], found[held], bits[held]


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
    """Add each value to the bin of its group's span that holds it, if any does."""
    _, span, bits = find_spans(values, groups, spans)
    place = starts[span] + ((bits - spans.lows[span]) >> shifts[span]).astype(np.int64)
    np.add.at(counts, place, 1)
    np.minimum.at(least, place, bits)
    np.maximum.at(greatest, place, bits)


def collect_rows(
    values: Floats,
    groups: Int64s,
    spans: LoopSpans,
    begin: int,
    found: Int64s,
    owners: Array,
    kept: Words64,
) -> int:
    """The row to go on with once there is room, or the number of rows; keeps what spans hold."""
    rows, span, bits = find_spans(values[begin:], groups[begin:], spans)
    used = int(found[0])
    fits = min(rows.size, kept.size - used)
    owners[used : used + fits], kept[used : used + fits] = span[:fits], bits[:fits]
    found[0] = used + fits
    return int(values.size) if fits == rows.size else begin + int(rows[fits])


def place_rows(
    values: Floats, groups: Int64s, lows: Floats, highs: Floats, counts: Int64s, inside: Array
) -> int:
    """How many rows lie inside a range of their group; counts the places of all."""
    rows = np.flatnonzero((groups >= 0) & ~np.isnan(values))
    value, group = values[rows], groups[rows]
    place = np.zeros(rows.size, np.int64)
    for low, high in zip(lows.T, highs.T, strict=True):
        place += value >= low[group]
        place += value > high[group]
    at = group * counts.shape[1] + place
    counts += np.bincount(at, minlength=counts.size).reshape(counts.shape)
    is_inside = np.flatnonzero(place & 1)
    group, place = group[is_inside], place[is_inside] >> 1
    kept = rows[is_inside][lows[group, place] < highs[group, place]]
    inside[: kept.size] = kept
    return int(kept.size)
