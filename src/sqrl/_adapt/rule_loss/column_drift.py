"""Whether the columns that rules rely on have drifted themselves: then rules are no guide.

A learned rule knows in how many of the train rows its body held. Where bodies hold far more or less
often in new rows, their columns have changed, and a model bent to the rules follows wrong columns.
No label and no prediction has a part in this.
"""

import math
from collections.abc import Mapping

from torch import Tensor

from sqrl._adapt.rule_loss.program import Program
from sqrl._rules.ruleset import RuleSet

FAR = 5.0  # standard errors; chance goes as far about once in a million
MANY = 0.2  # of the bodies


def known_bodies(rules: RuleSet, program: Program) -> dict[int, int]:
    """The conjunctions of logic rules' bodies, and in how many train rows each held, if known.

    Only of bodies that decide alone which rows are in them.
    """
    rows = rules.table["rows"].to_pylist()
    plain = [one for one in program.counted if not program.is_about_label(one.body)]
    return {
        one.body.conjunction: rows[one.rule]
        for one in plain
        if one.all.conjunction != one.body.conjunction and rows[one.rule] is not None
    }


def share_of_drifted_bodies(held: Tensor, bodies: Mapping[int, int], n_train: int) -> float:
    """The share of bodies that hold far more or less often than in the train rows.

    Shapes: held (conjunctions, rows).

    >>> import torch
    >>> share_of_drifted_bodies(torch.arange(1000)[None] < 500, {0: 5_000}, 10_000)
    0.0
    >>> share_of_drifted_bodies(torch.arange(1000)[None] < 700, {0: 5_000}, 10_000)
    1.0
    """
    n = held.shape[1]
    n_far = 0
    for conjunction, rows in bodies.items():
        now = int(held[conjunction].sum())
        pooled = (now + rows) / (n + n_train)
        error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / n_train))
        n_far += abs(now / n - rows / n_train) > FAR * error
    return n_far / len(bodies)
