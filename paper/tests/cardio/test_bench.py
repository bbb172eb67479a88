"""The cardio bench: what is compared is comparable, and sums are as by hand."""

from dataclasses import asdict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("rtdl_revisiting_models", reason="needs what sqrl-paper depends on")
pytest.importorskip("sklearn", reason="needs what sqrl-paper depends on")

import sqrl  # noqa: E402
from sqrl import RuleSet, as_table  # noqa: E402
from sqrl_paper.cardio import bench as cardio  # noqa: E402
from sqrl_paper.cardio.data import CLEAN, STRONG, TUNING, prepared  # noqa: E402
from sqrl_paper.cardio.example import MADE_UP, make_example, tell_patient  # noqa: E402
from sqrl_paper.cardio.made import write_cardio  # noqa: E402
from sqrl_paper.cardio.methods import (  # noqa: E402
    BALANCE,
    CEILING,
    HELD_OUT,
    METHODS,
    NONE,
    OURS,
    REPLICAS,
    Choice,
)
from sqrl_paper.cardio.released import (  # noqa: E402
    RATE,
    RULES,
    Release,
    best_overlaps,
    measure_release,
    released_schema,
    run_released,
    step_released,
    with_released_rules,
)
from sqrl_paper.cardio.runs import Repeat, Trial, measure_method, predict, repeat_paper, run  # noqa: E402
from sqrl_paper.cardio.scores import count_broken, score, violations_of  # noqa: E402
from sqrl_paper.cardio.summary import recovered  # noqa: E402
from sqrl_paper.cardio.task import LABEL  # noqa: E402
from sqrl_paper.cardio.thresholds import count_labels, decide, fit_thresholds  # noqa: E402
from sqrl_paper.jobs import Look, Try  # noqa: E402
from sqrl_paper.logic_example import expected_f1, mended_most  # noqa: E402
from sqrl_paper.place import Place, fingerprint  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cardio")
    made = write_cardio(folder)
    return Place(
        folder=folder, cache=folder / "cache", quick=True, data=fingerprint([made]), is_made=True
    )


@pytest.fixture(scope="module")
def data(place):
    return prepared(place, 0)


def test_every_tuned_method_is_tried_as_often():
    """Three rates, then one more with the best of them."""
    for method in METHODS:
        if method in {NONE, OURS, BALANCE, HELD_OUT}:
            assert method.rates == ()
            continue
        first = method.first()
        last = method.second(first[1])

        assert len({choice.lr for choice in first}) == len(first) == 3
        assert last not in first
        assert last.lr == first[1].lr


def test_the_best_choice_is_used():
    """By the score on validation rows, for each seed and method of its own."""
    tent = next(method for method in METHODS if method.name == "Tent")
    tries = [
        Try(seed=seed, method=name, choice=Choice(lr=lr))
        for seed, name, lr in (
            (0, "Tent", 1.0),
            (0, "Tent", 2.0),
            (1, "Tent", 3.0),
            (0, "RPL", 4.0),
        )
    ]
    scores = dict(zip(tries, (0.6, 0.7, 0.9, 0.8), strict=True))

    assert cardio._best(scores, 0, tent).lr == 2.0


def test_the_drift_of_the_tuning_is_none_of_the_test(data):
    """Else methods would be chosen for what they are tested on."""
    seen = data.rows("valid", TUNING).made.seen["ap_hi"].values
    true = data.parts["valid"]["ap_hi"].values

    assert (seen < true).all()
    for name in data.drifts:
        if name not in {CLEAN, TUNING}:
            made = data.rows("valid", name).made
            same_rows = made.true.n_rows == len(true)
            assert not (same_rows and np.array_equal(made.seen["ap_hi"].values, seen))


def test_methods_see_no_label(data):
    """Neither among the columns of mini-batches nor among the inputs."""
    for drift in data.drifts:
        rows = data.rows("test", drift)
        for batch in rows.batches(size=64, seed=0):
            assert LABEL not in batch.columns
        assert LABEL not in next(rows.drawn(1, 64, seed=0)).columns


def test_only_the_ceilings_depend_on_labels(place, data):
    """With all labels turned round, all others predict the same, to the last bit."""
    rows = data.rows("test", STRONG)
    other = with_labels(rows, 1 - rows.labels)
    for method in METHODS:
        one, two = (run(place, data, these, method, Choice(lr=1e-2))[0] for these in (rows, other))

        assert torch.equal(one, two) == (method not in {CEILING, HELD_OUT})


def test_the_held_out_ceiling_knows_no_row_by_its_own_label(place, data):
    """The label of a row turned round changes predictions, but of the other half alone."""
    rows = data.rows("test", STRONG)
    labels = rows.labels.clone()
    labels[7] = 1 - labels[7]
    one, two = (
        run(place, data, these, HELD_OUT, Choice(lr=1e-2))[0]
        for these in (rows, with_labels(rows, labels))
    )
    is_changed = (one != two).any(1)

    assert not is_changed[7]
    assert len(labels) // 3 < int(is_changed.sum()) <= (len(labels) + 1) // 2


