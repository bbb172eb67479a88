"""Imputer: a network for standardised series that takes and gives them in their own units."""

import numpy as np
import torch
from torch import Tensor, nn

from sqrl_paper.imputation.parts import Part, Scaling, single
from sqrl_paper.imputation.saits import Saits
from sqrl_paper.imputation.saits_training import SaitsExamples


class Imputer(nn.Module):
    """A series in raw units, with estimates where no value is given.

    Rules speak of raw units. With those at the model's own output, a rule's bounds, clipping and a
    person all see the same numbers.

    Shapes: values and given (n, n_hours, n_features), and so the result.
    """

    def __init__(self, network: Saits, scaling: Scaling) -> None:
        super().__init__()
        self.network = network
        self.centres: Tensor
        self.spreads: Tensor
        self.register_buffer("centres", single(scaling.centres))
        self.register_buffer("spreads", single(scaling.spreads))

    def forward(self, values: Tensor, given: Tensor) -> Tensor:
        """The values where they are given, estimates elsewhere."""
        mixed = self.network.estimates((values - self.centres) / self.spreads, given).mixed
        return torch.where(given > 0, values, mixed * self.spreads + self.centres)

    def standardised(self, out: Tensor) -> Tensor:
        """Outputs in standard deviations from the mean, in which features weigh alike."""
        return (out - self.centres) / self.spreads


def examples_of(part: Part, scaling: Scaling) -> SaitsExamples:
    """A part as the network is trained on it: standardised, zero where nothing was observed."""
    values = np.nan_to_num(scaling.standardised(part.values), nan=0.0)
    return SaitsExamples(single(values), single(part.given), single(part.hidden))
