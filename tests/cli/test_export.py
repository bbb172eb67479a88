"""sqrl export as a person meets it: the screen, the files and the exit status."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import sqrl as library
from made_exports import run
from sqrl.export import to_pandera, to_sql

RULES = ("type = Car => width <= 3", "0 <= speed <= 130", "mean(width) <= 2 over 2")


@pytest.fixture
def road(sqrl):
    """Rules in rules.json, rows in rows.csv."""
    library.RuleSet.from_texts(RULES).save("rules.json")
    Path("rows.csv").write_text("id,type,width,speed,batch\n1,Car,9,50,1\n2,Van,9,500,1\n")
    return sqrl


def test_sql_goes_to_the_screen_and_runs(road):
    """What the library gives, and nothing else on stdout."""
    done = road("export", "rules.json", "--to", "sql", "--batch-column", "batch")
    rows = pa.table(
        {"type": ["Car", "Van"], "width": [9.0, 9.0], "speed": [50, 500], "batch": [1, 1]}
    )
    rules = library.load_rules("rules.json")

    assert (done.code, done.err) == (0, "")
    assert done.out == to_sql(rules, batch_column="batch")
    assert [line["violations"] for line in run(done.out, rows)] == [1, 1, 1]


def test_the_rows_that_break_rules_are_known_by_their_columns(road):
    """Only rules about rows, chosen by a formula; written whole to a file."""
    given = ("--rows", "id", "--rows", "batch", "--where", "kind in [sample, class]")
    done = road("export", "rules.json", "--to", "sql", *given, "--like", "rows.csv", "-o", "a.sql")
    table = pa.table({"id": [1, 2], "type": ["Car", "Van"], "width": [9.0, 9.0]})
    table = table.append_column("speed", [[50, 500]]).append_column("batch", [[1, 1]])

    assert (done.code, done.out, done.err) == (0, "", "wrote a.sql\n")
    assert run(Path("a.sql").read_text(), table) == [
        {"id": 1, "batch": 1, "broken_rules": "1"},
        {"id": 2, "batch": 1, "broken_rules": "2"},
    ]


def test_a_test_of_dbt_for_each_rule(road):
    """In a folder that is replaced; the dialect is the database's."""
    given = ("--table", "boxes", "--dialect", "bigquery", "--batch-column", "batch", "-o", "tests")
    done = road("export", "rules.json", "--to", "dbt", *given)

    assert (done.code, done.out, done.err) == (0, "", "wrote 3 tests to tests\n")
    assert sorted(file.name for file in Path("tests").iterdir()) == [
        "sqrl_boxes_1_type_car_width_3.sql",
        "sqrl_boxes_2_0_speed_130.sql",
        "sqrl_boxes_3_mean_width_2_over_2.sql",
    ]
    assert "FLOAT64" in Path("tests/sqrl_boxes_2_0_speed_130.sql").read_text()


def test_a_pandera_schema(road):
    """As the library writes it, with the prediction in place of the label."""
    given = ("--where", "kind = sample", "--prediction", "said")
    done = road("export", "rules.json", "--to", "pandera", *given)
    rules = library.RuleSet.from_texts(RULES[:2])

    assert (done.code, done.err) == (0, "")
    assert done.out == to_pandera(rules, prediction="said")


def test_candidates_that_were_not_selected_are_not_exported(road):
    """A Parquet file holds them all."""
    rules = library.RuleSet.from_texts(["x <= 1", "x <= 2"], status=["selected", "few rows"])
    rules.save("all.parquet")

    assert road("export", "all.parquet", "--to", "sql").out == to_sql(rules[:1])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ("--to", "sql"),
            "sqrl: 1 rule is about mini-batches, and it is not known what these are.",
        ),
        (
            ("--to", "dbt", "--batch-column", "batch"),
            "sqrl: Tests of dbt are written to a folder, and none was named.\n"
            "  fix:   name one, such as -o tests/sqrl\n",
        ),
        (("--to", "sql", "--limit", "2"), "sqrl: There are 3 rules; at most 2 are written into"),
        (("--to", "pandera"), "sqrl: 1 rule is about mini-batches, which no single row breaks."),
        (("--to", "pandera", "--rows", "id"), "Usage: sqrl export"),
        (("--to", "excel"), "Usage: sqrl export"),
        (
            ("--to", "sql", "--where", "kind = sample", "--like", "other.csv"),
            "sqrl: The rules need a column 'speed', which the data does not have.",
        ),
        (
            ("--to", "sql", "--where", "kind = sample", "-o", "none/a.sql"),
            "sqrl: The folder of the output does not exist.",
        ),
    ],
)
def test_what_cannot_be_exported_is_refused_with_status_2(road, given, says):
    """Nothing is written, and the message says what to do."""
    Path("other.csv").write_text("type,width\nCar,1\n")
    before = sorted(Path().iterdir())
    done = road("export", "rules.json", *given)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(says)
    assert sorted(Path().iterdir()) == before


def test_without_sqlglot_the_message_names_the_extra():
    """The rest of the package, and the export to pandera, work without it."""
    code = (
        "import sys; sys.modules['sqlglot'] = None\n"
        "import sqrl, sqrl.export\n"
        "sqrl.export.to_pandera(sqrl.RuleSet.from_texts(['x <= 1']))\n"
        "try:\n    sqrl.export.to_sql\n"
        "except sqrl.errors.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == (
        "sqrl.export.to_sql needs sqlglot, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[export]"\n'
    )
