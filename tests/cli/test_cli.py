"""The command line as a person meets it: screens, files, signals and pipes."""

import json
import os
import re
import signal
import time
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

COMMANDS = ("learn", "rules", "schemas", "demo")


@pytest.fixture
def people(sqrl):
    """A table of made-up people in people.csv: the older and the heavier are more often sick."""
    rng = np.random.default_rng(7)
    age, weight = rng.integers(20, 80, 600), rng.normal(75, 12, 600).round(1)
    smokes = rng.random(600) < 0.3
    risk = (age - 50) / 20 + (weight - 75) / 15 + smokes
    sick = np.where(risk + rng.normal(0, 0.7, 600) > 0, "yes", "no")
    rows = zip(range(600), age, weight, smokes, sick, strict=True)
    lines = [f"{row},{a},{w},{str(s).lower()},{ill}" for row, a, w, s, ill in rows]
    Path("people.csv").write_text("\n".join(["id,age,weight,smokes,sick", *lines, ""]))
    return sqrl


def without_date(path):
    """The bytes of a rules file, but for the time at which it was made."""
    return re.sub(rb'"created": "[^"]*"', b"", Path(path).read_bytes())


def assert_fits(text):
    """No line is wider than the terminal."""
    assert [line for line in text.splitlines() if len(line) > 80] == []


# Screens


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_fits_the_terminal_and_names_the_commands(sqrl, command):
    """Help is plain text of at most 80 columns."""
    outcome = sqrl(*command, "--help")

    assert outcome.code == 0
    assert_fits(outcome.out)
    assert command or all(name in outcome.out for name in COMMANDS)


def test_no_arguments_show_the_help(sqrl):
    """A person who types the bare name is told what there is."""
    outcome = sqrl()

    assert "Usage: sqrl" in outcome.out + outcome.err
    assert "Traceback" not in outcome.err


def test_the_version_is_shown(sqrl):
    """--version gives the name and the number alone."""
    from sqrl import __version__

    assert sqrl("--version").out == f"sqrl {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lern",), "No such command 'lern'."),
        (("learn",), "Missing argument 'TRAIN'."),
        (("learn", "a.csv", "--sede", "1"), "No such option: --sede"),
        (("rules", "a.json", "--top", "-1"), "Invalid value for '--top'"),
    ],
)
def test_a_wrong_command_line_is_bad_input_without_a_traceback(sqrl, arguments, said):
    """Misspelt options and commands end with status 2 and a hint."""
    outcome = sqrl(*arguments)

    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.fixture
def without_torch(monkeypatch):
    """The demo takes torch for not installed."""
    monkeypatch.setattr("sqrl._commands.demo.find_spec", lambda _: None)


@pytest.mark.usefixtures("without_torch")
def test_the_demo_tells_the_whole_story_on_one_screen(sqrl, golden):
    """Rules from good rows, faults in words, a waiver, a page, how to get the rest: always alike.

    A waiver is for a month from today.
    """
    outcome = sqrl("demo")

    assert (outcome.code, outcome.err) == (0, "")
    assert len(outcome.out.splitlines()) <= 36
    assert_fits(outcome.out)
    said = re.search(r"waived until (\S+)", outcome.out)[1]
    assert date.fromisoformat(said) >= date.today() + timedelta(29)
    golden("demo.txt", outcome.out.replace(said, "2026-12-31"))
    assert "predicted no longer goes with loan" in Path("sqrl-demo.html").read_text()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_demo_finds_its_faults_whatever_the_seed(sqrl, seed):
    """And nothing where there is none; rules and page go where they are asked for."""
    outcome = sqrl("demo", "--seed", seed, "-o", "mine.json", "--report", "mine.md", "--no-adapt")
    found = [line for line in outcome.out.splitlines() if line.startswith("   > ")]

    assert found[0] == "   > nothing"
    assert found[1].startswith("   > owner: value Yes, never seen in training, in ")
    assert found[2] == "   > nothing"  # waived
    assert found[3].startswith("   > predicted no longer goes with ")
    assert len(found) == 4
    assert "torch" not in outcome.out
    assert outcome.err == "wrote mine.json\n"
    assert Path("mine.json").is_file()
    assert Path("mine.md").is_file()


