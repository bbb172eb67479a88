"""Exact sums by numpy: floats taken apart and added digit by digit."""

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._kernels.sums import DIGIT, SQUARES, SUMS, WIDTH

MASK = (1 << DIGIT) - 1
AT_ONCE = 1 << 16  # values: their digits stay in the cache


def add_values(values: Floats, groups: Int64s, state: Int64s) -> None:
    """Add each value and its square to the digits of its group."""
    if groups.size != values.size:
        groups = np.broadcast_to(groups, values.shape)
    for begin in range(0, values.size, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        present = (groups[some] >= 0) & ~np.isnan(values[some])
        _add(values[some][present].view(np.int64), groups[some][present], state)
        carry(state[:, SUMS:SQUARES])
        carry(state[:, SQUARES:WIDTH])


def _add(bits: Int64s, groups: Int64s, state: Int64s) -> None:
    """Add the float64 of these bits: a mantissa of 53 bits, times a power of two."""
    exponent, sign = (bits >> 52) & 0x7FF, np.where(bits >= 0, 1, -1)
    np.add.at(state[:, 0], groups, 1)
    infinite = exponent == 0x7FF
    np.add.at(state, (groups[infinite], np.where(bits[infinite] >= 0, 1, 2)), 1)
    bits, groups, exponent, sign = (x[~infinite] for x in (bits, groups, exponent, sign))
    mantissa = (bits & ((1 << 52) - 1)) | ((exponent > 0).astype(np.int64) << 52)
    exponent = np.maximum(exponent - 1, 0)  # those of the smallest numbers are 0 too
    low, high = mantissa & MASK, mantissa >> DIGIT
    _add_digits([low, high], exponent, SUMS, sign, groups, state)
    lowest, middle = (low * low).view(np.uint64), (2 * low * high).view(np.uint64)
    second = (lowest >> np.uint64(DIGIT)) + (middle & np.uint64(MASK))
    highest = (high * high).view(np.uint64) + (middle >> np.uint64(DIGIT))
    highest += second >> np.uint64(DIGIT)
    digits = [lowest & MASK, second & MASK, highest & MASK, highest >> np.uint64(DIGIT)]
    square = [digit.view(np.int64) for digit in digits]
    _add_digits(square, 2 * exponent, SQUARES, np.ones_like(sign), groups, state)


def _add_digits(
    digits: list[Int64s], exponent: Int64s, first: int, sign: Int64s, groups: Int64s, state: Int64s
) -> None:
    """Add numbers of some digits, lowest first, times 2 ** exponent."""
    place, shift = first + exponent // DIGIT, exponent % DIGIT
    rest = np.zeros_like(shift)
    for digit in digits:
        shifted = digit << shift
        np.add.at(state, (groups, place), sign * ((shifted & MASK) + rest))
        place, rest = place + 1, shifted >> DIGIT
    np.add.at(state, (groups, place), sign * rest)


def carry(digits: Int64s) -> None:
    """Bring every digit but the highest to 0 .. 2**32 - 1: the one way to write the number.

    Shapes: digits (n_groups, n_digits). Cost: the places that are in use; a borrow goes to the end.
    """
    used = np.flatnonzero(digits.any(axis=0))
    if not used.size:
        return
    for place in range(used[0], digits.shape[1] - 1):
        over = digits[:, place] >> DIGIT
        if over.any():
            digits[:, place] -= over << DIGIT
            digits[:, place + 1] += over
        elif place >= used[-1]:
            return
