"""A convolution, its normalisation and ReLU6 in one, quick where only the normalisation adapts.

With frozen statistics a normalisation is a scale and a shift of each channel, which the convolution
before it takes over. Left to torch the gradient of the scale then goes by way of the gradient of
the convolution's weights, which is half of all work on the way back; here it is read off the
convolution's own result.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d

MOST = 6.0  # what ReLU6 lets through
SMALLEST = 1e-3  # a scale below this loses too many digits when the result is divided by it


def fold(
    images: Tensor, conv: nn.Conv2d, norm: nn.BatchNorm2d, padding: tuple[int, int], *, clip: bool
) -> Tensor:
    """The images convolved and normalised by running statistics, clipped to [0, 6] if asked to."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    inverse = torch.rsqrt(norm.running_var + norm.eps)
    if _is_alone(conv, norm):
        result: Tensor = _Folded.apply(  # type: ignore[no-untyped-call]
            images, norm.weight, norm.bias, conv, (inverse, norm.running_mean), padding, clip
        )
        return result
    scale = norm.weight * inverse
    weight, shift = conv.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale
    plain = conv2d(images, weight, shift, conv.stride, padding, groups=conv.groups)
    return clip_in_place(plain) if clip else plain


def clip_in_place(values: Tensor) -> Tensor:
    """The values clipped to [0, 6], in their own memory.

    Torch's own ReLU6 keeps a copy of what was there before; the clipped values say as much.
    """
    if not values.requires_grad:
        return values.clamp_(0, MOST)
    clipped: Tensor = _Clipped.apply(values)  # type: ignore[no-untyped-call]
    return clipped


def _is_alone(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> bool:
    """Whether gradients are wanted of the normalisation and not of the convolution."""
    if not torch.is_grad_enabled() or conv.weight.requires_grad:
        return False
    if not (norm.weight.requires_grad and norm.bias.requires_grad):
        return False
    return bool(norm.weight.detach().abs().min() >= SMALLEST)


class _Clipped(torch.autograd.Function):
    """What `clip_in_place` does."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        values.clamp_(0, MOST)
        ctx.mark_dirty(values)
        ctx.save_for_backward(values)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        made: Tensor = torch.ops.aten.hardtanh_backward(gradient, *ctx.saved_tensors, 0.0, MOST)
        return made


class _Folded(torch.autograd.Function):
    """What `fold` does, where weights of the convolution have no gradient.

    The result y is scale * x + bias, for x normalised to mean 0 and variance 1. So the gradient of
    the scale is the sum of g x = g (y - bias) / scale. Where y was clipped g is 0, so that the
    clipped result will do, and nothing else has to be kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        images: Tensor,
        scale: Tensor,
        bias: Tensor,
        conv: nn.Conv2d,
        statistics: tuple[Tensor, Tensor],
        padding: tuple[int, int],
        clip: bool,
    ) -> Tensor:
        inverse, mean = statistics
        factor = scale * inverse
        weight = conv.weight * factor[:, None, None, None]
        made = conv2d(
            images, weight, bias - mean * factor, conv.stride, padding, (1, 1), conv.groups
        )
        if clip:
            made.clamp_(0, MOST)
        ctx.save_for_backward(images, weight, made, scale, bias)
        ctx.options = conv.stride, padding, conv.groups, clip
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        images, weight, made, scale, bias = ctx.saved_tensors
        stride, padding, groups, clip = ctx.options
        if clip:
            gradient = torch.ops.aten.hardtanh_backward(gradient, made, 0.0, MOST)
        of_bias = gradient.sum((0, 2, 3))
        of_images = None
        if ctx.needs_input_grad[0]:
            of_images = torch.ops.aten.convolution_backward(
                gradient,
                images,
                weight,
                None,
                stride,
                padding,
                (1, 1),
                False,
                (0, 0),
                groups,
                (True, False, False),
            )[0]
        # After clipping the gradient is a tensor of our own, and its memory can be used again.
        product = gradient.mul_(made) if clip else gradient * made
        of_scale = (product.sum((0, 2, 3)) - bias * of_bias) / scale
        return of_images, of_scale, of_bias, None, None, None, None
