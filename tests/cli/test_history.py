"""sqrl check --history and sqrl history as a person meets them: screens, files, exit statuses."""

import io
import json
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

import sqrl as library
from made_histories import DyingBackfill
from sqrl._commands.backfill import Backfill, check_past_files
from sqrl._commands.history import _blocks
from sqrl._history.past_files import find_past_files
from sqrl._rules.decisions import today
from sqrl.errors import DataError
from sqrl.report._history_text import BLOCKS, PLAIN

SCHEMA = """
let: {K: values(kind)}
rules:
  - ? <= width <= ?
  - kind = K => ? <= height <= ?
"""
FIRST = date(2026, 10, 1)


def write(path, seed, *, wider=1.0, n_rows=300, columns="kind,width,height"):
    """Cups and pots of one day."""
    rng = np.random.default_rng(seed)
    kind = np.array(["cup", "pot"])[rng.integers(0, 2, n_rows)]
    width = rng.normal(20, 2, n_rows) * wider
    height = np.where(kind == "cup", 8, 15) + rng.normal(0, 1, n_rows)
    values = {"kind": kind, "width": width.round(2), "height": height.round(2)}
    names = columns.split(",")
    lines = [",".join(map(str, row)) for row in zip(*(values[n] for n in names), strict=True)]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("\n".join([columns, *lines, ""]))


def day(number):
    return (FIRST + timedelta(number)).isoformat()


@pytest.fixture(scope="session")
def rules_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    write(folder / "train.csv", 0, n_rows=4000)
    (folder / "schema.yaml").write_text(SCHEMA)
    library.learn(folder / "train.csv", folder / "schema.yaml").save(folder / "rules.json")
    return folder / "rules.json"


@pytest.fixture
def shop(sqrl, rules_file):
    """Rules, and files of ten days, the last three with wider things; days later as one needs."""
    Path("rules.json").write_bytes(rules_file.read_bytes())
    for number in range(10):
        write(f"data/day={day(number)}.csv", 1 + number, wider=1.0 if number < 7 else 1.15)
    return sqrl


def check_day(shop, number, *more):
    given = ("check", "rules.json", f"data/day={day(number)}.csv", "--history", "kept", "--top", 0)
    return shop(*given, *more)


def backfill(shop, *more):
    return shop("history", "kept", "--rules", "rules.json", "--backfill", "data/day=*.csv", *more)


def assert_fits(text):
    assert [line for line in text.splitlines() if len(line) > 80] == []


# sqrl check --history


def test_a_new_alarm_makes_the_status_1_and_only_once(shop):
    """Clean days are 0, the day that raises the alarm is 1, those after it are 0 again."""
    codes = [check_day(shop, number).code for number in range(10)]

    assert codes[:7] == [0] * 7
    assert sum(codes) == 1
    found = json.loads(shop("history", "kept", "--format", "json").out)
    assert [alarm["at"] for alarm in found["alarms"]] == [day(codes.index(1))]


def test_the_screens_of_a_window(shop, golden):
    """A few lines about the history after those of the check."""
    backfill(shop)
    clean = check_day(shop, 6)

    assert_fits(clean.out)
    golden("check_history.txt", clean.out)
    (alarm,) = json.loads(shop("history", "kept", "--format", "json").out)["alarms"]
    raised = (date.fromisoformat(alarm["at"]) - FIRST).days
    outcome = check_day(shop, raised)
    assert outcome.code == 1
    assert_fits(outcome.out)
    golden("check_history_alarm.txt", outcome.out)


def test_the_lines_of_windows_that_raise_no_alarm(shop):
    """Whether an alarm is open, what a finding of one window means, and why a fact still fails."""
    backfill(shop)
    later = check_day(shop, 9).out
    assert f"Alarm of {day(7)}, still open: width: " in later
    assert "\nNo new alarm. The most evidence is " in later
    write(f"data/day={day(9)}.csv", 3, columns="kind,height")
    check_day(shop, 9)
    gone = check_day(shop, 8).out
    assert "No new alarm. The most" in gone
    shop("history", "kept", "--waive", "1c2828fb", "--until", day(11), "--why", "known")
    odd = check_day(shop, 8).out
    assert "No new alarm, for one window by itself does not decide. " in odd


