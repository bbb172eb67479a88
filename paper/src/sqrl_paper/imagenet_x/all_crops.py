"""All crops at once, in the setting of the authors' released code, without any tuning.

In that code (image_classification/train_and_test_time_adaptation.py) rules bound the F1 within the
body, their bounds overlap by more than 0.6, and of each metaclass those that overlap best are kept;
the loss is the distance of sigmoidF1 to the nearer bound, averaged over broken rules. SGD at 0.002
goes through 10 epochs of mini-batches of 256, whose own statistics all BatchNorm layers use, before
and after; the epoch whose steps had the lowest loss is reported: no label has a part. Here all
4,889 crops are the test, and each method but ours makes these steps.
"""

import copy
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from sqrl import Batches, RuleSet, learn, load_schema
from sqrl.methods import Objective, Tent
from sqrl_paper.imagenet_x.annotations import read_annotations, read_metaclasses
from sqrl_paper.imagenet_x.crops import Crops, read_crops
from sqrl_paper.imagenet_x.first_norms import with_first_statistics
from sqrl_paper.imagenet_x.image_scores import SIZE, score, score_truth
from sqrl_paper.imagenet_x.made import MadeNetwork
from sqrl_paper.imagenet_x.task import (
    SCHEMA,
    drop_vacuous,
    learn_imagenet_x,
    make_batches,
    make_loss,
    make_source,
    split_annotations,
)
from sqrl_paper.place import Place
from sqrl_paper.shared.efficientnet_lite import load_efficientnet_lite0
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]
NONE, BATCH_NORM, TENT = "none", "BN", "Tent"
TEXT, RELEASED = "paper's loss", "released setting"
OURS, TRUSTED = "ours", "ours, rules trusted"
NAMES = (NONE, BATCH_NORM, TENT, TEXT, RELEASED, OURS, TRUSTED)
EPOCHS, RATE = 10, 2e-3  # of the released code
EPSILON, TOP = 0.4, 20  # bounds overlap by more than 0.6; rules of each metaclass
N_FIRST = 16  # of 16 blocks, whose results are computed once: the last convolution adapts
N_NORMED = 512  # crops that statistics of the first blocks are of
N_COUNTED = 50  # mini-batches that broken rules are counted on
AT_ONCE = 128  # images
COUNTED_WITH = 2000  # mini-batches that violations are counted on are not those of any step


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A method on all crops, with the rules of a seed."""

    seed: int
    method: str


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """What the first blocks make of all crops, and the blocks after them."""

    values: Tensor
    last: nn.Module
    logits: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The rules of a seed: the paper's as this task learns them, and those of the released code."""

    plain: RuleSet
    released: RuleSet


def measure_row(place: Place, job: Row) -> Json:
    """How good a method is on all crops, and what it breaks of either set of rules."""
    began = time.perf_counter()
    crops, rules = read_all(place), learned(place, job.seed)
    logits, told = predict(place, job.method, rules, seed=job.seed)
    seconds = time.perf_counter() - began
    counted = {"seed": COUNTED_WITH + job.seed, "n_batches": 2 if place.quick else N_COUNTED}
    losses = {"plain": make_loss(rules.plain), "released": make_loss(rules.released)}
    found = {name: asdict(score(logits, crops, loss, **counted)) for name, loss in losses.items()}
    if job.method == NONE:
        told |= describe(crops, rules) | {
            "truth": {n: asdict(score_truth(crops, loss, **counted)) for n, loss in losses.items()}
        }
    return {"accuracy": found["plain"]["accuracy"], **found, "seconds": seconds, **told}


def describe(crops: Crops, rules: Learned) -> Json:
    """How many crops and rules there are, and how many released rules bound nothing."""
    bounds = [rules.released.table[end].to_numpy() for end in ("lower", "upper")]
    at_zero = (bounds[0] == 0) & (bounds[1] == 0)
    return {
        "crops": len(crops),
        "rules": {"plain": len(rules.plain), "released": len(rules.released)},
        "at_zero": int(at_zero.sum()),
        "anywhere": int(((bounds[0] == 0) & (bounds[1] == 1)).sum()),
    }


def predict(place: Place, method: str, rules: Learned, *, seed: int) -> tuple[Tensor, Json]:
    """The logits of all crops after a method, and what is to be told of it."""
    if method == NONE:
        return halves(place, "source").logits, {}
    if method == BATCH_NORM:
        return halves(place, "test").logits, {}
    if method in (OURS, TRUSTED):
        return _adapt(place, rules.plain, is_trusted=method == TRUSTED, seed=seed)
    objectives: dict[str, Objective] = {
        TENT: Tent(),
        TEXT: make_loss(rules.plain, loss="paper"),
        RELEASED: make_loss(rules.released, loss="released"),
    }
    found = halves(place, "test")
    batches = make_batches(read_all(place), found.values, size=SIZE, seed=seed)
    epochs = 2 if place.quick else EPOCHS
    model, losses = step_released(found.last, batches, objectives[method], epochs=epochs)
    best = min(range(len(losses)), key=losses.__getitem__)
    told = {"losses": losses, "epoch": best + 1, "epochs": epochs}
    return predict_by_batches(model, found.values, seed=seed), told


