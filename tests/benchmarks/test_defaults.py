"""The benchmarks of what the default costs, and of checks of predictions, say what they did."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="needs the extra 'frames'")
pytest.importorskip("sklearn", reason="needs the extra 'explain'")

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


# What the default costs


def test_a_made_table_has_the_size_and_the_kinds_it_should():
    """Three in ten columns are words; each five columns have something in common."""
    from default_costs import make_table

    table = make_table(500, 30, 0)
    kinds = [str(one) for one in table.schema.types]
    numbers = np.array([table[f"x{place}"].to_numpy() for place in range(10)])
    together = np.corrcoef(np.argsort(np.argsort(numbers)))

    assert (table.num_rows, table.num_columns) == (500, 30)
    assert (kinds.count("string"), kinds.count("double"), kinds.count("int64")) == (9, 14, 7)
    assert together[0, 1:5].min() > 0.3 > abs(together[0, 5:]).max()
    assert table.equals(make_table(500, 30, 0))
    assert not table.equals(make_table(500, 30, 1))


def test_costs_are_of_the_command_alone():
    """CPU time and memory are those of the process; a command that fails is no measurement."""
    from default_costs import run

    _, cpu, gib = run([sys.executable, "-c", "x = b'1' * (256 << 20)"])
    less = run([sys.executable, "-c", ""])[2]

    assert cpu > 0
    assert gib - less == pytest.approx(0.25, abs=0.02)
    with pytest.raises(RuntimeError, match="ValueError: no"):
        run([sys.executable, "-c", "raise ValueError('no')"])


def test_a_size_is_held_against_cpu_time_and_memory():
    """Where memory has no bar, none is written."""
    from default_costs import Size

    wide = Size("wide", 10_000, 1_000, 60.0, 2.0).bars(61.26, 1.5)
    tall = Size("tall", 1_000_000, 30, 20.0, None).bars(11.0, 9.0)

    assert [(one["what"], one["measured"], one["at_most"], one["met"]) for one in wide] == [
        ("10,000 rows x 1,000 columns", 61.3, 60.0, False),
        ("10,000 rows x 1,000 columns, peak", 1.5, 2.0, True),
    ]
    assert [one["what"] for one in tall] == ["1,000,000 rows x 30 columns"]


# Checks of predictions


@pytest.fixture(scope="module")
def models():
    """Models of a small part of the made-up sensors."""
    from power_tables import Source, tables
    from prediction_checks import Models

    (source,) = tables(Path("nowhere"), ["sensor"], seed=0)
    part = Source(source.name, source.frame[:3000], source.label, source.is_real)
    return Models.of(part, np.random.default_rng(0))


def test_a_model_never_saw_the_rows_that_it_is_asked_about(models):
    """A quarter is learned from, the rest is left; the model of 60 rows is worse."""
    assert len(models.unseen) == 3000 - 3000 // 4
    assert models.accuracy(models.good) > models.accuracy(models.worse)


def test_faults_of_predictions_are_what_they_are_called(models):
    """Flipped ones name another class; shuffled ones keep all shares; other columns stay."""
    from power_predictions import PREDICTION
    from prediction_checks import CLEAN, KINDS

    rows, rng = models.unseen[:2000], np.random.default_rng(1)
    said = {kind: models.predicted(rows, kind, rng) for kind in (CLEAN, *KINDS)}
    good = said[CLEAN][PREDICTION]
    apart = {kind: (one[PREDICTION] != good).mean() for kind, one in said.items()}

    assert apart["flipped in a tenth"] == pytest.approx(0.1, abs=0.03)
    assert said["shuffled"][PREDICTION].value_counts().equals(good.value_counts())
    assert said["constant"][PREDICTION].nunique() == 1
    assert min(share for kind, share in apart.items() if kind != CLEAN) > 0.02
    for one in said.values():
        pd.testing.assert_frame_equal(one.drop(columns=PREDICTION), rows)


def test_bars_take_all_tables_and_the_worst_kind():
    """One alarm of 30 clean batches is 3.3 %; half of a kind is caught where it is worst."""
    from prediction_checks import bars

    def table(clean, worse):
        alarms = {"clean": {"raised": clean, "of": 15}, "worse model": {"raised": worse, "of": 4}}
        return {"alarms": alarms}

    clean, least = bars({"a": table(1, 4), "b": table(0, 2)})

    assert (clean["measured"], clean["met"]) == (3.333, False)
    assert (least["measured"], least["met"]) == (50.0, False)


# Both


@pytest.mark.usefixtures("_slowly")
@pytest.mark.parametrize("name", ["default_costs", "prediction_checks"])
def test_a_quick_run_says_how_it_came_about(name, tmp_path):
    """Machine, commit, versions and seed; a section can be made of it."""
    import render_defaults

    command = [sys.executable, BENCHMARKS / f"{name}.py", "--quick", "-o", tmp_path / "out.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    first_use = json.loads((BENCHMARKS / "results" / "first_use.json").read_text())
    section = (
        render_defaults.predictions(result)
        if name == "prediction_checks"
        else render_defaults.costs(result, first_use)
    )

    assert {"commit", "machine", "versions", "seed", "date", "tables"} <= set(result)
    assert "nan" not in section
