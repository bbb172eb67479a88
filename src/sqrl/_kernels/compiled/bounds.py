"""Compiled loops behind `body_bounds`: a statistic on each mini-batch, then its quantiles."""

import numpy as np

from sqrl._kernels.arrays import Floats, Int32s, Int64s
from sqrl._kernels.compiled.counting import (
    collect_plain,
    count_lasts,
    count_literals,
    fold,
    intersect,
    is_valid,
    load_prefix,
    make_scratch,
    sign_prefix,
    subtract_plain,
)
from sqrl._kernels.compiled.jit import bits_of_float, float_of_bits, inlined, kernel
from sqrl._kernels.layout import Family, Output, Prefixes, Sets, Wanted, Words

F1, F1_GIVEN, PRECISION, RECALL, ACCURACY, SUPPORT, LIFT = range(7)
UNDEFINED = 2**63 - 1
MAX_STEPS = 16  # from one value to the next; for ranks further in, selecting is faster


@inlined
def evaluate(  # noqa: C901, PLR0912  a loop for each statistic, so that each vectorises
    statistic: int,
    signed: Int32s,
    mask: int,
    part: int,
    body: Floats,
    sizes: Floats,
    rows: Floats,
    values: Floats,
) -> None:
    """Compute a statistic on each mini-batch from the counts of its rows; 0 / 0 is nan.

    Shapes: signed (n_masks, n_parts, lanes), of which [mask, part] are the rows in body and head;
    sizes (n_parts, lanes), of which [part] are the rows in the head; body, rows, values (lanes,).
    Cost: a vectorised division a value.
    """
    if statistic == F1:
        for i in range(values.size):
            values[i] = 2 * signed[mask, part, i] / (body[i] + sizes[part, i])
    elif statistic == F1_GIVEN:
        for i in range(values.size):
            values[i] = 2 * signed[mask, part, i] / (body[i] + signed[mask, part, i])
    elif statistic == PRECISION:
        for i in range(values.size):
            values[i] = signed[mask, part, i] / body[i]
    elif statistic == RECALL:
        for i in range(values.size):
            values[i] = signed[mask, part, i] / sizes[part, i]
    elif statistic == ACCURACY:
        for i in range(values.size):
            wrong = body[i] + sizes[part, i] - 2 * signed[mask, part, i]
            values[i] = (rows[i] - wrong) / rows[i]
    elif statistic == SUPPORT:
        for i in range(values.size):
            values[i] = signed[mask, part, i] / rows[i]
    else:
        for i in range(values.size):
            values[i] = signed[mask, part, i] * rows[i] / (body[i] * sizes[part, i])


@inlined
def order_keys(values: Floats, keys: Int64s) -> int:
    """Write keys in the order of the values, nan last; how many values are not nan.

    No statistic is negative, so the bits of its values, as integers, are in the right order; and
    searches for the least integer vectorise, those for the least float do not.
    """
    defined = 0
    for i in range(keys.size):
        is_defined = values[i] == values[i]  # only nan is not itself
        keys[i] = bits_of_float(values[i]) if is_defined else UNDEFINED
        defined += is_defined
    return defined


@inlined
def step_up(keys: Int64s, key: int) -> tuple[int, int]:
    """How many keys equal `key`, and the least that is larger.

    The gaps are unsigned, so that those of keys not larger wrap around and are never the least.
    """
    equal = 0
    gap = np.uint64(2**64 - 1)
    for i in range(keys.size):
        equal += keys[i] == key
        gap = min(gap, np.uint64(keys[i] - key - 1))
    return equal, key + 1 + int(np.int64(gap))


@inlined
def step_down(keys: Int64s, key: int) -> tuple[int, int]:
    """How many keys equal `key`, and the largest that is smaller."""
    equal = 0
    gap = np.uint64(2**64 - 1)
    for i in range(keys.size):
        equal += keys[i] == key
        gap = min(gap, np.uint64(key - 1 - keys[i]))
    return equal, key - 1 - int(np.int64(gap))


@inlined
def climb(keys: Int64s, rank: int) -> tuple[int, int]:
    """The keys of rank and rank + 1, found by steps from the least upwards.

    Cost: at most rank + 2 vectorised passes; ties take one together.
    """
    _, key = step_up(keys, -1)
    below = 0
    while True:
        equal, following = step_up(keys, key)
        below += equal
        if below > rank:
            return key, key if below > rank + 1 else following
        key = following


