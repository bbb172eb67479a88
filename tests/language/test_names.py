"""Names in sentences, and those that say how a column follows from the rows before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from sqrl._language import parse, parse_formula, to_text
from sqrl._language.names import (
    DEEPEST_SEQUENCE,
    SEQUENCE_FUNCTIONS,
    SequenceColumn,
    base_of,
    name_text,
    sequence_of,
    with_base,
)
from sqrl._language.statistics import statistic
from sqrl._language.tree import Compare, Name, Word
from sqrl.errors import ParseError, SchemaError


def columns():
    """Names of columns that follow from others, some from ones that do so themselves."""

    def around(inner):
        made = st.builds(
            SequenceColumn, st.sampled_from(sorted(SEQUENCE_FUNCTIONS)), inner, st.integers(1, 99)
        )
        return made.map(lambda column: column.name)

    one = around(strategies.names().filter(lambda name: "(" not in name))
    return st.one_of(one, around(one))


@given(name=columns())
def test_a_name_that_says_how_it_follows_is_read_as_it_is_written(name):
    """Its text is the name, it parses as the name, and it is no category beside `=`."""
    assert name_text(name) == name
    assert parse_formula(f"{name} > 1").left == Name(name)
    assert to_text(parse(f"? <= {name} <= ?")) == f"? <= {name} <= ?"
    assert parse_formula(f"x = {name}").right == Name(name)


@given(name=columns())
def test_what_a_name_says_makes_the_name(name):
    """Taken apart and put together it is the same; another base changes nothing else."""
    made = sequence_of(name)

    assert made is not None
    assert made.name == name
    assert with_base(name, base_of(name)) == name
    assert base_of(with_base(name, "left")) == "left"


@given(name=strategies.names())
def test_any_other_name_is_plain(name):
    """Nothing but the functions of rows before makes such a name."""
    assert sequence_of(name) is None
    assert base_of(name) == name


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("lag( x )", "lag(x)"),
        ("lag(x, 1)", "lag(x)"),
        ("delta(`x`, 3)", "delta(x, 3)"),
        ("rolling_mean(x, 24)", "rolling_mean(x, 24)"),
        ("rolling_mean(x, 1)", "rolling_mean(x, 1)"),
        ("lag(delta(`heart rate`))", "lag(delta(`heart rate`))"),
    ],
)
def test_there_is_one_way_to_write_a_name(text, read):
    """Blanks, backticks that are not needed and a 1 that goes without saying are left out."""
    assert parse_formula(f"{text} > 0").left == Name(read)


@pytest.mark.parametrize(
    "name",
    ["lag(x, 1)", "delta(x", "lag(a b)", "lag(`x`)", "rolling_mean(x)", "lag(x, 0)", "lag()"],
)
def test_a_column_that_is_called_almost_so_stays_a_plain_one(name):
    """Its name goes in backticks, and comes back as it is."""
    assert sequence_of(name) is None
    assert name_text(name) == f"`{name.replace('`', '``')}`"
    assert parse_formula(f"{name_text(name)} > 0").left == Name(name)


def test_a_word_beside_equals_is_still_a_category():
    """`type = Car` speaks of the category, `type = lag(type)` of the column."""
    assert parse_formula("type = Car") == Compare(Name("type"), "=", Word("Car"))
    assert parse_formula("type = lag(type)") == Compare(Name("type"), "=", Name("lag(type)"))


ARITY = "a column and a number of rows, which is 1 where it is left out"
BY_NAME = "give it a name under 'statistics' and write that"
NESTED = "lag(" * (DEEPEST_SEQUENCE + 1) + "x" + ")" * (DEEPEST_SEQUENCE + 1)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("lag() > 1", f"lag(...) takes {ARITY}.", "write lag(x)"),
        ("delta(x, 1, 2) > 1", f"delta(...) takes {ARITY}.", "write delta(x)"),
        (
            "rolling_mean(x) > 1",
            "rolling_mean(...) takes a column and a number of rows.",
            "write rolling_mean(x, 24)",
        ),
        (
            "delta(width * height) > 1",
            "delta(...) takes a column or a statistic by its name, not 'width * height'.",
            BY_NAME,
        ),
        (
            "lag(x > 1) > 1",
            "lag(...) takes a column or a statistic by its name, not 'x > 1'.",
            BY_NAME,
        ),
        (
            "lag(x, 0) > 1",
            "'0' in lag(...) is not a whole number of rows from 1 to 1,000,000.",
            "write lag(x, 24)",
        ),
        (
            "lag(x, y) > 1",
            "'y' in lag(...) is not a whole number of rows from 1 to 1,000,000.",
            "write lag(x, 24)",
        ),
        (
            f"{NESTED} > 1",
            f"{NESTED} is nested too deeply.",
            "give the inner part a name under 'statistics'",
        ),
    ],
)
def test_what_cannot_be_a_column_is_refused(text, what, fix):
    """With what is wrong and how it is written."""
    with pytest.raises(ParseError) as error:
        parse(text)

    assert str(error.value) == f"{what}\n  where: {text}\n  fix:   {fix}"


def test_a_statistic_of_mini_batches_cannot_take_such_a_name():
    """`lag(x)` would then mean two things."""
    with pytest.raises(SchemaError) as error:
        statistic("lag")(max)

    assert str(error.value) == (
        "'lag' is part of the language: what a column was so many rows ago.\n"
        "  fix:   choose another name"
    )
