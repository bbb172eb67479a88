"""What tools said, counted: a cell for each table, size, kind, strength and tool.

Tools may be measured at different times, on the same batches, into the same file; what is there
is not measured again.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path

from measure import Json
from power_batches import CLEAN, Batch, Wanted
from power_tools import Alarm

MOST_FINDINGS = 10  # more are counted as so many
INDENTED = 4  # levels of the file that have lines of their own


@dataclass(slots=True)
class Cell:
    """How many batches there were, and of how many a tool said what.

    `n_placed`: alarms about faults that have a column; `n_right`: those that name it first.
    `findings`: how many alarms, not errors, had one finding, two, and so on.
    """

    n_tried: int = 0  # repetitions, also those that found no place in the table
    n: int = 0
    n_raised: int = 0
    n_errors: int = 0
    n_placed: int = 0
    n_right: int = 0
    findings: list[int] = field(default_factory=list)

    def count(self, batch: Batch, alarm: Alarm) -> None:
        """Add what a tool said of a batch."""
        self.n_tried = max(self.n_tried, batch.wanted.repeat + 1)
        self.n += 1
        self.n_raised += alarm.raised
        self.n_errors += alarm.by_error
        if alarm.raised and not alarm.by_error:
            if batch.planted:
                self.n_placed += 1
                self.n_right += bool(set(alarm.first) & set(batch.planted))
            place = min(max(alarm.n_findings, 1), MOST_FINDINGS)
            self.findings += [0] * (place - len(self.findings))
            self.findings[place - 1] += 1

    def add(self, other: "Cell") -> None:
        """Add the counts of another cell."""
        for one in fields(Cell)[:-1]:
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        self.findings += [0] * (len(other.findings) - len(self.findings))
        for place, n in enumerate(other.findings):
            self.findings[place] += n

    def median_findings(self) -> int | None:
        """How many findings the alarm in the middle has; None where there is none."""
        middle, below = sum(self.findings) / 2, 0
        for place, n in enumerate(self.findings, start=1):
            below += n
            if below >= middle and middle:
                return place
        return None


@dataclass(slots=True)
class Place:
    """What a tool said of one table and size, and the seconds that it took."""

    cells: dict[str, Cell] = field(default_factory=dict)
    n_timed: int = 0
    seconds: float = 0.0

    def count(self, batch: Batch, alarm: Alarm, seconds: float) -> None:
        """Add what the tool said of a batch."""
        self.cells.setdefault(batch.wanted.cell, Cell()).count(batch, alarm)
        self.n_timed += 1
        self.seconds += seconds

    def lacks(self, wanted: Wanted) -> bool:
        """Whether the tool was not yet asked about a batch."""
        return wanted.cell not in self.cells or wanted.repeat >= self.cells[wanted.cell].n_tried


@dataclass(slots=True)
class Measured:
    """A tool: how it was measured, and what it said, by table and size."""

    conditions: Json
    places: dict[str, Place] = field(default_factory=dict)

    def pooled(self, kind: str, sizes: Iterable[int], *, tables: str | None = None) -> Cell:
        """All cells of a kind together: tables and strengths."""
        pooled = Cell()
        for name, place in self.places.items():
            table, size = name.split("/")
            if int(size) in sizes and tables in (None, table):
                for cell, counts in place.cells.items():
                    if kind_of(cell) == kind:
                        pooled.add(counts)
        return pooled


def kind_of(cell: str) -> str:
    """The kind that a cell is of, its strength left out."""
    return cell.rsplit(" ", 1)[0]


@dataclass(slots=True)
class Results:
    """All tools on one set of batches."""

    seed: int
    kinds: dict[str, bool]  # whether a kind must raise an alarm
    tables: dict[str, Json] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)  # of the batches, by table and size
    tools: dict[str, Measured] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)  # and why

    def sizes(self) -> list[int]:
        """The sizes of batches."""
        return sorted({int(place.split("/")[1]) for place in self.digests})

    def faults(self) -> list[str]:
        """The kinds that must raise an alarm."""
        return [kind for kind, must in self.kinds.items() if must]

    def mean_power(self, tool: str, size: int) -> float:
        """The share of batches with an alarm, as a mean over kinds; nan where none was tried."""
        cells = [self.tools[tool].pooled(kind, (size,)) for kind in self.faults()]
        shares = [cell.n_raised / cell.n for cell in cells if cell.n]
        return sum(shares) / len(shares) if shares else float("nan")

    def clean(self, tool: str, size: int) -> Cell:
        """What a tool said of clean batches."""
        return self.tools[tool].pooled(CLEAN, (size,))

    def same_batches(self, place: str, digest: str) -> None:
        """Refuse figures on batches other than those that are in the file."""
        if self.digests.setdefault(place, digest) != digest:
            raise SystemExit(
                f"The batches of {place} are not those that other tools were measured on. "
                "Give another -o, or measure all tools again."
            )

    def merge(self, other: "Results") -> None:
        """Take what other results have and these have not, or have less of."""
        if (self.seed, self.kinds) != (other.seed, other.kinds):
            raise SystemExit("These results have another seed or other kinds of faults.")
        for place, digest in other.digests.items():
            self.same_batches(place, digest)
        self.tables |= other.tables
        self.not_measured |= other.not_measured
        for tool, theirs in other.tools.items():
            self.not_measured.pop(tool, None)
            ours = self.tools.setdefault(tool, Measured(theirs.conditions))
            for place, said in theirs.places.items():
                if place not in ours.places or said.n_timed > ours.places[place].n_timed:
                    ours.places[place] = said

    def save(self, path: Path) -> None:
        """Write the file: a line for each tool, table and size."""
        tools = {
            tool: measured.conditions
            | {
                "places": {
                    name: {
                        "n_timed": place.n_timed,
                        "seconds": round(place.seconds, 2),
                        "cells": {cell: list(astuple(of)) for cell, of in place.cells.items()},
                    }
                    for name, place in measured.places.items()
                }
            }
            for tool, measured in self.tools.items()
        }
        content = {
            "seed": self.seed,
            "cell": [one.name for one in fields(Cell)],
            "kinds": self.kinds,
            "tables": self.tables,
            "digests": self.digests,
            "not_measured": self.not_measured,
            "tools": tools,
        }
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(_indented(content, 0)) + "\n")
        unfinished.replace(path)


def _indented(value: object, level: int) -> Iterator[str]:
    if not isinstance(value, dict) or not value or level >= INDENTED:
        yield json.dumps(value)
        return
    yield "{"
    for place, (key, one) in enumerate(value.items()):
        yield f"{',' if place else ''}\n{' ' * (level + 1)}{json.dumps(key)}: "
        yield from _indented(one, level + 1)
    yield f"\n{' ' * level}}}"


def read_results(path: Path) -> Results:
    """The file that `save` wrote."""
    read: Json = json.loads(path.read_text())
    results = Results(
        read["seed"], read["kinds"], read["tables"], read["digests"], {}, read["not_measured"]
    )
    for tool, entry in read["tools"].items():
        places = {
            name: Place(
                {cell: Cell(*counts) for cell, counts in place["cells"].items()},
                place["n_timed"],
                place["seconds"],
            )
            for name, place in entry.pop("places").items()
        }
        results.tools[tool] = Measured(entry, places)
    return results
