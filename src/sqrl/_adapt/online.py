"""Adaptation to a stream: each mini-batch is learned from once, then predicted."""

from collections.abc import Iterable, Iterator
from typing import Any

from sqrl._adapt.batch_norm import Pooled
from sqrl._adapt.guard import Decision
from sqrl._adapt.runner import Loaded
from sqrl._adapt.setup import Work, check_gradient
from sqrl._adapt.trace import Begun, Record


def adapt_online(work: Work, batches: Iterable[Any]) -> Iterator[tuple[Any, Record]]:
    """The prediction for each mini-batch, made right after the steps on it, and their record.

    In mode "online" steps add up, and are measured on the mini-batch before (the first on itself);
    in mode "episodic" each mini-batch starts from the source and is measured on itself. Steps
    that do not help are rolled back; in a stream the learning rate stays, for what comes may be
    different.
    Statistics "recomputed" are those of all mini-batches so far, or of this one if episodic.
    """
    is_episodic = work.options.mode == "episodic"
    pooled, previous = Pooled(work.runner.model), None
    for loaded in work.runner.load(batches, probed=True):
        if is_episodic:
            work.steps.start_again(lr=work.options.lr)
            pooled = Pooled(work.runner.model)
        if work.statistics == "recomputed":
            pooled.add(work.runner, loaded)
            pooled.apply()
        record = _learn(work, loaded, loaded if is_episodic else previous or loaded)
        out = work.objective.finish(loaded.batch, work.runner.predict(loaded))
        previous = loaded
        yield out, record
    if is_episodic:
        work.steps.start_again(lr=work.options.lr)


def _learn(work: Work, loaded: Loaded, measured_on: Loaded) -> Record:
    """Make the steps on one mini-batch, and take them back if they do not help."""
    steps, begun = work.steps, Begun(work.steps)
    decision: Decision | None = None
    if not work.objective.has_steps:
        steps.follow(loaded)
    else:
        before = steps.take()
        for _ in range(work.options.passes):
            if steps.in_a_row < work.options.patience:
                steps.step(loaded)
        if work.guard is not None:
            decision = work.guard.compare([measured_on], steps, before)
            if not decision.has_fallen:
                steps.restore(before)
        else:
            steps.verify()
        check_gradient(work)
    return begun.record(loaded.number, decision)
