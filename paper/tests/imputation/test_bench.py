"""The imputation bench: choices by valid patients, figures by hand, tables from results alone."""

import json

import numpy as np
import pytest

from rounding import rounding
from sqrl.errors import DataError
from sqrl_paper.imputation.made import made_values, write_values

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

import sqrl  # noqa: E402
from sqrl import RuleSet  # noqa: E402
from sqrl.methods import Clip  # noqa: E402
from sqrl_paper.bench import run_bench  # noqa: E402
from sqrl_paper.imputation import bench as imputation  # noqa: E402
from sqrl_paper.imputation.data import batches_of  # noqa: E402
from sqrl_paper.imputation.example import set_right_most  # noqa: E402
from sqrl_paper.imputation.imputer import Imputer  # noqa: E402
from sqrl_paper.imputation.losses import NegativeNorm, paper_loss  # noqa: E402
from sqrl_paper.imputation.methods import METHODS, STEPS, Choice, epochs_for  # noqa: E402
from sqrl_paper.imputation.pages import PAPER_FIGURES, ROWS  # noqa: E402
from sqrl_paper.imputation.parts import Part, Parts, Scaling  # noqa: E402
from sqrl_paper.imputation.physionet import FEATURES  # noqa: E402
from sqrl_paper.imputation.protocol import tell_steps  # noqa: E402
from sqrl_paper.imputation.saits import SaitsSize, make_saits  # noqa: E402
from sqrl_paper.imputation.summary import choose, choose_by_error, summarise  # noqa: E402
from sqrl_paper.imputation.task import BATCH, Imputation  # noqa: E402

