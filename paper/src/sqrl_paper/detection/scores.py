"""How good boxes are, and how many rules they break."""

from typing import Any

from sqrl import RuleSet, Table
from sqrl_paper.detection.average_precision import average_precision
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.road_images import RoadImages
from sqrl_paper.detection.task import LEAST_SCORE, break_rules, found_boxes, true_boxes

Json = dict[str, Any]


def score(found: Found, images: RoadImages, rules: RuleSet) -> Json:
    """The average precision of all boxes, and what those that are certain enough break.

    Fewer boxes break fewer rules: so the share of broken pairs of a box and a rule that applies,
    and the number of boxes, stand beside the number of violations.
    """
    precision = average_precision(found, images)
    sure = found.take(found.score >= LEAST_SCORE)
    counted = count(found_boxes(sure, images), rules, n_images=len(images))
    return {"map": precision["map"], "map50": precision["map50"], **counted}


def score_truth(images: RoadImages, rules: RuleSet) -> Json:
    """What the boxes break that people drew."""
    return count(true_boxes(images), rules, n_images=len(images))


def count(boxes: Table, rules: RuleSet, *, n_images: int) -> Json:
    """Boxes and broken pairs for each image, and shares of pairs and of boxes.

    >>> from sqrl import as_table
    >>> rules = RuleSet.from_texts(["type = Car => 0 <= x <= 9", "type = Car => x <= 11"])
    >>> boxes = as_table({"type": ["Car", "Car"], "x": [10, 12]})
    >>> count(boxes, rules, n_images=2)
    {'boxes': 1.0, 'violations': 1.5, 'share': 0.75, 'breaking': 1.0}
    """
    broken = break_rules(rules, boxes)
    n_breaking = int((broken.of_box() > 0).sum())
    return {
        "boxes": broken.n_boxes / n_images,
        "violations": len(broken.rule) / n_images,
        "share": broken.share,
        "breaking": n_breaking / max(1, broken.n_boxes),
    }
