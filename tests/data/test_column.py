"""Column: what each type of value becomes, and what can be asked of it."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from sqrl._data.column import Column, from_arrow, from_plain, summary
from sqrl.errors import DataError


def column(values, arrow_type=None):
    """A column of Arrow values of a type."""
    return from_arrow("a", pa.chunked_array([pa.array(values, arrow_type)]))


NUMBERS = [
    pytest.param([1, None], pa.int8(), True, id="int8"),
    pytest.param([2**53, -(2**53), None], pa.int64(), True, id="int64"),
    pytest.param([0, None], pa.uint64(), True, id="uint64"),
    pytest.param([None, None], pa.int16(), True, id="integers, all missing"),
    pytest.param([0.5, None], pa.float16(), False, id="float16"),
    pytest.param([0.5, float("inf")], pa.float64(), False, id="float64"),
    pytest.param([3.0, float("nan"), None], pa.float64(), True, id="whole floats"),
    pytest.param([3.0, float("inf")], pa.float64(), False, id="whole floats and infinity"),
    pytest.param([1e300], pa.float64(), False, id="floats too large to be exact"),
    pytest.param([decimal.Decimal("1.25"), None], pa.decimal128(5, 2), False, id="decimal"),
    pytest.param([None, None], pa.null(), False, id="null"),
]


@pytest.mark.parametrize(("values", "arrow_type", "is_integer"), NUMBERS)
def test_every_numeric_type_becomes_a_number(values, arrow_type, is_integer):
    """Numbers are float64 whatever they were, nan where they were missing."""
    made = column(values, arrow_type)

    expected = [np.nan if value is None else float(value) for value in values]
    np.testing.assert_array_equal(made.values, np.array(expected))
    assert (made.kind, made.values.dtype, made.is_integer) == ("number", np.float64, is_integer)


@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_becomes_codes_into_sorted_categories(arrow_type):
    """Codes follow the order of the words, so that equal columns have equal codes."""
    made = column(["b", None, "ä", "a", "b"], arrow_type)

    assert (made.kind, made.categories) == ("category", ("a", "b", "ä"))
    assert (made.values.tolist(), made.values.dtype) == ([1, -1, 2, 0, 1], np.int32)


def test_a_dictionary_of_words_loses_its_order_and_the_words_that_do_not_occur():
    """How a library encoded its words is not part of the data."""
    indices = pa.array([1, None, 0, 3], pa.int8())
    made = column(pa.DictionaryArray.from_arrays(indices, ["z", "a", "unused", None]))

    assert (made.categories, made.values.tolist()) == (("a", "z"), [0, -1, 1, -1])


def test_a_dictionary_of_numbers_is_numbers():
    """A column means the same in a frame as in the CSV file written from it."""
    made = column(pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([30, 10])))

    assert (made.kind, made.is_integer) == ("number", True)
    np.testing.assert_array_equal(made.values, [10.0, np.nan, 30.0])


def test_booleans_are_zero_one_or_nan():
    """Kernels see one type of array for numbers and booleans."""
    made = column([True, None, False])

    assert (made.kind, made.distinct()) == ("boolean", (False, True))
    np.testing.assert_array_equal(made.values, [1.0, np.nan, 0.0])


MOMENTS = [datetime.datetime(1969, 12, 31, 18), None, datetime.datetime(2024, 2, 29, 13, 45, 1)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo"])
def test_moments_are_days_since_1970(unit, zone):
    """With a fraction for times, in UTC, whatever their unit; chunks begin where they begin."""
    array = pa.array(MOMENTS[:1] + MOMENTS, pa.timestamp(unit, zone)).slice(1)
    made = column(pa.chunked_array([array.slice(0, 1), array.slice(1)]))

    assert (made.kind, made.distinct(), summary(made)) == ("date", (), "1969-12-31 .. 2024-02-29")
    np.testing.assert_allclose(made.values, [-0.25, np.nan, 19782 + 49501 / 86400], rtol=1e-15)
    assert made.missing().tolist() == [False, True, False]


@pytest.mark.parametrize("arrow_type", [pa.date32(), pa.date64()])
def test_dates_are_whole_days_since_1970(arrow_type):
    """Before it, negative ones."""
    made = column([datetime.date(1969, 12, 31), None, datetime.date(2024, 2, 29)], arrow_type)

    assert made.kind == "date"
    np.testing.assert_array_equal(made.values, [-1.0, np.nan, 19782.0])


OTHERS = [
    pytest.param([datetime.timedelta(1), None], None, id="durations"),
    pytest.param([[1], None], None, id="lists"),
    pytest.param([b"a", None], None, id="bytes"),
    pytest.param([2**53 + 1, None], None, id="integers that a float64 cannot hold"),
    pytest.param([2**64 - 1, None], pa.uint64(), id="unsigned integers of the same sort"),
]


@pytest.mark.parametrize(("values", "arrow_type"), OTHERS)
def test_what_no_rule_speaks_of_is_other(values, arrow_type):
    """Nothing is bent into a number or a word that it is not."""
    made = column(values, arrow_type)

    assert (made.kind, made.distinct(), summary(made)) == ("other", (), "")
    assert made.missing().tolist() == [True, True]


def test_slices_and_chunks_of_arrow_data_are_read_where_they_begin():
    """An offset into shared memory is not forgotten, nor are missing values shifted."""
    numbers = pa.array([9, None, 1, None, 2]).slice(1)
    words = pa.array(["z", None, "b", None, "a"]).slice(1)
    flags = pa.array([True, None, True, None, False]).slice(1)
    made = [from_arrow("a", pa.chunked_array([x, x.slice(2)])) for x in (numbers, words, flags)]

    nan = np.nan
    np.testing.assert_array_equal(made[0].values, [nan, 1, nan, 2, nan, 2])
    np.testing.assert_array_equal(made[1].values, [-1, 1, -1, 0, -1, 0])
    np.testing.assert_array_equal(made[2].values, [nan, 1, nan, 0, nan, 0])


@pytest.mark.parametrize("arrow_type", [pa.int64(), pa.bool_(), pa.string(), pa.date32()])
def test_a_column_may_have_no_rows(arrow_type):
    """An empty table is a table."""
    made = from_arrow("a", pa.chunked_array([], arrow_type))

    assert (made.values.size, made.distinct(), summary(made)) == (0, (), "")


def test_values_are_read_only_and_not_shared_with_the_caller():
    """Neither side can change the other's data."""
    mine = np.array([1.5, 2.5])
    made = from_plain("a", mine, "test")
    mine[0] = 9.0

    assert made.values.tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="read-only"):
        made.values[0] = 0.0


