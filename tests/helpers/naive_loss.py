"""The rule losses by definition: row by row, class by class, in plain Python.

Every row stands for as many rows as there are classes, each with the label set to that class and
with the class's probability as its weight. What counts rows adds up weights.
"""

import math

import naive
from sqrl._language.tree import Number, conjuncts

UNDEFINED = None


def copies_of(rows, chances, classes, label):
    """Each row once for each class, with its weight and the number of the row."""
    return [
        ({**row, label: value}, weight, place)
        for place, (row, line) in enumerate(zip(rows, chances, strict=True))
        for value, weight in zip(classes, line, strict=True)
    ]


def holds(nodes, row, statistics):
    """Whether all the formulas are true on the row."""
    return naive.conjunction(nodes, row, statistics) is True


def bounds_of(piece):
    """The ends of a piece, infinite where open."""
    lower = piece.lower.value if isinstance(piece.lower, Number) else -math.inf
    upper = piece.upper.value if isinstance(piece.upper, Number) else math.inf
    return lower, upper


def hinge(value, lower, upper):
    """How far outside, in widths, or in the size of the bound, or in ones."""
    away = max(lower - value, value - upper, 0.0)
    width = upper - lower
    if 1e-6 < width < math.inf:
        return away / width
    size = max(abs(end) for end in (lower, upper) if not math.isinf(end))
    return away / (size if size > 1e-6 else 1.0)


def quadratic(value, lower, upper):
    """Eq. 4 for one bound, Appendix B for two; zero where the rule is satisfied; at most 1."""
    if lower <= value <= upper:
        return 0.0
    if math.isinf(upper):
        return min(lower - value, 1.0)
    if math.isinf(lower):
        return min(value - upper, 1.0)
    return min((lower - value) * (upper - value), 1.0)


def cost(form, rows, weigh, *, classes, label, penalty, coverage, statistics):
    """What a rule costs on a mini-batch. `weigh(part)` gives the chances to use for a part."""

    def copies(part):
        return copies_of(rows, weigh(part), classes, label)

    if form.kind == "sample":
        return sample_cost(form, copies("given"), len(rows), penalty, statistics)
    if form.kind == "class":
        return class_cost(form, copies("head"), len(rows), penalty, coverage, statistics)
    if form.kind == "batch":
        value = batch_statistic(form, copies("given"), len(rows), statistics)
    else:
        value = count_statistic(form, copies("counted"), statistics)
    if value is UNDEFINED:
        return 0.0
    return penalty(value, *bounds_of(form.pieces[0]))


def sample_cost(form, copies, n_rows, penalty, statistics):
    """The penalty of each row, by how much it counts, over all rows."""
    total = 0.0
    for row, weight, _ in copies:
        value = naive.value(form.subject, row, statistics)
        if naive.outcome(form, row, statistics) == "broken":
            piece = next(
                piece
                for piece in form.pieces
                if piece.test is None or naive.truth(piece.test, row, statistics)
            )
            total += weight * penalty(value, *bounds_of(piece))
    return total / n_rows


def class_cost(form, copies, n_rows, penalty, coverage, statistics):
    """How far the expected share of kept rows is below the coverage; or the paper's distance."""
    inside = [
        (row, weight, place) for row, weight, place in copies if holds(form.given, row, statistics)
    ]
    kept = {}
    for row, weight, place in inside:
        kept[place] = kept.get(place, 0.0) + weight * (
            naive.truth(form.head, row, statistics) is True
        )
    if not kept:
        return 0.0
    if penalty is hinge:
        return hinge(sum(kept.values()) / len(kept), coverage, math.inf)
    likeliest = {}
    for row, weight, place in inside:
        if place not in likeliest or weight > likeliest[place][0]:
            likeliest[place] = weight, naive.truth(form.head, row, statistics) is True
    return sum(1 - kept[place] for place in kept if not likeliest[place][1]) / n_rows


def batch_statistic(form, copies, n_rows, statistics):
    """A weighted mean or deviation; or one of the rows that are more likely in than out."""
    weights, values = [0.0] * n_rows, [None] * n_rows
    for row, weight, place in copies:
        values[place] = naive.value(form.subject, row, statistics)
        if values[place] is not None and holds(form.given, row, statistics):
            weights[place] += weight
    if form.statistic in {"min", "max", "median"}:
        chosen = [v for v, w in zip(values, weights, strict=True) if w > 0.5]
        return naive.value_statistic(form.statistic, chosen)
    total = math.fsum(weights)
    if not total:
        return UNDEFINED
    pairs = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
    mean = math.fsum(v * w for v, w in pairs) / total
    if form.statistic == "mean":
        return mean
    return math.sqrt(math.fsum(w * (v - mean) ** 2 for v, w in pairs) / total)


def count_statistic(form, copies, statistics):
    """A statistic of expected counts."""
    body = head = both = everything = 0.0
    for row, weight, _ in copies:
        if not holds(form.given, row, statistics):
            continue
        told = form.body if form.head is None else (form.head,)
        known = naive.conjunction(told, row, statistics)
        if known is None:  # `rate` leaves out rows where its formula is unknown, others the head
            continue
        in_body = holds(form.body, row, statistics)
        everything += weight
        body += weight * in_body
        head += weight * known
        both += weight * (in_body and known)
    if form.head is None:
        return body / everything if everything else UNDEFINED
    return naive.count_statistic(form.statistic, body, head, both, everything)


def mixes(form, label, names_in):
    """Whether a formula of the rule names the label together with something else."""
    parts = [*form.given, *form.body, *([form.head] if form.head else [])]
    parts += [piece.test for piece in form.pieces if piece.test is not None]
    flat = [part for node in parts for part in conjuncts(node)]
    return any(label in names_in(part) and names_in(part) != {label} for part in flat)