def step_released(
    source: nn.Module, batches: Batches, loss: Objective, *, epochs: int
) -> tuple[nn.Module, list[float]]:
    """A copy of the model after the epoch whose steps had the lowest loss, and each epoch's loss.

    BatchNorm layers use each mini-batch's own statistics, and only their scale and shift change.
    """
    model = copy.deepcopy(source)
    layers = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    use_batch_statistics(model)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    chosen = [parameter.requires_grad_() for layer in layers for parameter in layer.parameters()]
    optimiser = torch.optim.SGD(chosen, lr=RATE)
    losses: list[float] = []
    best = copy.deepcopy(model.state_dict())
    for _ in range(epochs):
        costs = []
        for batch in batches:
            cost = loss(batch, model(batch.inputs))
            costs.append(float(cost.detach()))
            if costs[-1] > 0:
                optimiser.zero_grad()
                cost.backward()
                optimiser.step()
        losses.append(sum(costs) / len(costs))
        if losses[-1] == min(losses):
            best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return model, losses


def use_batch_statistics(model: nn.Module) -> None:
    """Let BatchNorm layers normalise each mini-batch by itself, now and in evaluation."""
    model.eval()
    for layer in model.modules():
        if isinstance(layer, _BatchNorm):
            layer.train()
            layer.momentum = 0.0  # what training knew stays in the file of the model, unused


@torch.no_grad()
def predict_by_batches(model: nn.Module, values: Tensor, *, seed: int) -> Tensor:
    """The logits, with statistics of mini-batches of about 256 rows that the seed draws."""
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(seed))
    parts = torch.tensor_split(order, max(1, len(order) // SIZE))
    logits = torch.cat([model(values[part]) for part in parts])
    return logits[order.argsort()]


def _adapt(place: Place, rules: RuleSet, *, is_trusted: bool, seed: int) -> tuple[Tensor, Json]:
    """What `sqrl.adapt` does with our loss: its defaults, but for the epochs."""
    found = halves(place, "source")
    batches = make_batches(read_all(place), found.values, size=SIZE, seed=seed)
    epochs = 2 if place.quick else EPOCHS
    adapted, told = adapt_told(
        *(found.last, batches, make_loss(rules)), epochs=epochs, trust_rules=is_trusted, seed=seed
    )
    return torch.cat(list(_in_parts(adapted.model, found.values))), told | {"epochs": epochs}


@cache
def read_all(place: Place) -> Crops:
    """Every annotated crop that is there, in a fixed order."""
    shown = read_annotations(place.folder, "val", is_complete=not place.is_made)
    return read_crops(shown, place.folder, seed=0)


@cache
def learned(place: Place, seed: int) -> Learned:
    """The rules of a seed."""
    annotations = read_annotations(place.folder, "train", is_complete=not place.is_made)
    parts = split_annotations(annotations, seed=seed)
    plain = drop_vacuous(learn_imagenet_x(parts, seed=seed))[0]
    released = learn(parts.train, released_schema(), valid=parts.valid, seed=seed)
    return Learned(plain, released)


def released_schema() -> Json:
    """The task's schema with F1 within the body, another overlap, and the best overlaps chosen.

    A metaclass has fewer candidates than the 10,000 with the highest lower bounds that the code
    looks at, so that these are all. Rules that bound nothing stay, as in the code.

    >>> released_schema()["select"]
    {'top': 20, 'per': 'Y', 'by': 'jaccard'}
    """
    shipped = load_schema(SCHEMA)
    return {
        "label": shipped.label,
        "coverage": shipped.coverage,
        "let": shipped.let,
        "rules": [str(rule).replace("f1(", "f1_given(") for rule in shipped.rules],
        "batches": {"train": shipped.batches.train, "valid": shipped.batches.valid},
        "validate": {"epsilon": EPSILON},
        "select": {"top": TOP, "per": "Y", "by": "jaccard"},
    }


@cache
def halves(place: Place, statistics: str) -> Halves:
    """The network in two, with statistics of training ("source") or of crops ("test").

    # PAPER: the released code adapts all BatchNorm layers, whose statistics are those of each
    # mini-batch. Here that is so after the last convolution; before it statistics are of 512 crops
    # together and stay: 10 epochs of all crops then take half a minute of one core.
    """
    images = read_all(place).images
    network: Any = MadeNetwork().eval() if place.is_made else load_efficientnet_lite0()
    if statistics == "test":
        network = with_first_statistics(network, torch.split(images[:N_NORMED], AT_ONCE), share=1.0)
    first, last = network.cut(N_FIRST)
    asked = make_source(last, read_metaclasses(place.folder))
    asked.piece = SIZE  # of so few layers that memory is no matter
    values = torch.cat(list(_in_parts(first, images)))
    return Halves(values, asked, torch.cat(list(_in_parts(asked, values))))


@torch.no_grad()
def _in_parts(model: nn.Module, rows: Tensor) -> Iterator[Tensor]:
    for part in torch.split(rows, AT_ONCE):
        yield model(part)
