"""Which parameters adaptation changes, and that it changes nothing else."""

import pytest
import torch
from torch import nn

import sqrl
from adapt_models import (
    Size,
    bits,
    some_batches,
    with_batch_norm,
    with_layer_norm,
    with_neither,
)
from sqrl._adapt.objective import Objective
from sqrl._adapt.parameters import check, collect, configured, is_norm
from sqrl.errors import AdaptError


class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))


class PreNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(4), nn.Linear(4, 4)


EVERY = {"0.weight", "0.bias", "1.weight", "1.bias"}


@pytest.mark.parametrize(
    ("make", "choice", "expected"),
    [
        (with_batch_norm, "norm", {"1.weight", "1.bias"}),
        (with_batch_norm, "all", EVERY | {"2.weight", "2.bias"}),
        (with_batch_norm, ["0.bias", "*.weight"], {"0.bias", "0.weight", "1.weight", "2.weight"}),
        (with_layer_norm, "norm", {"1.weight", "1.bias"}),
        (with_layer_norm, "all", EVERY | {"3.weight", "3.bias"}),
        (with_layer_norm, "0.*", {"0.weight", "0.bias"}),
        (with_neither, "all", {"0.weight", "0.bias", "2.weight", "2.bias"}),
        (with_neither, "2.*", {"2.weight", "2.bias"}),
    ],
)
def test_exactly_the_parameters_asked_for_change(make, choice, expected):
    """With BatchNorm, LayerNorm or neither; the user's model stays, reset brings it back."""
    model = make().train()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    before = bits(model)

    adapted = sqrl.adapt(model, some_batches(), Size(), parameters=choice, guard=False, epochs=2)

    assert set(adapted.changed) == expected
    assert bits(model) == before
    assert not any(layer.training for layer in adapted.modules())
    adapted.reset()
    assert adapted.changed == ()
    assert bits(adapted.model)[0] == before[0]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.BatchNorm1d(4), True),
        (nn.BatchNorm2d(4), True),
        (nn.SyncBatchNorm(4), True),
        (nn.InstanceNorm2d(4, affine=True), True),
        (nn.GroupNorm(2, 4), True),
        (nn.LayerNorm(4), True),
        (nn.RMSNorm(4), True),
        (LlamaRMSNorm(), True),
        (nn.Linear(4, 4), False),
        (nn.Sequential(), False),
    ],
)
def test_layers_that_normalise_are_known_by_class_or_by_name(layer, expected):
    """Layers of other libraries are named after what they do."""
    assert is_norm(layer) == expected


def test_only_a_layers_own_parameters_count_as_its_norm():
    """A block called PreNorm does not make its linear layer a normalisation."""
    assert list(collect(PreNorm(), "norm")) == ["norm.weight", "norm.bias"]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_a_scripted_models_layers_are_known_too():
    """TorchScript hides the class and keeps its name."""
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)))

    assert list(collect(scripted, "norm")) == ["1.weight", "1.bias"]


def test_a_model_without_normalisation_is_answered_with_what_to_do():
    """The message names the other choices, and some of the model's own parameters."""
    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_neither(), some_batches(), Size())

    assert str(caught.value) == (
        "The model has no normalisation layers.\n"
        '  where: parameters="norm"\n'
        "  fix:   pass parameters='all' or a pattern of names; there are 0.weight, 0.bias,"
        " 2.weight, 2.bias"
    )


def test_layers_without_parameters_are_told_apart_from_no_layers():
    """affine=False leaves nothing to learn."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False))

    with pytest.raises(AdaptError, match="normalisation layers have no parameters"):
        check(model, "norm", collect(model, "norm"))


def test_a_pattern_that_fits_nothing_is_answered_with_the_nearest_name():
    """A typo costs one read of the message."""
    with pytest.raises(AdaptError) as caught:
        sqrl.adapt(with_neither(), some_batches(), Size(), parameters=["0.*", "2.wieght"])

    assert str(caught.value) == (
        "No parameter of the model is called '2.wieght'.\n"
        "  where: parameters=\n"
        "  fix:   did you mean '2.weight'?"
    )


def test_a_model_without_any_parameters_is_refused():
    """There is nothing to adapt, and the message says what else there is."""
    with pytest.raises(AdaptError, match="has no parameters to adapt"):
        sqrl.adapt(nn.Sequential(nn.Tanh()), some_batches(), Size(), parameters="all")


def test_whole_numbers_cannot_be_adapted():
    """Quantised weights have no gradient."""
    model = nn.Linear(2, 2)
    model.scale = nn.Parameter(torch.ones(2, dtype=torch.int32), requires_grad=False)

    with pytest.raises(AdaptError, match=r"'scale' holds whole numbers \(torch.int32\)"):
        check(model, "all", collect(model, "all"))


def test_gradients_are_asked_for_only_meanwhile():
    """Flags come back even when something is raised."""
    model = with_batch_norm()
    model[0].weight.requires_grad_(False)
    before, during = [value.requires_grad for value in model.parameters()], []

    def interrupt():
        with configured(model, collect(model, "norm")):
            during.extend(value.requires_grad for value in model.parameters())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()

    assert during == [False, False, True, True, False, False]
    assert [value.requires_grad for value in model.parameters()] == before


class Shifted(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model, self.shift = model, nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return self.model(x) + self.shift


class Shift(Size):
    parameters_pattern = "shift"

    def wrap(self, model):
        return Shifted(model)


def test_an_objectives_own_parameters_are_the_default():
    """A method that wraps the model in a parameter adapts that one unless told otherwise."""
    model = with_neither()

    assert sqrl.adapt(model, some_batches(), Shift(), epochs=1).changed == ("shift",)
    assert sqrl.adapt(model, some_batches(), 2 * Shift(), epochs=1).changed == ("shift",)
    chosen = sqrl.adapt(model, some_batches(), Shift(), epochs=1, parameters="0.bias")
    assert chosen.changed == ("model.0.bias",)  # the pattern speaks of the user's own names


def test_a_parameter_that_two_layers_share_is_adapted_once():
    """Tied weights stay tied."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight

    adapted = sqrl.adapt(model, some_batches(), Size(), parameters="all", epochs=1)

    assert adapted.model[0].weight is adapted.model[1].weight
    assert set(adapted.changed) == {"0.weight", "0.bias", "1.bias"}


def test_a_loss_that_does_not_depend_on_the_model_is_refused():
    """Instead of epochs that change nothing in silence."""

    class Detached(Objective):
        def forward(self, _batch, out, _context=None):
            return out.detach().square().mean()

    for mode in ("offline", "online"):
        with pytest.raises(AdaptError) as caught:
            sqrl.adapt(with_layer_norm(), some_batches(), Detached(), mode=mode)
        assert str(caught.value).splitlines()[:2] == [
            "The loss does not depend on the parameters chosen, so there is no gradient to follow.",
            "  where: 2 parameters: 1.weight, 1.bias",
        ]
