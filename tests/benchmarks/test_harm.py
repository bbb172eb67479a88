"""What is promised of guarded adaptation is what was measured."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.fixture(scope="module")
def recorded():
    return json.loads((RESULTS / "harm.json").read_text())


@pytest.fixture(scope="module", autouse=True)
def _libraries():
    for library in ("torch", "rtdl_revisiting_models", "sklearn", "pandas"):
        pytest.importorskip(library, reason="needs the extra 'bench'")


def test_the_bars_are_met_by_the_runs_recorded(recorded):
    """All of them, each counted anew from the single runs."""
    from render_harm import bars

    assert [row[-1] for row in bars(recorded)] == ["yes"] * 5
    assert not recorded["commit"]["dirty"]


def test_both_versions_made_the_same_runs(recorded):
    """The same tables, models, rules, drifts and loaders, from the same sources."""
    keys = ("table", "model", "rules", "drift", "loader", "n_rows")
    runs = [
        {tuple(one[key] for key in keys): one["auc"] for one in recorded[version]["runs"]}
        for version in ("before", "now")
    ]

    assert runs[0].keys() == runs[1].keys()
    assert all(runs[0][key] == pytest.approx(runs[1][key], nan_ok=True) for key in runs[0])
    assert {key[4] for key in runs[0]} == {"Batches", "tuples", "dicts", "list", "logits"}


def test_where_nothing_drifts_nothing_is_lost(recorded):
    """No default run changes a model whose rows are like before for the worse."""
    from render_harm import change

    clean = [one for one in recorded["now"]["runs"] if one["drift"] == "none"]
    assert min(map(change, clean)) > -0.1


def test_what_a_harm_is_by_hand():
    """More than half a point of either; of a stream, what is left three mini-batches on."""
    from render_harm import harms, returned

    made = [
        {"auc_change": auc, "accuracy_change": accuracy}
        for auc, accuracy in ((-0.51, 3.0), (2.0, -0.6), (-0.4, -0.5))
    ]
    assert harms(made) == made[:2]
    stream = {"adapted": [9.0] * 4 + [7.0] * 4 + [1.0, 1.0, 1.0, 8.0], "source": [9.0] * 12}
    assert returned([stream]) == [-1.0]
