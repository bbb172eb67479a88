"""How well what was stated of some rows fits others, such as those of another site."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Floats
from sqrl._language.printer import to_text
from sqrl._language.tree import conjunction
from sqrl._rules.ruleset import RuleSet
from sqrl._train.stated import Stated

FAR = 5.0  # standard errors
LARGE = 0.03  # of all rows, or of a rate: what is less matters little, however sure it is
LARGE_MEAN = 0.1  # standard deviations of a number
MANY = 0.1  # of the facts, or of the rates
MEAN = "mean("

Told = tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """The facts that hold for another share of the rows than behind the rules, and rates not met.

    `moved` has (fact, share behind the rules, share here), the furthest first, and after those
    (mean(x), mean behind the rules, mean here); `unmet` has (rule, stated, expected here). Numbers
    whose means rules state are counted as facts, and those means as rates.
    """

    n_facts: int
    n_rates: int
    moved: tuple[tuple[str, float, float], ...]
    unmet: tuple[tuple[str, float, float], ...]

    @property
    def warning(self) -> str:
        """A sentence where rates may not fit these rows; empty where they do."""
        parts = []
        if len(self.moved) > MANY * self.n_facts:
            fact, then, now = self.moved[0]
            is_mean = fact.startswith(MEAN)
            shown = [f"{one:.3g}" if is_mean else f"{one:.0%}" for one in (then, now)]
            what = (
                "facts and means are others in these rows than in"
                if is_mean
                else "facts hold for another share of these rows than of"
            )
            parts.append(
                f"{len(self.moved):,} of {self.n_facts:,} {what} those behind the rules, such as"
                f" {fact}: {shown[0]} there, {shown[1]} here. Rates of another population need"
                " not hold in this one."
            )
        if len(self.unmet) > MANY * self.n_rates:
            text, stated, here = self.unmet[0]
            parts.append(
                f"{len(self.unmet):,} of {self.n_rates:,} rates cannot be met together on these"
                f" rows, such as {text}: {stated:.3g} is stated, {here:.3g} is met."
            )
        return " ".join(parts)


def misfit_of(rules: RuleSet, stated: Stated, terms: Floats, predicted: Floats) -> Misfit:
    """How far facts, rates and means are from what the rules say.

    Shapes: terms (n_rows, n_terms), predicted (n_rows, n_classes), or (n_rows, 1) of a number.
    """
    rules = rules.in_force()
    held, values = terms[:, : len(stated.bodies)], terms[:, len(stated.bodies) :]
    n_facts, moved = _moved(rules, stated, held)
    n_numbers, means_moved = _means_moved(rules, stated, values)
    unmet = _unmet(rules, stated, held, predicted) + _means_unmet(rules, stated, values, predicted)
    n_rates = len(stated.value) + len(stated.means.value)
    return Misfit(n_facts + n_numbers, n_rates, moved + means_moved, unmet)


def _moved(rules: RuleSet, stated: Stated, held: Floats) -> tuple[int, Told]:
    """How many facts can be compared, and those that hold for another share of the rows."""
    share = held.mean(axis=0)
    n_rows = len(held)
    moved, seen = [], set()
    n_behind = rules.provenance.train_rows if rules.provenance else 0
    counts = rules.table["rows"].to_pylist()
    for place, body in zip(stated.place.tolist(), stated.body.tolist(), strict=True):
        if counts[place] is None or not n_behind or body in seen:
            continue
        seen.add(body)
        then, now = counts[place] / n_behind, float(share[body])
        pooled = min(1.0, (counts[place] + now * n_rows) / (n_behind + n_rows))
        error = math.sqrt(pooled * (1 - pooled) * (1 / n_behind + 1 / n_rows))
        if abs(then - now) > max(FAR * error, LARGE):
            formula = conjunction(stated.bodies[body])
            moved.append(("" if formula is None else to_text(formula), then, now))
    moved.sort(key=lambda one: -abs(one[1] - one[2]))
    return len(seen), tuple(moved)


def _means_moved(rules: RuleSet, stated: Stated, values: Floats) -> tuple[int, Told]:
    """How many numbers can be compared, and those whose mean is another; furthest first."""
    n_behind = rules.provenance.train_rows if rules.provenance else 0
    if not values.shape[1] or not n_behind:
        return 0, ()
    then = stated.means.by_class(stated.means.value, len(stated.classes)) @ stated.base
    found = []
    for place in np.flatnonzero(~np.isnan(then)).tolist():
        known = values[~np.isnan(values[:, place]), place]
        if not known.size:
            continue
        unit = float(known.std()) or 1.0
        apart = abs(float(then[place]) - float(known.mean())) / unit
        if apart > max(FAR * math.sqrt(1 / n_behind + 1 / known.size), LARGE_MEAN):
            text = f"{MEAN}{to_text(stated.means.expressions[place])})"
            found.append((apart, (text, float(then[place]), float(known.mean()))))
    return int((~np.isnan(then)).sum()), tuple(one for _, one in sorted(found, reverse=True))


def _means_unmet(rules: RuleSet, stated: Stated, values: Floats, predicted: Floats) -> Told:
    """Means within classes that the model does not have on these rows, the furthest first."""
    found = []
    means = stated.means
    for place, subject, which, wanted, error in zip(
        means.place, means.subject, means.which_class, means.value, means.spread, strict=True
    ):
        known = ~np.isnan(values[:, subject])
        number, weight = values[known, subject], predicted[known, which]
        if not weight.sum() > 0:
            continue
        here = float(number @ weight / weight.sum())
        unit = float(number.std()) or 1.0
        chance = unit / math.sqrt(max(1.0, float(weight.sum())))
        apart = abs(here - wanted) / unit
        if abs(here - wanted) > max(FAR * math.hypot(error, chance), LARGE_MEAN * unit):
            found.append((apart, (rules[int(place)].text, float(wanted), here)))
    return tuple(one for _, one in sorted(found, reverse=True))


def _unmet(rules: RuleSet, stated: Stated, held: Floats, predicted: Floats) -> Told:
    """Rates that the model does not have on these rows, the furthest first."""
    share = held.mean(axis=0)
    wanted, error = stated.joint(share)
    values = predicted - stated.base if stated.is_number else predicted
    joint = (held.T @ values / len(held))[stated.body, stated.which_class]
    scale = np.maximum(share[stated.body], 1e-9)  # as rates within the body
    unit = float(np.std(stated.value)) if stated.is_number else 1.0
    chance = np.sqrt(np.maximum(wanted, 1e-9) / len(held)) if not stated.is_number else 0.0
    far = np.abs(joint - wanted) > np.maximum(FAR * np.hypot(error, chance), LARGE * unit * scale)
    chosen: Sequence[int] = np.flatnonzero(far).tolist()
    found = [
        (rules[int(stated.place[i])].text, float(wanted[i] / scale[i]), float(joint[i] / scale[i]))
        for i in chosen
    ]
    return tuple(sorted(found, key=lambda one: -abs(one[1] - one[2])))
