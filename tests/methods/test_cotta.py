"""CoTTA by hand: labels of the teacher, its moving average, weights that are restored."""

import math

import pytest
import torch
from torch import nn

from sqrl import Batches, adapt
from sqrl._adapt.objective import Context
from sqrl.errors import AdaptError
from sqrl.methods import CoTTA, TableNoise
from sqrl.methods.cotta import restored


def context(run=lambda batch: batch, source=None, seed=0):
    return Context(run, source or run, torch.Generator().manual_seed(seed))


def same(batch, _generator):
    return batch


def network():
    torch.manual_seed(0)
    layers = nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)
    return nn.Sequential(*layers).eval()


def inputs(n=60):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(1)) * 3 + 2


def test_a_gradient_is_the_slope_of_the_objective():
    """The labels are constants."""
    generator = torch.Generator().manual_seed(0)
    batch, out = (torch.randn(5, 3, generator=generator).double() for _ in range(2))

    def value(out):
        return CoTTA(same, n=2)(batch, out, context())

    assert torch.autograd.gradcheck(value, out.requires_grad_())


def test_rows_that_the_source_is_sure_of_are_not_augmented():
    """The others are labelled by the average over augmentations: here (0.9, 0.1) and (0.3, 0.7)."""
    views = iter([torch.tensor([[0.9, 0.1]] * 2).log(), torch.tensor([[0.3, 0.7]] * 2).log()])
    source = torch.tensor([[0.95, 0.05], [0.91, 0.09]]).log()
    teacher = torch.tensor([[0.2, 0.8], [0.2, 0.8]]).log()
    out = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    cotta = CoTTA(lambda *_: next(views), n=2)
    found = cotta(teacher, out, context(source=lambda _: source))
    sure, unsure = math.log(2), -0.6 * math.log(0.25) - 0.4 * math.log(0.75)

    assert float(found) == pytest.approx((sure + unsure) / 2)


def test_the_teacher_is_the_moving_average_of_the_model():
    """0.75 of what it was and 0.25 of what the step before has led to; at first the source."""
    model = nn.Linear(1, 2, bias=False)
    nn.init.constant_(model.weight, 1.0)
    cotta, x = CoTTA(same, n=1, memory=0.75, restore=0), torch.ones(3, 1)
    cotta.wrap(model)
    weights = []
    for weight in (1.0, 5.0, 9.0):
        nn.init.constant_(model.weight, weight)
        cotta(x, model(x), context(model))
        weights.append(cotta._teacher["weight"][0].item())
        with torch.no_grad():
            cotta(x, model(x), context(model))  # somebody only looks

    assert weights == [1.0, 2.0, 3.75]
    assert model.weight[0].item() == 9.0


def test_labels_are_those_of_the_teacher_and_not_of_the_model():
    """A model that has moved far is pulled back to its average."""
    model = nn.Linear(1, 2, bias=False)
    nn.init.zeros_(model.weight)
    cotta, x = CoTTA(same, n=1, memory=1.0, restore=0), torch.ones(1, 1)
    cotta.wrap(model)
    cotta(x, model(x), context(model))
    with torch.no_grad():
        model.weight[0] = 2.0
    found = cotta(x, model(x), context(model, source=lambda x: x @ torch.zeros(1, 2)))
    p = torch.tensor([2.0, 0.0]).softmax(-1)

    assert found.item() == pytest.approx(float(-0.5 * p.log().sum()))


def test_a_share_of_weights_is_that_of_the_source():
    """All, none, or about as many as asked for; those left are as they are now."""
    now = {"a": nn.Parameter(torch.full((100, 100), 2.0))}
    source = {"a": torch.zeros(100, 100)}
    shares = []
    for share in (0.0, 0.2, 1.0):
        made = restored(now, source, share, torch.Generator().manual_seed(0))["a"]
        assert set(made.unique().tolist()) <= {0.0, 2.0}
        shares.append(float((made == 0).double().mean()))

    # four standard deviations of 10,000 draws
    assert shares == pytest.approx([0, 0.2, 1], abs=4 * math.sqrt(0.2 * 0.8 / 1e4))


def test_restored_weights_are_what_the_next_step_starts_from():
    """The output is made anew with them, so that the gradient is theirs."""
    model, x = nn.Linear(1, 2, bias=False), torch.ones(1, 1)
    nn.init.zeros_(model.weight)
    cotta = CoTTA(same, n=1, restore=1.0)
    cotta.wrap(model)
    cotta(x, model(x), context(model))
    nn.init.constant_(model.weight, 3.0)
    with torch.no_grad():
        model.weight[0] = -3.0
    value = cotta(x, model(x), context(model))
    value.backward()

    assert model.weight.detach().abs().max() == 0
    teacher = cotta._teacher["weight"].softmax(0)[:, 0]
    torch.testing.assert_close(model.weight.grad[:, 0], 0.5 - teacher)


def test_statistics_do_not_follow_augmented_rows():
    """Of a step two runs count, that before weights are restored and that after; none augmented."""
    model, x = network(), inputs()
    far = CoTTA(lambda batch, _: batch + 1000.0, n=3, confidence=1.0)
    adapted = adapt(model, [x], far, epochs=1)

    assert adapted.model[1].running_mean.abs().max() < 10


def test_the_same_seed_gives_the_same_model():
    """Augmentations and what is restored are drawn by the run's own generator."""
    model, x = network(), inputs()
    objective = CoTTA(TableNoise(), n=2, restore=0.3)
    made = [
        adapt(model, Batches(x, size=20), objective, epochs=3, seed=seed)(x) for seed in (1, 1, 2)
    ]

    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CoTTA(same, n=0), "CoTTA with 0 augmentations.\n  fix:   give n of at least 1"),
        (lambda: CoTTA(same, memory=2), "memory is 2.\n  fix:   give a number from 0 to 1"),
        (
            lambda: CoTTA(same)(torch.zeros(1, 2), torch.zeros(1, 2)),
            "CoTTA runs the model on augmented batches, and there is no model here to run.\n"
            "  fix:   use it through sqrl.adapt(model, batches, CoTTA(...)), or pass a context",
        ),
        (
            lambda: CoTTA(lambda x, _: x[:1])(torch.zeros(2, 2), torch.zeros(2, 2), context()),
            "The model gives the shape (2, 2), on augmented batches (1, 2).\n"
            "  fix:   let augment keep the number of rows and their order",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    """With what to do about it."""
    with pytest.raises(AdaptError) as caught:
        make()

    assert str(caught.value) == message
