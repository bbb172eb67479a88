"""What is said where steps are not returned."""

import pytest

from sqrl._adapt.expected import Expected, Gain
from sqrl._adapt.guard import Breakage, Decision
from sqrl._adapt.last_word import why_not

BEFORE, FALLEN = Breakage(0.2, 1.0), Breakage(0.1, 0.1)
SOURCE = Expected(0.5, 0.8, 0.9)


def gain(loss=0.4, accuracy=0.85, ranking=0.95, lowest=(0.03, 0.03)):
    """What is gained over the source."""
    return Gain(SOURCE, Expected(loss, accuracy, ranking), *lowest)


CALIBRATED = gain(0.4, 0.8, 0.9, (0.0, 0.0))


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (
            Decision(FALLEN, BEFORE),
            "on the last mini-batches held out the model as it came has an excess of 0.1, the"
            " adapted one had 1.",
        ),
        (
            Decision(BEFORE, FALLEN, (gain(0.6), gain())),
            "rules are broken less, but by what they say of each row predictions would be worse"
            " (log loss 0.500 -> 0.600, accuracy 80.0% -> 85.0%, AUC 0.900 -> 0.950).",
        ),
        (
            Decision(BEFORE, FALLEN, (gain(), gain(0.49, 0.801, 0.901))),
            "rules are broken less, but by the model's own predictions, corrected to the rules'"
            " rates, the gain is too small, or too much of it may be chance, (log loss 0.500 ->"
            " 0.490, accuracy 80.0% -> 80.1%, AUC 0.900 -> 0.901).",
        ),
        (
            Decision(BEFORE, FALLEN, (gain(lowest=(0.03, -0.01)), gain())),
            "rules are broken less, but by what they say of each row accuracy or AUC may well fall"
            " by more than 0.5 points (log loss 0.500 -> 0.400, accuracy 80.0% -> 85.0%, AUC"
            " 0.900 -> 0.950).",
        ),
        (
            Decision(BEFORE, FALLEN, (CALIBRATED, CALIBRATED), gain(lowest=(0.0, -0.1))),
            "rules are broken less, but only the log loss falls, and rows would be ranked otherwise"
            " than by the model as it came (log loss 0.500 -> 0.400, accuracy 80.0% -> 80.0%, AUC"
            " 0.900 -> 0.900).",
        ),
    ],
)
def test_the_first_reason_against_a_state_is_told(decision, told):
    """Who adapts learns which opinion was against it, and by how much."""
    assert not decision.is_better
    assert why_not(decision) == told
