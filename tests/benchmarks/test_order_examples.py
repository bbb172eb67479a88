"""The page on time and order says what its results say, and real tracks are followed."""

import re
from pathlib import Path

import numpy as np
import pytest

import order_data
import real_data
import sqrl
from rendered import render

ROOT = Path(__file__).parents[2]


def test_the_page_on_time_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    render("render_order", "--docs", tmp_path)

    made, kept = (folder / "time-results.md" for folder in (tmp_path, ROOT / "docs"))
    assert made.read_text() == kept.read_text()


def test_what_the_page_on_time_quotes_is_in_the_results():
    """Rules and findings in it are those that were measured."""
    page, results = ((ROOT / "docs" / name).read_text() for name in ("time.md", "time-results.md"))
    found = page.split("## What it finds")[1]
    quoted = re.findall(r"\*([^*]+)\*", found)
    quoted += [line for block in found.split("```")[1::2] for line in block.strip().splitlines()]

    assert len(quoted) > 4
    assert [text for text in quoted if text not in results] == []


@pytest.fixture(scope="module")
def boxes():
    """All boxes of KITTI's tracks, sorted."""
    folder = real_data.folder("kitti_tracking").parent
    return order_data.ordered(order_data.read_kitti(folder), "seq", "track", "frame")


def test_the_moves_of_real_tracks_are_those_of_a_loop(boxes):
    """17,555 boxes, frame after frame."""
    rules = sqrl.RuleSet.from_texts(
        ["-9 <= delta(left) <= 9"],
        schema=sqrl.Schema(order="frame", entity=["seq", "track"], rules=("? <= delta(left)",)),
    )
    shuffled = order_data.take(boxes, np.random.default_rng(0).permutation(boxes["seq"].size))

    found = sqrl.check(rules, shuffled)

    same = (boxes["seq"][1:] == boxes["seq"][:-1]) & (boxes["track"][1:] == boxes["track"][:-1])
    moves = (boxes["left"][1:] - boxes["left"][:-1])[same]
    assert found.applicable.tolist() == [moves.size]
    assert found.broken.tolist() == [np.count_nonzero(np.abs(moves) > 9)]


def test_most_swaps_of_real_tracks_are_beyond_all_that_was_seen(boxes):
    """And a class that a track has for one frame breaks a rule about what came before."""
    half = boxes["track"] % 2 == 0
    rules = sqrl.learn(order_data.take(boxes, half), order_data.KITTI)
    strict = [
        place
        for place, rule in enumerate(rules)
        if rule.form.is_single and (rule.coverage == 1.0 or not rule.form.has_bounds)
    ]
    rest, rng = order_data.take(boxes, ~half), np.random.default_rng(0)

    for fault in (order_data.swap_tracks, order_data.rename_class):
        changed, marked = fault(rest, rng)
        found = sqrl.check(rules, changed)
        broken = found.pair_row[np.isin(found.pair_rule, strict)]

        assert np.isin(np.flatnonzero(marked), broken).mean() > 0.5
