"""EATA by hand: which rows count and how much, the Fisher information, the average prediction."""

import math

import pytest
import torch
from torch import nn

from sqrl import Batches, adapt
from sqrl._adapt.objective import Context
from sqrl.errors import AdaptError
from sqrl.methods import EATA, SAR, Bias
from sqrl.methods._parameters import Parameters
from sqrl.methods.eata import fisher, moving_average, sample_weights

LOG_2 = math.log(2)


def context(run):
    return Context(run=run, source=run, generator=torch.Generator())


def logits(n=5, classes=3):
    made = torch.randn(n, classes, generator=torch.Generator().manual_seed(0)).double() * 3
    return made.requires_grad_()


def entropy_of(p):
    return -sum(one * math.log(one) for one in p if one)


def classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).eval()


def inputs(n=60):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(1)) * 3 + 2


def test_a_gradient_is_the_slope_of_the_objective():
    """With reliable rows and others; weights of rows are constants, so each row's is that of H."""
    out = logits()
    weights = sample_weights(out.detach().log_softmax(-1), None, 0.4, None)
    found = torch.autograd.grad(EATA()(None, out), out)[0]

    def fixed(out):
        log_p = out.log_softmax(-1)
        return -(weights * (log_p.exp() * log_p).sum(-1)).mean()

    assert 0 < int((weights > 0).sum()) < len(out)
    assert torch.autograd.gradcheck(fixed, out)
    torch.testing.assert_close(found, torch.autograd.grad(fixed(out), out)[0])


@pytest.mark.parametrize("p", [(0.95, 0.05), (0.99, 0.01), (0.8, 0.2), (0.5, 0.5)])
def test_reliable_rows_weigh_the_more_the_surer_they_are(p):
    """exp(0.4 log 2 - H) where that is above 1, and else nothing."""
    row = torch.tensor([p])
    by_hand = math.exp(0.4 * LOG_2 - entropy_of(p)) if entropy_of(p) < 0.4 * LOG_2 else 0

    assert float(sample_weights(row.log(), None, 0.4, None)) == pytest.approx(by_hand, rel=1e-5)


def test_rows_like_the_average_are_left_out():
    """cos((1, 0), (0.6, 0.8)) = 0.6 and cos((0, 1), ..) = 0.8, on either side of 0.7."""
    sure = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    log_p = sure.log().clamp(min=-1e30)
    weights = sample_weights(log_p, torch.tensor([0.6, 0.8]), 0.4, 0.7)

    assert weights.tolist() == pytest.approx([math.exp(0.4 * LOG_2), 0], rel=1e-5)


def test_two_classes_are_not_all_like_their_average():
    """The default margin follows the number of classes: 0.4 at 10, as the authors have it."""
    sure = torch.eye(2).log().clamp(min=-1e30)
    even = torch.tensor([0.5, 0.5])

    assert (sample_weights(sure, even, 0.4, None) > 0).all()
    assert (sample_weights(sure, even, 0.4, 0.4) == 0).all()


def test_the_average_prediction_moves_by_a_tenth_and_steps_only():
    """The first is taken as it is; what is not finite, or has no gradient, does not count."""
    eata, first = EATA(), torch.tensor([[0.9, 0.1]]).log()
    second = torch.tensor([[0.3, 0.7]]).log()
    eata(None, second)
    for out in (first, second, second * torch.nan):
        eata(None, out.clone().requires_grad_())

    assert eata._average.tolist() == pytest.approx([0.9 * 0.9 + 0.1 * 0.3, 0.9 * 0.1 + 0.1 * 0.7])
    assert moving_average(None, torch.tensor(math.nan)) is None


def test_the_fisher_information_is_the_mean_squared_gradient_of_single_rows():
    """For logits (0, w x) and a sure class 1: d(-log p) / dw = -(1 - p) x; class 0: p x."""
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, 0.5)
    x = torch.tensor([[2.0], [-1.0], [0.4]]).double()
    found = fisher(Parameters(model), [x], context(model), None)
    p = torch.sigmoid(0.5 * x)
    by_hand = torch.where(p > 0.5, (1 - p) * x, p * x).square().mean()

    assert found["weight"].item() == pytest.approx(by_hand.item())


def test_the_fisher_information_is_that_of_at_most_so_many_rows():
    """And of rows in several batches."""
    model = nn.Linear(1, 1, bias=False)
    x = torch.tensor([[1.0], [2.0], [3.0], [100.0]])
    few = fisher(Parameters(model), x.split(2), context(model), None, most=3)
    same = fisher(Parameters(model), [x[:3]], context(model), None)

    torch.testing.assert_close(few, same)


def test_moving_away_costs_the_fisher_information_times_the_square():
    """weight x sum of F (w - w0)^2, on top of the entropy of reliable rows."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 0.5)
    x = torch.tensor([[2.0], [-1.0]])
    eata = EATA([x], weight=3.0)
    eata.wrap(model)
    at_first = eata(x, model(x).detach(), context(model))
    information = eata._fisher["weight"].item()
    with torch.no_grad():
        model.weight += 0.25
    moved = eata(x, model(x).detach(), context(model)) - EATA()(x, model(x).detach())

    assert at_first == EATA()(x, torch.tensor([[1.0], [-0.5]]))
    assert moved.item() == pytest.approx(3 * information * 0.25**2, rel=1e-4)


def test_the_regulariser_keeps_parameters_near_the_source():
    """With a large weight they hardly move; training data leaves BatchNorm statistics alone."""
    model, x = classifier(), inputs()
    moved, means = [], []
    for weight in (0.0, 1e6):
        objective = EATA([2 * inputs(30) - 4], weight=weight, threshold=1.0, margin=1.0)
        adapted = adapt(model, Batches(x, size=30), objective, lr=1e-2, epochs=5)
        moved.append(float((adapted.model[1].bias - model[1].bias).detach().abs().mean()))
        means.append(adapted.model[1].running_mean)

    assert 0 < moved[1] < 0.5 * moved[0]
    torch.testing.assert_close(*means)


def test_training_data_that_is_empty_is_refused():
    """A generator that was read before, say."""
    with pytest.raises(AdaptError, match=r"^The batches of training data are empty\."):
        adapt(classifier(), [inputs()], EATA(iter(())))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: EATA(threshold=0),
            "threshold is 0.\n  fix:   give a share of log C above 0, at most 1",
        ),
        (lambda: EATA(margin=2), "margin is 2.\n  fix:   give a cosine above 0, at most 1"),
        (lambda: EATA(weight=-1), "weight is -1.\n  fix:   give 0 or a number above it"),
        (
            lambda: EATA([inputs()])(None, torch.zeros(1, 2)),
            "EATA compares a model with what it was, and there is no model here.\n"
            "  fix:   use it through sqrl.adapt(model, batches, EATA(...)), or without training=",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    """With what to do about it."""
    with pytest.raises(AdaptError) as caught:
        make()

    assert str(caught.value) == message


@pytest.mark.parametrize("method", [EATA([inputs()]), SAR(threshold=1.0)])
def test_a_bias_around_the_model_is_adapted_alone(method):
    """There are no parameters within to regularise, or to look around."""
    adapted = adapt(classifier(), [inputs()], Bias(method, 2), epochs=2)

    assert set(adapted.changed) == {"added_bias"}
