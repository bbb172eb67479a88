"""Parameters that a run adapts, as a method sees them: now, in the source, or others in place."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sqrl.errors import AdaptError
from sqrl.methods._logits import HALF


class Parameters:
    """The parameters of a model that have gradients, and copies of what they were at first.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> known = Parameters(model)
    >>> source = known.source["weight"].item()
    >>> known.set({"weight": torch.zeros(1, 1)})
    >>> model.weight.item(), known.source["weight"].item() == source
    (0.0, True)
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._source: dict[str, Tensor] | None = None

    @property
    def now(self) -> dict[str, nn.Parameter]:
        """The parameters themselves, by name."""
        return {name: one for name, one in self.model.named_parameters() if one.requires_grad}

    @property
    def source(self) -> dict[str, Tensor]:
        """Copies of the parameters as they were when this was first asked for."""
        if self._source is None:
            self._source = {name: one.detach().clone() for name, one in self.now.items()}
        return self._source

    def set(self, values: Mapping[str, Tensor]) -> None:
        """Give parameters other values, behind the back of gradients that are under way.

        Of half-precision parameters the optimiser has copies of its own, which would win.
        """
        for name, parameter in self.now.items():
            if parameter.dtype in HALF:
                raise AdaptError(
                    f"Parameter {name!r} is of {parameter.dtype}, and cannot be set back.",
                    fix="adapt the model in single precision: model.float()",
                )
            parameter.data.copy_(values[name])

    def run(self, values: Mapping[str, Tensor], run: Callable[[Any], Any], batch: Any) -> Any:
        """What `run(batch)` gives while the model has these values in place of its parameters."""
        return torch.func.functional_call(_Run(self.model, run), _inner(values), (batch,))


class _Run(nn.Module):
    """A model with another way to run it, so that torch puts parameters into the model for it."""

    def __init__(self, model: nn.Module, run: Callable[[Any], Any]) -> None:
        super().__init__()
        self.model = model
        self.__dict__["_run"] = run  # no submodule, should it be the model itself

    def forward(self, batch: Any) -> Any:
        return self.__dict__["_run"](batch)


def _inner(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"model.{name}": value for name, value in values.items()}
