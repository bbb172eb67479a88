"""Compiled loops behind `add_moments`: floats taken apart and added digit by digit."""

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._kernels.compiled.jit import inlined, kernel
from sqrl._kernels.sums import DIGIT, SQUARES, SUMS, WIDTH

Integer = np.int64 | int
DIGIT_MASK = (1 << DIGIT) - 1
AT_ONCE = 1 << 28  # a digit grows by less than 2**33 a value: carried before it leaves an int64


@kernel
def add_values(values: Floats, groups: Int64s, state: Int64s) -> None:
    """Add each value and its square to the digits of its group.

    Shapes: values (n,), groups (n,) or (1,), state (n_groups, WIDTH).
    Cost: some ten integer operations a value, and 200 steps a group.
    """
    step = 1 if groups.size == values.size else 0
    for begin in range(0, values.size, AT_ONCE):
        for i in range(begin, min(begin + AT_ONCE, values.size)):
            value, group = values[i], groups[i * step]
            if group >= 0 and not np.isnan(value):
                state[group, 0] += 1
                bits = int(np.float64(value).view(np.int64))
                add_value(bits, state[group])
        for group in range(state.shape[0]):
            carry(state[group, SUMS:SQUARES])
            carry(state[group, SQUARES:WIDTH])


@inlined
def add_value(bits: int, line: Int64s) -> None:
    """Add the float64 of these bits: a mantissa of 53 bits, times a power of two."""
    exponent = (bits >> 52) & 0x7FF
    if exponent == 0x7FF:
        line[1 if bits >= 0 else 2] += 1
        return
    mantissa = bits & ((1 << 52) - 1)
    if exponent > 0:
        mantissa |= 1 << 52
        exponent -= 1  # those of the smallest numbers are 0 too
    low, high = mantissa & DIGIT_MASK, mantissa >> DIGIT
    sign = 1 if bits >= 0 else -1
    first, shift = SUMS + exponent // DIGIT, exponent % DIGIT
    rest = add_digit(low, shift, 0, sign, line, first)
    rest = add_digit(high, shift, rest, sign, line, first + 1)
    line[first + 2] += sign * rest
    first, shift = SQUARES + 2 * exponent // DIGIT, 2 * exponent % DIGIT
    add_square(np.uint64(low), np.uint64(high), shift, line, first)


@inlined
def add_square(low: np.uint64, high: np.uint64, shift: int, line: Int64s, first: int) -> None:
    """Add the square of a mantissa, 106 bits, shifted."""
    digit, mask = np.uint64(DIGIT), np.uint64(DIGIT_MASK)
    lowest = low * low
    middle = np.uint64(2) * low * high
    second = (lowest >> digit) + (middle & mask)
    highest = high * high + (middle >> digit) + (second >> digit)
    rest = add_digit(np.int64(lowest & mask), shift, 0, 1, line, first)
    rest = add_digit(np.int64(second & mask), shift, rest, 1, line, first + 1)
    rest = add_digit(np.int64(highest & mask), shift, rest, 1, line, first + 2)
    rest = add_digit(np.int64(highest >> digit), shift, rest, 1, line, first + 3)
    line[first + 4] += rest


@inlined
def add_digit(
    digit: Integer, shift: int, rest: Integer, sign: int, line: Int64s, place: int
) -> Integer:
    """Add what a shifted digit has in this place, and give what it has in the next."""
    shifted = digit << shift
    line[place] += sign * ((shifted & DIGIT_MASK) + rest)
    return shifted >> DIGIT


@inlined
def carry(digits: Int64s) -> None:
    """Bring every digit but the highest to 0 .. 2**32 - 1: the one way to write the number."""
    for place in range(digits.size - 1):
        over = digits[place] >> DIGIT
        digits[place] -= over << DIGIT
        digits[place + 1] += over
