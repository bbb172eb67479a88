"""Small jobs, parts and rows for the tests of engines; imported by their workers too."""

import os
import signal
import time
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

import sqrl
from sqrl._data.table import as_table
from sqrl._language import parse_formula
from sqrl._rows.sequences import RowOrder, with_sequences
from sqrl._scan.facts import look_at
from sqrl._scan.look import Look
from sqrl._scan.sequences import add_sequences
from sqrl.errors import DataError

EDGES = np.array([-np.inf, -1.0, -0.5, 0.0, 0.5, 1.0, np.inf])
PETS = ("cat", "dog", "eel")
DAMAGED = DataError("The file is damaged.", where="b.parquet", fix="write it again")

# Workers import the jobs here, and the sources under test, wherever they lie.
PATHS = os.pathsep.join(str(place.parent) for place in (Path(__file__), Path(sqrl.__file__).parent))


def read(batch):
    """The table of a batch, a category with its values coded the same in every batch."""
    table = as_table(pa.Table.from_batches([batch]), source="made")
    if "pet" not in batch.schema.names:
        return table
    codes = [PETS.index(pet) if pet else -1 for pet in batch.column("pet").to_pylist()]
    return table.with_columns({"pet code": np.array(codes)})


@dataclass(frozen=True)
class TablePart:
    """Rows in memory, read a few at a time."""

    name: str
    table: pa.Table
    rows_at_once: int = 100

    @property
    def n_rows(self):
        return self.table.num_rows

    def read(self, columns):
        names = [n for n in self.table.column_names if columns is None or n in columns]
        table = self.table.select(names or self.table.column_names[:1])
        yield from table.to_batches(max_chunksize=self.rows_at_once)


@dataclass(frozen=True)
class Toy:
    """A histogram of x, rows for each pet, the least and greatest x, and a sum of row numbers."""

    columns: frozenset[str] | None = frozenset({"x", "pet"})

    def start(self):
        return {
            "histogram": np.zeros(EDGES.size - 1, np.int64),
            "pets": np.zeros(len(PETS), np.int64),
            "range": np.array([np.inf, -np.inf]),
            "numbers": np.zeros(1, np.uint64),
        }

    def summarise(self, chunk, state):
        x = chunk.table["x"].values
        seen = x[~np.isnan(x)]
        state["histogram"] += np.histogram(seen, EDGES)[0]
        codes = chunk.table["pet code"].values.astype(np.int64)
        state["pets"] += np.bincount(codes[codes >= 0], minlength=len(PETS))
        state["range"][0] = seen.min(initial=state["range"][0])
        state["range"][1] = seen.max(initial=state["range"][1])
        numbers = np.arange(chunk.first, chunk.first + len(x), dtype=np.uint64)
        state["numbers"] += (numbers * numbers * (codes + 2).astype(np.uint64)).sum()
        return state

    def merge(self, first, second):
        for name in ("histogram", "pets", "numbers"):
            first[name] += second[name]
        first["range"][0] = min(first["range"][0], second["range"][0])
        first["range"][1] = max(first["range"][1], second["range"][1])
        return first


@dataclass(frozen=True)
class CountOnly:
    """How many rows there are, which needs no column."""

    columns: frozenset[str] | None = frozenset()

    def start(self):
        return {"n": np.zeros(1, np.int64)}

    def summarise(self, chunk, state):
        state["n"] += chunk.table.n_rows
        return state

    def merge(self, first, second):
        return {"n": first["n"] + second["n"]}


@dataclass(frozen=True)
class Names(CountOnly):
    """The names of the columns that a chunk has."""

    columns: frozenset[str] | None = None

    def start(self):
        return {"names": np.array([], np.str_)}

    def summarise(self, chunk, state):
        return self.merge(state, {"names": np.array(chunk.table.names)})

    def merge(self, first, second):
        return {"names": np.union1d(first["names"], second["names"])}


@dataclass(frozen=True)
class Slow(CountOnly):
    """Counts rows, with a rest at each chunk."""

    seconds: float = 0.02

    def summarise(self, chunk, state):
        time.sleep(self.seconds)
        return super().summarise(chunk, state)


@dataclass(frozen=True)
class Fails(CountOnly):
    """Raises an error at the chunk that holds row `row`."""

    row: int = 0
    error: Exception = DAMAGED

    def summarise(self, chunk, state):
        if chunk.first <= self.row < chunk.first + chunk.table.n_rows:
            raise self.error
        return super().summarise(chunk, state)


@dataclass(frozen=True)
class Dies(Toy):
    """The first worker that comes to row `row` dies at once, as if the machine had gone."""

    marker: str = ""
    row: int = 0

    def summarise(self, chunk, state):
        if chunk.first <= self.row < chunk.first + chunk.table.n_rows:
            try:
                Path(self.marker).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().summarise(chunk, state)


@dataclass(frozen=True)
class AlwaysDies(CountOnly):
    """Every worker that comes to row `row` dies."""

    row: int = 0

    def summarise(self, chunk, state):
        if chunk.first <= self.row < chunk.first + chunk.table.n_rows:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().summarise(chunk, state)


