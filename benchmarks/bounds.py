"""Bounds of F1 over mini-batches for every body: beside numpy, and beside a loop over rules."""

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contenders import Bools, Words, conjunctions, count_bits, literal_sets, to_words
from counts import free_bodies
from measure import Json, Settings, alternate, bar, timing
from sqrl._kernels import BodyBounds, Ranks, body_bounds, pack
from sqrl._rows.quantiles import percentile_ranks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BATCH_ROWS = 128
CHUNK = 4096
PERCENTILES = (1.0, 99.0)
AGREE = 1e-12


def measure_bounds(true: Bools, head: Bools, settings: Settings) -> Json:
    """Bounds over all mini-batches of 128 rows, for one head and for both."""
    true = true[-16:] if settings.quick else true
    batches = _all_batches(true.shape[1], BATCH_ROWS, settings.seed)
    works: dict[str, Callable[[], Floats]] = {
        "sqrl, one head": lambda: our_bounds(true, head, batches, 1),
        "numpy, one head": lambda: numpy_bounds(true, head, batches, 1),
        "sqrl, both heads": lambda: our_bounds(true, head, batches, 2),
        "numpy, both heads": lambda: numpy_bounds(true, head, batches, 2),
    }
    order = _our_order(len(true))
    difference = max(
        float(np.abs(works[f"sqrl, {heads}"]()[order] - works[f"numpy, {heads}"]()).max())
        for heads in ("one head", "both heads")
    )
    timed = alternate(works, settings.few)
    more = {name: work for name, work in works.items() if name.startswith("sqrl")}
    for name, again in alternate(more, settings.repetitions).items():
        timed[name] = timing(timed[name]["seconds"] + again["seconds"])
    one, both = timed["sqrl, one head"]["min"], timed["sqrl, both heads"]["min"]
    return {
        "features": len(true),
        "bodies": len(order),
        "batches": len(batches),
        "batch_rows": BATCH_ROWS,
        "timed": timed,
        "largest_difference": difference,
        "bars": [
            bar("one head, time", one, "s", at_most=0.5),
            bar("both heads, time", both, "s", at_most=0.5),
        ],
    }


def our_bounds(true: Bools, head: Bools, batches: Ints, n_heads: int) -> Floats:
    """Lower and upper bounds; shape (n_bodies, n_heads, 2). The head itself comes first."""
    packed = pack(true, ~true, (~head).astype(np.int32), batches, n_parts=2)
    counts = np.arange(len(batches) + 1)
    (low, low_part), (high, high_part) = (percentile_ranks(counts, p / 100) for p in PERCENTILES)
    found = body_bounds(
        free_bodies(len(true)),
        packed,
        statistic="f1",
        ranks=Ranks(low, low_part, high, high_part),
        heads=np.arange(n_heads, dtype=np.int32),
    )
    return _stack(found)


def _stack(found: BodyBounds) -> Floats:
    return np.stack((found.lower, found.upper), axis=-1)


def numpy_bounds(true: Bools, head: Bools, batches: Ints, n_heads: int) -> Floats:
    """The same by popcount and np.percentile, some thousand bodies at a time."""
    literals = np.stack((true, ~true), axis=1).reshape(-1, true.shape[1])
    in_head = to_words(head[batches])
    positives = count_bits(in_head)
    chunks = []
    for bits in _in_chunks(conjunctions(to_words(literals[:, batches]))):
        body, both = count_bits(bits), count_bits(bits & in_head)
        scores = [2 * both / (body + positives)]
        if n_heads == 2:
            scores.append(2 * (body - both) / (body + batches.shape[1] - positives))
        low, high = np.percentile(np.stack(scores, axis=1), PERCENTILES, axis=2)
        chunks.append(np.stack((low, high), axis=-1))
    return np.concatenate(chunks)