def test_a_plain_fact_fails_at_once_and_in_every_window_that_has_it(shop):
    """A column that is gone is no matter of chance; a person can waive the rules behind it."""
    check_day(shop, 0)
    for number in (1, 2):
        write(f"data/day={day(number)}.csv", number, columns="kind,height")
        outcome = check_day(shop, number)

        assert outcome.code == 1
        assert "column width is gone" in outcome.out
    assert "No new alarm. What needs no test, above, fails by itself. " in outcome.out
    rules = library.load_rules("rules.json")
    width = next(id_ for id_, text in zip(rules.ids(), rules.texts(), strict=True) if "wid" in text)
    shop("history", "kept", "--waive", width, "--until", day(2), "--why", "being mended")
    write(f"data/day={day(3)}.csv", 3, columns="kind,height")

    assert [check_day(shop, number).code for number in (2, 3)] == [0, 1]


def waive_in_rules(pattern):
    """Waive rules in the rules file, up to the last day of 2999."""
    rules = library.load_rules("rules.json")
    chosen = [
        rule for rule, text in zip(rules.ids(), rules.texts(), strict=True) if pattern in text
    ]
    rules.waive(chosen, until="2999-12-31", by="Ann", why="new supplier").save("rules.json")
    return chosen


def test_a_rule_that_the_rules_file_waives_raises_no_alarm(shop):
    """In windows up to its last day, which is said; if the change is still there then, it does."""
    (width,) = waive_in_rules("width")
    assert [check_day(shop, number).code for number in range(10)] == [0] * 10
    said = " ".join(check_day(shop, 9, "--top", 1).out.split())
    assert "waived until 2999-12-31 by Ann: new supplier" in said
    assert f"of {width}, which is waived: " in said
    found = json.loads(check_day(shop, 9, "--format", "json").out)
    assert found["history"]["waived"] == [width]
    assert ", waived" in shop("history", "kept").out
    assert check_day(shop, 9, "--at", "2999-12-31").code == 0
    assert check_day(shop, 9, "--at", "3000-01-01").code == 1


def test_a_plain_fact_about_rules_that_the_rules_file_waives_fails_nothing(shop):
    """In windows up to the last day of the waiver."""
    waive_in_rules("width")
    write(f"data/day={day(0)}.csv", 1, columns="kind,height")
    days = ("2999-12-30", "2999-12-31", "3000-01-01")

    assert [check_day(shop, 0, "--at", at).code for at in days] == [0, 0, 1]


def test_a_backfill_goes_by_waivers_of_the_rules_file(shop):
    """As daily checks do."""
    waive_in_rules("width")
    backfill(shop)

    assert library.History("kept").alarms() == ()


def test_rules_that_were_learned_by_unit_have_a_history(shop):
    """From the command line too: days of other patients are no change, a shift is."""
    rng = np.random.default_rng(5)

    def write_visits(path, n_patients, shift=0.0):
        rates = np.repeat(70 + 10 * rng.normal(size=n_patients), 6) + shift
        rates += 2 * rng.normal(size=rates.size)
        lines = [f"{path}-{row // 6},{rate:.2f}" for row, rate in enumerate(rates)]
        Path(path).write_text("\n".join(["patient,rate", *lines, ""]))

    write_visits("train.csv", 600)
    Path("by_unit.yaml").write_text(
        "rules:\n  - ? <= rate <= ?\n  - ? <= mean(rate) <= ? over 64\n"
    )
    shop("learn", "train.csv", "--schema", "by_unit.yaml", "--unit", "patient", "-o", "units.json")
    codes = []
    for number in range(8):
        write_visits(f"{day(number)}.csv", 40, shift=0.0 if number < 6 else 15.0)
        codes.append(shop("check", "units.json", f"{day(number)}.csv", "--history", "units").code)

    assert codes == [0, 0, 0, 0, 0, 0, 1, 0]
    assert set(library.History("units").to_arrow()["layout"].to_pylist()) == {"units"}


@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("any", 1), ("significant", 0)])
def test_fail_on_goes_with_a_history(shop, fail_on, code):
    """`significant` asks the history, `any` and `never` are what they were."""
    assert check_day(shop, 0, "--fail-on", fail_on).code == code


