"""The benchmarks of adaptation run on made-up data, and their page says what their results say."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
RECORDED = [BENCHMARKS / "results" / name for name in ("adapt.json", "adapt_cardio.json")]
PAGE = ROOT / "docs" / "adapt-results.md"


@pytest.fixture(scope="module", autouse=True)
def _libraries():
    for library in ("torch", "rtdl_revisiting_models", "sklearn", "pandas"):
        pytest.importorskip(library, reason="needs the extra 'bench'")


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A folder with the results of quick runs where no data is."""
    folder = tmp_path_factory.mktemp("benchmark")
    run("adapt.py", "--quick", "--data", folder, "-o", folder / "adapt.json")
    run("adapt_cardio.py", "--quick", "--data", folder, "-o", folder / "adapt_cardio.json")
    return folder


@pytest.fixture(scope="module")
def speed(quick):
    return json.loads((quick / "adapt.json").read_text())


@pytest.fixture(scope="module")
def drift(quick):
    return json.loads((quick / "adapt_cardio.json").read_text())


@pytest.fixture
def module(monkeypatch):
    """Imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_the_results_say_how_they_came_about(quick, speed, drift):
    """Machine, commit, versions and seeds, and no path of the machine."""
    for result in (speed, drift):
        assert {"date", "commit", "machine", "versions", "quick", "data"} <= set(result)
        assert {"torch", "rtdl_revisiting_models"} <= set(result["versions"])
        assert result["data"]["cardio"] == "made"
    assert all("load_before" in section for section in speed["sections"].values())
    for name in ("adapt.json", "adapt_cardio.json"):
        assert str(quick) not in (quick / name).read_text()


def test_the_loop_over_rules_gives_the_same_loss(speed):
    """What is compared for speed computes the same."""
    loss = speed["sections"]["loop"]["loss"]

    assert loss["sqrl"] > 0
    assert loss["loop"] == pytest.approx(loss["sqrl"], rel=1e-5)


def test_the_loss_is_timed_within_the_step_that_it_is_a_share_of(speed):
    """The share is that of the loss in the rest of its own step, the median of the repetitions."""
    for one in speed["sections"]["step"]["models"].values():
        whole = one["times"]["step in two parts"]["seconds"]
        alone = one["times"]["loss in it"]["seconds"]
        shares = sorted(100 * a / (w - a) for w, a in zip(whole, alone, strict=True))

        assert len(alone) == len(whole) == 3
        assert one["added_percent"] == pytest.approx(shares[1])


def test_every_method_is_measured_in_every_setting(drift):
    """Baselines, ours and the ceiling, with all figures of each."""
    figures = {"auc", "accuracy", "f1", "excess", "share_broken", "excess_hard", "seconds"}

    assert {"none", "BN", "Tent", "RPL", "CPL", "paper's loss"} <= set(drift["methods"])
    assert len(drift["settings"]) == 3
    for setting in drift["settings"]:
        for method in drift["methods"]:
            assert figures <= set(drift["summary"][setting][method])
            assert 0 < drift["runs"]["0"][method][setting]["auc"] < 1


def test_what_needs_no_rules_predicts_the_same_whatever_rules_see(drift):
    """The two settings of the same drift differ for methods that use rules, and for no others."""
    one, other = "ap_hi +1 sd", "ap_hi +1 sd, rules see it too"
    for method in ("none", "BN", "Tent", "RPL", "CPL", "with test labels"):
        found = drift["runs"]["0"][method]

        assert found[one]["auc"] == found[other]["auc"]
        assert found[one]["excess"] != found[other]["excess"]


def test_batch_norm_statistics_are_nothing_to_a_model_without_them(drift):
    """BN leaves an FT-Transformer as it is."""
    for setting in drift["settings"]:
        source, found = (drift["runs"]["0"][name][setting] for name in ("none", "BN"))

        assert found["auc"] == source["auc"]
        assert found["excess"] == source["excess"]


def test_every_tuned_method_had_the_same_number_of_tries(drift):
    """And the best of them was chosen."""
    numbers = set()
    for name, about in drift["methods"].items():
        one = drift["runs"]["0"][name]
        if about["is_tuned"]:
            numbers.add(len(one["tried"]))
            best = max(one["tried"], key=lambda tried: tried["score"])
            assert one["chosen"]["lr"] == best["lr"]
        else:
            assert one["tried"] == []

    assert numbers == {2}


def test_the_share_recovered_is_of_what_the_drift_took(module):
    """From 0.8 to 0.7 and back to 0.775 is three quarters; without a loss there is no share."""
    scores = module("drift_scores")

    def figures(auc):
        return (
            {"auc": auc, "accuracy": auc}
            | dict.fromkeys(("f1", "seconds"), 0.5)
            | dict.fromkeys(scores.RULE_FIGURES, 0.1)
        )

    method = {"no drift": figures(0.801), "ap_hi +1 sd": figures(0.775)}
    source = {"no drift": figures(0.8), "ap_hi +1 sd": figures(0.7)}
    runs = {"0": {"none": source, "ours, defaults": method}}

    found = scores.summarise(runs, ["no drift", "ap_hi +1 sd"])
    ours = found["summary"]["ap_hi +1 sd"]["ours, defaults"]
    clean = found["summary"]["no drift"]["ours, defaults"]

    assert ours["auc_recovered"]["mean"] == pytest.approx(75)
    assert clean["auc_recovered"] is None
    assert clean["auc_moved"]["mean"] == pytest.approx(0.1)
    assert [(one["measured"], one["met"]) for one in found["bars"]] == [
        (75.0, False),
        (75.0, False),
        (0.1, True),
        (0.1, True),
    ]


def test_a_run_is_read_again_from_its_file(module, tmp_path, monkeypatch):
    """An interrupted benchmark goes on: what was computed is not computed again."""
    monkeypatch.chdir(tmp_path)
    datasets, methods = module("datasets"), module("drift_methods")
    runs = module("drift_runs")
    table = datasets.read_cardio(tmp_path, tmp_path, quick=True, seed=0).path
    place = runs.Place(table=table, cache=tmp_path, seed=0, quick=True, code="x")
    tent = next(method for method in methods.METHODS if method.name == "Tent")
    setting = runs.Setting(part="test", drift="ap_hi +1 sd")

    first = runs.run(place, setting, tent, methods.Choice(epochs=1))
    again = runs.run(place, setting, tent, methods.Choice(epochs=1))
    other = runs.run(place, setting, tent, methods.Choice(epochs=2))

    assert again.told == first.told  # the seconds too, which no second run would share
    assert again.logits.equal(first.logits)
    assert not other.logits.equal(first.logits)
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_the_page_of_a_quick_run_says_so(quick, tmp_path):
    """Nobody takes its figures for those of a full run."""
    run("render_adapt.py", "--results", quick, "--docs", tmp_path)
    text = (tmp_path / PAGE.name).read_text()

    assert "A quick run" in text
    assert "nan" not in text
    assert text.count("### Setting") == 3


@pytest.fixture
def recorded():
    """The results in the repository; there is no page without them, nor they without a page."""
    found = [*RECORDED, PAGE]
    if not any(path.exists() for path in found):
        pytest.skip("nothing has been recorded yet")
    assert all(path.exists() for path in found)
    return [json.loads(path.read_text()) for path in RECORDED]


def test_the_page_is_what_the_results_say(recorded, tmp_path):
    """docs/adapt-results.md is never edited by hand."""
    assert recorded
    run("render_adapt.py", "--docs", tmp_path)

    assert (tmp_path / PAGE.name).read_text() == PAGE.read_text()


def test_the_results_in_the_repository_are_of_full_runs_on_real_data(recorded):
    """What the page shows was measured on the cardio table itself."""
    for result in recorded:
        assert not result["quick"]
        assert result["data"]["cardio"] == "real"