def _in_chunks(blocks: Iterator[Words]) -> Iterator[Words]:
    """The blocks joined, so that each call of numpy has enough to do."""
    waiting: list[Words] = []
    for block in chain(blocks, [None]):
        if waiting and (block is None or sum(map(len, waiting)) + len(block) > CHUNK):
            yield np.concatenate(waiting)
            waiting = []
        if block is not None:
            waiting.append(block)


def _our_order(n_features: int) -> Ints:
    """For each body in numpy's order, its number in ours."""
    bodies = free_bodies(n_features)
    ours = bodies.literals(np.arange(bodies.n)).tolist()
    place = {frozenset(body) - {-1}: index for index, body in enumerate(ours)}
    return np.array([place[frozenset(body)] for body in literal_sets(n_features)])


def _all_batches(n_rows: int, size: int, seed: int) -> Ints:
    """All rows in random order, `size` at a time; the last few rows are left out."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: n_rows // size * size].reshape(-1, size)


def measure_per_rule(true: Bools, head: Bools, settings: Settings) -> Json:
    """A rule on a mini-batch: the paper's 67 of 4,096 rows, beside pandas and scikit-learn.

    The loop is the plain way to write Algorithm 1: for each rule and mini-batch a mask of the
    table, then `f1_score`. It runs on rules drawn at random, over all mini-batches of each, so that
    the bounds themselves can be compared.
    """
    rng = np.random.default_rng(settings.seed)
    shape = (5, 1024) if settings.quick else (67, 4096)
    batches = np.stack([rng.permutation(len(head))[: shape[1]] for _ in range(shape[0])])
    bodies = free_bodies(len(true))
    chosen = np.sort(rng.choice(bodies.n, 5 if settings.quick else 20, replace=False))
    literals = [[x for x in body if x >= 0] for body in bodies.literals(chosen).tolist()]
    loop = _pandas_loop(true, head, batches, literals)
    ours = our_bounds(true, head, batches, 2)[chosen]
    theirs = np.moveaxis(np.percentile(loop(), PERCENTILES, axis=2), 0, -1)
    timed = alternate(
        {
            "sqrl, all rules": lambda: our_bounds(true, head, batches, 2),
            "pandas and scikit-learn, the sample": loop,
        },
        settings.few,
    )
    n_ours, n_theirs = 2 * bodies.n * len(batches), 2 * len(chosen) * len(batches)
    each = timed["sqrl, all rules"]["min"] / n_ours
    their_each = timed["pandas and scikit-learn, the sample"]["min"] / n_theirs
    return {
        "batches": len(batches),
        "batch_rows": shape[1],
        "rules": 2 * bodies.n,
        "sampled_rules": 2 * len(chosen),
        "sampled_pairs": n_theirs,
        "timed": timed,
        "nanoseconds_each": each * 1e9,
        "their_nanoseconds_each": their_each * 1e9,
        "largest_difference": float(np.abs(ours - theirs).max()),
        "equal": bool(np.allclose(ours, theirs, rtol=0, atol=AGREE)),
        "bars": [
            bar(
                "times as fast a rule and mini-batch as a loop",
                their_each / each,
                "x",
                at_least=10_000.0,
            )
        ],
    }


def _pandas_loop(
    true: Bools, head: Bools, batches: Ints, bodies: list[list[int]]
) -> Callable[[], Floats]:
    """F1 of each body for each class on each mini-batch; shape (n_bodies, 2, n_batches)."""
    import pandas as pd
    from sklearn.metrics import f1_score

    names = [f"f{index}" for index in range(len(true))]
    table = pd.DataFrame(dict(zip(names, true, strict=True)) | {"label": head})
    samples = [table.iloc[rows] for rows in batches]

    def score(sample: "pd.DataFrame", body: list[int], label: bool) -> float:
        mask = pd.Series(True, index=sample.index)
        for literal in body:
            column = sample[names[literal // 2]]
            mask &= ~column if literal % 2 else column
        return float(f1_score(sample["label"] == label, mask))

    return lambda: np.array(
        [
            [[score(sample, body, label) for sample in samples] for label in (True, False)]
            for body in bodies
        ]
    )
