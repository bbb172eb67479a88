"""Rules for the interval kernel, each with the rows it is about, evaluated together."""

from typing import Any, NamedTuple

import numpy as np

from sqrl._kernels import Bounded, arrange, evaluate_family


class Intervals(NamedTuple):
    """One rule: the rows it is about, the values it bounds, and its pieces."""

    rows: Any
    values: Any
    by: Any
    cuts: Any
    lower: Any
    upper: Any


class Outcome(NamedTuple):
    """What became of one rule: counts for each piece, and the broken rows with their excess."""

    applicable: Any
    broken: Any
    rows: Any
    excess: Any


def evaluate_intervals(rules):
    """The outcome of each rule, those about the same rows (the same array) as one family."""
    by_rows = {}
    for place, rule in enumerate(rules):
        by_rows.setdefault(id(rule.rows), []).append(place)
    outcomes = {}
    for places in by_rows.values():
        columns, bounded = [], []
        for place in places:
            rule = rules[place]
            columns += [rule.values, rule.by]
            by = len(columns) - 1 if rule.cuts.size else -1
            # The first of equal arrays, so that rules share columns and cuts.
            same = [next(at for at, c in enumerate(columns) if c is each) for each in columns[-2:]]
            by = same[1] if by >= 0 else -1
            bounded.append(Bounded(same[0], by, rule.cuts, rule.lower, rule.upper))
        order, family = arrange(bounded)
        found = evaluate_family(family, rules[places[0]].rows, columns)
        pieces = np.cumsum([0, *(bounded[at].lower.size for at in order)])
        pairs = np.cumsum([0, *found.found])
        for at, one in enumerate(order):
            mine, here = slice(pieces[at], pieces[at + 1]), slice(pairs[at], pairs[at + 1])
            outcomes[places[one]] = Outcome(
                found.applicable[mine], found.broken[mine], found.rows[here], found.excess[here]
            )
    return [outcomes[place] for place in range(len(rules))]
