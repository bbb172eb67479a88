"""Trace: what adaptation did, epoch by epoch, what was rolled back, and why it ended."""

import textwrap
import time
from collections.abc import Iterator
from html import escape
from statistics import fmean
from typing import Any

import msgspec
import pyarrow as pa

from sqrl._adapt.guard import Decision
from sqrl._adapt.steps import Steps
from sqrl._progress import Track
from sqrl.report._wording import counted

WIDTH = 80
MOST_ROWS = 24  # the first and last half of these are shown


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One epoch, or one mini-batch of a stream.

    `loss` is the average over the mini-batches that steps were made on, None where there were none;
    `n_undone` steps led to numbers that are not finite. The shares (of rules' samples that break
    them) and excesses (in widths, on average) are those of mini-batches held out, None where
    nothing was measured. `why` says why no step was made, where rules were no guide.
    """

    number: int
    loss: float | None
    n_steps: int
    n_undone: int = 0
    share_before: float | None = None
    share_after: float | None = None
    excess_before: float | None = None
    excess_after: float | None = None
    accepted: bool = True
    lr: float
    seconds: float
    why: str = ""


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What adaptation did: a record for each epoch or mini-batch, notes, and how it ended.

    `result` compares the source with what is returned, on mini-batches held out last.
    """

    mode: str
    objective: str
    n_tensors: int
    n_values: int
    records: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
    ending: str = ""
    result: Decision | None = None

    def __len__(self) -> int:
        return len(self.records)

    @property
    def n_accepted(self) -> int:
        """How many epochs (or mini-batches of a stream) were kept."""
        return sum(record.accepted for record in self.records)

    def __str__(self) -> str:
        lines = textwrap.wrap(_opening(self), WIDTH)
        if self.records:
            lines += ["", *_table(self)]
        lines.append("")
        for sentence in (_closing(self), *(f"note: {note}" for note in self.notes)):
            lines += textwrap.wrap(sentence, WIDTH)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_arrow(self) -> pa.Table:
        """The records as a table, null where something was not measured."""
        names = Record.__struct_fields__
        return pa.table({name: [getattr(one, name) for one in self.records] for name in names})

    def plot(self, ax: Any = None) -> Any:
        """The axes with the loss and the excess held out as lines; what was not kept is red."""
        from sqrl.report._plot import BROKEN, HELD, axes_or_new

        ax = axes_or_new(ax)
        for name, colour, label in (
            ("loss", "grey", "loss, on mini-batches of steps"),
            ("excess_after", HELD, "excess, on mini-batches held out"),
        ):
            points = [(one.number, getattr(one, name)) for one in self.records]
            known = [(number, value) for number, value in points if value is not None]
            if known:
                ax.plot(*zip(*known, strict=True), color=colour, label=label)
        undone = [one for one in self.records if not one.accepted]
        heights = [one.loss if one.excess_after is None else one.excess_after for one in undone]
        if undone:
            numbers = [one.number for one in undone]
            ax.scatter(numbers, heights, c=BROKEN, zorder=3, label="not kept")
        ax.set_xlabel("epoch" if self.mode == "offline" else "mini-batch")
        if self.records:
            ax.legend(frameon=False)
        return ax


class Diary:
    """Collects a trace while adaptation runs."""

    def __init__(self, track: Track | None) -> None:
        self.records: list[Record] = []
        self.track: Track = track or (lambda *_: None)
        self.ending = ""
        self.alarms: dict[str, None] = {}  # notes that are also warned of, each once
        self.result: Decision | None = None
        self._notes: dict[str, None] = {}  # in order, each once

    def alarm(self, text: str) -> None:
        """Keep a sentence that is also a warning."""
        self.alarms[text] = None

    def note(self, text: str) -> None:
        """Keep a sentence for the reader."""
        self._notes[text] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences kept."""
        return tuple(self._notes)


class Begun:
    """What was so when steps began; makes the record of them when they are done."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._lr, self._started = steps, steps.optimiser.lr, time.perf_counter()
        self._made, self._undone = steps.made, steps.undone
        steps.losses = []

    def record(self, number: int, decision: Decision | None, *, why: str = "") -> Record:
        """The record of the steps since, and of what the guard measured."""
        steps = self._steps
        before, after = (None, None) if decision is None else (decision.before, decision.after)
        return Record(
            number=number,
            loss=fmean(steps.losses) if steps.losses else None,
            n_steps=steps.made - self._made,
            n_undone=steps.undone - self._undone,
            share_before=None if before is None else before.share,
            share_after=None if after is None else after.share,
            excess_before=None if before is None else before.excess,
            excess_after=None if after is None else after.excess,
            accepted=decision is None or decision.has_fallen,
            lr=self._lr,
            seconds=time.perf_counter() - self._started,
            why=why,
        )


def _opening(trace: Trace) -> str:
    what = f"Adapted {trace.mode} by {trace.objective}"
    if not trace.n_tensors:
        return f"{what}: no parameters."
    return f"{what}: {counted(trace.n_values, 'value')} in {counted(trace.n_tensors, 'tensor')}."


def _table(trace: Trace) -> Iterator[str]:
    first = "epoch" if trace.mode == "offline" else "batch"
    yield _row(first, "loss", "broken, held out", "excess, held out", "lr", "kept", "seconds")
    rows = [_cells(record) for record in trace.records]
    left_out = len(rows) - MOST_ROWS
    if left_out > 0:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [(f"... {left_out:,} more", *[""] * 6)]
    for cells in rows:
        yield _row(*cells).rstrip()


def _cells(record: Record) -> tuple[str, ...]:
    return (
        f"{record.number:,}",
        "-" if record.loss is None else f"{record.loss:.4g}",
        _change(record.share_before, record.share_after, "{:.1%}"),
        _change(record.excess_before, record.excess_after, "{:.3g}"),
        f"{record.lr:.3g}",
        "yes" if record.accepted else "no",
        f"{record.seconds:.2f}",
    )


def _row(*cells: str) -> str:
    number, loss, share, excess, lr, kept, seconds = cells
    return f"{number:>7} {loss:>9} {share:>16} {excess:>20} {lr:>8} {kept:>4} {seconds:>8}"


def _change(before: float | None, after: float | None, form: str) -> str:
    if before is None or after is None:
        return "-"
    return f"{form.format(before)} -> {form.format(after)}"


def _closing(trace: Trace) -> str:
    is_offline = trace.mode == "offline"
    names = ("epoch", "epochs") if is_offline else ("mini-batch", "mini-batches")
    parts = []
    if trace.records:
        parts.append(f"Kept {trace.n_accepted:,} of {counted(len(trace), *names)}.")
    if trace.ending:
        parts.append(trace.ending)
    if trace.result is not None:
        before, after = trace.result.before, trace.result.after
        parts.append(
            f"On mini-batches held out, {before.share:.1%} of what rules apply to broke them as the"
            f" model came, {after.share:.1%} now; the excess went from {before.excess:.3g} to"
            f" {after.excess:.3g} widths."
        )
    return " ".join(parts) or "Nothing was done."
