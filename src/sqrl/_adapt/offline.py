"""Algorithm 2: passes over the mini-batches, a step wherever rules are broken, under guard."""

import math
from collections.abc import Iterable
from typing import Any

from sqrl._adapt.batch_norm import Pooled
from sqrl._adapt.gate import is_open
from sqrl._adapt.guard import Decision
from sqrl._adapt.last_word import keep_best
from sqrl._adapt.runner import Loaded
from sqrl._adapt.setup import Work, check_gradient
from sqrl._adapt.steps import ModelState
from sqrl._adapt.trace import Begun, Record
from sqrl.errors import AdaptError
from sqrl.report._wording import counted

FEWEST, MOST = 2, 5  # of this many mini-batches one is held out
ON_THE_WAY = (0.1, 0.2, 0.35, 0.5, 0.7)  # from the source to the state kept last
PROMISING = 4  # states kept on the way that are looked at again in the end
ROLLBACKS = 3  # in a row, each with half the learning rate of the one before, end it


def adapt_offline(work: Work, batches: Iterable[Any]) -> None:
    """Adapt the model by passes over all mini-batches; the diary says how it went.

    In each pass every k-th mini-batch, another one each time, is held out of the steps, and kept
    in memory. The guard looks at the average over the last steps: it is kept if it breaks rules
    less on these mini-batches than the state kept last. A pass that is not better may be followed
    by others, but after `patience` of them all are rolled back to the state kept last, and the
    learning rate is halved.
    """
    _check_passes(work, batches)
    if work.guard is not None and iter(batches) is batches:
        batches = list(batches)  # a single pass: kept, so that rows can be looked at beforehand
    if not is_open(work, batches):
        return
    if work.statistics == "recomputed":
        _recompute(work, batches)
    if not work.objective.has_steps:
        _follow(work, batches)
        return
    _Loop(work, batches).run()


