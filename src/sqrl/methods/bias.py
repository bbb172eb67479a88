"""Bias: one number added to the logits of each class, fitted to the rules."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import output_of, with_output


class Bias(Objective):
    """An objective that only a bias on the logits is fitted to, the same for all rows.

    What any method must beat that only moves the decision threshold. The model is wrapped, and
    `added_bias` is the one parameter adapted; `n_classes` is 1 for a model with a single logit.

    >>> class Margin(Objective):
    ...     def forward(self, batch, out, context=None):
    ...         return (out[:, 1] - out[:, 0]).mean()
    >>> model = Bias(Margin(), n_classes=2).wrap(nn.Identity())
    >>> model(torch.tensor([[1.0, 2.0]])).tolist()
    [[1.0, 2.0]]
    """

    parameters_pattern = "added_bias"

    def __init__(self, loss: Objective, n_classes: int) -> None:
        super().__init__()
        if not loss.has_steps:
            raise AdaptError(
                f"{type(loss).__name__} has nothing to minimise that a bias could be fitted to.",
                fix="give an objective with steps, such as RuleLoss(...)",
            )
        if n_classes < 1:
            raise AdaptError(f"A bias for {n_classes} classes.", fix="give at least 1")
        self.loss, self.n_classes = loss, n_classes

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number that the given objective minimises."""
        value = self.loss(batch, out, context)
        assert isinstance(value, Tensor)
        return value

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model with the bias, zero to begin with."""
        return Biased(self.loss.wrap(model), self.n_classes)

    def rule_terms(self) -> Iterator[tuple[float, Objective]]:
        """The terms of the given objective that can `measure` rules."""
        return self.loss.rule_terms()

    def finish(self, batch: Any, out: Any) -> Any:
        """The prediction as the given objective finishes it."""
        return self.loss.finish(batch, out)


class Biased(nn.Module):
    """A model with a bias added to the logits of its output.

    >>> model = Biased(nn.Identity(), n_classes=2)
    >>> [name for name, _ in model.named_parameters()]
    ['added_bias']
    """

    def __init__(self, model: nn.Module, n_classes: int) -> None:
        super().__init__()
        self.model = model
        some = next(model.parameters(), torch.zeros(()))
        # In single precision even for a half-precision model, whose steps would round to nothing.
        dtype = torch.promote_types(some.dtype, torch.float32)
        self.added_bias = nn.Parameter(torch.zeros(n_classes, dtype=dtype, device=some.device))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The model's output with the bias added."""
        out = self.model(*inputs, **named)
        logits = output_of(out)
        n_classes = logits.shape[-1] if logits.ndim > 1 else 1
        if n_classes != len(self.added_bias):
            raise AdaptError(
                f"The model's output has the shape {tuple(logits.shape)}, and the bias is for "
                f"{len(self.added_bias)} classes.",
                fix=f"write Bias(loss, n_classes={n_classes})",
            )
        return with_output(out, logits + self.added_bias)
