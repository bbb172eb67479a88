"""The image bench: what is compared is comparable, and sums are as by hand."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("PIL", reason="needs what sqrl-paper depends on")

from sqrl.errors import DataError  # noqa: E402
from sqrl_paper.bench import run_bench  # noqa: E402
from sqrl_paper.imagenet_x import bench as imagenet_x  # noqa: E402
from sqrl_paper.imagenet_x.annotations import METACLASSES  # noqa: E402
from sqrl_paper.imagenet_x.as_seen import Seen, see  # noqa: E402
from sqrl_paper.imagenet_x.data import (  # noqa: E402
    CLEAN,
    CONDITIONS,
    TUNING,
    names_of_conditions,
    prepared,
)
from sqrl_paper.imagenet_x.example import _count_changes, tell_images  # noqa: E402
from sqrl_paper.imagenet_x.made import MadeNetwork, shade_of, write_imagenet_x  # noqa: E402
from sqrl_paper.imagenet_x.methods import (  # noqa: E402
    FIRST_HALF,
    METHODS,
    NONE,
    OURS,
    WHOLE,
    Choice,
    make_objective,
    method_of,
)
from sqrl_paper.imagenet_x.runs import describe_source, run  # noqa: E402
from sqrl_paper.imagenet_x.start import find_start, mean_objective  # noqa: E402
from sqrl_paper.imagenet_x.summary import summarise  # noqa: E402
from sqrl_paper.jobs import Look, Try  # noqa: E402
from sqrl_paper.place import Place  # noqa: E402

NOTHING_TO_TUNE = ["none", "BN", "BN, first half", "ours, no rules"]
DARK = "brightness"  # a corruption that moves the shades by which the made network tells classes


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imagenet_x")
    write_imagenet_x(folder)
    return Place(folder=folder, cache=folder / "cache", quick=True, data="made", is_made=True)


@pytest.fixture(scope="module")
def data(place):
    return prepared(place, 0)


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SQRL_DATA", raising=False)
        patch.chdir("/")
        return run_bench("imagenet-x", quick=True, n_workers=1)


def test_every_tuned_method_is_tried_as_often():
    """Three times each; what has nothing to tune is not tuned."""
    assert {len(method.choices) for method in (*METHODS, WHOLE) if method.choices} == {3}
    assert all(len(set(method.choices)) == len(method.choices) for method in METHODS)
    assert [m.name for m in METHODS if not m.choices] == NOTHING_TO_TUNE


def test_the_best_choice_is_used():
    """By accuracy on the crops for tuning; the first of equals."""
    choices = [Choice(lr=lr) for lr in (1.0, 2.0, 3.0)]
    tries = [Try(seed=0, method="Tent", choice=choice) for choice in choices]
    other = Try(seed=0, method="RPL", choice=Choice(lr=4.0))
    scores = zip([*tries, other], (0.6, 0.7, 0.7, 0.9), strict=True)
    done = {job: {"accuracy": accuracy} for job, accuracy in scores}

    assert imagenet_x.best_of(done, method_of("Tent")).lr == 2.0


def test_nothing_of_the_tuning_is_in_a_test(place, data):
    """Neither its crops, for any seed, nor its corruption; seeds share no crops either."""
    other = prepared(place, 1)
    samples = [set(crops.files) for crops in (data.tuning, data.test, other.test)]

    assert [len(sample) for sample in samples] == [32] * 3
    assert len(set.union(*samples)) == 96
    assert set(other.tuning.files) == samples[0]
    assert TUNING not in CONDITIONS
    assert len(CONDITIONS) == 6
    assert set(names_of_conditions(place)) < set(CONDITIONS)


def test_the_made_network_knows_the_shades_of_classes():
    """The likeliest class has the metaclass of the shade shown."""
    images = torch.full((1, 3, 8, 8), round(shade_of(4)), dtype=torch.uint8)
    with torch.no_grad():
        logits = MadeNetwork().eval()(images)

    assert int(logits.argmax()) % 17 == 4


def test_no_method_looks_at_labels(place, data):
    """With all labels changed each predicts the same, to the last bit."""
    seen = see(place, 0, DARK)
    crops = seen.crops
    wrong = (crops.labels + 1) % len(METACLASSES)
    other = Seen(
        replace(crops, labels=wrong, classes=crops.classes.flip(0)), seen.images, seen.model
    )
    for method in (*METHODS, WHOLE):
        one, two = (run(data, these, method, Choice())[0] for these in (seen, other))

        assert torch.equal(one, two), method.name


def test_the_start_is_where_the_objective_is_least(place, data):
    """Both candidates are measured on the same images; the statistics of bright ones differ."""
    seen = see(place, 0, DARK)
    objective = make_objective(OURS, data, Choice())
    start = find_start(OURS, data, seen, objective)
    first = find_start(FIRST_HALF, data, seen, objective)
    by_hand = {
        "source": mean_objective(seen.predict(data.model), data, seen, objective),
        "first half": mean_objective(seen.predict(first.model), data, seen, objective),
    }

    assert start.objectives == by_hand
    assert start.objectives[start.name] == min(by_hand.values())
    assert (first.name, first.objectives) == ("first half", {})
    assert find_start(NONE, data, seen, objective).model is data.model


def test_images_as_in_training_leave_the_model_as_it_is(place, data):
    """Where the source's own statistics are best nothing is mended."""
    seen = see(place, 0, CLEAN)
    source = run(data, seen, NONE, Choice())[0]
    logits, told = run(data, seen, OURS, Choice())

    assert told["start"] == "source"
    assert told["objectives"]["source"] < told["objectives"]["first half"]
    assert not told["adapted"]
    assert torch.equal(logits, source)


