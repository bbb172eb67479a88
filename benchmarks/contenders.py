"""Other ways to count every conjunction of at most three signed features.

A literal is a number, 2 * feature + negated. Each contender gives for every body the rows in it
and those of them in the head. PyFIM and mlxtend know no head: they count the rows in it and the
other rows, one after the other, which is less work than counting all rows and then the head's.
"""

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Counts = dict[frozenset[int], tuple[int, int]]
HIGH = 3
EVERYTHING = 10**9


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """`run` counts, and is timed; `read` brings what it gave into a common shape."""

    run: Callable[[], Any]
    read: Callable[[Any], Counts]


def eclat(true: Bools, head: Bools, algo: str) -> Contender:
    """PyFIM's eclat; a transaction holds the literals of a row that are true."""
    import fim

    items = 2 * np.arange(len(true)) + ~true.T
    halves = [items[~head].tolist(), items[head].tolist()]
    mine = partial(fim.eclat, supp=-1, zmin=1, zmax=HIGH, report="a", algo=algo)
    return Contender(lambda: [mine(rows) for rows in halves], _read_eclat)


def _read_eclat(found: Any) -> Counts:
    outside, inside = ({frozenset(items): count for items, count in half} for half in found)
    # PyFIM leaves out sets that hold on all rows of a half, and so they look like those that hold
    # on none: sure are the sets that it names in both halves.
    return {body: (outside[body] + inside[body], inside[body]) for body in outside.keys() & inside}


def mlxtend(true: Bools, head: Bools, first: int) -> Contender:
    """mlxtend's apriori; `first` is the number of the first feature."""
    import pandas as pd
    from mlxtend.frequent_patterns import apriori

    literals = _literals(true)
    names = range(2 * first, 2 * first + len(literals))
    halves = [pd.DataFrame(literals[:, rows].T, columns=[*names]) for rows in (~head, head)]

    def run() -> Any:
        options = {"max_len": HIGH, "use_colnames": True, "low_memory": True}
        return [apriori(half, min_support=0.5 / len(half), **options) for half in halves]

    def read(found: Any) -> Counts:
        outside, inside = (
            {body: round(share * len(half)) for share, body in frame.itertuples(index=False)}
            for frame, half in zip(found, halves, strict=True)
        )
        return {
            body: (outside.get(body, 0) + inside.get(body, 0), inside.get(body, 0))
            for body in outside.keys() | inside
        }

    return Contender(run, read)


def pysubgroup(true: Bools, head: Bools, first: int, algorithm: str) -> Contender:
    """One of pysubgroup's searches, with a quality that needs both counts and keeps everything."""
    import pandas as pd
    import pysubgroup as ps

    names = [str(first + index) for index in range(len(true))]
    table = pd.DataFrame(dict(zip(names, true, strict=True)) | {"head": head})
    space = [ps.EqualitySelector(name, value) for name in names for value in (True, False)]
    task = ps.SubgroupDiscoveryTask(
        table,
        ps.BinaryTarget("head", True),
        space,
        result_set_size=EVERYTHING,
        depth=HIGH,
        qf=ps.StandardQF(0),
        min_quality=-EVERYTHING,
    )

    def run() -> Any:
        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            return getattr(ps, algorithm)().execute(task).results

    def read(found: Any) -> Counts:
        return {
            frozenset(
                2 * int(selector.attribute_name) + (not selector.attribute_value)
                for selector in subgroup.selectors
            ): (int(statistics.size_sg), int(statistics.positives_count))
            for _, subgroup, statistics in found
            if subgroup.selectors
        }

    return Contender(run, read)


def numpy_popcount(true: Bools, head: Bools) -> Contender:
    """AND and popcount of every body, a numpy call for all bodies that differ in one literal."""

    def run() -> Ints:
        in_head = to_words(head[None])[0]
        blocks = [
            np.stack((count_bits(block), count_bits(block & in_head)), axis=1)
            for block in conjunctions(to_words(_literals(true)))
        ]
        return np.concatenate(blocks)

    def read(found: Any) -> Counts:
        rows = zip(literal_sets(len(true)), found.tolist(), strict=True)
        return {frozenset(body): (counts[0], counts[1]) for body, counts in rows}

    return Contender(run, read)


def conjunctions(bits: Words) -> Iterator[Words]:
    """The bits of all bodies, in blocks that share all literals but the last.

    Shapes: bits (2 * n_features, ...), each block (n, ...).
    """
    yield bits
    for one in range(len(bits) - 2):
        after = 2 * (one // 2) + 2
        pairs = bits[one] & bits[after:]
        yield pairs
        for two in range(after, len(bits) - 2):
            yield pairs[two - after] & bits[2 * (two // 2) + 2 :]


def literal_sets(n_features: int) -> list[tuple[int, ...]]:
    """The literals of each body, in the order of `conjunctions`."""
    literals = range(2 * n_features)
    order: list[tuple[int, ...]] = [(one,) for one in literals]
    for one in literals[:-2]:
        after = 2 * (one // 2) + 2
        order += [(one, two) for two in literals[after:]]
        for two in literals[after:-2]:
            order += [(one, two, three) for three in literals[2 * (two // 2) + 2 :]]
    return order


def _literals(true: Bools) -> Bools:
    """Each feature followed by its negation."""
    return np.stack((true, ~true), axis=1).reshape(-1, true.shape[1])


def to_words(rows: Bools) -> Words:
    """Booleans along the last axis as bits, padded with 0 to whole words."""
    padding = [(0, 0)] * (rows.ndim - 1) + [(0, -rows.shape[-1] % 64)]
    return np.packbits(np.pad(rows, padding), axis=-1).view(np.uint64)


def count_bits(words: Words) -> Ints:
    """How many bits are set along the last axis."""
    counts: Ints = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return counts
