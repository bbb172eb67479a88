"""Discrete Laplace noise, drawn exactly: integers only, from the system's secure source.

Floating-point Laplace noise leaks through its low bits (Mironov 2012); these draws use fair choices
among integers alone, as Canonne, Kamath and Steinke (2020) show how.
"""

import random
import secrets
from collections.abc import Callable
from fractions import Fraction

Below = Callable[[int], int]  # a whole number from 0 up to, not including, this one


def source_of(seed: int | None) -> Below:
    """Where random choices come from: the system's secure source, or a seed that anyone can know.

    Who knows the seed can subtract the noise: a seed is for tests and tables that are not secret.
    """
    return secrets.randbelow if seed is None else random.Random(seed).randrange


def draw_noise(epsilon: Fraction, below: Below) -> int:
    """A whole number x with a probability proportional to exp(-epsilon |x|).

    >>> below = source_of(0)
    >>> [draw_noise(Fraction(1, 2), below) for _ in range(6)]
    [-1, 1, 6, -3, 0, 1]
    """
    up, down = epsilon.denominator, epsilon.numerator
    while True:
        start = below(up)
        if not _is_exp(Fraction(start, up), below):
            continue
        rounds = 0
        while _is_exp(Fraction(1), below):
            rounds += 1
        size = (start + up * rounds) // down
        is_negative = below(2) == 1
        if is_negative and size == 0:
            continue  # else 0 would be drawn twice as often as it should
        return -size if is_negative else size


def _is_exp(rate: Fraction, below: Below) -> bool:
    """True with probability exp(-rate), for rates from 0 to 1.

    In 1 - r + r^2/2! - r^3/3! ... term k is left with probability r^k / k!: the first k at which a
    choice of r / k fails is odd with probability exp(-r).
    """
    k = 1
    while below(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1
