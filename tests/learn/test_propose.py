"""A proposed schema always learns, or the error says why there can be none."""

import numpy as np
import pytest

import sqrl
from sqrl._learn.propose import BUDGET, is_class_label, is_usable
from sqrl._rules.schema import parse_schema
from sqrl.errors import DataError


def table(n_rows=400, **columns):
    """A table with a number, a boolean and a category, and whatever else is given."""
    rng = np.random.default_rng(n_rows)
    made = {
        "x": rng.normal(size=n_rows),
        "b": rng.random(n_rows) < 0.5,
        "c": rng.choice(list("pqr"), n_rows).tolist(),
    }
    return sqrl.as_table({**made, **columns}, source="table")


def classes(n_rows, names="uv"):
    """A label that takes these values in turn."""
    return [names[row % len(names)] for row in range(n_rows)]


def refusal(data, **options):
    """The text of the error that a proposal gives."""
    with pytest.raises(DataError) as caught:
        sqrl.propose_schema(data, **options)
    return str(caught.value)


def test_a_label_with_classes_gets_intervals_and_conjunctions():
    """Numbers are bounded within each class; every other column is a fact that may imply it."""
    schema = sqrl.propose_schema(table(y=classes(400)), label="y")

    assert schema.rules == ("y = Y => ? <= A <= ?", "? <= f1(L{1..3} => y = Y) <= ? over 32")
    assert schema.let == {"Y": "values(y)", "A": ["x"], "L": "literals(x/8, b, c)"}
    assert schema.label == "y"


def test_a_label_that_is_a_number_gets_its_range_under_facts():
    """Regression: the label is bounded by itself and given one or two facts."""
    y = np.random.default_rng(0).normal(size=400)
    schema = sqrl.propose_schema(table(y=y), label="y")

    assert schema.rules == ("? <= y <= ?", "L{1..2} => ? <= y <= ?")


def test_without_a_label_every_number_is_bounded_alone_and_given_another():
    """With nothing to predict, the columns speak of each other."""
    schema = sqrl.propose_schema(table(z=np.random.default_rng(0).normal(size=400)))

    assert schema.rules == ("? <= A <= ?", "? <= B <= ? by A/4")
    assert schema.let == {"A": ["x", "z"], "B": ["x", "z"]}


def test_row_numbers_and_names_are_left_out():
    """An id says nothing of the next row; an income that happens to be unique may."""
    rng = np.random.default_rng(0)
    data = table(
        id=rng.permutation(10_000)[:400],
        number=np.arange(400),
        shuffled=rng.permutation(400),
        name=[f"person {row}" for row in range(400)],
        income=rng.permutation(10**6)[:400],
    )

    assert [name for name in data if is_usable(data[name])] == ["x", "b", "c", "income"]


def test_what_tells_nothing_apart_is_left_out():
    """Constants, empty columns, dates and texts of many kinds are no facts."""
    days = np.datetime64("2020-01-01") + np.arange(400)
    data = table(
        same=np.ones(400),
        empty=np.full(400, np.nan),
        day=days,
        words=[f"word {row % 300}" for row in range(400)],
    )

    assert [name for name in data if is_usable(data[name])] == ["x", "b", "c"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (classes(100), True),
        ([row % 2 == 0 for row in range(100)], True),
        ([row % 5 for row in range(100)], True),
        ([row % 2 / 2 for row in range(100)], True),
        ([row % 30 for row in range(100)], False),
        ([row / 7 for row in range(100)], False),
    ],
    ids=["words", "booleans", "few integers", "two numbers", "rare integers", "a scale"],
)
def test_classes_are_told_from_numbers_on_a_scale(values, expected):
    """A number is a class where it has few values and each is common."""
    assert is_class_label(sqrl.as_table({"y": values})["y"]) is expected


def test_holes_never_have_the_name_of_a_column():
    """A table with columns A, L and Y can be learned from."""
    rng = np.random.default_rng(0)
    data = sqrl.as_table({"A": rng.normal(size=200), "L": rng.normal(size=200), "Y": classes(200)})
    schema = sqrl.propose_schema(data, label="Y")

    assert schema.rules[0] == "Y = Y1 => ? <= A1 <= ?"
    assert sqrl.learn(data, schema)


def test_mini_batches_fit_into_the_held_out_rows():
    """A short validation file makes them smaller, or leaves out the rules that need them."""
    data = table(y=classes(400))

    assert sqrl.propose_schema(data, label="y").rules[1].endswith("over 32")
    assert sqrl.propose_schema(data, label="y", valid=table(40)).rules[1].endswith("over 16")
    assert len(sqrl.propose_schema(data, label="y", valid=table(10)).rules) == 1


