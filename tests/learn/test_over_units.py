"""Learning over units: what is refused, what is planned, and what files keep."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqrl
from made_scans import outcome, scanned
from sqrl._language.tree import Units
from sqrl.errors import DataError, SchemaError

RULE = "? <= mean(x) <= ? over 8 units"


def table(n_units=40, n_each=3):
    """Images of three boxes each."""
    image = np.repeat(np.arange(n_units), n_each)
    return pa.table({"image": image, "x": np.sin(image) + 0.01 * np.arange(image.size)})


def test_over_units_without_a_unit_is_refused():
    """In memory and scanned, with the rule and the way out."""
    data = table()
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(data, {"rules": [RULE]})

    assert str(caught.value) == (
        "'over 8 units' needs a column that says which rows belong together.\n"
        f"  where: {RULE}\n"
        "  fix:   name it in the schema ('unit: image') or with --unit image; "
        "'over 8' is over rows"
    )
    assert outcome(sqrl.learn, scanned(data), {"rules": [RULE]}) == (
        SchemaError,
        str(caught.value),
    )
    assert sqrl.learn(data, {"rules": [RULE]}, unit="image").schema.units == ("image",)


@pytest.mark.parametrize(
    ("n_units", "there", "where", "fits"),
    [(9, 7, "Table", "2 units"), (12, 2, "Table (held-out rows)", "1 unit")],
)
def test_more_units_than_there_are_is_refused_before_learning_and_planning(
    n_units, there, where, fits
):
    """Of those to learn from and of those held out, in memory and scanned."""
    schema = {"rules": [RULE], "unit": "image"}
    with pytest.raises(DataError) as caught:
        sqrl.learn(table(n_units), schema)

    assert str(caught.value) == (
        f"A mini-batch of 8 units cannot be drawn from {there} units.\n"
        f"  where: {where}\n"
        f"  fix:   use 'over {fits}' or less, or give more data"
    )
    for call, data in ((sqrl.plan, table(n_units)), (sqrl.learn, scanned(table(n_units)))):
        assert outcome(call, data, schema) == (DataError, str(caught.value))


def test_mini_batches_of_units_that_do_not_fit_in_memory_are_refused_in_a_scan():
    """By the rows of the largest."""
    kind, text = outcome(
        sqrl.learn, scanned(table(), memory=10_000), {"rules": [RULE], "unit": "image"}
    )

    assert kind is DataError
    assert text == (
        "100 mini-batches of 24 rows take 76,800 bytes, more than the 10,000 allowed.\n"
        "  where: Table\n"
        "  fix:   allow more memory (--memory), or ask for fewer or smaller mini-batches"
    )


def test_a_plan_counts_the_rows_of_units():
    """Twice as many boxes in an image take more memory."""
    let = {"L": "literals(x/4, y/4)"}
    schema = {
        "let": let,
        "rules": ["? <= f1(L{1..2} => z = 1) <= ? over 8 units"],
        "unit": "image",
        "label": "z",
    }
    sizes = []
    for n_each in (3, 300):
        data = table(40, n_each)
        zeros = np.arange(data.num_rows)
        data = data.append_column("y", pa.array(np.cos(zeros)))
        sizes.append(sqrl.plan(data.append_column("z", pa.array(zeros % 2)), schema).nbytes)

    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_files_keep_that_mini_batches_are_of_units(tmp_path, suffix):
    """Sentences, forms and ids come back; over as many rows is another rule."""
    rules = [RULE, RULE.replace("8 units", "8"), "? <= rate(x > 0) <= ? over 8 units"]
    schema = {"rules": rules, "unit": "image", "validate": False}
    learned = sqrl.learn(table(), schema)
    learned.save(tmp_path / f"rules.{suffix}")
    loaded = sqrl.load_rules(tmp_path / f"rules.{suffix}")

    assert [form.over for form in loaded.forms()] == [form.over for form in learned.forms()]
    assert {form.over for form in loaded.forms()} == {8, Units(8)}
    assert loaded.texts() == learned.texts()
    assert loaded.ids() == learned.ids()
    assert len(set(loaded.ids())) == 3
    assert loaded.table["over_units"].to_pylist() == [True, None, True]


def test_parquet_of_before_units_is_over_rows(tmp_path):
    """Files without the column are read as they were meant."""
    sqrl.RuleSet.from_texts(["0 <= mean(x) <= 1 over 8"]).save(tmp_path / "new.parquet")
    written = pq.read_table(tmp_path / "new.parquet")
    pq.write_table(written.drop_columns(["over_units"]), tmp_path / "old.parquet")

    assert sqrl.load_rules(tmp_path / "old.parquet").form(0).over == 8


def test_ids_do_not_change_with_how_many_units_or_rows():
    """But with which of the two it is."""
    texts = [
        *("0 <= mean(x) <= 1 over 8", "0 <= mean(x) <= 1 over 8 units"),
        *("0 <= rate(x > 1) <= 1 over 8", "0 <= rate(x > 1) <= 1 over 8 units"),
    ]
    ids = sqrl.RuleSet.from_texts(texts).ids()
    others = sqrl.RuleSet.from_texts([text.replace("8", "16") for text in texts]).ids()

    assert ids == others
    assert len(set(ids)) == 4
    assert not any("-" in one for one in ids)
