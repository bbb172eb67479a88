"""A proposed schema always learns, or the error says why there can be none."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from sqrl._learn.propose import BUDGET, is_class_label
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


def people(n_rows=4000, seed=0):
    """A table with a column of every role, some of them related, and a label."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows)
    start = np.datetime64("2025-01-01") + rng.integers(0, 300, n_rows)
    country = rng.integers(0, 3, n_rows)
    net = rng.lognormal(3, 0.5, n_rows).round(2)
    tax = (net * rng.choice([0.1, 0.2], n_rows)).round(2)
    return sqrl.as_table(
        {
            "id": rng.permutation(n_rows) + 1000,
            "age": age,
            "years": np.maximum(age - 18 - rng.integers(0, 20, n_rows), 0),
            "start": start.astype(str).tolist(),
            "end": start + rng.integers(0, 9, n_rows),
            "country": np.array(["NO", "SE", "FI"])[country],
            "currency": np.array(["NOK", "SEK", "EUR"])[country],
            "net": np.where(rng.random(n_rows) < 0.05, np.nan, net),
            "tax": tax,
            "gross": (net + tax).round(2),
            "grade": rng.integers(1, 6, n_rows),
            "member": rng.random(n_rows) < 0.4,
            "note": [f"call {rng.integers(0, 10**6)} back" for _ in range(n_rows)],
            "version": ["v1"] * n_rows,
            "blob": [b"x"] * n_rows,
            "y": np.where(rng.random(n_rows) < 0.2 + 0.6 * (age > 60), "ill", "well"),
        },
        source="people",
    )


def templates(schema):
    """The sentences, with the coverage of those that have their own."""
    return [rule if isinstance(rule, str) else (rule.rule, rule.coverage) for rule in schema.rules]


def test_every_column_is_watched_as_what_it_is():
    """Missing values, values never seen, ranges, shares, relations, keys and repeated rows."""
    schema = sqrl.propose_schema(people())
    let = schema.let

    assert let["C"] == ["country", "currency", "grade", "member", "version", "y"]
    assert let["N"] == [
        *["age", "years", "net", "tax", "gross", "days(start)", "days(end)"],
        *["length(note)", "words(note)"],
    ]
    assert let["M"] == ["net"]
    assert set(let["K"]) == set(people()) - {"net", "blob"}
    for sentence in (
        "country = V => currency in ?",
        "? <= N <= ?",
        "C in ?",
        "known(K)",
        "? <= rate(known(M)) <= ? over 256",
        ("? <= E <= ?", 0.998),
        ("? <= E <= ?", 1.0),
        "distance(D/10) <= ? over 256",
        "distance(G) <= ? over 256",
        "distance(y given age/6) <= ? over 256",
        "repeats(key(id)) <= ? over 256",
    ):
        assert sentence in templates(schema)


def test_relations_become_sentences():
    """A sum, a difference of dates and an order that always holds are written down."""
    schema = sqrl.propose_schema(people())

    assert ("max(abs(gross - net - tax), 0.0001) <= ?", 1.0) in templates(schema)
    assert "days(end) - days(start)" in schema.let["R"]
    assert schema.let["O"] == ["age - years"]
    assert "? <= years <= ? by age/4" in templates(schema)


def test_what_is_watched_less_is_named_with_the_reason():
    """Keys, constants, free text and what no rule can speak of; nothing in silence."""
    schema = sqrl.propose_schema(people())

    assert schema.left_out == {
        "id": "a different value in each row: only repeats and missing values are watched",
        "note": "too many values to watch one by one: only its form and missing values are",
        "version": "one value in all rows: only other values and missing ones are watched",
        "blob": "of a type that no rule can speak of",
    }


def test_a_label_with_classes_comes_first():
    """What the label depends on: few conjunctions, numbers within classes."""
    schema = sqrl.propose_schema(people(), label="y")

    assert schema.label == "y"
    assert schema.rules[0] == "? <= precision(L{1..2} => y = Y) <= ? over 256"
    assert "y = Y => ? <= A <= ?" in schema.rules
    assert schema.let["L"].startswith("literals(age/4, years/4")
    assert schema.let["A"] == ["age", "years"]
    assert (schema.select.top, schema.select.per, schema.select.by) == (5, "Y", "informative")


def test_a_label_that_nothing_is_said_of_is_watched_as_a_column():
    """Its values and its shares."""
    schema = sqrl.propose_schema(table(y=classes(400)), label="y")

    assert "precision" not in schema.to_yaml()
    assert "y" in schema.let["C"]


