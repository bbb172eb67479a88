"""Monitor: what a history of the same windows says, in constant memory, and its file."""

import json

import numpy as np
import pytest

import sqrl
from made_windows import day
from sqrl._check.check import check
from sqrl._history.detector import replay
from sqrl._history.record import record_of

N_DAYS, CHANGED = 14, 9
TEXTS = [
    "x <= 9",
    "0 <= mean(x) <= 9 over 64",
    "0 <= std(x) <= 9 over 64",
    "0 <= median(x) <= 9 over 64",
    "max(x) <= 20 over 64",
    "0.1 <= rate(k = a) <= 0.9 over 64",
    "mean(z) <= 9 over 64",
]


def rows_of(number, n=200):
    """Rows of a day; from a day on the values are higher."""
    rng = np.random.default_rng(number)
    shift = 0.5 if number >= CHANGED else 0.0
    kinds = rng.choice(["a", "b"], n).tolist()
    return {"x": rng.normal(5 + shift, 2, n), "k": kinds, "z": [1.0] * 5 + [None] * (n - 5)}


@pytest.fixture(scope="module")
def rules():
    """Rules of most kinds, one of them about a column with too few values for a test."""
    rng = np.random.default_rng(99)
    x = rng.normal(5, 2, 2000)
    moments = [2000.0, float(x.mean()), float(x.var())]
    squares = (x - x.mean()) ** 2
    median, cut, most = (float(v) for v in np.quantile(x, [0.5, 0.98, 1.0]))
    evidence = [
        [2000.0, float((x > 9).sum())],
        moments,
        [*moments, moments[1], float(squares.var())],
        [*moments, median, float((x <= median).sum())],
        [*moments, cut, most, float((x <= cut).sum()), 0.0],
        [1000.0, 0.0, 0.0, 2000.0],
        None,
    ]
    return sqrl.RuleSet.from_texts(TEXTS, evidence=evidence)


@pytest.fixture(scope="module")
def timeline(rules):
    """What a history of the days says."""
    records = [record_of(check(rules, rows_of(n)), at=day(n)) for n in range(N_DAYS)]
    return replay(records, sqrl.Monitor(rules).promise)


def assert_same(decided, timeline, number):
    """A monitor decides what a history does after the same window."""
    alarms = [alarm for alarm in timeline.alarms if alarm.at == day(number)]
    assert decided.alarm == (alarms[0] if alarms else None)
    assert decided.in_baseline == timeline.in_baseline[number]
    for name in ("log_evidence", "share", "low", "high"):
        np.testing.assert_array_equal(getattr(decided, name), getattr(timeline, name)[:, number])


def test_a_monitor_decides_what_a_history_of_the_same_windows_does(rules, timeline):
    """To the last bit, and there is something to decide."""
    monitor = sqrl.Monitor(rules, false_alarms="1/year", every="day")
    for number in range(N_DAYS):
        assert_same(monitor.update(rows_of(number), at=day(number)), timeline, number)

    assert len(timeline.alarms) == 1
    assert timeline.alarms[0].at >= day(CHANGED)


def test_a_monitor_that_was_saved_goes_on_as_if_it_had_not_been(rules, timeline, tmp_path):
    """After every window, also while an alarm is open."""
    path = tmp_path / "monitor.json"
    sqrl.Monitor(rules).save(path)
    for number in range(N_DAYS):
        monitor = sqrl.Monitor.load(path, rules)
        assert_same(monitor.update(rows_of(number), at=day(number)), timeline, number)
        monitor.save(path)

    assert repr(monitor) == "Monitor: 7 rules, 14 days seen, 1/year false alarms"


def test_what_is_remembered_does_not_grow(rules, tmp_path):
    """The file has numbers of rules, not of windows."""
    monitor, sizes = sqrl.Monitor(rules), []
    for number in range(8):
        monitor.update(rows_of(number, 50), at=day(number))
        monitor.save(tmp_path / "monitor.json")
        saved = json.loads((tmp_path / "monitor.json").read_text())
        sizes.append(sum(len(str(rule["passed"])) for rule in saved["rules"]))

    assert len(set(sizes)) == 1


def test_windows_out_of_order_are_refused(rules):
    """And nothing of them is remembered."""
    monitor = sqrl.Monitor(rules)
    monitor.update(rows_of(0), at="2026-01-02")
    for at in ("2026-01-02", "2026-01-01"):
        with pytest.raises(sqrl.SqrlError) as caught:
            monitor.update(rows_of(0), at=at)
        assert str(caught.value) == (
            f"The window of {at} is not after the last one, of 2026-01-02.\n"
            "  fix:   give windows in order of time, each once"
        )

    assert monitor.update(rows_of(1), at="2026-01-03").at == "2026-01-03"


def test_a_window_without_a_time_is_now(rules):
    """However many come in a second, each is after the one before."""
    monitor = sqrl.Monitor(rules)
    times = [monitor.update(rows_of(0, 20)).at for _ in range(3)]

    assert times == sorted(set(times))
    assert times[0].startswith("20")


