"""Learning and checking by unit: held out together, compared as units, the same from scans."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqrl
from made_scans import scanned
from sqrl._check.notes import few_units_notes
from sqrl._check.unit_hint import unit_hint
from sqrl._data.table import as_table
from sqrl.errors import DataError, SchemaError, SqrlError, UnknownNameError

SCHEMA = {
    "let": {"N": ["x", "y"], "K": ["x", "c"]},
    "rules": [
        "known(K)",
        "c in ?",
        "? <= N <= ?",
        {"rule": "? <= N <= ?", "coverage": 1},
        "? <= mean(x) <= ? over 64",
        "? <= rate(c = a) <= ? over 64",
        "distance(x/6) <= ? over 64",
        "distance(x/4 given c) <= ? over 64",
    ],
}


def images(n_units, *, seed, shift=0.0, spread=1.0):
    """Boxes whose rows are alike within an image: as many as an image has, about five."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(n_units), 1 + rng.poisson(4, n_units))
    x = spread * rng.normal(size=n_units)[image] + 0.3 * rng.normal(size=image.size) + shift
    c = np.where((rng.random(n_units) < 0.4)[image], "a", "b")
    return {"image": image + seed * 10_000, "x": x, "y": x + rng.normal(size=image.size), "c": c}


@pytest.fixture(scope="module")
def rules():
    return sqrl.learn(images(400, seed=1), SCHEMA, unit="image")


def test_the_rows_of_a_unit_are_held_out_together():
    """A fifth of the images is held out, not a fifth of the rows of each."""
    data = images(100, seed=2)
    learned = sqrl.learn(data, SCHEMA, unit="image")
    evidence = learned.table["unit_evidence"].to_pylist()
    places = [k for k, text in enumerate(learned.texts()) if text.startswith("c in")]

    assert learned.schema.units == ("image",)
    assert evidence[places[0]][0] == 20  # a set is tested against held-out units alone
    assert max(one[0] for one in evidence if one) == 100  # others against all units


def test_clean_units_raise_no_alarm_where_rows_would(rules):
    """Of 20 clean sets of images none alarms by unit, many do by row, and a shift is found."""
    by_row = sqrl.learn({k: v for k, v in images(400, seed=1).items() if k != "image"}, SCHEMA)
    clean = [images(80, seed=seed) for seed in range(10, 30)]

    assert sum(bool(sqrl.check(rules, data).findings()) for data in clean) <= 1
    assert sum(bool(sqrl.check(by_row, data).findings()) for data in clean) >= 5
    assert sqrl.check(rules, images(80, seed=50, shift=1.0)).findings()


def test_rows_written_three_times_change_nothing_by_unit(rules):
    """Copies of a unit's rows say nothing new of it: nothing becomes sure that was not."""
    data = images(60, seed=9)
    thrice = sqrl.check(rules, {name: np.tile(values, 3) for name, values in data.items()})

    assert not thrice.significant.any()
    assert not thrice.findings()


def test_a_check_says_how_many_units_there_are(rules):
    """In the result, in JSON, and in the text."""
    from sqrl.report._text_check import violation_lines

    found = sqrl.check(rules, images(60, seed=9))

    assert (found.unit, found.n_units) == (("image",), 60)
    assert found.to_dict()["unit"] == ["image"]
    assert found.to_dict()["n_units"] == 60
    assert " in 60 units (image), " in next(iter(violation_lines(found)))


def test_few_units_are_told_and_never_alarm():
    """With eight units to compare with and two new ones no p-value can be small."""
    schema = {"rules": ["? <= x <= ?"], "coverage": 0.9, "validate": False}
    learned = sqrl.learn(images(8, seed=3), schema, unit="image")
    new = images(2, seed=4, shift=9.0)

    for found in (sqrl.check(learned, new), sqrl.check(learned, scanned(pa.table(new)))):
        assert not found.significant.any()
        assert found.notes[-1] == (
            "2 units of image are compared with 8: no p-value can be below 0.022, "
            "whatever has changed"
        )


