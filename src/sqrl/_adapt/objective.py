"""Objective: what adaptation minimises, and what a method needs besides."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

Statistics = Literal["frozen", "adapted", "recomputed"]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What an objective may ask for beyond a batch and the model's output on it.

    `run` gives the output of the model being adapted on another batch, with gradients; `source`
    that of the model as it came, without.
    """

    run: Callable[[Any], Any]
    source: Callable[[Any], Any]
    generator: torch.Generator


class Objective(nn.Module):
    """Something to minimise at test time, without labels; objectives add and scale.

    A subclass has a `forward(batch, out, context=None)` that gives one number. A method that does
    more than that says so: how BatchNorm layers get their statistics unless the user chooses, that
    there are no steps to make, what the model is wrapped in, what is done to its outputs.

    >>> class Size(Objective):
    ...     def forward(self, batch, out, context=None):
    ...         return out.square().mean()
    >>> total = Size() + 10 * Size()
    >>> float(total(None, torch.tensor([1.0, 3.0])))
    55.0
    """

    statistics: Statistics = "frozen"
    has_steps: bool = True
    lr: float = 2e-2  # the first learning rate, unless the user chooses
    epochs: int = 60  # passes over all mini-batches, as the paper's; unless the user chooses

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The number to minimise for a batch, from the model's output on it."""
        raise NotImplementedError

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model that is adapted, made from a copy of the user's."""
        return model

    def finish(self, batch: Any, out: Any) -> Any:  # noqa: ARG002  (for methods to override)
        """The prediction, from the adapted model's output on a batch."""
        return out

    def terms(self) -> Iterator[tuple[float, "Objective"]]:
        """The objectives that this is the sum of, with their weights."""
        yield 1.0, self

    def rule_terms(self) -> Iterator[tuple[float, "Objective"]]:
        """The objectives in this that can `measure` rules, with weights, for a guard."""
        if hasattr(self, "measure"):
            yield 1.0, self

    def __add__(self, other: "Objective") -> "Objective":
        if not isinstance(other, Objective):
            return NotImplemented
        return Sum([*self.terms(), *other.terms()])

    def __mul__(self, factor: float) -> "Objective":
        if not isinstance(factor, int | float):
            return NotImplemented
        return Sum([(factor * weight, term) for weight, term in self.terms()])

    __rmul__ = __mul__


class Sum(Objective):
    """Objectives added, each with a weight."""

    def __init__(self, terms: list[tuple[float, Objective]]) -> None:
        super().__init__()
        self.weights = [weight for weight, _ in terms]
        self.parts = nn.ModuleList([term for _, term in terms])
        chosen = [part.statistics for _, part in terms if part.statistics != "frozen"]
        self.statistics = chosen[0] if chosen else "frozen"
        self.has_steps = any(part.has_steps for _, part in terms)
        # Rules bring a guard, under which large steps are safe; else the most careful one counts.
        parts = [part for _, part in terms if part.has_steps] or [part for _, part in terms]
        parts = [part for part in parts if any(part.rule_terms())] or parts
        self.lr = min(part.lr for part in parts)
        self.epochs = min(part.epochs for part in parts)

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The weighted sum of the terms that have something to minimise."""
        values = [
            weight * part(batch, out, context) for weight, part in self.terms() if part.has_steps
        ]
        return torch.stack(values).sum()

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model wrapped by each term in turn."""
        for _, part in self.terms():
            model = part.wrap(model)
        return model

    def finish(self, batch: Any, out: Any) -> Any:
        """The output finished by each term in turn."""
        for _, part in self.terms():
            out = part.finish(batch, out)
        return out

    def terms(self) -> Iterator[tuple[float, Objective]]:
        """The terms with their weights."""
        for weight, part in zip(self.weights, self.parts, strict=True):
            assert isinstance(part, Objective)
            yield weight, part

    def rule_terms(self) -> Iterator[tuple[float, Objective]]:
        """The terms that can `measure` rules, with their weights."""
        for weight, part in self.terms():
            yield from ((weight * share, term) for share, term in part.rule_terms())
