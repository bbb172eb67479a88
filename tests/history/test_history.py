"""sqrl.History: checks over time in a folder."""

from datetime import date
from threading import Thread

import numpy as np
import pytest

import sqrl
from made_histories import made_history, made_record
from sqrl._history.settings import Waiver
from sqrl._history.store import Store
from sqrl._rules.decisions import today
from sqrl.errors import DataError, UnknownNameError

RULES = sqrl.RuleSet.from_texts(["0 <= x <= 9"], coverage=[0.98], support=[5000])


def checked(n_broken, n_rows=500):
    """A check of rows of which some break the rule."""
    return sqrl.check(RULES, {"x": [99.0] * n_broken + [5.0] * (n_rows - n_broken)})


@pytest.fixture
def history(tmp_path):
    """Twelve days, of which the last four break a rule much more often."""
    return made_history(tmp_path / "history")


def test_checks_become_windows_and_then_alarms(tmp_path):
    """What is added is there, in the order of time, and a change is seen."""
    history = sqrl.History(tmp_path / "history")
    for day in (3, 1, 2):
        history.add(checked(10), at=date(2026, 1, day))
    assert history.alarms() == ()
    record = history.add(checked(100), at="2026-01-04")

    assert [one.at for one in history.records()] == [f"2026-01-0{day}" for day in (1, 2, 3, 4)]
    assert record.broken.tolist() == history.records()[-1].broken.tolist() == [100]
    (alarm,) = history.alarms()
    assert (alarm.at, alarm.rules) == ("2026-01-04", tuple(RULES.ids()))
    assert alarm.cause.startswith("x: 100 of 500 rows outside 0 to 9")
    assert history.timeline().new_alarms == (alarm,)


def test_a_monitor_of_the_same_batches_raises_the_same_alarms(tmp_path):
    """Window by window, with the same evidence."""
    history, monitor = sqrl.History(tmp_path / "history"), sqrl.Monitor(RULES)
    for day, n_broken in enumerate([10, 8, 30, 12, 60, 70, 9, 80], start=1):
        rows = {"x": [99.0] * n_broken + [5.0] * (500 - n_broken)}
        history.add(sqrl.check(RULES, rows), at=f"2026-01-0{day}")
        decided = monitor.update(rows, at=f"2026-01-0{day}")
        timeline = history.timeline()

        assert timeline.new_alarms == (() if decided.alarm is None else (decided.alarm,))
        assert timeline.log_evidence[:, -1].tolist() == decided.log_evidence.tolist()
    assert timeline.alarms


def test_a_check_without_a_time_is_of_today(tmp_path):
    """In UTC."""
    history = sqrl.History(tmp_path / "history")

    assert history.add(checked(10)).at == today()


def test_a_promise_is_kept_in_the_folder(tmp_path):
    """By the first check, and by whoever gives another."""
    path = tmp_path / "history"
    first = sqrl.History(path, false_alarms="2/month", every="hour")
    assert first.promise.n_checks == pytest.approx(730.5 / 2)
    assert not path.exists()
    first.add(checked(10))

    assert sqrl.History(path).promise == first.promise
    sqrl.History(path, every="day").add(checked(10))
    assert (first.settings.false_alarms, sqrl.History(path).promise.every) == ("2/month", "day")


def test_a_promise_that_makes_no_sense_is_refused_at_once(tmp_path):
    """Not at the end of a check."""
    with pytest.raises(DataError, match="does not say how many false alarms"):
        sqrl.History(tmp_path / "history", false_alarms="few")


def test_an_accepted_window_is_in_the_baseline(history):
    """What it shows is how rows are from then on: the alarm is no longer open."""
    (alarm,) = history.alarms()
    assert not history.timeline().in_baseline[-1]
    history.accept(date.fromisoformat(alarm.at))

    assert history.settings.accepted == (alarm.at,)
    assert history.timeline().in_baseline[-1]
    history.accept(alarm.at)
    assert history.settings.accepted == (alarm.at,)


