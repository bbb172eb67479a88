"""Image classification: which of 17 metaclasses an image of ImageNet belongs to.

Rules speak of the 16 factors that ImageNet-X knows of each image. They are learned from its train
annotations, without images; the model was trained on ImageNet before, and is adapted to the
validation images, as they are or corrupted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from sqrl import Batch, Batches, RuleLoss, RuleSet, Table, learn, split_rows
from sqrl_paper.imagenet_x.annotations import LABEL, METACLASSES
from sqrl_paper.imagenet_x.crops import Crops
from sqrl_paper.imagenet_x.image_scores import SIZE
from sqrl_paper.imagenet_x.metaclasses import Metaclasses

SCHEMA = "imagenet_x"
HELD_OUT = 0.2  # of the train annotations, to check bounds on
RATES: dict[str, Any] = {  # how often each metaclass occurs, whatever the factors: to compare with
    "label": LABEL,
    "coverage": 0.98,
    "let": {"Y": f"values({LABEL})"},
    "rules": [f"? <= rate({LABEL} = Y) <= ? over {SIZE}"],
    "batches": {"train": 181, "valid": 79},
    "validate": {"epsilon": 0.5, "share": HELD_OUT},
}


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The train annotations to learn rules from, and those to check them on."""

    train: Table
    valid: Table


def split_annotations(table: Table, *, seed: int) -> Parts:
    """The annotations in two parts, 80 and 20 in a hundred, drawn by the seed.

    >>> from sqrl import as_table
    >>> parts = split_annotations(as_table({"pose": [0, 1] * 10}), seed=0)
    >>> len(parts.train), len(parts.valid)
    (16, 4)
    """
    train, valid = split_rows(table.n_rows, HELD_OUT, seed=seed)
    return Parts(table.take(train), table.take(valid))


def learn_imagenet_x(
    parts: Parts,
    *,
    schema: Any = SCHEMA,
    seed: int,
    track: Callable[[str, int, int], None] | None = None,
) -> RuleSet:
    """The paper's rules for the task, 20 for each metaclass; or `schema=RATES`, or your own."""
    return learn(parts.train, schema, valid=parts.valid, seed=seed, track=track)


def drop_vacuous(rules: RuleSet) -> tuple[RuleSet, int]:
    """The rules that bound something, and how many had to go: those in [0, 1] and in [0, 0].

    No F1 is outside of [0, 1]. One of [0, 0] comes from factors that hardly ever occur, and says
    no more than that.

    >>> texts = ["0 <= f1(pose = 1 => metaclass = dog) <= 1 over 256"]
    >>> texts += ["0.1 <= f1(pose = 1 => metaclass = dog) <= 0.2 over 256"]
    >>> kept, n_dropped = drop_vacuous(RuleSet.from_texts(texts))
    >>> kept.texts() == texts[1:], n_dropped
    (True, 1)
    """
    lower, upper = (rules.table[end].to_numpy() for end in ("lower", "upper"))
    is_vacuous = (lower == 0) & ((upper == 0) | (upper == 1))
    return rules.take(np.flatnonzero(~is_vacuous)), int(is_vacuous.sum())


def make_source(network: nn.Module, metaclasses: Sequence[str]) -> Metaclasses:
    """The network asked for metaclasses, given that of each of its classes, in evaluation mode."""
    return Metaclasses(network, [METACLASSES.index(name) for name in metaclasses]).eval()


def names(batch: Batch, out: Tensor) -> dict[str, Any]:
    """What the rules see: the factors of the images, and the predicted metaclass."""
    return {**batch.columns, LABEL: out.softmax(-1)}


def make_loss(rules: RuleSet, **options: Any) -> RuleLoss:
    """The loss of the rules, for outputs whose columns are the METACLASSES."""
    return RuleLoss(rules, names, classes=METACLASSES, **options)


def make_batches(
    crops: Crops, images: Tensor | None = None, *, size: int = SIZE, seed: int = 0
) -> Batches:
    """Mini-batches of the images (or of `images`, the same ones corrupted) without their labels."""
    return Batches(crops.images if images is None else images, crops.factors, size=size, seed=seed)
