"""Object detection: boxes around what is on a road, on KITTI's images and on those of other cities.

Rules bound the size, the shape and the place of the boxes of each class, in pixels of KITTI's
camera. They are learned from the boxes that people drew on all of KITTI's train frames; the model
was trained on the frames that there are images of, and is adapted to other images without labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from msgspec import structs
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Batches, RuleSet, Schema, Table, as_table, check, learn, load_schema
from sqrl.boxes import SIDES, box_statistics, read_boxes
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.kitti import KITTI_PAGE, LABELS, TITLE, frames_of
from sqrl_paper.detection.road_images import CLASSES, RoadImages
from sqrl_paper.shared.data_files import find_file

SCHEMA = "detection"
LABEL = "type"
LEAST_SCORE = 0.3  # of boxes that rules are checked on: nobody would act on less certain ones
STATISTICS = {  # those of the schema, each told by the sides alone
    "width": "right - left",
    "height": "bottom - top",
    "aspect_ratio": "(right - left) / (bottom - top)",
    "area": "(right - left) * (bottom - top)",
    "x_center": "(left + right) / 2",
    "y_bottom": "bottom + 0",
}

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def read_train_boxes(folder: str | Path | None = None) -> Table:
    """The boxes on all of KITTI's train frames, whether there are images of them or not."""
    path = find_file(folder, LABELS, title=TITLE, page=KITTI_PAGE)
    return read_boxes(path).on(frames_of(folder, "train")).table


def learn_detection(boxes: Table, *, units: Mapping[str, float] | None = None) -> RuleSet:
    """The paper's 252 rules: 7 classes x (6 statistics + 30 ordered pairs), none held out.

    With `units` each statistic is measured in these: the same rules, with other numbers in them.
    """
    return learn(boxes, load_schema(SCHEMA) if units is None else schema_in(units))


def schema_in(units: Mapping[str, float]) -> Schema:
    """The schema with each statistic divided by its unit.

    >>> units = dict.fromkeys(STATISTICS, 2.0)
    >>> schema_in(units).statistics["area"]
    '((right - left) * (bottom - top)) / 2.0'
    """
    scaled = {name: f"({text}) / {units[name]!r}" for name, text in STATISTICS.items()}
    return structs.replace(load_schema(SCHEMA), statistics=scaled)


def ranges_of(boxes: Table) -> dict[str, float]:
    """How far the values of each statistic reach, from the least to the greatest.

    >>> two = {"left": [0, 0], "top": [0, 0], "right": [10, 30], "bottom": [10, 20]}
    >>> ranges_of(as_table(two))["width"]
    20.0
    """
    values = box_statistics(boxes)
    return {name: float(np.ptp(values[name].values)) or 1.0 for name in STATISTICS}


def make_batches(images: RoadImages, *, size: int, seed: int) -> Batches:
    """Mini-batches of the images, without what is known of them."""
    return Batches(images.pixels, size=size, seed=seed)


def in_kitti(box: Tensor, images: RoadImages) -> Tensor:
    """Boxes (n, 4) in pixels of the images as KITTI's camera would have them."""
    return box / images.scale + torch.tensor(images.shift * 2, dtype=box.dtype, device=box.device)


def table_of(box: Tensor, label: Tensor, images: RoadImages) -> Table:
    """A row for each box, as rules see it: its class, and its sides in KITTI's pixels.

    Shapes: box (n, 4), label (n,), the place of each box's class.
    """
    sides = in_kitti(box.detach().double(), images).numpy()
    kinds = [CLASSES[place] for place in label.tolist()]
    columns = {side: sides[:, at] for at, side in enumerate(SIDES)}
    return as_table({LABEL: kinds, **columns})


def true_boxes(images: RoadImages) -> Table:
    """The boxes that people drew, as rules see them, without regions that are to be ignored."""
    is_known = images.labels >= 0
    return table_of(images.boxes[is_known], images.labels[is_known], images)


def found_boxes(found: Found, images: RoadImages) -> Table:
    """The boxes of a detector, as rules see them."""
    return table_of(found.box, found.label, images)


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """Pairs of a box and a rule: how many apply, how many are broken, and by which box and rule.

    Shapes: rule and box, for each broken pair, by rule and then by box.
    """

    n_boxes: int
    n_pairs: int
    rule: Ints
    box: Ints

    @property
    def share(self) -> float:
        """The share of the pairs that are broken; 0 where there are none."""
        return len(self.rule) / max(1, self.n_pairs)

    def of_box(self, rules: Bools | None = None) -> Ints:
        """How many rules each box breaks, or how many of those that are marked."""
        chosen = slice(None) if rules is None else rules[self.rule]
        return np.bincount(self.box[chosen], minlength=self.n_boxes)


def break_rules(rules: RuleSet, boxes: Table) -> Broken:
    """Which rules the boxes break.

    >>> rules = RuleSet.from_texts(["type = Car => 0 <= x <= 9", "type = Van => x <= 1"])
    >>> found = break_rules(rules, as_table({"type": ["Car", "Car", "Van"], "x": [3, 12, 1]}))
    >>> found.n_pairs, found.rule.tolist(), found.box.tolist()
    (3, [0], [1])
    """
    if not boxes.n_rows:
        return Broken(0, 0, np.empty(0, np.int64), np.empty(0, np.int64))
    found = check(rules, boxes)
    return Broken(
        boxes.n_rows,
        int(found.applicable.sum()),
        found.pair_rule.astype(np.int64),
        found.pair_row.astype(np.int64),
    )


def are_single(rules: RuleSet) -> Bools:
    """Which rules bound a statistic by itself, and not given another.

    >>> texts = ["type = Car => 0 <= x <= 9", "type = Car => x <= 1 if y <= 2 else x <= 3"]
    >>> are_single(RuleSet.from_texts(texts)).tolist()
    [True, False]
    """
    return np.array([len(rules.form(index).pieces) == 1 for index in range(len(rules))], np.bool_)
