"""How well rates that were stated of some rows fit others, such as those of another site."""

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
MANY = 0.1  # of the facts, or of the rates


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """The facts that hold for another share of the rows than behind the rules, and rates not met.

    `moved` has (fact, share behind the rules, share here), the furthest first; `unmet` has
    (rule, stated, expected here).
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
            parts.append(
                f"{len(self.moved):,} of {self.n_facts:,} facts hold for another share of these"
                f" rows than of those behind the rules, such as {fact}: {then:.0%} there,"
                f" {now:.0%} here. Rates of another population need not hold in this one."
            )
        if len(self.unmet) > MANY * self.n_rates:
            text, stated, here = self.unmet[0]
            parts.append(
                f"{len(self.unmet):,} of {self.n_rates:,} rates cannot be met together on these"
                f" rows, such as {text}: {stated:.3g} is stated, {here:.3g} is met."
            )
        return " ".join(parts)


def misfit_of(rules: RuleSet, stated: Stated, held: Floats, predicted: Floats) -> Misfit:
    """How far facts and rates are from what the rules say.

    Shapes: held (n_rows, n_bodies), predicted (n_rows, n_classes), or (n_rows, 1) of a number.
    """
    rules = rules.in_force()
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
    return Misfit(
        len(seen), len(stated.value), tuple(moved), _unmet(rules, stated, held, predicted)
    )


def _unmet(
    rules: RuleSet, stated: Stated, held: Floats, predicted: Floats
) -> tuple[tuple[str, float, float], ...]:
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
