"""Columns that follow from the rows before, of rows in parts: to the last bit as in memory."""

import gc
import tempfile
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from engine_jobs import (
    BY_DAY,
    SEQUENCES,
    TWICE,
    made_visits,
    sequences_in_memory,
    sequences_scanned,
)
from made_scans import QUICK, bits, scanned
from sqrl._data.column import from_arrow
from sqrl._rows.sequences import RowOrder
from sqrl._scan.portions import Wanted, portions_for
from sqrl._scan.sequences import add_sequences
from sqrl._scan.side_columns import days_to_arrow
from sqrl.errors import DataError, SchemaError, UnknownNameError

LITTLE = 1 << 13  # bytes: a portion for a dozen rows or so


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@settings(QUICK, max_examples=15)
@given(
    ends=st.lists(st.integers(0, 120), max_size=4),
    rows_at_once=st.integers(5, 50),
    memory=st.sampled_from([LITTLE, 1 << 30]),
    row_order=st.sampled_from(
        [BY_DAY, RowOrder(("day",)), RowOrder(("day", "city"), ("who", "flag"))]
    ),
    seed=st.integers(0, 99),
)
def test_parts_and_portions_change_no_bit(ends, rows_at_once, memory, row_order, seed):
    """However rows are cut into parts, and entities into portions."""
    table = made_visits(120, seed)
    names = SEQUENCES if len(row_order.order) == 1 else SEQUENCES[:-1]
    scan = scanned(table, ends=ends, rows_at_once=rows_at_once, threads=2)

    found = sequences_scanned(scan.engine, names, row_order, TWICE, memory=memory)

    expected = sequences_in_memory(table, names, row_order, TWICE)
    for name in names:
        assert found[name].tolist() == pytest.approx(expected[name].tolist(), nan_ok=True, abs=0)
        assert found[name].tobytes() == expected[name].tobytes() or found[name].dtype.kind == "U"


