"""Data and schema are checked against each other before any work is done."""

import numpy as np
import pytest

import sqrl
from sqrl._learn.prepare import prepare
from sqrl.errors import DataError, SchemaError, SqrlError

SCHEMA = {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= x <= ?"]}


def rows(n_rows=200, **columns):
    """A table of a kind and a number."""
    made = {"kind": ["a", "b"] * (n_rows // 2), "x": np.arange(n_rows) / 4}
    return sqrl.as_table({**made, **columns}, source="train.csv")


def refusal(*arguments, error=SqrlError, **options):
    """The text of the error that preparing gives."""
    with pytest.raises(error) as caught:
        prepare(*arguments, **options)
    return str(caught.value)


def test_a_share_of_the_rows_is_held_out():
    """With no validation rows given, a fifth is split off, and named as such."""
    data = prepare(rows(), SCHEMA)

    made = data.provenance
    assert (made.rows, made.train_rows, made.valid_rows) == (200, 160, 40)
    assert data.table.source == "train.csv"
    assert made.valid_source is None


def test_given_held_out_rows_leave_all_train_rows_to_learn_from():
    """Nothing is split off where a validation table is given."""
    data = prepare(rows(), SCHEMA, valid=sqrl.as_table(rows(50), source="valid.csv"))

    made = data.provenance
    assert (made.train_rows, made.valid_rows, made.valid_source) == (200, 50, "valid.csv")


def test_nothing_is_held_out_where_nothing_is_validated():
    """`validate: false` learns from every row."""
    data = prepare(rows(), {**SCHEMA, "validate": False})

    assert (data.provenance.train_rows, data.provenance.valid_rows) == (200, 0)


def test_too_few_rows_to_split_are_refused():
    """One row cannot be both learned from and held out."""
    data = {"kind": ["a"], "x": [1.0]}

    assert refusal(data, SCHEMA, error=DataError) == (
        "1 row is too few to hold some out for validation.\n"
        "  where: dict\n"
        "  fix:   give a validation file (--valid), or set 'validate: false' in the schema"
    )


def test_classes_come_from_the_rows_to_learn_from():
    """The held-out rows are not looked at when holes are filled."""
    valid = sqrl.as_table({"kind": ["c"] * 20, "x": np.arange(20.0)}, source="valid.csv")
    data = prepare(rows(), SCHEMA, valid=valid)

    assert [value.text for value in data.templates[0].values["Y"]] == ["a", "b"]


def test_a_column_missing_in_the_held_out_part_alone_is_no_error():
    """What the split happens to leave empty is unsupported or unstable, not a mistake."""
    sparse = np.full(200, np.nan)
    sparse[[3, 5]] = 1.0
    schema = {"rules": ["? <= s <= ?"]}

    assert prepare(rows(s=sparse), schema).provenance.train_rows == 160


def test_a_column_missing_everywhere_is_refused():
    """Neither the train table nor a validation table may lack every value of a column."""
    empty = np.full(200, np.nan)
    message = "'x' is missing or undefined on every row.\n  where: {}\n  fix:   "
    fix = "leave it out of the schema, or check how it is computed"
    valid = sqrl.as_table(rows(x=empty), source="valid.csv")

    assert refusal(rows(x=empty), SCHEMA) == message.format("train.csv") + fix
    assert refusal(rows(), SCHEMA, valid=valid) == message.format("valid.csv") + fix


def test_a_column_missing_in_the_validation_table_is_refused():
    """The message names the validation table."""
    valid = sqrl.as_table({"kind": ["a", "b"], "X": [1.0, 2.0]}, source="valid.csv")

    assert refusal(rows(), SCHEMA, valid=valid) == (
        "Unknown column or statistic 'x'.\n  where: valid.csv\n  fix:   did you mean 'X'?"
    )


def test_infinite_values_are_found_wherever_the_split_puts_them():
    """The row that is named is the row of the table."""
    for row in (0, 77, 199):
        x = np.arange(200) / 4
        x[row] = np.inf

        assert f"the first in row {row + 1}." in refusal(rows(x=x), SCHEMA, error=DataError)


def test_booleans_and_zeros_and_ones_are_the_same():
    """A flag may be true in one file and 1 in the other."""
    schema = {"rules": ["flag = 1 => ? <= x <= ?"]}
    flags = np.arange(200) % 2
    train = rows(flag=flags == 1)

    assert prepare(train, schema, valid=rows(flag=flags)).provenance.valid_rows == 200


def test_a_label_must_not_contradict_the_schema():
    """The label of the call fills in that of the schema, where there is none."""
    labelled = {**SCHEMA, "label": "kind"}

    assert prepare(rows(), SCHEMA, label="kind").schema.label == "kind"
    assert prepare(rows(), labelled, label="kind").schema.label == "kind"
    assert refusal(rows(), labelled, label="x", error=SchemaError) == (
        "The schema's label is 'kind', not 'x'.\n  fix:   leave one of them out"
    )


def test_mini_batches_are_checked_before_anything_is_counted():
    """A mini-batch that the held-out rows cannot fill is refused at once."""
    schema = {"rules": ["? <= mean(x) <= ? over 50"]}

    assert refusal(rows(), schema, error=DataError) == (
        "A mini-batch of 50 rows cannot be drawn from 40 rows.\n"
        "  where: train.csv (held-out rows)\n"
        "  fix:   use 'over 16' or less, or give more data"
    )


def test_an_undeclared_hole_is_answered_with_an_example():
    """A capital that is neither a hole nor a column nor a category was meant as a hole."""
    schema = {"let": {"Y": "values(kind)"}, "rules": ["kind = Z => ? <= x <= ?"]}

    assert refusal(rows(), schema, error=SchemaError) == (
        "The hole 'Z' has no domain.\n"
        "  where: rules[0], kind = Z => ? <= x <= ?\n"
        "  fix:   add it under 'let', such as 'Z: values(column)'"
    )


def test_a_column_of_one_capital_letter_is_a_column():
    """Potassium is called K."""
    data = rows(K=np.arange(200) % 7 + 0.5)

    assert prepare(data, {"rules": ["? <= K <= ?"]}).templates[0].count() == 1