def test_many_units_against_many_have_no_note():
    """However many draws there are: more than a float can count."""
    assert few_units_notes(60_000, 50_000, ["image"]) == []
    assert few_units_notes(0, 50, ["image"])[0].startswith("50 units of image are compared with 0")


def test_rules_keep_what_units_say_in_files(rules, tmp_path):
    """JSON and Parquet give the same p-values as the rules in memory."""
    new = images(60, seed=9, shift=0.5)
    expected = sqrl.check(rules, new).p_value
    for suffix in ("json", "parquet"):
        rules.save(tmp_path / f"rules.{suffix}")
        found = sqrl.check(sqrl.load_rules(tmp_path / f"rules.{suffix}"), new).p_value

        assert np.array_equal(found, expected, equal_nan=True)


def write_parts(folder, data, n_parts, seed):
    """The rows, shuffled, in Parquet files of small row groups."""
    folder.mkdir()
    order = np.random.default_rng(seed).permutation(len(data["x"]))
    for part, mine in enumerate(np.array_split(order, n_parts)):
        table = pa.table({name: np.asarray(values)[mine] for name, values in data.items()})
        pq.write_table(table, folder / f"{part}.parquet", row_group_size=50)
    return {name: np.asarray(values)[order] for name, values in data.items()}


@pytest.mark.parametrize("n_parts", [1, 4])
def test_scans_give_the_same_bits(tmp_path, n_parts):
    """Units spread over files: the same rows held out, the same rules, the same p-values."""
    train = write_parts(tmp_path / "train", images(150, seed=5), n_parts, 0)
    new = write_parts(tmp_path / "new", images(50, seed=6, shift=0.3), n_parts, 1)
    in_memory = sqrl.learn(train, SCHEMA, unit=["image"])
    scanned = sqrl.learn(str(tmp_path / "train" / "*.parquet"), SCHEMA, unit="image")
    here = sqrl.check(in_memory, new)
    there = sqrl.check(scanned, str(tmp_path / "new" / "*.parquet"))

    assert scanned.table.equals(in_memory.table)
    assert np.array_equal(there.p_value, here.p_value, equal_nan=True)
    assert there.n_units == here.n_units == 50


def test_a_proposed_schema_does_not_watch_the_unit():
    """It says why, and keeps the unit when it is saved and read again."""
    schema = sqrl.learn(images(100, seed=2), unit="image").schema

    assert schema.unit == "image"
    assert schema.left_out["image"] == "names the unit that rows belong to"
    assert not any("image" in str(domain) for domain in schema.let.values())
    assert "unit: image\n" in schema.to_yaml()


