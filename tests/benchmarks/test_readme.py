"""The table of tools in README.md comes from the results of the benchmark."""

from pathlib import Path

from rendered import render

ROOT = Path(__file__).parents[2]


def test_the_readme_has_the_figures_that_were_measured(tmp_path):
    """Written again from power.json it is the same."""
    readme = tmp_path / "README.md"
    readme.write_text((ROOT / "README.md").read_text())
    render("render_readme", "--readme", readme)

    assert readme.read_text() == (ROOT / "README.md").read_text()
    assert "| **sqrl**, `learn` and `check` | " in readme.read_text()


def test_other_results_make_another_table(tmp_path):
    """What stands between the marks is made anew, and nothing else."""
    readme = tmp_path / "README.md"
    readme.write_text(
        "before\n<!-- begin: benchmarks/render_readme.py -->\nold\n<!-- end -->\nafter\n"
    )
    render("render_readme", "--readme", readme)
    lines = readme.read_text().splitlines()

    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
