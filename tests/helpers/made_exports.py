"""Rules of every form and tables to check them on, with names and values that are hard to quote."""

import duckdb
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import sqrl
import strategies
from sqrl._language import to_text
from sqrl._language.forms import Form, Piece
from sqrl._language.statistics import BUILT_IN, batch_statistic
from sqrl._language.tree import And, Compare, Name, Number, Word, rewrite, walk

COUNTS = tuple(name for name in BUILT_IN if batch_statistic(name).of == "counts")
VALUES = tuple(name for name in BUILT_IN if batch_statistic(name).of == "values")
SIZE = 4
# What the columns and categories of `strategies` are called here.
NAMES = {
    "x": 'it\'s "x"',
    "y": "y`; DROP TABLE data; --",
    "flag": "größe\\",
    "bit": "select",
    "kind": "{{ kind }}\n%s",
}
WORDS = {"Van": "it's; DROP TABLE data; --", "Person sitting": 'ß"🚗`\\\n{% raw %}', "Car": "Car"}


def hostile(node):
    """The tree with every column and category called by its name here."""

    def change(part):
        if isinstance(part, Name):
            return Name(NAMES.get(part.name, part.name))
        return Word(WORDS.get(part.text, part.text)) if isinstance(part, Word) else None

    return rewrite(node, change)


STATISTICS = {name: to_text(hostile(tree)) for name, tree in strategies.STATISTICS.items()}


@st.composite
def pieces(draw):
    """Bounds: two-sided or one-sided; whole, in pieces by one expression, by two, or by any."""
    tests = draw(st.sampled_from(["whole", "by one", "by two", "any"]))
    if tests == "whole":
        return (draw(bounds(None)),)
    cuts = sorted(draw(st.sets(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=3)))
    if tests == "any":
        chosen = [draw(strategies.table_formulas()) for _ in cuts]
    else:
        by = draw(strategies.table_numbers())
        chosen = [Compare(by, "<=", Number(cut)) for cut in cuts]
    if tests == "by two":
        ends = [Compare(Name("y"), "<=", Number(end)) for end in (0.0, 1.0)]
        chosen = [And((test, end)) for test in chosen for end in ends]
    return tuple(draw(bounds(test)) for test in [*chosen, None])


@st.composite
def bounds(draw, test):
    """A closed interval, open on one side at most; its ends are often values of the table."""
    ends = st.sampled_from([-3.0, -0.25, 0.0, 0.1, 1 / 3, 0.5, 2 / 3, 1.0, 2.0, 1e9])
    low, high = sorted([draw(ends), draw(ends)])
    side = draw(st.sampled_from(["both", "both", "lower", "upper"]))
    lower = None if side == "upper" else Number(low)
    return Piece(lower, None if side == "lower" else Number(high), test)


def subjects():
    """An expression that names a column, as the subject of a rule must."""
    return strategies.table_numbers().map(
        lambda node: node if any(isinstance(part, Name) for part in walk(node)) else Name("x")
    )


@st.composite
def forms(draw):
    """A rule of any form about the columns of `tables`."""
    formulas = strategies.table_formulas()
    given = tuple(draw(st.lists(formulas, max_size=2)))
    kind = draw(st.sampled_from(["sample", "sample", "class", "values", "share", "counts"]))
    if kind == "class":
        return Form(kind="class", given=given or (draw(formulas),), head=draw(formulas))
    if kind == "sample":
        return Form(kind="sample", given=given, subject=draw(subjects()), pieces=draw(pieces()))
    parts = {"given": given[:1], "pieces": (draw(bounds(None)),), "over": SIZE}
    if kind == "values":
        subject, name = draw(subjects()), draw(st.sampled_from(VALUES))
        return Form(kind="batch", statistic=name, subject=subject, **parts)
    body = tuple(draw(st.lists(formulas, min_size=1, max_size=2)))
    if kind == "share":
        return Form(kind="logic", statistic="rate", body=body, **parts)
    name = draw(st.sampled_from(COUNTS))
    return Form(kind="logic", statistic=name, body=body, head=draw(formulas), **parts)


def named(form):
    """The form with every column and category called by its name here."""
    changed = {
        "given": tuple(map(hostile, form.given)),
        "body": tuple(map(hostile, form.body)),
        "head": form.head and hostile(form.head),
        "subject": form.subject and hostile(form.subject),
        "pieces": tuple(
            Piece(piece.lower, piece.upper, piece.test and hostile(piece.test))
            for piece in form.pieces
        ),
    }
    return Form(kind=form.kind, statistic=form.statistic, over=form.over, **changed)


def rules_of(made):
    """A rule set of forms, with the derived statistics that they may name."""
    plain = sqrl.RuleSet.from_forms([named(form) for form in made])
    schema = sqrl.Schema(rules=("? <= x <= ?",), statistics=STATISTICS)
    return sqrl.RuleSet(plain.table, plain.nodes, schema)


@st.composite
def tables(draw, *, min_size=1, max_size=14):
    """A table of numbers, integers, booleans and text, with missing values, NaN and infinity."""
    rows = draw(strategies.table_rows(min_size=min_size, max_size=max_size))
    columns = strategies.columns_of(rows)
    odd = draw(st.lists(st.sampled_from([np.nan, np.inf, -np.inf]), max_size=2))
    for value in odd:
        columns["x"][draw(st.integers(0, len(rows) - 1))] = value
    columns["kind"] = [WORDS.get(word, word) for word in columns["kind"]]
    types = {"x": pa.float64(), "y": pa.float64(), "flag": pa.bool_(), "kind": pa.string()}
    types["bit"] = draw(st.sampled_from([pa.int8(), pa.float32(), pa.bool_()]))
    if all(y is None or float(y).is_integer() for y in columns["y"]):
        types["y"] = draw(st.sampled_from([pa.int64(), pa.float32(), pa.decimal128(22, 2)]))
    arrays = {NAMES[name]: _array(columns[name], of) for name, of in types.items()}
    return pa.table({"id": range(len(rows)), **arrays})


def _array(values, of):
    if pa.types.is_string(of) or pa.types.is_floating(of):
        return pa.array(values).cast(of)
    return pa.array([None if v is None else int(v) for v in values], pa.int64()).cast(of)


def with_batches(table, batches):
    """The table with a column that tells the rows of each mini-batch apart; null for no one's."""
    batch = np.full(table.num_rows, -1)
    for number, rows in enumerate(batches):
        batch[rows] = number
    return table.append_column("batch", pa.array(batch, mask=batch < 0))


def run(sql, table):
    """What a query gives in DuckDB, as a list of dicts."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("data", table)
        return connection.sql(sql).to_arrow_table().to_pylist()