def test_learning_shows_what_became_of_the_candidates_and_some_rules_of_each_form(people, golden):
    """The summary and the rules go to stdout, the proposed schema and the files to stderr."""
    outcome = people("learn", "people.csv", "--label", "sick")

    assert outcome.code == 0
    assert_fits(outcome.out + outcome.err)
    golden("learn.txt", outcome.out)
    golden("learn_stderr.txt", outcome.err)


def test_a_dry_run_shows_counts_memory_and_examples_and_writes_nothing(people, golden):
    """What a schema asks for can be seen before anything is spent on it."""
    outcome = people("learn", "people.csv", "--label", "sick", "--dry-run")

    assert outcome.code == 0
    assert [path.name for path in Path.cwd().iterdir()] == ["people.csv"]
    assert_fits(outcome.out)
    # The estimate of memory is the planner's affair.
    golden("dry_run.txt", re.sub(r"about .* of memory", "about ... of memory", outcome.out))


def test_a_dry_run_says_when_learning_would_refuse(people):
    """The limit is named before the run, not at its start."""
    outcome = people("learn", "people.csv", "--label", "sick", "--dry-run", "--limit", 10)

    assert outcome.code == 0
    assert outcome.err.splitlines()[-1] == "more than the limit of 10; raise it with --limit"


def test_rules_are_listed_filtered_sorted_and_counted(people, golden):
    """The sentences go to stdout with what is known of each, the count to stderr."""
    people("learn", "people.csv", "--label", "sick")
    where = "support > 90 and jaccard >= 0.7"
    outcome = people("rules", "rules.json", "--where", where, "--sort", "lower", "--top", 5)

    assert outcome.code == 0
    assert_fits(outcome.out)
    golden("rules.txt", outcome.out)
    assert re.fullmatch(r"5 of \d+ rules\n", outcome.err)


def test_bucketed_rules_have_a_line_for_each_piece(people, golden):
    """A rule in pieces reads as a list of cases."""
    Path("schema.yaml").write_text("rules: ['? <= weight <= ? by age/4']\n")
    people("learn", "people.csv", "--schema", "schema.yaml")

    golden("pieces.txt", people("rules", "rules.json").out)


def test_rules_as_json_are_what_the_file_holds(people):
    """Another program reads the same texts and bounds from stdout as from the file."""
    people("learn", "people.csv", "--label", "sick")
    shown = json.loads(people("rules", "rules.json", "--format", "json").out)

    assert shown == json.loads(Path("rules.json").read_text())["rules"]


def test_a_search_finds_words_in_any_case(people):
    """--search looks at the sentence."""
    people("learn", "people.csv", "--label", "sick")
    outcome = people("rules", "rules.json", "--search", "WEIGHT", "--format", "json")

    assert all("weight" in rule["text"] for rule in json.loads(outcome.out))
    assert json.loads(outcome.out)


def test_equal_files_have_no_difference(people):
    """--diff of a file with itself has only unchanged rules."""
    people("learn", "people.csv", "--label", "sick")
    outcome = people("rules", "rules.json", "--diff", "rules.json")

    assert re.fullmatch(r"0 appeared, 0 vanished, 0 moved, \d+ unchanged\n", outcome.out)


def test_shipped_schemas_are_listed_and_shown(sqrl):
    """Each listed name gives a schema that begins with a comment on what it is for."""
    names = sqrl("schemas").out.split()

    assert "cardio" in names
    assert all(sqrl("schemas", name).out.startswith("# ") for name in names)


def test_an_unknown_shipped_schema_is_answered_with_the_nearest(sqrl):
    """The same help as for --schema."""
    outcome = sqrl("schemas", "imagnet")

    assert outcome.code == 2
    assert outcome.err == "sqrl: Unknown schema 'imagnet'.\n  fix:   did you mean 'imagenet_x'?\n"


# Files


def test_the_proposed_schema_is_saved_and_gives_the_same_rules(people):
    """What is proposed can be kept, edited and used in place of the proposal."""
    outcome = people("learn", "people.csv", "--label", "sick", "-o", "one.json")
    again = people("learn", "people.csv", "--schema", "one.schema.yaml", "-o", "two.json")

    assert f"# proposed schema\n{Path('one.schema.yaml').read_text()}" in outcome.err
    assert again.err == "wrote two.json\n"
    assert without_date("one.json") == without_date("two.json")


