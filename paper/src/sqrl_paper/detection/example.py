"""The example of the detection bench: an image whose boxes are set right, without a pixel of it.

Frames with boxes alone: images of Cityscapes may not be passed on.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sqrl import RuleSet
from sqrl_paper.detection.as_seen import see
from sqrl_paper.detection.data import RAIN, prepared
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.methods import Choice, method_of
from sqrl_paper.detection.road_images import CLASSES, RoadImages
from sqrl_paper.detection.runs import run
from sqrl_paper.detection.task import LEAST_SCORE, are_single, break_rules, found_boxes, true_boxes
from sqrl_paper.jobs import Try
from sqrl_paper.place import Place

Json = dict[str, Any]
BROKEN, HELD, TRUE = "#c8452d", "#4f7cac", "#333333"
SIZE = (8.0, 5.4)  # inches
WAYS = ("before", "after", "truth")


def make_example(place: Place, job: Try[Choice]) -> Json:
    """The rule about one statistic that is mended most, and the image on which it is.

    It is the clearest example, and so not a typical one.
    """
    data, seen = prepared(place, job.seed), see(place, job.seed, RAIN)
    after = run(data, seen, method_of(job.method), job.choice)[0]
    found = {
        way: one.take(one.score >= LEAST_SCORE)
        for way, one in (("before", seen.found), ("after", after))
    }
    broken = {way: _broken(data.rules, one, seen.images) for way, one in found.items()}
    fallen = broken["before"] - broken["after"]
    rule = int(np.where(are_single(data.rules), fallen.sum(1), -np.inf).argmax())
    image = int(fallen[rule].argmax())
    told = {way: _tell(one, data.rules, rule, image, seen.images) for way, one in found.items()}
    return {
        "rule": data.rules[rule].short_text,
        "image": seen.images.names[image],
        "size": list(seen.images.size),
        "broken": {way: int(one[rule].sum()) for way, one in broken.items()},
        "boxes": told | {"truth": _true(seen.images, data.rules, rule, image)},
    }


def _broken(rules: RuleSet, found: Found, images: RoadImages) -> "np.ndarray[Any, Any]":
    """How often each rule is broken on each image: (rules, images)."""
    pairs = break_rules(rules, found_boxes(found, images))
    counted = np.zeros((len(rules), len(images)))
    np.add.at(counted, (pairs.rule, found.image.numpy()[pairs.box]), 1.0)
    return counted


def _tell(found: Found, rules: RuleSet, rule: int, image: int, images: RoadImages) -> list[Json]:
    pairs = break_rules(rules, found_boxes(found, images))
    breaking = set(pairs.box[pairs.rule == rule].tolist())
    here = torch.nonzero(found.image == image)[:, 0].tolist()
    return [_box(found.box[at], int(found.label[at]), at in breaking) for at in here]


def _true(images: RoadImages, rules: RuleSet, rule: int, image: int) -> list[Json]:
    pairs = break_rules(rules, true_boxes(images))
    known = torch.nonzero(images.labels >= 0)[:, 0]
    breaking = set(known[torch.from_numpy(pairs.box[pairs.rule == rule])].tolist())
    here = known[images.image[known] == image].tolist()
    return [_box(images.boxes[at], int(images.labels[at]), at in breaking) for at in here]


def _box(sides: Tensor, label: int, is_broken: bool) -> Json:
    rounded = [round(side, 1) for side in sides.tolist()]
    return {"sides": rounded, "type": CLASSES[label], "breaks": is_broken}


def draw_example(told: Json, path: Path) -> None:
    """Write the figure: the frame of an image with the boxes before, after, and in truth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
    panels = figure.subplots(2, 2).flatten()
    width, height = told["size"]
    for axes, way in zip(panels, WAYS, strict=False):
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])
        boxes = told["boxes"][way]
        for box in boxes:
            _draw_box(axes, box, TRUE if way == "truth" else HELD)
        n_broken = sum(box["breaks"] for box in boxes)
        title = {"before": "before adaptation", "after": "after", "truth": "true boxes"}[way]
        axes.set_title(
            f"{title}: {len(boxes)} {'box' if len(boxes) == 1 else 'boxes'}, {n_broken} outside",
            fontsize="small",
        )
    panels[3].axis("off")
    panels[3].text(0, 0.5, _words(told), fontsize="small", va="center", wrap=True)
    figure.suptitle(f"rule: {told['rule']}", fontsize="small", x=0.02, ha="left", wrap=True)
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else {"Date": None})


def _words(told: Json) -> str:
    before, after = (told["broken"][way] for way in ("before", "after"))
    return (
        f"Image {told['image']}\nin synthetic rain. Red boxes break the rule.\n\nOn all images: "
        f"{before} boxes break it\nbefore adaptation, {after} after."
    )


def _draw_box(axes: Any, box: Json, colour: str) -> None:
    from matplotlib.patches import Rectangle

    left, top, right, bottom = box["sides"]
    chosen = BROKEN if box["breaks"] else colour
    axes.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, color=chosen))
    axes.text(left, top - 1, box["type"], fontsize=5, color=chosen, clip_on=True)
