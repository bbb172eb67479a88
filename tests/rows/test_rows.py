"""Evaluation: every row gets what the naive interpreter says, and misuse is explained."""

import datetime

import numpy as np
import pytest
from hypothesis import example, given

import naive
import strategies
from sqrl._data.table import as_table
from sqrl._language import parse, parse_formula
from sqrl._language.forms import read_form
from sqrl._language.tree import Choice, Each, Hole, Implies, Name, Number, Repeat, Truth, Word
from sqrl._rows.rows import Rows, Truths, category_text, check_finite
from sqrl.errors import DataError, SchemaError, UnknownNameError

PEOPLE = {
    "age": [30.0, None, 60.0],
    "smoke": [True, False, None],
    "bit": [0, 1, None],
    "kind": ["Car", None, "Person sitting"],
    "born": [datetime.date(1990, 1, 1), None, None],
}


def rows_of(columns, statistics=None):
    """Rows of a table, with derived statistics given as text."""
    trees = {name: parse_formula(text) for name, text in (statistics or {}).items()}
    return Rows(as_table(columns, source="people.csv"), trees)


def truths(text, columns):
    """What a formula is on each row: True, False, or None for unknown."""
    found = rows_of(columns).truths(parse_formula(text))
    return three_valued(found)


def three_valued(found):
    """Truths as a list with None for unknown; nothing is both true and false."""
    assert not (found.true & found.false).any()
    pairs = zip(found.true.tolist(), found.false.tolist(), strict=True)
    return [True if true else False if false else None for true, false in pairs]


def numbers(text, columns):
    """What an expression is on each row, None for missing or undefined."""
    found = rows_of(columns).numbers(parse_formula(text))
    return [None if np.isnan(number) else number for number in found.tolist()]


@given(strategies.table_rows(), strategies.table_formulas())
def test_formulas_are_true_where_the_naive_interpreter_says(rows, formula):
    """Three-valued logic, row by row, with values missing anywhere."""
    made = Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS)

    expected = [naive.truth(formula, row, strategies.STATISTICS) for row in rows]
    assert three_valued(made.truths(formula)) == expected


@given(strategies.table_rows(), strategies.table_numbers())
def test_expressions_have_the_value_that_the_naive_interpreter_gives(rows, expression):
    """Arithmetic of floats, nan for what is missing or undefined."""
    made = Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS)

    expected = [naive.value(expression, row, strategies.STATISTICS) for row in rows]
    plain = [np.nan if number is None else number for number in expected]
    np.testing.assert_array_equal(made.numbers(expression), np.array(plain, np.float64))


@pytest.mark.parametrize("text", ["x ** y", "exp(x)", "log(x)", "exp(y) ** x", "log(abs(x))"])
@given(rows=strategies.table_rows())
def test_powers_and_logarithms_agree_but_for_rounding(text, rows):
    """Where a result is complex, infinite or undefined, both have none."""
    expression = parse_formula(text)
    made = Rows(as_table(strategies.columns_of(rows)), {}).numbers(expression)

    expected = [naive.value(expression, row) for row in rows]
    plain = np.array([np.nan if number is None else number for number in expected])
    np.testing.assert_allclose(made, plain, rtol=1e-12)


SAMPLE_RULES = [
    "-1 <= x <= 1",
    "kind = Car => x <= 0",
    "flag and not bit => 0 <= ratio",
    "kind in [Car, Van] or flag => -1 <= x + y <= 2",
    "x <= 0 if y <= 1 else 1 <= x",
    "flag => 0 <= x if y <= -1 else x <= 1 if y <= 1 and bit else -2 <= x <= 2",
    "(x <= 0 if bit else x <= 1) if flag else x <= 2",
    "-1 <= x < 0 or flag => kind = Car",
    "flag => not bit",
    "x > 0 and y > 0 => kind in [Car, Van]",
]


