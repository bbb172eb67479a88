"""Rules as files: what is written is read back, what is damaged is refused."""

import json

import numpy as np
import pytest

import sqrl
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import OutputError, RulesFileError

SCHEMA = {
    "statistics": {"sum": "a + b"},
    "let": {"Y": "values(y)", "A": ["a", "sum"], "L": "literals(a/3, b/2)"},
    "rules": [
        "y = Y => ? <= A <= ?",
        "? <= b <= ? by a/3",
        "? <= f1(L{1..2} => y = Y) <= ? over 64",
        "? <= a <= ? => y = Y",
        "y = Y => ? <= mean(a) over 64",
    ],
    "select": {"top": 5, "per": "Y"},
}


def learned(keep="selected", seed=0):
    rng = np.random.default_rng(0)
    y = rng.choice(["n", "y"], 500)
    table = {"a": rng.normal(size=500) + 3 * (y == "y"), "b": rng.random(500), "y": y.tolist()}
    return sqrl.learn(table, SCHEMA, keep=keep, seed=seed)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("keep", ["selected", "all"])
def test_rules_are_read_back_as_they_were_written(tmp_path, suffix, keep):
    """Both formats keep every sentence, number, schema and provenance."""
    rules = learned(keep)
    rules.save(tmp_path / f"rules{suffix}")
    back = sqrl.load_rules(tmp_path / f"rules{suffix}")

    assert back.texts() == rules.texts()
    for name in ("lower", "upper", "coverage", "support", "jaccard", "rows", "status"):
        assert back.table[name].to_pylist() == rules.table[name].to_pylist(), name
    assert back.schema == rules.schema
    assert back.provenance == rules.provenance


def test_a_json_file_has_the_fields_that_others_rely_on(tmp_path):
    """text, lower, upper, coverage, support and jaccard stand in every rule."""
    learned().save(tmp_path / "rules.json")
    content = json.loads((tmp_path / "rules.json").read_text())

    assert content["format"] == "sqrl-rules"
    assert content["version"] == 1
    assert content["schema"]["rules"] == SCHEMA["rules"]
    assert {"rows", "seed", "sqrl", "fingerprint", "source"} <= content["provenance"].keys()
    for rule in content["rules"]:
        assert {"text", "lower", "upper", "coverage", "support", "jaccard"} <= rule.keys()
    one_sided = [rule for rule in content["rules"] if "mean" in rule["text"]]
    assert one_sided
    assert all(rule["upper"] is None for rule in one_sided)


def test_the_same_seed_gives_the_same_file(tmp_path):
    """Byte for byte but for the time."""
    contents = []
    for index in range(2):
        learned(seed=4).save(tmp_path / f"{index}.json")
        content = json.loads((tmp_path / f"{index}.json").read_text())
        content["provenance"].pop("created")
        contents.append(json.dumps(content))

    assert contents[0] == contents[1]


def test_another_seed_gives_other_bounds():
    """The seed decides the split and the mini-batches."""
    assert learned(seed=1).texts() != learned(seed=2).texts()


def write(tmp_path, content, name="rules.json"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The rules file is damaged: Input data was truncated."),
        (b'{"format": "sqrl-rules", "ver', "The rules file is damaged: Input data was truncated."),
        (b"[1, 2]", "This is not a rules file."),
        (b"age;sick\n30;1\n", "This is not a rules file."),
        (b'{"a": 1}', "This is not a rules file."),
        (
            b'{"format": "sqrl-rules", "version": 7}',
            "The rules file has format version 7; this sqrl reads version 1.",
        ),
        (
            b'{"format": "sqrl-rules", "version": 1, "rules": [{"text": 3}]}',
            "The rules file is damaged: Expected `str`, got `int` - at `$.rules[0].text`.",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_refused(tmp_path, content, message):
    """The message says what is wrong, not where our code failed."""
    path = write(tmp_path, content)
    with pytest.raises(RulesFileError) as caught:
        sqrl.load_rules(path)

    assert caught.value.what == message
    assert caught.value.where == str(path)


def test_a_file_cut_in_half_is_refused(tmp_path):
    """Both formats notice that their end is missing."""
    for suffix in (".json", ".parquet"):
        path = tmp_path / f"rules{suffix}"
        learned().save(path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(RulesFileError, match="The rules file is damaged"):
            sqrl.load_rules(path)


def test_a_sentence_that_cannot_be_read_is_named(tmp_path):
    """A rule edited by hand is reported by its place in the file."""
    path = write(
        tmp_path,
        b'{"format": "sqrl-rules", "version": 1, '
        b'"rules": [{"text": "1 <= x <= 2 &", "lower": 1, "upper": 2}]}',
    )
    with pytest.raises(sqrl.SqrlError) as caught:
        sqrl.load_rules(path)

    assert str(path) in str(caught.value)
    assert "rules[0]" in str(caught.value)
    assert "write 'and' instead of '&'" in str(caught.value)


def test_a_rule_of_a_kind_that_there_is_not_is_refused(tmp_path):
    """Such a file may come from a newer sqrl."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rules.parquet"
    learned().save(path)
    table = pq.read_table(path)
    place = table.schema.get_field_index("kind")
    odd = pa.array(["sequence"] * table.num_rows)
    pq.write_table(table.set_column(place, "kind", odd), path)
    with pytest.raises(RulesFileError) as caught:
        sqrl.load_rules(path)

    assert caught.value.what == (
        "The rules file is damaged: there are no rules of kind 'sequence'."
    )


@pytest.mark.parametrize("column", ["subject", "head", "given", "body"])
@pytest.mark.parametrize("number", [-1, 1000])
def test_a_rule_about_a_formula_that_the_file_does_not_hold_is_refused(tmp_path, column, number):
    """Before anything is computed of a formula that is not there, or of another."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rules.parquet"
    learned().save(path)
    table = pq.read_table(path)
    field = table.schema.field(column)
    odd = pa.array([[number] if pa.types.is_list(field.type) else number] * len(table), field.type)
    pq.write_table(table.set_column(table.schema.get_field_index(column), field, odd), path)
    with pytest.raises(RulesFileError) as caught:
        sqrl.load_rules(path)

    assert caught.value.what == (
        "The rules file is damaged: a rule refers to a formula that is not in the file."
    )


def test_other_parquet_files_are_not_rules(tmp_path):
    """A table of data is told from a file of rules."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "data.parquet")
    with pytest.raises(RulesFileError, match="This is not a rules file"):
        sqrl.load_rules(tmp_path / "data.parquet")


def test_rules_are_not_written_under_another_suffix(tmp_path):
    """The suffix is the format."""
    with pytest.raises(OutputError) as caught:
        RuleSet.from_texts(["1 <= x <= 2"]).save(tmp_path / "rules.txt")

    assert str(caught.value) == (
        "Rules are written as .json or .parquet, not .txt.\n"
        f"  where: {tmp_path / 'rules.txt'}\n"
        "  fix:   name it rules.json"
    )


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    """No traceback of open()."""
    with pytest.raises(RulesFileError, match="There is no such rules file"):
        sqrl.load_rules(tmp_path / "none.json")
