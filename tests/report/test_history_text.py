"""What a terminal says of a history."""

import numpy as np
import pytest

from made_histories import made_history, made_record
from sqrl._history.history import History
from sqrl._history.settings import Settings
from sqrl._history.store import Store
from sqrl._history.timeline import Alarm, Timeline
from sqrl.report._history_facts import Alarms, by_evidence, history_dict
from sqrl.report._history_text import history_lines, promise_text, row_of_blocks

DAYS = tuple(f"2026-01-0{day}" for day in range(1, 7))


def alarm(at):
    return Alarm(
        at=at,
        rules=("a",),
        log_evidence=9.0,
        started=at,
        started_low=at,
        started_high=at,
        cause="x",
    )


def made_timeline(in_baseline, alarms, evidence=((0.0,) * 6,)):
    """A timeline of six windows that says no more than it is told."""
    evidence = np.array(evidence)
    nothing = np.full(evidence.shape, np.nan)
    names = "abc"[: len(evidence)]
    return Timeline(
        at=DAYS,
        ids=tuple(names),
        texts={name: f"{name} <= 1" for name in names},
        log_evidence=evidence,
        threshold=4.0,
        share=nothing.copy(),
        low=nothing.copy(),
        high=nothing.copy(),
        is_waived=np.zeros(evidence.shape, np.bool_),
        in_baseline=np.array(in_baseline, np.bool_),
        alarms=tuple(alarm(DAYS[day]) for day in alarms),
    )


@pytest.mark.parametrize(
    ("in_baseline", "accepted", "said"),
    [
        ([1, 1, 0, 1, 0, 0], (), ["over", "open", "new"]),
        ([1, 1, 0, 0, 0, 0], (), ["open", "open", "new"]),
        ([1, 1, 0, 1, 0, 1], (), ["over", "over", "new"]),
        ([1, 1, 0, 1, 0, 0], (DAYS[2], DAYS[5]), ["accepted", "open", "accepted"]),
    ],
)
def test_what_became_of_an_alarm(in_baseline, accepted, said):
    """Open are those since which no window was in the baseline."""
    timeline = made_timeline(in_baseline, [2, 4, 5])
    alarms = Alarms.of_timeline(timeline, Settings(accepted=accepted))

    assert [alarms.status(one) for one in timeline.alarms] == said


def test_rules_are_in_the_order_of_their_evidence_now():
    """And of what they once had, where now there is none; what was not checked is last."""
    evidence = [[0.0, 9.0, -3.0, 0.0, 0.0, -1.0], [0.0] * 5 + [2.0], [np.nan] * 6]
    timeline = made_timeline([1] * 6, [], evidence)

    assert by_evidence(timeline).tolist() == [1, 0, 2]
    lines = list(history_lines(timeline, Settings(), name="kept"))
    assert [line[5:22] for line in lines if line[:5].strip()[:1].isdigit()] == [
        *("b            0.50", "a            0.00", "c            0.00")
    ]


def test_what_is_not_known_is_null_in_json():
    """And the place of the infinite."""
    timeline = made_timeline([1] * 6, [0])
    found = history_dict(timeline, Settings())

    assert found["rules"][0]["share"] == [None] * 6
    assert found["alarms"][0]["rules"] == [{"id": "a", "text": "a <= 1"}]


def test_a_promise_in_words():
    """One alarm, or more."""
    settings = Settings(false_alarms="2/month", every="hour")

    assert promise_text(settings) == (
        "Promised: on average at most 2 false alarms a month, if a check is made every hour."
    )


def test_no_line_is_too_wide_whatever_is_shown(tmp_path):
    """Long ids, long sentences and many windows fit the narrowest terminal there is."""
    n = 3
    ids = tuple(f"0123abcd-{place}" for place in range(n))
    texts = tuple(f"some_{'long_' * 9}name_{place} <= 1.5" for place in range(n))
    store = Store(tmp_path / "history")
    for day in range(1, 29):
        at = f"2026-01-{day:02}"
        broken = (20, 999 if day > 20 else 10, 0)
        store.put(made_record(at, broken=broken, ids=ids, texts=texts))
    history = History(tmp_path / "history")
    timeline = history.timeline()
    for width in (40, 60, 80, 120):
        lines = list(history_lines(timeline, history.settings, name="x", width=width))
        assert [line for line in lines if len(line) > width] == []


def test_a_rule_that_this_language_does_not_know_is_shown_as_it_is(tmp_path):
    """A history may be older than the language."""
    texts = ("once upon a time", "1 <= x <= 9.123456")
    history = made_history(tmp_path / "history", 2, texts=texts)
    lines = "\n".join(history_lines(history.timeline(), history.settings, name="x"))

    assert "     once upon a time\n" in lines
    assert "     1 <= x <= 9.123" in lines


def test_a_row_of_blocks_is_as_high_as_what_is_usual():
    """A rule that is broken as ever is low; one that is always kept is flat."""
    values = np.array([0.0, 0.02, 0.2, np.nan])

    assert row_of_blocks(values, 0.04) == "▁▅█ "
    assert row_of_blocks(values * 0, 0.0) == "▁▁▁ "
    assert row_of_blocks(values, 0.2, "_-#") == "__# "
