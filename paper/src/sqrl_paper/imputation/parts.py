"""Parts: patients to learn from, to choose by and to test on, and what a model is given of them."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Table, as_table, shuffle_rows
from sqrl_paper.imputation.physionet import FEATURES, Series

SHARES = {"train": 0.7, "valid": 0.1}  # the rest is for testing
HIDDEN = 0.6

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The series of some patients, nan where nothing was observed, and what a model is given.

    Shapes: values and given (n_patients, n_hours, n_features).
    """

    values: Floats
    given: Bools

    @property
    def hidden(self) -> Bools:
        """What was observed and is not given."""
        return ~np.isnan(self.values) & ~self.given

    def inputs(self) -> tuple[Tensor, Tensor]:
        """What a model takes: the given values, zero elsewhere, and 1 where they are given."""
        known = np.where(self.given, self.values, 0.0)
        return single(known), single(self.given)

    def table(self) -> Table:
        """All that was observed, in raw units: a row for each patient and hour."""
        flat = self.values.reshape(-1, len(FEATURES))
        return as_table({name: flat[:, at] for at, name in enumerate(FEATURES)}, source="series")

    def fingerprint(self) -> str:
        """Hex digits that change with any value, and with what is given."""
        digest = hashlib.sha256(str(self.values.shape).encode())
        digest.update(np.ascontiguousarray(self.values).tobytes())
        digest.update(np.packbits(self.given).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Patients to learn from, of whom all is given; to choose by; and to test on."""

    train: Part
    valid: Part
    test: Part


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Units in which features are alike: a mean, a standard deviation and a range for each.

    Shapes: all (n_features,).
    """

    centres: Floats
    spreads: Floats
    ranges: Floats

    def standardised(self, values: Floats) -> Floats:
        """The values in standard deviations from the mean."""
        return (values - self.centres) / self.spreads


def split_series(series: Series, *, seed: int, hidden: float = HIDDEN) -> Parts:
    """The patients in three parts, 70, 10 and 20 in a hundred, drawn by the seed.

    Of those to choose by and to test on, this share of the observed values is hidden.
    """
    n = len(series.values)
    n_train, n_valid = (round(n * share) for share in SHARES.values())
    train, valid, test = np.split(shuffle_rows(n, seed=seed), [n_train, n_train + n_valid])
    return Parts(
        train=_part(series.values[train], hidden=0.0, seed=seed),
        valid=_part(series.values[valid], hidden=hidden, seed=seed + 1),
        test=_part(series.values[test], hidden=hidden, seed=seed + 2),
    )


def fit_scaling(part: Part) -> Scaling:
    """Mean, standard deviation and range of what is given of each feature.

    A feature that is never given, or always the same, is left in its own units.
    """
    flat = np.where(part.given, part.values, np.nan).reshape(-1, part.values.shape[-1])
    found = np.zeros((3, flat.shape[1]))
    for at, column in enumerate(flat.T):
        seen = column[~np.isnan(column)]
        if seen.size:
            found[:, at] = seen.mean(), seen.std(), np.ptp(seen)
    centres, spreads, ranges = found
    return Scaling(centres, np.where(spreads > 0, spreads, 1.0), np.where(ranges > 0, ranges, 1.0))


def _part(values: Floats, *, hidden: float, seed: int) -> Part:
    """The patients with a share of all their observed values hidden, whatever the values are."""
    places = np.flatnonzero(~np.isnan(values))
    n_hidden = round(hidden * places.size)
    given = np.zeros(values.size, np.bool_)
    given[places[shuffle_rows(places.size, seed=seed)[n_hidden:]]] = True
    return Part(values, given.reshape(values.shape))


def single(array: NDArray[np.generic]) -> Tensor:
    """The array as a tensor in single precision."""
    return torch.from_numpy(array.astype(np.float32))
