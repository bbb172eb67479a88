"""Rounds of a selection: bins counted in spans of sortable bits, or the values in them collected.

A round is small and can be sent to other processes; its states add up.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Floats, Int64s, Words64, frozen
from sqrl._kernels.dispatch import loops

State = dict[str, Array]

MANY, GAP = 256, 24  # bins from which on groups are set apart, and by how many
STEPS = 50.0  # of the plain loops for a value
ROOM = 1024  # the fewest values that room is made for at once
ALL = np.uint64((1 << 64) - 1)
SIGN = np.uint64(1 << 63)
BIN_BYTES = 24  # a count, the least and the greatest value
KEPT_BYTES = 12  # a value and the span it is in


class Spans(NamedTuple):
    """Closed ranges of sortable bits, disjoint and ascending within each group.

    Shapes: first (n_groups + 1,), the number of each group's first span; lows and widths (spans,).
    """

    first: Int64s
    lows: Words64
    widths: Words64

    @property
    def groups(self) -> Int64s:
        """The group of each span."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    def for_loops(self) -> "LoopSpans":
        """The spans in arrays of one kind each, with the widest gap between those of each group."""
        lows, widths = frozen(self.lows, np.uint64), frozen(self.widths, np.uint64)
        n_groups = self.first.size - 1
        after, before = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
        groups, begins, ends = self.groups, floats_of(lows), floats_of(lows + widths)
        is_gap = np.flatnonzero(groups[1:] == groups[:-1])
        with np.errstate(invalid="ignore", over="ignore"):  # of infinite ends nothing is said
            width = begins[is_gap + 1] - ends[is_gap]
        for place in is_gap[np.argsort(width, kind="stable")]:  # the widest is written last
            after[groups[place]], before[groups[place]] = ends[place], begins[place + 1]
        gaps = frozen(after, np.float64), frozen(before, np.float64)
        return LoopSpans(frozen(self.first, np.int64), lows, widths, *gaps)


class LoopSpans(NamedTuple):
    """Spans for the loops, and the widest gap between spans of a group, nan where there is none.

    Shapes: after and before (n_groups,).
    """

    first: Int64s
    lows: Words64
    widths: Words64
    after: Floats
    before: Floats


def floats_of(bits: Words64) -> Floats:
    """The floats that have the sortable bits."""
    return np.where(bits >= SIGN, bits ^ SIGN, ~bits).view(np.float64)


