"""The batches that tools are asked about: the same for every tool, whichever is measured when.

A table is halved four times over: tools learn from one half, batches are drawn from the other, and
the repetitions of a batch take turns over the halvings. What is drawn and planted depends on the
seed, the table, the size, the kind, its strength and the repetition, and on nothing else.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

from numpy.random import Generator, default_rng

from power_faults import Fault, faults
from power_planting import Clean, Frame
from power_tables import Source

CLEAN = "clean"
HALVINGS = 4
MOST_OF_HALF = 0.6  # of the rows that batches are drawn from, so that batches differ


@dataclass(frozen=True, slots=True)
class Wanted:
    """A batch by name: what is planted, how strong, and which repetition it is."""

    kind: str
    strength: float
    repeat: int

    @property
    def cell(self) -> str:
        """The name of what repetitions are counted in."""
        return f"{self.kind} {self.strength:g}"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows, which of them a tool learned from, and the columns that a person would blame."""

    wanted: Wanted
    halving: int
    rows: Frame
    planted: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """Batches of one size from one table."""

    source: Source
    size: int
    seed: int
    _faults: dict[str, Fault] = field(init=False)
    _halves: dict[int, tuple[Clean, Frame]] = field(init=False, default_factory=dict)
    _made: dict[Wanted, Batch | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Faults of predictions are for tables with predictions, all others for the rest."""
        is_predicted = self.source.worse is not None
        chosen = {
            Wanted(fault.kind, fault.strength, 0).cell: fault
            for fault in faults()
            if fault.kind.startswith("predictions") == is_predicted
        }
        object.__setattr__(self, "_faults", chosen)

    @property
    def place(self) -> str:
        """The name of the table and size."""
        return f"{self.source.name}/{self.size}"

    def fits(self) -> bool:
        """Whether the table has enough rows for batches that differ from each other."""
        return self.size <= MOST_OF_HALF * (len(self.source.frame) - len(self.source.frame) // 2)

    def wanted(self, *, clean: int, repeats: int) -> Iterator[Wanted]:
        """All batches, those of the first repetition first."""
        for repeat in range(max(clean, repeats)):
            if repeat < clean:
                yield Wanted(CLEAN, 0.0, repeat)
            if repeat < repeats:
                for fault in self._faults.values():
                    yield Wanted(fault.kind, fault.strength, repeat)

    def reference(self, halving: int) -> Frame:
        """The rows that tools learn from."""
        return self._half(halving)[0].reference

    def make(self, wanted: Wanted) -> Batch | None:
        """The batch, kept for the next tool; None where the table has no place for the fault."""
        if wanted not in self._made:
            self._made[wanted] = self._make(wanted)
        return self._made[wanted]

    def _make(self, wanted: Wanted) -> Batch | None:
        halving = wanted.repeat % HALVINGS
        clean, others = self._half(halving)
        rng = self._rng(wanted.kind, round(1000 * wanted.strength), wanted.repeat)
        rows = others.iloc[rng.choice(len(others), self.size, replace=False)].reset_index(drop=True)
        if wanted.kind == CLEAN:
            return Batch(wanted, halving, rows, ())
        planted = self._faults[wanted.cell].plant(rows, clean, rng, wanted.strength)
        if planted is None:
            return None
        return Batch(wanted, halving, planted.batch, planted.columns)

    def digest(self) -> str:
        """Tells whether two machines, or two versions of this file, make the same batches."""
        digest = hashlib.sha256()
        for wanted in self.wanted(clean=1, repeats=1):
            batch = self.make(wanted)
            if batch is not None:
                digest.update(batch.rows.to_csv(index=False).encode())
        return digest.hexdigest()[:12]

    def _half(self, halving: int) -> tuple[Clean, Frame]:
        if halving not in self._halves:
            frame, source = self.source.frame, self.source
            order = default_rng([self.seed, crc32(source.name.encode()), halving]).permutation(
                len(frame)
            )
            mixed = frame.iloc[order].reset_index(drop=True)
            half = len(mixed) // 2
            clean = Clean(mixed[:half], source.label, source.worse)
            self._halves[halving] = clean, mixed[half:].reset_index(drop=True)
        return self._halves[halving]

    def _rng(self, kind: str, strength: int, repeat: int) -> Generator:
        name = f"{self.source.name}/{kind}"
        return default_rng([self.seed, crc32(name.encode()), self.size, strength, repeat])
