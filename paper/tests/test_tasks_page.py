"""docs/tasks.md and docs/story.md say what the recorded results of `sqrl bench` say."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from rendered import render

pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("matplotlib", reason="needs what sqrl-paper depends on")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tasks.md"
STORY = ROOT / "docs" / "story.md"
RESULTS = ROOT / "benchmarks" / "results"
RECORDED = sorted(RESULTS.glob("bench_*.json"))


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


# What each sentence of the story rests on: a figure, and a value that contradicts it.
CONTRADICTED = {
    "near its 80.10": ("cardio", "summary.paper_setting.none.auc.mean", 0.7),
    "little to mend": ("cardio", "sources.0.violations.expected", 0.9),
    "After drifts of the inputs rules help": (
        "cardio",
        "summary.recovered.ours.auc.points.mean",
        -1.0,
    ),
    "owed to the likeliest label": ("cardio", "sources.0.violations.true", 0.9),
    "Our defaults do nothing there": (
        "cardio",
        "summary.drifts.no drift.ours.likeliest_broken.mean",
        1.0,
    ),
    "does better than ours": ("cardio", "summary.drifts.no drift.none.auc.mean", 0.5),
    "the AUC hardly moves": ("cardio", "released.rules.0.auc", 0.5),
    "the accuracy falls": ("cardio", "thresholds.0.ways.drawn.accuracy", 5.0),
    "those of the truth": ("imagenet-x", "sources.0.truth.n_likeliest", -200.0),
    "do as well": ("imagenet-x", "summary.conditions.clean.class rates.reduced.mean", -5.0),
    "owed to batch statistics alone": ("imagenet-x", "all_crops.released setting.1.accuracy", 0.9),
    "that a class never occurs": ("imagenet-x", "all_crops.none.0.at_zero", -900),
    "and not to rules": ("imagenet-x", "summary.corrupted.ours.accuracy.mean", 1.0),
    "mended by finding less": ("detection", "summary.Cityscapes, rain.rules.boxes.mean", 6.0),
    "farther from the truth": ("detection", "summary.Cityscapes, rain.rules.share.mean", 0.05),
    "That helps on KITTI's own images": (
        "detection",
        ("rule_sets", "holds 0.95", "truth", "KITTI", "share"),
        0.5,
    ),
    "do not show what holds in another": (
        "detection",
        ("rule_sets", "holds 0.95", "truth", "Cityscapes", "share"),
        0.0,
    ),
    "of their pairs and not": ("sentiment", "rule_sets.likeness.broken", 0),
    "the smallest rates that were tried": (
        "imputation",
        ("by_error", "rules, paper's loss", "0", "choice", "lr"),
        0.5,
    ),
    "next to none": ("sentiment", ("rule_sets", "words, holds 0.8", "rules"), 50),
    "owed to more training": (
        "imputation",
        "summary.training goes on.clipped.beyond_source.mean",
        5.0,
    ),
    "against the truth": (
        "sentiment",
        "summary.conditions.no drift.none.violations.mean",
        999.0,
    ),
    "Our defaults do nothing": ("sentiment", "summary.conditions.no drift.ours.gain.mean", 0.5),
    "no facts": ("sentiment", "summary.conditions.no drift.mask.gain.mean", 3.0),
}


@pytest.mark.parametrize("words", CONTRADICTED)
def test_a_sentence_that_figures_contradict_is_not_written(words):
    """The page is refused, with the sentence."""
    task, place, value = CONTRADICTED[words]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        story, tasks = import_module("render_story"), import_module("render_tasks")
    results = tasks.read_results(RESULTS)
    *path, last = place.split(".") if isinstance(place, str) else place
    found = results[task]
    for key in path:
        found = found[key]
    assert last in found
    found[last] = value

    with pytest.raises(ValueError, match=words):
        story.render(results)


def test_no_row_of_the_cardio_data_is_in_results_or_figures():
    """Its licence is not known: the patient of the figure is made up."""
    recorded = json.loads((RESULTS / CARDIO).read_text())

    assert recorded["example"]["patient"]["true"]["age"] == 14_610


CARDIO = "bench_cardio.json"