def test_an_accepted_change_is_no_change_any_more(rules):
    """What was found since the alarm is how rows are from then on."""
    monitor = sqrl.Monitor(rules)
    alarms = [monitor.update(rows_of(n), at=day(n)).alarm for n in range(CHANGED + 3)]
    (alarm,) = (one for one in alarms if one is not None)
    monitor.accept(alarm.at)
    later = [monitor.update(rows_of(n), at=day(n)) for n in range(CHANGED + 3, CHANGED + 10)]

    assert all(decided.in_baseline and decided.alarm is None for decided in later)


def test_only_an_alarm_can_be_accepted(rules):
    """The nearest one is named."""
    with pytest.raises(sqrl.SqrlError) as caught:
        sqrl.Monitor(rules).accept("2026-01-05")

    assert str(caught.value).startswith("Unknown alarm '2026-01-05'.\n  where: Monitor.accept\n")


def test_a_waived_rule_raises_no_alarm(rules):
    """Those that are not waived do."""
    monitor = sqrl.Monitor(rules)
    for rule in rules.ids():
        monitor.waive(rule, until=day(40))
    decided = [monitor.update(rows_of(n), at=day(n)) for n in range(N_DAYS)]

    assert [one.alarm for one in decided] == [None] * N_DAYS
    with pytest.raises(sqrl.SqrlError, match="Unknown rule 'nobody'"):
        monitor.waive("nobody", until="2026-01-01")


def test_a_rule_that_the_rules_file_waives_raises_no_alarm(rules):
    """On the days of its windows; it does once the waiver has ended."""
    waived = rules.waive(rules.ids(), until="2999-12-31", by="Ann", why="known")
    monitor = sqrl.Monitor(waived)
    decided = [monitor.update(rows_of(n), at=day(n)) for n in range(N_DAYS)]

    assert [one.alarm for one in decided] == [None] * N_DAYS
    assert decided[-1].is_waived.all()
    assert monitor.update(rows_of(N_DAYS), at="3000-01-01").alarm is not None


def saved_monitor(rules, tmp_path):
    path = tmp_path / "monitor.json"
    monitor = sqrl.Monitor(rules)
    monitor.update(rows_of(0), at=day(0))
    monitor.save(path)
    return path


def test_a_file_of_another_version_is_refused(rules, tmp_path):
    """It says which one this is."""
    path = saved_monitor(rules, tmp_path)
    path.write_text(path.read_text().replace('"version":1', '"version":2'))
    with pytest.raises(sqrl.SqrlError) as caught:
        sqrl.Monitor.load(path, rules)

    assert str(caught.value) == (
        "The monitor has format version 2; this sqrl reads version 1.\n"
        f"  where: {path}\n"
        "  fix:   use the sqrl that wrote it, or begin with a new monitor"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.update(format="else"), "it is of something else"),
        (
            lambda d: d["rules"][0].update(alarmed=99),
            "Expected `int` <= 9 - at `$.rules[0].alarmed`",
        ),
        (
            lambda d: d["rules"][0]["log_sum"].pop(),
            "Expected `array` of length >= 10 - at `$.rules[0].log_sum`",
        ),
        (lambda d: d["rules"].append(d["rules"][0]), "a rule is there twice"),
        (lambda d: d.update(last=None), "the last window has no time"),
        (
            lambda d: d["rules"][0]["start"].__setitem__(0, 7),
            "a change of rule 9bbc5f30 began with a window that has no time",
        ),
        (lambda d: d.update(more=1), "Object contains unknown field `more`"),
        (
            lambda d: d["rules"][0].update(baseline=[1e999, 2.0]),
            "Number out of range - at `$.rules[0].baseline[0]`",
        ),
    ],
)
def test_a_damaged_file_is_refused(rules, tmp_path, change, why):
    """Whatever is wrong with it is named."""
    path = saved_monitor(rules, tmp_path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content).replace("Infinity", "1e999"))
    with pytest.raises(sqrl.SqrlError) as caught:
        sqrl.Monitor.load(path, rules)

    assert str(caught.value) == (
        f"The monitor's file cannot be read: {why}.\n"
        f"  where: {path}\n"
        "  fix:   begin with a new monitor, or go back to a copy of the file"
    )


def test_a_file_that_is_not_there_is_named(rules, tmp_path):
    """With how to make one."""
    with pytest.raises(sqrl.SqrlError) as caught:
        sqrl.Monitor.load(tmp_path / "none.json", rules)

    assert str(caught.value) == (
        f"There is no such monitor file.\n  where: {tmp_path / 'none.json'}\n"
        "  fix:   make one with Monitor.save"
    )


def test_saving_leaves_the_old_file_where_it_fails(rules, tmp_path, monkeypatch):
    """Whole or not at all."""
    path = saved_monitor(rules, tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(
        "pathlib.Path.write_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "no space"))
    )
    with pytest.raises(sqrl.SqrlError, match="Cannot write the file: no space"):
        sqrl.Monitor(rules).save(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
