"""What one look tells of columns, whatever the chunks, against the whole table in memory."""

import datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sqrl
from made_scans import bits, layouts, made_table, scanned
from sqrl._data.column import MOST_VALUES
from sqrl._data.draws import split_rows
from sqrl._data.table import as_table
from sqrl._language import parse_formula
from sqrl._scan import look as look_module
from sqrl._scan.facts import look_at
from sqrl._scan.look import Look
from sqrl._scan.split import make_split
from sqrl.errors import DataError

SOON = settings(deadline=None, max_examples=60)
LARGEST = 2**53
COLUMNS = {
    "int64": (pa.int64(), st.integers(-4, 4) | st.sampled_from([LARGEST, LARGEST + 1, -LARGEST])),
    "uint64": (pa.uint64(), st.integers(0, 4) | st.sampled_from([LARGEST, 2**64 - 1])),
    "float64": (pa.float64(), st.floats(width=64) | st.integers(-3, 3).map(float)),
    "float32": (pa.float32(), st.floats(width=32) | st.integers(-3, 3).map(float)),
    "whole": (pa.float64(), st.integers(-3, 3).map(float) | st.just(-0.0)),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(alphabet="ab\0.é🚗", max_size=3)),
    "large text": (pa.large_string(), st.sampled_from(["", "a", "a\0", "\0"])),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b"])),
    "decimal": (pa.decimal128(9, 2), st.sampled_from([Decimal("1.00"), Decimal("0.25")])),
    "date": (pa.date32(), st.just(datetime.date(2024, 1, 1))),
    "null": (pa.null(), st.nothing()),
}


@st.composite
def columns(draw):
    """A column of any type, with missing values, as a table with another whose name has a slash."""
    kind, values = COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))]
    missing = st.none()
    made = draw(st.lists(missing | values if kind != pa.null() else missing, max_size=30))
    array = pa.array(made, pa.string()).cast(kind) if "dict" in str(kind) else pa.array(made, kind)
    return pa.table({"x": array, "x/values": pa.array(range(len(made)), pa.int64())})


def look(data, *, split=None, of_interest=None):
    """The facts of scanned data."""
    names = frozenset(data.engine.names if of_interest is None else of_interest)
    return look_at(data.engine, Look(names, split)).facts


def told(column):
    """What facts tell of a column, and the whole column does too."""
    if column.kind == "other":
        return "other", column.name
    return column.kind, column.name, column.categories, repr(column.distinct())


@SOON
@example(pa.table({"x": [5] * 9 + [LARGEST + 1]}), {"ends": (5,), "rows_at_once": 3, "threads": 2})
@example(pa.table({"x": ["a\0", "a", "a\0\0", "\0", "", None]}), {"rows_at_once": 1})
@given(columns(), layouts(30))
def test_facts_are_those_of_the_whole_table(table, layout):
    """Kinds, categories, distinct values, missing and infinite ones, and the fingerprint."""
    whole = as_table(table)
    facts = look(scanned(table, **layout))

    assert facts.n_rows == whole.n_rows
    assert facts.fingerprint == whole.fingerprint()
    assert facts.whole.names == whole.names
    for name, column in whole.columns.items():
        found = facts.whole[name]
        assert told(found) == told(column)
        if column.kind == "other":
            continue
        missing = column.missing()
        assert facts.missing[name] == missing.sum()
        assert found.is_integer == column.is_integer or missing.all()
        infinite = np.isinf(column.values)
        counted = (infinite.sum(), infinite.argmax()) if infinite.any() else None
        assert facts.infinite.get(name) == counted