def with_labels(rows, labels):
    """The same rows with other labels."""
    label = as_table({LABEL: labels.double().numpy()})[LABEL]
    table = rows.made.true
    true = type(table)({**table.columns, LABEL: label}, table.n_rows, table.source)
    return type(rows)(type(rows.made)(rows.made.seen, true), rows.inputs, rows.model)


def test_batch_norm_is_nothing_to_a_model_without_it(place):
    """BN leaves an FT-Transformer as it is."""
    names = [one.method.name for one in REPLICAS]
    none, found = (
        repeat_paper(place, Repeat(seed=0, place=names.index(name))) for name in ("none", "BN")
    )

    for figure in ("auc", "accuracy", "f1", "likeliest", "expected"):
        assert found[figure] == none[figure]


def test_a_method_is_scored_as_it_predicts(place, data):
    """The figures of the source model, by hand."""
    found = measure_method(place, Trial(seed=0, method="none", choice=Choice(), drift=STRONG))
    rows = data.rows("test", STRONG)
    with torch.no_grad():
        likeliest = data.model(*data.inputs(rows.made.seen)).argmax(1)

    assert found["accuracy"] == pytest.approx(float((likeliest == rows.labels).double().mean()))
    assert found["predicted"] == pytest.approx(float(likeliest.double().mean()))


