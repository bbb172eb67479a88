"""Anchor: keeps the adapted model's predictions near those of the model as it came."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl._adapt.runner import tensors_in
from sqrl.errors import AdaptError


class Anchor(Objective):
    """How far predictions have moved from the source's on the same rows, on average.

    For logits KL(source || adapted), for other outputs the mean squared difference. Outputs with
    `.logits`, and tensors of two dimensions and two or more columns, are taken for logits.
    `rules + 0.1 * Anchor()` is what `adapt(rules, ..., anchor=0.1)` minimises.

    >>> moved = Anchor().between(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    >>> round(float(moved), 4)  # 0.5 log(0.5 / 0.7311) + 0.5 log(0.5 / 0.2689)
    0.1201
    """

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:
        """The distance from the source's output on this batch."""
        if context is None:
            raise AdaptError("Anchor needs the source model.", fix="use it within sqrl.adapt")
        return self.between(context.source(batch), out)

    def between(self, source: Any, out: Any) -> Tensor:
        """The distance between two outputs for the same rows."""
        before, after = logits_of(source), logits_of(out)
        if before is not None and after is not None:
            return divergence(before, after)
        parts = list(zip(tensors_in(source), tensors_in(out), strict=True))
        if not parts:
            raise AdaptError("The output holds no numbers to anchor.", fix="leave the anchor out")
        distances = [(after.float() - before.float()).square().mean() for before, after in parts]
        return torch.stack(distances).mean()


def logits_of(out: Any) -> Tensor | None:
    """The logits in an output, classes last, or None."""
    found = out.get("logits") if isinstance(out, Mapping) else getattr(out, "logits", None)
    if isinstance(found, Tensor):
        return found
    if isinstance(out, Tensor) and out.ndim == 2 and out.shape[1] > 1:
        return out
    return None


def divergence(source: Tensor, adapted: Tensor) -> Tensor:
    """KL(source || adapted) of two tensors of logits, classes last, averaged over rows."""
    log_p, log_q = source.float().log_softmax(-1), adapted.float().log_softmax(-1)
    p = log_p.exp()
    # A class that the source rules out adds nothing, though its logarithm is infinite.
    return torch.where(p > 0, p * (log_p - log_q), 0.0).sum(-1).mean()
