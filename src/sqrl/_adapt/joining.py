"""Mini-batches, and what a model gives for them, joined row after row."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Batch, Categories


def join(parts: Sequence[Any]) -> Any:
    """Tensors of mini-batches as one, within dicts and tuples too; else the list of the parts.

    >>> join([torch.zeros(2, 3), torch.ones(1, 3)]).shape
    torch.Size([3, 3])
    """
    first, parts = parts[0], list(parts)
    if all(part is None for part in parts):
        return None
    if all(isinstance(part, Categories) for part in parts):
        return Categories(torch.cat([part.codes for part in parts]), first.names)
    if all(isinstance(part, Tensor) and part.ndim for part in parts):
        fits = all(part.shape[1:] == first.shape[1:] for part in parts)
        return torch.cat(parts) if fits else parts
    if all(isinstance(part, Mapping) and part.keys() == first.keys() for part in parts):
        return {name: join([part[name] for part in parts]) for name in first}
    if all(isinstance(part, tuple) and len(part) == len(first) for part in parts):
        return tuple(join(some) for some in zip(*parts, strict=True))
    return parts


def join_batches(batches: Sequence[Batch]) -> Batch:
    """One mini-batch with the rows of several: inputs, for names may be made of them, and columns.

    >>> joined = join_batches([Batch(torch.zeros(2, 1)), Batch(torch.ones(3, 1))])
    >>> joined.inputs.flatten().tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """
    columns: dict[str, Tensor | Categories] = join([batch.columns for batch in batches])
    return Batch(join([batch.inputs for batch in batches]), columns)
