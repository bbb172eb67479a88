"""Tables in parts of any sizes, schemas of every form, and results to compare to the last bit."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import Phase, settings
from hypothesis import strategies as st
from msgspec import structs

from engine_jobs import TablePart
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.scan import MEMORY, Scan
from sqrl.errors import SqrlError

WORDS = ("Car", "Van", "Person sitting", "1", "true", "größe")

# Mini-batches are few and small, and bounds need few samples: tables here have a hundred rows.
FEW = {"coverage": 0.8, "bounds": {"min_support": 3}, "batches": {"train": 9, "valid": 5}}
LOOSE = {**FEW, "validate": {"epsilon": 0.95, "share": 0.3}}
LET = {
    "Y": "values(kind)",
    "G": "values(grade)",
    "F": "values(flag)",
    "A": ["a", "b", "a - b", "log(c)", "exp(a) ** 1.5"],
    "L": "literals(a/3, c/4, grade, flag, kind, b > 2)",
    "M": "literals(b/4, flag)",
    "N": "literals(grade, b > 2)",
}


def schema(*rules, **options):
    """A schema of these rules, with the domains that they name."""
    let = {hole: domain for hole, domain in LET.items() if any(hole in _holes(r) for r in rules)}
    return {**LOOSE, "let": let, "rules": list(rules), **options}


def _holes(rule):
    marks = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in rule)
    return marks.split()


SCHEMAS = {
    "sample": schema("? <= A <= ?", "? <= c", "b <= ?"),
    "conditional": schema("kind = Y => ? <= A <= ?", "flag and b > 2 => ? <= c <= ?"),
    "bucketed": schema("kind = Y => ? <= a <= ? by b/4", "? <= c <= ? by A/3"),
    "bucketed twice": schema("? <= a <= ? by b/2, c/3", "grade = G => ? <= c <= ? by b/2, a/2"),
    "cuts": schema("? <= a <= ? by c/3", cuts={3: [10, 90]}),
    "each": schema("kind = Y and b in each of 4 => ? <= a <= ?", "a in each of 3 => c <= ?"),
    "class": schema(
        "? <= A <= ? => kind = Y", "flag and ? <= c <= ? => grade = G", "a <= ? => flag = F"
    ),
    "facts": schema(
        "M => ? <= b <= ?", "N{1..2} => ? <= a <= ? by c/2", select={"top": 4, "by": "width"}
    ),
    "logic": schema(
        "? <= f1(L{1..2} => kind = Y) <= ? over 8",
        "? <= precision(M{1..2} => grade = G) <= ? over 5",
        "? <= recall(kind = Y => flag) <= ? over 8",
        "flag => ? <= support(M => b > 2) <= ? over 8",
        select={"top": 6, "per": "Y"},
    ),
    "rate": schema("? <= rate(L) <= ? over 8", "kind = Y => rate(flag and a > 0) <= ? over 5"),
    "batch": schema(
        "kind = Y => ? <= mean(A) <= ? over 8",
        "? <= std(c) <= ? over 5",
        "b in each of 2 => ? <= median(a) <= ? over 8",
        "M => mean(c) <= ? over 8",
    ),
    "derived": schema(
        "kind = Y => ? <= ratio <= ?",
        "? <= twice <= ? by ratio/3",
        "? <= mean(ratio) <= ? over 5",
        "ratio > 1 => ? <= c <= ?",
        statistics={"ratio": "a / (b - 2)", "twice": "2 * ratio + c"},
    ),
    "tolerance": schema(
        "? <= A <= ?",
        "kind = Y => c <= ?",
        bounds={"method": "tolerance", "confidence": 0.7},
    ),
    "default support": schema("kind = Y => ? <= A <= ?", bounds={}),
    "not validated": schema(
        "kind = Y => ? <= A <= ?", "? <= f1(M => kind = Y) <= ? over 8", validate=False
    ),
    "strict": schema("kind = Y => ? <= A <= ?", validate={"epsilon": 0.3, "share": 0.5}),
    "labelled": schema("grade = G => ? <= a <= ?", "? <= a <= ? => grade = G", label="grade"),
}


# To shrink a table takes minutes, and gives one that is as large.
QUICK = settings(deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


class Pieces(TablePart):
    """A part that is read a few rows at a time; one that is empty still gives an empty batch."""

    def read(self, columns):
        names = [n for n in self.table.column_names if columns is None or n in columns]
        table = self.table.select(names or self.table.column_names[:1])
        for first in range(0, max(table.num_rows, 1), self.rows_at_once):
            arrays = [
                column.slice(first, self.rows_at_once).combine_chunks() for column in table.columns
            ]
            yield pa.record_batch(arrays, names=table.column_names)


def scanned(table, *, ends=(), rows_at_once=7, threads=1, memory=MEMORY, name="Table"):
    """The table as a scan: cut at the `ends`, each part read a few rows at a time."""
    cuts = [0, *sorted(min(end, table.num_rows) for end in ends), table.num_rows]
    parts = [
        Pieces(f"part {number}", table.slice(first, last - first), rows_at_once)
        for number, (first, last) in enumerate(pairwise(cuts))
    ]
    engine = LocalEngine(name, parts, threads, tuple(table.column_names))
    return Scan(engine, memory)


@st.composite
def layouts(draw, most_rows=150):
    """How a table is laid out: where it is cut into parts, rows at once, and threads."""
    return {
        "ends": draw(st.lists(st.integers(0, most_rows), max_size=19)),
        "rows_at_once": draw(st.sampled_from([3, 10, 30, 80])),
        "threads": draw(st.integers(1, 3)),
    }


@st.composite
def tables(draw, min_rows=40, max_rows=130):
    """Numbers that depend on the class, with ties, missing values, rare classes and constants."""
    n_rows = draw(st.integers(min_rows, max_rows))
    missing = draw(st.sampled_from([0.0, 0.1, 0.5]))
    digits = draw(st.sampled_from([0, 1, 15]))
    constant = draw(st.sampled_from([None, None, "b", "flag", "grade"]))
    return made_table(draw(st.integers(0, 10**6)), n_rows, missing, digits, constant)


def made_table(seed, n_rows=120, missing=0.1, digits=15, constant=None):
    """A table of numbers in several types, booleans and categories."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(WORDS), n_rows, p=[0.45, 0.35, 0.1, 0.06, 0.03, 0.01])
    shift = np.where(kinds == 0, 0.0, 2.0)
    columns = {
        "a": rng.normal(shift, 1.0).round(digits),
        "b": rng.integers(0, 5, n_rows) + shift.astype(int),
        "c": rng.exponential(1.0, n_rows).round(digits).astype(np.float32),
        "flag": rng.random(n_rows) < 0.4,
        "grade": rng.integers(1, 4, n_rows),
        "kind": np.array(WORDS)[kinds],
    }
    if constant is not None:
        columns[constant][:] = columns[constant][0]
    types = [pa.float64(), pa.int64(), pa.float32(), pa.bool_(), pa.int8(), pa.string()]
    arrays = [
        pa.array(values.tolist(), to, mask=rng.random(n_rows) < missing)
        for values, to in zip(columns.values(), types, strict=True)
    ]
    return pa.table(dict(zip(columns, arrays, strict=True)))


def bits(rules):
    """All of a rule set as something to compare: bounds to the last bit, formulas as equal."""
    made = structs.asdict(rules.provenance)
    del made["created"]
    table = repr(rules.table.to_pylist())
    return table, rules.nodes, rules.texts(), made, rules.schema, rules.held_out


def bits_of_check(found):
    """All counts and chances of a check as something to compare, to the last bit.

    Findings are left out: those of rows in memory say more.
    """
    result = found.to_dict()
    del result["findings"]
    floats = (found.row_effect, found.expected, found.p_value, *found.batch_values.values())
    return repr(result), found.label, [values.tobytes() for values in floats]


def outcome(call, *arguments, **options):
    """What a call gives, or the type and the text of the error that it raises."""
    try:
        return call(*arguments, **options)
    except SqrlError as error:
        return type(error), str(error)
