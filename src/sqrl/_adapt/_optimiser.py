"""Adam on the chosen parameters, in single precision whatever the model's, and revocable."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from sqrl._adapt._parameters import Chosen

HALF = (torch.float16, torch.bfloat16)
# float16 loses gradients below 6e-8 and those above 65,504; tried from the first to the last.
SCALES = (2.0**14, 2.0**7, 1.0)

Outcome = Literal["made", "no gradient", "not finite"]
Kept = tuple[list[Tensor], dict[int, dict[str, Any]]]


class Optimiser:
    """Makes steps of Adam, and takes them back."""

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

    def take(self) -> Kept:
        """A copy of the masters and of Adam's moments."""
        masters = [value.detach().clone() for value in self._masters]
        return masters, {key: _cloned(self._adam.state.get(value, {})) for key, value in self._keys}

    @torch.no_grad()
    def restore(self, kept: Kept) -> None:
        """Go back to a copy."""
        masters, states = kept
        for master, value in zip(self._masters, masters, strict=True):
            master.copy_(value)
        self._adam.state.clear()
        for key, value in self._keys:
            if states[key]:
                self._adam.state[value] = _cloned(states[key])
        self._copy_back()

    @property
    def _keys(self) -> list[tuple[int, Tensor]]:
        return list(enumerate(self._masters))

    def update(self, loss: Tensor) -> Outcome:
        """Make a step down the gradient of the loss, unless there is none or it is not finite."""
        gradients = self._gradients(loss)
        if all(gradient is None for gradient in gradients):
            return "no gradient"
        known = [gradient for gradient in gradients if gradient is not None]
        if not _all_finite(known):
            return "not finite"
        for master, gradient in zip(self._masters, gradients, strict=True):
            master.grad = gradient
        self._adam.step()
        self._adam.zero_grad()
        self._copy_back()
        return "made" if _all_finite(self._parameters) else "not finite"

    def _gradients(self, loss: Tensor) -> list[Tensor | None]:
        """The gradient for each master; a smaller scale is tried where a larger one overflows."""
        if not loss.requires_grad:
            return [None] * len(self._masters)
        made: list[Tensor | None] = []
        while True:
            scale = self._scales[0]
            is_last = len(self._scales) == 1
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


def _cloned(state: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.clone() if isinstance(value, Tensor) else value for name, value in state.items()
    }


def _all_finite(tensors: Sequence[Tensor]) -> bool:
    return not tensors or bool(
        torch.stack([value.detach().isfinite().all() for value in tensors]).all()
    )
