"""Saved states of adapted models: damaged ones are refused, and the model is never changed."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from draw import ODD_VALUES, Draw, as_bytes, as_text
from safetensors.torch import load, save
from torch import nn

import sqrl
from sqrl._adapt.model_copy import fingerprint
from targets import expect


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()


@cache
def _whole() -> bytes:
    from tempfile import TemporaryDirectory

    from sqrl.methods import METHODS

    torch.set_num_threads(1)
    batches = [torch.randn(8, 2) for _ in range(3)]
    adapted = sqrl.adapt(_model(), batches, METHODS["Tent"]())
    with TemporaryDirectory() as folder:
        adapted.save(Path(folder, "a.safetensors"))
        return Path(folder, "a.safetensors").read_bytes()


def make(draw: Draw) -> dict[str, Any]:
    """The bytes of a file: damaged, or with other tensors and a hash that was made anew."""
    content = _whole()
    if draw.chance(0.4):
        return {"content": as_text(draw.damaged_bytes(content))}
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    tensors = load(content)
    name = draw.one(tensors)
    change = draw.random()
    if change < 0.25:
        tensors[draw.one(("other", "0.weight2", ""))] = tensors.pop(name)
    elif change < 0.5:
        tensors[name] = torch.zeros(draw.one(((1,), (3, 3), (0,), ())))
    elif change < 0.75:
        tensors[name] = tensors[name].to(draw.one((torch.float64, torch.int64, torch.bool)))
    else:
        metadata[draw.one(metadata)] = str(draw.one(ODD_VALUES))
    if draw.chance(0.8):
        metadata["values"] = fingerprint(tensors)
    text = {name: str(value) for name, value in metadata.items()}
    return {"content": as_text(save(tensors, text))}


def run(case: dict[str, Any], folder: Path) -> None:
    """Load it beside a model, which stays as it is."""
    path, model = folder / "a.safetensors", _model()
    path.write_bytes(as_bytes(case["content"]))
    before = {name: one.clone() for name, one in model.state_dict().items()}
    try:
        adapted = sqrl.load_adapted(model, path)
        adapted(torch.zeros(3, 2))
    finally:
        after = model.state_dict()
        is_same = all(torch.equal(before[name], after[name]) for name in before)
        expect(is_same, "the model was changed")
