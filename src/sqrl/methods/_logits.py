"""Logits: found in whatever a model gives, and made into log-probabilities that stay finite."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sqrl.errors import AdaptError

Pick = Callable[[Any], Tensor]
HALF = (torch.float16, torch.bfloat16)


def output_of(out: Any, pick: Pick | None = None) -> Tensor:
    """The tensor in a model's output: what `pick` takes, the output itself, or its `logits`.

    >>> output_of({"logits": torch.tensor([1.0]), "loss": None})
    tensor([1.])
    """
    found: Any
    if pick is not None:
        found = pick(out)
    elif isinstance(out, Mapping):
        found = out.get("logits")
    else:
        found = out if isinstance(out, Tensor) else getattr(out, "logits", None)
    if not isinstance(found, Tensor):
        given = "What logits= takes of the output" if pick else "The model's output"
        raise AdaptError(
            f"{given} is a {type(out if pick is None else found).__name__}, "
            "and it is not clear where its logits are.",
            fix="give a tensor or something with `logits`, or say where: logits=lambda out: out[0]",
        )
    if not found.is_floating_point():
        raise AdaptError(
            f"The model's output holds {found.dtype} values, through which there is no gradient.",
            fix="give the logits, before any arg-max or rounding",
        )
    return found


def logits_of(out: Any, pick: Pick | None = None) -> Tensor:
    """The logits (rows, classes) in a model's output, in single precision or better.

    One number for each row is the logit of the second of two classes. More than two axes are
    refused: some models have the classes in the second, others in the last, and a guess would
    minimise something else in silence.

    >>> logits_of(torch.tensor([2.0])).softmax(-1)  # 1 - sigmoid(2), sigmoid(2)
    tensor([[0.1192, 0.8808]])
    """
    found = output_of(out, pick)
    found = found.float() if found.dtype in HALF else found
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim == 1:
        return torch.stack([torch.zeros_like(found), found], dim=-1)
    if found.ndim != 2 or found.shape[1] == 0:
        raise AdaptError(
            f"The model's output has the shape {tuple(found.shape)}, not (rows, classes).",
            fix="say how the logits come out of it, such as "
            "logits=lambda out: out.movedim(1, -1).flatten(0, -2) for (rows, classes, h, w)",
        )
    return found


def numbers_of(out: Any, pick: Pick | None = None) -> Tensor:
    """The numbers that a model gives for each row, (rows, numbers), in single precision or better.

    >>> numbers_of(torch.zeros(5, 3, 2)).shape
    torch.Size([5, 6])
    """
    found = output_of(out, pick)
    if found.ndim == 0:
        raise AdaptError(
            "The model's output is one number for the whole batch.",
            fix="give the outputs of each row",
        )
    flat = found.reshape(len(found), -1)
    return flat.float() if flat.dtype in HALF else flat


def log_probabilities(logits: Tensor) -> Tensor:
    """The logarithms of the probabilities, finite even where a logit is -inf.

    A class that is ruled out has the probability 0, and 0 * -inf would be nan.

    >>> log_probabilities(torch.tensor([[0.0, -torch.inf]])).isfinite().all()
    tensor(True)
    """
    return logits.log_softmax(dim=-1).clamp(min=torch.finfo(logits.dtype).min)


def entropy(log_probabilities: Tensor) -> Tensor:
    """The entropy of each row's probabilities, from their logarithms.

    >>> entropy(torch.tensor([[0.5, 0.5]]).log())  # log(2)
    tensor([0.6931])
    """
    return -(log_probabilities.exp() * log_probabilities).sum(dim=-1)


def with_output(out: Any, values: Tensor) -> Any:
    """The model's output with other values in the place where `output_of` found them.

    >>> with_output({"logits": torch.tensor([1.0]), "loss": None}, torch.tensor([2.0]))
    {'logits': tensor([2.]), 'loss': None}
    """
    if isinstance(out, Tensor):
        return values
    if isinstance(out, Mapping):
        return type(out)(**{**out, "logits": values})
    if hasattr(out, "_replace"):
        return out._replace(logits=values)
    if is_dataclass(out) and not isinstance(out, type):
        return replace(out, logits=values)
    changed = copy(out)
    changed.logits = values
    return changed
