"""Overlaps of boxes, and which detections are wrong by the boxes that people labelled."""

from collections.abc import Mapping

import numpy as np

from sqrl._data.formats.boxes import SHARES, SIDES, image_key
from sqrl._data.table import Table
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl.boxes._read import Boxes, text_values

# What KITTI's own evaluation does not hold against a detector.
KITTI_ALIKE = {"Car": "Van", "Pedestrian": "Person_sitting"}


def evaluate_boxes(
    detections: Table,
    truth: Boxes,
    *,
    at_least: float = 0.5,
    alike: Mapping[str, str] | None = None,
) -> tuple[Bools, Bools]:
    """Which detections are wrong, and which of those an evaluation would forgive.

    Right is a box that takes a labelled box of its image and class, the surest detection choosing
    first. Forgiven is a wrong one on a region that was left out of the truth, or on a box of the
    class that its own is `alike` to.
    """
    alike = {} if alike is None else alike
    boxes, score = sides_of(detections), np.asarray(detections["score"].values, np.float64)
    kind = np.array(text_values(detections["type"]), dtype=object)
    true = _Labelled(truth.table)
    ignored = _Labelled(truth.left_out)
    wrong, forgiven = np.ones(len(kind), np.bool_), np.zeros(len(kind), np.bool_)
    for image, found in _rows_by_image(detections).items():
        regions = ignored.boxes(image)
        for name in set(kind[found]):
            mine = found[kind[found] == name]
            labelled = true.boxes(image, name)
            wrong[mine] = match_boxes(overlap(boxes[mine], labelled), score[mine], at_least) < 0
            near = _most(overlap(boxes[mine], true.boxes(image, alike.get(name, "")))) >= at_least
            near |= _most(overlap(boxes[mine], regions, of_first=True)) >= 0.5
            forgiven[mine] = near & wrong[mine]
    return wrong, forgiven


def match_boxes(overlaps: Floats, score: Floats, at_least: float = 0.5) -> Int64s:
    """For each detection the truth it is matched to, or -1: the surest detection chooses first.

    >>> match_boxes(np.array([[0.6, 0.5], [0.9, 0.0]]), np.array([0.2, 0.8])).tolist()
    [1, 0]
    """
    matched = np.full(len(overlaps), -1, np.int64)
    free = np.ones(overlaps.shape[1], np.bool_)
    for index in np.argsort(-score, kind="stable"):
        best = np.where(free, overlaps[index], -1.0)
        if best.size and best.max() >= at_least:
            matched[index] = best.argmax()
            free[matched[index]] = False
    return matched


class _Labelled:
    """Boxes that can be asked for by image and class."""

    def __init__(self, table: Table) -> None:
        self._sides = sides_of(table)
        self._kind = np.array(text_values(table["type"]), dtype=object)
        self._rows = _rows_by_image(table)

    def boxes(self, image: str, kind: str | None = None) -> Floats:
        """The boxes of an image, of one class or of all."""
        here = self._rows.get(image, np.empty(0, np.int64))
        return self._sides[here if kind is None else here[self._kind[here] == kind]]


def _rows_by_image(table: Table) -> dict[str, Int64s]:
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(text_values(table["image"])):
        rows.setdefault(image_key(image), []).append(row)
    return {image: np.array(found, np.int64) for image, found in rows.items()}


def _most(overlaps: Floats) -> Floats:
    return np.asarray(overlaps.max(axis=1, initial=0.0))


def sides_of(boxes: Table) -> Floats:
    """The boxes as an array with a row each: left, top, right, bottom; in shares if they are so."""
    names = SHARES if SHARES[0] in boxes and SIDES[0] not in boxes else SIDES
    return np.stack([boxes[side].values for side in names], axis=1).astype(np.float64)


def overlap(boxes: Floats, others: Floats, *, of_first: bool = False) -> Floats:
    """The intersection over union of each box with each other one, or over the box alone.

    Shapes: boxes (n, 4), others (m, 4), result (n, m). Two boxes without an area overlap by 0.

    >>> overlap(np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 2], [5, 5, 6, 6]])).tolist()
    [[0.3333333333333333, 0.0]]
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    inner = np.clip(high - low, 0, None).prod(axis=2).astype(np.float64)
    first, second = areas(boxes), areas(others)
    whole = first[:, None] + (0 if of_first else second[None, :] - inner)
    found: Floats = np.divide(inner, whole, out=np.zeros_like(inner), where=whole > 0)
    return found


def areas(boxes: Floats) -> Floats:
    """The area of each box."""
    sizes: Floats = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).astype(np.float64)
    return np.asarray(sizes.prod(axis=1))
