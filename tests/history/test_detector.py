"""The detector: what it promises without a change, and one alarm for one lasting change."""

import numpy as np
import pytest

from made_histories import made_record
from made_windows import day, windows
from sqrl._history.detector import Detector, replay
from sqrl._history.e_values import share_evidence
from sqrl._history.promise import Promise
from sqrl._history.window_evidence import N_SHIFTS

PROMISE = Promise(false_alarms="1/year", every="day")
GOOD, BAD = (20, 25), (60, 25)
FIRST, SECOND = "00000000", "00000001"


def alarms_of(counts, **options):
    """The days, by number, of alarms, and the rules that each names."""
    timeline = replay(windows(counts), PROMISE, **options)
    return [(timeline.at.index(alarm.at), alarm.rules) for alarm in timeline.alarms]


def test_evidence_is_the_sum_over_starts_of_products_of_e_values():
    """By its definition, not by the recursion: each window against all rows before."""
    counts = [22, 31, 18, 40, 25]
    timeline = replay(windows([(count,) for count in counts]), PROMISE)

    rows, hits = 5000.0, 100.0
    log_e = []
    for count in counts:
        log_e.append(share_evidence(*(np.array([x]) for x in (rows, hits, 1000.0, count)))[0])
        rows, hits = rows + 1000, hits + count
    for last in range(len(counts)):
        sums = sum(np.exp(sum(log_e[first : last + 1])) for first in range(last + 1))
        expected = np.log(sums.sum() / N_SHIFTS)
        assert timeline.log_evidence[0, last] == pytest.approx(expected, rel=1e-9)
    assert timeline.threshold == pytest.approx(np.log(365.25))


def run_lengths(is_pooled, *, n_runs=300, n_windows=150, n_checks=60.0):
    """False alarms in all windows, over what was promised; a small reference, drawn for each run.

    One rule that a tenth of rows breaks: 300 held-out rows, then 600 rows a window.
    """
    rng = np.random.default_rng(3)
    rows, hits = np.full(n_runs, 300.0), rng.binomial(300, 0.1, n_runs).astype(np.float64)
    sums, n_alarms = np.zeros((n_runs, N_SHIFTS)), 0
    for _ in range(n_windows):
        new = rng.binomial(600, 0.1, n_runs).astype(np.float64)
        sums = (sums + 1) * np.exp(share_evidence(rows, hits, np.full(n_runs, 600.0), new))
        alarmed = sums.mean(axis=1) >= n_checks
        n_alarms += int(alarmed.sum())
        sums[alarmed] = 0.0
        if is_pooled:
            rows, hits = rows + 600.0, hits + new
    return n_alarms / (n_runs * n_windows / n_checks)


def test_there_are_no_more_false_alarms_than_promised():
    """Against all rows before. Against the same held-out rows each time there are many more."""
    assert run_lengths(is_pooled=True) <= 1.0
    assert run_lengths(is_pooled=False) > 1.3


def test_nothing_alarms_where_nothing_changes():
    """All windows are then part of the baseline."""
    timeline = replay(windows([GOOD] * 60), PROMISE)

    assert timeline.alarms == ()
    assert timeline.in_baseline.all()


def test_one_lasting_change_is_one_alarm():
    """Its windows are not part of the baseline, nor is it raised again."""
    timeline = replay(windows([GOOD] * 30 + [BAD] * 40), PROMISE)

    (alarm,) = timeline.alarms
    assert alarm.at == day(30)
    assert alarm.rules == (FIRST,)
    assert (alarm.started, alarm.started_low, alarm.started_high) == (day(30),) * 3
    assert alarm.log_evidence >= timeline.threshold
    assert alarm.cause == "0 <= x0 <= 9: 60 of 1,000 rows break it, 20 expected by the baseline"
    assert timeline.in_baseline.tolist() == [True] * 30 + [False] * 40
    assert timeline.new_alarms == ()
    assert replay(windows([GOOD] * 30 + [BAD]), PROMISE).new_alarms[0].at == day(30)


def test_a_second_alarm_is_of_something_else():
    """Another rule that breaks while the first alarm is open."""
    counts = [GOOD] * 30 + [BAD] * 20 + [(60, 80)] * 20

    assert alarms_of(counts) == [(30, (FIRST,)), (50, (SECOND,))]


