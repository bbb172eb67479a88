"""MEMO: marginal entropy minimisation with one test point (Zhang et al., NeurIPS 2022)."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of

Augment = Callable[[Any, torch.Generator], Any]


class MEMO(Objective):
    """The entropy of each row's prediction averaged over `n` augmentations of it.

    `augment(batch, generator)` gives another batch of the same rows: `TableNoise`, `ImageNoise`,
    `TokenNoise`, `WordNoise`, or a function of yours. The authors start afresh from the source
    model for each test point: that is `adapt(..., mode="episodic")` with batches of one row, and
    left to you. BatchNorm statistics stay frozen, because one row has none.

    Cost: n runs of the model a step, one after the other, all kept for the gradient.

    >>> from sqrl._adapt.objective import Context
    >>> context = Context(run=lambda x: x, source=lambda x: x, generator=torch.Generator())
    >>> float(MEMO(lambda x, generator: x)(torch.zeros(3, 2), None, context))  # log(2)
    0.6931471824645996
    """

    def __init__(self, augment: Augment, n: int = 8, *, logits: Pick | None = None) -> None:
        super().__init__()
        if n < 1:
            raise AdaptError(f"MEMO with {n} augmentations.", fix="give n of at least 1")
        self.augment, self.n, self.logits = augment, n, logits

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        if context is None:
            raise AdaptError(
                "MEMO runs the model on augmented batches, and there is no model here to run.",
                fix="use it through sqrl.adapt(model, batches, MEMO(...)), or pass a context",
            )
        runs = []
        for _ in range(self.n):
            made = context.run(self.augment(batch, context.generator))
            runs.append(log_probabilities(logits_of(made, self.logits)))
        shapes = {tuple(run.shape) for run in runs}
        if len(shapes) > 1:
            raise AdaptError(
                f"The model's outputs on augmented batches differ in shape: {sorted(shapes)}.",
                fix="let augment keep the number of rows and their order",
            )
        return entropy(torch.logsumexp(torch.stack(runs), dim=0) - math.log(self.n)).mean()
