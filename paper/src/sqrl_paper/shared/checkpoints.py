"""Trained weights kept between runs, outside of any repository, and read without running code."""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sqrl.commands import check_writable, write_atomically
from sqrl.errors import OutputError

SUFFIX = ".safetensors"


def cache_folder() -> Path:
    """Where trained weights are kept: `SQRL_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("SQRL_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser() / "sqrl"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/sqrl").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sqrl"


def load_or_train(
    model: nn.Module,
    train: Callable[[nn.Module], Mapping[str, Any]],
    *,
    name: str,
    key: Mapping[str, Any],
    folder: Path | None = None,
) -> dict[str, Any]:
    """What `train` said of the training; the model has the weights it left, perhaps long ago.

    `key` is all that the weights follow from: data, settings, seed. A file of another key is never
    read, and one that is damaged is trained and written again.
    """
    text = msgspec.json.encode(key, order="deterministic").decode()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = (folder or cache_folder()) / f"{name}-{digest}{SUFFIX}"
    told = _load(model, path, text)
    if told is not None:
        return told
    make_folder_of(path, what="trained weights")  # before the work, not after it
    check_writable(path)
    told = dict(train(model))
    _save(model, path, text, told)
    return told


def _load(model: nn.Module, path: Path, key: str) -> dict[str, Any] | None:
    """What is known of the training, the model having its weights; None if there is no such."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("key") != key or metadata.get("content") != _content(state):
            return None
        told: dict[str, Any] = msgspec.json.decode(metadata["told"], type=dict[str, Any])
        model.load_state_dict(state)
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError):
        return None
    return told


def _save(model: nn.Module, path: Path, key: str, told: dict[str, Any]) -> None:
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in _state(model).items()}
    metadata = {
        "key": key,
        "content": _content(state),
        "told": msgspec.json.encode(told).decode(),
        "torch": torch.__version__,
    }
    write_atomically(path, save(state, metadata=metadata))


def make_folder_of(path: Path, *, what: str) -> None:
    """Make the folder of a file to be kept; an OutputError that says how to choose another."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder for {what} cannot be made: {error.strerror or error}.",
            where=str(path.parent),
            fix="say with SQRL_CACHE=DIR where they may be kept",
        ) from None


def _state(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.state_dict())


def _content(state: Mapping[str, Tensor]) -> str:
    """Hex digits that change with any weight: the file format itself notices only lost bytes."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
