"""Counting every conjunction of at most three signed features, beside other libraries."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from contenders import (
    HIGH,
    Bools,
    Contender,
    Counts,
    eclat,
    mlxtend,
    numpy_popcount,
    pysubgroup,
)
from measure import Json, Settings, alternate, bar, repeat
from sqrl._kernels import Bodies, body_counts, enumerate_bodies, pack_table

ECLAT = {
    "a": "chosen by itself",
    "e": "lists of rows, basic",
    "i": "lists of rows, improved",
    "b": "bit vectors",
    "t": "occurrence table",
    "s": "occurrence table, simplified",
    "r": "ranges of rows",
    "o": "occurrence delivery",
    "d": "difference sets",
}
SIZES = (8, 16, 26, 39)
LEAST_FASTER = 50.0


def measure_counts(true: Bools, head: Bools, settings: Settings) -> Json:
    """The time each library takes, and whether the counts agree."""
    true = true[-16:] if settings.quick else true
    bodies = free_bodies(len(true))
    ours = our_counts(true, head, bodies)
    timed, checks = _measure_quick(true, head, ours, settings)
    for name, make in _slow_contenders().items():
        timed[name], checks[name] = _within_limit(make, true, head, ours, settings.time_limit)
    by_eclat = {name: values["min"] for name, values in timed.items() if name.startswith("PyFIM")}
    ratio = by_eclat[_eclat_name("b")] / timed["sqrl, packing and counting"]["min"]
    return {
        "features": len(true),
        "rows": true.shape[1],
        "bodies": bodies.n,
        "time_limit": settings.time_limit,
        "quickest_eclat": min(by_eclat, key=lambda name: by_eclat[name]),
        "timed": timed,
        "checks": checks,
        "bars": [bar("times as fast as PyFIM with bit vectors", ratio, "x", at_least=LEAST_FASTER)],
    }


def free_bodies(n_features: int) -> Bodies:
    """Every body of one to three of the features."""
    group = np.arange(n_features, dtype=np.int32)
    return enumerate_bodies(group, np.zeros(n_features, np.bool_), 1, HIGH)


def our_counts(true: Bools, head: Bools, bodies: Bodies) -> Counts:
    """The rows of each body, and those of them that are in the head."""
    parts = head.astype(np.int32)
    counts = body_counts(bodies, pack_table(true, ~true, parts, n_parts=2)).tolist()
    literals = bodies.literals(np.arange(bodies.n)).tolist()
    return {
        frozenset(literal for literal in body if literal >= 0): (outside + inside, inside)
        for body, (outside, inside) in zip(literals, counts, strict=True)
    }


def _measure_quick(
    true: Bools, head: Bools, ours: Counts, settings: Settings
) -> tuple[dict[str, Json], dict[str, Json]]:
    """What can count all bodies: ours, PyFIM and numpy take turns; then PyFIM's other ways."""
    bodies = free_bodies(len(true))
    parts = head.astype(np.int32)
    packed = pack_table(true, ~true, parts, n_parts=2)
    bits, plain = eclat(true, head, "b"), numpy_popcount(true, head)
    timed = alternate(
        {
            "sqrl, packing and counting": lambda: body_counts(
                bodies, pack_table(true, ~true, parts, n_parts=2)
            ),
            "sqrl, counting alone": lambda: body_counts(bodies, packed),
            _eclat_name("b"): bits.run,
            "numpy, AND and popcount of every body": plain.run,
        },
        settings.repetitions,
    )
    checks = {
        _eclat_name("b"): compare_counts(ours, bits.read(bits.run())),
        "numpy, AND and popcount of every body": compare_counts(ours, plain.read(plain.run())),
    }
    others = [algo for algo in ECLAT if algo != "b"]
    for algo in others[:1] if settings.quick else others:
        timed[_eclat_name(algo)] = repeat(eclat(true, head, algo).run, settings.few)
    return timed, checks


def _eclat_name(algo: str) -> str:
    return f"PyFIM eclat, algo {algo} ({ECLAT[algo]})"


Maker = Callable[[Bools, Bools, int], Contender]


def _slow_contenders() -> Mapping[str, Maker]:
    return {"mlxtend apriori": mlxtend} | {
        f"pysubgroup {algorithm}": partial(pysubgroup, algorithm=algorithm)
        for algorithm in ("Apriori", "SimpleDFS")
    }


def _within_limit(
    make: Maker, true: Bools, head: Bools, ours: Counts, limit: float
) -> tuple[Json, Json]:
    """Timing and check on as many features as fit into the limit, the last ones of the table.

    The time is scaled to all features by the number of bodies.
    """
    n_features = len(true)
    sizes = [*(size for size in SIZES if size < n_features), n_features]
    for size, larger in pairwise([*sizes, 0]):
        contender = make(true[-size:], head, n_features - size)
        found: list[object] = []
        timed = repeat(lambda add=found.append, run=contender.run: add(run()), 1)  # type: ignore[misc]
        n_bodies = free_bodies(size).n
        if not larger or timed["min"] * free_bodies(larger).n / n_bodies > limit:
            break
    least = 2 * (n_features - size)
    check = compare_counts(
        {b: c for b, c in ours.items() if min(b) >= least}, contender.read(found[0])
    )
    scaled = timed["min"] * len(ours) / n_bodies
    return timed | {"features": size, "bodies": n_bodies, "scaled": scaled}, check


def compare_counts(ours: Counts, theirs: Counts) -> Json:
    """How many bodies both have, and how many of those have equal counts."""
    shared = ours.keys() & theirs.keys()
    return {
        "ours": len(ours),
        "theirs": len(theirs),
        "shared": len(shared),
        "equal": sum(ours[body] == theirs[body] for body in shared),
        "not_shared_not_empty": sum(ours[body][0] > 0 for body in ours.keys() - shared),
    }