def test_a_label_that_is_a_number_gets_its_range_under_facts():
    """Regression: the label is bounded by itself and given what it depends on."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    kind = rng.choice(["p", "q"], 2000)
    data = sqrl.as_table({"x": x, "kind": kind, "y": x + 2 * (kind == "p") + rng.normal(size=2000)})
    schema = sqrl.propose_schema(data, label="y")

    assert "? <= y <= ? by x/4" in schema.rules
    assert "kind = V => ? <= y <= ?" in schema.rules
    assert "distance(y/6 given x/6) <= ? over 128" in schema.rules


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_column_is_passed_over(data):
    """Every column stands in a rule, or among those left out with a reason, whatever it holds."""
    n_rows = data.draw(st.sampled_from([25, 60, 200]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    makers = {
        "number": lambda: rng.normal(size=n_rows),
        "few": lambda: rng.integers(0, 4, n_rows),
        "wild": lambda: np.where(rng.random(n_rows) < 0.5, 1e300, -1.0),
        "gaps": lambda: np.where(rng.random(n_rows) < 0.9, np.nan, 1.5),
        "empty": lambda: np.full(n_rows, np.nan),
        "one": lambda: ["a"] * n_rows,
        "words": lambda: rng.choice(["a", "b", None], n_rows).tolist(),
        "ids": lambda: [f"r{row}" for row in range(n_rows)],
        "truths": lambda: rng.random(n_rows) < 0.5,
        "dates": lambda: np.datetime64("2024-02-01") + rng.integers(0, 50, n_rows),
        "bytes": lambda: [b"x"] * n_rows,
    }
    kinds = data.draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=6))
    made = sqrl.as_table({f"c{place}": makers[kind]() for place, kind in enumerate(kinds)})
    try:
        schema = sqrl.propose_schema(made)
    except DataError:
        assert set(kinds) <= {"empty", "bytes"}
        return
    said = schema.to_yaml()
    rules = sqrl.learn(made, schema)

    assert all(re.search(rf"\b{name}\b", said) for name in made)
    assert rules.provenance.counts["candidates"] > 0


def test_the_same_rows_and_seed_propose_the_same():
    """A proposal is as reproducible as what is learned with it."""
    assert sqrl.propose_schema(people(), label="y") == sqrl.propose_schema(people(), label="y")


def test_missing_values_that_a_sample_does_not_show_are_known():
    """Where a table is a part of the rows, which columns lack values is said."""
    schema = sqrl.propose_schema(people(), lacking=frozenset(["age"]))

    assert schema.let["M"] == ["age"]
    assert "net" in schema.let["K"]


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
    """A table with columns N, C and K can be learned from."""
    rng = np.random.default_rng(0)
    data = sqrl.as_table({"N": rng.normal(size=200), "C": classes(200), "K": rng.normal(size=200)})
    schema = sqrl.propose_schema(data, label="C")

    assert schema.rules[0] == "? <= N1 <= ?"
    assert "C1 in ?" in schema.rules
    assert sqrl.learn(data, schema)


def test_mini_batches_fit_into_the_held_out_rows():
    """A short validation file makes them smaller, or leaves out the rules that need them."""
    data = table(y=classes(400))

    assert "distance(C) <= ? over 32" in sqrl.propose_schema(data).rules
    assert "distance(C) <= ? over 16" in sqrl.propose_schema(data, valid=table(40)).rules
    assert " over " not in sqrl.propose_schema(data, valid=table(10)).to_yaml()


def test_fewer_rows_are_promised_less():
    """A coverage that the rows cannot support is not asked of them."""
    coverages = [sqrl.propose_schema(table(n_rows)).coverage for n_rows in (400, 40, 20)]

    assert coverages == [0.98, 0.95, 0.9]


def test_a_wide_table_is_proposed_less_of():
    """Pairs go first, then relations; columns are watched whatever their number."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 5))
    data = sqrl.as_table({f"x{i}": z[:, i % 5] + rng.normal(size=400) for i in range(40)})

    rich, poor = sqrl.propose_schema(data), sqrl.propose_schema(data, budget=150)

    assert "given" in rich.to_yaml()
    assert "given" not in poor.to_yaml()
    assert poor.let["N"] == list(data)


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
            sqrl.as_table({"k": [b"x"] * 100, "e": [None] * 100}, source="table"),
            None,
            "No column can be used: each is empty or of a type that no rule can speak of.\n"
            "  where: table\n"
            "  fix:   give a table with numbers, categories, dates or text",
        ),
    ],
)
def test_a_table_without_a_schema_is_told_why(data, label, message):
    """Where nothing can be proposed, the message says what is lacking."""
    assert refusal(data, label=label) == message