def test_a_rule_that_is_slower_to_find_the_same_change_joins_its_alarm():
    """Weak evidence that began with the change comes to the threshold days later."""
    counts = [GOOD] * 30 + [(60, 34)] * 40
    alone = [(20, GOOD[1])] * 30 + [(20, 34)] * 40

    assert [rules for _, rules in alarms_of(alone)] == [(SECOND,)]
    assert alarms_of(alone)[0][0] > 32
    assert alarms_of(counts) == [(30, (FIRST,))]


def test_a_change_that_is_over_may_come_again():
    """The windows after it are part of the baseline again, those of it stay out."""
    counts = [GOOD] * 30 + [BAD] * 5 + [GOOD] * 30 + [BAD] * 5
    timeline = replay(windows(counts), PROMISE)

    assert [alarm.at for alarm in timeline.alarms] == [day(30), day(65)]
    assert not timeline.in_baseline[30:35].any()
    assert timeline.in_baseline[40:65].all()


def test_accepted_windows_are_how_rows_are_from_then_on():
    """No alarm is raised of more such windows, and one if rows go back to what they were."""
    counts = [GOOD] * 30 + [BAD] * 40 + [GOOD] * 5 + [BAD] * 5
    accepted = replay(windows(counts[:70]), PROMISE, accepted=[day(30)])

    assert [alarm.at for alarm in accepted.alarms] == [day(30)]
    assert accepted.in_baseline.all()
    worse = [GOOD] * 30 + [BAD] * 40 + [(120, 25)] * 5
    assert alarms_of(worse, accepted=[day(30)]) == [(30, (FIRST,)), (70, (FIRST,))]


def test_a_waived_rule_does_not_alarm_up_to_its_last_day():
    """Then it does if the change is still there; other rules alarm as ever."""
    lasting = [GOOD] * 30 + [BAD] * 40
    waived = {FIRST: day(49)}

    assert alarms_of(lasting, waived=waived) == [(50, (FIRST,))]
    late = replay(windows(lasting), PROMISE, waived=waived)
    assert late.alarms[0].log_evidence >= late.threshold
    assert late.alarms[0].started == day(30)
    over = [GOOD] * 30 + [BAD] * 10 + [GOOD] * 40
    assert alarms_of(over, waived=waived) == []
    other = [GOOD] * 30 + [(60, 80)] * 10
    assert alarms_of(other, waived=waived) == [(30, (SECOND,))]
    assert np.flatnonzero(late.is_waived[0]).tolist() == list(range(50))
    assert not late.is_waived[1].any()


def test_a_rule_that_the_rules_file_waived_is_waived_in_that_window():
    """As by a waiver of the history: marked in silence, and alarming once it has ended."""
    days = [*windows([GOOD] * 30 + [BAD] * 20, waived=(FIRST,)), *windows([BAD] * 20, 50)]
    by_file = replay(days, PROMISE)
    by_history = replay(windows([GOOD] * 30 + [BAD] * 40), PROMISE, waived={FIRST: day(49)})

    assert by_file.alarms == by_history.alarms
    assert [alarm.at for alarm in by_file.alarms] == [day(50)]
    np.testing.assert_array_equal(by_file.is_waived, by_history.is_waived)


def test_rules_may_come_and_go():
    """A rule that is not checked for a while keeps its baseline; one that is new has its own."""
    first = windows([GOOD] * 10)
    between = windows([(25,)] * 10, 10, ids=(SECOND,), texts=("1 <= x1 <= 9",))
    timeline = replay([*first, *between, *windows([GOOD] * 5 + [BAD] * 2, 20)], PROMISE)

    assert np.isnan(timeline.log_evidence[0, 10:20]).all()
    assert [alarm.at for alarm in timeline.alarms] == [day(25)]


def test_a_rule_that_was_learned_anew_starts_anew():
    """Other bounds: evidence of before says nothing of it, and an alarm of before is over."""
    old = windows([GOOD] * 30 + [BAD] * 3)
    new = windows(
        [BAD] * 30, 33, texts=("0 <= x0 <= 8", "1 <= x1 <= 9"), reference=((5000.0, 300.0),) * 2
    )
    timeline = replay([*old, *new], PROMISE)

    assert [alarm.at for alarm in timeline.alarms] == [day(30)]
    assert timeline.in_baseline[33:].all()


