"""Of the findings few are false: a small version of benchmarks/findings.py."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.mark.parametrize("dependence", ["independent", "dependent"])
def test_the_share_of_false_findings_stays_near_its_level(monkeypatch, dependence):
    """Columns that changed are found, and next to no other is named."""
    monkeypatch.syspath_prepend(str(HERE))
    sys.modules.pop("findings", None)
    from findings import simulate

    runs = list(simulate(dependence, 0, batches=8, n_rows=500))
    n_findings, n_false = (sum(run[name] for run in runs) for name in ("findings", "false"))
    n_changed = sum(run["changed"] for run in runs)

    assert len(runs) == 24
    assert sum(run["findings"] > 0 for run in runs if run["changed"] == 0) <= 1  # at 1 %: p < 0.01
    assert n_findings > 0.5 * n_changed
    assert n_false <= 2
