"""Methods through `adapt`: what each changes in a model, and what comes out of it."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from sqrl._adapt.adapt import adapt
from sqrl._adapt.batches import Batches
from sqrl._adapt.rule_loss.loss import RuleLoss
from sqrl._rules.ruleset import RuleSet
from sqrl.methods import BN, CPL, MEMO, RPL, Bias, Clip, Mask, TableNoise, Tent, Unadapted

STEPPING = {
    "tent": Tent(),
    "rpl": RPL(),
    "cpl": CPL("poly"),
    "memo": MEMO(TableNoise(noise=0.5), n=3),
}


def classifier(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).eval()


def inputs(n=90):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(1)) * 3 + 2


def test_the_unadapted_model_predicts_as_it_did():
    """To the last bit."""
    model, x = classifier(), inputs()
    adapted = adapt(model, Batches(x, size=30), Unadapted())

    assert torch.equal(adapted(x), model(x))
    assert adapted.changed == ()


def test_bn_gives_the_statistics_of_the_test_data_by_hand():
    """Mean and unbiased variance of all that enters the layer; no parameter changes."""
    model, x = classifier(), inputs()
    adapted = adapt(model, Batches(x, size=30), BN())
    entering = model[0](x)
    by_hand = (entering - entering.mean(0)) / (entering.var(0) + model[1].eps).sqrt()

    torch.testing.assert_close(adapted(x), model[3](by_hand.relu()))
    assert not torch.equal(adapted(x), model(x))
    assert all(name.startswith("1.running_") or "tracked" in name for name in adapted.changed)


@pytest.mark.parametrize("name", STEPPING)
def test_a_method_lowers_what_it_minimises(name):
    """On the data that it adapts to, with the parameters of the normalisation layer only."""
    model, x = classifier(), inputs()
    adapted = adapt(
        model, Batches(x, size=30), STEPPING[name], statistics="frozen", epochs=10, lr=1e-2
    )
    objective = Tent() if name == "memo" else STEPPING[name]

    assert objective(None, adapted(x)) < objective(None, model(x))
    assert set(adapted.changed) == {"1.weight", "1.bias"}


def test_memo_is_the_same_for_the_same_seed():
    """Its augmentations are drawn by the run's own generator."""
    model, x = classifier(), inputs()
    made = [
        adapt(model, Batches(x, size=30), STEPPING["memo"], epochs=2, seed=seed)(x)
        for seed in (1, 1, 2)
    ]

    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


def test_memo_adapts_to_one_row_at_a_time_as_its_authors_do():
    """Episodic, all parameters, a batch of one row: a prediction for each."""
    model, x = classifier(), inputs(4)
    memo = MEMO(lambda batch, generator: batch + torch.randn(1, 2, generator=generator), n=4)
    adapted = adapt(model, list(x.split(1)), memo, mode="episodic", parameters="all")

    assert [tuple(out.shape) for out in adapted.outputs] == [(1, 2)] * 4
    assert not torch.equal(torch.cat(adapted.outputs), model(x))


def test_clip_finishes_what_the_model_gives():
    """Predictions keep the rule, whatever the model says."""
    model, x = classifier(), inputs()
    rules = RuleSet.from_texts(["-0.1 <= a <= 0.1"])
    batches = Batches(x, size=30)
    made = adapt(model, batches, Clip(rules, ["a", "b"])).predict(batches)

    torch.testing.assert_close(made[:, 0], model(x)[:, 0].detach().clamp(-0.1, 0.1))
    torch.testing.assert_close(made[:, 1], model(x)[:, 1].detach())


def test_mask_finishes_what_another_method_adapts():
    """A sum of both: entropy is minimised, and excluded classes are not predicted."""
    model, x = classifier(), inputs()
    rules = RuleSet.from_texts(["age <= 50 => y = 0"])
    batches = Batches(x, {"age": [40.0, 60.0, 60.0] * 30}, size=30)
    adapted = adapt(model, batches, Tent() + Mask(rules, classes=[0, 1]), epochs=2)
    made = adapted.predict(batches)

    assert made[::3, 1].isneginf().all()
    assert made[:, 0].isfinite().all()
    assert made[1::3].isfinite().all()


def test_bias_moves_the_rate_to_its_bounds_and_nothing_else():
    """The model within is as it was; the guard on the rules' violations lets the bias through."""
    model, x = classifier(), inputs()
    rate = model(x).softmax(-1)[:, 1].mean().item()
    rules = RuleSet.from_texts([f"{rate + 0.1!r} <= rate(y = 1) <= {rate + 0.2!r} over 30"])
    loss = RuleLoss(rules, names=lambda _, out: {"y": out.softmax(-1)})
    adapted = adapt(model, Batches(x, size=30), Bias(loss, n_classes=2), epochs=30, lr=5e-2)
    shift = (adapted(x) - model(x)).detach()

    assert adapted(x).softmax(-1)[:, 1].mean().item() == pytest.approx(rate + 0.1, abs=0.05)
    torch.testing.assert_close(shift, shift[:1].expand_as(shift))
    assert adapted.changed == ("added_bias",)
    assert adapted.trace.records[0].accepted


def test_the_example_of_the_page_prints_what_the_page_says(capsys):
    """Figures in docs come from a run."""
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n```\n(.*?)```", page, re.DOTALL).groups()
    names = {}
    exec(compile(code, "docs/methods.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == len(printed.splitlines()) == 7
    for line, expected in zip(lines, printed.splitlines(), strict=True):
        assert line[:20] == expected[:20]
        assert float(line[20:]) == pytest.approx(float(expected[20:]), abs=0.01)
    (distilled,) = re.findall(r"```python\n(import numpy[^`]*Distil\(.*?)```", page, re.DOTALL)
    exec(compile(distilled, "docs/methods.md", "exec"), names)
    assert names["adapted"](names["inputs"]).shape == (600, 2)
