"""A seed's detector, the rules, and the images for tuning and for the tests."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from sqrl import RuleSet, shuffle_rows
from sqrl_paper.detection.detector import Detector
from sqrl_paper.detection.detector_training import DetectorTraining, split_held_out, train_detector
from sqrl_paper.detection.rain import add_rain
from sqrl_paper.detection.road_images import RoadImages, read_cityscapes_images, read_kitti_images
from sqrl_paper.detection.task import learn_detection, ranges_of, read_train_boxes
from sqrl_paper.place import Place
from sqrl_paper.shared.corruptions import corrupt

KITTI, CITY, RAIN = "KITTI", "Cityscapes", "Cityscapes, rain"
CONDITIONS = (KITTI, CITY, RAIN)
RAIN_SEVERITY = 3  # of five
# A corruption that is none of the test's, and leaves the source two fifths of its precision.
TUNING, TUNING_SEVERITY = "gaussian blur", 1
SAMPLED_BY = 0  # the seed of the test images, the same for all detectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many images there are in each part, and in a mini-batch; None for all.

    `steps` are as many for tuning, where images are few, as in a test: about so many.
    """

    train: int | None
    kitti: int | None
    city: int | None
    batch: int
    steps: int
    training: DetectorTraining

    def epochs(self, n_images: int) -> int:
        """Passes over so many images that come nearest to the number of steps.

        >>> FULL.epochs(500), FULL.epochs(51)
        (1, 10)
        """
        return max(1, round(self.steps * self.batch / n_images))


FULL = Sizes(train=None, kitti=200, city=None, batch=5, steps=100, training=DetectorTraining())
QUICK = Sizes(
    train=20,
    kitti=8,
    city=8,
    batch=4,
    steps=4,
    training=DetectorTraining(size="tiny", n_views=5, epochs=6, batch=6, lr=2e-2),
)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that runs with the same seed share.

    `scaled` are the same rules in shares of the range of each statistic, for the paper's loss;
    `tuning` are train images that the detector has not learned from, after a corruption.
    """

    seed: int
    sizes: Sizes
    n_train: int  # images that the detector learned from
    n_boxes: int  # that rules were learned from
    rules: RuleSet
    scaled: RuleSet
    tuning: RoadImages
    model: Detector


@cache
def prepared(place: Place, seed: int) -> Prepared:
    """The detector of a seed (trained once, then read from the cache), the rules, its tuning."""
    rules, scaled, n_boxes = _rules(place)
    sizes = sizes_of(place)
    images = _sample(read_kitti_images(place.folder, part="train"), sizes.train)
    learned, held_out = split_held_out(len(images), sizes.training.held_out, seed=seed)
    clean = images.take(held_out)
    pixels = corrupt(clean.pixels, TUNING, TUNING_SEVERITY, seed=seed)
    model = train_detector(images, seed=seed, training=sizes.training, cache=place.cache / "models")
    return Prepared(
        seed=seed,
        sizes=sizes,
        n_train=len(learned),
        n_boxes=n_boxes,
        rules=rules,
        scaled=scaled,
        tuning=replace(clean, pixels=pixels),
        model=model,
    )


def sizes_of(place: Place) -> Sizes:
    """Few images for a quick run."""
    return QUICK if place.quick else FULL


@cache
def images_of(place: Place, condition: str) -> RoadImages:
    """The images of a test: a fixed sample, the same for all seeds."""
    sizes = sizes_of(place)
    if condition == KITTI:
        return _sample(read_kitti_images(place.folder, part="val"), sizes.kitti)
    if condition == CITY:
        return _sample(read_cityscapes_images(place.folder), sizes.city)
    dry = images_of(place, CITY)
    return replace(dry, pixels=add_rain(dry.pixels, severity=RAIN_SEVERITY, seed=SAMPLED_BY))


@cache
def _rules(place: Place) -> tuple[RuleSet, RuleSet, int]:
    boxes = read_train_boxes(place.folder)
    return learn_detection(boxes), learn_detection(boxes, units=ranges_of(boxes)), boxes.n_rows


def _sample(images: RoadImages, n: int | None) -> RoadImages:
    """So many of the images, in their order."""
    if n is None or n >= len(images):
        return images
    chosen = torch.from_numpy(shuffle_rows(len(images), seed=SAMPLED_BY)[:n])
    return images.take(chosen.sort().values)