def test_the_source_is_described_with_what_true_labels_break(place):
    """How many rules there were, how many are left, and that no model would break none."""
    told = describe_source(place, Look(seed=0))

    assert told["rules"] + told["vacuous"] <= 340
    assert told["crops"] == 32
    assert told["mini_batches"] == 1  # of all of them, being fewer than 256
    assert told["truth"]["accuracy"] == 1.0
    assert 0 <= told["drifted_conditions"] <= 1


def made_run(accuracy, broken, *, start="source"):
    figures = dict.fromkeys(("entropy", "expected", "likeliest", "n_expected", "excess"), 0.1)
    return {"accuracy": accuracy, "n_likeliest": broken, "seconds": 1.0, "start": start, **figures}


def made_results():
    """Two seeds; ours gains 10 points under fog and loses 2 under noise, Tent gains 3 and 1."""
    clean = {"none": (0.8, 10), "Tent": (0.8, 10), "rules": (0.79, 5), "ours": (0.8, 10)}
    fog = {"none": (0.5, 20), "Tent": (0.53, 20), "rules": (0.5, 20), "ours": (0.6, 5)}
    noise = {"none": (0.4, 0), "Tent": (0.41, 20), "rules": (0.4, 20), "ours": (0.38, 5)}
    conditions = {
        name: {m: {str(seed): made_run(*pair) for seed in (0, 1)} for m, pair in methods.items()}
        for name, methods in (("clean", clean), ("fog", fog), ("noise", noise))
    }
    whole = {str(seed): made_run(0.7, 5) for seed in (0, 1)}
    ablation = {
        name: {"rules": conditions[name]["rules"], WHOLE.name: whole} for name in ("clean", "fog")
    }
    return {"conditions": conditions, "ablation": ablation}


def test_the_summary_is_as_by_hand():
    """Means over corruptions, without the images as they are; violations against the source's."""
    found = summarise(made_results())
    summary = found["summary"]

    assert summary["corrupted"]["ours"]["gain"]["mean"] == pytest.approx(4.0)
    assert summary["corrupted"]["Tent"]["accuracy"]["mean"] == pytest.approx(0.47)
    assert summary["conditions"]["clean"]["rules"]["reduced"]["mean"] == pytest.approx(50.0)
    assert summary["conditions"]["noise"]["ours"]["reduced"]["mean"] == 0  # of none
    assert summary["ablation"]["fog"][WHOLE.name]["reduced"]["mean"] == pytest.approx(75.0)
    assert summary["starts"] == {"clean": 2, "fog": 2, "noise": 2}


