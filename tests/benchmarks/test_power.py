"""The benchmark of power: batches, faults and counts are what they say, and so is its page."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rendered import render

pd = pytest.importorskip("pandas", reason="needs the extra 'frames'")
pytest.importorskip("sklearn", reason="needs the extra 'explain'")

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
MADE = ("people", "orders", "sensor", "sensor, predicted")


@pytest.fixture(scope="module")
def made():
    """Batches of the made-up tables."""
    from power_batches import Batches
    from power_tables import tables

    sources = tables(Path("nowhere"), MADE, seed=0)
    return {source.name: Batches(source, 500, 0) for source in sources}


def test_every_kind_has_a_place_in_a_made_up_table(made):
    """Nobody needs data to try all of them; there are at least 30."""
    from power_faults import faults

    planted = {
        wanted.kind
        for batches in made.values()
        for wanted in batches.wanted(clean=0, repeats=2)
        if batches.make(wanted) is not None
    }

    assert planted == {fault.kind for fault in faults()}
    assert len({fault.kind for fault in faults() if fault.must_alarm}) >= 30


def test_a_batch_depends_on_its_name_alone(made):
    """Tools that are measured apart see the same rows, whatever was drawn before."""
    from power_batches import Batches, Wanted

    wanted = Wanted("typos", 0.2, 3)
    again = Batches(made["people"].source, 500, 0)
    first, second = made["people"].make(wanted), again.make(wanted)
    other = again.make(Wanted("typos", 0.2, 7))

    pd.testing.assert_frame_equal(first.rows, second.rows)
    assert first.planted == second.planted
    assert not first.rows.equals(other.rows)
    assert made["people"].digest() == again.digest()


def test_a_batch_has_no_row_that_a_tool_learned_from(made):
    """Halves are apart, in every halving."""
    from power_batches import HALVINGS, Wanted

    for repeat in range(HALVINGS):
        batch = made["people"].make(Wanted("clean", 0.0, repeat))
        learned = made["people"].reference(batch.halving)

        assert batch.halving == repeat
        assert not set(batch.rows["id"]) & set(learned["id"])


def test_a_fault_changes_the_columns_that_it_names_and_no_others(made):
    """What a person would blame is what was touched."""
    from power_batches import Wanted
    from power_faults import faults
    from power_planting import Clean

    batches = made["people"]
    rows = batches.make(Wanted("clean", 0.0, 0)).rows
    clean = Clean(batches.reference(0), "default")
    whole = {"label shift", "category vanishes", "group dropped", "rows duplicated"}
    for fault in faults():
        planted = fault.plant(rows, clean, np.random.default_rng(0), fault.strength)
        if planted is None or fault.kind in whole or not fault.must_alarm:
            continue
        changed = {
            name
            for name in rows
            if name not in planted.batch or not planted.batch[name].equals(rows[name])
        }

        assert changed == set(planted.columns), fault


def test_what_is_no_fault_keeps_every_value(made):
    """Other orders and other types of the same values."""
    from power_batches import Wanted
    from power_faults import faults
    from power_planting import Clean

    batches = made["orders"]
    rows = batches.make(Wanted("clean", 0.0, 0)).rows
    clean = Clean(batches.reference(0), None)

    for fault in [fault for fault in faults() if not fault.must_alarm]:
        after = fault.plant(rows, clean, np.random.default_rng(0), 1.0).batch
        after = after[rows.columns].astype(rows.dtypes).sort_values("order_id", ignore_index=True)
        pd.testing.assert_frame_equal(after, rows.sort_values("order_id", ignore_index=True))


def said(results, place, kind, alarms):
    """Count alarms about repetitions of a kind with one planted column, x."""
    from power_batches import Batch, Wanted
    from power_results import Measured, Place

    measured = results.tools.setdefault("tool", Measured({}))
    for repeat, alarm in enumerate(alarms):
        batch = Batch(Wanted(kind, 0.2, repeat), 0, None, ("x",))
        measured.places.setdefault(place, Place()).count(batch, alarm, 1.0)
    results.digests[place] = "same"


def test_counts_of_kinds_and_of_columns_named_first(tmp_path):
    """The mean is over kinds; an error names no column; what is written is read again."""
    from power_results import Results, read_results
    from power_tools import Alarm

    results = Results(0, {"clean": False, "typos": True, "sign flip": True})
    right, wrong = Alarm(True, ("x",), 1), Alarm(True, ("y",), 3)
    said(results, "a/500", "typos", [right, wrong, Alarm(True, by_error=True), Alarm(False)])
    said(results, "b/500", "sign flip", [right])
    results.save(tmp_path / "power.json")
    read = read_results(tmp_path / "power.json")
    cell = read.tools["tool"].pooled("typos", (500,))

    assert read == results
    assert read.mean_power("tool", 500) == pytest.approx((3 / 4 + 1) / 2)
    assert (cell.n, cell.n_raised, cell.n_errors, cell.n_placed, cell.n_right) == (4, 3, 1, 2, 1)
    assert (cell.findings, cell.median_findings()) == ([1, 0, 1], 1)


def test_what_was_measured_is_not_measured_again():
    """A run that was stopped goes on with the next repetition."""
    from power_batches import Wanted
    from power_results import Results
    from power_tools import Alarm

    results = Results(0, {})
    said(results, "a/500", "typos", [Alarm(False)] * 2)
    place = results.tools["tool"].places["a/500"]

    assert not place.lacks(Wanted("typos", 0.2, 1))
    assert place.lacks(Wanted("typos", 0.2, 2))
    assert place.lacks(Wanted("typos", 0.02, 0))


def test_results_on_other_batches_are_not_merged():
    """Tools are compared on the same rows."""
    from power_results import Results
    from power_tools import Alarm

    ours, theirs = Results(0, {}), Results(0, {})
    said(ours, "a/500", "typos", [Alarm(False)])
    said(theirs, "a/500", "typos", [Alarm(False)] * 2)
    ours.merge(theirs)

    assert ours.tools["tool"].pooled("typos", (500,)).n == 2
    theirs.digests["a/500"] = "other"
    with pytest.raises(SystemExit, match="The batches of a/500 are not those"):
        ours.merge(theirs)


def test_rows_are_written_as_old_readers_read_them(tmp_path):
    """Strings, missing values and categories survive; no index does."""
    from power_envs import write_rows

    rows = pd.DataFrame({"x": [1.0, None], "c": ["a", None], "k": pd.Categorical(["u", "v"])})
    write_rows(rows.set_index(pd.Index([5, 6])), tmp_path / "rows.parquet")
    read = pd.read_parquet(tmp_path / "rows.parquet")

    assert read.to_dict("list")["k"] == ["u", "v"]
    assert read["x"].isna().tolist() == read["c"].isna().tolist() == [False, True]
    assert list(read.index) == [0, 1]


@pytest.mark.usefixtures("_slowly")
def test_a_quick_run_says_how_it_came_about(tmp_path):
    """Machine, commit, versions and seed; a page can be made of it."""
    results = tmp_path / "power.json"
    command = [sys.executable, BENCHMARKS / "power.py", "--quick", "--data", tmp_path]
    command += ["--tables", "orders", "--sizes", "500", "--tools", "sqrl", "pandera"]
    done = subprocess.run([*command, "-o", results], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(results.read_text())
    render("render_power", "--results", results, "--docs", tmp_path)

    assert set(read["tools"]) == {"sqrl", "pandera"}
    assert {"commit", "machine", "version", "date"} <= set(read["tools"]["sqrl"])
    assert "nan" not in (tmp_path / "power.md").read_text()


def test_the_page_is_what_the_results_say(tmp_path):
    """docs/power.md is never edited by hand."""
    render("render_power", "--docs", tmp_path)

    assert (tmp_path / "power.md").read_text() == (ROOT / "docs" / "power.md").read_text()
    assert (tmp_path / "images" / "power.svg").exists()
