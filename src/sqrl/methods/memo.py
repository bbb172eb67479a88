"""MEMO: marginal entropy minimisation with one test point (Zhang et al., NeurIPS 2022)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Batch
from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of

Augment = Callable[[Any, torch.Generator], Any]


class MEMO(Objective):
    """The entropy of each row's prediction averaged over `n` augmentations of it.

    `augment(batch, generator)` gives another batch of the same rows: `TableNoise()`, or any
    function of yours. The authors start afresh from the source model for each test point: that is
    `adapt(..., mode="episodic")` with batches of one row, and left to you. BatchNorm statistics
    stay frozen, because one row has none.

    Cost: n runs of the model a step, one after the other, all kept for the gradient.

    >>> from sqrl.methods import Context
    >>> context = Context(run=lambda x: x, source=lambda x: x, generator=torch.Generator())
    >>> float(MEMO(lambda x, generator: x)(torch.zeros(3, 2), None, context))  # log(2)
    0.6931471824645996
    """

    lr, epochs = 1e-3, 5  # nothing keeps it from collapsing: small steps, and few

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


@dataclass(frozen=True, slots=True)
class TableNoise:
    """A batch whose numbers are jittered and some of whose entries are those of other rows.

    Numbers (floating point) get normal noise of `noise` standard deviations of their column over
    the batch; then a share `swap` of all entries is replaced by the same column's value in a random
    row. Integers and booleans are taken for categories, which are only replaced. Missing stays
    missing under noise. The columns of a Batch stay: they are what rules speak of, and an
    augmentation is about what the model sees.

    >>> generator = torch.Generator().manual_seed(0)
    >>> TableNoise(noise=0, swap=1)(torch.tensor([[1, 10], [2, 20], [3, 30]]), generator)
    tensor([[ 2, 30],
            [ 2, 20],
            [ 2, 20]])
    """

    noise: float = 0.1
    swap: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.swap <= 1:
            raise AdaptError(f"swap is {self.swap:g}.", fix="give a share from 0 to 1")
        if not 0 <= self.noise < float("inf"):
            raise AdaptError(f"noise is {self.noise:g}.", fix="give 0 or a number above it")

    def __call__(self, batch: Any, generator: torch.Generator) -> Any:
        """Another batch of the same rows, whose tensors are in a Batch, tuples, lists or dicts."""
        n_changed = 0

        def change(value: Any) -> Any:
            nonlocal n_changed
            if isinstance(value, Tensor) and value.ndim:
                n_changed += 1
                return self._swapped(self._jittered(value, generator), generator)
            if isinstance(value, Batch):
                return replace(value, inputs=change(value.inputs))
            if isinstance(value, Mapping):
                return {name: change(item) for name, item in value.items()}
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*map(change, value))
            return type(value)(map(change, value)) if isinstance(value, tuple | list) else value

        made = change(batch)
        if not n_changed:
            raise AdaptError(
                f"There is nothing to augment: a batch ({type(batch).__name__}) holds no tensors.",
                fix="write a function of your own: augment=lambda batch, generator: ...",
            )
        return made

    def _jittered(self, values: Tensor, generator: torch.Generator) -> Tensor:
        if not values.is_floating_point() or not self.noise:
            return values
        spread = (values - values.nanmean(dim=0)).square().nanmean(dim=0).sqrt()
        noise = torch.randn(values.shape, generator=generator, device=generator.device)
        return values + self.noise * spread * noise.to(values)

    def _swapped(self, values: Tensor, generator: torch.Generator) -> Tensor:
        n = len(values)
        chance, place = (  # drawn where the generator is, to be the same whatever the device
            torch.rand(values.shape, generator=generator, device=generator.device).to(values.device)
            for _ in range(2)
        )
        other = (place * n).long().clamp(max=n - 1)
        return torch.where(chance < self.swap, values.gather(0, other), values)