def test_an_edited_schema_is_never_overwritten_by_a_proposal(people):
    """Learning again with --label keeps what a person wrote, and says so."""
    Path("rules.schema.yaml").write_text("# mine\n")
    outcome = people("learn", "people.csv", "--label", "sick")

    assert Path("rules.schema.yaml").read_text() == "# mine\n"
    assert outcome.err.splitlines()[-1] == (
        "kept rules.schema.yaml, which differs; use it with --schema rules.schema.yaml"
    )


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(people):
    """A run can be repeated exactly."""
    for name, seed in (("a.json", 1), ("b.json", 1), ("c.json", 2)):
        people("learn", "people.csv", "--label", "sick", "--seed", seed, "-o", name)

    assert without_date("a.json") == without_date("b.json")
    assert without_date("a.json") != without_date("c.json")


def test_held_out_rows_can_be_a_file_of_their_own(people):
    """With --valid every row of the train file is learned from, and the files are named."""
    lines = Path("people.csv").read_text().splitlines()
    Path("train.csv").write_text("\n".join([*lines[:401], ""]))
    Path("valid.csv").write_text("\n".join([lines[0], *lines[401:], ""]))
    outcome = people("learn", "train.csv", "--valid", "valid.csv", "--label", "sick")

    assert outcome.code == 0
    assert outcome.out.startswith("train.csv: 400 rows to learn from, 200 held out (valid.csv)\n")


def test_rules_may_be_asked_to_hold_on_held_out_rows(people):
    """--holds leaves out what held-out rows do not show, and says how many and why."""
    Path("schema.yaml").write_text("rules: ['? <= age <= ?', 'sick = yes => ? <= weight <= ?']\n")
    plain = people("learn", "people.csv", "--schema", "schema.yaml")
    outcome = people("learn", "people.csv", "--schema", "schema.yaml", "--holds", "0.97")

    assert "unproven" not in plain.out
    assert outcome.code == 0
    assert "unproven: held-out rows do not show that they hold often enough\n" in outcome.out
    assert "unproven, such as sick = yes => " in outcome.out
    assert_fits(outcome.out)
    assert json.loads(Path("rules.json").read_text())["schema"]["validate"] == {"holds": 0.97}


def test_parquet_holds_every_candidate_with_its_status(people):
    """What was rejected can be looked at, with the reason."""
    people("learn", "people.csv", "--label", "sick", "-o", "all.parquet")
    table = pq.read_table("all.parquet")
    kept = people("rules", "all.parquet", "--where", "status = selected", "--format", "json")

    assert set(table["status"].to_pylist()) >= {"selected", "redundant", "unstable"}
    assert len(json.loads(kept.out)) == table["status"].to_pylist().count("selected")


def test_parquet_also_holds_the_candidates_without_bounds(people):
    """The rows of the file are the candidates of the summary."""
    lines = Path("people.csv").read_text() + "600,30,70.5,true,unknown\n" * 5
    Path("people.csv").write_text(lines)
    Path("schema.yaml").write_text("let: {Y: values(sick)}\nrules: ['sick = Y => ? <= age <= ?']\n")
    people("learn", "people.csv", "--schema", "schema.yaml", "-o", "all.parquet")

    assert pq.read_table("all.parquet")["status"].to_pylist().count("unsupported") == 1


def test_no_rule_kept_is_said_with_a_way_out(people):
    """An empty result is no error, but is not left without a word."""
    Path("schema.yaml").write_text("coverage: 0.999\nrules: ['? <= weight <= ?']\n")
    outcome = people("learn", "people.csv", "--schema", "schema.yaml")

    assert outcome.code == 0
    assert outcome.err.splitlines()[0] == (
        "no rule was kept; give more rows, or lower 'coverage' in the schema"
    )


def test_a_label_given_with_a_schema_is_checked_and_kept(people):
    """--label fills in the label that a schema leaves open, and must not contradict it."""
    Path("schema.yaml").write_text("rules: ['? <= weight <= ?']\n")
    people("learn", "people.csv", "--schema", "schema.yaml", "--label", "sick")
    other = people("learn", "people.csv", "--schema", "cardio", "--label", "sick")

    assert json.loads(Path("rules.json").read_text())["schema"]["label"] == "sick"
    assert other.err.splitlines()[0] == "sqrl: The schema's label is 'cardio', not 'sick'."


# Faults, signals and pipes


