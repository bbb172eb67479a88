"""The names under which rules know the statistics of a mini-batch."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqrl.errors import SchemaError, unknown

Floats = NDArray[np.float64]
ValueStatistic = Callable[[Floats], Floats]
CountStatistic = Callable[[Floats, Floats, Floats, Floats], Floats]
StatisticKind = Literal["values", "share", "counts"]
F = TypeVar("F", bound=Callable[..., Any])

_VALUES: dict[str, ValueStatistic] = {}
_COUNTS: dict[str, CountStatistic] = {}
_SHARES = ("rate",)


def statistic(name: str, *, of: Literal["values", "counts"] = "values") -> Callable[[F], F]:
    """Register a function as a statistic of a mini-batch that rules can name.

    A statistic of `values` takes an array (mini-batches, rows), nan where a row does not count,
    and gives a number for each mini-batch. A statistic of `counts` takes four arrays: how many rows
    are in the body, in the head, in both, and in the mini-batch. Undefined is nan. Functions are
    registered in Python only: a schema or rules file can name them, never define them.

    >>> @statistic("spread")
    ... def spread(values):
    ...     return np.fmax.reduce(values, axis=-1) - np.fmin.reduce(values, axis=-1)
    >>> is_batch_statistic("spread")
    True
    """
    if not name.isidentifier():
        raise SchemaError(
            f"{name!r} cannot name a statistic.", fix="use letters, digits and underscores"
        )
    if name in _SHARES:
        raise SchemaError(
            f"{name!r} is part of the language: the share of rows where a formula holds.",
            fix="choose another name",
        )

    def register(function: F) -> F:
        if of == "values":
            _COUNTS.pop(name, None)
            _VALUES[name] = function
        else:
            _VALUES.pop(name, None)
            _COUNTS[name] = function
        return function

    return register


def batch_statistics() -> tuple[str, ...]:
    """The names of all statistics of a mini-batch, sorted."""
    return tuple(sorted([*_VALUES, *_COUNTS, *_SHARES]))


def is_batch_statistic(name: str) -> bool:
    """Whether a rule may use `name` with `over`."""
    return name in _VALUES or name in _COUNTS or name in _SHARES


def statistic_kind(name: str) -> StatisticKind:
    """What the statistic is of: the rows' values, a formula's share, or a formula's counts."""
    if name in _SHARES:
        return "share"
    if name in _VALUES:
        return "values"
    if name in _COUNTS:
        return "counts"
    raise unknown("statistic", name, batch_statistics())


def value_statistic(name: str) -> ValueStatistic:
    """The statistic of values registered under `name`."""
    if name not in _VALUES:
        raise unknown("statistic", name, batch_statistics())
    return _VALUES[name]


def count_statistic(name: str) -> CountStatistic:
    """The statistic of counts registered under `name`."""
    if name not in _COUNTS:
        raise unknown("statistic", name, batch_statistics())
    return _COUNTS[name]
