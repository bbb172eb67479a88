"""Where a method starts from: the source, or the source with statistics of the images at hand."""

from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor, nn

from sqrl.methods import Objective
from sqrl_paper.imagenet_x.as_seen import Seen
from sqrl_paper.imagenet_x.data import Prepared
from sqrl_paper.imagenet_x.methods import Method

SOURCE, RECOMPUTED = "source", "first half"


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A model to start from, its logits, and the objective of each candidate, if compared."""

    name: str
    model: nn.Module
    logits: Tensor
    objectives: dict[str, float]

    @property
    def is_as_in_training(self) -> bool:
        """Whether statistics of training were compared with those of the images, and were kept."""
        return self.name == SOURCE and bool(self.objectives)


def find_start(method: Method, data: Prepared, seen: Seen, objective: Objective) -> Start:
    """The start of a method; no labels are looked at.

    A near-uniform prediction breaks few rules in expectation, and a collapsed one is certain: so
    neither rules nor entropy alone can say which statistics are right, but their sum can.
    """
    if method.start == "source":
        return Start(SOURCE, seen.model, seen.logits, {})
    if method.start == "first half":
        return Start(RECOMPUTED, seen.first_half, seen.logits_of_first_half, {})
    values = {
        SOURCE: mean_objective(seen.logits, data, seen, objective),
        RECOMPUTED: mean_objective(seen.logits_of_first_half, data, seen, objective),
    }
    if values[SOURCE] <= values[RECOMPUTED]:
        return Start(SOURCE, seen.model, seen.logits, values)
    return Start(RECOMPUTED, seen.first_half, seen.logits_of_first_half, values)


@torch.no_grad()
def mean_objective(logits: Tensor, data: Prepared, seen: Seen, objective: Objective) -> float:
    """The objective's mean over mini-batches of the size that rules are about."""
    batches = seen.batches(size=data.sizes.rules, seed=data.seed)
    return fmean(float(objective(batch, logits[batch.rows])) for batch in batches)