def test_windows_come_in_order_of_time_whatever_order_they_are_given_in():
    """And of two records of one window the later one counts."""
    ordered = windows([GOOD] * 30 + [BAD] * 2)
    twice = [made_record(day(30), (900, 900)), *reversed(ordered)]

    assert [alarm.at for alarm in replay(twice, PROMISE).alarms] == [day(30)]
    np.testing.assert_array_equal(
        replay(twice, PROMISE).log_evidence, replay(ordered, PROMISE).log_evidence
    )


@pytest.mark.parametrize("reference", [None, (5000.0, 100.0)])
def test_windows_that_say_nothing_change_nothing(reference):
    """No rows, or a rule that applies to none: the baseline stays, and there is no alarm."""
    empty = {"of": 0, "reference": (reference,) * 2}
    timeline = replay(windows([(0, 0)] * 20, **empty), PROMISE)

    assert timeline.alarms == ()
    assert np.isfinite(timeline.log_evidence).all()
    assert np.isnan(timeline.share).all()


def test_a_fact_alarms_once_as_long_as_it_lasts():
    """Such as a column that is gone, of which no row says anything."""
    gone = {
        "findings": ("column x0 is gone: 1 rule cannot be checked",),
        "finding_rules": ((FIRST,),),
        "n_facts": 1,
    }
    days = [
        *windows([GOOD] * 5),
        *windows([GOOD] * 3, 5, **gone),
        *windows([GOOD] * 2, 8),
        *windows([GOOD], 10, **gone),
    ]
    timeline = replay(days, PROMISE)

    assert [alarm.at for alarm in timeline.alarms] == [day(5), day(10)]
    assert timeline.alarms[0].rules == (FIRST,)
    assert timeline.alarms[0].cause == gone["findings"][0]
    assert timeline.alarms[0].log_evidence == np.inf
    assert replay(days, PROMISE, waived={FIRST: day(20)}).alarms == ()


def test_an_empty_window_is_no_fact_about_a_rule():
    """That there are no rows says nothing of a change."""
    none = {"findings": ("there are no rows",), "finding_rules": ((),), "n_facts": 1}

    assert replay(windows([(0, 0)], of=0, **none), PROMISE).alarms == ()


def test_what_does_not_add_up_is_not_multiplied_over_windows():
    """P-values against the same held-out rows depend on one another: each window stands alone."""
    odd = {"layout": ("p", "p"), "evidence": (None, None), "p_value": np.array([0.02, 0.5])}
    timeline = replay(windows([GOOD] * 40, **odd), PROMISE)

    assert timeline.alarms == ()
    assert np.ptp(timeline.log_evidence[0]) == 0.0
    sure = {**odd, "p_value": np.array([1e-12, 0.5])}
    assert [alarm.at for alarm in replay(windows([GOOD] * 3, **sure), PROMISE).alarms] == [day(0)]


def test_ten_years_of_windows_stay_finite():
    """Also where each of them is far beyond all that was expected, or far below."""
    detector = Detector(Promise(false_alarms="1/year", every="hour"))
    states = detector.states
    places = states.places_of(made_record(day(0), GOOD))
    for number in range(3653):
        log_e = np.full((2, 2 * N_SHIFTS), 700.0 if number % 2 else -700.0)
        log_e[1] = 5000.0
        states.add(places, log_e, np.zeros(2, np.bool_), number)

    assert np.isfinite(states.log_sum).all()
    assert np.isfinite(states.points.total).all()
    assert states.points.interval(1, 0) == (0, 0, 0)


def test_the_names_of_windows_are_forgotten():
    """What is remembered does not grow with time."""
    detector = Detector(PROMISE)
    for record in windows([GOOD] * 200):
        detector.step(record)

    assert len(detector.names) < 150


def test_the_band_holds_what_the_baseline_gives():
    """99 of 100 windows, and the share of each window is beside it."""
    rng = np.random.default_rng(0)
    counts = rng.binomial(1000, 0.02, (100, 2))
    timeline = replay(windows(counts.tolist()), PROMISE)

    inside = (timeline.share >= timeline.low) & (timeline.share <= timeline.high)
    assert inside.mean() > 0.97
    assert np.nanmax(timeline.high - timeline.low) < 0.03
    np.testing.assert_allclose(timeline.share, counts.T / 1000)