@pytest.mark.parametrize("text", SAMPLE_RULES)
@given(rows=strategies.table_rows())
def test_a_rule_is_broken_exactly_where_its_sentence_is_false(text, rows):
    """Form by form or as one formula, a rule says the same; unknown is not applicable."""
    sentence = parse(text)
    form = read_form(sentence)
    made = Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS)
    found = three_valued(made.truths(sentence.claim))
    selected = made.all_true(form.given)

    for index, row in enumerate(rows):
        outcome = naive.outcome(form, row, strategies.STATISTICS)
        assert (outcome == "broken") == (found[index] is False)
        assert (outcome == "held") == (found[index] is True and bool(selected[index]))


@given(strategies.table_rows(), strategies.table_formulas())
@example([{"x": None, "y": None, "flag": None, "bit": None, "kind": None}], Name("flag"))
def test_evaluation_does_not_depend_on_the_other_rows(rows, formula):
    """A row by itself gets what it gets in the table."""
    together = Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS).truths(formula)
    alone = [
        Rows(as_table(strategies.columns_of([row])), strategies.STATISTICS).truths(formula)
        for row in rows
    ]

    assert three_valued(together) == [three_valued(one)[0] for one in alone]


ALL = {
    "p": [True, True, True, False, False, False, None, None, None],
    "q": [True, False, None, True, False, None, True, False, None],
}
TABLES = [
    ("not p", [False, False, False, True, True, True, None, None, None]),
    ("p and q", [True, False, None, False, False, False, None, False, None]),
    ("p or q", [True, True, True, True, False, None, True, None, None]),
    ("p => q", [True, False, None, True, True, True, True, None, None]),
    ("p = true", [True, True, True, False, False, False, None, None, None]),
    ("p != true", [False, False, False, True, True, True, None, None, None]),
    ("p if q else not p", [True, False, None, False, True, None, None, None, None]),
]


@pytest.mark.parametrize(("text", "expected"), TABLES)
def test_the_tables_of_three_valued_logic(text, expected):
    """Unknown spreads as in SQL."""
    assert truths(text, ALL) == expected


def test_truths_are_joined_as_formulas_are():
    """`~`, `&` and `|` are not, and, or."""
    p, q = (rows_of(ALL).truths(Name(name)) for name in "pq")

    assert three_valued(~p) == TABLES[0][1]
    assert three_valued(p & q) == TABLES[1][1]
    assert three_valued(p | q) == TABLES[2][1]


def test_all_true_is_where_every_formula_holds():
    """No condition at all selects every row."""
    made = rows_of(ALL)

    assert made.all_true((Name("p"), Name("q"))).tolist() == [True] + [False] * 8
    assert made.all_true(()).all()
    assert made.n == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind = Car", [True, None, False]),
        ("kind != Car", [False, None, True]),
        ('kind = "Person sitting"', [False, None, True]),
        ("kind = Tram", [False, None, False]),
        ("kind != Tram", [True, None, True]),
        ("kind in [Tram, Car]", [True, None, False]),
        ("kind = 1", [False, None, False]),
        ("smoke", [True, False, None]),
        ("not smoke", [False, True, None]),
        ("smoke = 1", [True, False, None]),
        ("smoke = true", [True, False, None]),
        ("smoke = 2", [False, False, None]),
        ("smoke in [false, true]", [True, True, None]),
        ("smoke > 0.5", [True, False, None]),
        ("bit", [False, True, None]),
        ("bit = true", [False, True, None]),
        ("bit != false", [False, True, None]),
        ("age = 30", [True, None, False]),
        ('age = "30"', [True, None, False]),
        ('age in ["3e1", 60]', [True, None, True]),
        ("age = 30 + 30 * bit", [True, None, None]),
        ("30 <= age < 60", [True, None, False]),
        ("60 > age >= 30", [True, None, False]),
        ("age > 40 or smoke", [True, None, True]),
    ],
)
def test_a_column_is_compared_as_what_it_holds(text, expected):
    """Categories by name, booleans and zeros and ones as true or false, numbers by value."""
    assert truths(text, PEOPLE) == expected


def test_a_number_in_a_rule_names_the_category_that_is_written_like_it():
    """A label of digits read as text is still the label that a rule means."""
    columns = {"label": ["1", "2", "1.0", None, "true"]}

    assert truths("label = 1", columns) == [True, False, False, None, False]
    assert truths("label = true", columns) == [False, False, False, None, True]
    assert category_text(Truth(False)) == "false"
    assert category_text(Number(0.5)) == "0.5"