def test_debug_shows_the_traceback(sqrl):
    """The person who looks for the cause gets all of it."""
    from sqrl.errors import DataError

    with pytest.raises(DataError, match="no such file"):
        sqrl("--debug", "learn", "none.csv")


def test_a_fault_of_our_own_is_neither_bad_input_nor_broken_rules(sqrl, monkeypatch):
    """Status 1 and 2 have a meaning that a crash must not borrow."""
    monkeypatch.setattr("sqrl.report._text_demo.demo_people", lambda **_: 1 / 0)
    outcome = sqrl("demo")

    assert outcome.code == 70
    assert outcome.err == (
        "sqrl: ZeroDivisionError: division by zero\n"
        "  fix:   this is a fault of sqrl's own; please report it with what --debug shows\n"
    )


def test_a_file_that_ends_too_soon_is_no_interruption(sqrl, monkeypatch):
    """As a damaged file of bytecode does; typer alone would take it for Ctrl-D."""

    def cut(**_):
        raise EOFError("marshal data too short")

    monkeypatch.setattr("sqrl.report._text_demo.demo_people", cut)
    outcome = sqrl("demo")

    assert outcome.code == 70
    assert "sqrl: EOFError: marshal data too short\n" in outcome.err


@pytest.fixture
def slow(tmp_path):
    """Arguments of a run that takes far longer than a test waits, with an old output in place.

    The schema comes through a pipe: whoever has written it knows that the run has begun.
    """
    table = np.random.default_rng(0).normal(size=(1500, 60))
    header = ",".join(f"x{column}" for column in range(60))
    np.savetxt(tmp_path / "wide.csv", table, "%.4f", ",", header=header, comments="")
    os.mkfifo(tmp_path / "schema.yaml")
    (tmp_path / "rules.json").write_text("old")
    return "learn", "wide.csv", "--schema", "schema.yaml"


def hand_over_schema(process, path):
    """Write the schema into the pipe as soon as the run asks for it."""
    literals = ", ".join(f"x{column}/4" for column in range(1, 60))
    text = f"let: {{L: 'literals({literals})'}}\nrules: ['L{{1..2}} => ? <= x0 <= ?']\n"
    while process.poll() is None:
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.01)
        else:
            with os.fdopen(pipe, "w") as file:
                file.write(text)
            return


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_a_run_that_is_stopped_leaves_the_old_file_alone(start, slow, tmp_path, sent):
    """Ctrl-C ends with status 130 and a word; however it ends, nothing half-written remains."""
    before = sorted(tmp_path.iterdir())
    process = start(*slow)
    hand_over_schema(process, tmp_path / "schema.yaml")
    time.sleep(0.5)  # somewhere in the search, or on the way to it
    still_running = process.poll() is None
    process.send_signal(sent)
    out, err = process.communicate(timeout=300)

    assert still_running
    assert (tmp_path / "rules.json").read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before
    if sent == signal.SIGINT:
        assert (process.returncode, out) == (130, "")
        assert err == "sqrl: Interrupted; no result was written.\n"


def test_a_reader_that_leaves_early_is_no_error(people, start):
    """`sqrl rules RULES | head -1` ends quietly."""
    people("learn", "people.csv", "--label", "sick")
    process = start("rules", "rules.json")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=300)

    assert (process.returncode, err) == (0, "")


def test_names_in_the_data_cannot_steer_the_terminal(people):
    """A control sequence in a column's name is shown, not obeyed."""
    table = Path("people.csv").read_text().replace("weight", "\x1b[2J")
    Path("people.csv").write_text(table)
    outcome = people("learn", "people.csv", "--label", "sick", "--top", "40")

    assert "\x1b" not in outcome.out
    assert "`\\x1b[2J`" in outcome.out


def test_letters_that_the_terminal_lacks_are_spelt_out(people, start):
    """A column in another script does not stop a run on a plain terminal."""
    Path("people.csv").write_text(Path("people.csv").read_text().replace("weight", "体重"))
    Path("schema.yaml").write_text("rules: ['? <= 体重 <= ?']\n", encoding="utf-8")
    people("learn", "people.csv", "--schema", "schema.yaml")
    process = start("rules", "rules.json", env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    out, _ = process.communicate(timeout=300)

    assert process.returncode == 0
    assert "<= \\u4f53\\u91cd <=" in out
