"""The benchmark of learning runs on made-up data, and its page says what its results say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]
SECTIONS = {"search", "counts", "bounds", "per_rule", "growth", "startup", "rule_counts"}
SECTIONS |= {"counts_other_processors"}


@pytest.fixture(scope="module", autouse=True)
def _contenders():
    for library in ("fim", "mlxtend", "pysubgroup", "sklearn", "pandas", "matplotlib"):
        pytest.importorskip(library, reason="needs the extra 'bench'")


def run(script, *arguments):
    command = [sys.executable, ROOT / "benchmarks" / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def quick(_slowly, tmp_path_factory):
    """The results of a quick run where no data is, and their file."""
    folder = tmp_path_factory.mktemp("benchmark")
    path = folder / "learn.json"
    run("learn.py", "--quick", "--data", folder, "-o", path)
    return json.loads(path.read_text()), path


def test_a_quick_run_measures_every_section(quick):
    """One command, on a machine without the data."""
    results, path = quick
    machine = set(results["machine"])

    assert set(results["sections"]) == SECTIONS
    assert results["data"]["cardio"] == results["data"]["imagenet_x"] == "made"
    assert machine == {"processor", "cores", "memory_gib", "system"}
    assert {"commit", "versions", "seed", "date"} <= set(results)
    assert all("load_before" in section for section in results["sections"].values())
    assert str(path.parent) not in path.read_text()


def test_every_timing_keeps_all_repetitions(quick):
    """The least and the median can be recomputed."""

    def timings(value):
        if isinstance(value, dict):
            if "seconds" in value:
                yield value
            for part in value.values():
                yield from timings(part)
        elif isinstance(value, list):
            for part in value:
                yield from timings(part)

    found = list(timings(quick[0]["sections"]))

    assert len(found) > 20
    for timing in found:
        assert timing["min"] == min(timing["seconds"])
        assert timing["min"] <= timing["median"] <= max(timing["seconds"])


def test_what_is_compared_gives_the_same_results(quick):
    """Counts and bounds of the other libraries equal ours wherever both have them."""
    sections = quick[0]["sections"]

    for check in sections["counts"]["checks"].values():
        assert check["equal"] == check["shared"] > 0
    for one in sections["counts_other_processors"]["processors"].values():
        assert one["check"]["equal"] == one["check"]["shared"] > 0
    assert sections["bounds"]["largest_difference"] < 1e-12
    assert sections["per_rule"]["equal"]


def test_import_loads_nothing_heavy(quick):
    """Neither numba nor pandas nor torch."""
    assert quick[0]["sections"]["startup"]["loaded"] == []


def test_the_shipped_schemas_have_the_papers_numbers_of_rules(quick):
    """Those that do not depend on the data."""
    schemas = quick[0]["sections"]["rule_counts"]["schemas"]

    assert schemas["detection"]["candidates"] == 252
    assert schemas["imputation"]["candidates"] == 35
    assert schemas["sentiment"]["candidates"] == 7878


def test_the_page_of_a_quick_run_says_so(quick, tmp_path):
    """Nobody takes its figures for those of a full run."""
    render("render", "--results", quick[1], "--docs", tmp_path)

    page = (tmp_path / "benchmarks.md").read_text()
    assert "A quick run" in page
    assert "| any of its kind |" in page
    assert {path.name for path in (tmp_path / "images").iterdir()} == {
        "learn_counts.svg",
        "learn_growth.svg",
        "learn_memory.svg",
    }


def test_the_page_is_what_the_results_say(tmp_path):
    """docs/benchmarks.md and its plots are never edited by hand."""
    render("render", "--docs", tmp_path)

    assert (tmp_path / "benchmarks.md").read_text() == (ROOT / "docs/benchmarks.md").read_text()


def test_the_results_in_the_repository_are_of_a_full_run_on_real_data():
    """What the page shows was measured on the cardio table itself."""
    results = json.loads((ROOT / "benchmarks/results/learn.json").read_text())

    assert not results["quick"]
    assert results["data"]["cardio"] == "real"
    assert set(results["sections"]) | {"counts_other_processors"} == SECTIONS  # measured later