def test_a_column_without_a_single_value_is_unknown_whatever_it_is_compared_with():
    """An empty column of a file has no kind of its own: no rule applies, none fails."""
    columns = {"empty": [None, None], "text": np.array([None, None], object)}
    strings = as_table({"a": ["x", "y"]}).take(np.array([False, False]))

    assert truths("empty = Car", columns) == [None, None]
    assert truths("empty > 5 or empty in [a, b]", columns) == [None, None]
    assert truths("text = Car", columns) == [None, None]
    assert Rows(strings, {}).truths(parse_formula("a = x")).true.tolist() == []


def test_a_column_of_text_without_a_single_value_can_be_compared_with_numbers():
    """A file says of such a column only that it holds text; a rule knows better."""
    import pyarrow as pa

    columns = {"text": pa.array([None, None], pa.string())}

    assert truths("text > 5", columns) == [None, None]
    assert truths("text = Car", columns) == [None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x / y", [None, None, 0.5, None]),
        ("0 / y", [None, None, 0.0, 0.0]),
        ("log(x)", [None, 0.0, 0.0, None]),
        ("sqrt(x)", [None, 1.0, 1.0, None]),
        ("x ** 0.5", [None, 1.0, 1.0, None]),
        ("x ** -1", [-1.0, 1.0, 1.0, None]),
        ("y ** -1", [None, None, 0.5, -0.25]),
        ("exp(1000 * x)", [0.0, None, None, None]),
        ("1e308 * 10", [None, None, None, None]),
        ("min(x, y)", [-1.0, 0.0, 1.0, None]),
        ("max(x, y, 1)", [1.0, 1.0, 2.0, None]),
        ("min(x)", [-1.0, 1.0, 1.0, None]),
        ("abs(-x)", [1.0, 1.0, 1.0, None]),
        ("-x - -1", [2.0, 0.0, 0.0, None]),
        ("3", [3.0, 3.0, 3.0, 3.0]),
    ],
)
def test_what_is_not_a_finite_number_is_undefined(text, expected):
    """x / 0, roots and logarithms of negatives and overflow bound nothing."""
    columns = {"x": [-1.0, 1.0, 1.0, None], "y": [0.0, 0.0, 2.0, -4.0]}

    assert numbers(text, columns) == expected


def test_a_derived_statistic_stands_before_a_column_and_may_build_on_others():
    """What a schema defines is what its rules mean."""
    made = rows_of(
        {"w": [4.0, 1.0], "h": [2.0, 0.0]}, {"area": "w * h", "flat": "area / h", "w2": "w > 2"}
    )

    assert made.numbers(Name("area")).tolist() == [8.0, 0.0]
    np.testing.assert_array_equal(made.numbers(Name("flat")), [4.0, np.nan])
    assert three_valued(made.truths(parse_formula("flat = 4"))) == [True, None]


def test_results_are_shared_and_cannot_be_written_to():
    """The same expression is computed once, and nobody can change what others see."""
    made = rows_of(PEOPLE)
    once = made.numbers(parse_formula("age + 1"))

    assert made.numbers(parse_formula("age + 1")) is once
    assert made.truths(parse_formula("age > 1")) is made.truths(parse_formula("age > 1"))
    with pytest.raises(ValueError, match="read-only"):
        once[0] = 5.0


def test_an_empty_table_has_no_truths():
    """No rows are no reason to fail."""
    made = rows_of({"age": np.empty(0)})

    assert three_valued(made.truths(parse_formula("age > 5 and not age = 3"))) == []
    assert made.numbers(parse_formula("age + 1")).shape == (0,)