def test_making_a_column_leaves_the_array_it_was_given_writeable():
    """The lock is on the column's view of the array, not on the array."""
    mine = np.array([1.5, 2.5])
    Column("a", "number", mine)

    assert mine.flags.writeable


PLAIN = [
    pytest.param([1, None, 3], "number", (1, 3), id="a list of integers"),
    pytest.param((0.5, float("nan")), "number", (0.5,), id="a tuple of floats"),
    pytest.param(range(2), "number", (0, 1), id="a range"),
    pytest.param(["b", None, "a", float("nan")], "category", ("a", "b"), id="words"),
    pytest.param([None, True], "boolean", (True,), id="booleans"),
    pytest.param(np.array([2, 1], ">i2"), "number", (1, 2), id="integers of another byte order"),
    pytest.param(np.arange(6.0)[::-2], "number", (1, 3, 5), id="strided floats"),
    pytest.param(np.array([0.5], np.float16), "number", (0.5,), id="short floats"),
    pytest.param(np.array([0.5], np.longdouble), "number", (0.5,), id="long floats"),
    pytest.param(np.array([True, False]), "boolean", (False, True), id="numpy booleans"),
    pytest.param(np.array(["b", "a"]), "category", ("a", "b"), id="numpy words"),
    pytest.param(np.array(["b", None], object), "category", ("b",), id="objects"),
    pytest.param(np.array(["2020-01-01"], "datetime64[D]"), "date", (), id="numpy dates"),
    pytest.param(pa.array(["b", None]), "category", ("b",), id="arrow"),
    pytest.param([-0.0, 0.0, 0.5], "number", (0.0, 0.5), id="two zeros"),
    pytest.param([], "number", (), id="nothing"),
]


@pytest.mark.parametrize(("values", "kind", "distinct"), PLAIN)
def test_plain_values_become_the_column_one_expects(values, kind, distinct):
    """Any list or array will do."""
    made = from_plain("a", values, "test")

    assert (made.kind, made.distinct()) == (kind, distinct)
    assert [type(value) for value in made.distinct()] == [type(value) for value in distinct] or (
        made.is_integer
    )


BAD_PLAIN = [
    pytest.param("abc", "a str is not a list of values", id="text"),
    pytest.param(3, "'int' object is not iterable", id="a number"),
    pytest.param(np.zeros((2, 2)), "it has 2 dimensions instead of 1", id="a matrix"),
]


@pytest.mark.parametrize(("values", "reason"), BAD_PLAIN)
def test_what_is_not_a_list_of_values_is_refused(values, reason):
    """The message names the column and says what a column is."""
    with pytest.raises(DataError) as caught:
        from_plain("a", values, "test")

    assert str(caught.value) == (
        f"Column 'a' cannot be read: {reason}.\n"
        "  where: test\n"
        "  fix:   give one value a row, all numbers, all booleans or all text"
    )


def test_a_list_of_mixed_types_is_refused():
    """Text among numbers is a mistake to be seen, not to be guessed at."""
    with pytest.raises(DataError, match=r"^Column 'a' cannot be read: .*'x'.*\n  where: test\n"):
        from_plain("a", [1, "x"], "test")


def test_taking_rows_keeps_every_category():
    """Codes mean the same in every part of a table."""
    made = from_plain("a", ["b", "a", None], "test").take(np.array([0, 2]))

    assert (made.values.tolist(), made.categories, made.distinct()) == ([1, -1], ("a", "b"), ("b",))


SUMMARIES = [
    ([3, 1, None], "1 .. 3"),
    ([0.123456789, 2e9], "0.123457 .. 2e+09"),
    ([True, False, None], "50.0% true"),
    (["a", "b", "a"], "2 distinct"),
    ([None], ""),
]


@pytest.mark.parametrize(("values", "expected"), SUMMARIES)
def test_a_summary_says_what_the_column_holds(values, expected):
    """One short phrase a column."""
    assert summary(from_plain("a", values, "test")) == expected


def test_moments_with_a_time_zone_count_in_utc_whatever_others_told_pyarrow(monkeypatch):
    """Spark's pandas asks pyarrow to leave time zones out, for the whole process."""
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    zone = datetime.timezone(datetime.timedelta(hours=5))
    moment = datetime.datetime(2024, 3, 1, 1, 0, tzinfo=zone)
    since = datetime.datetime(2024, 2, 29, 20, 0) - datetime.datetime(1970, 1, 1)

    days = since / datetime.timedelta(days=1)
    assert from_plain("t", [moment, None], "table").values[0] == days
