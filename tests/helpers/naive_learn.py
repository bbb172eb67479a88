"""Learning by definition, from docs/language.md and docs/schema.md: lists, loops and sorted values.

Nothing here is taken from the learner but the grammar, and the numbers of the rows that make up the
mini-batches. A row is a dict, as in `naive`; held-out rows are given apart.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from scipy.stats import beta

import naive
from sqrl._language.tree import Not

EMPTY, UNSUPPORTED, UNSTABLE = "empty", "unsupported", "unstable"
REDUNDANT, VALID, SELECTED = "redundant", "valid", "selected"


@dataclass(frozen=True)
class How:
    """The options of a schema that bounds and their validation depend on."""

    coverage: float = 0.8
    method: str = "percentile"
    confidence: float = 0.95
    min_support: int | None = None
    epsilon: float | None = 0.5  # None: nothing is validated

    @property
    def delta(self):
        """What share of the data a rule may be broken on: that of the decimal, not of its float."""
        return 1 - Fraction(str(self.coverage))


@dataclass(frozen=True)
class Candidate:
    """What became of a candidate: its status, and its bounds where it has any."""

    status: str
    lower: float | None = None
    upper: float | None = None


def quantile(values, share):
    """Linear interpolation between the two nearest of the sorted values, without rounding."""
    ordered = sorted(map(Fraction, values))
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return float(low + (high - low) * (place - math.floor(place)))


def percentiles(values, delta, sides):
    """The quantiles that leave delta outside in all; an open end is the least or greatest."""
    each = delta / sum(sides)
    return (
        quantile(values, each) if sides[0] else min(values),
        quantile(values, 1 - each) if sides[1] else max(values),
    )


def cut_off(n, coverage, confidence, n_sides):
    """How many values may be cut off at each side so that the rest has its coverage.

    Of n values the share of the distribution between the r-th from either end has a beta
    distribution, whatever the distribution of the values. 0 where even none may.
    """
    most = 0
    for each in range(1, n // n_sides + 1):
        lost = each * n_sides
        if n + 1 - lost < 1 or beta.sf(coverage, n + 1 - lost, lost) < confidence:
            break
        most = each
    return most


def train_bounds(values, how, sides):
    """The bounds of train values; None where there are too few."""
    least = math.ceil(1 / how.delta) if how.min_support is None else how.min_support
    if len(values) < max(1, least):
        return None
    if how.method == "tolerance":
        each = cut_off(len(values), how.coverage, how.confidence, sum(sides))
        if not each:
            return None
        ordered = sorted(values)
        return (
            ordered[each - 1] if sides[0] else ordered[0],
            ordered[-each] if sides[1] else ordered[-1],
        )
    return percentiles(values, how.delta, sides)


def jaccard(one, other, sides):
    """Overlap over hull; an open end is the least or greatest of the values of both."""
    lows, highs = [one[0], other[0]], [one[1], other[1]]
    if not sides[0]:
        lows = [min(lows)] * 2
    if not sides[1]:
        highs = [max(highs)] * 2
    hull = max(highs) - min(lows)
    if hull == 0:
        return 1.0
    return max(0.0, min(highs) - max(lows)) / hull


def agreement(bounds, held_out, how, sides):
    """The Jaccard index with the percentiles of however many held-out values there are."""
    return jaccard(bounds, percentiles(held_out, how.delta, sides), sides) if held_out else None


def numbers_of(subject, given, rows):
    """The values of an expression where all conditions are true and it is defined."""
    here = [row for row in rows if naive.conjunction(given, row) is True]
    found = [naive.value(subject, row) for row in here]
    return len(here), [number for number in found if number is not None]


def interval(form, train, held_out, how, sides):
    """What becomes of `given => ? <= subject <= ?`, or of one of its sides."""
    n_here, values = numbers_of(form.subject, form.given, train)
    bounds = train_bounds(values, how, sides)
    if not n_here or not values:
        return Candidate(EMPTY)
    if bounds is None:
        return Candidate(UNSUPPORTED)
    kept = bounds[0] if sides[0] else None, bounds[1] if sides[1] else None
    if how.epsilon is not None:
        agrees = agreement(bounds, numbers_of(form.subject, form.given, held_out)[1], how, sides)
        if agrees is None or not agrees > 1 - how.epsilon:
            return Candidate(UNSTABLE, *kept)
    return Candidate(SELECTED, *kept)


def class_bodies(subject, label, classes, train, how):
    """For each class its own interval, and those of all others, however few rows they have."""
    own, cut_out = {}, {}
    for name in classes:
        values = [naive.value(subject, row) for row in train if row[label] == name]
        values = [value for value in values if value is not None]
        own[name] = train_bounds(values, how, (True, True))
        rare = percentiles(values, how.delta, (True, True)) if values else None
        cut_out[name] = own[name] or rare
    return {
        name: (mine, [other for them, other in cut_out.items() if them != name and other])
        for name, mine in own.items()
    }


def is_in_body(number, body):
    """Whether a value is in what the intervals of other classes leave of a class's own."""
    mine, others = body
    inside = number is not None and mine is not None and mine[0] <= number <= mine[1]
    return inside and not any(low <= number <= high for low, high in others)


