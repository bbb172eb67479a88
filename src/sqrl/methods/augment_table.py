"""TableNoise: rows of a table, slightly other."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sqrl.errors import AdaptError
from sqrl.methods._augment import change_inputs, check_share, uniform


@dataclass(frozen=True, slots=True)
class TableNoise:
    """A batch whose numbers are jittered and some of whose entries are those of other rows.

    Numbers (floating point) get normal noise of `noise` standard deviations of their column over
    the batch; then a share `swap` of all entries is replaced by the same column's value in a random
    row. Integers and booleans are taken for categories, which are only replaced. Missing stays
    missing under noise.

    >>> generator = torch.Generator().manual_seed(0)
    >>> TableNoise(noise=0, swap=1)(torch.tensor([[1, 10], [2, 20], [3, 30]]), generator)
    tensor([[ 2, 30],
            [ 2, 20],
            [ 2, 20]])
    """

    noise: float = 0.1
    swap: float = 0.1

    def __post_init__(self) -> None:
        check_share("swap", self.swap)
        if not 0 <= self.noise < float("inf"):
            raise AdaptError(f"noise is {self.noise:g}.", fix="give 0 or a number above it")

    def __call__(self, batch: Any, generator: torch.Generator) -> Any:
        """Another batch of the same rows."""
        return change_inputs(
            batch,
            lambda values: self._swapped(self._jittered(values, generator), generator),
            where=lambda value: isinstance(value, Tensor) and value.ndim > 0,
            what="tensors",
        )

    def _jittered(self, values: Tensor, generator: torch.Generator) -> Tensor:
        if not values.is_floating_point() or not self.noise:
            return values
        spread = (values - values.nanmean(dim=0)).square().nanmean(dim=0).sqrt()
        noise = torch.randn(values.shape, generator=generator, device=generator.device)
        return values + self.noise * spread * noise.to(values)

    def _swapped(self, values: Tensor, generator: torch.Generator) -> Tensor:
        n = len(values)
        shape = tuple(values.shape)
        chosen = uniform(shape, generator, values) < self.swap
        other = (uniform(shape, generator, values) * n).long().clamp(max=n - 1)
        return torch.where(chosen, values.gather(0, other), values)
