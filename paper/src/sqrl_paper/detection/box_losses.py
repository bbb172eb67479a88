"""Objectives for detectors: rules on the boxes that are found, and methods for their classes."""

from typing import Any, Literal

from torch import Tensor

from sqrl import Categories, RuleLoss, RuleSet
from sqrl.boxes import SIDES
from sqrl.methods import Context, Objective
from sqrl_paper.detection.found_boxes import find_boxes
from sqrl_paper.detection.road_images import CLASSES, RoadImages
from sqrl_paper.detection.task import LABEL, LEAST_SCORE, in_kitti

BACKGROUND = "nothing"


def make_box_loss(
    rules: RuleSet,
    images: RoadImages,
    *,
    loss: Literal["expected", "paper"] = "expected",
    is_certain: bool = True,
    least_score: float = LEAST_SCORE,
) -> RuleLoss:
    """The loss of rules about single boxes, on those that a detector finds on images like these.

    With `is_certain` a box is what it most likely is, as in the paper, and only its sides can
    follow the rules. Else a rule counts by how likely the box is of its class, and a box that
    breaks rules also becomes less likely. Without boxes the loss is 0.
    """

    def names(_: Any, out: Any) -> dict[str, Any]:
        found = find_boxes(out, least_score=least_score)
        sides = in_kitti(found.box, images)
        kind = Categories(found.label, CLASSES) if is_certain else found.logits.softmax(-1)
        return {LABEL: kind, **{side: sides[:, at] for at, side in enumerate(SIDES)}}

    classes = None if is_certain else (BACKGROUND, *CLASSES)
    return RuleLoss(rules, names, loss=loss, classes=classes)


class OnFound(Objective):
    """A method for classifiers, on the logits of the boxes that a detector finds.

    It is as if each box were a row, with "nothing" for one of the classes; 0 where there is none.
    """

    def __init__(self, method: Objective, *, least_score: float = LEAST_SCORE) -> None:
        super().__init__()
        self.method, self.least_score = method, least_score
        self.statistics, self.has_steps = method.statistics, method.has_steps

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number that the method minimises."""
        logits = find_boxes(out, least_score=self.least_score).logits
        if not len(logits):
            return logits.sum()  # 0, and through it gradients of 0: a mean would be nan
        value = self.method(batch, logits, context)
        assert isinstance(value, Tensor)
        return value