def test_json_says_what_the_history_says(shop):
    """Beside what the check found."""
    check_day(shop, 0)
    found = json.loads(check_day(shop, 1, "--format", "json", "--false-alarms", "2/year").out)

    assert found["n_samples"] == 300
    assert found["history"]["at"] == day(1)
    assert found["history"]["n_windows"] == 2
    assert found["history"]["fails"] is False
    assert found["history"]["alarms"] == found["history"]["facts"] == []
    assert found["history"]["promise"] == {"false_alarms": "2/year", "every": "day"}


def test_junit_has_the_rules_of_the_alarm_as_failures(shop):
    """A finding of one window alone fails nothing."""
    backfill(shop)
    (alarm,) = json.loads(shop("history", "kept", "--format", "json").out)["alarms"]
    raised = (date.fromisoformat(alarm["at"]) - FIRST).days
    check_day(shop, raised, "--junit", "alarm.xml")
    check_day(shop, 9, "--junit", "later.xml")

    assert Path("alarm.xml").read_text().count("<failure") == len(alarm["rules"])
    assert "<failure" not in Path("later.xml").read_text()


def test_the_window_is_by_option_by_name_or_of_today(shop):
    """In this order."""
    write("today.csv", 1)
    check_day(shop, 0, "--at", "2020-01-01 12:00+02:00")
    check_day(shop, 1)
    shop("check", "rules.json", "today.csv", "--history", "kept")
    windows = json.loads(shop("history", "kept", "--format", "json").out)["at"]

    assert windows == ["2020-01-01T10:00:00Z", day(1), today()]


def test_a_window_checked_twice_counts_once(shop):
    """Whatever it was before."""
    for _ in range(2):
        check_day(shop, 0)
    found = library.History("kept")

    assert len(found) == 1
    assert found.records()[0].source.endswith(f"day={day(0)}.csv")


def test_a_scan_becomes_the_same_window(shop):
    """Rows that are never all in memory are counted alike."""
    check_day(shop, 0)
    shop(
        *("check", "rules.json", f"data/day={day(0)}.csv", "--engine", "local"),
        *("--history", "scanned"),
    )
    memory, scan = (library.History(name).to_arrow() for name in ("kept", "scanned"))

    assert memory.num_rows
    assert memory.equals(scan)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--at", "2026-01-01"], "Invalid value for '--at': It needs --history."),
        (["--every", "day"], "Invalid value for '--every': It needs --history."),
        (["--history", "kept", "--at", "../x"], "The window's time '../x' is no date."),
        (["--history", "kept", "--every", "moon"], "Rows are checked every 'moon'."),
        (["--history", "data"], "The folder is no history: it holds"),
        (["--history", "none/kept"], "The folder of the history's folder does not exist."),
        (["--history", "rules.json"], "A history is a folder, and this is a file."),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(shop, given, message):
    """Nothing is written."""
    outcome = shop("check", "rules.json", f"data/day={day(0)}.csv", *given)

    assert outcome.code == 2
    assert message in outcome.err
    assert not Path("kept").exists()


# sqrl history


def test_the_screen_of_a_history(shop, golden):
    """Alarms, decisions, and the rules with the most evidence."""
    first = backfill(shop)
    rule = library.load_rules("rules.json").ids()[1]
    outcome = shop(
        *("history", "kept", "--accept", day(7), "--waive", rule, "--until", day(4)),
        *("--why", "the cups were new"),
    )

    assert (first.code, first.err) == (0, "10 windows written, 0 were there\n")
    assert (outcome.code, outcome.err) == (0, "")
    assert_fits(first.out)
    assert_fits(outcome.out)
    golden("history.txt", first.out)
    golden("history_decided.txt", outcome.out)


def test_terminals_without_blocks_get_plain_letters(monkeypatch):
    """A page of escapes would tell nobody anything."""
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    chosen = []
    for stream in (sys.stdout, plain):
        monkeypatch.setattr(sys, "stdout", stream)
        chosen.append(_blocks())

    assert chosen == [BLOCKS, PLAIN]


def test_a_history_without_windows_is_said_to_be_empty(shop):
    """Waiting for its first."""
    check_day(shop, 0)
    Path(f"kept/windows/{day(0)}.parquet").unlink()
    outcome = shop("history", "kept", "--report", "page.html")

    assert outcome.code == 0
    assert outcome.out.startswith(
        "kept: no windows yet\nPromised: on average at most 1 false alarm"
    )
    assert Path("page.html").stat().st_size > 10_000


