"""The benchmark of histories computes what the detector does, and its page says what it found."""

from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]


def test_many_years_at_once_are_what_the_detector_says_of_each():
    """Up to rounding, in every window."""
    from history import largest_difference
    from history_detectors import is_same_pooling

    assert is_same_pooling()
    assert largest_difference(2, 12) < 1e-9


def test_a_small_run_keeps_the_promise_and_finds_changes_before_daily_tests():
    """Twenty years of a hundred days: the same figures, only less sure."""
    import history as benchmark

    limits = {benchmark.CUSUM: 20.0, benchmark.KNOWN: 8.0}
    detectors = benchmark.detectors_of(20_000, limits)
    found = benchmark.run(list(detectors.values()), benchmark.Years(20, 7), 60)
    assert found[0].sum() / 20 <= 60 / 365.25 * 2.5  # of which 3 are expected at most

    change = benchmark.CHANGES["a category's share from 10 to 12 %"]
    years = benchmark.Years(12, 8, change=benchmark.Change(change.rule, change.to, 10))
    later = benchmark.run(list(detectors.values())[:2], years, 30)
    ours, daily = (one.argmax(axis=1) for one in later)
    assert sum(ours) < sum(daily) or not later[1].any(axis=1).all()


def test_the_page_of_histories_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    if not (ROOT / "benchmarks" / "results" / "history.json").exists():
        pytest.skip("not measured yet")
    render("render_history", "--docs", tmp_path)

    page = (tmp_path / "history-results.md").read_text()
    assert page == (ROOT / "docs" / "history-results.md").read_text()