@pytest.mark.parametrize("at", ["2026-01-02", "2027-05-05"])
def test_only_a_window_that_raised_an_alarm_can_be_accepted(history, at):
    """The nearest that did is named; where there is no alarm, that is said."""
    (alarm,) = history.alarms()
    with pytest.raises(UnknownNameError) as caught:
        history.accept(at)

    assert str(caught.value) == (
        f"The window {at} raised no alarm.\n"
        f"  where: {history.path}\n"
        f"  fix:   did you mean '{alarm.at}'?"
    )
    history.waive("00000000", until="2026-02-01", why="known")
    with pytest.raises(UnknownNameError, match="there is no alarm, and nothing to accept"):
        history.accept(at)


def test_a_waived_rule_raises_no_alarm(history):
    """Until a date; a rule is named by its id or its sentence, and a later waiver counts."""
    history.waive("00000000", until="2026-01-02", why="  too early ")
    assert len(history.alarms()) == 1
    history.waive(history.records()[0].texts[0], until="2026-02-01", why="known")

    assert history.settings.waivers == (Waiver(rule="00000000", until="2026-02-01", why="known"),)
    assert history.alarms() == ()


def test_a_waiver_needs_a_rule_and_a_reason(history):
    """Which somebody else will read."""
    with pytest.raises(UnknownNameError, match="Unknown rule '0000000'"):
        history.waive("0000000", until="2026-02-01", why="known")
    with pytest.raises(DataError) as caught:
        history.waive("00000000", until="2026-02-01", why="")

    assert str(caught.value) == (
        "A waiver without a reason is a rule that nobody understands later.\n"
        f"  where: {history.path}\n"
        "  fix:   say why, in a few words"
    )
    assert history.settings.waivers == ()


def test_decisions_of_many_threads_are_all_kept(history):
    """Threads take turns as processes do."""
    rules = history.records()[0].ids
    whys = [f"reason {number}" for number in range(4)]
    threads = [
        Thread(target=history.waive, args=(rule,), kwargs={"until": "2026-02-01", "why": why})
        for why in whys
        for rule in rules
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(waiver.rule for waiver in history.settings.waivers) == list(rules)


def test_the_table_has_a_row_for_each_rule_and_window(history, tmp_path):
    """And the same columns where there is none."""
    table = history.to_arrow()

    assert table.num_rows == 12 * 2
    assert table["at"].to_pylist()[:3] == ["2026-01-01", "2026-01-01", "2026-01-02"]
    assert sqrl.History(tmp_path / "new").to_arrow().schema.equals(table.schema)


def test_a_history_says_what_it_is(history, tmp_path):
    """In a line, and as a table in a notebook."""
    assert repr(history) == "<History: 12 windows, 2026-01-01 to 2026-01-12; 2 rules, 1 alarm>"
    assert len(history) == 12
    new = sqrl.History(tmp_path / "new")
    assert (repr(new), len(new), bool(new)) == ("<History: no windows yet>", 0, True)
    assert "<table>" in history._repr_html_()
    assert "<table>" not in new._repr_html_()


def test_what_a_notebook_shows_is_escaped(tmp_path):
    """A column may be called anything."""
    hostile = "x<script>"
    findings = {"findings": (hostile,), "finding_rules": (("00000000",),), "n_facts": 1}
    store = Store(tmp_path / "history")
    store.put(made_record(**findings))
    shown = sqrl.History(tmp_path / "history")._repr_html_()

    assert "x&lt;script&gt;" in shown
    assert hostile not in shown


def test_a_rule_is_drawn_over_time(history):
    """Its shares, with what is not in the baseline hollow, its band and its alarms."""
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("agg")
    ax = history.plot("00000000")
    (alarm,) = history.alarms()
    shares = 100 * history.timeline().share[0]

    assert np.allclose(ax.lines[0].get_ydata(), shares)
    assert ax.lines[1].get_xdata()[0] == history.timeline().at.index(alarm.at)
    assert sum(len(dots.get_offsets()) for dots in ax.collections[1:]) == 12
    assert ax.get_title(loc="left") == "0 <= x0 <= 9"
    assert history.plot("00000001", ax=ax) is ax
    with pytest.raises(UnknownNameError, match="Unknown rule 'x'"):
        history.plot("x")
    matplotlib.pyplot.close("all")