HR, PH = FEATURES.index("HR"), FEATURES.index("pH")
NORM, ALL = (Choice(parameters=kind, lr=1e-3) for kind in ("norm", "all"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with an archive of 80 made patients."""
    path = tmp_path_factory.mktemp("data")
    write_values(path, made_values(80, alike=True))
    return path


@pytest.fixture(scope="module")
def result(_slowly, folder, tmp_path_factory):
    """The results of a quick run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQRL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("SQRL_DATA", str(folder))
        yield run_bench("imputation", quick=True, n_workers=1)


def by_hand(*, n_train=1):
    """A task in which HR has a centre of 85, a spread of 10 and a range of 100."""
    values = np.full((1, 48, 35), np.nan)
    part = Part(values, np.zeros(values.shape, np.bool_))
    many = Part(np.full((n_train, 48, 35), 9.0), np.ones((n_train, 48, 35), np.bool_))
    centres, spreads, ranges = np.zeros(35), np.ones(35), np.ones(35)
    centres[HR], spreads[HR], ranges[HR] = 85.0, 10.0, 100.0
    scaling = Scaling(centres, spreads, ranges)
    size = SaitsSize(n_layers=1, width=4, n_heads=1, inner=4)
    batches = sqrl.Batches(part.inputs(), size=1)
    return Imputation(
        parts=Parts(many, part, part),
        scaling=scaling,
        model=Imputer(make_saits(48, 35, size=size), scaling),
        rules=RuleSet.from_texts(["60 <= HR <= 120", "7 <= pH <= 7.5"]),
        valid=batches,
        test=batches,
    )


def batch_of(given):
    return sqrl.Batch((torch.zeros(given.shape), given))


def found(mse, violations, *, clipped=None):
    """A run as `run_method` gives it, with every other figure the same."""
    plain = {"mae": 1.0, "range_mse": 1.0, "share": 0.5}
    return {
        "plain": plain | {"mse": mse, "violations": violations},
        "clipped": plain | {"mse": mse if clipped is None else clipped, "violations": 0},
    }


def test_a_quick_run_has_every_method_and_the_source_is_what_it_is_compared_with(result):
    """Each method is measured, and the source has no fewer violations than itself."""
    none = result["summary"]["none"]

    assert list(result["measured"]) == [method.name for method in METHODS]
    assert none["plain"]["violations"]["mean"] > 0
    assert none["plain"]["reduced"]["mean"] == none["plain"]["beyond_source"]["mean"] == 0
    assert none["clipped"]["reduced"]["mean"] == 100
    assert none["clipped"]["beyond_clip"]["mean"] == 0


def test_no_batchnorm_means_that_bn_changes_nothing(result):
    """SAITS has LayerNorm alone."""
    source, same = result["measured"]["none"]["0"], result["measured"]["BN"]["0"]

    assert (source["plain"], source["clipped"]) == (same["plain"], same["clipped"])


def test_every_tuned_method_tries_as_many_choices(result):
    """On valid patients, and no method that has nothing to tune tries any but the source."""
    tried = {}
    for one in result["tried"]:
        assert one["on"] == "valid"
        tried.setdefault(one["method"], []).append(Choice(**one["choice"]))
    tuned = {method.name: method.choices for method in METHODS if method.is_tuned}

    assert set(tried) == {*tuned, "none"}
    assert all(sorted(tried[name], key=str) == sorted(tuned[name], key=str) for name in tuned)
    assert {len(choices) for choices in tuned.values()} == {4}


def test_what_is_tested_was_chosen_by_valid_patients(result):
    """The rule of choice, applied to what was tried, gives what was tested."""
    tried = {
        (one["method"], Choice(**one["choice"])): one
        for one in result["tried"]
        if one["method"] != "none"
    }
    source = next(one for one in result["tried"] if one["method"] == "none")
    for method in METHODS:
        if method.is_tuned:
            own = {choice: one for (name, choice), one in tried.items() if name == method.name}
            tested = result["measured"][method.name]["0"]["choice"]
            lowest = result["by_error"][method.name]["0"]["choice"]
            assert Choice(**tested) == choose(own, source)
            assert Choice(**lowest) == choose_by_error(own)


def test_clipped_imputations_break_no_rule(result):
    """Whatever came before."""
    for method in result["measured"].values():
        assert method["0"]["clipped"]["violations"] == 0


def test_the_ablation_has_both_kinds_of_parameters(result):
    """Each with a choice of its own kind."""
    for kinds in result["ablation"].values():
        for kind in ("norm", "all"):
            assert kinds[kind]["0"]["choice"]["parameters"] == kind


def test_tables_are_made_of_the_results_alone_and_fit_a_terminal(result):
    """Also of those that were written to a file and read again; 80 columns at most."""
    sheets = imputation.sheets(json.loads(json.dumps(result)))
    lines = [line for sheet in sheets for line in sheet.lines()]

    assert len(sheets) == 5
    assert max(map(len, lines)) <= 80
    assert all("Differs from the paper" in s.note or "Not in the paper" in s.note for s in sheets)


def test_the_papers_figures_stand_beside_ours(result):
    """In the rows of the methods that the paper has, and nowhere else."""
    rows = {row[0]: row for row in imputation.sheets(result)[1].rows}

    assert set(PAPER_FIGURES) <= {title for title, _, _ in ROWS}
    assert rows["rules, paper's loss"][1:3] == ("5.2", "68.7 ± 8.1")
    assert rows["clip"][1:3] == ("", "")
    assert rows["MEMO"][3:] == ("-", "-")


def test_both_rules_of_choice_stand_beside_each_other(result):
    """For every tuned method: the summary's figures, then those chosen by the error alone."""
    rows = {row[0]: row for row in imputation.sheets(result)[2].rows}
    lowest = result["by_error_summary"]["rules"]["plain"]["range_mse"]["mean"]

    assert list(rows) == [method.name for method in METHODS if method.is_tuned]
    assert rows["rules"][3].startswith(f"{1e3 * lowest:.2f}")


def test_the_figure_is_drawn_from_the_results_alone(result, tmp_path):
    """Twice the same, and the caption says whose data it is."""
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    again = json.loads(json.dumps(result))
    for name, one in (("a.png", result), ("b.png", again)):
        imputation.draw(one, tmp_path / name)

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert result["example"]["caption"].endswith("challenge-2012/), ODC-BY 1.0.")


@pytest.mark.usefixtures("_slowly")
def test_a_finished_bench_is_not_run_again(folder, tmp_path, monkeypatch):
    """The second time all is remembered, and the figures are the same."""
    monkeypatch.setenv("SQRL_CACHE", str(tmp_path))
    first, second = (run_bench("imputation", folder=folder, quick=True, n_workers=1) for _ in "ab")

    assert first["runs"]["remembered"] == 0 < first["runs"]["done"]
    assert second["runs"] == {"done": 0, "remembered": first["runs"]["done"]}
    assert first["measured"] == second["measured"]


def test_a_bench_that_is_not_quick_takes_only_all_of_the_records(folder, tmp_path, monkeypatch):
    """Figures of some patients would not be those of the data set."""
    monkeypatch.setenv("SQRL_CACHE", str(tmp_path))
    with pytest.raises(DataError) as caught:
        run_bench("imputation", folder=folder, n_workers=1)

    path = folder / "physionet2012" / "set-a.tar.gz"
    assert str(caught.value) == (
        "There are 80 records instead of 4,000.\n"
        f"  where: {path}\n"
        "  fix:   fetch it again from https://physionet.org/content/challenge-2012/"
    )


def test_the_files_are_the_archive_or_what_it_unpacks_to(folder, tmp_path):
    """Whichever is there."""
    unpacked = tmp_path / "physionet2012" / "set-a"
    unpacked.mkdir(parents=True)
    for number in (132540, 132539):
        (unpacked / f"{number}.txt").write_text("Time,Parameter,Value\n")

    assert imputation.files(folder) == [folder / "physionet2012" / "set-a.tar.gz"]
    assert [path.name for path in imputation.files(tmp_path)] == ["132539.txt", "132540.txt"]


def test_made_files_can_be_read_and_are_learned_from(tmp_path):
    """They are what a quick run has where there is no data."""
    imputation.make_files(tmp_path)

    assert len(imputation.files(tmp_path)) == 1


def test_the_choice_has_few_violations_before_it_has_a_low_error():
    """A lower MSE with more violations is taken only if no choice has 95 % fewer."""
    source = found(0.5, 1000)

    assert choose({NORM: found(0.3, 51), ALL: found(0.4, 50)}, source) == ALL
    assert choose({NORM: found(0.3, 51), ALL: found(0.4, 51)}, source) == NORM
    assert choose({NORM: found(0.4, 0), ALL: found(0.3, 50)}, source) == ALL
    assert choose_by_error({NORM: found(0.3, 51), ALL: found(0.4, 50)}) == NORM


def test_changes_are_taken_within_each_seed():
    """By hand: MSE 10 % and 20 % below, 50 and 100 % fewer violations, and those of clip."""
    none = {"0": found(1.0, 100, clipped=0.5), "1": found(2.0, 10, clipped=1.0)}
    ours = {"0": found(0.9, 50, clipped=0.5), "1": found(1.6, 0, clipped=1.5)}
    measured = {"none": none, "rules + reconstruction": ours}
    told = summarise(measured, {"rules": ours}, {"rules": {"norm": ours}})
    plain, clipped = (told["summary"]["rules + reconstruction"][way] for way in none["0"])

    assert plain["beyond_source"]["seeds"] == [-10, -20]
    assert plain["beyond_clip"]["seeds"] == [80, 60]
    assert plain["reduced"]["mean"] == 75
    assert clipped["beyond_clip"]["seeds"] == [0, 50]
    assert told["ablation_summary"]["rules"]["norm"]["plain"] == plain
    assert told["by_error_summary"]["rules"]["plain"] == plain
    assert [one["met"] for one in told["aims"]] == [False, True, False, False]


def test_the_negative_norm_counts_only_what_is_imputed():
    """By hand: HR two and four spreads above its mean, of which one is given."""
    out = torch.zeros(1, 1, 35)
    out[..., HR] = 85.0
    out = out.repeat(1, 2, 1)
    out[0, :, HR] += torch.tensor([20.0, 40.0])
    given = torch.ones(1, 2, 35)
    given[0, 0, HR] = 0

    assert float(NegativeNorm(by_hand())(batch_of(given), out)) == pytest.approx(-4.0)


def test_the_papers_loss_is_the_quadratic_in_shares_of_the_range():
    """By hand: HR of 130 and bounds of 60 and 120 in units of 100 make 0.7 x 0.1; pH holds."""
    out = torch.zeros(1, 1, 35)
    out[..., HR], out[..., PH] = 130.0, 7.2

    assert float(paper_loss(by_hand())(batch_of(torch.zeros(1, 1, 35)), out)) == pytest.approx(
        0.7 * 0.1 / 2,
        abs=rounding(4, 1.3),  # two differences of two numbers each
    )


def test_training_goes_on_with_as_many_patients_as_are_tested():
    """No more, so that it takes as many steps, and all of them are train patients."""
    task = by_hand(n_train=3)
    found = batches_of(task, "test", seed=0, of="train")

    assert found.n_rows == batches_of(task, "test", seed=0).n_rows == 1
    assert torch.equal(found.inputs[0], task.parts.train.inputs()[0][:1])


def test_the_example_is_the_series_that_is_set_right_most():
    """By distance, and with true values within the bounds, some given and some hidden."""
    values = np.full((3, 48, 35), np.nan)
    values[0, :6, HR], values[1, :6, HR], values[2, :6, HR] = 200.0, 100.0, 90.0
    given = np.zeros(values.shape, np.bool_)
    given[:, :3, HR] = True
    before = torch.full((3, 48, 35), 100.0)
    before[:, :, PH] = 7.2
    after = before.clone()
    before[0, 10:, HR], before[1, 10:15, HR], before[2, 10:20, HR] = 150.0, 180.0, 121.0
    bounds = Clip(RuleSet.from_texts(["60 <= HR <= 120", "7 <= pH <= 7.5"]), FEATURES)

    # The first has true values of 200, outside the bounds; ten values that are 1 too high are less
    # than five that are 60 too high; and of pH nothing was measured.
    assert set_right_most(Part(values, given), bounds, before, after) == (1, HR)


def test_methods_make_as_many_steps_in_tuning_as_in_tests():
    """With the 400 valid and the 800 test patients of a full run, mini-batch by mini-batch."""
    counts = [n_patients // BATCH for n_patients in (400, 800)]

    assert [epochs_for(n, quick=False) * n for n in counts] == [STEPS, STEPS]


def test_results_of_unequal_steps_are_said_to_be():
    """An old file has epochs in the place of steps: the page tells how many each part made."""
    patients = {"train": 2800, "valid": 400, "test": 800}
    how_long, note = tell_steps({"epochs": 10, "sources": {"0": {"patients": patients}}})

    assert how_long == "10 epochs"
    assert "tests made 160 steps with what was chosen for 80" in note.replace("\n", " ")
