"""Functions of columns of dates and of text, held against plain Python."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import sqrl
from sqrl._data.table import as_table
from sqrl._language import parse_formula
from sqrl._rows.column_functions import COLUMN_FUNCTIONS, days_of
from sqrl._rows.rows import Rows
from sqrl.errors import SchemaError

DATES = [name for name, one in COLUMN_FUNCTIONS.items() if one.of == "dates"]
TEXT = [name for name, one in COLUMN_FUNCTIONS.items() if one.of == "text"]
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=30))])


def computed(function, values, kind=None):
    """The function of a column `x` with these values, None where it is missing."""
    rows = Rows(as_table({"x": pa.array(values, kind)}), {})
    found = rows.numbers(parse_formula(f"{function}(x)")).tolist()
    return [None if number != number else number for number in found]  # noqa: PLR0124


def defined(function, values):
    """The same, one value at a time."""
    tree = parse_formula(f"{function}(x)")
    return [naive.value(tree, {"x": one}) for one in values]


@pytest.mark.parametrize("function", DATES)
@given(moments=st.lists(st.none() | MOMENTS, min_size=1))
def test_parts_of_moments_are_those_of_the_calendar(function, moments):
    """From year 1 to 9999, to the millisecond."""
    found = computed(function, moments, pa.timestamp("us"))

    for one, other in zip(found, defined(function, moments), strict=True):
        assert one is other is None or one == pytest.approx(other, rel=1e-15, abs=1e-9)


@pytest.mark.parametrize("function", DATES)
@given(days=st.lists(st.none() | st.dates(), min_size=1))
def test_parts_of_dates_are_those_of_the_calendar(function, days):
    """A day begins at midnight."""
    assert computed(function, days, pa.date32()) == defined(function, days)


@pytest.mark.parametrize("function", DATES)
@given(moments=st.lists(MOMENTS, min_size=1), zone=ZONES)
def test_text_is_read_as_iso_8601_writes_it(function, moments, zone):
    """With an offset in UTC, as any moment."""
    words = [moment.replace(tzinfo=zone).isoformat() for moment in moments]
    found = computed(function, words, pa.string())

    assert found == pytest.approx(defined(function, words), rel=1e-15, abs=1e-9)


@pytest.mark.parametrize(
    "word",
    ["", "soon", "2024", "2024-05", "20240501", "2024-W01-1", "2024-04-31", "2024-05-01 ", "1.5",
     "2024-05-01T25:00", "01.05.2024", "202\N{ARABIC-INDIC DIGIT FOUR}-05-01"],
)  # fmt: skip
def test_what_is_no_date_is_missing(word):
    """Nothing is guessed."""
    assert np.isnan(days_of(word))


@pytest.mark.parametrize("function", TEXT)
@given(words=st.lists(st.none() | st.text(max_size=8), min_size=1))
def test_text_is_counted_character_by_character(function, words):
    """An empty text has no share of anything."""
    assert computed(function, words, pa.string()) == defined(function, words)


def test_functions_take_a_column_by_its_name():
    """And one of the right kind; the message says what to write."""
    table = {"born": [date(2020, 1, 1)], "x": [1.0], "city": ["Oslo"], "none": [None]}
    rows = Rows(as_table(table), {"twice": parse_formula("2 * x")})

    def said(text):
        with pytest.raises(SchemaError) as caught:
            rows.truths(parse_formula(text))
        return str(caught.value)

    fix = "write days(born), weekday(born), month(born) or hour(born)"
    dates = f"Column 'born' holds dates, not numbers.\n  where: dict\n  fix:   {fix}"
    assert said("born > 3") == said("born = 3") == said("born in [3]") == dates
    assert said("length(born) > 3") == dates.replace("numbers", "text")
    assert said("days(x) > 3") == (
        "Column 'x' holds numbers, not dates.\n  where: dict\n  fix:   use it as it is: x"
    )
    assert said("length(x + 1) > 3") == (
        "length(...) takes the name of a column, not 'x + 1'.\n"
        "  where: length(x + 1)\n"
        "  fix:   write length(city)"
    )
    assert "not 'twice'" in said("days(twice) > 3")
    assert said("length(city, x) > 3") == (
        "length(...) takes one argument, not 2.\n"
        "  where: length(city, x)\n"
        "  fix:   write length(age)"
    )
    assert np.isnan(rows.numbers(parse_formula("days(none)"))).all()
    assert rows.truths(parse_formula("known(born) and not known(none)")).true.all()


def test_rules_need_dates_or_text_where_they_had_them():
    """Text that may hold dates is taken for either."""
    rules = sqrl.RuleSet.from_texts(["days(x) <= 3", "length(y) <= 3"])
    found = sqrl.check(rules, {"x": ["1970-01-02", "1980-01-01"], "y": ["a", "long"]})

    assert found.broken.tolist() == [1, 1]
    (numbers,) = sqrl.check(rules, {"x": [1.0], "y": ["a"]}).findings()
    assert (numbers.kind, numbers.columns) == ("type", ("x",))
    (dates,) = sqrl.check(rules, {"x": [date(2020, 1, 1)], "y": [date(2020, 1, 1)]}).findings()
    assert (dates.kind, dates.columns) == ("type", ("y",))
