"""The benchmarks of adaptation run on made-up data, and their page says what their results say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RECORDED = BENCHMARKS / "results" / "adapt.json"
PAGE = ROOT / "docs" / "adapt-results.md"


@pytest.fixture(scope="module", autouse=True)
def _libraries():
    for library in ("torch", "rtdl_revisiting_models", "sklearn", "pandas"):
        pytest.importorskip(library, reason="needs the extra 'bench'")


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def quick(_slowly, tmp_path_factory):
    """A folder with the results of quick runs where no data is."""
    folder = tmp_path_factory.mktemp("benchmark")
    run("adapt.py", "--quick", "--data", folder, "-o", folder / "adapt.json")
    return folder


@pytest.fixture(scope="module")
def speed(quick):
    return json.loads((quick / "adapt.json").read_text())


def test_the_results_say_how_they_came_about(quick, speed):
    """Machine, commit, versions and seeds, and no path of the machine."""
    assert {"date", "commit", "machine", "versions", "quick", "data"} <= set(speed)
    assert {"torch", "rtdl_revisiting_models"} <= set(speed["versions"])
    assert speed["data"]["cardio"] == "made"
    assert all("load_before" in section for section in speed["sections"].values())
    assert str(quick) not in (quick / "adapt.json").read_text()


def test_the_loop_over_rules_gives_the_same_loss(tmp_path):
    """What is compared for speed computes the same: doubles, of 512 rows and widths above 1e-3."""
    import adapt
    from measure import settings

    loss = adapt.Sections(tmp_path, tmp_path, settings(quick=True)).loop()["loss"]

    assert loss["sqrl"] > 1e-3
    assert loss["loop"] == pytest.approx(loss["sqrl"], rel=0, abs=512 * 1000 * 4e-16)


def test_the_loss_is_timed_within_the_step_that_it_is_a_share_of(speed):
    """The share is that of the loss in the rest of its own step, the median of the repetitions."""
    for one in speed["sections"]["step"]["models"].values():
        whole = one["times"]["step in two parts"]["seconds"]
        alone = one["times"]["loss in it"]["seconds"]
        shares = sorted(100 * a / (w - a) for w, a in zip(whole, alone, strict=True))

        assert len(alone) == len(whole) == 3
        assert one["added_percent"] == pytest.approx(shares[1])


def test_the_page_of_a_quick_run_says_so(quick, tmp_path):
    """Nobody takes its figures for those of a full run."""
    render("render_adapt", "--results", quick, "--docs", tmp_path)
    text = (tmp_path / PAGE.name).read_text()

    assert "A quick run" in text
    assert "nan" not in text


def test_the_page_is_what_the_results_say(tmp_path):
    """docs/adapt-results.md is never edited by hand."""
    render("render_adapt", "--docs", tmp_path)

    assert (tmp_path / PAGE.name).read_text() == PAGE.read_text()


def test_the_results_in_the_repository_are_of_full_runs_on_real_data():
    """What the page shows was measured on the cardio table itself."""
    recorded = json.loads(RECORDED.read_text())

    assert not recorded["quick"]
    assert recorded["data"]["cardio"] == "real"