@inlined
def descend(keys: Int64s, depth: int) -> tuple[int, int]:
    """The key with `depth` keys after it in order, and the next larger, by steps downwards.

    Cost: at most depth + 2 vectorised passes; ties take one together.
    """
    _, key = step_down(keys, UNDEFINED)
    above = 0
    previous = key
    while True:
        equal, following = step_down(keys, key)
        if above + equal > depth:
            return key, key if depth > above else previous
        above += equal
        previous, key = key, following


@inlined
def select(keys: Int64s, rank: int) -> tuple[int, int]:
    """The keys of rank and rank + 1; `keys` is reordered (Hoare's FIND).

    Cost: O(keys) on average.
    """
    left, right = 0, keys.size - 1
    while left < right:
        pivot = keys[rank]
        i, j = left, right
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if j < rank:
            left = i
        if rank < i:
            right = j
    following = UNDEFINED
    for i in range(rank + 1, keys.size):
        following = min(following, keys[i])
    return keys[rank], following


@inlined
def value_between(keys: Int64s, n: int, rank: int, fraction: float) -> float:
    """The point at `fraction` of the way from the value of a rank among n to the next.

    To the last bit as numpy.percentile has it, which measures from the nearer end.
    """
    if rank < 0:
        return np.nan
    if rank < MAX_STEPS:
        key, following = climb(keys, rank)
    elif n - rank <= MAX_STEPS:
        key, following = descend(keys, n - 1 - rank)
    else:
        key, following = select(keys, rank)
    value: float = float_of_bits(key)
    if fraction == 0:
        return value
    next_value: float = float_of_bits(following)
    step = next_value - value
    if fraction >= 0.5:
        return next_value - step * (1 - fraction)
    return value + step * fraction


@inlined
def add_parts(signed: Int32s, mask: int, body: Floats) -> None:
    """Add up one body's rows over all parts, for each lane.

    Shapes: signed (n_masks, n_parts, lanes), body (lanes,).
    """
    for lane in range(body.size):
        body[lane] = signed[mask, 0, lane]
    for part in range(1, signed.shape[1]):
        for lane in range(body.size):
            body[lane] += signed[mask, part, lane]


@inlined
def load_lasts(table: Int32s, first: int, follow: int, end: int, wide: Int32s) -> None:
    """As `count_lasts`, where the table already has the counts."""
    for last in range(follow, end):
        fold(table, first + last - follow, wide, last)


@kernel
def fill_bounds(
    words: Words,
    sets: Sets,
    family: Family,
    prefixes: Prefixes,
    begin: int,
    end: int,
    table: Int32s,
    wanted: Wanted,
    output: Output,
) -> None:
    """Bound every body whose set extends prefixes begin..end.

    Shapes: table (n_sets, n_parts, lanes).
    Cost: `count_common` for each set not in the table; a division and a few vectorised comparisons
    for each body, head and lane.
    """
    bits, negated, part_words = words
    n_features, binomial, start = sets
    first_set, valid, offset = family
    prefix_features, first = prefixes
    statistic, heads, sizes, rows, rank_lo, rank_hi, frac_lo, frac_hi = wanted
    lower, upper, support = output
    size = prefix_features.shape[1]
    everything = bits.shape[0] - 1
    features, common, wide, signed = make_scratch(words, n_features, size, table.shape[2])
    in_body, values = np.empty(rows.size), np.empty(rows.size)
    keys = np.empty(rows.size, np.int64)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        if first[prefix] < table.shape[0]:
            load_lasts(table, first[prefix], follow, n_features, wide)
        else:
            intersect(bits, negated, features, size, 0, common)
            count_lasts(bits, part_words, follow, n_features, common, wide)
        unknown = sign_prefix(bits, negated, features, follow, common)
        for last in range(follow, n_features):
            features[size] = last
            if unknown or negated[last] != everything:
                count_literals(bits, negated, part_words, features, common, wide, signed)
            else:
                collect_plain(binomial, start, table, features, wide, signed)
            subtract_plain(negated, everything, features, signed)
            subset = first[prefix] + last - follow - first_set
            body = offset[subset]
            for mask in range(signed.shape[0]):
                if is_valid(valid[subset], mask):
                    add_parts(signed, mask, in_body)
                    for i in range(heads.size):
                        evaluate(statistic, signed, mask, heads[i], in_body, sizes, rows, values)
                        n = order_keys(values, keys)
                        support[body, i] = n
                        lower[body, i] = value_between(keys, n, rank_lo[n], frac_lo[n])
                        upper[body, i] = value_between(keys, n, rank_hi[n], frac_hi[n])
                    body += 1