def conjunctions(facts, most):
    """Every conjunction of one to `most` different facts, each plain or negated, short ones first.

    Within a length: by the first fact, then by the second, plain before negated.
    """
    for n in range(1, most + 1):
        for chosen in combinations(range(len(facts)), n):
            for signs in product((False, True), repeat=n):
                pairs = zip(chosen, signs, strict=True)
                yield tuple(Not(facts[at]) if negated else facts[at] for at, negated in pairs)


def logic(form, facts, most, parts, batches, how, sides, top):
    """What becomes of `? <= statistic(L{1..most} => head) <= ?`, of one head: a Candidate for each.

    `parts` are train and held-out rows, `batches` the rows of the mini-batches of each.
    """
    counted = [row for row in parts[0] if naive.truth(form.head, row) is not None]
    found = []
    for body in conjunctions(facts, most):
        is_empty = not any(naive.conjunction(body, row) is True for row in counted)
        one = (EMPTY, None) if is_empty else _logic_bounds(form, body, parts, batches, how, sides)
        found.append((body, *one))
    rows_of = {}
    statuses = []
    for body, status, _ in found:
        here = tuple(naive.conjunction(body, row) is True for row in counted)
        if status == VALID and rows_of.setdefault(here, body) is not body:
            status = REDUNDANT  # noqa: PLW2901
        statuses.append(status)
    best = [at for at, status in enumerate(statuses) if status == VALID]
    lowers = sorted((found[at][2][0] for at in best), reverse=True)
    tied = top is not None and len(best) > top and lowers[top - 1] == lowers[top]
    best.sort(key=lambda at: -found[at][2][0])
    for at in best if top is None else best[:top]:
        statuses[at] = SELECTED
    return statuses, [bounds for _, _, bounds in found], tied


def _logic_bounds(form, body, parts, batches, how, sides):
    """The status before redundancy and selection, and the bounds."""
    values = []
    for rows, drawn in zip(parts, batches, strict=True):
        of = [naive_value(form, body, [rows[at] for at in batch]) for batch in drawn]
        values.append([value for value in of if value is not None])
    bounds = train_bounds(values[0], how, sides)
    if bounds is None:
        return UNSUPPORTED, None
    if how.epsilon is None:
        return VALID, bounds
    agrees = agreement(bounds, values[1], how, sides)
    is_stable = agrees is not None and agrees > 1 - how.epsilon
    return VALID if is_stable else UNSTABLE, bounds


def naive_value(form, body, rows):
    """The statistic of `body => head` on the rows of a mini-batch."""
    rows = [row for row in rows if naive.truth(form.head, row) is not None]
    held = [naive.conjunction(body, row) is True for row in rows]
    heads = [naive.truth(form.head, row) for row in rows]
    both = sum(a and b for a, b in zip(held, heads, strict=True))
    return naive.count_statistic(form.statistic, sum(held), sum(heads), both, len(rows))