def test_scores_by_hand():
    """Three of four labels are right, and of four pairs three are in order."""
    labels = torch.tensor([0, 0, 1, 1])
    logits = torch.tensor([[0.0, -2.0], [0.0, 1.0], [0.0, 0.5], [0.0, 3.0]])
    found = score(labels, logits)

    assert found["auc"] == 0.75
    assert found["accuracy"] == 0.75
    assert found["f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 0))
    assert found["predicted"] == 0.75


def test_certain_predictions_break_the_same_however_they_are_taken(data):
    """Likeliest, expected and sampled labels differ only where a model is in doubt."""
    rows = data.rows("test", CLEAN)
    certain = torch.nn.functional.one_hot(rows.labels, 2).double() * 1000.0
    found = violations_of(data, rows, certain, seed=0)

    assert len(set(found.values())) == 1


def test_rules_broken_are_counted_as_checked(data):
    """The same number as `sqrl check` finds on the same rows."""
    rows = data.rows("test", CLEAN)
    logits = predict(data, rows)
    found = count_broken(data, rows, logits, seed=0, n_batches=1)
    (batch,) = rows.drawn(1, data.sizes.rules, seed=1000)
    table = rows.made.true.take(batch.rows.numpy())
    columns = {name: table[name].values for name in table}
    columns["predicted"] = logits[batch.rows].argmax(1).double().numpy()
    checked = sqrl.check(data.rules, columns, prediction="predicted")

    assert found["likeliest"]["broken"] == checked.broken.sum()


def test_recovered_is_a_share_of_the_ceilings_gain():
    """Mean gains over drifts are divided, not averaged as shares; the clean rows have no part."""

    names = ("none", "ours", "test labels", "other half's labels")

    def figures(*values):
        return {
            name: {"0": {"auc": auc, "accuracy": auc}}
            for name, auc in zip(names, values, strict=True)
        }

    drifts = {
        CLEAN: figures(0.8, 0.0, 0.9, 0.8),
        "a": figures(0.7, 0.78, 0.8, 0.78),
        "b": figures(0.8, 0.79, 0.8, 0.8),
    }
    found = recovered(drifts)

    assert found["ours"]["auc"]["points"]["mean"] == pytest.approx(100 * (0.08 - 0.01) / 2)
    assert found["ours"]["auc"]["of_ceiling"]["mean"] == pytest.approx(70)
    assert found["ours"]["auc"]["of_held_out"]["mean"] == pytest.approx(100 * 7 / 8)
    assert found["test labels"]["auc"]["of_ceiling"]["mean"] == pytest.approx(100)
    assert found["none"]["accuracy"]["points"]["mean"] == 0


def test_the_example_is_the_rule_that_is_mended_most():
    """Of two rules the one whose F1 comes back, and its F1 by hand."""
    texts = ["0.9 <= f1(x > 1 => y = 1) <= 1 over 4", "0 <= f1(x > 0 => y = 1) <= 1 over 4"]
    rules = RuleSet.from_texts(texts)
    columns = {"x": torch.tensor([1.0, 1.0, 2.0, 2.0])}
    batch = sqrl.Batch(None, columns, torch.arange(4))
    loss = sqrl.RuleLoss(rules, lambda b, out: {**b.columns, "y": out.softmax(-1)})
    wrong = torch.tensor([[-99.0, 99.0]] * 2 + [[99.0, -99.0]] * 2)

    assert mended_most(loss, [batch], wrong, -wrong, avoid=set()) == 0
    # The body holds in two of four rows; in one of them and one other the head is sure.
    table = as_table({"x": [1.0, 1.0, 2.0, 2.0]})
    chances = np.array([1.0, 0.0, 1.0, 0.0])
    assert expected_f1(rules, 0, table, chances) == pytest.approx(2 * 1 / (2 + 2))


def test_choices_are_told_in_plain_words():
    """So that results files can be read."""
    assert asdict(Choice()) == {"lr": 2e-2, "epochs": 30, "temperature": 2.0}


class Given(sqrl.methods.Objective):
    """Loss values in turn, whatever the model says; the gradient is that of its first output."""

    def __init__(self, numbers):
        super().__init__()
        self.numbers = iter(numbers)

    def forward(self, batch, out, context=None):  # noqa: ARG002
        size = out[:, 0].sum()
        return next(self.numbers) + (size - size.detach())


def test_the_released_setting_keeps_the_epoch_with_the_lowest_loss():
    """Of three epochs the second: its loss after the steps is the lowest, whatever came later."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    batches = sqrl.Batches(torch.ones(4, 2), size=4)
    numbers = [1.0, 5.0, 1.0, 2.0, 1.0, 3.0]  # at a step, then after it, three times
    kept, losses = step_released(model, batches, Given(numbers), epochs=3)
    two, _ = step_released(model, batches, Given(numbers), epochs=2)

    assert losses == pytest.approx([5.0, 2.0, 3.0])
    assert torch.equal(kept[1].bias, two[1].bias)
    assert not model[1].bias.any()  # the source stays as it is


def test_the_released_setting_warms_up_and_moves_layer_norms_alone():
    """Adam's first step is as long as its rate, of which the first of five epochs has a fifth."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    batches = sqrl.Batches(torch.ones(4, 2), size=4)
    found, _ = step_released(model, batches, Given([1.0, 1.0]), epochs=1)

    assert found[1].bias[0].item() == pytest.approx(-RATE / 5, rel=1e-3)
    assert torch.equal(found[0].weight, model[0].weight)


def test_the_released_setting_has_its_own_rules_and_sees_no_label(place):
    """F1 within the body, the best overlaps; with labels turned round the same steps."""
    data = with_released_rules(place, 0)
    rows = data.rows("test", CLEAN)
    other = with_labels(rows, 1 - rows.labels)

    assert all("f1_given(" in rule.text for rule in data.rules)
    assert all(rule.jaccard > 0.8 for rule in data.rules)
    assert released_schema(quick=False)["select"] == {"top": 10_000, "per": "Y", "by": "lower"}
    one, two = (run_released(place, data, these)[0] for these in (rows, other))
    assert torch.equal(one, two)
    assert measure_release(place, Release(seed=0, method=RULES))["epochs"] == 2


def test_of_each_class_the_best_overlaps_are_kept():
    """Two of three rules for one class, the only one for the other."""
    texts = [f"0 <= f1_given(x = {x} => cardio = {y}) <= 1 over 4" for x, y in PAIRS]
    rules = RuleSet.from_texts(texts, jaccard=[0.9, 0.81, 0.95, 0.85])

    assert [rule.jaccard for rule in best_overlaps(rules, 2)] == [0.95, 0.9, 0.85]


PAIRS = ((1, 0), (2, 0), (3, 1), (4, 0))


def test_thresholds_are_those_that_break_the_fewest_rules(data):
    """By trying them all for one group; of two groups each has its own."""
    rows = data.rows("test", CLEAN)
    chances = predict(data, rows).double().softmax(-1)[:, 1]
    batches = list(rows.drawn(2, data.sizes.rules, seed=7))
    tried, nowhere = (0.4, 0.45, 0.5), torch.zeros(len(chances), dtype=torch.int64)
    (found,) = fit_thresholds(data.loss(), batches, chances, nowhere, tried=tried)
    broken = [count_labels(data.loss(), batches, (chances > one).long()) for one in tried]
    groups = nowhere.clone()
    groups[::2] = 1

    assert broken[tried.index(found)] == min(broken)
    several = fit_thresholds(data.loss(), batches, chances, groups, tried=tried)
    assert count_labels(data.loss(), batches, decide(chances, several, groups)) <= min(broken)


def test_the_patient_of_the_figure_is_no_row_of_the_data(place, data):
    """Made of round numbers; nothing is said of a truth that nobody knows."""
    found = make_example(place, Look(seed=0))

    assert found["patient"] is None or found["patient"]["true"]["weight"] == MADE_UP["weight"]
    assert "in truth" not in " ".join(tell_patient(found))
    ages = np.concatenate([part["age"].values for part in data.parts.values()])
    weights = np.concatenate([part["weight"].values for part in data.parts.values()])
    assert not ((ages == MADE_UP["age"]) & (weights == MADE_UP["weight"])).any()
