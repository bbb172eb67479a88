"""Which rows are held out where rows belong to units: all rows of some units."""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Int64s
from sqrl._progress import Track, labelled
from sqrl._rows.rows import Rows
from sqrl._rows.units import held_out_units, is_among, too_few_units, unit_keys
from sqrl._scan.job import Chunk, Engine, State
from sqrl._scan.look import ReadAsIs
from sqrl.errors import DataError

MOST_UNITS = 1 << 24  # whose keys are held at once: 128 MiB


@dataclass(frozen=True, slots=True, eq=False)
class UnitSplit:
    """Rows to learn from and rows to hold out, each numbered among their own.

    `chosen` are the keys of the units held out; `firsts` are the numbers of the parts' first rows,
    and `marks` says how many rows are held out before each of those.
    """

    unit: tuple[str, ...]
    chosen: Int64s
    firsts: Int64s
    marks: Int64s
    n_rows: int

    @property
    def n_valid(self) -> int:
        """How many rows are held out."""
        return int(self.marks[-1])

    @property
    def n_train(self) -> int:
        """How many rows are learned from."""
        return self.n_rows - self.n_valid

    def held_out(self, chunk: Chunk) -> Bools:
        """Which rows of a chunk are held out."""
        return is_among(unit_keys(Rows(chunk.table, {}), self.unit), self.chosen)

    def before(self, chunk: Chunk, seen: int) -> int:
        """How many rows before a chunk are held out, `seen` of them in the same part."""
        part = int(np.searchsorted(self.firsts, chunk.first, side="right")) - 1
        return int(self.marks[part]) + seen


@dataclass(frozen=True, slots=True)
class UnitKeys:
    """The job that collects the keys of all units."""

    unit: tuple[str, ...]
    source: str

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset(self.unit)

    def start(self) -> State:
        """No unit."""
        return {"keys": np.empty(0, np.int64)}

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state with the units of the chunk too."""
        return self.merge(state, {"keys": unit_keys(Rows(chunk.table, {}), self.unit)})

    def merge(self, first: State, second: State) -> State:
        """The units of both."""
        keys = np.union1d(first["keys"], second["keys"])
        if keys.size > MOST_UNITS:
            raise DataError(
                f"There are more than {MOST_UNITS:,} units.",
                where=self.source,
                fix="give held-out rows in files of their own (--valid)",
            )
        return {"keys": keys}


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRows:
    """The job that counts the rows of held-out units, in each chunk by its first row."""

    unit: tuple[str, ...]
    chosen: Int64s

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset(self.unit)

    def start(self) -> State:
        """Nothing counted."""
        return {"first": np.empty(0, np.int64), "count": np.empty(0, np.int64)}

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state with the chunk too."""
        is_chosen = is_among(unit_keys(Rows(chunk.table, {}), self.unit), self.chosen)
        here = {"first": np.array([chunk.first]), "count": np.array([is_chosen.sum()])}
        return self.merge(state, here)

    def merge(self, first: State, second: State) -> State:
        """The counts of both."""
        return {key: np.concatenate([first[key], second[key]]) for key in first}


def make_unit_split(
    engine: Engine, unit: tuple[str, ...], share: float, *, seed: int, track: Track | None
) -> UnitSplit:
    """The split that rows in memory have, by two passes over the columns of the unit."""
    counts = engine.counts()
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    given = firsts.tolist(), ReadAsIs(engine.name)
    watch = labelled(track, "units")
    keys = engine.run(UnitKeys(unit, engine.name), *given, track=watch)["keys"]
    if keys.size < 2:
        raise too_few_units(keys.size, unit, engine.name)
    chosen = held_out_units(keys, share, seed=seed)
    found = engine.run(HeldOutRows(unit, chosen), *given, track=watch)
    part = np.searchsorted(firsts, found["first"], side="right") - 1
    in_part = np.bincount(part, found["count"], firsts.size).astype(np.int64)
    marks = np.concatenate([[0], np.cumsum(in_part)])
    return UnitSplit(unit, chosen, firsts, marks, sum(counts))