def test_the_page_is_written(shop):
    """As one file, told on stderr."""
    backfill(shop)
    outcome = shop("history", "kept", "--report", "page.html")

    assert outcome.err == "wrote page.html\n"
    assert "Checks over time: kept" in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["none"], "There is no history.\n  where: none\n  fix:   make one: sqrl check"),
        (["kept", "--accept", "2020-01-01"], "The window 2020-01-01 raised no alarm."),
        (["kept", "--accept", "x"], "The window's time 'x' is no date."),
        (["kept", "--waive", "0"], "Invalid value for '--waive': It needs --until."),
        (["kept", "--until", "2020-01-01"], "Invalid value for '--until': It needs --waive."),
        (["kept", "--backfill", "*.csv"], "Invalid value for '--backfill': It needs --rules."),
        (["kept", "--report", "page.md"], "The page of a history cannot be written as '.md'."),
        (
            ["kept", "--waive", "0", "--until", "2020-01-01", "--why", "x"],
            "Unknown rule '0'.",
        ),
        (
            ["kept", "--waive", "0", "--until", "2020-01-01", "--why", " "],
            "A waiver without a reason",
        ),
    ],
)
def test_what_history_refuses(shop, given, message):
    """With a way out."""
    check_day(shop, 0)
    before = Path("kept/history.json").read_text()
    outcome = shop("history", *given)

    assert outcome.code == 2
    assert message in outcome.err
    assert Path("kept/history.json").read_text() == before


# Backfill


def test_a_backfill_goes_on_where_it_stopped(shop):
    """Windows of files and rules that have not changed are not checked again."""
    Path(f"data/day={day(5)}.csv").write_bytes(b"\xff\x00 no table")
    broken = backfill(shop)
    assert broken.code == 2
    assert f"day={day(5)}.csv" in broken.err
    assert len(library.History("kept")) == 5
    write(f"data/day={day(5)}.csv", 6)
    assert backfill(shop).err == "5 windows written, 5 were there\n"
    assert backfill(shop).err == "0 windows written, 10 were there\n"
    write(f"data/day={day(0)}.csv", 99)
    assert backfill(shop).err == "1 window written, 9 were there\n"
    library.RuleSet.from_texts(["width <= 99"]).save("rules.json")

    assert backfill(shop).err == "10 windows written, 0 were there\n"


def test_a_backfill_gives_what_daily_checks_give(shop):
    """The same windows, and so the same alarms."""
    for number in range(10):
        check_day(shop, number)
    shop("history", "past", "--rules", "rules.json", "--backfill", "data/day=*.csv")
    daily, past = library.History("kept"), library.History("past")

    assert daily.to_arrow().equals(past.to_arrow())
    assert daily.alarms() == past.alarms()


@pytest.mark.usefixtures("shop")
def test_processes_write_the_same_windows(tmp_path):
    """All of them, however many processes there are."""
    files = find_past_files("data/day=*.csv")[:3]
    rules = library.load_rules("rules.json")
    told = []
    for name, processes in (("one", 1), ("two", 2)):
        work = Backfill(tmp_path / name, rules, None)
        track = lambda *report: told.append(report)  # noqa: E731
        assert check_past_files(work, files, processes=processes, track=track) == 3
    one, two = (library.History(tmp_path / name) for name in ("one", "two"))

    assert one.to_arrow().equals(two.to_arrow())
    assert told[-1] == ("windows", 3, 3)


@pytest.mark.usefixtures("shop")
def test_a_process_that_is_ended_is_an_error_with_a_way_out(tmp_path):
    """There may be too little memory for all of them."""
    work = DyingBackfill(tmp_path / "kept", library.load_rules("rules.json"), None)
    with pytest.raises(DataError) as caught:
        check_past_files(work, find_past_files("data/day=*.csv")[:2], processes=2)

    assert str(caught.value) == (
        "A process that checked past files was ended; there may be too little memory.\n"
        f"  where: {tmp_path / 'kept'}\n"
        "  fix:   run the command again: it goes on with the windows that are not there yet"
    )
