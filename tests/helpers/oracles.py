"""A naive loop for each kernel, slow and obviously right."""

import math
from itertools import combinations, product

import numpy as np


def bodies(group, complete, low, high):
    """Every body that is no contradiction, as a list of literals 2 * feature + negated."""
    members = {g: [f for f, its in enumerate(group) if its == g] for g in group}
    found = []
    for length in range(low, high + 1):
        for features in combinations(range(len(group)), length):
            for mask in range(2**length):
                negated = [bool(mask >> i & 1) for i in range(length)]
                plain = [group[f] for f, n in zip(features, negated, strict=True) if not n]
                gone = {f for f, n in zip(features, negated, strict=True) if n}
                contradicts = len(set(plain)) < len(plain) or any(
                    complete[g] and len(members[g]) > 1 and gone.issuperset(members[g])
                    for g in members
                )
                if not contradicts:
                    found.append([2 * f + n for f, n in zip(features, negated, strict=True)])
    return found


def body_rows(body, true, false):
    """Whether each row is in the body."""
    rows = np.ones(true.shape[1], bool)
    for literal in body:
        rows &= (false if literal % 2 else true)[literal // 2].astype(bool)
    return rows


def body_counts(bodies, true, false, parts, n_parts):
    """The rows of each part in each body."""
    return [
        [int(np.sum(body_rows(body, true, false) & (parts == part))) for part in range(n_parts)]
        for body in bodies
    ]


def statistic(name, b, h, c, n):
    """A statistic from the rows in the body, in the head, in both and at all, or None."""
    above, below = {
        "f1": (2 * c, b + h),
        "f1_given": (2 * c, b + c),
        "precision": (c, b),
        "recall": (c, h),
        "accuracy": (n - b - h + 2 * c, n),
        "support": (c, n),
        "lift": (c * n, b * h),
    }[name]
    return above / below if below else None


def body_values(name, body, head, true, false, parts, batches):
    """The statistic of `body => head` on each mini-batch where it is defined."""
    rows = body_rows(body, true, false)
    values = []
    for batch in batches:
        taken = [row for row in batch if row >= 0 and parts[row] >= 0]
        b = sum(bool(rows[row]) for row in taken)
        h = sum(bool(parts[row] == head) for row in taken)
        c = sum(bool(rows[row] and parts[row] == head) for row in taken)
        values.append(statistic(name, b, h, c, len(taken)))
    return [value for value in values if value is not None]


def body_bounds(name, bodies, heads, true, false, parts, batches, q_lo, q_hi):
    """(lower, upper, support) of each body and head, as numpy.quantile has it."""
    bounds = []
    for body, head in product(bodies, heads):
        values = body_values(name, body, head, true, false, parts, batches)
        low, high = np.quantile(values, [q_lo, q_hi]) if values else (np.nan, np.nan)
        bounds.append((float(low), float(high), len(values)))
    return bounds


def order_statistics(values, groups, ranks):
    """(value, how many are no greater) of each group and rank, nan left out; rank -1 is none."""
    found = []
    for group, wanted in enumerate(ranks):
        pairs = zip(values, groups, strict=True)
        mine = sorted(float(v) + 0.0 for v, g in pairs if g == group and not np.isnan(v))
        found.append(
            [(mine[r], sum(v <= mine[r] for v in mine)) if r >= 0 else (None, 0) for r in wanted]
        )
    return found


def violation_score(excess, train, n_rows):
    """The score of a violation, where rows of `train` break the rule by so many widths."""
    octaves = [0.0, *(2.0**power for power in range(-8, 9)), math.inf]
    begin = max(edge for edge in octaves if edge <= excess and edge < math.inf)
    as_bad = sum(other >= begin for other in train)
    far = 3.0 if math.isinf(excess) else excess
    return -math.log((1 + as_bad) / (1 + n_rows)) + math.log(1 + far)


def conformal_p_value(score, held_out):
    """The share of held-out scores, and of the score itself, that are at least as high."""
    return (1 + sum(other >= score for other in held_out)) / (1 + len(held_out))
