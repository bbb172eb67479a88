"""How good boxes are, and how many rules they break."""

from typing import Any

import numpy as np
from torch import Tensor

from sqrl import RuleSet, Table
from sqrl.boxes import match_boxes, overlap
from sqrl_paper.detection.average_precision import average_precision
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.road_images import RoadImages
from sqrl_paper.detection.road_labels import Floats
from sqrl_paper.detection.task import LEAST_SCORE, break_rules, found_boxes, true_boxes

Json = dict[str, Any]


def score(found: Found, images: RoadImages, rules: RuleSet) -> Json:
    """The average precision of all boxes, and what those that are certain enough find and break.

    Fewer boxes break fewer rules: so the share of broken pairs of a box and a rule that applies,
    the number of boxes and the recall stand beside the number of violations.
    """
    precision = average_precision(found, images)
    sure = found.take(found.score >= LEAST_SCORE)
    counted = count(found_boxes(sure, images), rules, n_images=len(images))
    told = {name: precision[name] for name in ("map", "map50")}
    return {**told, "recall": recall(sure, images), **counted}


def recall(found: Found, images: RoadImages) -> float:
    """The share of true boxes, but for ignored ones, that are found: of their class, by half.

    The surest box chooses first, and none is found twice.

    >>> import torch
    >>> truth = RoadImages(
    ...     pixels=torch.zeros(1, 3, 32, 32, dtype=torch.uint8),
    ...     boxes=torch.tensor([[0.0, 0, 10, 10], [20, 0, 30, 10]]),
    ...     labels=torch.tensor([0, 0]),
    ...     image=torch.tensor([0, 0]),
    ...     names=("a",),
    ...     size=(32, 32),
    ...     scale=0.5,
    ...     shift=(0.0, 0.0),
    ... )
    >>> place = torch.tensor([0])
    >>> score, box = torch.tensor([0.9]), torch.tensor([[0.0, 0, 10, 8]])
    >>> one = Found(image=place, place=place, label=place, score=score, logits=score, box=box)
    >>> recall(one, truth)
    0.5
    """
    n_true, n_found = 0, 0
    for image in range(len(images)):
        for label in set(images.labels[images.image == image].tolist()):
            if label < 0:
                continue
            true = images.boxes[(images.image == image) & (images.labels == label)]
            here = (found.image == image) & (found.label == label)
            n_true += len(true)
            given = [_sides(one) for one in (found.box[here], true)]
            matched = match_boxes(overlap(*given), found.score[here].detach().double().numpy())
            n_found += int((matched >= 0).sum())
    return n_found / max(1, n_true)


def _sides(boxes: Tensor) -> Floats:
    return np.asarray(boxes.detach().double().numpy()).reshape(-1, 4)


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
