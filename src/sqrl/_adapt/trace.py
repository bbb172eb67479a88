"""Trace: what adaptation did, epoch by epoch, what was rolled back, and why it ended."""

from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec
import pyarrow as pa

from sqrl._adapt.guard import Breakage, Decision
from sqrl._progress import Track


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One epoch, or one mini-batch of a stream.

    `loss` is the average over the mini-batches that steps were made on, None where there were none;
    `n_undone` steps led to numbers that are not finite. The shares (of rules' samples that break
    them) and excesses (in widths, on average) are those of mini-batches held out, None where
    nothing was measured.
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
        from sqrl._adapt.trace_text import trace_lines

        return "\n".join(trace_lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_arrow(self) -> pa.Table:
        """The records as a table, null where something was not measured."""
        names = Record.__struct_fields__
        return pa.table({name: [getattr(one, name) for one in self.records] for name in names})

    def plot(self, ax: Any = None) -> Any:
        """The axes with the loss and the excess held out; what was not kept is red."""
        from sqrl._adapt.trace_text import plot_trace

        return plot_trace(self, ax)


class Diary:
    """Collects a trace while adaptation runs."""

    def __init__(self, track: Track | None) -> None:
        self.records: list[Record] = []
        self.track: Track = track or (lambda *_: None)
        self.ending = ""
        self.alarms: list[str] = []  # notes that are also warned of
        self.result: Decision | None = None
        self._notes: dict[str, None] = {}  # in order, each once

    def note(self, text: str) -> None:
        """Keep a sentence for the reader."""
        self._notes[text] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences kept."""
        return tuple(self._notes)


def measured(decision: Decision | None) -> dict[str, float]:
    """The fields of a record that a decision fills; msgspec would write inf and nan as null."""
    return {} if decision is None else dict(_fields(decision.before, decision.after))


def _fields(before: Breakage, after: Breakage) -> Iterator[tuple[str, float]]:
    yield "share_before", before.share
    yield "share_after", after.share
    yield "excess_before", before.excess
    yield "excess_after", after.excess
