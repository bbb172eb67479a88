"""SAR: certainty that small changes of the weights do not undo (Niu et al., ICLR 2023)."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of
from sqrl.methods._parameters import Parameters
from sqrl.methods.eata import check_threshold, moving_average


class SAR(Objective):
    """The entropy of reliable rows where it is largest within `radius` of the weights.

    Reliable are rows with an entropy below `threshold` log C, for C classes. Nearby the entropy is
    largest, to first order, at radius g / ||g|| from the weights, for its gradient g: that is where
    the gradient of a step is taken. The model is set back to the source where the moving average
    of this entropy falls below `recovery` log C: then all is called by one class.

    Cost: two runs of the model a step.

    >>> p = torch.tensor([[0.5, 0.5], [0.01, 0.99]])
    >>> round(float(reliable_entropy(p.log(), entropy(p.log()) < 0.4 * math.log(2))), 4)
    0.028
    """

    lr = 2.5e-4
    epochs = 5

    def __init__(
        self,
        *,
        radius: float = 0.05,
        threshold: float = 0.4,
        # PAPER: the authors reset below 0.2, with 1,000 classes. Of the largest entropy that is
        # 0.029, and with two classes most reliable rows are below 0.2 to begin with.
        recovery: float = 0.2 / math.log(1000),
        logits: Pick | None = None,
    ) -> None:
        super().__init__()
        check_threshold(threshold)
        if not 0 <= radius < math.inf:
            raise AdaptError(f"radius is {radius:g}.", fix="give 0 or a number above it")
        if not 0 <= recovery <= 1:
            raise AdaptError(f"recovery is {recovery:g}.", fix="give a share of log C from 0 to 1")
        self.radius, self.threshold, self.recovery = radius, threshold, recovery
        self.logits = logits
        self._own: Parameters | None = None
        self._average: Tensor | None = None

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model itself, with nothing known yet of its entropy."""
        self._own, self._average = Parameters(model), None
        return model

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number to minimise, averaged over rows."""
        log_p = log_probabilities(logits_of(out, self.logits))
        most = self.threshold * math.log(log_p.shape[-1])
        is_reliable = entropy(log_p.detach()) < most
        value = reliable_entropy(log_p, is_reliable)
        if not value.requires_grad:  # somebody only looks
            return value
        source = self._own.source if self._own else {}  # copied before the first step
        value = self._sharpest(value, is_reliable, batch, context)
        if not is_reliable.any():
            return value
        # Of reliable rows alone; the share of these would move an average over all rows.
        self._average = moving_average(self._average, value / is_reliable.to(value).mean())
        least = self.recovery * math.log(log_p.shape[-1])
        if self._own is None or self._average is None or self._average >= least:
            return value
        self._own.set(source)
        self._average = None
        return value.new_zeros(())  # no step from what was left behind

    def _sharpest(
        self, value: Tensor, is_reliable: Tensor, batch: Any, context: Context | None
    ) -> Tensor:
        """The entropy of the same rows at the worst weights within the radius."""
        if not self.radius:
            return value
        if context is None or self._own is None:
            raise AdaptError(
                "SAR runs the model with other weights, and there is no model here to run.",
                fix="use it through sqrl.adapt(model, batches, SAR()), or give it a radius of 0",
            )
        now = self._own.now
        if not now:  # what is adapted was put around the model, as by Bias
            return value
        found = torch.autograd.grad(value, list(now.values()), retain_graph=True, allow_unused=True)
        shift = worst_shift(found, self.radius)
        moved = {
            name: one if by is None else one + by
            for (name, one), by in zip(now.items(), shift, strict=True)
        }
        out = self._own.run(moved, context.run, batch)
        return reliable_entropy(log_probabilities(logits_of(out, self.logits)), is_reliable)


def reliable_entropy(log_p: Tensor, is_reliable: Tensor) -> Tensor:
    """The entropy of reliable rows, averaged over all rows.

    >>> p = torch.tensor([[0.5, 0.5], [0.01, 0.99]])
    >>> reliable_entropy(p.log(), torch.tensor([True, False]))  # log(2) / 2
    tensor(0.3466)
    """
    return torch.where(is_reliable, entropy(log_p), 0).mean()


def worst_shift(gradients: tuple[Tensor | None, ...], radius: float) -> list[Tensor | None]:
    """The step of this length up the gradient, all parameters taken together.

    >>> worst_shift((torch.tensor([3.0]), None, torch.tensor([4.0])), 0.5)
    [tensor([0.3000]), None, tensor([0.4000])]
    """
    squares = [one.double().square().sum() for one in gradients if one is not None]
    norm = torch.stack(squares).sum().sqrt() if squares else torch.zeros(())
    scale = radius / norm.clamp(min=1e-12)  # with no gradient there is nowhere to go
    return [None if one is None else (one * scale).to(one.dtype) for one in gradients]
