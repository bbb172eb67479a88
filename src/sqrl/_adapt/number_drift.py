"""Whether numbers whose means rules state within classes are as large, over all rows, as they were.

Such rules have no condition that columns decide, so that nothing can be counted without a label.
But the means of all classes and how frequent these are say what the mean of all rows was.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._language.printer import to_text
from sqrl._language.tree import Node
from sqrl._rows.rows import category_text
from sqrl._rules.label import class_of
from sqrl._rules.needed_columns import names_in
from sqrl._rules.ruleset import RuleSet

Floats = NDArray[np.float64]
FAR = 5.0  # standard errors
LARGE = 0.1  # standard deviations of the number: what is less matters little, however sure it is


@dataclass(frozen=True, slots=True)
class NumberDrift:
    """How many numbers could be compared, and those that are others now: text, before, now."""

    n_compared: int
    moved: tuple[tuple[str, float, float], ...]

    def tell(self) -> str:
        """A sentence about the number that has moved furthest."""
        text, before, now = self.moved[0]
        return (
            f"{len(self.moved)} of {self.n_compared} numbers whose means the rules state are others"
            f" in these rows, such as mean({text}): {before:.4g} before, {now:.4g} now"
        )


def find_number_drift(
    rules: RuleSet,
    rows: TensorRows,
    *,
    label: str | None,
    classes: Sequence[Node],
    balance: Floats | None,
) -> NumberDrift:
    """The numbers whose mean differs from what rules state of all classes together.

    `balance` are the shares of the classes; where they are not known those that rules state are
    taken. Compared are numbers that the rows have, and of which every class has a stated mean.
    """
    n_behind = rules.provenance.train_rows if rules.provenance else 0
    places = {category_text(value): place for place, value in enumerate(classes)}
    if not n_behind or label is None or len(places) < 2:
        return NumberDrift(0, ())
    means, stated = _stated(rules, label, places)
    shares = stated if balance is None else balance
    found, n_compared = [], 0
    for subject, by_class in means.items():
        expected = float(by_class @ shares)
        there = names_in({subject}, rules.statistics()) <= {*rows.named.numbers}
        if math.isnan(expected) or not there:
            continue
        numbers = rows.numbers(subject)
        values = numbers.values[numbers.known].detach().double().cpu().numpy()
        if not values.size:
            continue
        n_compared += 1
        now, unit = float(values.mean()), float(values.std()) or 1.0
        apart = abs(now - expected) / unit
        if apart > max(FAR * math.sqrt(1 / n_behind + 1 / values.size), LARGE):
            found.append((apart, (to_text(subject), expected, now)))
    return NumberDrift(n_compared, tuple(one for _, one in sorted(found, reverse=True)))


def _stated(
    rules: RuleSet, label: str, places: Mapping[str, int]
) -> tuple[dict[Node, Floats], Floats]:
    """The mean of each subject within each class, and the share of each class; nan if unstated."""
    means: dict[Node, Floats] = {}
    shares = np.full(len(places), np.nan)
    for form, centre in zip(rules.forms(), rules.table["centre"].to_pylist(), strict=True):
        if centre is None:
            continue
        if form.statistic == "rate" and not form.given and len(form.body) == 1:
            place = places.get(class_of(form.body, label) or "")
            if place is not None:
                shares[place] = centre
        elif form.statistic == "mean" and form.subject is not None and len(form.given) == 1:
            place = places.get(class_of(form.given, label) or "")
            if place is not None:
                line = means.setdefault(form.subject, np.full(len(places), np.nan))
                line[place] = centre
    missing = np.isnan(shares)
    if missing.sum() == 1:  # of two classes one rate says both
        shares[missing] = max(0.0, 1 - float(np.nansum(shares)))
    return means, shares / shares.sum()
