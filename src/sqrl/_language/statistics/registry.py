"""The names under which rules know the statistics of a mini-batch, and how each is computed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqrl._language.names import SEQUENCE_FUNCTIONS
from sqrl._language.statistics.arithmetic import Symbol
from sqrl.errors import SchemaError, unknown

Floats = NDArray[np.float64]
StatisticKind = Literal["values", "share", "counts", "cells"]
Lacking = Literal["torch", "sql", "p_value"]
F = TypeVar("F", bound=Callable[..., Any])

_RESERVED = {
    **SEQUENCE_FUNCTIONS,
    "rate": "the share of rows where a formula holds",
    "distance": "how far shares are from those of a reference",
}


@dataclass(frozen=True, slots=True, eq=False)
class BatchStatistic:
    """A statistic of mini-batches: its function, and what other compilers make of it.

    See `statistic` for what each field holds; `reasons` says why something is lacking.
    """

    name: str
    of: StatisticKind
    function: Callable[..., Any]
    share: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    sql: str | None = None
    reasons: Mapping[Lacking, str] = field(default_factory=dict)

    def __call__(self, *given: Floats) -> Floats:
        """The statistic of each mini-batch, nan where it is undefined or infinite.

        What comes back is checked: the function may be a user's own.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            result = np.asarray(self.function(*given), np.float64)
        if self.of == "values":
            shape = given[0].shape[:-1]
        elif self.of == "cells":
            shape = given[0].shape[:-2]
        else:
            shape = np.broadcast_shapes(*(np.shape(counts) for counts in given))
        if result.shape != shape:
            raise self._wrong_shape(result.shape, shape)
        return np.where(np.isfinite(result), result, np.nan)

    def _wrong_shape(self, found: tuple[int, ...], needed: tuple[int, ...]) -> SchemaError:
        if self.of == "values":
            given = f"{needed[0]} mini-batches"
            fix = "reduce the last axis, such as np.nanmean(values, axis=-1)"
        else:
            given = f"counts of shape {needed}"
            fix = "compute with each place of the counts by itself, such as both / body"
        return SchemaError(f"The statistic {self.name!r} gave shape {found} for {given}.", fix=fix)


_REGISTERED: dict[str, BatchStatistic] = {}


def statistic(
    name: str,
    *,
    of: Literal["values", "counts"] = "values",
    torch: Callable[..., Any] | None = None,
    sql: str | None = None,
    share: Callable[..., Any] | None = None,
    no_torch: str | None = None,
    no_sql: str | None = None,
    no_p_value: str | None = None,
) -> Callable[[F], F]:
    """Register a function as a statistic of a mini-batch that rules can name.

    A statistic of `values` takes an array (mini-batches, rows), nan where a row does not count,
    and gives a number for each mini-batch. A statistic of `counts` takes four arrays: how many rows
    are in the body, in the head, in both, and in the mini-batch. Undefined is nan. Functions are
    registered in Python only: a schema or rules file can name them, never define them.

    That is enough to learn and check. One of counts that only adds, subtracts, multiplies and
    divides also runs on tensors, in SQL, and has p-values. For others:

        torch   its twin on tensors: of (values, weights), each (rules, rows), or of four counts
        sql     an aggregate of `value` as DuckDB writes it; others are translated from that
        share   of counts: (trials, hits) of a share that it rises and falls with, tested exactly

    `no_torch`, `no_sql` and `no_p_value` say why there is none, for the person who asks for it.

    >>> @statistic("spread", sql="max(value) - min(value)", no_torch="nobody adapts by it")
    ... def spread(values):
    ...     return np.fmax.reduce(values, axis=-1) - np.fmin.reduce(values, axis=-1)
    >>> is_batch_statistic("spread")
    True
    """
    if not name.isidentifier():
        raise SchemaError(
            f"{name!r} cannot name a statistic.", fix="use letters, digits and underscores"
        )
    if name in _RESERVED:
        raise SchemaError(
            f"{name!r} is part of the language: {_RESERVED[name]}.",
            fix="choose another name",
        )
    given: dict[Lacking, str | None] = {"torch": no_torch, "sql": no_sql, "p_value": no_p_value}
    reasons = {lacking: reason for lacking, reason in given.items() if reason is not None}

    def register(function: F) -> F:
        add(BatchStatistic(name, of, function, share, torch, sql, reasons))
        return function

    return register


def add(made: BatchStatistic) -> None:
    """Register a statistic; the last one of a name counts."""
    _REGISTERED[made.name] = made


def batch_statistics() -> tuple[str, ...]:
    """The names of all statistics of a mini-batch, sorted."""
    return tuple(sorted(_REGISTERED))


def is_batch_statistic(name: str) -> bool:
    """Whether a rule may use `name` with `over`."""
    return name in _REGISTERED


def batch_statistic(name: str) -> BatchStatistic:
    """The statistic registered under `name`, with what is known of it."""
    if name not in _REGISTERED:
        raise unknown("statistic", name, batch_statistics())
    return _REGISTERED[name]


def ratio(numerator: Any, denominator: Any) -> Floats:
    """Numerator / denominator, nan where the denominator is zero.

    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    if isinstance(numerator, Symbol) or isinstance(denominator, Symbol):
        formula: Floats = numerator / denominator
        return formula
    undefined = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))
