"""average_precision: how good found boxes are, as COCO's own program computes it."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sqrl.errors import MissingExtraError
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.road_images import CLASSES, RoadImages

AT_50, AT_75 = 0, 5  # places of these overlaps among the ten from 0.5 to 0.95


def average_precision(found: Found, truth: RoadImages) -> dict[str, float]:
    """COCO's mean average precision, 0 to 1, and that of each class which the truth has.

    "map" is the average over classes and over overlaps from 0.5 to 0.95 that a box has to reach,
    "map50" and "map75" are for one overlap alone. What is found in an ignored region counts
    neither for nor against. A box that is not finite is not found. Without truth all are nan.
    """
    program = _program()
    with redirect_stdout(StringIO()):  # it tells what it does
        judge = program.COCOeval(
            _as_coco(truth, _true(truth)), _as_coco(truth, _found(found)), "bbox"
        )
        judge.params.areaRng, judge.params.areaRngLbl = [[0, 1e10]], ["all"]
        judge.evaluate()
        judge.accumulate()
    precision = judge.eval["precision"][:, :, :, 0, -1]  # (overlaps, recalls, classes)
    classes = torch.unique(truth.labels[truth.labels >= 0]).tolist()
    of_class = {CLASSES[place]: float(precision[:, :, place].mean()) for place in classes}
    return {
        "map": _mean(precision[:, :, classes]),
        "map50": _mean(precision[AT_50][:, classes]),
        "map75": _mean(precision[AT_75][:, classes]),
        **of_class,
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if np.size(values) else float("nan")


def _true(truth: RoadImages) -> Iterator[dict[str, Any]]:
    """The boxes of truth; an ignored region is a crowd of every class."""
    rows = zip(truth.image.tolist(), truth.labels.tolist(), _corners(truth.boxes), strict=True)
    for image, label, box in rows:
        for place in range(len(CLASSES)) if label < 0 else (label,):
            yield _annotation(image, place, box) | {"iscrowd": int(label < 0)}


def _found(found: Found) -> Iterator[dict[str, Any]]:
    finite = torch.isfinite(found.box).all(1) & torch.isfinite(found.score)
    columns = (found.image, found.label, found.score, _corners(found.box))
    for image, label, score, box, usable in zip(
        *(c.tolist() if isinstance(c, Tensor) else c for c in columns), finite.tolist(), strict=True
    ):
        if usable:
            yield _annotation(image, label, box) | {"iscrowd": 0, "score": score}


def _annotation(image: int, label: int, box: list[float]) -> dict[str, Any]:
    return {"image_id": image, "category_id": label, "bbox": box, "area": box[2] * box[3]}


def _corners(boxes: Tensor) -> list[list[float]]:
    """Left, top, width and height, as COCO has boxes."""
    values: list[list[float]] = torch.cat([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1).tolist()
    return values


def _as_coco(truth: RoadImages, annotations: Iterator[dict[str, Any]]) -> Any:
    numbered = [one | {"id": number} for number, one in enumerate(annotations, start=1)]
    coco = import_module("pycocotools.coco").COCO()
    coco.dataset = {
        "images": [{"id": place} for place in range(len(truth))],
        "categories": [{"id": place} for place in range(len(CLASSES))],
        "annotations": numbered,
    }
    coco.createIndex()
    return coco


def _program() -> Any:
    try:
        return import_module("pycocotools.cocoeval")
    except ImportError:
        raise MissingExtraError(
            "Average precision is computed by pycocotools, which is not installed.",
            fix="pip install sqrl-paper",
        ) from None
