"""The tables of docs/training.md and docs/extract.md come from results that were measured."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]
PAGES = ("training.md", "extract.md")


def test_the_pages_have_the_figures_that_were_measured(tmp_path):
    """Written again from the results they are the same."""
    for page in PAGES:
        shutil.copy(ROOT / "docs" / page, tmp_path)
    render("render_training", "--docs", tmp_path)

    for page in PAGES:
        assert (tmp_path / page).read_text() == (ROOT / "docs" / page).read_text()
        assert "| " in (tmp_path / page).read_text().split("<!-- begin")[1]


@pytest.mark.parametrize("name", ["training_loops", "extract"])
def test_results_say_where_they_come_from(name):
    """Machine, commit and seeds; never those of a quick run."""
    result = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())

    assert result["commit"]["dirty"] is False
    assert len(result["seeds"]) >= 3
    assert not result["quick"]
    assert result["machine"]["cores"]


@pytest.mark.usefixtures("_slowly")
def test_a_quick_run_has_all_that_the_page_shows(tmp_path, monkeypatch):
    """On made rows, few steps."""
    import training_loops

    output = tmp_path / "training_loops.json"
    monkeypatch.setattr(sys, "argv", ["x", "--quick", "--seeds", "1", "-o", str(output)])
    training_loops.main()
    made = json.loads(output.read_text())["methods"]
    known = json.loads((ROOT / "benchmarks" / "results" / "training_loops.json").read_text())

    assert set(made) == set(known["methods"])
    assert all(0.5 < one["auc"]["mean"] <= 1 for one in made.values())
