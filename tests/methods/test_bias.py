"""Bias fits one number a class to an objective, and nothing else."""

from fnmatch import fnmatch

import pytest
import torch
from torch import nn

from rounding import rounding
from sqrl._adapt.rule_loss.loss import RuleLoss
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError
from sqrl.methods import Bias, Tent, Unadapted


def rules_of(*texts):
    return RuleSet.from_texts(texts)


def chances(batch, out):  # noqa: ARG001
    return {"y": out.softmax(-1)}


def test_bias_wraps_a_model_that_gives_the_same_outputs_at_first():
    """A bias of zero changes nothing, and it is the one parameter that its pattern finds."""
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    bias = Bias(Tent(), n_classes=3)
    wrapped, x = bias.wrap(model), torch.randn(4, 2)
    names = [name for name, _ in wrapped.named_parameters()]

    assert torch.equal(wrapped(x), model(x))
    assert [name for name in names if fnmatch(name, bias.parameters_pattern)] == ["added_bias"]
    assert len(names) == 5


def test_bias_minimises_the_given_objective():
    """By hand: the rate of class 1 is a half and may be 0.375; a bias brings it there."""
    rules = rules_of("0.125 <= rate(y = 1) <= 0.375 over 4")
    bias = Bias(RuleLoss(rules, chances), n_classes=2)
    model, x = bias.wrap(nn.Identity()), torch.zeros(4, 2)
    steps = torch.optim.SGD([model.added_bias], lr=0.02)  # one step moves the rate by 0.01
    before = bias(None, model(x))
    for _ in range(200):
        steps.zero_grad()
        bias(None, model(x)).backward()
        steps.step()
    rate = model(x).softmax(-1)[0, 1].item()

    assert before == 0.5
    assert rate == pytest.approx(0.375, abs=0.02)
    assert model.added_bias.sum().item() == pytest.approx(0, abs=rounding(2 * 200, 0.3))


def test_bias_is_guarded_by_what_its_objective_measures():
    """So that a guard on violations works; one that cannot measure stays without."""
    loss = RuleLoss(rules_of("0.125 <= rate(y = 1) <= 0.375 over 4"), chances)
    out = torch.zeros(4, 2)

    for objective, expected in ((loss, 1.0), (Tent() + 10 * loss, 10.0)):
        ((weight, term),) = Bias(objective, n_classes=2).rule_terms()
        assert weight == expected
        assert term.measure(None, out).share == 1.0
    assert list(Bias(Tent(), n_classes=2).rule_terms()) == []


def test_bias_takes_single_logits_and_other_outputs():
    """(rows,), (rows, 1) and outputs with `logits`."""
    single = Bias(Tent(), n_classes=1).wrap(nn.Identity())
    named = Bias(Tent(), n_classes=2).wrap(nn.Identity())
    with torch.no_grad():
        single.added_bias.fill_(1.0)
        named.added_bias.copy_(torch.tensor([1.0, 2.0]))

    assert single(torch.zeros(2)).tolist() == [1.0, 1.0]
    assert single(torch.zeros(2, 1)).tolist() == [[1.0], [1.0]]
    assert named({"logits": torch.zeros(1, 2), "loss": 3})["logits"].tolist() == [[1.0, 2.0]]


def test_bias_of_a_model_in_half_precision_is_in_single():
    """Steps of a thousandth would be lost in half."""
    wrapped = Bias(Tent(), n_classes=2).wrap(nn.Linear(2, 2).half())

    assert wrapped.added_bias.dtype == torch.float32


def test_bias_refuses_what_does_not_fit():
    """Another number of classes, or nothing to minimise."""
    with pytest.raises(AdaptError) as other:
        Bias(Tent(), n_classes=3).wrap(nn.Identity())(torch.zeros(4, 2))
    with pytest.raises(AdaptError) as nothing:
        Bias(Unadapted(), n_classes=2)

    assert str(other.value) == (
        "The model's output has the shape (4, 2), and the bias is for 3 classes.\n"
        "  fix:   write Bias(loss, n_classes=2)"
    )
    assert str(nothing.value) == (
        "Unadapted has nothing to minimise that a bias could be fitted to.\n"
        "  fix:   give an objective with steps, such as RuleLoss(...)"
    )
