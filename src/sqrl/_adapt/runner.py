"""Running a model on batches: on its device, with errors that name the batch, checked for nan."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from sqrl._adapt.batches import Batch, run_model, to_device
from sqrl._adapt.model_copy import copy_model, device_of, evaluating
from sqrl.errors import AdaptError

Forward = Callable[[nn.Module, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A mini-batch on the model's device, and its place in the loader, counted from 1."""

    number: int
    batch: Any


class Runner:
    """Runs one model on mini-batches."""

    def __init__(self, model: nn.Module, forward: Forward | None = None) -> None:
        self.model = model
        self.device = device_of(model)
        self.forward = forward or run_model
        self._number = 0

    def load(self, batches: Iterable[Any], *, probed: bool = False) -> Iterator[Loaded]:
        """The mini-batches of a loader, at least one, each moved to the model's device.

        With `probed` the model's output on the first one must be finite.
        """
        loaded = None
        for number, batch in enumerate(batches, start=1):
            loaded = Loaded(number, to_device(batch, self.device))
            if probed and number == 1:
                self.probe(loaded)
            yield loaded
        if loaded is None:
            raise AdaptError(
                "The loader gave no mini-batches.",
                fix="check that its dataset has rows, and that drop_last does not drop them all",
            )

    def __call__(self, loaded: Loaded) -> Any:
        """The model's output, in whatever mode the model is."""
        self._number = loaded.number
        return self.again(loaded.batch)

    def again(self, batch: Any) -> Any:
        """The model's output on something made of the mini-batch run last."""
        try:
            return self.forward(self.model, own_copy(batch))
        except AdaptError as error:
            raise error.at(f"mini-batch {self._number}") from error.__cause__
        except Exception as error:
            raise AdaptError(
                f"The model refused mini-batch {self._number}, {describe(batch)}: "
                f"{type(error).__name__}: {error}",
                fix=_advice(error),
            ) from error

    def predict(self, loaded: Loaded) -> Any:
        """The model's output in evaluation mode, without gradients."""
        with evaluating(self.model):
            return self(loaded)

    def probe(self, loaded: Loaded) -> Any:
        """The output of the model as it came; raises where that has numbers that are not finite."""
        out = self.predict(loaded)
        for tensor in tensors_in(out):
            bad = is_bad(tensor)
            if not bad.any():
                continue
            rows = bad.reshape(len(bad), -1).any(1) if bad.ndim else bad.reshape(1)
            raise AdaptError(
                f"The model as it came gives numbers that are not finite for {int(rows.sum()):,} of"
                f" {len(rows):,} rows.",
                where=f"mini-batch {loaded.number}",
                fix="look for missing or huge values in its inputs, and for nan in its weights",
            )
        return out


def source_model(model: nn.Module, forward: Forward) -> Callable[[Any], Any]:
    """The model as it came: gives outputs without gradients, from a copy made when first asked."""
    copied = cache(lambda: copy_model(model))
    return torch.no_grad()(lambda batch: forward(copied(), own_copy(batch)))


def own_copy(batch: Any) -> Any:
    """A batch whose tensors a model may change in place: the same rows are run several times.

    >>> given = torch.ones(2)
    >>> _ = own_copy({"x": given})["x"].mul_(0)
    >>> given.tolist()
    [1.0, 1.0]
    """
    if isinstance(batch, Tensor):
        return batch.clone()
    if isinstance(batch, Batch):
        return replace(batch, inputs=own_copy(batch.inputs))
    if type(batch) is dict:
        return {name: own_copy(part) for name, part in batch.items()}
    if type(batch) in (tuple, list):
        return type(batch)(own_copy(part) for part in batch)
    return batch


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors of real or complex numbers within an output of any shape."""
    if isinstance(value, Tensor):
        if value.is_floating_point() or value.is_complex():
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors_in(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_in(part)


def is_bad(tensor: Tensor) -> Tensor:
    """Where a tensor is nan or infinite; -inf is a logit that rules a class out, and allowed.

    >>> is_bad(torch.tensor([0.0, float("nan"), float("-inf"), float("inf")])).tolist()
    [False, True, False, True]
    """
    if tensor.is_complex():
        return ~tensor.isfinite()
    return tensor.isnan() | tensor.isposinf()


def is_finite(value: Any) -> bool:
    """Whether no tensor within an output has nan or infinity."""
    return not any(bool(is_bad(tensor).any()) for tensor in tensors_in(value))


def describe(batch: Any) -> str:
    """What a batch holds, for errors.

    >>> describe((torch.zeros(3, 2), {"mask": torch.ones(3)}))
    '(float32 3 x 2, {mask: float32 3})'
    """
    if isinstance(batch, Batch):
        return describe(batch.inputs)
    if isinstance(batch, Tensor):
        kind = str(batch.dtype).removeprefix("torch.")
        return f"{kind} {' x '.join(map(str, batch.shape)) or 'number'}"
    if isinstance(batch, Mapping):
        return "{" + ", ".join(f"{name}: {describe(part)}" for name, part in batch.items()) + "}"
    if isinstance(batch, tuple | list):
        return "(" + ", ".join(map(describe, batch)) + ")"
    return type(batch).__name__


def _advice(error: Exception) -> str:
    if "more than 1 value per channel" in str(error):
        return "use mini-batches of several rows, or statistics='frozen'"
    if isinstance(error, torch.OutOfMemoryError):
        return "use smaller mini-batches"
    return "make batches of what the model takes, or say how it takes them with forward="