@SOON
@given(table=columns(), layout=layouts(30), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_chunks_are_read_with_the_kinds_and_categories_of_the_whole(table, layout, cuts):
    """Joined they are the table, whatever each of them holds."""
    whole = as_table(table)
    facts = look(scanned(table, **layout))
    ends = [0, *sorted(min(cut, table.num_rows) for cut in cuts), table.num_rows]
    for name, column in whole.columns.items():
        chunks = [
            facts(batch)[name]
            for first, last in pairwise(ends)
            for batch in table.slice(first, last - first).to_batches()
        ]
        values = np.concatenate([column.values[:0], *(chunk.values for chunk in chunks)])

        assert {(chunk.kind, chunk.categories) for chunk in chunks} <= {
            (column.kind, column.categories)
        }
        np.testing.assert_array_equal(values, column.values)


@pytest.mark.parametrize("rows_at_once", [13, 700, 9000])
def test_of_many_numbers_the_least_are_kept(rows_at_once):
    """As many as say that there are too many: which ones does not depend on the chunks."""
    values = np.random.default_rng(3).permutation(np.arange(9000) % 3000 * 0.5 - 100)
    found = look(scanned(pa.table({"x": values}), ends=(2000, 2100), rows_at_once=rows_at_once))

    assert found.whole["x"].distinct() == tuple(np.unique(values)[: MOST_VALUES + 1].tolist())


@pytest.mark.parametrize("n_values", [MOST_VALUES - 1, MOST_VALUES, MOST_VALUES + 1])
def test_as_many_numbers_as_can_be_enumerated_are_all_kept(n_values):
    """One more says that they are too many."""
    values = np.random.default_rng(3).permutation(np.arange(3.0 * n_values) // 3)
    found = look(scanned(pa.table({"x": values}), ends=(100, 1500), rows_at_once=400))

    assert found.whole["x"].distinct() == tuple(range(n_values))


def test_too_many_words_make_a_column_that_names_rows(monkeypatch):
    """Whichever chunk brings the one word too many; no rule then speaks of its values."""
    monkeypatch.setattr(look_module, "MOST_WORDS", 20)
    names = [f"row {number}" for number in range(30)]
    table = pa.table({"name": names, "few": names[:20] + names[:10], "a": np.arange(30.0)})
    for rows_at_once in (1, 7, 30):
        data = scanned(table, ends=(5, 11), rows_at_once=rows_at_once)
        facts = look(data, split=make_split(30, 0.4, seed=0))
        kinds = [facts.whole[name].kind for name in table.column_names]

        assert kinds == ["category", "category", "number"]
        assert facts.train["name"].distinct() == facts.whole["name"].distinct() == ()
        assert facts.too_many == {"name"}
        with pytest.raises(DataError) as caught:
            sqrl.learn(data, {"rules": ['name = "row 1" => ? <= a <= ?'], "validate": False})
        assert caught.value.what.startswith("Column 'name' holds too many different words")


def test_of_too_many_words_functions_are_learned_and_checked_as_in_memory(monkeypatch):
    """Words are then each chunk's own, mini-batches included."""
    monkeypatch.setattr(look_module, "MOST_WORDS", 20)
    rng = np.random.default_rng(0)
    notes = [None if n % 9 == 0 else "x" * int(rng.integers(1, 9)) + str(n) for n in range(300)]
    table = pa.table({"note": notes, "a": rng.normal(size=300)})
    schema = {
        "statistics": {"figures": "digits(note)"},
        "rules": [
            "length(note) > 5 => ? <= a <= ?",
            "? <= length(note) <= ?",
            "? <= mean(figures) <= ? over 32",
            "? <= rate(known(note)) <= ? over 32",
            "words(note) in ?",
        ],
        "bounds": {"min_support": 3},
        "validate": {"epsilon": 1.0, "share": 0.3},
    }
    rules = sqrl.learn(table, schema)
    data = scanned(table, ends=(50, 110), rows_at_once=13)

    assert len(rules) == 5
    assert bits(sqrl.learn(data, schema)) == bits(rules)
    here, there = sqrl.check(rules, table), sqrl.check(rules, data)
    assert here.broken.tolist() == there.broken.tolist()
    assert here.applicable.tolist() == there.applicable.tolist()
    assert here.p_value.tolist() == there.p_value.tolist()


def test_long_words_count_by_their_letters(monkeypatch):
    """Each takes the room of the longest."""
    monkeypatch.setattr(look_module, "MOST_LETTERS", 1000)
    table = pa.table({"x": ["a" * 400, "b" * 300, "c"], "y": ["a" * 100, "b", "c"]})
    for rows_at_once in (1, 2, 3):
        facts = look(scanned(table, rows_at_once=rows_at_once))

        assert facts.too_many == {"x"}
        assert facts.whole["y"].distinct() == ("a" * 100, "b", "c")


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 99), layout=layouts(100), share=st.sampled_from([0.1, 0.5, 0.9]))
def test_values_of_train_rows_are_told_apart(seed, layout, share):
    """Domains are made of the rows to learn from; kinds and categories are of all rows."""
    table = made_table(seed, 100)
    facts = look(scanned(table, **layout), split=make_split(100, share, seed=seed))
    train = as_table(table).take(split_rows(100, share, seed=seed)[0])

    for name, column in train.columns.items():
        assert told(facts.train[name]) == told(column)
        assert facts.train[name].is_integer == column.is_integer


def test_values_are_kept_only_of_columns_that_somebody_asks_for():
    """A column of names of rows costs nothing unless a schema speaks of it."""
    table = made_table(0)
    facts = look(scanned(table), of_interest=["kind"])

    assert facts.whole["kind"].distinct() == as_table(table)["kind"].distinct()
    assert facts.whole["a"].distinct() == ()
    assert facts.whole["a"].kind == "number"
    assert facts.fingerprint == as_table(table).fingerprint()


def test_without_rows_there_are_columns_still():
    """What is asked of them has an answer, and expressions can be tried on them."""
    facts = look(sqrl.scan(made_table(0).slice(0, 0)))

    assert facts.n_rows == facts.whole.n_rows == 0
    assert facts.whole.names == ("a", "b", "c", "flag", "grade", "kind")
    assert all(column.values.size == 0 for column in facts.no_rows().columns.values())


def test_statistics_are_known_if_they_are_on_any_row():
    """Whether a statistic is defined anywhere decides whether it can be learned from."""
    table = made_table(4, 90)
    statistics = {"r": parse_formula("a / (b - 2)"), "s": parse_formula("2 * r")}
    statistics["n"] = parse_formula("a / (b - b)")
    engine = scanned(table, ends=(30,), rows_at_once=11).engine
    facts = look_at(engine, Look(frozenset("ab"), statistics=statistics)).facts

    assert facts.known == {"r": True, "s": True, "n": False}
