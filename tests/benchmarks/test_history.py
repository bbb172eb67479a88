"""The benchmark of histories computes what the detector does, and its page says what it found."""

from pathlib import Path

from rendered import render

ROOT = Path(__file__).parents[2]


def test_many_years_at_once_are_what_the_detector_says_of_each():
    """Up to rounding, in every window."""
    from history import largest_difference
    from history_detectors import is_same_pooling

    assert is_same_pooling()
    assert largest_difference(2, 12) < 1e-9


def test_a_small_run_keeps_the_promise_and_finds_a_change_before_daily_tests():
    """The same figures, only less sure."""
    import history as benchmark

    ours = benchmark.Ours(30.0)
    found = benchmark.run([ours], benchmark.Years(15, 7), 60)
    assert found.sum() <= 15 * 60 / 30.0

    share = benchmark.CHANGES["a category's share from 10 to 12 %"]
    years = benchmark.Years(5, 8, change=benchmark.Change(share.rule, share.to, 5))
    ours, daily = (maker(365.25) for maker in (benchmark.Ours, benchmark.Bonferroni))
    by_ours, by_daily = benchmark.run([ours, daily], years, 20).any(axis=2).sum(axis=1)
    assert by_ours > by_daily


def test_the_page_of_histories_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    render("render_history", "--docs", tmp_path)

    page = (tmp_path / "history-results.md").read_text()
    assert page == (ROOT / "docs" / "history-results.md").read_text()
