"""EATA: certainty learned from reliable, new rows, without forgetting (Niu et al., ICML 2022)."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from sqrl._adapt.model_copy import device_of, evaluating
from sqrl._adapt.objective import Context, Objective
from sqrl.errors import AdaptError
from sqrl.methods._logits import Pick, entropy, log_probabilities, logits_of
from sqrl.methods._parameters import Parameters
from sqrl.methods._training import training_batches

MEMORY = 0.9  # of the average prediction, for that of earlier mini-batches


class EATA(Objective):
    """The entropy H of reliable and new rows, and how far weights that matter have moved.

    A row weighs exp(E - H) where H is below E = `threshold` log C, for C classes, and 0 elsewhere;
    also 0 where the cosine of its probabilities with their average over earlier mini-batches is
    `margin` or more. With `training`, batches as the model was trained on (without labels), each
    parameter's squared distance from the source is added, times its Fisher information there and
    `weight`. Without it this is what the authors call ETA.

    Cost: the Fisher information takes a backward pass for each of 500 rows, once a run.

    >>> p = torch.tensor([[0.5, 0.5], [0.01, 0.99]])
    >>> round(float(EATA()(None, p.log())), 4)  # exp(0.4 log 2 - 0.056) x 0.056, over 2 rows
    0.0349
    """

    statistics = "adapted"
    lr = 1e-3
    epochs = 5

    def __init__(
        self,
        training: Iterable[Any] | None = None,
        *,
        threshold: float = 0.4,
        margin: float | None = None,
        weight: float = 2000.0,
        logits: Pick | None = None,
    ) -> None:
        super().__init__()
        check_threshold(threshold)
        if margin is not None and not 0 < margin <= 1:
            raise AdaptError(f"margin is {margin:g}.", fix="give a cosine above 0, at most 1")
        if not 0 <= weight < math.inf:
            raise AdaptError(f"weight is {weight:g}.", fix="give 0 or a number above it")
        self.training_data, self.threshold, self.margin = training, threshold, margin
        self.weight, self.logits = weight, logits
        self._own: Parameters | None = None
        self._average: Tensor | None = None
        self._fisher: dict[str, Tensor] = {}

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model itself, with nothing known yet of earlier mini-batches."""
        self._own, self._average, self._fisher = Parameters(model), None, {}
        return model

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        log_p = log_probabilities(logits_of(out, self.logits))
        rows = entropy(log_p)
        with torch.no_grad():
            weights = sample_weights(log_p, self._average, self.threshold, self.margin)
            if rows.requires_grad:  # a step is made of it; else somebody only looks
                self._average = moving_average(self._average, log_p.exp().mean(dim=0))
        value = (weights * rows).mean()
        if self.training_data is None or not self.weight:
            return value
        return value + self.weight * self._moved(context).to(value)

    def _moved(self, context: Context | None) -> Tensor:
        """The squared distance from the source, weighed by the Fisher information there."""
        if context is None or self._own is None:
            raise AdaptError(
                "EATA compares a model with what it was, and there is no model here.",
                fix="use it through sqrl.adapt(model, batches, EATA(...)), or without training=",
            )
        source = self._own.source
        if not source:  # what is adapted was put around the model, as by Bias
            return torch.zeros(())
        if not self._fisher:
            assert self.training_data is not None
            self._fisher = fisher(self._own, self.training_data, context, self.logits)
        parts = [
            (self._fisher[name] * (value - source[name]).square()).sum()
            for name, value in self._own.now.items()
        ]
        return torch.stack(parts).sum()


def sample_weights(
    log_p: Tensor, average: Tensor | None, threshold: float, margin: float | None
) -> Tensor:
    """How much each row counts: reliable ones, and among these those that are new.

    >>> p = torch.tensor([[0.5, 0.5], [0.01, 0.99], [0.99, 0.01]])
    >>> sample_weights(p.log(), torch.tensor([0.2, 0.8]), 0.4, None)
    tensor([0.0000, 0.0000, 1.2476])
    """
    rows, n_classes = entropy(log_p), log_p.shape[-1]
    most = threshold * math.log(n_classes)
    weights = torch.where(rows < most, torch.exp(most - rows), 0)
    if average is None:
        return weights
    if margin is None:
        # PAPER: 0.4 for 10 classes and 0.05 for 1,000: about 1.26 times the cosine 1 / sqrt(C) of a
        # certain prediction with an even average. With two classes any fixed 0.4 drops every row.
        margin = min(0.4 * math.sqrt(10 / n_classes), 1.0)
    return weights * (cosine_similarity(log_p.exp(), average[None], dim=-1) < margin)


def moving_average(before: Tensor | None, value: Tensor, memory: float = MEMORY) -> Tensor | None:
    """The average with one more value taken in; values that are not finite are left out.

    >>> moving_average(torch.tensor(1.0), torch.tensor(2.0), 0.75)
    tensor(1.2500)
    """
    if not value.isfinite().all():
        return before
    value = value.detach()
    return value if before is None else memory * before + (1 - memory) * value


def fisher(
    own: Parameters, training: Iterable[Any], context: Context, pick: Pick | None, most: int = 500
) -> dict[str, Tensor]:
    """The mean over rows of the squared gradient of -log p of the class predicted, by parameter."""
    parameters = own.now
    sums = {name: torch.zeros_like(value) for name, value in parameters.items()}
    n_rows = 0
    with evaluating(own.model), torch.enable_grad():
        for batch in training_batches(training, device_of(own.model)):
            log_p = log_probabilities(logits_of(context.run(batch), pick))
            for cost in -log_p.max(dim=-1).values[: most - n_rows]:
                found = torch.autograd.grad(
                    cost, list(parameters.values()), retain_graph=True, allow_unused=True
                )
                n_rows += 1
                for name, gradient in zip(parameters, found, strict=True):
                    if gradient is not None:
                        sums[name] += gradient.square()
            if n_rows >= most:
                break
    return {name: total / max(n_rows, 1) for name, total in sums.items()}


def check_threshold(threshold: float) -> None:
    """Raise where no entropy, or any, would be below the threshold."""
    if not 0 < threshold <= 1:
        raise AdaptError(
            f"threshold is {threshold:g}.", fix="give a share of log C above 0, at most 1"
        )
