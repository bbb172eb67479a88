"""The imputation task: what is hidden stays hidden, and scores are what one counts by hand."""

import numpy as np
import pytest

from rounding import rounding
from sqrl.errors import AdaptError, DataError
from sqrl_paper.imputation.made import made_values, write_values

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

import sqrl  # noqa: E402
from sqrl import RuleSet  # noqa: E402
from sqrl.methods import Clip, Context  # noqa: E402
from sqrl_paper.imputation import task as imputation  # noqa: E402
from sqrl_paper.imputation.imputer import Imputer, examples_of  # noqa: E402
from sqrl_paper.imputation.parts import (  # noqa: E402
    Part,
    Parts,
    Scaling,
    fit_scaling,
    split_series,
)
from sqrl_paper.imputation.physionet import FEATURES, Series, read_physionet  # noqa: E402
from sqrl_paper.imputation.reconstruction import Reconstruction  # noqa: E402
from sqrl_paper.imputation.saits import Estimates, SaitsSize  # noqa: E402
from sqrl_paper.imputation.saits_training import SaitsTraining  # noqa: E402

SMALL = SaitsSize(n_layers=1, width=8, n_heads=2, inner=8)
QUICK = SaitsTraining(epochs=1, batch=8)
HR, PH = FEATURES.index("HR"), FEATURES.index("pH")


def series_of(values):
    return Series(np.arange(len(values)), values)


def prepare(folder, **options):
    """The task on made files, with a network that trains in no time."""
    told = {"size": SMALL, "training": QUICK, "batch": 4, "seed": 0}
    series = read_physionet(folder, n_records=None)
    return imputation.make_imputation(series, cache=folder / "cache", **(told | options))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imputation")
    write_values(folder, made_values(40))
    return prepare(folder)


class Halfway(torch.nn.Module):
    """Estimates one standard deviation above the mean, wherever it is asked."""

    def __init__(self):
        super().__init__()
        self.level = torch.nn.Parameter(torch.ones(()))

    def estimates(self, values, given):  # noqa: ARG002
        found = self.level.expand(values.shape)
        return Estimates(found, found, found)


def by_hand():
    """A task of one patient, of whom HR at 0, 1 and 2 and pH at 0 were observed.

    HR at 0 is given (80); hidden are HR at 1 and 2 (90 and 130) and pH at 0 (7.4).
    """
    values = np.full((1, 48, 35), np.nan)
    values[0, :3, HR], values[0, 0, PH] = (80.0, 90.0, 130.0), 7.4
    given = np.zeros(values.shape, np.bool_)
    given[0, 0, HR] = True
    part = Part(values, given)
    centres, spreads, ranges = np.zeros(35), np.ones(35), np.ones(35)
    centres[HR], spreads[HR], ranges[HR] = 85.0, 10.0, 100.0
    scaling = Scaling(centres, spreads, ranges)
    batches = sqrl.Batches(part.inputs(), size=1)
    return imputation.Imputation(
        parts=Parts(part, part, part),
        scaling=scaling,
        model=Imputer(Halfway(), scaling),
        rules=RuleSet.from_texts(["60 <= HR <= 120", "7 <= pH <= 7.5"]),
        valid=batches,
        test=batches,
    )


def test_patients_are_split_70_10_20_by_the_seed():
    """Each is in one part, and another seed makes other parts."""
    values = np.arange(50.0)[:, None, None] + np.zeros((1, 2, 35))
    parts = split_series(series_of(values), seed=0)
    found = [
        sorted(part.values[:, 0, 0].astype(int).tolist())
        for part in (parts.train, parts.valid, parts.test)
    ]
    other = split_series(series_of(values), seed=1)

    assert [len(numbers) for numbers in found] == [35, 5, 10]
    assert sorted(found[0] + found[1] + found[2]) == list(range(50))
    assert sorted(other.test.values[:, 0, 0].astype(int).tolist()) != found[2]


def test_sixty_percent_of_what_was_observed_is_hidden():
    """Of those to choose by and to test on, and nothing of those to learn from."""
    parts = split_series(series_of(made_values(50)), seed=0)

    assert not parts.train.hidden.any()
    assert np.array_equal(parts.train.given, ~np.isnan(parts.train.values))
    for part in (parts.valid, parts.test):
        n_observed = np.isfinite(part.values).sum()
        assert part.hidden.sum() == round(0.6 * n_observed)
        assert part.given.sum() == n_observed - part.hidden.sum()
        assert not (part.given & part.hidden).any()
        assert not np.isnan(part.values[part.given]).any()


