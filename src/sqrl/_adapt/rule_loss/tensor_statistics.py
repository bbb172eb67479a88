"""The statistics of a mini-batch on tensors, for many rules at once, differentiable.

Those of counts take four tensors, those of values a tensor (rules, rows) and its weights; both give
a number for each rule, nan where it is undefined. Statistics of counts that are plain arithmetic
run as they are; a statistic of values has a twin here, or brings one from where it is registered.
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from sqrl._language.statistics import batch_statistic, is_batch_statistic, values
from sqrl._language.statistics.arithmetic import COUNTS, compute, formula_of
from sqrl._language.tree import Name, Node, Number

TensorStatistic = Callable[..., Tensor]
F = TypeVar("F", bound=Callable[..., Any])


def tensor_statistic(name: str, *, of: Literal["values", "counts"] = "values") -> Callable[[F], F]:  # noqa: ARG001
    """Register the tensor form of a statistic that `sqrl.statistic` knows by the same name.

    One of values takes (values, weights), each (rules, rows); one of counts four counts.

    >>> @tensor_statistic("spread")
    ... def spread(values, weights):
    ...     return values.amax(-1) - values.amin(-1)
    """
    known = batch_statistic(name).function if is_batch_statistic(name) else name

    def register(function: F) -> F:
        _TWINS[known] = function
        return function

    return register


def tensor_form(name: str) -> TensorStatistic | None:
    """The statistic on tensors; None where there is none: see `why_no_tensor_form`."""
    statistic = batch_statistic(name)
    twin = statistic.torch or _TWINS.get(statistic.function) or _TWINS.get(name)
    if twin is not None or statistic.of == "values":
        return twin
    formula = formula_of(statistic.function)
    return None if formula is None else partial(_compute, formula)


def why_no_tensor_form(name: str) -> str:
    """Why a statistic has no form on tensors, or what would give it one."""
    reason = batch_statistic(name).reasons.get("torch")
    if reason is not None:
        return f"{name}(...) has no tensor form: {reason}"
    return f"{name}(...) has no tensor form; register one with sqrl.tensor_statistic({name!r})"


def _compute(formula: Node, *counts: Tensor) -> Tensor:
    """A statistic of counts from its formula."""
    named = dict(zip(COUNTS, counts, strict=True))

    def leaf(node: Node) -> Any:
        if isinstance(node, Name):
            return named[node.name]
        assert isinstance(node, Number)
        return node.value

    made: Tensor = compute(formula, leaf, lambda op, left, right: _OPERATORS[op](left, right))
    return made


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Numerator / denominator, nan and without a gradient where the denominator is zero.

    >>> ratio(torch.tensor([1.0, 1.0]), torch.tensor([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    defined = denominator != 0
    return torch.where(defined, numerator / torch.where(defined, denominator, 1.0), math.nan)


def _dtype(number: Tensor | float) -> torch.dtype:
    return number.dtype if isinstance(number, Tensor) else torch.float64


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda top, bottom: ratio(top, torch.as_tensor(bottom, dtype=_dtype(bottom))),
}


def mean(numbers: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean.

    >>> mean(torch.tensor([[1.0, 3.0]]), torch.tensor([[1.0, 1.0]])).tolist()
    [2.0]
    """
    return ratio((weights * numbers).sum(-1), weights.sum(-1))


def std(numbers: Tensor, weights: Tensor) -> Tensor:
    """The weighted standard deviation, of the rows as they are."""
    away = numbers - torch.nan_to_num(mean(numbers, weights))[..., None]
    variance = ratio((weights * away * away).sum(-1), weights.sum(-1))
    positive = variance > 0  # the slope of the root is infinite at zero
    root = torch.where(positive, variance, 1.0).sqrt()
    return torch.where(positive, root, torch.where(variance.isnan(), math.nan, 0.0))


def minimum(numbers: Tensor, weights: Tensor) -> Tensor:
    """The smallest value of the rows that are more likely in than out."""
    return -maximum(-numbers, weights)


def maximum(numbers: Tensor, weights: Tensor) -> Tensor:
    """The largest value of the rows that are more likely in than out."""
    counts = weights > 0.5
    largest = torch.where(counts, numbers, -math.inf).amax(-1)
    return torch.where(counts.any(-1), largest, math.nan)


def median(numbers: Tensor, weights: Tensor) -> Tensor:
    """The median of the rows that are more likely in than out."""
    counts = weights > 0.5
    ordered = torch.where(counts, numbers, math.inf).sort(-1).values
    n = counts.sum(-1, keepdim=True)
    middle = torch.cat([(n - 1).clamp(min=0) // 2, (n // 2).clamp(max=numbers.shape[-1] - 1)], -1)
    found = ordered.gather(-1, middle)
    known = n[..., 0] > 0
    # An infinite filler has no place in a mean, not even where the result is not used.
    return torch.where(known, torch.where(known[..., None], found, 0.0).mean(-1), math.nan)


# By the function on arrays, or by a name for which no function is registered yet: a name may have
# been given to another function since.
_TWINS: dict[object, TensorStatistic] = {
    values.mean: mean,
    values.std: std,
    values.minimum: minimum,
    values.maximum: maximum,
    values.median: median,
}
