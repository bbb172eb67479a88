"""What train and held-out rows say of rules that were learned: kept with the rules for checks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqrl._check.evidence import (
    NONE,
    Evidence,
    put_column,
    selected_places,
    spread,
    with_evidence,
)
from sqrl._check.p_values import has_competition
from sqrl._check.predicted_rows import PredictedRows
from sqrl._check.row_scores import MOST_HELD_OUT, MOST_TRAIN, CountScores, CountTails, Surprise
from sqrl._check.unit_evidence import predicted_numbers, unit_numbers
from sqrl._rows.questions import Asking, Of, Question, together
from sqrl._rules.held_out import HeldOutScores
from sqrl._rules.label import names_label
from sqrl._rules.ruleset import RuleSet


def with_held_out(
    rules: RuleSet, prediction: str | None = None, *, also_train: Mapping[int, int] = NONE
) -> Asking[RuleSet]:
    """The rules with evidence, and with the scores that held-out rows have.

    With a `prediction` those that name the label also get the evidence of predictions. Candidates
    that were not selected get nothing. The evidence of rules at `also_train` counts train rows too.

    Cost: about that of a check of the held-out rows, twice, and of a part of the train rows.
    """
    made = rules.provenance
    assert made is not None
    of: Of = "valid" if made.valid_rows else "train"
    label = rules.schema.label if rules.schema and prediction is not None else None
    chosen = selected_places(rules)
    single = [place for place in chosen if rules.form(place).is_single]
    named = [place for place in chosen if label and names_label(rules, place, label)]
    forms = [rules.form(place) for place in single]
    asked: list[Asking[Any]] = [with_evidence(rules, of, also_train)]
    if single:
        asked.append(_ask(CountTails(forms, _stride(made.train_rows, MOST_TRAIN))))
    if label is not None and prediction is not None:
        of_label = Evidence(of, [rules.form(place) for place in named])
        asked.append(_ask(PredictedRows(of_label, label, prediction)))
    rules, *answers = yield from together(*asked)
    if label is not None:
        said = spread(named, answers.pop(), len(rules))
        rules = put_column(rules, "prediction_evidence", said)
    if rules.schema and rules.schema.units:
        rules = yield from _with_units(rules, of, chosen, also_train)
        if label is not None and prediction is not None:
            numbers = yield from predicted_numbers(rules, of, named, label, prediction)
            rules = _put_units(rules, "prediction_unit_evidence", numbers)
    if not single:
        return rules
    rules = put_column(rules, "tail", spread(single, answers.pop(), len(rules)))
    if not made.valid_rows:
        return rules
    surprise = Surprise(Surprise.of(rules).logs[single])
    stride = _stride(made.valid_rows, MOST_HELD_OUT)
    counted: list[Question] = [CountScores("valid", forms, surprise, stride)]
    if label is not None:
        counted.append(CountScores("valid", forms, surprise, stride, label, prediction))
    labels, *predictions = yield counted
    scores = HeldOutScores(labels=labels, predictions=predictions[0] if predictions else None)
    return replace(rules, held_out=scores)


def _with_units(
    rules: RuleSet, of: Of, chosen: list[int], also_train: Mapping[int, int]
) -> Asking[RuleSet]:
    """The rules with what units say of each."""
    assert rules.schema is not None
    competed = has_competition(rules.schema)
    numbers = yield from unit_numbers(rules, of, chosen, also_train=also_train, competed=competed)
    return _put_units(rules, "unit_evidence", numbers)


def _put_units(rules: RuleSet, name: str, numbers: Mapping[int, list[float]]) -> RuleSet:
    return put_column(rules, name, spread(list(numbers), list(numbers.values()), len(rules)))


def _ask(question: Question) -> Asking[Any]:
    """The answer to one question."""
    (answer,) = yield [question]
    return answer


def _stride(n_rows: int, most: int) -> int:
    """Every which row to look at, so that there are not more than `most`."""
    return max(1, -(-n_rows // most))