def test_what_is_hidden_is_spread_over_patients_and_hours():
    """No patient, hour or feature of a large table is hidden or given whole."""
    part = split_series(series_of(made_values(60, share=0.9)), seed=3).test
    observed = np.isfinite(part.values)
    for axes in ((1, 2), (0, 2), (0, 1)):
        share = part.hidden.sum(axes) / observed.sum(axes)
        assert 0.45 < share.min() < share.max() < 0.75


def test_the_seed_decides_what_is_hidden_and_the_values_do_not():
    """The same places are hidden, whatever was measured there."""
    values = made_values(20)
    first, same = (split_series(series_of(v), seed=0).test for v in (values, values * 7 + 1))
    other = split_series(series_of(np.broadcast_to(values[:1], values.shape)), seed=1).test
    third = split_series(series_of(np.broadcast_to(values[:1], values.shape)), seed=0).test

    assert np.array_equal(first.given, same.given)
    assert not np.array_equal(other.given, third.given)


def test_inputs_hold_the_given_values_and_nothing_else():
    """Zero elsewhere, and 1 where they are given."""
    values, given = by_hand().parts.test.inputs()

    assert values.dtype == given.dtype == torch.float32
    assert values[0, 0, HR] == 80.0
    assert values.count_nonzero() == given.sum() == 1


def test_units_are_those_of_the_given_train_values():
    """Mean, standard deviation and range, by hand; a feature never seen keeps its own units."""
    values = np.full((1, 3, 3), np.nan)
    values[0, :, 0], values[0, :2, 1] = (1.0, 3.0, 8.0), (5.0, 5.0)
    given = np.isfinite(values)
    given[0, 2, 0] = False
    scaling = fit_scaling(Part(values, given))

    assert scaling.centres.tolist() == [2.0, 5.0, 0.0]
    assert scaling.spreads.tolist() == [1.0, 1.0, 1.0]
    assert scaling.ranges.tolist() == [2.0, 1.0, 1.0]
    assert scaling.standardised(values)[0, 2, 0] == 6.0


def test_the_imputer_takes_and_gives_raw_units():
    """One standard deviation above the mean is 95 for a mean of 85 and a deviation of 10."""
    task = by_hand()
    out = task.model(*task.parts.test.inputs())

    assert out[0, 0, HR] == 80.0
    assert out[0, 1, HR] == 95.0
    assert out[0, 0, PH] == 1.0
    assert task.model.standardised(out)[0, 1, HR] == 1.0


def test_the_imputer_stands_for_the_network_in_its_own_units(task):
    """The same as standardising before and raising after, for the trained network."""
    values, given = task.parts.test.inputs()
    centres, spreads = (
        torch.from_numpy(part).float() for part in (task.scaling.centres, task.scaling.spreads)
    )
    expected = task.model.network((values - centres) / spreads, given) * spreads + centres
    out = task.model(values, given)

    assert torch.allclose(out, expected, rtol=1e-4, atol=1e-3)
    assert torch.equal(out[given > 0], values[given > 0])


def test_the_rules_bound_98_percent_of_the_observed_train_values(task):
    """One for each feature, in raw units, from the train patients alone."""
    flat = task.parts.train.values.reshape(-1, 35)
    lower, upper = np.nanquantile(flat, [0.01, 0.99], axis=0)

    assert len(task.rules) == 35
    for index, name in enumerate(FEATURES):
        low, middle, high = task.rules[index].text.split(" <= ")
        assert middle == name
        assert float(low) == pytest.approx(lower[index])
        assert float(high) == pytest.approx(upper[index])