def test_a_column_without_any_value_is_one_in_a_scan_too():
    """Nobody can say what it would hold."""
    table = made_visits(40).set_column(2, "x", pa.nulls(40, pa.float64()))
    names = ("delta(x)", "lag(x)")

    found = sequences_scanned(scanned(table, ends=(7,)).engine, names, BY_DAY, {})

    assert np.isnan(found["delta(x)"]).all()


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_lags_of_moments_keep_every_bit(unit):
    """In whatever unit they came."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 2 * 10**9, 80)
    counts *= {"s": 1, "us": 10**6, "ns": 10**9}[unit]
    counts += rng.integers(0, {"s": 1, "us": 10**6, "ns": 10**9}[unit], 80)
    moments = pa.array(counts).cast(pa.timestamp(unit))
    table = made_visits(80).append_column("seen", moments)
    names = ("lag(seen)", "delta(seen)")

    found = sequences_scanned(scanned(table, ends=(33,)).engine, names, BY_DAY, {})

    expected = sequences_in_memory(table, names, BY_DAY, {})
    for name in names:
        assert found[name].tobytes() == expected[name].tobytes()


@given(days=st.lists(st.floats(-80_000, 80_000), min_size=1, max_size=20))
def test_days_are_written_so_that_they_are_read_as_they_were(days):
    """To the last bit, and a day later than the first nanosecond is not lost."""
    start = datetime(1970, 1, 1)
    plain = [(start + timedelta(days=round(day))) for day in days]
    for values in (pa.array(plain, pa.timestamp("us")), days_to_arrow(np.array(days))):
        floats = from_arrow("d", pa.chunked_array([values])).values

        again = from_arrow("d", pa.chunked_array([days_to_arrow(floats)])).values

        assert again.tobytes() == floats.tobytes()


SCHEMA = {
    "order": "day",
    "entity": "who",
    "coverage": 0.8,
    "statistics": {"twice": "2 * x"},
    "bounds": {"min_support": 3},
    "batches": {"train": 9, "valid": 5},
    "validate": {"epsilon": 0.95, "share": 0.3},
    "let": {"A": ["x", "twice"], "L": "literals(delta(x)/3, lag(city))"},
    "rules": [
        "? <= delta(A) <= ?",
        "city = Rome => ? <= rolling_mean(x, 5) <= ? by since_last/2",
        "lag(city) in ?",
        "distance(lag(x)/3) <= ? over 16",
        "? <= f1(L => flag) <= ? over 16",
    ],
}


def test_learning_and_checking_a_scan_are_those_of_memory():
    """Rules, evidence, scores, p-values and the fingerprint of the data."""
    table, other = made_visits(300), made_visits(200, 1)
    rules = sqrl.learn(table, SCHEMA, valid=other)
    of_scan = sqrl.learn(scanned(table, ends=(120, 121)), SCHEMA, valid=scanned(other, ends=(7,)))

    assert bits(of_scan) == bits(rules)
    found, expected = sqrl.check(rules, scanned(other, ends=(50,))), sqrl.check(rules, other)
    assert found.broken.tolist() == expected.broken.tolist()
    assert found.p_value.tobytes() == expected.p_value.tobytes()
    assert [one.text for one in found.findings()] == [one.text for one in expected.findings()]


def test_files_are_scanned_and_nothing_is_left_behind(tmp_path, temporary):
    """Temporary files go with the engine that has them."""
    folder = tmp_path / "data"
    folder.mkdir()
    table = made_visits(300)
    for number in range(3):
        pq.write_table(table.slice(100 * number, 100), folder / f"{number}.parquet")
    rules = sqrl.learn(table, {**SCHEMA, "validate": False})
    found = sqrl.check(rules, str(folder / "*.parquet"))

    assert found.broken.tolist() == sqrl.check(rules, table).broken.tolist()
    del found
    gc.collect()
    assert [path.name for path in temporary.iterdir()] == ["data"]


def test_a_run_that_goes_on_later_computes_columns_anew(tmp_path):
    """And takes what passes found only if rows follow one another as they did."""
    path = tmp_path / "visits.parquet"
    pq.write_table(made_visits(200), path)
    schemas = [{**SCHEMA, "validate": False, "entity": entity} for entity in ("who", "city")]
    expected = [sqrl.learn(path, schema).texts() for schema in schemas]

    for _ in range(2):
        found = [
            sqrl.learn(sqrl.scan(path, resume=tmp_path / "done"), schema).texts()
            for schema in schemas
        ]

        assert found == expected


def test_one_entity_is_one_portion():
    """Its rows cannot be taken apart."""
    wanted = Wanted(("lag(x)",), RowOrder(("day",)), {})

    assert portions_for(10**9, wanted, LITTLE) == 1
    assert portions_for(10**9, Wanted(("lag(x)",), BY_DAY, {}), LITTLE) == 1024


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        (
            "delta(sity)",
            UnknownNameError,
            "Unknown column 'sity'.\n  where: Table\n  fix:   did you mean 'city'?",
        ),
        (
            "delta(city)",
            SchemaError,
            "Column 'city' holds categories, not numbers.\n  where: Table\n"
            "  fix:   compare it with a value, such as city = Oslo",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused_before_any_work(name, kind, message):
    """With the words that rows in memory have."""
    scan = scanned(made_visits(40), ends=(7,))

    with pytest.raises(kind) as error:
        add_sequences(scan.engine, [name], BY_DAY, {}, memory=LITTLE)

    assert str(error.value) == message


def test_a_column_that_is_gone_is_a_finding_of_a_scan_too():
    """As long as there is something else to check."""
    rules = sqrl.RuleSet.from_texts(
        ["0 <= delta(x) <= 1", "0 <= x"],
        schema=sqrl.Schema(order="day", entity="who", rules=("? <= delta(x)",)),
    )
    scan = scanned(made_visits(40).drop_columns(["day"]), ends=(7,))

    finding, *_ = sqrl.check(rules, scan).findings()

    assert finding.text == "delta(x) cannot be computed: 1 rule cannot be checked"
    with pytest.raises(UnknownNameError) as error:
        sqrl.check(rules[:1], scan)
    assert str(error.value).startswith("Unknown column 'day'.\n  where: order, Table")


def test_a_prediction_cannot_be_followed_in_a_scan():
    """Its rows before would have to take the label's place before they are looked at."""
    schema = sqrl.Schema(order="day", entity="who", label="x", rules=("? <= delta(x)",))
    rules = sqrl.RuleSet.from_texts(["0 <= delta(x) <= 1"], schema=schema)
    table = made_visits(40)
    scan = scanned(table.append_column("said", table["x"]))

    with pytest.raises(DataError) as error:
        sqrl.check(rules, scan, prediction="said")

    assert str(error.value) == (
        "delta(x) of the prediction needs all rows in memory, and these are scanned.\n"
        "  where: Table\n  fix:   check some of the rows, or call it 'x'"
    )


def test_an_engine_that_cannot_bring_rows_together_says_so():
    """A column of that name is taken as it is."""

    class Other:
        """An engine that nobody knows."""

        def __init__(self, engine):
            self.engine = engine

        def __getattr__(self, name):
            return getattr(self.engine, name)

    engine = Other(scanned(made_visits(40)).engine)
    with pytest.raises(DataError) as error:
        add_sequences(engine, ["lag(x)"], BY_DAY, {}, memory=LITTLE)

    assert str(error.value) == (
        "lag(x) looks at the rows before, which may be in other parts, and this engine cannot "
        "bring them together.\n  where: Table\n"
        "  fix:   compute it by groups of the entity, and give the data a column of that name"
    )