def made_rows(n_rows=2000):
    """Rows with numbers, missing ones among them, and categories."""
    random = np.random.default_rng(5)
    x = np.where(random.random(n_rows) < 0.1, np.nan, random.normal(size=n_rows))
    pets = random.choice([*PETS, None], size=n_rows)
    return pa.table({"x": x, "pet": pa.array(pets, pa.string()), "n": np.arange(n_rows)})


def cut(table, n_parts):
    """The table as parts of uneven sizes, in order; some are empty if there are few rows."""
    ends = (table.num_rows * np.arange(n_parts + 1) ** 2 // n_parts**2).tolist()
    return [
        TablePart(f"part {number}", table.slice(start, end - start))
        for number, (start, end) in enumerate(pairwise(ends))
    ]


def run(engine, job, **options):
    """The state of the job, with the numbers of first rows that the counts give."""
    firsts = list(accumulate(engine.counts(), initial=0))[:-1]
    return engine.run(job, firsts, read, **options)


def bits(state):
    """A state as something to compare, to the last bit."""
    return {
        name: (array.dtype.str, array.shape, array.tobytes())
        for name, array in sorted(state.items())
    }


def expected(table):
    """What Toy gives, from all rows at once and with plain loops."""
    rows = table.to_pylist()
    seen = [row["x"] for row in rows if row["x"] == row["x"]]
    histogram = [sum(low <= x < high for x in seen) for low, high in pairwise(EDGES)]
    pets = [sum(row["pet"] == pet for row in rows) for pet in PETS]
    weights = {None: 1, "cat": 2, "dog": 3, "eel": 4}
    numbers = sum(number**2 * weights[row["pet"]] for number, row in enumerate(rows))
    return {
        "histogram": np.array(histogram, np.int64),
        "pets": np.array(pets, np.int64),
        "range": np.array([min(seen, default=np.inf), max(seen, default=-np.inf)]),
        "numbers": np.array([numbers], np.uint64),
    }


@dataclass(frozen=True)
class DyingPart(TablePart):
    """Rows whose reader is killed the `at`-th time that they are read, counted in a file."""

    marker: str = ""
    at: int = 3

    def read(self, columns):
        die_once(self.marker, self.at)
        yield from super().read(columns)


def die_once(marker, at):
    """Kill this process the `at`-th time, over all processes, that it comes here."""
    with Path(marker).open("ab") as file:
        file.write(b".")
    if Path(marker).stat().st_size == at:
        os.kill(os.getpid(), signal.SIGKILL)


RULES = {
    "label": "pet",
    "let": {"Y": "values(pet)", "A": ["x", "n"], "B": ["x", "n"], "L": "literals(x/4, n/3)"},
    "rules": [
        "pet = Y => ? <= A <= ?",
        "pet = Y => ? <= A <= ? by B/3",
        "? <= f1(L{1..2} => pet = Y) <= ? over 50",
        "pet = cat => ? <= mean(x) <= ? over 50",
    ],
    "coverage": 0.9,
    "batches": {"train": 20, "valid": 20},
}


@dataclass(frozen=True)
class Gather:
    """All the values of some columns, by the number of the first row of their chunk."""

    columns: frozenset[str] | None

    def start(self):
        return {}

    def summarise(self, chunk, state):
        for name in self.columns if chunk.table.n_rows else ():
            state[f"{chunk.first:09d}/{name}"] = held(chunk.table[name])
        return state

    def merge(self, first, second):
        return {**first, **second}


def held(column):
    """The values of a column, those of a category as words and "-" where one is missing."""
    if column.kind != "category":
        return column.values
    return np.array([*column.categories, "-"])[column.values]


BY_DAY = RowOrder(("day",), ("who",))
TWICE = {"twice": parse_formula("2 * x")}
SEQUENCES = (
    *("lag(x)", "lag(x, 2)", "delta(x)", "rolling_mean(x, 3)", "rolling_mean(x, 100)"),
    *("lag(city)", "lag(flag)", "delta(twice)", "lag(delta(x))", "since_last"),
)


def made_visits(n_rows=300, seed=0):
    """Visits of people in no order, with days that tie and everything missing somewhere."""
    rng = np.random.default_rng(seed)
    columns = {
        "who": rng.choice([f"person {number}" for number in range(40)], n_rows),
        "day": rng.integers(0, 12, n_rows),
        "x": rng.lognormal(0, 5, n_rows),
        "city": rng.choice(["Rome", "Oslo", "größe"], n_rows),
        "flag": rng.random(n_rows) < 0.5,
    }
    return pa.table(
        {
            name: pa.array(values.tolist(), mask=rng.random(n_rows) < 0.1)
            for name, values in columns.items()
        }
    )


def sequences_in_memory(table, names, row_order, statistics):
    """What each of the columns holds that follow from the rows before, of a table in memory."""
    found = with_sequences(as_table(table), names, row_order, statistics)
    return {name: held(found[name]) for name in names}


def sequences_scanned(engine, names, row_order, statistics, *, memory=1 << 30):
    """The same of rows that an engine goes through."""
    wide = add_sequences(engine, names, row_order, statistics, memory=memory)
    seen = look_at(wide, Look(frozenset(names)))
    state = wide.run(Gather(frozenset(names)), seen.firsts, seen.facts)
    keys = sorted(state)
    return {
        name: np.concatenate([state[key] for key in keys if key.endswith(f"/{name}")])
        for name in names
    }
