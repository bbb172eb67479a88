"""SAR by hand: the worst weights nearby, the gradient there, and the way back to the source."""

import math

import pytest
import torch
from torch import nn

from sqrl import Batches, adapt
from sqrl._adapt.objective import Context
from sqrl.errors import AdaptError
from sqrl.methods import SAR, Tent
from sqrl.methods._parameters import Parameters


def context(run):
    return Context(run=run, source=run, generator=torch.Generator())


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 3)).double()


def inputs(n=20, seed=1):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(seed)).double()


def test_a_gradient_is_the_slope_of_the_objective():
    """Without a radius: the entropy of rows below the threshold, of which some are."""
    out = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).double() * 3
    sar = SAR(radius=0)

    assert 0 < float(sar(None, out)) < float(Tent()(None, out))
    assert torch.autograd.gradcheck(lambda out: sar(None, out), out.requires_grad_())


def test_the_step_goes_down_the_gradient_at_the_worst_weights_nearby():
    """w + radius g / ||g||, over all parameters together; the value too is that of there."""
    model, x = network(), inputs()
    sar = SAR(radius=0.1, threshold=1.0, recovery=0)
    sar.wrap(model)
    value = sar(x, model(x), context(model))
    found = torch.autograd.grad(value, list(model.parameters()))

    here = torch.autograd.grad(Tent()(x, model(x)), list(model.parameters()))
    norm = torch.cat([one.flatten() for one in here]).norm()
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), here, strict=True):
            parameter.add_(0.1 * gradient / norm)
    there = Tent()(x, model(x))

    torch.testing.assert_close(value, there)
    torch.testing.assert_close(found, torch.autograd.grad(there, list(model.parameters())))
    assert not torch.allclose(found[0], here[0])


def test_rows_are_chosen_by_the_weights_as_they_are():
    """Those reliable here are taken there, whether or not they still are."""
    model, x = network(), inputs()
    with torch.no_grad():
        rows = -(model(x).softmax(-1) * model(x).log_softmax(-1)).sum(-1)
    threshold = float(rows.median()) / math.log(3)
    sar = SAR(radius=0.5, threshold=threshold, recovery=0)
    sar.wrap(model)
    value = sar(x, model(x), context(model))
    taken = rows < threshold * math.log(3)
    here = -(model(x[taken]).softmax(-1) * model(x[taken]).log_softmax(-1)).sum() / len(x)
    gradients = torch.autograd.grad(here, list(model.parameters()))
    norm = torch.cat([one.flatten() for one in gradients]).norm()
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.add_(0.5 * gradient / norm)
        there = -(model(x[taken]).softmax(-1) * model(x[taken]).log_softmax(-1)).sum(-1)

    assert 0 < int(taken.sum()) < len(x)
    assert (there > threshold * math.log(3)).any()
    torch.testing.assert_close(value.detach(), there.sum() / len(x))


def test_a_model_that_collapses_is_set_back_to_the_source():
    """Where the moving average of the entropy is below the bound: no step, the first weights."""
    model, x = network(), inputs()
    sar = SAR(radius=0.01, threshold=1.0, recovery=0.5)
    sar.wrap(model)
    first = {name: value.detach().clone() for name, value in model.named_parameters()}
    assert sar(x, model(x), context(model)) > 0.5 * math.log(3)
    with torch.no_grad():
        model[3].bias[0] += 50  # all is called by the first class
    values = [float(sar(x, model(x), context(model)).detach()) for _ in range(20)]
    at = next(index for index, value in enumerate(values) if value == 0)

    # 0.9^n of log 3 and the like is left of the first average
    assert 1 <= at <= 10
    assert max(values[:at]) < 1e-9
    assert all(torch.equal(value, first[name]) for name, value in model.named_parameters())
    assert values[at + 1] > 0.5 * math.log(3)


def test_looking_changes_nothing():
    """Where no gradient is asked for, neither the model is run again nor anything remembered."""
    model, x = network(), inputs()
    sar = SAR()
    sar.wrap(model)
    with torch.no_grad():
        sar(x, model(x), None)

    assert sar._average is None


def test_the_model_has_its_own_weights_after_a_run_with_others():
    """Also where that run fails."""
    model = nn.Linear(1, 1, bias=False)
    known, weight = Parameters(model), model.weight
    made = known.run({"weight": torch.full((1, 1), 7.0)}, model, torch.ones(1, 1))
    with pytest.raises(ZeroDivisionError):
        known.run({"weight": torch.zeros(1, 1)}, lambda _: 1 / 0, None)

    assert made.item() == 7
    assert model.weight is weight


def test_half_precision_cannot_be_set_back_and_says_so():
    """The optimiser would step on from its own copy."""
    model = nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(4), nn.Linear(4, 2)).bfloat16()

    with pytest.raises(AdaptError) as caught:
        adapt(model, [torch.ones(4, 2).bfloat16()], SAR(threshold=1, recovery=1))
    assert str(caught.value) == (
        "Parameter '1.weight' is of torch.bfloat16, and cannot be set back.\n"
        "  fix:   adapt the model in single precision: model.float()"
    )


def test_it_runs_in_a_sum_and_twice():
    """What was remembered of one run has no part in the next."""
    model, x = network().float().eval(), inputs(90).float()
    objective = SAR(threshold=1.0, recovery=0.9) + 0.5 * Tent()
    made = [adapt(model, Batches(x, size=30), objective, epochs=3, lr=1e-2)(x) for _ in range(2)]

    assert torch.equal(*made)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SAR(radius=-1), "radius is -1.\n  fix:   give 0 or a number above it"),
        (
            lambda: SAR(recovery=2),
            "recovery is 2.\n  fix:   give a share of log C from 0 to 1",
        ),
        (
            lambda: SAR()(None, torch.tensor([[9.0, 0.0]], requires_grad=True)),
            "SAR runs the model with other weights, and there is no model here to run.\n"
            "  fix:   use it through sqrl.adapt(model, batches, SAR()), or give it a radius of 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    """With what to do about it."""
    with pytest.raises(AdaptError) as caught:
        make()

    assert str(caught.value) == message
