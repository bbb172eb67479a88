"""Copies of models, so that the user's own is never touched, and of the tensors that change."""

import copy
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from sqrl.errors import AdaptError

Tensors = dict[str, Tensor]


def copy_model(model: nn.Module) -> nn.Module:
    """A copy of the model, in evaluation mode (without dropout)."""
    if not isinstance(model, nn.Module):
        raise AdaptError(
            f"The model is a {type(model).__name__}, not a torch module.",
            fix="give a torch.nn.Module; predictions without a model are mended by sqrl.repair",
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise AdaptError(
            "The model is compiled by torch.jit, which lets nobody choose what has a gradient.",
            where=type(model).__name__,
            fix="give the module that was scripted or traced; script what adapt gives back",
        )
    if any(is_lazy(parameter) for parameter in (*model.parameters(), *model.buffers())):
        raise AdaptError(
            "The model has lazy layers, whose parameters have no shape yet.",
            where=type(model).__name__,
            fix="run it once on a batch first: model(batch)",
        )
    try:
        copied = copy.deepcopy(model)
    except Exception as error:
        raise AdaptError(
            f"The model cannot be copied: {type(error).__name__}: {error}",
            where=type(model).__name__,
            fix="keep tensors with a history, locks and open files out of the model's attributes,"
            " or give it a __deepcopy__",
        ) from error
    if copied is model:
        raise AdaptError(
            "The model cannot be copied: its __deepcopy__ gives the model itself.",
            where=type(model).__name__,
            fix="let it give a copy",
        )
    return copied.eval()


def device_of(model: nn.Module) -> torch.device:
    """Where the model's first parameter (or buffer) is."""
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Meanwhile the model is in evaluation mode, and no gradients are kept."""
    modes = [(layer, layer.training) for layer in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for layer, mode in modes:
            layer.training = mode


def changeable(model: nn.Module, parameters: Iterable[str]) -> Tensors:
    """The tensors that adaptation may change: the named parameters and every buffer."""
    wanted = set(parameters)
    own = {name: value for name, value in model.named_parameters() if name in wanted}
    return {**own, **dict(model.named_buffers())}


def take(model: nn.Module, parameters: Iterable[str]) -> Tensors:
    """Copies of the tensors that adaptation may change."""
    return {name: value.detach().clone() for name, value in changeable(model, parameters).items()}


@torch.no_grad()
def restore(model: nn.Module, kept: Mapping[str, Tensor]) -> None:
    """Put the copies back into the model."""
    for name, value in changeable(model, kept).items():
        is_buffer = not isinstance(value, nn.Parameter)
        if name not in kept:
            continue
        # A buffer may have been replaced by a larger one, or hold one number for many places.
        if is_buffer and (value.shape != kept[name].shape or not value.is_contiguous()):
            layer, _, leaf = name.rpartition(".")
            model.get_submodule(layer)._buffers[leaf] = kept[name].clone().to(value.device)
        else:
            value.copy_(kept[name])


def same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same bytes, so that nan equals nan.

    >>> same_bits(torch.tensor(float("nan")), torch.tensor(float("nan")))
    True
    """
    return (
        one.shape == other.shape
        and one.dtype == other.dtype
        and torch.equal(_bytes(one), _bytes(other.to(one.device)))
    )


def fingerprint(tensors: Mapping[str, Tensor], *, values: bool = True) -> str:
    """A hash of the tensors' names, types and shapes, and of their values if asked for.

    >>> fingerprint({"a": torch.zeros(2)}) == fingerprint({"a": torch.zeros(2)})
    True
    >>> fingerprint({"a": torch.zeros(2)}) == fingerprint({"a": torch.ones(2)})
    False
    """
    made = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        made.update(repr((name, str(tensor.dtype), tuple(tensor.shape))).encode())
        if values:
            made.update(_bytes(tensor).cpu().numpy().tobytes())
    return made.hexdigest()


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
