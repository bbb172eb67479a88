"""Adam on the chosen parameters, in single precision whatever the model's, and revocable."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from sqrl._adapt.parameters import Chosen

HALF = (torch.float16, torch.bfloat16)
# float16 loses gradients below 6e-8 and those above 65,504; tried from the first to the last.
SCALES = (2.0**14, 2.0**7, 1.0)

MEMORY = 0.9  # the weight of all earlier steps in the average, to that of the last one

Outcome = Literal["made", "no gradient", "not finite"]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A copy of the masters, of their average over the last steps, and of Adam's moments."""

    masters: list[Tensor]
    averages: list[Tensor]
    n_averaged: int
    moments: list[dict[str, Any]]


class Optimiser:
    """Makes steps of Adam, takes them back, and keeps their average.

    Steps of Adam jump to and fro about where they should lead to; their average over the last ten
    or so does not.
    """

    def __init__(self, chosen: Chosen, *, lr: float) -> None:
        self._parameters: list[nn.Parameter] = list(chosen.values())
        # An update smaller than the spacing of half-precision numbers would be lost.
        self._masters = [
            value.detach().float().requires_grad_() if value.dtype in HALF else value
            for value in self._parameters
        ]
        # Adam refuses an empty list, which methods without steps have.
        self._adam = torch.optim.Adam(self._masters or [torch.zeros(1)], lr=lr)
        self.lr = lr
        self._averages, self._n_averaged = _copies(self._masters), 0
        is_float16 = any(value.dtype == torch.float16 for value in self._parameters)
        self._scales: Sequence[float] = SCALES if is_float16 else (1.0,)

    def slow_down(self) -> None:
        """Halve the learning rate from now on; taking steps back does not undo this."""
        self.set_lr(self.lr / 2)

    def set_lr(self, lr: float) -> None:
        """Go on with another learning rate."""
        self.lr = lr
        for group in self._adam.param_groups:
            group["lr"] = lr

    def forget(self) -> None:
        """Go on without the moments of earlier steps, and average from here."""
        self._adam.state.clear()
        self._averages, self._n_averaged = _copies(self._masters), 0

    def take(self) -> Kept:
        """A copy of all that a step changes."""
        moments = [_cloned(self._adam.state.get(master, {})) for master in self._masters]
        return Kept(_copies(self._masters), _copies(self._averages), self._n_averaged, moments)

    def averages(self) -> list[Tensor]:
        """The average of each parameter over the last steps, in the parameter's precision."""
        pairs = zip(self._averages, self._parameters, strict=True)
        return [average.to(parameter.dtype) for average, parameter in pairs]

    @torch.no_grad()
    def restore(self, kept: Kept) -> None:
        """Go back to a copy."""
        self._averages, self._n_averaged = _copies(kept.averages), kept.n_averaged
        self._adam.state.clear()
        both = zip(kept.masters, kept.moments, strict=True)
        for master, (value, moments) in zip(self._masters, both, strict=True):
            master.copy_(value)
            if moments:
                self._adam.state[master] = _cloned(moments)
        self._copy_back()

    def update(self, loss: Tensor) -> Outcome:
        """Make a step down the gradient of the loss, unless there is none or it is not finite."""
        gradients = self._gradients(loss)
        known = [gradient for gradient in gradients if gradient is not None]
        if not known:
            return "no gradient"
        if not _all_finite(known):
            return "not finite"
        for master, gradient in zip(self._masters, gradients, strict=True):
            master.grad = gradient
        self._adam.step()
        self._adam.zero_grad()
        self._copy_back()
        self._average()
        return "made" if _all_finite(self._parameters) else "not finite"

    @torch.no_grad()
    def _average(self) -> None:
        """Take the last step into the averages; the first ones are plain means."""
        self._n_averaged += 1
        share = (1 - MEMORY) / (1 - MEMORY**self._n_averaged)
        for average, master in zip(self._averages, self._masters, strict=True):
            average.lerp_(master, share)

    def _gradients(self, loss: Tensor) -> list[Tensor | None]:
        """The gradient for each master; a smaller scale is tried where a larger one overflows."""
        if not loss.requires_grad:
            return [None] * len(self._masters)
        while True:
            scale, is_last = self._scales[0], len(self._scales) == 1
            found: Sequence[Tensor | None] = torch.autograd.grad(
                loss.float() * scale if scale > 1 else loss,
                self._parameters,
                allow_unused=True,
                retain_graph=not is_last,
            )
            made = [
                None if gradient is None else gradient.to(master.dtype) / scale
                for gradient, master in zip(found, self._masters, strict=True)
            ]
            if is_last or _all_finite([value for value in made if value is not None]):
                return made
            self._scales = self._scales[1:]

    @torch.no_grad()
    def _copy_back(self) -> None:
        for parameter, master in zip(self._parameters, self._masters, strict=True):
            if parameter is not master:
                parameter.copy_(master)


def _copies(values: Sequence[Tensor]) -> list[Tensor]:
    return [value.detach().clone() for value in values]


def _cloned(state: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.clone() if isinstance(value, Tensor) else value for name, value in state.items()
    }


def _all_finite(tensors: Sequence[Tensor]) -> bool:
    return not tensors or bool(
        torch.stack([value.detach().isfinite().all() for value in tensors]).all()
    )
