"""How the detection bench measures, in words."""

from dataclasses import asdict
from typing import Any

from sqrl_paper.detection.data import CITY, KITTI, RAIN
from sqrl_paper.detection.methods import NONE, Choice
from sqrl_paper.detection.summary import best_of

Json = dict[str, Any]


def tell_protocol(result: Json) -> str:
    """Paragraphs of Markdown."""
    source = next(iter(result["sources"].values()))
    seeds = ", ".join(map(str, result["seeds"]))
    images, settings = source["images"], result["settings"]
    methods = "\n".join(f"- **{name}**: {one['about']}." for name, one in result["methods"].items())
    return f"""\
Rules are learned from the {source["boxes"]:,} boxes of all of KITTI's train frames, none held out,
as in the paper; they speak of single boxes, in pixels of KITTI's camera. For each seed ({seeds}) a
detector is trained on {images["train"]} of the train frames that there are images of; on the other
{images["tuning"]} settings are chosen, which come from the same drives, so that they are near to
those trained on. Tests are on fixed samples of {images[KITTI]} of KITTI's val
images and {images[CITY]} of Cityscapes' ({RAIN}: the same ones with streaks, veil and blur of
severity {settings["rain"]} of five), the same for all seeds. Those of Cityscapes are scaled so that
a car at the same distance is as large as on KITTI's, and boxes are moved to where KITTI's camera
would have them before they are checked. That the camera of Cityscapes looks a little downwards was
seen in its labels, those of the test among them. Boxes lower than 25 of KITTI's pixels are ignored.

Methods see all test images at once, without labels, in mini-batches of {settings["batch"]}, make
about {settings["steps"]} steps, in tuning as in tests, and change BatchNorm layers only: those
after the first layers, which were not trained on roads (BN: all of them). The average precision is
COCO's, by pycocotools. Violations are pairs of a box and a rule, for boxes with a score of at least
{settings["least_score"]:g}. Figures are means over seeds ± the standard deviation between them;
changes are within a seed.

Every tuned method had {settings["tries"]} tries, for each seed, on its images for tuning under a
corruption that is not tested ({settings["tuning"]}). It was run with the one that, on average over
the seeds, has {result["selection"]}. Tried were, of Tent, RPL and CPL, which BatchNorm statistics
to use; of drop, which rules have to be broken; of re-score, the factor; of rules, whether a box is
taken for what it most likely is, and the statistics; of rules + Tent the weight, of others the
rate. Higher rates blew up on the images for tuning. That rules may also change how
likely a box is was thought of after a look at 60 of the rainy test images with their labels, by a
barely trained detector that is none of those measured.{_old_setting(result)}

{methods}"""


def _old_setting(result: Json) -> str:
    """What is to be noted of figures from before recall was recorded."""
    if "recall" in result["summary"][RAIN][NONE.name]:
        return ""
    n_images = next(iter(result["sources"].values()))["images"][CITY]
    others = chosen_otherwise(result)
    same = f"of all methods but {' and '.join(others)}" if others else "of all methods"
    return f"""

**These figures are of an earlier setting**: {n_images} of Cityscapes' 500 images, no recall, and
choices by the number of violations, which finding less lowers. The bench has all images, the recall
and choices by the share of broken pairs now; it has not been run again since. By the share, the
recorded tries say, the same would have been chosen {same}."""


def chosen_otherwise(result: Json) -> list[str]:
    """The methods that would be run with another of the recorded tries, chosen by the share."""
    runs = [one for one in result["tried"] if one["method"] != NONE.name]
    source = [one for one in result["tried"] if one["method"] == NONE.name]
    found = []
    for name, chosen in result["chosen"].items():
        tried: dict[Choice, list[Json]] = {}
        for one in runs:
            if one["method"] == name:
                tried.setdefault(Choice(**one["choice"]), []).append(one)
        if tried and asdict(best_of(tried, source)) != chosen:
            found.append(name)
    return found
