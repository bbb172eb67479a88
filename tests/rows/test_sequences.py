"""Columns that follow from the rows before, held against loops; and what refuses to be one."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from sqrl._data.table import as_table
from sqrl._language import parse_formula
from sqrl._rows.sequences import (
    RowOrder,
    columns_behind,
    with_possible_sequences,
    with_sequences,
)
from sqrl.errors import DataError, SchemaError, SqrlError, UnknownNameError

BY_DAY = RowOrder(("day",), ("who",))
FUNCTIONS = ("lag", "delta", "rolling_mean")


@st.composite
def tables(draw):
    """Rows of a few people in any order, with days that tie and everything missing somewhere."""
    n_rows = draw(st.integers(1, 20))

    def column(values):
        return draw(st.lists(st.one_of(st.none(), values), min_size=n_rows, max_size=n_rows))

    return {
        "who": pa.array(column(st.sampled_from(["ann", "bo", "cy"])), pa.string()),
        "day": pa.array(column(st.integers(0, 3)), pa.int64()),
        "x": pa.array(column(st.integers(-50, 50)), pa.int64()),
        "city": pa.array(column(st.sampled_from(["Rome", "Oslo"])), pa.string()),
    }


def plain(column):
    """The values of a column, None where one is missing."""
    if column.kind == "category":
        return [column.categories[code] if code >= 0 else None for code in column.values]
    return [None if np.isnan(value) else value for value in column.values.tolist()]


def keys_of(columns, *names):
    """The tuples of keys that the oracle takes."""
    return list(zip(*(columns[name].to_pylist() for name in names), strict=True))


@given(columns=tables(), function=st.sampled_from(FUNCTIONS), n=st.integers(1, 4))
def test_a_column_is_what_a_loop_over_the_rows_computes(columns, function, n):
    """Of rows in any order, with ties and missing values, of many entities or of one."""
    name = f"{function}(x, {n})" if n > 1 or function == "rolling_mean" else f"{function}(x)"
    for row_order in (BY_DAY, RowOrder(("day",)), RowOrder(("day", "city"), ("who",))):
        found = with_sequences(as_table(pa.table(columns)), [name], row_order, {})

        entity = keys_of(columns, *row_order.entity) or [()] * len(columns["x"])
        order = keys_of(columns, *row_order.order)
        values = columns["x"].to_pylist()
        assert plain(found[name]) == oracles.sequence(function, values, entity, order, n)


@given(columns=tables())
def test_a_lag_is_of_the_kind_that_its_column_is(columns):
    """Of a category it is one, with the same codes."""
    table = as_table(pa.table(columns))

    found = with_sequences(table, ["lag(city)"], BY_DAY, {})["lag(city)"]

    entity, order = keys_of(columns, "who"), keys_of(columns, "day")
    assert found.kind == "category"
    assert plain(found) == oracles.sequence("lag", columns["city"].to_pylist(), entity, order, 1)


def test_statistics_and_other_such_columns_can_be_followed():
    """What they follow from is computed first."""
    table = as_table({"day": [1, 2, 3, 4], "x": [1.0, 4.0, 9.0, 16.0]})
    statistics = {"speed": parse_formula("delta(x) / since_last")}

    found = with_sequences(
        table, ["delta(speed)", "lag(delta(x), 2)"], RowOrder(("day",)), statistics
    )

    assert plain(found["delta(speed)"]) == [None, None, 2.0, 2.0]
    assert plain(found["lag(delta(x), 2)"]) == [None, None, None, 3.0]
    assert found["delta(speed)"].is_integer


@pytest.mark.parametrize(
    "days",
    [
        pa.array([date(2024, 2, 28) + timedelta(days=n) for n in (2, 0, 3)]),
        pa.array(["2024-03-01", "2024-02-28", "2024-03-02"]),
        pa.array([3.0, 1.0, 4.0]),
    ],
)
def test_since_last_counts_days_of_dates_and_else_as_the_order_does(days):
    """Dates may come as dates or as text."""
    found = with_sequences(as_table(pa.table({"t": days})), ["since_last"], RowOrder(("t",)), {})

    assert plain(found["since_last"]) == [2.0, None, 1.0]


def test_a_delta_of_dates_is_in_days():
    """And a lag of a date is a date."""
    seen = pa.array([date(2024, 1, 1), date(2024, 1, 31)])
    table = as_table(pa.table({"t": [1, 2], "seen": seen}))

    found = with_sequences(table, ["delta(seen)", "lag(seen)"], RowOrder(("t",)), {})

    assert plain(found["delta(seen)"]) == [None, 30.0]
    assert found["lag(seen)"].kind == "date"


def test_a_column_that_the_data_has_is_taken_as_it_is():
    """So that what is known of rows outside the table can be said."""
    table = as_table({"t": [1, 2], "x": [1, 2], "delta(x)": [5, 1]})

    assert with_sequences(table, ["delta(x)"], RowOrder(("t",)), {}) is table


def test_without_an_order_there_is_nothing_to_add():
    """A name that says it follows from other rows is then one like any other."""
    table = as_table({"x": [1, 2]})

    assert with_sequences(table, ["delta(x)"], None, {}) is table
    assert columns_behind(["delta(x)", "since_last"], None, {}) == {"x", "since_last"}


def test_the_columns_behind_are_those_that_data_must_have():
    """Those of statistics too, and what says which rows follow one another."""
    statistics = {"speed": parse_formula("delta(x) / since_last"), "area": parse_formula("w * h")}

    assert columns_behind(["lag(area)"], BY_DAY, statistics) == {"w", "h", "day", "who"}
    assert columns_behind(["lag(speed)"], BY_DAY, statistics) == {"x", "day", "who"}
    assert columns_behind(["x"], BY_DAY, statistics) == {"x"}


REFUSED = {"t": [1, 2], "u": [1, 2], "city": ["Rome", "Oslo"], "odd": [[1], [2]]}


@pytest.mark.parametrize(
    ("name", "order", "kind", "message"),
    [
        (
            "delta(city)",
            ("t",),
            SchemaError,
            "Column 'city' holds categories, not numbers.\n  where: visits\n"
            "  fix:   compare it with a value, such as city = Oslo",
        ),
        (
            "lag(odd)",
            ("t",),
            SchemaError,
            "Column 'odd' holds neither numbers nor categories, not numbers.\n  where: visits\n"
            "  fix:   use another column, or make it one of numbers or text",
        ),
        (
            "lag(sity)",
            ("t",),
            UnknownNameError,
            "Unknown column 'sity'.\n  where: visits\n  fix:   did you mean 'city'?",
        ),
        (
            "lag(t)",
            ("tt",),
            UnknownNameError,
            "Unknown column 'tt'.\n  where: order, visits\n  fix:   did you mean 't'?",
        ),
        (
            "lag(t)",
            ("odd",),
            DataError,
            "Column 'odd' tells nothing of which rows follow one another: it holds neither "
            "numbers, dates nor text.\n  where: order, visits\n"
            "  fix:   use another column, or make it one of these",
        ),
        (
            "since_last",
            ("t", "u"),
            SchemaError,
            "since_last is of one order column, and there are 2: t, u.\n  where: order\n"
            "  fix:   order rows by one column, of numbers or of dates",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused(name, order, kind, message):
    """With the column, the place and a way out."""
    table = as_table(pa.table(REFUSED), source="visits")

    with pytest.raises(kind) as error:
        with_sequences(table, [name], RowOrder(order), {})

    assert str(error.value) == message


def test_what_can_be_computed_is_added_and_the_first_reason_kept():
    """Data that is checked may lack columns, and other rules still hold."""
    table = as_table(pa.table(REFUSED), source="visits")

    found, reason = with_possible_sequences(
        table, ["delta(city)", "delta(u)", "lag(gone)"], RowOrder(("t",)), {}
    )
    unordered, no_order = with_possible_sequences(table, ["delta(u)"], RowOrder(("x",)), {})

    assert "delta(u)" in found
    assert "delta(city)" not in found
    assert isinstance(reason, SqrlError)
    assert reason.what == "Column 'city' holds categories, not numbers."
    assert unordered is table
    assert no_order is not None
    assert no_order.what == "Unknown column 'x'."