class Bins(NamedTuple):
    """What a round found: parts of spans that are not empty, in the order of spans and values.

    Shapes: all (bins,). `spans` is the number of the span that a bin is a part of. Where a bin is
    `tight`, there is a value that is its least, and one that is its greatest.
    """

    spans: Int64s
    counts: Int64s
    least: Words64
    greatest: Words64
    tight: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """A round that counts values in 2 ** shift wide bins of each span. It can be pickled.

    Shapes: shifts (spans,); starts (spans + 1,), the number of each span's first bin.
    """

    spans: Spans
    shifts: Words64
    starts: Int64s
    looped: LoopSpans = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looped", self.spans.for_loops())

    @classmethod
    def of(cls, spans: Spans, bits: int) -> "Counting":
        """The round that splits each span into at most 2 ** bits bins."""
        shifts = np.maximum(bit_length(spans.widths) - bits, 0).astype(np.uint64)
        sizes = (spans.widths >> shifts).astype(np.int64) + 1
        # Groups are much alike: the bins they fill, a power of two apart, would share cache lines.
        sizes += GAP * (sizes > MANY)
        return cls(spans, shifts, np.concatenate([[0], np.cumsum(sizes)]))

    def start(self) -> State:
        """The state of no values."""
        size = int(self.starts[-1])
        return {
            "counts": np.zeros(size, np.int64),
            "least": np.full(size, ALL),
            "greatest": np.zeros(size, np.uint64),
        }

    def summarise(self, values: Floats, groups: Int64s, state: State) -> State:
        """The state with the values too, changed in place."""
        loops("selection", STEPS * values.size).count_rows(
            frozen(values, np.float64),
            frozen(groups, np.int64),
            self.looped,
            frozen(self.shifts, np.uint64),
            frozen(self.starts, np.int64),
            state["counts"],
            state["least"],
            state["greatest"],
        )
        return state

    def merge(self, first: State, second: State) -> State:
        """The state of the values of both, which are left as they are."""
        return {
            "counts": first["counts"] + second["counts"],
            "least": np.minimum(first["least"], second["least"]),
            "greatest": np.maximum(first["greatest"], second["greatest"]),
        }

    def bins(self, state: State) -> Bins:
        """The bins that are not empty."""
        filled = np.flatnonzero(state["counts"])
        spans = np.searchsorted(self.starts, filled, side="right") - 1
        least, greatest = state["least"][filled], state["greatest"][filled]
        return Bins(spans, state["counts"][filled], least, greatest, np.ones(filled.size, np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class Collecting:
    """A round that keeps all values in the spans, `most` of them at most. It can be pickled."""

    spans: Spans
    most: int
    looped: LoopSpans = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looped", self.spans.for_loops())

    def start(self) -> State:
        """The state of no values."""
        return {
            "found": np.zeros(1, np.int64),
            "spans": np.empty(0, np.int32),
            "bits": np.empty(0, np.uint64),
        }

    def summarise(self, values: Floats, groups: Int64s, state: State) -> State:
        """The state with the values too, changed in place."""
        kernel = loops("selection", STEPS * values.size)
        values, groups = frozen(values, np.float64), frozen(groups, np.int64)
        within, row = self.looped, 0
        while True:
            found, spans, bits = state["found"], state["spans"], state["bits"]
            row = kernel.collect_rows(values, groups, within, row, found, spans, bits)
            if row == values.size:
                return state
            # The doubling ends at what was counted, and more only comes of data that changed.
            more = max(ROOM, min(bits.size, self.most - bits.size))
            state["spans"] = np.concatenate([spans, np.zeros(more, np.int32)])
            state["bits"] = np.concatenate([bits, np.zeros(more, np.uint64)])

    def merge(self, first: State, second: State) -> State:
        """The state of the values of both, which are left as they are."""
        merged = {"found": first["found"] + second["found"]}
        for name in ("spans", "bits"):
            used = [state[name][: state["found"][0]] for state in (first, second)]
            merged[name] = np.concatenate(used)
        return merged

    def bins(self, state: State) -> Bins:
        """A bin for each distinct value of a span."""
        spans, bits = (state[name][: state["found"][0]] for name in ("spans", "bits"))
        n_spans = self.spans.lows.size
        # Two sorts, each at its quickest: numpy counts numbers below 2 ** 16 instead of comparing.
        order = np.argsort(spans.astype(np.min_scalar_type(n_spans)), kind="stable")
        spans, bits = spans[order], bits[order]
        ends = np.searchsorted(spans, np.arange(n_spans), side="right").tolist()
        for begin, end in pairwise([0, *ends]):
            bits[begin:end].sort()
        is_new = np.ones(bits.size, np.bool_)
        is_new[1:] = (spans[1:] != spans[:-1]) | (bits[1:] != bits[:-1])
        places = np.flatnonzero(is_new)
        counts = np.diff(places, append=bits.size)
        owners, tight = spans[places].astype(np.int64), np.ones(places.size, np.bool_)
        return Bins(owners, counts, bits[places], bits[places], tight)


Round = Counting | Collecting


def bit_length(words: Words64) -> Int64s:
    """How many bits each word has up to its highest set one.

    >>> bit_length(np.array([0, 1, 255, 2**53 - 1, 2**64 - 1], np.uint64)).tolist()
    [0, 1, 8, 53, 64]
    """
    upper, lower = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)  # exact as floats
    length = np.where(upper > 0, np.frexp(upper)[1] + 32, np.frexp(lower)[1])
    return np.asarray(length, np.int64)
