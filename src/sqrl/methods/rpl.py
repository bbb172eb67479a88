"""RPL: robust pseudo-labelling (Rusak et al., TMLR 2022)."""

from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, log_probabilities, logits_of


class RPL(Objective):
    """The generalised cross-entropy (1 - p^q) / q of the classes that the model itself predicts.

    The less certain a label, the less it weighs: the gradient is that of the cross-entropy times
    p^q. With q = 0 that is the cross-entropy itself, with q = 1 the mean absolute error.

    >>> float(RPL(q=1.0)(None, torch.tensor([[0.0, 0.0]])))
    0.5
    """

    statistics = "adapted"
    lr, epochs = 1e-3, 5  # nothing keeps it from collapsing: small steps, and few

    def __init__(self, q: float = 0.8, *, logits: Pick | None = None) -> None:
        super().__init__()
        if not 0 <= q <= 1:
            raise AdaptError(f"q is {q:g}.", fix="give a q from 0 to 1; the authors take 0.8")
        self.q, self.logits = q, logits

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        log_p = log_probabilities(logits_of(out, self.logits)).max(dim=-1).values
        return generalised_cross_entropy(log_p, self.q).mean()


def generalised_cross_entropy(log_p: Tensor, q: float) -> Tensor:
    """(1 - p^q) / q from the logarithm of p; its limit -log p at q = 0.

    >>> generalised_cross_entropy(torch.tensor([0.25]).log(), 0.5)
    tensor([1.])
    """
    # expm1 keeps the digits that 1 - p^q loses where q is small or p near one.
    return -log_p if q == 0 else -torch.expm1(q * log_p) / q
