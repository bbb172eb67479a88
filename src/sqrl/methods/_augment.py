"""What augmentations share: finding a batch's inputs, and random numbers by a generator."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Batch
from sqrl.errors import AdaptError


def change_inputs(
    batch: Any, change: Callable[[Any], Any], *, where: Callable[[Any], bool], what: str
) -> Any:
    """The batch with every input changed for which `where` holds; the batch itself is left alone.

    Inputs are found in a Batch, in tuples, lists and dicts. The columns of a Batch stay: they are
    what rules speak of, and an augmentation is about what the model sees.

    >>> change_inputs({"x": 1, "y": "a"}, lambda x: -x, where=lambda x: x == 1, what="ones")
    {'x': -1, 'y': 'a'}
    """
    n_changed = 0

    def go(value: Any) -> Any:
        nonlocal n_changed
        if where(value):
            n_changed += 1
            return change(value)
        if isinstance(value, Batch):
            return replace(value, inputs=go(value.inputs))
        if isinstance(value, Mapping):
            return {name: go(item) for name, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(go, value))
        return type(value)(map(go, value)) if isinstance(value, tuple | list) else value

    made = go(batch)
    if not n_changed:
        raise AdaptError(
            f"There is nothing to augment: a batch ({type(batch).__name__}) holds no {what}.",
            fix="write a function of your own: augment=lambda batch, generator: ...",
        )
    return made


def uniform(shape: tuple[int, ...], generator: torch.Generator, like: Tensor) -> Tensor:
    """Numbers between 0 and 1, the same for the same generator whatever the device."""
    return torch.rand(shape, generator=generator, device=generator.device).to(like.device)


def check_share(name: str, value: float) -> None:
    """Raise where an option is no share from 0 to 1."""
    if not 0 <= value <= 1:
        raise AdaptError(f"{name} is {value:g}.", fix="give a share from 0 to 1")
