"""Whether the columns that rules rely on have drifted themselves: then rules are no guide.

A learned rule knows in how many of the train rows its body held. Where bodies hold far more or less
often in new rows, their columns have changed, and a model bent to the rules follows wrong columns.
No label and no prediction has a part in this.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from sqrl._adapt.rule_loss.program import Counted, Program
from sqrl._rules.ruleset import RuleSet

FAR = 5.0  # standard errors; chance goes as far about once in a million
MANY = 0.2  # of the bodies


@dataclass(frozen=True, slots=True)
class KnownBodies:
    """The conjunctions of logic rules' bodies, and the share of train rows in which each held."""

    conjunctions: tuple[int, ...]
    shares: tuple[float, ...]
    n_train: int


def known_bodies(rules: RuleSet, program: Program) -> KnownBodies | None:
    """The bodies whose share of the train rows is known; None where there are none."""
    if rules.provenance is None or not rules.provenance.train_rows:
        return None
    n_train = rules.provenance.train_rows
    rows = rules.table["rows"].to_pylist()
    shares = {
        one.body.conjunction: rows[one.rule] / n_train
        for one in program.counted
        if _is_plain(one, program) and rows[one.rule] is not None
    }
    return KnownBodies(tuple(shares), tuple(shares.values()), n_train) if shares else None


def _is_plain(one: Counted, program: Program) -> bool:
    """Whether the body alone decides which rows are in it."""
    return not program.is_about_label(one.body) and one.all.conjunction != one.body.conjunction


def share_of_drifted_bodies(held: Tensor, bodies: KnownBodies) -> float:
    """The share of bodies that hold far more or less often than in the train rows.

    Shapes: held (conjunctions, rows).

    >>> import torch
    >>> half = KnownBodies(conjunctions=(0,), shares=(0.5,), n_train=10_000)
    >>> share_of_drifted_bodies(torch.arange(1000)[None] < 500, half)
    0.0
    >>> share_of_drifted_bodies(torch.arange(1000)[None] < 700, half)
    1.0
    """
    n = held.shape[1]
    n_far = 0
    for conjunction, share in zip(bodies.conjunctions, bodies.shares, strict=True):
        now = float(held[conjunction].sum()) / n
        pooled = (now * n + share * bodies.n_train) / (n + bodies.n_train)
        error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / bodies.n_train))
        n_far += abs(now - share) > FAR * error
    return n_far / len(bodies.conjunctions)
