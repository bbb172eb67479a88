"""docs/tasks.md and docs/story.md say what the recorded results of `sqrl bench` say."""

import json
from pathlib import Path

import pytest

from rendered import render

pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("matplotlib", reason="needs what sqrl-paper depends on")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tasks.md"
STORY = ROOT / "docs" / "story.md"
RECORDED = sorted((ROOT / "benchmarks" / "results").glob("bench_*.json"))


def test_the_page_is_what_the_results_say(tmp_path):
    """It is never edited by hand, and has a figure for each task."""
    render("render_tasks", "--docs", tmp_path)

    assert (tmp_path / PAGE.name).read_text() == PAGE.read_text()
    drawn = {path.name for path in (tmp_path / "images").iterdir()}
    assert len(drawn) == len(RECORDED)
    assert all((PAGE.parent / "images" / name).exists() for name in drawn)


def test_the_story_is_what_the_results_say(tmp_path):
    """All tasks that were recorded are in its tables, and each has its paragraph."""
    render("render_story", "--docs", tmp_path)
    text = (tmp_path / STORY.name).read_text()

    assert text == STORY.read_text()
    for path in RECORDED:
        task = path.stem.removeprefix("bench_")
        assert text.count(f"| {task}") == 2
        assert f"### {task}\n" in text


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_is_recorded_is_a_full_run_on_real_data(path):
    """With three seeds or more, of a commit without changes, and without a path of the machine."""
    text = path.read_text()
    found = json.loads(text)

    assert not found["quick"]
    assert found["data"] == "real"
    assert len(found["seeds"]) >= 3
    assert found["commit"]["id"]
    assert not found["commit"]["dirty"]
    assert not any(f'"{root}' in text for root in ("/home", "/root", "/tmp", "/work"))