class _Loop:
    """The passes over the mini-batches, and what they leave for the next one."""

    def __init__(self, work: Work, batches: Iterable[Any]) -> None:
        self._work, self._batches = work, batches
        self._length = known_length(batches)
        self._held: list[Loaded] = []
        self._held_last: Loaded | None = None
        self._kept = self._candidate = work.steps.take()
        self._waited = self._rolled_back = 0
        # States kept on the way whose predictions are best by what the rules say of each row.
        self._promising: list[tuple[float, ModelState]] = []

    def run(self) -> None:
        """Algorithm 2, with an end before `epochs` passes where going on would not help."""
        work, steps = self._work, self._work.steps
        for epoch in range(work.passes):  # line 2
            begun = Begun(steps)
            self._make_pass(epoch)
            decision = self._decide()
            record = begun.record(epoch + 1, decision)
            work.diary.records.append(record)
            self._settle(record)
            work.diary.ending = self._ending(decision, record)
            if work.diary.ending:
                break
        else:
            work.diary.ending = f"All {counted(work.passes, 'epoch')} were made."
        steps.restore(self._kept)
        self._compare_with_source()

    def _make_pass(self, epoch: int) -> None:
        """Lines 3 to 8: a step on every mini-batch that is not held out, if its loss is not 0."""
        work, steps = self._work, self._work.steps
        every = 1 if self._length == 1 else max(FEWEST, min(MOST, self._length or MOST))
        self._held, n_batches = [], 0
        # PAPER: mini-batches come in the loader's order, not drawn anew; loaders shuffle.
        for loaded in work.runner.load(self._batches, probed=epoch == 0):  # line 3
            n_batches = loaded.number
            if work.guard is not None and n_batches % every == (1 + epoch) % every:
                self._held.append(loaded)
                self._held_last = loaded
            elif steps.in_a_row < work.options.patience:
                self._step(loaded)  # lines 4 to 7
            total = work.passes * (self._length or n_batches)
            work.diary.track("adapt", epoch * (self._length or n_batches) + n_batches, total)
        if n_batches == 1 and self._held:
            self._step(self._held[0])
            work.diary.note("There is one mini-batch only: the guard goes by what steps used.")
        if not self._held and self._held_last is not None:  # fewer mini-batches than last time
            self._held = [self._held_last]
        self._length = n_batches
        if epoch == 0:
            check_gradient(work)

    def _step(self, loaded: Loaded) -> None:
        """One step; guard="step" undoes it if rules are broken no less on the last held-out one."""
        work, steps = self._work, self._work.steps
        is_made = steps.step(loaded)
        if is_made and work.guard is not None and work.options.guard == "step":
            before = steps.good
            if not work.guard.compare([self._held_last or loaded], steps, before).has_fallen:
                steps.restore(before)

    def _decide(self) -> Decision | None:
        work, steps = self._work, self._work.steps
        if work.guard is not None:
            now, self._candidate = steps.take(), steps.take_averaged()
            steps.restore(self._candidate)
            decision = work.guard.compare(self._held, steps, self._kept)
            if decision.has_fallen and decision.after.expected is not None:
                self._promising.append((decision.after.expected.loss, self._candidate))
                self._promising = sorted(self._promising, key=lambda one: one[0])[:PROMISING]
            steps.restore(now)
            return decision
        work.steps.verify()  # nobody else looks where the last step has led
        return None

    def _settle(self, record: Record) -> None:
        """Keep what the pass led to, wait for the next one, or roll back."""
        steps = self._work.steps
        if record.accepted:
            is_guarded = self._work.guard is not None
            self._kept = self._candidate if is_guarded else steps.take()
            self._waited = self._rolled_back = 0
            if is_guarded:
                steps.safe = self._kept
            return
        self._waited += 1
        is_lost = not record.n_steps or record.excess_after == math.inf
        if is_lost or self._waited >= self._work.options.patience:
            steps.restore(self._kept)
            self._waited = 0
            self._rolled_back += 1
            if record.n_steps:
                steps.optimiser.slow_down()

    def _ending(self, decision: Decision | None, record: Record) -> str:
        """Why this pass was the last one, or nothing."""
        options, steps = self._work.options, self._work.steps
        if decision is not None and min(decision.before.excess, decision.after.excess) == 0:
            return "Stopped: on the mini-batches held out nothing is left to mend."
        if decision is None and record.loss is not None and not record.n_steps and not steps.undone:
            return "Stopped: nothing is left to mend."
        if steps.in_a_row >= options.patience:
            return (
                f"Stopped after {counted(steps.in_a_row, 'step')} in a row that had to be undone."
            )
        if self._rolled_back >= ROLLBACKS:
            return f"Stopped after rolling back {counted(ROLLBACKS, 'time')} in a row."
        return ""

    def _compare_with_source(self) -> None:
        work, steps = self._work, self._work.steps
        is_changed = any(record.accepted for record in work.diary.records)
        if work.guard is None or not (is_changed or work.statistics == "recomputed"):
            return
        states, rows = [self._kept], self._held
        if work.guard.has_opinion:  # of each row: all are looked at
            rows = list(work.runner.load(self._batches))
            states += [state for _, state in self._promising]
            states += [steps.on_the_way(self._kept, share) for share in ON_THE_WAY]
        work.diary.result, why = keep_best(steps, work.guard, states, rows)
        work.diary.ending += why


def _recompute(work: Work, batches: Iterable[Any]) -> None:
    """Replace running statistics by those of all mini-batches, in a pass of its own."""
    pooled = Pooled(work.runner.model)
    for loaded in work.runner.load(batches, probed=True):
        pooled.add(work.runner, loaded)
        work.diary.track("statistics", loaded.number, known_length(batches) or loaded.number)
    pooled.apply()


def _follow(work: Work, batches: Iterable[Any]) -> None:
    """A pass without steps, for a method that only lets running statistics follow."""
    work.diary.ending = "The method makes no steps."
    if work.statistics == "adapted":
        for loaded in work.runner.load(batches, probed=True):
            work.steps.follow(loaded)


def known_length(batches: Any) -> int | None:
    """The number of mini-batches where it is known beforehand."""
    try:
        return len(batches) or None
    except TypeError:
        return None


def _check_passes(work: Work, batches: Iterable[Any]) -> None:
    passes = work.passes if work.objective.has_steps else int(work.statistics == "adapted")
    passes += work.statistics == "recomputed"
    if passes > 1 and iter(batches) is batches:
        raise AdaptError(
            f"The batches can be gone through once, and {passes} passes are to be made.",
            where=type(batches).__name__,
            fix="give list(batches), a DataLoader or sqrl.Batches; or pass mode='online'",
        )
