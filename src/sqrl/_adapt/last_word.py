"""The last word: of the states that steps led to, and the source, which one is returned.

Steps follow the rules, and rules are also broken less by a model that ranks rows worse. Where they
say something of each row, a state is returned only if by two opinions, that of the rules alone and
that of the source corrected to their rates, its predictions are better than the source's by enough
to matter, and chance is unlikely to make them worse on these very rows. Where only the log loss
falls rows must also stay ranked as they were. Of several such states it is the one that gains most,
nearly surely.
"""

from collections.abc import Sequence

from torch import Tensor

from sqrl._adapt.expected import MOST_LOST, Gain
from sqrl._adapt.guard import Decision, Guard, Read
from sqrl._adapt.runner import Loaded
from sqrl._adapt.steps import ModelState, Steps


def keep_best(
    steps: Steps, guard: Guard, states: Sequence[ModelState], rows: Sequence[Loaded]
) -> tuple[Decision | None, str]:
    """Leave the model in the best state. The decision, or none and why it is the source.

    Each state costs a pass over the rows, and a sorting of them for each class.
    """
    steps.restore(steps.source)
    before, found = guard.read(rows), []
    judges = () if before.predicted is None else guard.judges(rows)
    for state in states:
        steps.restore(state)
        found.append((_decide(before, guard.read(rows), judges), state))
    better = [one for one in found if one[0].is_better]
    if better:
        result, best = max(better, key=lambda one: sum(gain.value for gain in one[0].gains))
        steps.restore(best)
        return result, ""
    steps.restore(steps.source)
    return None, f" All was rolled back in the end: {why_not(found[0][0])}"


def _decide(before: Read, after: Read, judges: Sequence[Tensor]) -> Decision:
    if before.predicted is None or after.predicted is None:
        return Decision(before.breakage, after.breakage)
    *gains, own = (
        Gain.of(before.predicted, after.predicted, truth) for truth in (*judges, before.predicted)
    )
    return Decision(before.breakage, after.breakage, tuple(gains), own)


OPINIONS = (
    "by what they say of each row",
    "by the model's own predictions, corrected to the rules' rates,",
)


def why_not(decision: Decision) -> str:
    """Why a state is not returned, in words: what was the first reason against it."""
    before, after = decision.before, decision.after
    if not decision.has_fallen:
        return (
            "on the last mini-batches held out the model as it came has an excess of"
            f" {before.excess:.3g}, the adapted one had {after.excess:.3g}."
        )
    refusing = [
        (whose, gain)
        for whose, gain in zip(OPINIONS, decision.gains, strict=True)
        if not (gain.is_worth_it and gain.is_sure)
    ]
    if not refusing:
        return (
            "rules are broken less, but only the log loss falls, and rows would be ranked otherwise"
            f" than by the model as it came ({_told(decision.gains[-1])})."
        )
    whose, gain = refusing[0]
    what = (
        "predictions would be worse"
        if gain.after.loss >= gain.before.loss
        else "the gain is too small, or too much of it may be chance,"
        if not gain.is_worth_it
        else f"accuracy or AUC may well fall by more than {100 * MOST_LOST:.1f} points"
    )
    return f"rules are broken less, but {whose} {what} ({_told(gain)})."


def _told(gain: Gain) -> str:
    before, after = gain.before, gain.after
    return (
        f"log loss {before.loss:.3f} -> {after.loss:.3f}, accuracy {before.accuracy:.1%} ->"
        f" {after.accuracy:.1%}, AUC {before.ranking:.3f} -> {after.ranking:.3f}"
    )
