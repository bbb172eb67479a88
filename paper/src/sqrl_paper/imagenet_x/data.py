"""A seed's rules and crops, and the source model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from torch import nn

from sqrl import RuleLoss, RuleSet
from sqrl_paper.imagenet_x.annotations import read_annotations, read_metaclasses
from sqrl_paper.imagenet_x.crops import Crops, read_crops
from sqrl_paper.imagenet_x.image_scores import SIZE as RULES_SIZE
from sqrl_paper.imagenet_x.made import MadeNetwork
from sqrl_paper.imagenet_x.task import (
    RATES,
    drop_vacuous,
    learn_imagenet_x,
    make_loss,
    make_source,
    split_annotations,
)
from sqrl_paper.place import Place
from sqrl_paper.shared.corruptions import FOR_TESTING, FOR_TUNING
from sqrl_paper.shared.efficientnet_lite import load_efficientnet_lite0

CLEAN = "clean"
SEVERITY = 4  # of five
CONDITIONS = (CLEAN, *(name for name in FOR_TESTING if name != "fog"))  # for the time it takes
TUNING = FOR_TUNING[1]
QUICK_CONDITIONS = (CLEAN, "brightness")
MOST_SEEDS = 11  # samples of 384 among 4,889 crops, beside that for tuning
SCORED_WITH = 1000  # mini-batches that violations are counted on are not those of any step


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Crops for each seed, and in mini-batches."""

    sample: int
    rules: int  # that rules are about
    steps: int  # of methods with rules
    entropy: int  # of methods without


FULL = Sizes(sample=384, rules=RULES_SIZE, steps=96, entropy=64)
QUICK = Sizes(sample=32, rules=RULES_SIZE, steps=16, entropy=16)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that runs with the same seed share."""

    seed: int
    sizes: Sizes
    rules: RuleSet
    n_vacuous: int
    n_annotations: tuple[int, int]  # to learn rules from, and to check them on
    loss: RuleLoss
    rates: RuleLoss
    test: Crops
    tuning: Crops
    model: nn.Module


@cache
def prepared(place: Place, seed: int) -> Prepared:
    """The rules of a seed, its crops and those for tuning, which are none of any seed's."""
    is_complete = not place.is_made
    annotations = read_annotations(place.folder, "train", is_complete=is_complete)
    parts = split_annotations(annotations, seed=seed)
    rules, n_vacuous = drop_vacuous(learn_imagenet_x(parts, seed=seed))
    sizes = QUICK if place.quick else FULL
    n, number = sizes.sample, 1 + seed % MOST_SEEDS
    crops = _crops(place, n * (1 + number))
    return Prepared(
        seed=seed,
        sizes=sizes,
        rules=rules,
        n_vacuous=n_vacuous,
        n_annotations=(parts.train.n_rows, parts.valid.n_rows),
        loss=make_loss(rules),
        rates=make_loss(learn_imagenet_x(parts, schema=RATES, seed=seed)),
        test=crops.take(np.arange(n * number, n * (1 + number))),
        tuning=crops.take(np.arange(n)),
        model=_source(place),
    )


def names_of_conditions(place: Place) -> Sequence[str]:
    """The images as they are and after each corruption; a few for a quick run."""
    return QUICK_CONDITIONS if place.quick else CONDITIONS


@cache
def _crops(place: Place, n: int) -> Crops:
    shown = read_annotations(place.folder, "val", is_complete=not place.is_made)
    return read_crops(shown, place.folder, n=n, seed=0)


@cache
def _source(place: Place) -> nn.Module:
    network = MadeNetwork() if place.is_made else load_efficientnet_lite0()
    return make_source(network, read_metaclasses(place.folder))