MISUSED = [
    (
        "aeg > 5",
        UnknownNameError,
        "Unknown column 'aeg'.\n  where: people.csv\n  fix:   did you mean 'age'?",
    ),
    (
        "kind > 5",
        SchemaError,
        "Column 'kind' holds categories, not numbers.\n"
        "  where: people.csv\n"
        "  fix:   compare it with a value, such as kind = Car",
    ),
    (
        "kind and smoke",
        SchemaError,
        "Column 'kind' holds categories, not numbers.\n"
        "  where: people.csv\n"
        "  fix:   compare it with a value, such as kind = Car",
    ),
    (
        "born = x",
        SchemaError,
        "Column 'born' holds dates, not numbers.\n"
        "  where: people.csv\n"
        "  fix:   write days(born), weekday(born), month(born) or hour(born)",
    ),
    (
        "age and smoke",
        SchemaError,
        "'age' holds numbers other than 0 and 1, so it is neither true nor false.\n"
        "  where: people.csv\n"
        "  fix:   compare it with a number, such as age > 1",
    ),
    (
        "age = Car",
        SchemaError,
        "'age' holds numbers and 'Car' is not one.\n"
        "  where: people.csv\n"
        "  fix:   compare it with a number; another column is subtracted: age - x = 0",
    ),
    (
        "age = nan",
        SchemaError,
        "'age' holds numbers and 'nan' is not one.\n"
        "  where: people.csv\n"
        "  fix:   compare it with a number; another column is subtracted: age - x = 0",
    ),
    (
        "smoke = True",
        SchemaError,
        "'smoke' holds numbers and 'True' is not one.\n"
        "  where: people.csv\n"
        "  fix:   write true in small letters",
    ),
    (
        "sin(age) > 5",
        UnknownNameError,
        "Unknown function 'sin'.\n  where: sin(age)\n  fix:   did you mean 'min'?",
    ),
    (
        "log(age, bit) > 5",
        SchemaError,
        "log(...) takes one argument, not 2.\n  where: log(age, bit)\n  fix:   write log(age)",
    ),
    (
        "abs() > 5",
        SchemaError,
        "abs(...) takes one argument, not 0.\n  where: abs()\n  fix:   write abs(age)",
    ),
    (
        "min() > 5",
        SchemaError,
        "min(...) takes one argument or more, not 0.\n  where: min()\n  fix:   write min(age)",
    ),
    (
        "age + 1",
        SchemaError,
        "'age + 1' is neither true nor false.\n"
        "  fix:   compare it with something, such as 'age > 50'",
    ),
    (
        "? <= age",
        SchemaError,
        "'?' does not give a number.\n  fix:   use columns, numbers and + - * / **",
    ),
    (
        "abs(age > 5) = 1",
        SchemaError,
        "'age > 5' does not give a number.\n  fix:   use columns, numbers and + - * / **",
    ),
]


@pytest.mark.parametrize(("text", "kind", "message"), MISUSED)
def test_a_formula_that_does_not_fit_the_table_is_explained(text, kind, message):
    """The message names the column, the file and the way out."""
    with pytest.raises(kind) as error:
        rows_of(PEOPLE).truths(parse_formula(text))

    assert str(error.value) == message


def test_an_odd_column_is_written_in_the_hint_as_in_a_rule():
    """A hint can be copied."""
    with pytest.raises(SchemaError) as error:
        rows_of({"my kind": ["Person sitting"]}).numbers(Name("my kind"))

    assert error.value.fix == 'compare it with a value, such as `my kind` = "Person sitting"'


def test_an_unknown_name_is_looked_for_among_statistics_too():
    """The nearest name may be one that the schema defines."""
    with pytest.raises(UnknownNameError) as error:
        rows_of(PEOPLE, {"half": "age / 2"}).numbers(Name("hlaf"))

    assert str(error.value) == (
        "Unknown column or statistic 'hlaf'.\n  where: people.csv\n  fix:   did you mean 'half'?"
    )


@pytest.mark.parametrize("node", [Each(Name("age"), 4), Repeat("L", 1, 2), Hole()])
def test_a_template_is_neither_true_nor_false(node):
    """Holes are filled before anything is evaluated."""
    with pytest.raises(SchemaError, match="is neither true nor false"):
        rows_of(PEOPLE).truths(node)