def test_changing_what_is_hidden_in_test_changes_nothing_but_the_score(task, tmp_path):
    """Inputs, units, rules, weights and imputations are the same to the last bit."""
    values = made_values(40)
    changed = values.copy()
    for series, hidden in zip(task.parts.test.values, task.parts.test.hidden, strict=True):
        patient = np.flatnonzero(
            [np.array_equal(series, other, equal_nan=True) for other in values]
        ).item()
        changed[patient][hidden] += 1000.0
    write_values(tmp_path, changed)
    other = prepare(tmp_path)

    for mine, theirs in zip(task.test.inputs, other.test.inputs, strict=True):
        assert torch.equal(mine, theirs)
    assert np.array_equal(task.scaling.centres, other.scaling.centres)
    assert np.array_equal(task.scaling.spreads, other.scaling.spreads)
    assert [rule.text for rule in task.rules] == [rule.text for rule in other.rules]
    assert torch.equal(task.model(*task.test.inputs), other.model(*task.test.inputs))
    before, after = task.evaluate(task.model), other.evaluate(other.model)
    assert after["mse"] > before["mse"] + 1
    assert after["violations"] == before["violations"]


def test_training_is_given_only_what_the_parts_give():
    """Examples hold the truth for comparison, and say what of it is given."""
    task = by_hand()
    examples = examples_of(task.parts.valid, task.scaling)

    assert examples.values[0, :3, HR].tolist() == pytest.approx([-0.5, 0.5, 4.5])
    assert examples.given.sum() == 1
    assert examples.hidden.sum() == 3
    assert not examples.values.isnan().any()


def test_rules_judge_what_is_imputed_and_not_what_is_given():
    """nan where a value was given, with a gradient elsewhere."""
    task = by_hand()
    batch = next(iter(task.test))
    out = torch.ones(1, 48, 35, requires_grad=True)
    named = task.names(batch, out)
    named["HR"].nansum().backward()

    assert list(named) == list(FEATURES)
    assert named["HR"].shape == (48,)
    assert named["HR"].isnan().tolist() == [True] + [False] * 47
    assert not named["pH"].isnan().any()
    assert out.grad[0, :, HR].tolist() == [0.0] + [1.0] * 47
    assert out.grad.sum() == 47


def test_the_rule_loss_moves_only_what_is_imputed():
    """The gradient of a broken rule is nowhere nan, and zero where a value was given."""
    task = by_hand()
    batch = next(iter(task.test))
    out = torch.full((1, 48, 35), 7.2, requires_grad=True)
    sqrl.RuleLoss(task.rules, names=task.names)(batch, out).backward()

    assert bool((out.grad[0, 1:, HR] < 0).all())
    assert out.grad[0, 0, HR] == 0.0
    assert not out.grad[..., PH].any()


def test_scores_by_hand():
    """Imputed HR of 100 and 125 for 90 and 130, pH of 7.6 for 7.4; HR is 10 wide, pH 1."""
    task = by_hand()
    out = torch.full((1, 48, 35), 100.0)
    out[0, 2, HR] = 125.0
    out[0, :, PH] = 7.2
    out[0, 0, PH] = 7.6
    out[0, 5, PH] = 6.0
    out[0, 0, HR] = 500.0  # where a value was given: nobody's business
    scores = task.evaluate(out)

    near = rounding(3 + 2, 7.6)  # three terms, each a difference of two numbers up to 7.6 widths
    assert scores["mse"] == pytest.approx((1.0**2 + 0.5**2 + 0.2**2) / 3, abs=near)
    assert scores["mae"] == pytest.approx((1.0 + 0.5 + 0.2) / 3, abs=near)
    assert scores["range_mse"] == pytest.approx((0.1**2 + 0.05**2 + 0.2**2) / 3, abs=near)
    assert scores["violations"] == 3  # HR at 2, pH at 0 and 5
    assert scores["judged"] == 47 + 48
    assert scores["share"] == pytest.approx(3 / 95)
    assert scores["hidden_violations"] == 2
    assert scores["hidden"] == 3
    assert task.evaluate_truth() == {
        "hidden_violations": 1, "hidden": 3, "share": pytest.approx(1 / 3),
    }  # fmt: skip


def test_a_model_its_outputs_and_an_adapted_one_are_evaluated_alike(task):
    """Unadapted, they are the same; clipped, nothing is broken."""
    outputs = task.model(*task.test.inputs).detach()
    clipped = sqrl.adapt(task.model, task.test, Clip(task.rules, FEATURES))
    scores = task.evaluate(task.model)

    assert task.evaluate(outputs) == pytest.approx(scores)
    assert scores["judged"] == (~task.parts.test.given).sum()
    assert scores["hidden"] == task.parts.test.hidden.sum()
    assert task.evaluate(clipped)["violations"] == 0
    assert task.evaluate(task.model, on="valid")["hidden"] == task.parts.valid.hidden.sum()


