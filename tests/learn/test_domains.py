"""Domains of holes: values, lists and literals, resolved on the train rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sqrl._data.table import as_table
from sqrl._language import to_text
from sqrl._language.forms import bucket_formulas
from sqrl._language.tree import Name
from sqrl._learn.domains import Literals, cut_points, resolve_domains
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema
from sqrl.errors import SchemaError

PEOPLE = as_table(
    {
        "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, None, 80.0],
        "smoke": [True, False, True, False, None, True, False, True],
        "kind": ["a", "b", "c", "a", "b", "c", "a", None],
        "grade": [1, 2, 3, 1, 2, 3, 1, 2],
        "constant": [5] * 8,
    },
    source="people.csv",
)


def domain(text, **schema):
    made = Schema(rules=("? <= age",), let={"L": text}, **schema)
    return resolve_domains(made, Rows(PEOPLE, made.expressions()))["L"]


def texts(literals):
    return [to_text(feature) for feature in literals.features]


def test_values_are_the_distinct_values_in_order():
    """Categories are words, numbers are numbers, missing values are none."""
    assert [to_text(node) for node in domain("values(kind)")] == ["a", "b", "c"]
    assert [to_text(node) for node in domain("values(grade)")] == ["1", "2", "3"]
    assert [to_text(node) for node in domain("values(smoke)")] == ["false", "true"]


def test_literals_are_buckets_values_booleans_and_formulas():
    """Each argument gives its own features; those of a column exclude each other."""
    literals = domain("literals(age/2, kind, smoke, age > 33)")

    assert isinstance(literals, Literals)
    assert texts(literals) == [
        "age <= 50",
        "age > 50",
        "kind = a",
        "kind = b",
        "kind = c",
        "smoke",
        "age > 33",
    ]
    assert literals.group.tolist() == [0, 0, 1, 1, 1, 2, 3]
    assert literals.complete.tolist() == [True, True, False, False]


def test_a_constant_column_gives_no_literals():
    """What is the same in every row tells rows apart by nothing."""
    kinds = ["kind = a", "kind = b", "kind = c"]

    assert texts(domain("literals(constant, kind)")) == kinds
    assert texts(domain("literals(constant/4, kind)")) == kinds


def test_cut_percentiles_can_be_given():
    """The paper cuts at percentiles of its own."""
    literals = domain("literals(age/2)", cuts={2: [25]})

    assert texts(literals) == ["age <= 35", "age > 35"]


def test_literals_of_a_list_domain_are_those_of_its_entries():
    """literals(A/2) cuts each column that A lists."""
    schema = Schema(rules=("? <= age",), let={"A": ["age", "grade"], "L": "literals(A/2)"})
    literals = resolve_domains(schema, Rows(PEOPLE, {}))["L"]

    assert texts(literals) == ["age <= 50", "age > 50", "grade <= 2", "grade > 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "valuse(kind)",
            "'valuse(kind)' is not a domain.\n  where: let.L\n"
            "  fix:   did you mean 'values'?; a domain is [a, b, c], values(column) "
            "or literals(age/8, smoke)",
        ),
        (
            "values(kidn)",
            "Unknown column 'kidn'.\n  where: let.L, people.csv\n  fix:   did you mean 'kind'?",
        ),
        (
            "literals(constant)",
            "literals(...) gives no literal: every column in it is constant.\n"
            "  where: let.L\n  fix:   name others",
        ),
        (
            "literals(age/2, age/4)",
            "'age' stands twice in literals(...).\n  where: let.L\n"
            "  fix:   name each column once: conjunctions of its buckets would contradict",
        ),
        ([], "The list is empty.\n  where: let.L\n  fix:   give at least one entry"),
    ],
)
def test_a_domain_that_makes_no_sense_is_explained(text, message):
    """The message names the hole, what is wrong with it and what to write."""
    with pytest.raises((SchemaError, LookupError)) as caught:
        domain(text)

    assert str(caught.value) == message


def test_a_column_with_many_values_is_not_enumerated():
    """A thousand ages are no classes; buckets are what is meant."""
    table = as_table({"id": list(range(60))}, source="ids.csv")
    schema = Schema(rules=("? <= id",), let={"L": "literals(id)"})
    with pytest.raises(SchemaError) as caught:
        resolve_domains(schema, Rows(table, {}))

    assert str(caught.value) == (
        "Column 'id' has 60 distinct values; at most 50 can be enumerated.\n"
        "  where: let.L\n"
        "  fix:   cut it into buckets: id/8"
    )


@given(
    values=arrays(np.float64, st.integers(1, 40), elements=st.integers(-5, 5).map(float)),
    n_buckets=st.integers(2, 8),
)
def test_buckets_cover_every_value_once_and_none_is_empty(values, n_buckets):
    """Buckets partition the line whatever values coincide."""
    cuts = cut_points(values, [100 * i / n_buckets for i in range(1, n_buckets)])
    rows = Rows(as_table({"x": values}), {})
    if not cuts.size:
        assert np.unique(values).size == 1 or np.percentile(values, 100 / n_buckets) >= values.max()
        return
    inside = np.array([rows.truths(f).true for f in bucket_formulas(Name("x"), cuts)])

    assert (inside.sum(axis=0) == 1).all()
    assert inside.any(axis=1).all()


def test_cut_points_of_nothing_are_nothing():
    """A column that is missing everywhere cannot be cut."""
    assert cut_points(np.array([np.nan, np.nan]), [50.0]).size == 0
