"""How often tests of clean rows fall below a level, as a multiple of it: the tables of decision 18.

python benchmarks/levels.py --pairs 100000
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._check.null_tests import mean_test

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], tuple[Floats, Floats]]
LEVELS = (0.05, 0.01, 0.001, 0.0001)
AT_ONCE = 2_000


def zipf(n_cells: int, power: float) -> Floats:
    """Shares that fall with a power of their rank."""
    weights = 1.0 / np.arange(1, n_cells + 1) ** power
    return np.asarray(weights / weights.sum())


def plain(shares: Floats, n: int, m: int) -> Draw:
    """Two samples of the same shares."""
    return lambda rng: (
        rng.multinomial(n, shares)[None].astype(np.float64),
        rng.multinomial(m, shares)[None].astype(np.float64),
    )


def at_quantiles(n_cells: int, n: int, m: int) -> Draw:
    """Cells cut at quantiles of four fifths of the reference, as learning does."""

    def draw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        train = np.sort(rng.random(n * 4 // 5))
        cuts = train[np.arange(1, n_cells) * train.size // n_cells]
        ends = np.concatenate([[0.0], cuts, [1.0]])
        values = np.concatenate([train, rng.random(n - train.size)])
        reference = np.histogram(values, ends)[0]
        new = rng.multinomial(m, np.diff(ends))
        return reference[None].astype(np.float64), new[None].astype(np.float64)

    return draw


def dependent(strata: int, cells: int, n: int, m: int, rho: float, shift: float = 0.0) -> Draw:
    """Cells that depend on their stratum; the strata themselves may move."""
    of_new = np.exp(shift * np.linspace(-1, 1, strata))
    across = np.outer(np.linspace(-1.5, 1.5, strata), np.linspace(-1.5, 1.5, cells))
    within = np.exp(rho * across)
    within /= within.sum(axis=1, keepdims=True)
    sides = [within / strata, within * (of_new / of_new.sum())[:, None]]

    def draw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        counts = [
            rng.multinomial(size, side.ravel()).reshape(strata, cells).astype(np.float64)
            for size, side in zip((n, m), sides, strict=True)
        ]
        return counts[0], counts[1]

    return draw


SHARES: dict[str, tuple[Draw, bool]] = {
    "2 cells, one of 1 %; 3,000, 500": (plain(np.array([0.99, 0.01]), 3000, 500), False),
    "10 even cells; 3,000, 50": (plain(np.full(10, 0.1), 3000, 50), True),
    "10 even cells; 24,000, 2,000": (plain(np.full(10, 0.1), 24000, 2000), True),
    "10 cells as 1/k^2; 3,000, 500": (plain(zipf(10, 2), 3000, 500), True),
    "50 words as k^-1.5; 50,000, 2,000": (plain(zipf(50, 1.5), 50000, 2000), False),
    "50 words as 1/k; 3,000, 500": (plain(zipf(50, 1), 3000, 500), False),
    "50 words as 1/k; 3,000, 3,000": (plain(zipf(50, 1), 3000, 3000), False),
    "20 cells as 1/k^3; 10,000, 50": (plain(zipf(20, 3), 10000, 50), True),
    "10 cells at quantiles; 3,000, 500": (at_quantiles(10, 3000, 500), True),
    "10 cells at quantiles; 3,000, 6,000": (at_quantiles(10, 3000, 6000), True),
    "4 x 4; 3,000, 500": (dependent(4, 4, 3000, 500, 1.0), True),
    "4 x 4, strata moved; 24,000, 2,000": (dependent(4, 4, 24000, 2000, 1.0, 1.5), True),
    "4 x 4, strongly; 3,000, 50": (dependent(4, 4, 3000, 50, 2.0), True),
    "20 x 8 words; 10,000, 500": (dependent(20, 8, 10000, 500, 1.0), False),
}
VALUES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "lognormal, sigma 2": lambda rng, size: np.exp(2 * rng.normal(size=size)),
    "1 % not zero": lambda rng, size: rng.exponential(size=size) * (rng.random(size) < 0.01),
    "Pareto of 3": lambda rng, size: rng.pareto(3, size),
    "t of 3": lambda rng, size: rng.standard_t(3, size),
}


def shares_p(draw: Draw, is_ordered: bool, pairs: int) -> Floats:
    """The p-values of so many pairs of samples in cells."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(-(-pairs // AT_ONCE)):
        cases = [SharesCase(*draw(rng), is_ordered, False) for _ in range(AT_ONCE)]
        found.append(shares_tests(cases))
    return np.concatenate(found)


def means_p(name: str, m: int, pairs: int, n: int = 4000) -> Floats:
    """The p-values of so many new samples, a hundred for each reference."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(-(-pairs // 100)):
        reference, new = VALUES[name](rng, (n,)), VALUES[name](rng, (100, m))
        moments = np.stack([np.full(100, m), new.mean(axis=1), new.var(axis=1)], axis=1)
        held_out = np.tile([n, reference.mean(), reference.var()], (100, 1))
        found.append(mean_test(held_out, moments))
    return np.concatenate(found)


def line(name: str, p: Floats) -> str:
    """How often p-values are below each level, as multiples."""
    multiples = " ".join(f"{float((p <= level).mean()) / level:6.2f}" for level in LEVELS)
    return f"{name:40s} {multiples}"


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    pairs = parser.parse_args().pairs
    print(f"{'':40s} " + " ".join(f"{level:6g}" for level in LEVELS))
    for name, (draw, is_ordered) in SHARES.items():
        print(line(name, shares_p(draw, is_ordered, pairs)), flush=True)
    for name in VALUES:
        for m in (10, 100, 500):
            print(line(f"mean, {name}; 4,000, {m}", means_p(name, m, pairs)), flush=True)


if __name__ == "__main__":
    main()