def test_outputs_of_another_shape_are_refused():
    """Those of one mini-batch, say."""
    with pytest.raises(DataError) as caught:
        by_hand().evaluate(torch.zeros(2, 48, 35))

    assert str(caught.value) == (
        "The outputs are not 1 series of 48 x 35 values.\n"
        "  fix:   give those of all test patients, in their order, or the model itself"
    )


def test_weights_are_kept_and_not_trained_again(task, tmp_path):
    """The second time nothing is trained; other settings are trained anew."""
    write_values(tmp_path, made_values(40))
    told = []

    def track(label, done, total):
        told.append((label, done, total))

    first = prepare(tmp_path, track=track)
    n_trained = told.count(("training", 1, 1))
    second = prepare(tmp_path, track=track)

    assert n_trained == told.count(("training", 1, 1)) == 1
    weights = [made.model.state_dict() for made in (first, second, task)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])
    prepare(tmp_path, seed=1, track=track)
    assert told.count(("training", 1, 1)) == 2


def test_rules_adapt_the_model_without_touching_it(task):
    """Fewer imputed values are outside their bounds; LayerNorm layers alone have changed."""
    narrow = RuleSet.from_texts([f"99 <= {name} <= 101" for name in FEATURES])
    loss = sqrl.RuleLoss(narrow, names=task.names)
    before = task.model.state_dict()["network.first.layers.0.after_ahead.weight"].clone()
    adapted = sqrl.adapt(task.model, task.test, loss, lr=2e-2, epochs=5)
    batch = next(task.test.in_order())
    broken = [
        float(loss.measure(batch, model(*batch.inputs)).broken.sum())
        for model in (task.model, adapted)
    ]

    assert broken[1] < broken[0]
    assert {name.split(".")[-2] for name in adapted.changed} <= {"after_attention", "after_ahead"}
    assert torch.equal(task.model.network.first.layers[0].after_ahead.weight, before)


def context_of(model):
    return Context(
        run=lambda batch: model(*batch.inputs),
        source=lambda batch: model(*batch.inputs),
        generator=torch.Generator().manual_seed(0),
    )


def test_reconstruction_is_the_error_on_what_is_withheld():
    """With all of it withheld, HR of 80 is imputed as 95: an error of 1.5 deviations."""
    task = by_hand()
    batch = next(iter(task.test))
    objective = task.reconstruction(share=1.0)

    assert float(objective(batch, None, context_of(task.model)).detach()) == pytest.approx(1.5)


def test_reconstruction_takes_what_is_withheld_out_of_the_inputs(task):
    """A model that would look at values that are not given finds zeros there."""
    batch = next(task.test.in_order())
    values, given = batch.inputs
    seen = []

    def run(made):
        seen.append(made.inputs)
        return task.model(*made.inputs)

    Reconstruction(task.model.standardised, share=0.5)(
        batch, None, Context(run=run, source=run, generator=torch.Generator().manual_seed(0))
    )
    kept_values, kept = seen[0]

    assert 0.3 < float(kept.sum() / given.sum()) < 0.7
    assert bool((kept <= given).all())
    assert torch.equal(kept_values, values * kept)


def test_reconstruction_trains_on_the_test_inputs(task):
    """Alone and unguarded, its own error falls."""
    objective = task.reconstruction(share=0.3)
    adapted = sqrl.adapt(
        task.model, task.test, objective, parameters="all", lr=1e-2, epochs=8, guard=False
    )
    batch = next(task.test.in_order())
    errors = [
        float(objective(batch, None, context_of(model)).detach())
        for model in (task.model, adapted.model)
    ]

    assert errors[1] < errors[0]


def test_reconstruction_says_what_it_cannot_do():
    """A share of nothing, or no model to run."""
    with pytest.raises(AdaptError) as caught:
        Reconstruction(lambda out: out, share=0.0)
    assert str(caught.value) == ("A share of 0.0 withheld.\n  fix:   give a share between 0 and 1")
    with pytest.raises(AdaptError) as caught:
        by_hand().reconstruction()(None, None)

    assert str(caught.value) == (
        "Reconstruction runs the model on other inputs, and there is no model here to run.\n"
        "  fix:   use it through sqrl.adapt(model, batches, ...), or pass a context"
    )
