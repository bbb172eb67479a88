"""Reconstruction: a model keeps imputing well what it is given, while rules change it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sqrl import Batch
from sqrl.errors import AdaptError
from sqrl.methods import Context, Objective
from sqrl_paper.imputation.saits_training import mean_error, withhold


class Reconstruction(Objective):
    """The mean error on a share of the given values, which is withheld from the model.

    It is the task that the model was trained on, and needs no more than what it is given. Rules
    alone may be kept by worse imputations: `Reconstruction(...) + 100 * RuleLoss(...)`.
    `standardised` turns outputs into units in which features weigh alike.

    Cost: another run of the model a step.

    >>> context = Context(
    ...     run=lambda batch: batch.inputs[0] + 2.0,
    ...     source=lambda batch: None,
    ...     generator=torch.Generator(),
    ... )
    >>> batch = Batch((torch.zeros(1, 2, 3), torch.ones(1, 2, 3)))
    >>> float(Reconstruction(lambda out: out / 4.0, share=1.0)(batch, None, context))
    0.5
    """

    def __init__(self, standardised: Callable[[Tensor], Tensor], *, share: float = 0.3) -> None:
        super().__init__()
        if not 0.0 < share <= 1.0:
            raise AdaptError(f"A share of {share} withheld.", fix="give a share between 0 and 1")
        self.standardised, self.share = standardised, share

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over the values withheld."""
        if context is None:
            raise AdaptError(
                "Reconstruction runs the model on other inputs, and there is no model here to run.",
                fix="use it through sqrl.adapt(model, batches, ...), or pass a context",
            )
        values, given = batch.inputs
        withheld = withhold(given, self.share, generator=context.generator)
        kept = given - withheld
        # What is withheld is not in the inputs at all: a model need not look at what is given.
        imputed = context.run(Batch((torch.where(kept > 0, values, 0.0), kept)))
        return mean_error(self.standardised(imputed), self.standardised(values), withheld)
