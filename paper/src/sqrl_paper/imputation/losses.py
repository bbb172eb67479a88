"""Losses of the paper that need saying anew for imputed values: its own, and Tent's."""

from typing import Any

import torch
from torch import Tensor

from sqrl import RuleLoss, RuleSet
from sqrl.methods import Clip, Context, Objective
from sqrl_paper.imputation.physionet import FEATURES
from sqrl_paper.imputation.task import Imputation, name_values


class NegativeNorm(Objective):
    """Minus the mean square of what is imputed, in standard deviations.

    PAPER: for regression it minimises the negative norm of the outputs in the place of Tent's
    entropy, after Goyal et al. (2022); for a squared error their conjugate pseudo-labels (CPL)
    come to the same.
    """

    def __init__(self, task: Imputation) -> None:
        super().__init__()
        self.standardised = task.model.standardised

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over the values that are not given."""
        is_imputed = batch.inputs[1] == 0
        return -self.standardised(out)[is_imputed].square().mean()


def paper_loss(task: Imputation) -> RuleLoss:
    """The paper's loss of the rules, with values in shares of the train values' range.

    PAPER: its unit is not told. In raw units the quadratic is above 1, and clipped, as soon as a
    value of most features leaves its bounds, and there is no gradient.
    """
    ranges = torch.from_numpy(task.scaling.ranges)

    def names(batch: Any, out: Tensor) -> dict[str, Tensor]:
        return name_values(out / ranges.to(out.dtype), batch.inputs[1] == 0)

    return RuleLoss(scaled_rules(task.rules, task.scaling.ranges.tolist()), names, loss="paper")


def scaled_rules(rules: RuleSet, units: list[float]) -> RuleSet:
    """The rules that bound a feature, with bounds in these units, one for each feature.

    >>> rules = RuleSet.from_texts(["3 <= GCS <= 15"])
    >>> scaled_rules(rules, [12.0] * len(FEATURES))[0].text
    '0.25 <= GCS <= 1.25'
    """
    bounds = Clip(rules, FEATURES)
    scaled = zip(FEATURES, bounds.lower.tolist(), bounds.upper.tolist(), units, strict=True)
    return RuleSet.from_texts(
        [
            f"{low / unit!r} <= {name} <= {high / unit!r}"
            for name, low, high, unit in scaled
            if high < torch.inf
        ]
    )
