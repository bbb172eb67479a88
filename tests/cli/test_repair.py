"""sqrl repair as a person meets it: the screen, the file and the exit status."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sqrl as library

ROWS = """type,said,p_car,p_van,width,speed
Car,Car,0.9,0.1,1.5,50
Van,Car,0.6,0.4,9.0,50
Van,Van,0.2,0.8,9.0,200
Car,Car,0.7,0.3,,120
"""
RULES = (
    "type = Car => width <= 3",
    "type = Van => 4 <= width",
    "0 <= speed <= 130",
    "0.1 <= f1(width <= 3 => type = Car) <= 1 over 2",
)
CHANCES = ("--probabilities", "Car=p_car", "--probabilities", "Van=p_van")


@pytest.fixture
def road(sqrl):
    """Rules in rules.json, predictions in said.csv."""
    library.RuleSet.from_texts(RULES).save("rules.json")
    Path("said.csv").write_text(ROWS)
    return sqrl


def assert_fits(text):
    """No line is wider than the terminal."""
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_the_screen_of_a_repair(road, golden):
    """How many rows changed, violations before and after, what was left out; status 0."""
    given = ("--prediction", "said", *CHANCES, "--columns", "speed")
    outcome = road("repair", "rules.json", "said.csv", "-o", "out.csv", *given)

    assert (outcome.code, outcome.err) == (0, "wrote out.csv\n")
    assert_fits(outcome.out)
    golden("repair.txt", outcome.out)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_repaired_rows_are_written(road, name):
    """All columns in their order, whole numbers whole, what is missing missing."""
    given = ("--prediction", "said", *CHANCES, "--columns", "speed")
    road("repair", "rules.json", "said.csv", "--output", name, *given)
    if name == "out.csv":
        assert (
            Path(name).read_text().splitlines()[0]
            == '"type","said","p_car","p_van","width","speed"'
        )
    table = library.as_table(name) if name == "out.csv" else pq.read_table(name)
    found = library.repair(
        library.load_rules("rules.json"), table, prediction="said", columns=["speed"]
    )

    assert found.before.total == 0
    assert found.table["said"].to_pylist() == ["Car", "Van", "Van", "Car"]
    assert found.table["speed"].to_pylist() == [50, 50, 130, 120]
    assert found.table["type"].to_pylist() == ["Car", "Van", "Van", "Car"]
    assert found.table["width"].to_pylist() == [1.5, 9.0, 9.0, None]


def test_json_is_the_result_of_the_library(road):
    """Several columns are named with commas or one by one; separator and encoding as elsewhere."""
    Path("semi.csv").write_text(ROWS.replace(",", ";"), encoding="utf-16")
    read = ("--separator", ";", "--encoding", "utf-16")
    rules = library.load_rules("rules.json")
    same = library.repair(rules, "said.csv", columns=["speed", "width"]).to_dict()
    for columns in (("--columns", "speed, width"), ("--columns", "speed", "--columns", "width")):
        given = ("-o", "out.csv", "--format", "json", *columns)
        found = json.loads(road("repair", "rules.json", "semi.csv", *given, *read).out)

        assert found == json.loads(json.dumps(same))
        assert (found["violations_before"], found["violations_after"]) == (1, 0)


@pytest.mark.parametrize("link", ["plain", "link", "rules"])
def test_what_is_read_is_never_written_over(road, link):
    """Neither by its own name nor by another, nor the rules."""
    output = {"plain": "./said.csv", "link": "link.csv", "rules": "rules.json"}[link]
    if link == "link":
        Path("link.csv").symlink_to("said.csv")
    outcome = road("repair", "rules.json", "said.csv", "-o", output, "--columns", "speed")
    read = "rules.json" if link == "rules" else "said.csv"
    stem = read.partition(".")[0]

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"sqrl: The output is the file that is read: {read}.\n"
        f"  where: {Path(output)}\n"
        f"  fix:   name another, such as -o {stem}.repaired.csv\n"
    )
    assert Path("said.csv").read_text() == ROWS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-o", "out.xlsx"),
            "sqrl: A table is written as .csv or .parquet, not .xlsx.\n"
            "  where: out.xlsx\n"
            "  fix:   name it out.csv\n",
        ),
        (
            ("-o", "none/out.csv"),
            "sqrl: The folder of the output does not exist.\n"
            "  where: none/out.csv\n"
            "  fix:   create it: mkdir -p none\n",
        ),
        (
            ("-o", "out.csv", "--columns", "sped"),
            "sqrl: Unknown column 'sped'.\n  where: said.csv\n  fix:   did you mean 'speed'?\n",
        ),
        (
            ("-o", "out.csv"),
            "sqrl: It is not clear whether 'width' is a prediction: some rules bound it, others "
            "use it.\n"
            "  where: said.csv\n"
            "  fix:   name the columns that may change, such as columns=['width']\n",
        ),
    ],
)
def test_bad_input_is_refused_with_a_way_out(road, arguments, message):
    """Status 2, a message, and no file."""
    outcome = road("repair", "rules.json", "said.csv", *arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == message
    assert not Path("out.csv").exists()


def test_an_output_must_be_named(road):
    """There is no default that could overwrite something."""
    outcome = road("repair", "rules.json", "said.csv")

    assert outcome.code == 2
    assert "Missing option '-o' / '--output'" in outcome.err


def test_a_table_without_rows_is_bad_input(road):
    """As in check."""
    Path("none.csv").write_text("width,speed\n")
    outcome = road("repair", "rules.json", "none.csv", "-o", "out.csv")

    assert outcome.code == 2
    assert outcome.err.startswith("sqrl: The table has no rows.\n  where: none.csv\n")


def test_help_fits_the_terminal(sqrl):
    """Help is plain text of at most 80 columns."""
    outcome = sqrl("repair", "--help")

    assert outcome.code == 0
    assert_fits(outcome.out)
