"""What units say of each rule, kept with the rules: enough to test new units against them later.

As for rows, units that a rule was not fitted to are held-out ones; where nothing was fitted, or
where the test knows how (bounds that are quantiles of train rows), train units count too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._check.predicted_rows import PredictedRows
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.unit_lines import evidence_of, n_scored
from sqrl._check.unit_sums import CountUnits, UnitSums, unit_marks
from sqrl._check.unit_tests import Sides, unit_p_value
from sqrl._check.value_tests import value_test_of
from sqrl._language.forms import Form
from sqrl._language.tree import Known, Units, walk
from sqrl._rows.questions import Asking, Of
from sqrl._rows.unit_batches import rows_in_batch
from sqrl._rules.ruleset import RuleSet


def count_units(
    rules: RuleSet, of: Of, places: Sequence[int], evidence: Sequence[Sequence[float] | None]
) -> CountUnits:
    """The question for the sums of some rules, with what their evidence has fixed."""
    assert rules.schema is not None
    forms = [rules.form(place) for place in places]
    marks = [unit_marks(form, evidence[place]) for form, place in zip(forms, places, strict=True)]
    return CountUnits(of, rules.schema.units, forms, marks)


def unit_numbers(
    rules: RuleSet,
    of: Of,
    places: Sequence[int],
    *,
    also_train: Collection[int],
    competed: bool,
) -> Asking[dict[int, list[float]]]:
    """What units say of each of some rules, by the rule's place."""
    evidence = rules.table["evidence"].to_pylist()
    both = [
        place
        for place in places
        if of == "valid" and _counts_train(rules.form(place), place, also_train, competed=competed)
    ]
    held_out, train = yield [
        count_units(rules, of, places, evidence),
        count_units(rules, "train", both, evidence),
    ]
    found: dict[int, list[float]] = {}
    for index, place in enumerate(places):
        form = rules.form(place)
        groups = [held_out.of_rule(index)]
        if place in both:
            groups.append(train.of_rule(both.index(place)))
        numbers = evidence_of(form, groups)
        if numbers and form.bounds_rows and (place in both or of == "train"):
            n_ends = sum(int(np.isfinite(ends).sum()) for ends in interval_ends(form))
            numbers = _with_ends(numbers, n_ends)
        found[place] = numbers
    return found


def _with_ends(numbers: list[float], n_ends: int) -> list[float]:
    """The numbers of a line with a row that breaks the rule for each of its bounds.

    What holds a bound would break a rule that was learned from the others alone.
    """
    units, hit, *sums = numbers
    return [units, min(hit + n_ends, units), *(total + n_ends for total in sums)]


def _counts_train(form: Form, place: int, also_train: Collection[int], *, competed: bool) -> bool:
    """Whether train units can be compared with, too."""
    if form.reference is not None:
        return True
    if form.bounds_rows:
        return not competed
    if form.implies_class:  # a set of values is broken by none of the units it was learned from
        assert form.head is not None
        is_asked = any(isinstance(node, Known) for node in walk(form.head))
        return is_asked and place in also_train
    return place in also_train


def predicted_numbers(
    rules: RuleSet, of: Of, places: Sequence[int], label: str, prediction: str
) -> Asking[dict[int, list[float]]]:
    """What units say of the rules of a label, with predictions in its place."""
    said = rules.table["prediction_evidence"].to_pylist()
    asked = count_units(rules, of, places, said)
    (sums,) = yield [PredictedRows(asked, label, prediction)]
    return {
        place: evidence_of(rules.form(place), [sums.of_rule(index)])
        for index, place in enumerate(places)
    }


@dataclass(frozen=True, slots=True, eq=False)
class UnitTests:
    """The tests of rules by units: what the reference says, and how each rule is tested."""

    evidence: Sequence[Sequence[float] | None]  # of the reference's units, for each rule
    coverage: Sequence[float | None]
    predicted: Collection[int]

    def new_evidence(self, forms: Mapping[int, Form], sums: UnitSums) -> dict[int, list[float]]:
        """What new units say of each rule that units can test, by its place."""
        found = {}
        for index, (place, form) in enumerate(forms.items()):
            test = value_test_of(form)
            if test is None or not test.has_keys:  # rows that repeat are a matter of rows
                found[place] = evidence_of(form, [sums.of_rule(index)])
        return found

    def p_values(
        self, forms: Mapping[int, Form], new: Mapping[int, Sequence[float]]
    ) -> dict[int, float]:
        """The p-value of each rule that new units say something of, by its place."""
        return {
            place: unit_p_value(self.evidence[place] or (), said, self.sides(place, forms[place]))
            for place, said in new.items()
        }

    def sides(self, place: int, form: Form) -> Sides:
        """How a rule is tested."""
        is_predicted = place in self.predicted
        if form.is_single:
            is_range = self.coverage[place] == 1 and form.bounds_rows
            return Sides(both=is_predicted, moves=is_predicted or not is_range)
        test = value_test_of(form)
        is_mean = test is not None and test.ranked is None
        return Sides(both=True, hits=not is_mean, scored=n_scored(form))


def usual_rows(rules: RuleSet, over: Units) -> int:
    """About how many rows so many units have, by what the rules were learned from.

    A row each, where that is not known.
    """
    made, n_units = rules.provenance, n_units_of(rules.table["unit_evidence"].to_pylist())
    n_rows = 0 if made is None else made.train_rows + made.valid_rows
    return max(over.n, round(rows_in_batch(over, n_rows, n_units))) if n_units else over.n


def n_units_of(evidence: Sequence[Any]) -> int:
    """The most units that any rule was tested on: about how many there are."""
    return max((int(one[0]) for one in evidence if one), default=0)