def test_infinite_values_are_found_before_anything_is_learned_from_them():
    """No quantile of infinite values means anything."""
    made = rows_of({"a": [1.0, np.inf, -np.inf], "b": [1.0, None, 2.0], "c": ["x", "y", "z"]})

    check_finite(made, {"b", "c", "unknown"})
    with pytest.raises(DataError) as error:
        check_finite(made, {"a", "b"})
    assert str(error.value) == (
        "Column 'a' has infinite values (2 of them), the first in row 2.\n"
        "  where: people.csv\n"
        "  fix:   make them missing, or replace them by a number"
    )


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("0 <= x <= 1", {"x": 1.0}, "held"),
        ("0 <= x <= 1", {"x": 1.1}, "broken"),
        ("0 <= x <= 1", {"x": None}, "n/a"),
        ("a => 0 <= x", {"a": False, "x": -1.0}, "n/a"),
        ("a => 0 <= x", {"a": None, "x": -1.0}, "n/a"),
        ("a => 0 <= x", {"a": True, "x": -1.0}, "broken"),
        ("x <= 0 if y <= 1 else x <= 9", {"x": 5.0, "y": 1.0}, "broken"),
        ("x <= 0 if y <= 1 else x <= 9", {"x": 5.0, "y": 1.1}, "held"),
        ("x <= 0 if y <= 1 else x <= 9", {"x": 5.0, "y": None}, "n/a"),
        ("x > 0 => k = Car", {"x": 1.0, "k": "Car"}, "held"),
        ("x > 0 => k = Car", {"x": 1.0, "k": "Van"}, "broken"),
        ("x > 0 => k = Car", {"x": 1.0, "k": None}, "n/a"),
        ("x > 0 => k = Car", {"x": 0.0, "k": "Van"}, "n/a"),
    ],
)
def test_the_naive_interpreter_knows_three_outcomes(text, row, expected):
    """Held, broken, or not applicable: worked out by hand."""
    assert naive.outcome(read_form(parse(text)), row) == expected


BATCH = [
    {"x": 1.0, "a": True, "y": "p"},
    {"x": 3.0, "a": True, "y": "n"},
    {"x": None, "a": False, "y": "p"},
    {"x": 5.0, "a": None, "y": None},
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mean(x) <= 9 over 4", 3.0),
        ("a => mean(x) <= 9 over 4", 2.0),
        ("x > 9 => mean(x) <= 9 over 4", None),
        ("rate(a) <= 9 over 4", 2 / 3),
        ("y = p => rate(a) <= 9 over 4", 0.5),
        ("x > 9 => rate(a) <= 9 over 4", None),
        ("f1(a => y = p) <= 9 over 4", 0.5),
        ("precision(a => y = p) <= 9 over 4", 0.5),
        ("recall(a => y = p) <= 9 over 4", 0.5),
        ("accuracy(a => y = p) <= 9 over 4", 1 / 3),
        ("support(a => y = p) <= 9 over 4", 1 / 3),
        ("lift(a => y = p) <= 9 over 4", 0.75),
        ("f1_given(a => y = p) <= 9 over 4", 2 / 3),
        ("f1(x > 9 => y = q) <= 9 over 4", None),
    ],
)
def test_the_naive_interpreter_counts_a_mini_batch(text, value):
    """Rows with an unknown head do not count; a row with an unknown body is not in it.

    Of rates, rows with an unknown formula do not count either.
    """
    form = read_form(parse(text))

    assert naive.batch_value(form, BATCH) == pytest.approx(value)
    assert naive.batch_outcome(form, BATCH) == ("n/a" if value is None else "held")


def test_the_naive_interpreter_compares_a_statistic_with_its_bounds():
    """A value on the bound holds."""
    assert naive.batch_outcome(read_form(parse("3 <= mean(x) <= 3 over 4")), BATCH) == "held"
    assert naive.batch_outcome(read_form(parse("mean(x) <= 2.9 over 4")), BATCH) == "broken"


def test_choices_and_implications_are_formulas_like_others():
    """A tree made by hand is evaluated like one that was read."""
    made = rows_of(ALL)
    p, q = Name("p"), Name("q")

    assert three_valued(made.truths(Implies(p, q))) == TABLES[3][1]
    assert three_valued(made.truths(Choice(p, q, p))) == [
        True, True, None, False, False, None, None, None, None,
    ]  # fmt: skip
    assert isinstance(made.truths(p), Truths)
    assert category_text(Word("x")) == "x"
