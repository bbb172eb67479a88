"""Going on from a memo gives what a replay of all windows gives."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_histories import made_record
from sqrl._history.detector import replay
from sqrl._history.memo import go_on
from sqrl._history.store import MEMO, Store
from sqrl.errors import OutputError

DAYS = [f"2026-01-{day:02}" for day in range(1, 29)]


def window(number, broken):
    return made_record(DAYS[number], broken=(broken, 25), of=1000)


def assert_as_replayed(store, at=None):
    """The alarms are those of a replay, and so is the evidence of windows that were looked at."""
    decided = store.settings()
    found = go_on(store, decided, at or store.windows()[-1])
    timeline = replay(
        store.records(), decided.promise, accepted=decided.accepted, waived=decided.waived()
    )

    assert found.alarms == timeline.alarms
    assert found.n_windows == len(timeline.at)
    assert (found.open_since is None) == timeline.in_baseline[-1]
    if found.open_since is not None:
        first = timeline.at.index(found.open_since)
        assert not timeline.in_baseline[first:].any()
        assert first == 0 or timeline.in_baseline[first - 1]
    for when, one in found.decisions.items():
        place = timeline.at.index(when)
        assert np.array_equal(one.log_evidence, timeline.log_evidence[:, place])
    return found


@pytest.fixture
def store(tmp_path):
    """Ten windows, of which the last three are broken; a memo of the first nine."""
    made = Store(tmp_path / "history")
    for number in range(10):
        made.put(window(number, 20 if number < 7 else 90))
    go_on(made, made.settings(), DAYS[9])
    return made


def test_only_what_is_new_is_looked_at(store):
    """The windows before are in the memo."""
    assert list(assert_as_replayed(store).decisions) == [DAYS[9]]
    store.put(window(10, 90))
    assert list(assert_as_replayed(store).decisions) == [DAYS[9], DAYS[10]]
    store.put(window(11, 20))
    assert list(assert_as_replayed(store).decisions) == [DAYS[10], DAYS[11]]


def test_the_last_window_can_be_checked_twice(store):
    """As it is when a person has mended the data."""
    store.put(window(9, 21))

    assert list(assert_as_replayed(store).decisions) == [DAYS[9]]


def test_a_window_in_the_past_makes_the_memo_useless(store):
    """All windows are then looked at, and a new memo is kept."""
    store.put(window(3, 90))
    assert len(assert_as_replayed(store).decisions) == 10
    assert len(assert_as_replayed(store).decisions) == 1
    store.put(made_record("2025-12-31", broken=(20, 25)))
    assert len(assert_as_replayed(store).decisions) == 11


def test_what_people_decide_makes_the_memo_useless(store):
    """It may change what windows of the past say."""
    alarms = go_on(store, store.settings(), DAYS[9]).alarms
    store.change(lambda now: msgspec.structs.replace(now, accepted=(alarms[0].at,)))

    assert len(assert_as_replayed(store).decisions) == 10
    store.change(lambda now: msgspec.structs.replace(now, false_alarms="1/month"))
    assert len(assert_as_replayed(store).decisions) == 10


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x80", b"half"])
def test_a_damaged_memo_is_not_used(store, content):
    """Nor is it an error: it can be computed again."""
    kept = (store.folder / MEMO).read_bytes()
    (store.folder / MEMO).write_bytes(kept[:100] if content == b"half" else content)

    assert len(assert_as_replayed(store).decisions) == 10
    assert (store.folder / MEMO).read_bytes() == kept


def test_an_alarm_by_a_fact_is_kept_whole(tmp_path):
    """Its evidence is infinite."""
    store = Store(tmp_path / "history")
    gone = {"findings": ("column x0 is gone",), "finding_rules": (("00000000",),), "n_facts": 1}
    store.put(window(0, 20))
    store.put(made_record(DAYS[1], broken=(0, 25), **gone))
    store.put(window(2, 20))
    go_on(store, store.settings(), DAYS[2])
    store.put(window(3, 20))

    assert len(assert_as_replayed(store).decisions) == 2
    assert np.isinf(go_on(store, store.settings(), DAYS[3]).alarms[0].log_evidence)


def test_a_window_that_somebody_else_has_gone_past_is_looked_at_all_the_same(store):
    """Another process may have put in the next one, and kept a memo, in the meantime."""
    store.put(window(10, 90))
    assert list(assert_as_replayed(store, DAYS[10]).decisions) == [DAYS[9], DAYS[10]]

    assert DAYS[9] in assert_as_replayed(store, DAYS[9]).decisions
    assert len(assert_as_replayed(store, DAYS[4]).decisions) == 11


@settings(max_examples=5)
@given(steps=st.lists(st.tuples(st.integers(0, 6), st.sampled_from([20, 60])), max_size=6))
def test_whatever_happens_it_is_a_replay(tmp_path_factory, steps):
    """Windows in any order, some of them twice."""
    store = Store(tmp_path_factory.mktemp("any") / "history")
    for number, broken in steps:
        store.put(window(number, broken))
        assert DAYS[number] in assert_as_replayed(store, DAYS[number]).decisions


def test_a_memo_that_cannot_be_kept_costs_time_and_nothing_else(store, monkeypatch):
    """The window is there, and its result."""

    def full(*_):
        raise OutputError("Cannot write the file: No space left on device.")

    store.put(window(10, 90))
    monkeypatch.setattr("sqrl._history.store.write_atomically", full)

    assert DAYS[10] in assert_as_replayed(store).decisions
