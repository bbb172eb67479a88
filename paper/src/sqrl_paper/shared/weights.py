"""Weights that somebody else trained, read from a file without running code."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from sqrl.errors import DataError

SUFFIX = ".safetensors"


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """The tensors by name in a file of torch (.pt, .pth) or of safetensors, told apart by suffix.

    Files of torch may hold code as well: only tensors are taken, and anything else is refused.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DataError("There is no such file of weights.", where=str(path), fix="check the path")
    try:
        if path.suffix == SUFFIX:
            return dict(load_file(path))
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, UnpicklingError, OSError, RuntimeError, EOFError, ValueError):
        raise _unusable(
            "The file of weights is damaged, or holds more than weights.", path
        ) from None
    if not isinstance(found, Mapping) or not all(isinstance(v, Tensor) for v in found.values()):
        raise _unusable("The file holds something else than tensors by name.", path)
    return {str(name): tensor for name, tensor in found.items()}


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], path: str | Path) -> None:
    """Give the model these weights: all that it has, by name, and nothing that it has not.

    How many mini-batches a BatchNorm layer has seen is not needed, and old files do not say.
    """
    own = model.state_dict()
    absent = [n for n in own if n not in weights and not n.endswith("num_batches_tracked")]
    if absent:
        raise _unusable(f"There is no weight named {absent[0]!r}.", path)
    for name, tensor in weights.items():
        if name not in own:
            raise _unusable(f"There is a weight named {name!r}, which the model has not.", path)
        if tensor.shape != own[name].shape:
            shapes = [" x ".join(map(str, t.shape)) for t in (tensor, own[name])]
            raise _unusable(f"The weight {name!r} is {shapes[0]} instead of {shapes[1]}.", path)
    model.load_state_dict(dict(weights), strict=False)


def _unusable(what: str, path: str | Path) -> DataError:
    fix = "save the state_dict() of the same network with torch.save, or as safetensors"
    return DataError(what, where=str(path), fix=fix)
