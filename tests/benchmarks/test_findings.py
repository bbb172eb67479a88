"""The page of findings says what its results say."""

from pathlib import Path

import pytest

from rendered import render

ROOT = Path(__file__).parents[2]


def test_the_page_of_findings_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    pytest.importorskip("duckdb", reason="needs the extra 'bench'")
    render("render_checks", "--docs", tmp_path)

    assert (tmp_path / "findings.md").read_text() == (ROOT / "docs" / "findings.md").read_text()