def test_aims_that_are_missed_are_told():
    """The loss under noise is one, the accuracy of rules on clean images another."""
    aims = {one["what"]: one for one in summarise(made_results())["aims"]}
    worst = aims["what ours gains over the source where it gains least (noise)"]
    beyond = aims["corruptions: mean accuracy of ours beyond that of the best other (Tent)"]

    assert (worst["measured"], worst["met"]) == (pytest.approx(-2.0), False)
    assert (beyond["measured"], beyond["met"]) == (pytest.approx(2.0), True)
    assert aims["clean, rules: violations fewer"]["met"]
    assert not aims["clean, rules: accuracy gained"]["met"]
    assert not aims["clean, ours: violations fewer"]["met"]
    assert aims["clean, ours: accuracy gained"]["met"]


def test_a_quick_run_has_all_tables(result):
    """On made-up data, within the width of a terminal, MEMO on clean images alone."""
    sheets = imagenet_x.sheets(result)
    titles = [sheet.title.partition(".")[0].partition(" in %")[0] for sheet in sheets]

    assert result["data"] == "made"
    assert titles[:2] == ["Table 1", "Table 2, images as they are"]
    assert titles[2].startswith("Table 2, all 160 crops as they are")
    assert titles[3] == "Accuracy"
    assert max(len(line) for sheet in sheets for line in sheet.lines()) <= 80
    assert "MEMO" in result["conditions"][CLEAN]
    assert "MEMO" not in result["conditions"][DARK]
    assert set(result["methods"]) == {method.name for method in (*METHODS, WHOLE)}
    assert [row[0] for row in sheets[1].rows] == [method.name for method in METHODS]


def test_the_full_tables_fit_a_terminal_too(result):
    """Five corruptions side by side."""
    summary = result["summary"]
    columns = dict.fromkeys(CONDITIONS[1:], summary["conditions"][DARK])
    wide = {**summary, "conditions": {CLEAN: summary["conditions"][CLEAN], **columns}}
    sheets = imagenet_x.sheets({**result, "summary": wide})

    assert len(sheets[3].header) == 7
    assert max(len(line) for sheet in sheets for line in sheet.lines()) <= 80


def test_the_figure_is_drawn_from_the_results_alone(result, tmp_path):
    """No pixel of an image is needed."""
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    path = tmp_path / "figure.png"
    imagenet_x.draw(result, path)

    assert path.stat().st_size > 10_000
    assert result["example"]["lower"] < result["example"]["upper"]
    assert set(result["example"]["values"]) == {"before", "after"}


def test_an_example_without_changes_says_so():
    """Rather than show nothing."""
    nothing = {"right": 0, "wrong": 0, "other": 0}

    assert tell_images({"condition": "fog", "changed": nothing, "images": []}) == [
        "Condition: fog. No prediction changed."
    ]


def test_changes_to_the_worse_are_counted_as_well():
    """Of five one became right, two wrong, one differently wrong, and one stayed."""
    truth = torch.tensor([0, 1, 2, 3, 4])
    before, after = torch.tensor([1, 1, 2, 0, 4]), torch.tensor([0, 0, 0, 1, 4])

    assert _count_changes(before, after, truth) == {"right": 1, "wrong": 2, "other": 1}


def test_missing_files_are_named(tmp_path):
    """The annotations first, then the images."""
    with pytest.raises(DataError, match="'ImageNet-X' is not there"):
        imagenet_x.files(tmp_path)
    imagenet_x.make_files(tmp_path)
    names = {path.name for path in imagenet_x.files(tmp_path)}

    assert "imagenet_x_val_multi_factor.jsonl.gz" in names
    assert "val_0.jpg" in names