def test_several_columns_name_a_unit(tmp_path):
    """Tracks of a drive; a schema file lists both."""
    data = images(100, seed=2)
    data |= {"drive": data["image"] % 3, "track": data["image"] // 3}
    learned = sqrl.learn(data, SCHEMA, unit=["drive", "track"])
    learned.schema.save(tmp_path / "schema.yaml")

    assert sqrl.load_schema(tmp_path / "schema.yaml").units == ("drive", "track")
    assert sqrl.check(learned, data).n_units == 100


def test_predictions_are_tested_by_unit():
    """Rules of the label are compared with predictions of held-out units."""
    data = images(300, seed=2)
    data["said"] = np.where(data["x"] > 0, "a", data["c"])
    schema = {"label": "c", "rules": ["? <= rate(c = a) <= ? over 64"]}
    learned = sqrl.learn(data, schema, unit="image", prediction="said")
    new = images(100, seed=7)
    new["said"] = np.where(new["x"] > 0, "a", new["c"])
    clean = sqrl.check(learned, new, prediction="said")
    swapped = sqrl.check(
        learned, new | {"said": np.where(new["said"] == "a", "b", "a")}, prediction="said"
    )

    assert not clean.significant.any()
    assert swapped.p_value.min() < 0.01 < clean.p_value.min()


@pytest.mark.parametrize(
    ("unit", "schema", "error", "text"),
    [
        ("imag", None, UnknownNameError, "Unknown column 'imag'."),
        (
            "one",
            None,
            DataError,
            "There is 1 unit of one: too few to hold some out for validation.",
        ),
        (
            "image",
            {"unit": "one", "rules": ["? <= x <= ?"]},
            SchemaError,
            "The schema's unit is 'one', not 'image'.",
        ),
        (None, {"unit": [], "rules": ["? <= x <= ?"]}, None, ""),
        (None, {"unit": "", "rules": ["? <= x <= ?"]}, SchemaError, "The unit names no column."),
    ],
)
def test_units_that_cannot_be_used_are_refused(unit, schema, error, text):
    """With what is wrong in the first line."""
    data = images(60, seed=2)
    data["one"] = np.ones(data["x"].size)
    if error is None:
        assert not sqrl.learn(data, schema, unit=unit).schema.units
        return
    with pytest.raises(error) as caught:
        sqrl.learn(data, schema, unit=unit)

    assert str(caught.value).splitlines()[0] == text


def test_data_without_the_unit_is_refused(rules):
    """A check cannot compare units that nobody names."""
    data = images(60, seed=9)
    data["imag"] = data.pop("image")
    with pytest.raises(SqrlError) as caught:
        sqrl.check(rules, data)

    assert str(caught.value).splitlines()[0] == (
        "The rules were learned by the unit 'image', and there is no such column."
    )
    assert "did you mean 'imag'?" in str(caught.value)


def test_a_column_that_looks_like_a_unit_is_named():
    """By its name, or by its runs, where rows of it are alike; and only then."""
    data = images(200, seed=2)
    shuffled = np.random.default_rng(0).permutation(data["x"].size)
    plain = {"x": data["x"], "c": data["c"]}

    assert "learn with --unit image" in unit_hint(as_table(data))
    assert "learn with --unit lot" in unit_hint(as_table(plain | {"lot": data["image"]}))
    mixed = {name: values[shuffled] for name, values in (plain | {"lot": data["image"]}).items()}
    assert unit_hint(as_table(mixed)) is None  # neither named nor in runs
    by_itself = plain | {"image": np.sort(data["image"][shuffled])}
    by_itself["x"], by_itself["c"] = data["x"][shuffled], data["c"][shuffled]
    assert unit_hint(as_table(by_itself)) is None  # rows of one are no more alike than others
    assert unit_hint(as_table({"image": np.arange(300), "x": np.arange(300)})) is None


def test_a_check_without_units_names_the_option():
    """A note, where rules were learned from rows taken one by one."""
    data = images(200, seed=2)
    learned = sqrl.learn(data, SCHEMA)
    notes = sqrl.check(learned, images(60, seed=9)).notes

    assert any(note.endswith("learn with --unit image") for note in notes)


def test_folds_of_an_explanation_keep_units_whole():
    """No unit is in the train and in the test rows of a fold."""
    pytest.importorskip("sklearn")
    from sqrl._explain.error_prediction import _split

    rng = np.random.default_rng(0)
    units, wrong = np.repeat(np.arange(60), 5), rng.random(300) < 0.3
    for train, test in _split(wrong, 5, 0, units):
        assert not set(units[train]) & set(units[test])


def test_mini_batches_of_an_adaptation_keep_units_whole():
    """Every row once, and no unit in two mini-batches."""
    torch = pytest.importorskip("torch")
    data = images(40, seed=2)
    n = data["x"].size
    batches = sqrl.Batches(torch.zeros(n, 1), data, size=32, unit="image")
    found = [batch.rows.numpy() for batch in batches]
    units = [set(data["image"][rows].tolist()) for rows in found]

    assert sorted(np.concatenate(found).tolist()) == list(range(n))
    assert sum(map(len, units)) == 40
    with pytest.raises(SqrlError, match="there is no table to say which"):
        sqrl.Batches(torch.zeros(n, 1), size=32, unit="image")
