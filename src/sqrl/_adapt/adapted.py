"""Adapted: an adapted model, which is called like the one it was made from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sqrl._adapt import model_copy
from sqrl._adapt.batches import Batch, Batches, join
from sqrl._adapt.objective import Objective
from sqrl._adapt.runner import Forward, Runner
from sqrl._adapt.trace import Trace
from sqrl.errors import AdaptError


class Adapted(nn.Module):
    """An adapted copy of a model: call it like the model, or `predict` whole loaders.

    `model` is the copy itself, in evaluation mode; `trace` what was done to it; `outputs` the
    predictions made on the way, one for each mini-batch, in the modes "online" and "episodic";
    `source` the source's own values of all that adaptation may have changed.
    """

    def __init__(
        self,
        model: nn.Module,
        source: Mapping[str, Tensor],
        trace: Trace,
        *,
        objective: Objective | None = None,
        forward: Forward | None = None,
        outputs: list[Any] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.trace = trace
        self.outputs = outputs
        # Not as a submodule: it is no part of the model, nor are the source's tensors.
        self.__dict__["objective"] = objective
        self.source, self._forward = dict(source), forward
        self.eval()

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """What the adapted model gives for these inputs."""
        return self.model(*arguments, **named)

    def predict(self, batches: Any) -> Any:
        """The predictions for all mini-batches, joined into one tensor (or tuple or dict of them).

        Those of `sqrl.Batches` are in the order of its table. A method that does something to
        outputs, such as clipping them to the rules' bounds, does it here and not in a plain call.
        Outputs that cannot be joined come as a list, one for each mini-batch.
        """
        runner = Runner(self.model, self._forward)
        objective: Objective | None = self.__dict__["objective"]
        found = []
        for loaded in runner.load(_each(batches)):
            out = runner.predict(loaded)
            with torch.no_grad():
                found.append(out if objective is None else objective.finish(loaded.batch, out))
        return join(found)

    def reset(self) -> None:
        """Make the model what it was before adaptation, to the last bit."""
        model_copy.restore(self.model, self.source)

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the parameters and buffers that differ from the source's."""
        now = model_copy.changeable(self.model, self.source)
        return tuple(
            name
            for name, value in now.items()
            if name in self.source and not model_copy.same_bits(value, self.source[name])
        )

    def save(self, path: str | Path) -> None:
        """Write what differs from the source to a safetensors file; `load_adapted` reads it."""
        from sqrl._adapt.state_file import save_adapted

        save_adapted(self, path)

    def __repr__(self) -> str:
        kind, n_changed = type(self.model).__name__, len(self.changed)
        return f"<Adapted {kind} by {self.trace.objective}: {n_changed} tensors differ>"

    def _repr_html_(self) -> str:
        return self.trace._repr_html_()


def _each(batches: Any) -> Iterable[Any]:
    if isinstance(batches, Batches):
        return batches.in_order()
    if isinstance(batches, Tensor | Batch):
        return [batches]
    if not isinstance(batches, Iterable):
        raise AdaptError(
            f"The batches are a {type(batches).__name__}.", fix="give a loader, a list or a tensor"
        )
    return batches
