"""The statistics of a mini-batch on tensors, for many rules at once, differentiable.

Those of counts take four tensors, those of values a tensor (rules, rows) and its weights; both give
a number for each rule, nan where it is undefined. Each has the name of its twin in `_stats`, which
is on numbers without a gradient.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

CountStatistic = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ValueStatistic = Callable[[Tensor, Tensor], Tensor]
F = TypeVar("F", bound=Callable[..., Any])

_COUNTS: dict[str, CountStatistic] = {}
_VALUES: dict[str, ValueStatistic] = {}


def tensor_statistic(name: str, *, of: Literal["values", "counts"] = "values") -> Callable[[F], F]:
    """Register the tensor form of a statistic that `sqrl.statistic` knows by the same name.

    >>> @tensor_statistic("spread")
    ... def spread(values, weights):
    ...     return values.amax(-1) - values.amin(-1)
    >>> "spread" in tensor_statistics("values")
    True
    """

    def register(function: F) -> F:
        if of == "values":
            _VALUES[name] = function
        else:
            _COUNTS[name] = function
        return function

    return register


def tensor_statistics(of: Literal["values", "counts"]) -> tuple[str, ...]:
    """The names of the statistics that have a tensor form."""
    return tuple(_VALUES if of == "values" else _COUNTS)


def value_statistic(name: str) -> ValueStatistic:
    """The tensor form of a statistic of values."""
    return _VALUES[name]


def count_statistic(name: str) -> CountStatistic:
    """The tensor form of a statistic of counts."""
    return _COUNTS[name]


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Numerator / denominator, nan and without a gradient where the denominator is zero.

    >>> ratio(torch.tensor([1.0, 1.0]), torch.tensor([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    defined = denominator != 0
    return torch.where(defined, numerator / torch.where(defined, denominator, 1.0), math.nan)


@tensor_statistic("f1", of="counts")
def f1(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """2 both / (body + head)."""
    return ratio(2.0 * both, body + head)


@tensor_statistic("f1_given", of="counts")
def f1_given(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """2 both / (body + both), where the body has rows."""
    return ratio(2.0 * both, torch.where(body > 0, body + both, 0.0))


@tensor_statistic("precision", of="counts")
def precision(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """Both / body."""
    return ratio(both, body)


@tensor_statistic("recall", of="counts")
def recall(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """Both / head."""
    return ratio(both, head)


@tensor_statistic("accuracy", of="counts")
def accuracy(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:
    """The share of rows where body and head agree."""
    return ratio(rows - body - head + 2.0 * both, rows)


@tensor_statistic("support", of="counts")
def support(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """Both / rows."""
    return ratio(both, rows)


@tensor_statistic("rate", of="counts")
def rate(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001
    """Body / rows: the share of rows where a formula holds."""
    return ratio(body, rows)


@tensor_statistic("lift", of="counts")
def lift(body: Tensor, head: Tensor, both: Tensor, rows: Tensor) -> Tensor:
    """How many times more often the head holds in the body than in all rows."""
    return ratio(both * rows, body * head)


@tensor_statistic("mean")
def mean(values: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean.

    >>> mean(torch.tensor([[1.0, 3.0]]), torch.tensor([[1.0, 1.0]])).tolist()
    [2.0]
    """
    return ratio((weights * values).sum(-1), weights.sum(-1))


@tensor_statistic("std")
def std(values: Tensor, weights: Tensor) -> Tensor:
    """The weighted standard deviation, of the rows as they are."""
    away = values - torch.nan_to_num(mean(values, weights))[..., None]
    variance = ratio((weights * away * away).sum(-1), weights.sum(-1))
    positive = variance > 0  # the slope of the root is infinite at zero
    root = torch.where(positive, variance, 1.0).sqrt()
    return torch.where(positive, root, torch.where(variance.isnan(), math.nan, 0.0))


@tensor_statistic("min")
def minimum(values: Tensor, weights: Tensor) -> Tensor:
    """The smallest value of the rows that are more likely in than out."""
    return -maximum(-values, weights)


@tensor_statistic("max")
def maximum(values: Tensor, weights: Tensor) -> Tensor:
    """The largest value of the rows that are more likely in than out."""
    counts = weights > 0.5
    largest = torch.where(counts, values, -math.inf).amax(-1)
    return torch.where(counts.any(-1), largest, math.nan)


@tensor_statistic("median")
def median(values: Tensor, weights: Tensor) -> Tensor:
    """The median of the rows that are more likely in than out."""
    counts = weights > 0.5
    ordered = torch.where(counts, values, math.inf).sort(-1).values
    n = counts.sum(-1, keepdim=True)
    middle = torch.cat([(n - 1).clamp(min=0) // 2, (n // 2).clamp(max=values.shape[-1] - 1)], -1)
    found = ordered.gather(-1, middle)
    known = n[..., 0] > 0
    # An infinite filler has no place in a mean, not even where the result is not used.
    return torch.where(known, torch.where(known[..., None], found, 0.0).mean(-1), math.nan)
