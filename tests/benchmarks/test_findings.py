"""The page of findings says what its results say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_of_findings_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    pytest.importorskip("duckdb", reason="needs the extra 'bench'")
    script = ROOT / "benchmarks" / "render_checks.py"
    subprocess.run([sys.executable, script, "--docs", tmp_path], check=True)

    assert (tmp_path / "findings.md").read_text() == (ROOT / "docs" / "findings.md").read_text()
