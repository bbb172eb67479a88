"""One step of Algorithm 2, made whole or not at all: what goes wrong is undone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt import model_copy
from sqrl._adapt.batch_norm import following
from sqrl._adapt.objective import Context, Objective, Statistics
from sqrl._adapt.optimiser import Kept, Optimiser
from sqrl._adapt.parameters import Chosen
from sqrl._adapt.runner import Loaded, Runner, is_finite
from sqrl.errors import AdaptError

EXPLODED = 1e3  # times the loss that the model as it came has on the same rows


@dataclass(frozen=True, slots=True, eq=False)
class ModelState:
    """All that a step changes: parameters, buffers, the optimiser's moments."""

    tensors: Mapping[str, Tensor]
    optimiser: Kept


class Steps:
    """Makes steps, and takes back those that lead to numbers that are not finite.

    The model goes back to the state before the step that led there and the learning rate is halved.
    If that state fails too, on other rows, it goes back to the last one known to be safe: the
    source, or the last epoch that the guard has kept. A loss beyond EXPLODED is treated alike.
    """

    def __init__(
        self,
        runner: Runner,
        objective: Objective,
        context: Context,
        chosen: Chosen,
        *,
        lr: float,
        statistics: Statistics,
    ) -> None:
        self.runner, self._objective, self._context = runner, objective, context
        self._names = list(chosen)
        self.optimiser = Optimiser(chosen, lr=lr)
        self._follows = statistics == "adapted"
        self.losses: list[float] = []
        self.made = self.undone = self.left_out = self.without_gradient = 0
        self.in_a_row = 0
        self._usual = 0.0
        self._is_new = False  # whether the last step has led to a state not yet looked at
        self._last: Loaded | None = None
        self.source = self.good = self.safe = self.take()

    def take(self) -> ModelState:
        """A copy of all that a step changes."""
        return ModelState(model_copy.take(self.runner.model, self._names), self.optimiser.take())

    def take_averaged(self) -> ModelState:
        """A copy of all that a step changes, the parameters averaged over the last steps."""
        now = self.take()
        averages = dict(zip(self._names, self.optimiser.averages(), strict=True))
        kept = replace(now.optimiser, masters=now.optimiser.averages)
        return ModelState({**now.tensors, **averages}, kept)

    def restore(self, state: ModelState) -> None:
        """Go back to a copy."""
        model_copy.restore(self.runner.model, state.tensors)
        self.optimiser.restore(state.optimiser)

    def on_the_way(self, state: ModelState, share: float) -> ModelState:
        """A state whose parameters are between the source's and another one's."""
        pairs = zip(self.source.optimiser.masters, state.optimiser.masters, strict=True)
        masters = [one.lerp(other, share) for one, other in pairs]
        values = {
            name: master.to(state.tensors[name].dtype)
            for name, master in zip(self._names, masters, strict=True)
        }
        return ModelState({**state.tensors, **values}, replace(state.optimiser, masters=masters))

    def forget(self) -> None:
        """Let the optimiser start anew: its moments still point the way that was refused."""
        self.optimiser.forget()

    def start_again(self, *, lr: float) -> None:
        """Go back to the source and the first learning rate."""
        self.restore(self.source)
        self.optimiser.set_lr(lr)
        self.good = self.safe = self.source
        self.in_a_row, self._is_new = 0, False

    def step(self, loaded: Loaded) -> bool:
        """Lines 4 to 7 of Algorithm 2 for one mini-batch; whether the model was changed."""
        before = self.take()
        with torch.enable_grad():
            loss = self._loss(loaded, before)
        if loss is None:
            self._recover(loaded, before)
            return False
        if self._is_new:  # the step that led here is seen to be good only now
            self.in_a_row = 0
        self.good, self._is_new, self._last = before, False, loaded
        self.losses.append(float(loss.detach()))
        # PAPER: Algorithm 2 asks for a loss > 0; objectives that are not rules may be below.
        if self.losses[-1] == 0:
            return False
        outcome = self.optimiser.update(loss)
        if outcome == "not finite":
            self.restore(before)
            self._count_undone()
            return False
        self._is_new = outcome == "made"
        self.without_gradient += outcome == "no gradient"
        self.made += self._is_new
        return self._is_new

    def follow(self, loaded: Loaded) -> None:
        """No step: only the running statistics of BatchNorm layers take the batch in."""
        with torch.no_grad(), following(self.runner.model, self._follows):
            self.runner(loaded)

    def verify(self) -> None:
        """Undo the last step if it led to numbers that are not finite, as the next one would."""
        if self._last is None:
            return
        before = self.take()
        with torch.no_grad():
            is_sound = self._loss(self._last, before) is not None
        self.restore(before)
        if not is_sound:
            self._recover(self._last, before)

    def _loss(self, loaded: Loaded, before: ModelState) -> Tensor | None:
        """The loss on a mini-batch; None where it has exploded, or something is not finite."""
        out, loss = self._evaluate(loaded)
        value = abs(float(loss.detach()))
        if not math.isfinite(value) or not is_finite(out):
            return None
        self._usual = self._usual or value
        if value <= EXPLODED * self._usual:
            return loss
        # Perhaps these rows are harder than the first ones, for the source too.
        self._usual = max(self._usual, abs(self._source_loss(loaded)))
        if value > EXPLODED * self._usual:
            return None
        self.restore(before)
        return self._evaluate(loaded)[1]  # the first one's gradients were lost by going back

    def _evaluate(self, loaded: Loaded) -> tuple[Any, Tensor]:
        with following(self.runner.model, self._follows):
            out = self.runner(loaded)
            loss = self._objective(loaded.batch, out, self._context)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            shape = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
            raise AdaptError(
                f"The objective gave {shape}, not one number.",
                where=type(self._objective).__name__,
                fix="average over rows in its forward",
            )
        return out, loss.reshape(())

    def _source_loss(self, loaded: Loaded) -> float:
        """The loss of the model as it came, which it leaves there; nan where it is not finite."""
        self.restore(self.source)
        with torch.no_grad():
            out, loss = self._evaluate(loaded)
        return float(loss) if is_finite(out) else math.nan

    def _recover(self, loaded: Loaded, before: ModelState) -> None:
        """Go back to a good state, unless it is the batch that no model could have used."""
        if not math.isfinite(self._source_loss(loaded)):
            self.restore(before)
            self.left_out += 1
            return
        self.restore(self.good if self._is_new else self.safe)
        self._is_new = False
        self._count_undone()

    def _count_undone(self) -> None:
        self.undone += 1
        self.in_a_row += 1
        self.optimiser.slow_down()
