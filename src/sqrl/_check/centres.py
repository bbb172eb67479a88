"""Centre and spread of a mini-batch rule: its statistic on all rows, and how sure that is.

Bounds say what mini-batches may do; the centre says what the rows behind the rule did, and the
spread is the standard error of that. Models are trained by them, for a rate that is known within
half a percent says more than bounds that are ten percent apart.
"""

import math
from collections.abc import Sequence

import numpy as np

from sqrl._check.evidence import Evidence, put_column, selected_places, spread
from sqrl._kernels.arrays import Floats
from sqrl._language.forms import Form
from sqrl._language.statistics import batch_statistic
from sqrl._rows.questions import Asking, Question
from sqrl._rules.ruleset import RuleSet

SMOOTHED = 0.5  # added to each of the four counts for the spread: none of 9 rows is not for sure 0
DISAGREE = 2.0  # standard errors between train and held-out rows that chance alone rarely makes
STEP = 1e-4  # of a numeric derivative, as a share of a count

Known = tuple[float, float]  # centre and spread


def centres_of(rules: RuleSet) -> Asking[dict[int, Known]]:
    """The centre and spread of each selected rule that has them, by its place.

    Cost: a count of all rows for each rule; of scanned rows in a pass that others share.
    """
    assert rules.provenance is not None
    forms = {place: rules.form(place) for place in selected_places(rules)}
    forms = {place: form for place, form in forms.items() if has_centre(form)}
    if not forms:
        return {}
    chosen = list(forms.values())
    asked: list[Question] = [Evidence("train", chosen)]
    if rules.provenance.valid_rows:
        asked.append(Evidence("valid", chosen))
    answers = yield asked
    found = {}
    for index, (place, form) in enumerate(forms.items()):
        known = centre_of(form, [numbers[index] for numbers in answers])
        if known is not None:
            found[place] = known
    return found


def has_centre(form: Form) -> bool:
    """Whether a rule is about a statistic of which a centre is known: of counts, or a mean."""
    return form.evidence == "counts" or (form.evidence == "moments" and form.statistic == "mean")


def put_centres(rules: RuleSet, found: dict[int, Known]) -> RuleSet:
    """The rules with their centres and spreads."""
    for at, name in enumerate(("centre", "spread")):
        values = [known[at] for known in found.values()]
        rules = put_column(rules, name, spread(list(found), values, len(rules)))
    return rules


def centre_of(form: Form, parts: Sequence[Sequence[float]]) -> Known | None:
    """The centre and spread from the evidence of one part of the rows or two; None if undefined.

    Where train and held-out rows disagree by more than chance would make them, the spread is wider
    by as much: such a rule weighs less.

    >>> from sqrl._language import parse
    >>> from sqrl._language.forms import read_form
    >>> form = read_form(parse("precision(x > 1 => y = 1) <= 0.9 over 9"))
    >>> centre, spread = centre_of(form, [[100, 60, 30, 300]])
    >>> centre, round(spread, 4), round((0.3 * 0.7 / 100) ** 0.5, 4)
    (0.3, 0.0457, 0.0458)
    """
    measure = _of_counts if form.evidence == "counts" else _of_moments
    pooled = _pooled_moments(parts) if form.evidence == "moments" else np.sum(parts, axis=0)
    whole = measure(form, np.asarray(pooled))
    known = [found for part in parts if (found := measure(form, np.asarray(part))) is not None]
    if whole is None:
        return None
    centre, error = whole
    if len(known) == 2:
        (one, one_error), (other, other_error) = known[0], known[1]
        # Products: a power of a large float raises, where a product is infinite.
        chance = one_error * one_error + other_error * other_error
        apart = (one - other) * (one - other)
        if apart > DISAGREE * DISAGREE * chance:
            error = math.sqrt(error * error + (apart - chance) / 2)
    return _if_finite(centre, error)


def _if_finite(centre: float, error: float) -> Known | None:
    """Both, where they are finite: an infinite spread says nothing of a centre."""
    return (centre, error) if math.isfinite(centre) and math.isfinite(error) else None


def _of_counts(form: Form, counts: Floats) -> Known | None:
    """The statistic of [body, head, both, rows], and its standard error by the delta method.

    Rows fall into four cells; a statistic of counts does not change when all cells double, so that
    its variance is the sum over cells of count x derivative squared.
    """
    assert form.statistic is not None
    statistic = batch_statistic(form.statistic)
    centre = float(statistic(*counts.astype(np.float64)))
    if math.isnan(centre):
        return None
    body, head, both, rows = counts
    cells = np.array([both, body - both, head - both, rows - body - head + both]) + SMOOTHED
    if form.statistic == "rate":  # of a formula that is body and head at once
        cells = np.array([both + SMOOTHED, 0.0, 0.0, rows - both + SMOOTHED])
    steps = STEP * np.maximum(cells, 1.0)
    moved = np.stack([cells + np.diag(steps), cells - np.diag(steps)])  # (2, 4, 4)
    above, below = statistic(*_four(moved))
    slopes = (above - below) / (2 * steps)
    variance = 0.0
    for count, slope in zip(cells.tolist(), slopes.tolist(), strict=True):
        if not math.isnan(slope):
            variance += count * (slope * slope)
    return centre, math.sqrt(variance)


def _four(cells: Floats) -> tuple[Floats, ...]:
    """Body, head, both and rows from the four cells that they make, which are the last axis."""
    both, body_alone, head_alone, neither = np.moveaxis(cells, -1, 0)
    return both + body_alone, both + head_alone, both, both + body_alone + head_alone + neither


def _of_moments(form: Form, moments: Floats) -> Known | None:  # noqa: ARG001
    """The mean of [rows, mean, variance], and its standard error."""
    rows, mean, variance = moments[:3].tolist()
    return None if rows < 2 else (mean, math.sqrt(variance / rows))


def _pooled_moments(parts: Sequence[Sequence[float]]) -> list[float]:
    """Rows, mean and variance of the rows of all parts."""
    rows = sum(part[0] for part in parts)
    there = [part for part in parts if part[0]]
    mean = sum(part[0] * part[1] for part in there) / rows if rows else math.nan
    squares = sum(part[0] * (part[2] + (part[1] - mean) * (part[1] - mean)) for part in there)
    return [rows, mean, squares / rows if rows else math.nan]
