"""The comparison of methods runs, and the table in docs/methods.md says what its results say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "methods.md"
RECORDED = ROOT / "benchmarks" / "results" / "methods.json"


def test_the_table_is_what_the_results_say(tmp_path):
    """No figure in it is typed by hand."""
    shutil.copy(PAGE, tmp_path)
    render("render_methods", "--page", tmp_path / PAGE.name)

    assert (tmp_path / PAGE.name).read_text() == PAGE.read_text()


def test_gains_are_over_the_source_on_the_same_rows():
    """By hand: of two seeds, one gains 3 points under drift and the other loses 1."""
    import render_methods

    accuracies = {
        ("Unadapted", 0, "none"): 80.0,
        ("Unadapted", 0, "shift"): 60.0,
        ("Unadapted", 1, "shift"): 70.0,
        ("SAR", 0, "none"): 79.0,
        ("SAR", 0, "shift"): 63.0,
        ("SAR", 1, "shift"): 69.0,
    }
    runs = [
        {"table": "a", "method": method, "seed": seed, "drift": drift, "accuracy": accuracy}
        for (method, seed, drift), accuracy in accuracies.items()
    ]

    assert render_methods.gains(runs, "SAR", drifted=True) == [3.0, -1.0]
    assert render_methods.gains(runs, "SAR", drifted=False) == [-1.0]


def test_the_results_in_the_repository_are_of_a_full_run_on_real_data():
    """Every method, table, drift and seed once, and what is needed to repeat it."""
    recorded = json.loads(RECORDED.read_text())
    keys = [
        tuple(run[key] for key in ("table", "seed", "drift", "method")) for run in recorded["runs"]
    ]

    assert not recorded["quick"]
    assert recorded["data"]["cardio"] == "real"
    assert {"date", "commit", "machine", "versions", "seeds"} <= set(recorded)
    assert len(keys) == len(set(keys)) == 3 * 3 * 4 * 11


@pytest.mark.usefixtures("_slowly")
def test_a_quick_run_says_so(tmp_path):
    """Where no data is, on a made table; nobody takes its figures for those of a full run."""
    pytest.importorskip("sklearn")
    made = tmp_path / "methods.json"
    command = [sys.executable, ROOT / "benchmarks" / "methods.py", "--quick"]
    done = subprocess.run(
        [*command, "--data", tmp_path, "-o", made], capture_output=True, text=True, check=False
    )
    shutil.copy(PAGE, tmp_path)
    assert done.returncode == 0, done.stderr
    render("render_methods", "--results", made, "--page", tmp_path / PAGE.name)

    assert json.loads(made.read_text())["data"]["cardio"] == "made"
    assert "A quick run" in (tmp_path / PAGE.name).read_text()
