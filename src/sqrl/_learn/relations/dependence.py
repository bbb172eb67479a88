"""Which pairs of columns depend on each other, and how much: phi squared of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._learn.relations.features import Cells

Tables = NDArray[np.floating[Any]]

MOST_STEPS = 3e10  # multiplications in the table of all pairs: about a second
MANY_CELLS, FEW_CELLS = 8, 4
ROWS_A_CELL = 5  # that a table of two columns should have, at the least
CHANCE = 1e-6  # on rows to learn from, divided by the number of pairs
CHANCE_HELD_OUT = 1e-3
LEAST = 0.01  # phi squared: a correlation of a tenth


@dataclass(frozen=True, slots=True)
class Pair:
    """Two columns, by their places, and how much they depend: phi squared beyond chance."""

    first: int
    second: int
    strength: float


def n_cells(n_rows: int, n_features: int) -> int:
    """How many cells a column should have so that tables of two columns are filled.

    >>> n_cells(10_000, 10), n_cells(10_000, 1000), n_cells(60, 10)
    (8, 4, 3)
    """
    most = MANY_CELLS if n_features <= 100 else FEW_CELLS
    return int(np.clip(np.sqrt(n_rows / ROWS_A_CELL), 2, most))


def dependent_pairs(cells: Sequence[Cells], *, most: int) -> list[Pair]:
    """Pairs that depend on rows to learn from and on held-out rows, the strongest first.

    Cost: a matrix product for all tables at once, on as many rows as `MOST_STEPS` allows.
    """
    if len(cells) < 2:
        return []
    width = max(cell.n for cell in cells)
    n_rows = cells[0].train.size
    n_used = int(min(n_rows, max(200, MOST_STEPS / (2 * (len(cells) * width) ** 2))))
    tables = pair_tables([cell.train[:n_used] for cell in cells], width)
    chi, df, n_known = chi_squares(tables)
    n_pairs = len(cells) * (len(cells) - 1) / 2
    strength = np.where(n_known > 0, (chi - df) / np.maximum(n_known, 1), 0.0)
    depends = (chi_square_p(chi, df) * n_pairs < CHANCE) & (strength >= LEAST)
    depends &= np.triu(np.ones_like(depends), 1).astype(np.bool_)
    first, second = np.nonzero(depends)
    order = np.argsort(-strength[first, second], kind="stable")
    found: list[Pair] = []
    for one, other in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if len(found) == most:
            break
        if is_confirmed(cells[one], cells[other]):
            found.append(Pair(one, other, float(strength[one, other])))
    return found


def pair_tables(codes: Sequence[Int64s], width: int) -> Tables:
    """The tables of all pairs of columns. Shapes: result (columns, width, columns, width)."""
    n = len(codes)
    ones = np.zeros((codes[0].size, n, width), np.float32)
    for index, code in enumerate(codes):
        known = np.flatnonzero(code >= 0)
        ones[known, index, code[known]] = 1
    flat = ones.reshape(-1, n * width)
    return (flat.T @ flat).reshape(n, width, n, width)


def chi_squares(tables: Tables) -> tuple[Floats, Floats, Floats]:
    """Chi-square, degrees of freedom and known rows of each table of two columns.

    Shapes: tables (..., a, ..., b), as `pair_tables` gives; results without these axes.
    """
    rows, columns = tables.sum(axis=3), tables.sum(axis=1)
    total = rows.sum(axis=1)
    expected_part = rows[:, :, :, None] * columns[:, None, :, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where(expected_part > 0, tables**2 / expected_part, 0.0).sum(axis=(1, 3))
    chi = np.maximum(total * (squares - 1), 0.0)
    df = ((rows > 0).sum(axis=1) - 1.0) * ((columns > 0).sum(axis=2) - 1.0)
    return chi, np.maximum(df, 0.0), total


def chi_square_p(chi: Floats, df: Floats) -> Floats:
    """About the chance of a chi-square so large (Wilson and Hilferty), good to screen with.

    >>> chi_square_p(np.array([3.84, 30.0]), np.array([1.0, 9.0])).round(2).tolist()
    [0.05, 0.0]
    """
    safe = np.maximum(df, 1.0)
    spread = 2.0 / (9.0 * safe)
    z = (np.cbrt(chi / safe) - (1.0 - spread)) / np.sqrt(spread)
    return np.asarray(np.where(df < 1, 1.0, _upper_tail(z)))


def _upper_tail(z: Floats) -> Floats:
    """The upper tail of the normal distribution, within a few per cent of itself."""
    x = np.abs(z)
    # Abramowitz and Stegun 26.2.17 near zero; beyond, the density over its argument.
    t = 1.0 / (1.0 + 0.2316419 * x)
    poly = 0.319381530 + t * (
        -0.356563782 + t * (1.781477937 + t * (-1.821255978 + 1.330274429 * t))
    )
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * t * poly
    return np.asarray(np.where(z >= 0, tail, 1.0 - tail))


def is_confirmed(one: Cells, other: Cells) -> bool:
    """Whether two columns depend on each other on held-out rows, too."""
    known = (one.valid >= 0) & (other.valid >= 0)
    if known.sum() < 2:
        return False
    code = np.minimum(one.valid[known], one.n - 1) * other.n + np.minimum(
        other.valid[known], other.n - 1
    )
    table = np.bincount(code, minlength=one.n * other.n).astype(np.float64)
    chi, df, _ = chi_squares(table.reshape(1, one.n, 1, other.n))
    return bool(chi_square_p(chi, df)[0, 0] < CHANCE_HELD_OUT)


def spread_out(pairs: Sequence[Pair], *, most: int, most_each: int, first: Bools) -> list[Pair]:
    """As many pairs as a budget allows: each column's strongest, then its second, and so on.

    Pairs with a column that `first` marks come before others in each round.
    """
    taken: list[Pair] = []
    left = list(pairs)
    for round_ in range(1, most_each + 1):
        used = np.zeros(first.size, np.int64)
        for pair in taken:
            used[[pair.first, pair.second]] += 1
        later: list[Pair] = []
        wanted = sorted(left, key=lambda p: not (first[p.first] or first[p.second]))
        for pair in wanted:
            ends = np.array([pair.first, pair.second])
            # A column that has its share already may be the partner of one that has not.
            is_wanted = (used[ends] < round_).any() and (used[ends] < most_each)[~first[ends]].all()
            if is_wanted and len(taken) < most:
                taken.append(pair)
                used[ends] += 1
            else:
                later.append(pair)
        left = later
    return sorted(taken, key=lambda pair: -pair.strength)
