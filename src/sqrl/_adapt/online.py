"""Adaptation to a stream: each mini-batch is learned from once, then predicted."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sqrl._adapt.batch_norm import Pooled
from sqrl._adapt.gate import Gate
from sqrl._adapt.guard import Breakage, Decision
from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._adapt.runner import Loaded
from sqrl._adapt.setup import Work, check_gradient
from sqrl._adapt.trace import Begun, Record


def adapt_online(work: Work, batches: Iterable[Any]) -> Iterator[tuple[Any, Record]]:
    """The prediction for each mini-batch, made right after the steps on it, and their record.

    In mode "online" steps add up, and are measured on the mini-batch before (the first on itself);
    in mode "episodic" each mini-batch starts from the source and is measured on itself. Steps
    that do not help are rolled back; in a stream the learning rate stays, for what comes may be
    different. Before steps are made the source is looked at: where it breaks rules no more than
    chance would, or no more than the model as it is now, the stream goes on from the source.
    Statistics "recomputed" are those of all mini-batches so far, or of this one if episodic.
    """
    is_episodic = work.options.mode == "episodic"
    pooled, previous, window = Pooled(work.runner.model), None, _Window(work)
    for loaded in work.runner.load(batches, probed=True):
        is_open = window.look(loaded)
        if is_episodic or not is_open:
            work.steps.start_again(lr=work.lr)
        if is_episodic:
            pooled = Pooled(work.runner.model)
        if work.statistics == "recomputed" and is_open:
            pooled.add(work.runner, loaded)
            pooled.apply()
        if is_open:
            record = _learn(work, loaded, loaded if is_episodic else previous or loaded)
        else:
            record = Begun(work.steps).record(loaded.number, _refused(work, loaded), why=window.why)
        out = work.objective.finish(loaded.batch, work.runner.predict(loaded))
        previous = loaded
        yield out, record
    if is_episodic:
        work.steps.start_again(lr=work.lr)


class _Window:
    """The last rows of a stream, as many as it takes to tell whether rules can be relied on."""

    def __init__(self, work: Work) -> None:
        self._work, self._gate = work, Gate(work)
        self._parts: deque[tuple[int, list[Named]]] = deque()
        self.why = ""  # nothing is learned from the last mini-batch

    def look(self, loaded: Loaded) -> bool:
        """Whether to adapt to what comes now, by the source's outputs on the last rows."""
        if not self._gate.is_known:
            return True
        steps = self._work.steps
        now = steps.take()
        steps.restore(steps.source)
        read = self._gate.read(loaded)
        steps.restore(now)
        self._parts.append((read[0].n, read))
        while sum(n for n, _ in self._parts) - self._parts[0][0] >= self._gate.n_wanted:
            self._parts.popleft()
        n_rows, n_wanted = sum(n for n, _ in self._parts), self._gate.n_wanted
        if n_rows < n_wanted and not self._work.options.trust_rules:
            self.why = (
                f"Nothing was done: there were {n_rows:,} rows so far, and it takes {n_wanted:,} to"
                " tell whether rules can be relied on."
            )
            return False
        is_open = self._gate.look([part for _, part in self._parts])
        self.why = self._gate.why
        return is_open


def _refused(work: Work, loaded: Loaded) -> Decision | None:
    """What the record of a mini-batch shows that nothing was learned from: the source twice."""
    if work.guard is None:
        return None
    as_it_is: Breakage = work.guard.measure([loaded])
    return Decision(as_it_is, as_it_is)


def _learn(work: Work, loaded: Loaded, measured_on: Loaded) -> Record:
    """Make the steps on one mini-batch, and take them back if they do not help."""
    steps, begun = work.steps, Begun(work.steps)
    decision: Decision | None = None
    if not work.objective.has_steps:
        steps.follow(loaded)
    else:
        _return_to_source(work, loaded)
        before = steps.take()
        for _ in range(work.passes):
            if steps.in_a_row < work.options.patience:
                steps.step(loaded)
        if work.guard is not None:
            decision = work.guard.compare([measured_on], steps, before)
            if not decision.has_fallen or decision.is_worse:
                steps.restore(before)
                steps.forget()
        else:
            steps.verify()
        check_gradient(work)
    return begun.record(loaded.number, decision)


def _return_to_source(work: Work, loaded: Loaded) -> None:
    """Go back to the source where it breaks rules less on rows that neither has seen."""
    if work.guard is None or work.statistics != "frozen" or loaded.number == 1:
        return
    steps = work.steps
    decision = work.guard.compare([loaded], steps, steps.source)
    if not decision.has_fallen:
        steps.start_again(lr=work.lr)