def test_fewer_rows_are_promised_less():
    """A coverage that the rows cannot support is not asked of them."""
    coverages = [
        sqrl.propose_schema(table(n_rows, y=classes(n_rows)), label="y").coverage
        for n_rows in (400, 80, 30)
    ]

    assert coverages == [0.98, 0.95, 0.9]


def wide(n_columns, n_rows=300):
    """Many columns of noise."""
    rng = np.random.default_rng(1)
    return {f"x{column}": rng.normal(size=n_rows) for column in range(n_columns)}


CASES = {
    "30 rows": (table(30, y=classes(30)), "y"),
    "20 rows": (table(20, y=classes(20)), "y"),
    "80 rows": (table(80, y=classes(80)), "y"),
    "a number, 30 rows": (table(30, y=np.arange(30) * 0.37 % 1), "y"),
    "60 classes": (table(600, y=classes(600, [f"k{n}" for n in range(60)])), "y"),
    "booleans": (table(y=[row % 3 == 0 for row in range(400)]), "y"),
    "a rare class": (table(y=["u"] * 399 + ["v"]), "y"),
    "missing labels": (table(y=[None, "u", "v", "v"] * 100), "y"),
    "one sparse column": (table(s=[1.0, 2.0] + [None] * 398, y=classes(400)), "y"),
    "dates": (table(d=np.datetime64("2020-01-01") + np.arange(400), y=classes(400)), "y"),
    "odd names": (
        table(y=classes(400)).with_columns(
            {"a b": np.arange(400) % 17 / 2, "or": np.arange(400) % 13 / 2, "1e5": classes(400)}
        ),
        "y",
    ),
    "odd categories": (table(**{"no: 1": classes(400, ["no", "1e5", "", 'x "y"', "A"])}), "no: 1"),
    "200 columns": (sqrl.as_table({**wide(200), "y": classes(300)}), "y"),
    "200 columns, a number": (sqrl.as_table(wide(200)), "x7"),
    "200 columns, no label": (sqrl.as_table(wide(200)), None),
    "constant columns": (sqrl.as_table({"x": np.arange(100) * 0.37 % 1, "k": [1] * 100}), None),
    "only a number": (sqrl.as_table({"k": [1] * 100, "y": np.arange(100) * 0.37 % 1}), "y"),
    "huge and tiny": (
        sqrl.as_table(
            {"a": np.arange(1, 200) * 1e300, "b": np.arange(199) * 1e-300, "y": classes(199)}
        ),
        "y",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_proposed_learns_and_survives_its_file(name):
    """The schema stays within the budget, reads back from YAML, and learning with it succeeds."""
    data, label = CASES[name]
    schema = sqrl.propose_schema(data, label=label)
    rules = sqrl.learn(data, schema)

    assert parse_schema(schema.to_yaml()) == schema
    assert rules.provenance.counts["candidates"] <= BUDGET
    assert rules.provenance.counts["candidates"] > 0


@pytest.mark.parametrize(
    ("data", "label", "message"),
    [
        (
            table(1),
            None,
            "1 row is too few to propose a schema for.\n"
            "  where: table\n"
            "  fix:   give 20 rows or more, or write a schema (--schema)",
        ),
        (
            table(y=["u"] * 400),
            "y",
            "The label 'y' is u in every row: there is nothing to tell.\n"
            "  where: table\n"
            "  fix:   use a column with at least two values",
        ),
        (
            table(y=[float("nan")] * 400),
            "y",
            "The label 'y' has no values that can be used.\n"
            "  where: table\n"
            "  fix:   use a column of numbers or categories",
        ),
        (
            table(y=[f"i{row}" for row in range(400)]),
            "y",
            "The label 'y' is different in every row.\n"
            "  where: table\n"
            "  fix:   choose another --label",
        ),
        (
            table(4000, y=[f"i{row // 2}" for row in range(4000)]),
            "y",
            "The label 'y' has 2,000 categories, more than 1,000.\n"
            "  where: table\n"
            "  fix:   choose another --label",
        ),
        (
            sqrl.as_table({"k": [1] * 100, "y": classes(100)}, source="table"),
            "y",
            "No column can be used: each is constant, an identifier, or of another type.\n"
            "  where: table\n"
            "  fix:   give a table with numbers or categories",
        ),
        (
            sqrl.as_table({"c": classes(100)}, source="table"),
            None,
            "The table has no numbers to bound.\n  where: table\n  fix:   give a --label",
        ),
        (
            sqrl.as_table({"c": classes(40, "pqr"), "y": classes(40)}, source="table"),
            "y",
            "There are no numbers to bound, and 40 rows are too few for mini-batches.\n"
            "  where: table\n"
            "  fix:   give 80 rows or more",
        ),
    ],
)
def test_a_table_without_a_schema_is_told_why(data, label, message):
    """Where nothing can be proposed, the message says what is lacking."""
    assert refusal(data, label=label) == message
