"""A naive loop for each kernel, slow and obviously right."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb, erfc, sqrt
from typing import NamedTuple

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


class ChiSquare(NamedTuple):
    """Chi-square of a table, its degrees of freedom and its rows."""

    chi: float
    df: int
    n: int


def chi_square(first, second, width):
    """The table of two columns of codes, -1 where missing, and its chi-square."""
    table = [[0.0] * width for _ in range(width)]
    for one, other in zip(first, second, strict=True):
        if one >= 0 and other >= 0:
            table[one][other] += 1
    rows = [sum(row) for row in table]
    columns = [sum(row[j] for row in table) for j in range(width)]
    n = sum(rows)
    chi = 0.0
    for i in range(width):
        for j in range(width):
            expected = rows[i] * columns[j] / n if n else 0.0
            if expected:
                chi += (table[i][j] - expected) ** 2 / expected
    df = max(0, (sum(r > 0 for r in rows) - 1) * (sum(c > 0 for c in columns) - 1))
    return table, ChiSquare(chi, df, int(n))


def decides(first, second):
    """Whether each code of the first column goes with one of the second, which has several."""
    told = {}
    known = [(a, b) for a, b in zip(first, second, strict=True) if a >= 0 and b >= 0]
    for a, b in known:
        told.setdefault(a, set()).add(b)
    counts = Counter(b for _, b in known)
    return (
        bool(known)
        and max(counts.values()) <= 0.95 * len(known)
        and all(len(values) == 1 for values in told.values())
    )


def formula_mask(text, table):
    """Where a plain fact, its negation, or a bucket such as `0 < x <= 1` holds."""
    words = text.split()
    negated = words[0] == "not"
    words = words[negated:]
    if len(words) == 1:
        mask = table[words[0]].values == 1.0
    elif len(words) == 5:
        values = table[words[2]].values
        mask = (values > float(words[0])) & (values <= float(words[4]))
    else:
        values, bound = table[words[0]].values, float(words[2])
        mask = values > bound if words[1] == ">" else values <= bound
    return ~mask if negated else mask


def fisher_twice(reference, others, new, new_others):
    """Twice the smaller tail of Fisher's exact test, term by term."""
    rows, drawn = reference + others + new + new_others, new + new_others
    marked = reference + new
    ways = [
        comb(marked, k) * comb(rows - marked, drawn - k) if drawn - k <= rows - marked else 0
        for k in range(drawn + 1)
    ]
    above, below = sum(ways[new:]), sum(ways[: new + 1])
    return min(1.0, 2 * min(above, below) / comb(rows, drawn))


def dealt_anew(reference, new, times, rng):
    """The rows of two samples in cells, put together and dealt out at random, some times."""
    cells = np.repeat(np.arange(len(reference)), np.asarray(reference) + np.asarray(new))
    for _ in range(times):
        shuffled = rng.permutation(cells)
        drawn = np.bincount(shuffled[: sum(new)], minlength=len(reference))
        rest = np.bincount(shuffled[sum(new) :], minlength=len(reference))
        yield rest, drawn


def normal_twice(z):
    """The probability that a normal variable is further from its mean than z, on either side."""
    return erfc(z / sqrt(2))


def simes(p):
    """Simes' p-value by its definition; missing ones are left out."""
    known = sorted(one for one in p if not np.isnan(one))
    if not known:
        return float("nan")
    return min(1.0, *(one * len(known) / (place + 1) for place, one in enumerate(known)))


def rows_before(entity, order, row):
    """The rows of the same entity up to this one, in order; none where its place is not known."""
    if any(key is None for key in (*entity[row], *order[row])):
        return []
    known = [i for i in range(len(order)) if None not in (*entity[i], *order[i])]
    mine = sorted((order[i], i) for i in known if entity[i] == entity[row])
    return [i for key, i in mine if (key, i) <= (order[row], row)]


def sequence(function, values, entity, order, n):
    """`lag`, `delta` or `rolling_mean` of the values, None for missing, one row at a time."""
    found = []
    for row, value in enumerate(values):
        before = rows_before(entity, order, row)
        earlier = values[before[-1 - n]] if len(before) > n else None
        if function == "lag":
            found.append(earlier)
        elif function == "delta":
            found.append(None if None in (value, earlier) else value - earlier)
        else:
            window = [values[i] for i in before[-n:] if values[i] is not None]
            found.append(math.fsum(window) / len(window) if window else None)
    return found


def lower_limit_reaches(n, broken, holds, confidence):
    """Whether the exact one-sided lower limit of the share kept is at least `holds`.

    With exact fractions: at a share of `holds` so few would break a rule with a probability of at
    most 1 - confidence.
    """
    share = Fraction(str(holds))
    few = sum(comb(n, k) * (1 - share) ** k * share ** (n - k) for k in range(broken + 1))
    return few <= 1 - Fraction(str(confidence))


def interval_outcomes(rows, values, by, cuts, lower, upper):
    """Applicable and broken rows of each piece; the broken rows, and how far off each is."""
    applicable, broken = [0] * len(lower), [0] * len(lower)
    found, excess = [], []
    for row in rows:
        value = values[row]
        if np.isnan(value) or (len(cuts) and np.isnan(by[row])):
            continue
        piece = sum(by[row] > cut for cut in cuts)
        applicable[piece] += 1
        if lower[piece] <= value <= upper[piece]:
            continue
        broken[piece] += 1
        found.append(row)
        width = upper[piece] - lower[piece]
        off = lower[piece] - value if value < lower[piece] else value - upper[piece]
        excess.append(off / width if 0 < width < np.inf else np.inf)
    return applicable, broken, found, excess


def cut_groups(groups, values, cuts):
    """The group and bucket of each row in one number; -1 for none."""
    found = []
    for group, value in zip(groups, values, strict=True):
        mine = [] if group < 0 else [cut for cut in cuts[group] if not np.isnan(cut)]
        if group < 0 or (np.isnan(value) and mine):
            found.append(-1)
        else:
            found.append(group * (cuts.shape[1] + 1) + sum(value > cut for cut in mine))
    return found
