"""Exact sums by numpy: floats taken apart and added digit by digit, or piece by piece."""

from math import frexp, ldexp

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._kernels.sums import DIGIT, SQUARES, SUMS, WIDTH

MASK = (1 << DIGIT) - 1
AT_ONCE = 1 << 16  # values: their digits stay in the cache
OF_PIECES = 1 << 13  # values whose pieces stay in the cache, and whose products can be summed
PIECE = 19  # bits of a piece: products have 38, and sums of 2**13 of those are exact floats
MOST_PIECES = 8
FARTHEST = 400  # exponent up to which products neither overflow nor underflow


def add_values(values: Floats, groups: Int64s, state: Int64s) -> None:
    """Add each value and its square to the digits of its group."""
    if groups.size == 1:
        if groups[0] >= 0:
            _add_to_one(values, state[groups[0]])
        return
    for begin in range(0, values.size, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        present = (groups[some] >= 0) & ~np.isnan(values[some])
        _add(values[some][present].view(np.int64), groups[some][present], state)
        carry(state[:, SUMS:SQUARES])
        carry(state[:, SQUARES:WIDTH])


def _add_to_one(values: Floats, line: Int64s) -> None:
    """Add each value and its square to the digits of one group, by sums of pieces."""
    total = squares = 0
    for begin in range(0, values.size, OF_PIECES):
        some = values[begin : begin + OF_PIECES]
        missing = np.isnan(some)
        if missing.any():
            some = some[~missing]
        pieces = _pieces(some)
        if pieces is None:
            _add(some.view(np.int64), np.zeros(some.size, np.int64), line[None])
            carry(line[None, SUMS:SQUARES])
            carry(line[None, SQUARES:WIDTH])
            continue
        line[0] += some.size
        for place, (one, unit) in enumerate(pieces):
            total += _whole(float(one.sum()), unit, 1074)
            for other, its_unit in pieces[place:]:
                product = _whole(float(one @ other), unit + its_unit, 2148)
                squares += product if other is one else 2 * product
    _add_number(total, line[SUMS:SQUARES])
    _add_number(squares, line[SQUARES:WIDTH])


def _pieces(values: Floats) -> list[tuple[Floats, int]] | None:
    """The values as sums of few pieces; None where they are too far from one another, or from 1.

    A piece is a whole number of at most 2**19, times two to its exponent, which follows it. So any
    sum of pieces or of their products is exact, in whatever order it is made.
    """
    size = np.abs(values)
    largest = float(size.max(initial=0.0))
    if largest == 0.0:
        return []
    smallest = float(size.min(where=size > 0, initial=largest))
    if not 2.0**-FARTHEST < smallest <= largest < 2.0**FARTHEST:
        return None
    unit = frexp(largest)[1] - PIECE
    pieces: list[tuple[Floats, int]] = []
    rest = values
    while len(pieces) < MOST_PIECES:
        rounding = ldexp(1.5, 52 + unit)  # beside it a float has no digit below the unit
        piece = rest + rounding
        piece -= rounding
        rest = rest - piece
        pieces.append((piece, unit))
        if not rest.any():
            return pieces
        unit -= PIECE + 1  # what is left is half a unit at most
    return None


def _add_number(number: int, digits: Int64s) -> None:
    """Add a whole number to the digits that stand for another."""
    content = np.frombuffer(abs(number).to_bytes(DIGIT // 8 * digits.size, "little"), "<u4")
    digits += content.astype(np.int64) * (-1 if number < 0 else 1)
    carry(digits[None])


def _whole(value: float, unit: int, smallest: int) -> int:
    """A whole number of 2**unit as one of 2**-smallest."""
    return int(ldexp(value, -unit)) << (unit + smallest)


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
