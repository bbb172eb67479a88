"""A convolution with its normalisation in one: the same numbers and gradients as one by one."""

import pytest
import torch
from torch import nn
from torch.nn.functional import pad, relu6

from sqrl_paper.shared.efficientnet_lite import EfficientNetLite0, convolve
from sqrl_paper.shared.folded_norms import clip_in_place, fold


def layers(groups=1, seed=0):
    """A convolution without gradients, and a normalisation with statistics of its own."""
    torch.manual_seed(seed)
    conv = nn.Conv2d(4, 8, 3, padding=1, groups=groups, bias=False).double()
    norm = nn.BatchNorm2d(8).double().eval()
    conv.weight.requires_grad_(False)
    for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        tensor.data = 0.5 + torch.rand(8, dtype=torch.float64)
    norm.weight.data[::2] *= -1  # scales may be negative
    norm.bias.data += 2.0  # so that some results are above 6
    return conv, norm


def one_by_one(images, conv, norm, clip):
    plain = norm(conv(images))
    return relu6(plain) if clip else plain


def gradients(made, images, norm):
    weights = torch.linspace(-1, 1, made.numel(), dtype=made.dtype).reshape(made.shape)
    return torch.autograd.grad((made * weights).sum(), [images, norm.weight, norm.bias])


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("groups", [1, 4])
def test_folding_changes_neither_results_nor_gradients(clip, groups):
    """Of the images, the scale and the shift, clipped or not, each channel by itself or not."""
    conv, norm = layers(groups)
    images = 3 * torch.randn(5, 4, 6, 6, dtype=torch.float64)
    images.requires_grad_()
    made = fold(images, conv, norm, (1, 1), clip=clip)
    expected = one_by_one(images, conv, norm, clip)
    is_clipped = ((expected == 0) | (expected == 6)).double().mean()

    assert torch.allclose(made, expected)
    assert not clip or 0.1 < is_clipped < 0.9
    found = gradients(made, images, norm)
    for ours, theirs in zip(found, gradients(expected, images, norm), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9)


def test_no_gradient_is_computed_of_a_frozen_convolution():
    """That would be half of the work; torch's own way has it, by way of the scaled weights."""
    conv, norm = layers()
    images = torch.randn(2, 4, 6, 6, dtype=torch.float64)
    made = fold(images, conv, norm, (1, 1), clip=True)

    assert type(made.grad_fn).__name__ == "_FoldedBackward"


def test_a_scale_near_zero_keeps_its_gradient():
    """The result divided by it would say nothing: the plain way is taken."""
    conv, norm = layers()
    norm.weight.data[3] = 0.0
    images = torch.randn(2, 4, 6, 6, dtype=torch.float64).requires_grad_()
    found = gradients(fold(images, conv, norm, (1, 1), clip=True), images, norm)
    expected = gradients(one_by_one(images, conv, norm, True), images, norm)

    assert found[1][3] != 0
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9)


def test_a_convolution_that_adapts_has_a_gradient():
    """Where all parameters are adapted its weights are among them."""
    conv, norm = layers()
    conv.weight.requires_grad_()
    images = torch.randn(2, 4, 6, 6, dtype=torch.float64)
    of_fold, of_layers = (
        torch.autograd.grad(made.square().sum(), conv.weight)[0]
        for made in (
            fold(images, conv, norm, (1, 1), clip=True),
            one_by_one(images, conv, norm, True),
        )
    )

    assert torch.allclose(of_fold, of_layers)


def test_uneven_padding_passes_gradients_on():
    """A stride of 2 pads at one side only, before the convolution."""
    conv, norm = layers()
    conv.stride = (2, 2)
    images = torch.randn(2, 4, 6, 6, dtype=torch.float64).requires_grad_()
    made = convolve(images, conv, norm, clip=True)
    expected = relu6(norm(nn.functional.conv2d(pad(images, (0, 1, 0, 1)), conv.weight, stride=2)))

    assert torch.allclose(made, expected)
    for ours, theirs in zip(
        gradients(made, images, norm), gradients(expected, images, norm), strict=True
    ):
        assert torch.allclose(ours, theirs, rtol=1e-9)


def test_all_of_the_network_has_the_same_gradients_either_way():
    """Those of its 49 normalisation layers, with convolutions frozen or not."""
    torch.manual_seed(0)
    model = EfficientNetLite0(n_classes=5).double().eval()
    images = torch.randint(0, 256, (3, 3, 32, 32), dtype=torch.uint8)
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    chosen = [parameter for layer in norms for parameter in layer.parameters()]
    found = []
    for is_frozen in (False, True):
        for parameter in model.parameters():
            parameter.requires_grad_(not is_frozen)
        for parameter in chosen:
            parameter.requires_grad_()
        found.append(torch.autograd.grad(model(images).square().sum(), chosen))

    assert len(norms) == 49
    for plain, quick in zip(*found, strict=True):
        assert torch.allclose(plain, quick, rtol=1e-6, atol=1e-12)


def test_clipping_in_place_is_relu6():
    """Results and gradients, at the bounds too, in the memory of what is clipped."""
    values = torch.tensor([-1.0, 0.0, 0.5, 5.9, 6.0, 7.0], requires_grad=True)
    plain = values * 1
    place = plain.data_ptr()
    found = clip_in_place(plain)
    expected = relu6(values)
    weights = torch.arange(1.0, 7.0)

    assert found.data_ptr() == place
    assert torch.equal(found, expected)
    ours, theirs = (
        torch.autograd.grad((one * weights).sum(), values)[0] for one in (found, expected)
    )
    assert torch.equal(ours, theirs)
    assert ours.tolist() == [0, 0, 3, 4, 0, 0]


@pytest.mark.parametrize("is_training", [True, False])
def test_with_the_mini_batchs_own_statistics_gradients_are_torchs_too(is_training):
    """A normalisation in training mode, clipped in place after it."""
    conv, norm = layers()
    conv.weight.requires_grad_(not is_training)  # in evaluation mode: the plain way of folding
    norm.train(is_training)
    images = torch.randn(5, 4, 6, 6, dtype=torch.float64).requires_grad_()
    found = gradients(convolve(images, conv, norm, clip=True), images, norm)
    expected = gradients(one_by_one(images, conv, norm, True), images, norm)

    for ours, theirs in zip(found, expected, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9)
