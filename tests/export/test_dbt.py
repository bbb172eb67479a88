"""Tests of dbt: templates that become the query of one rule, in a folder that is whole or old."""

import re

import jinja2
import pyarrow as pa
import pytest

import sqrl
from made_exports import NAMES, WORDS, run
from sqrl._language.names import name_text
from sqrl._language.printer import word_text
from sqrl.errors import DataError, OutputError
from sqrl.export import to_dbt
from sqrl.export._targets import TESTS

RULES = sqrl.RuleSet.from_texts(
    ["0 <= x <= 9", "kind = Car => x <= 5", "1 <= mean(x) <= 3 over 2"],
    coverage=[None, 0.9, None],
    support=[None, 50, None],
)


def rendered(template):
    """What dbt sends to the database."""
    names = {"ref": lambda model: model, "source": lambda source, table: f"{source}.{table}"}
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(template).render(names)


def test_a_test_gives_lines_only_where_a_rule_is_broken_beyond_chance():
    """The number, the rule and the counts; a learned rule may be broken as chance would."""
    table = pa.table({"x": [1.0, 10.0, 2.0, 7.0], "kind": ["Car"] * 4, "b": [1, 1, 2, 2]})
    files = to_dbt(RULES, batch_column="b")
    found = [run(rendered(text), table) for text in files.values()]

    assert [(line["rule"], line["applicable"], line["violations"]) for (line,) in found[::2]] == [
        (1, 4, 1),
        (3, 2, 2),
    ]
    assert found[1] == []  # two of four, where a tenth is usual: three deviations allow them
    assert found[0][0]["text"] == "0 <= x <= 9"


def test_a_rule_that_only_speaks_of_rows_does_not_need_the_mini_batches():
    """Its test reads only the columns that it names."""
    first, *_ = to_dbt(RULES, batch_column="b").values()

    assert "mini_batch" not in first


def test_names_and_categories_cannot_break_out_of_the_template():
    """dbt reads Jinja first: braces in names are printed, never run."""
    kind, x = name_text(NAMES["kind"]), name_text("{{ ref('x') }}{% for %}{#")
    rules = sqrl.RuleSet.from_texts(
        [f"{kind} = {word_text(word)} => {x} <= 1" for word in WORDS.values()]
    )
    words = [*WORDS.values(), "other"]
    table = pa.table({NAMES["kind"]: words, "{{ ref('x') }}{% for %}{#": [9.0] * len(words)})
    lines = [run(rendered(text), table)[0] for text in to_dbt(rules).values()]

    assert [line["violations"] for line in lines] == [1, 1, 1]
    assert [line["text"] for line in lines] == rules.texts()


def test_names_of_files_are_safe_and_in_order():
    """Letters, digits and underscores, with the number of the rule; short and never the same."""
    texts = [f'kind = "../../{"ß" * 300} {i}" => x <= 1' for i in range(11)]
    names = list(to_dbt(sqrl.RuleSet.from_texts(texts), table="road.boxes"))

    assert all(re.fullmatch(r"sqrl_[a-z0-9_]{1,80}\.sql", name) for name in names)
    assert names == sorted(set(names))
    assert names[0] == "sqrl_road_boxes_01_kind_0_x_1.sql"


def test_a_source_is_known_by_its_dot():
    """A model is referred to, a table of a source is named with it."""
    one = RULES[:1]

    assert "FROM {{ ref('boxes') }}" in "".join(to_dbt(one, table="boxes").values())
    assert "FROM {{ source('road', 'boxes') }}" in "".join(to_dbt(one, table="road.boxes").values())
    for table in ("it's", "a.b.c", "{{ x }}", "größe", "boxes\n"):
        with pytest.raises(DataError) as error:
            to_dbt(one, table=table)
        assert str(error.value) == (
            f"{table!r} does not name a dbt model.\n"
            "  fix:   write a model, such as boxes, or a source and its table: road.boxes"
        )


def test_a_folder_of_tests_is_replaced_as_a_whole(tmp_path):
    """Rules that are gone leave no test behind, and no other trace."""
    folder = tmp_path / "sqrl"
    TESTS.write(folder, {"sqrl_a.sql": "1", "sqrl_b.sql": "2"})
    TESTS.write(folder, {"sqrl_c.sql": "3\n"})

    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [("sqrl_c.sql", "3\n")]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_cannot_be_written_whole_stays_as_it_was(tmp_path):
    """Half of the new tests would be worse than the old ones."""
    folder = tmp_path / "sqrl"
    TESTS.write(folder, {"sqrl_a.sql": "1"})
    with pytest.raises(OutputError, match="Cannot write the folder: File name too long"):
        TESTS.write(folder, {"sqrl_b.sql": "2", "sqrl_" + "c" * 300: "3"})

    assert [file.name for file in folder.iterdir()] == ["sqrl_a.sql"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    """Nothing that a person wrote is removed; a file, a link or no place at all is refused."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "test.sql").write_text("SELECT 1")
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    TESTS.check(tmp_path / "empty")

    for name, what, fix in [
        (
            "mine",
            "The folder holds files that were not exported, such as 'test.sql'.",
            "name a folder of its own, such as tests/sqrl",
        ),
        ("file", "The output is a file.", "name a folder"),
        ("link", "The output is a link.", "name the folder itself"),
        (
            "none/x",
            "The folder of the output does not exist.",
            f"create it: mkdir -p {tmp_path / 'none'}",
        ),
    ]:
        with pytest.raises(OutputError) as error:
            TESTS.check(tmp_path / name)
        assert str(error.value) == f"{what}\n  where: {tmp_path / name}\n  fix:   {fix}"
