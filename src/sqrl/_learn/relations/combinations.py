"""Numbers that others add up to: combinations that vary far less than their parts.

`total - price * quantity - shipping`, `power - 230 * current`, `width - right + left`. Each number
is regressed on few others and products of two, step by step (orthogonal matching pursuit), on rows
without wild values; what is left must be narrow, also on held-out rows. Coefficients are rounded
as far as that costs nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sqrl._kernels.arrays import Bools, Floats
from sqrl._learn.relations.features import Feature

MOST_TERMS = 3
MOST_ROWS = 4_000  # to search on
MOST_NUMBERS = 60  # to search among
MOST_FOR_PRODUCTS = 16  # numbers of which products of two are tried
NARROW = 0.1  # of the spread of the number itself
EXACT = 1e-9
NOTHING = 1e-5  # of the spread of a number: nobody would mind
WORTH = 0.7  # a further term leaves at most so much of the spread
LOSES_NOTHING = 1.02  # in spread, by rounding coefficients
LEAST_ROWS = 50
MOST_DIGITS = 6
LARGEST = 1e60  # products of two, and their squares, are still numbers


@dataclass(frozen=True, slots=True)
class Term:
    """A number, or the product of two, by their places, and how often it counts."""

    places: tuple[int, ...]
    coefficient: float


@dataclass(frozen=True, slots=True)
class Combination:
    """A number less some terms; `ratio` is how its spread compares with the number's own."""

    target: int
    terms: tuple[Term, ...]
    ratio: float
    own: float  # the spread of the number itself

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left but rounding."""
        return self.ratio <= EXACT

    @property
    def tolerance(self) -> float:
        """A power of ten that is far above rounding and far below what the number varies by."""
        return float(f"1e{math.floor(math.log10(self.own * NOTHING))}")

    @property
    def places(self) -> frozenset[int]:
        """The numbers that it names."""
        return frozenset([self.target, *(place for term in self.terms for place in term.places)])

    @property
    def roundness(self) -> int:
        """How many digits the coefficients have: fewer are better to read."""
        return sum(_digits(term.coefficient) for term in self.terms)

    def text(self, names: Sequence[str]) -> str:
        """The combination as an expression of the language.

        >>> Combination(0, (Term((1, 2), 1.0), Term((3,), -2.5)), 0.0, 1.0).text("tpqs")
        't - p * q + 2.5 * s'
        """
        said = names[self.target]
        for term in self.terms:
            factors = [names[place] for place in term.places]
            size = abs(term.coefficient)
            if size != 1:
                factors.insert(0, f"{size:.{MOST_DIGITS}g}")
            said += f" {'-' if term.coefficient > 0 else '+'} {' * '.join(factors)}"
        return said


def find_combinations(features: Sequence[Feature], *, most: int) -> list[Combination]:
    """The narrowest combinations of these numbers, each about other columns than the rest.

    Cost: `MOST_TERMS` matrix products for each number, of `MOST_ROWS` rows and all its candidates.
    """
    search = _Search.over(features)
    found = [made for target in search.usable for made in search.regress(target)]
    found.sort(key=lambda made: (not made.is_exact, len(made.places), made.roundness, made.ratio))
    kept: list[Combination] = []
    for made in found:
        is_new = not any(other.places <= made.places for other in kept)
        if is_new and search.is_confirmed(made):
            kept.append(made)
    kept.sort(key=lambda made: made.ratio)
    return kept[:most]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Candidate terms on rows to search: each centred and scaled, 0 where it is missing."""

    features: Sequence[Feature]
    usable: list[int]
    values: Floats  # (numbers, rows), nan where missing or wild
    terms: list[tuple[int, ...]]
    scaled: Floats  # (terms, rows)

    @classmethod
    def over(cls, features: Sequence[Feature]) -> "_Search":
        """The search over these features, on the first rows of the sample."""
        values = np.array([_tame(feature.train[:MOST_ROWS]) for feature in features[:MOST_NUMBERS]])
        usable = [i for i, row in enumerate(values) if _spread(row) > 1 / LARGEST]
        terms: list[tuple[int, ...]] = [(i,) for i in usable]
        if len(usable) <= MOST_FOR_PRODUCTS:
            terms += list(combinations(usable, 2))
        made = [_scaled(np.prod(values[list(term)], axis=0)) for term in terms]
        return cls(features, usable, values, terms, np.array(made))

    def regress(self, target: int) -> Iterator[Combination]:
        """The number less the few terms that say most of it, if little is left."""
        y = self.values[target]
        allowed = np.array([target not in term for term in self.terms])
        chosen: list[tuple[int, ...]] = []
        left, own = y, _spread(y)
        for _ in range(MOST_TERMS):
            term = self._best(left, allowed, chosen)
            if term is None:
                break
            found = self._fit(target, [*chosen, term])
            if found is None or _spread(found[1]) > WORTH * _spread(left):
                break
            chosen, left = [*chosen, term], found[1]
            if _spread(left) <= EXACT * own:
                break
        if chosen and _spread(left) <= NARROW * own:
            yield self._rounded(target, self._pruned(target, chosen))

    def _best(
        self, left: Floats, allowed: Bools, chosen: list[tuple[int, ...]]
    ) -> tuple[int, ...] | None:
        """The term that goes most with what is left."""
        likeness = np.abs(self.scaled @ _scaled(left))
        likeness[~allowed] = -1
        for term in chosen:
            likeness[self.terms.index(term)] = -1
        best = int(np.argmax(likeness)) if likeness.size else -1
        return self.terms[best] if best >= 0 and likeness[best] > 0 else None

    def _fit(self, target: int, terms: list[tuple[int, ...]]) -> tuple[Floats, Floats] | None:
        """Coefficients by least squares, and what is left of each row."""
        columns = np.array([np.prod(self.values[list(term)], axis=0) for term in terms])
        y = self.values[target]
        known = ~np.isnan(y) & ~np.isnan(columns).any(axis=0)
        if known.sum() < LEAST_ROWS:
            return None
        middle = columns[:, known].mean(axis=1, keepdims=True)
        scale = columns[:, known].std(axis=1, keepdims=True)
        if not (scale > 0).all():
            return None
        design = ((columns[:, known] - middle) / scale).T
        fitted = np.linalg.lstsq(design, y[known] - y[known].mean(), rcond=None)[0]
        coefficients = fitted / scale[:, 0]
        return coefficients, y - coefficients @ columns

    def _pruned(self, target: int, terms: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The terms without those that others made needless."""
        found = self._fit(target, terms)
        assert found is not None
        limit = max(_spread(found[1]) * LOSES_NOTHING, EXACT * _spread(self.values[target]))
        for term in list(terms):
            fewer = [other for other in terms if other != term]
            without = self._fit(target, fewer) if fewer else None
            if without is not None and _spread(without[1]) <= limit:
                terms = fewer
        return terms

    def _rounded(self, target: int, terms: list[tuple[int, ...]]) -> Combination:
        """The combination with the roundest coefficients that leave as little."""
        found = self._fit(target, terms)
        assert found is not None
        coefficients, left = found
        own = _spread(self.values[target])
        limit = max(_spread(left) * LOSES_NOTHING, EXACT * own)
        columns = np.array([np.prod(self.values[list(term)], axis=0) for term in terms])
        for digits in range(1, MOST_DIGITS + 1):
            rounded = np.array([float(f"{value:.{digits}g}") for value in coefficients])
            remains = _spread(self.values[target] - rounded @ columns)
            if remains <= limit:
                break
        made = tuple(Term(t, float(c)) for t, c in zip(terms, rounded, strict=True) if c)
        return Combination(target, made, remains / own, own)

    def is_confirmed(self, made: Combination) -> bool:
        """Whether the combination is as narrow on held-out rows."""
        values = [feature.valid for feature in self.features]
        left = np.array(values[made.target], np.float64)
        for term in made.terms:
            with np.errstate(over="ignore", invalid="ignore"):
                left = left - term.coefficient * np.prod([values[i] for i in term.places], axis=0)
        own = _spread(_tame(values[made.target]))
        known = int((~np.isnan(left)).sum())
        return bool(made.terms) and known >= 10 and _spread(_tame(left)) <= 2 * NARROW * own


def _tame(values: Floats) -> Floats:
    """The values without those far beyond the usual: a few wild ones would decide every fit."""
    with np.errstate(invalid="ignore"):
        values = np.where(np.abs(values) <= LARGEST, values, np.nan)
    present = values[~np.isnan(values)]
    if present.size < 10:
        return np.full(values.shape, np.nan)
    low, high = _quantiles(present, 0.02, 0.98)
    reach = 2 * (high - low)
    with np.errstate(invalid="ignore"):
        return np.where((values >= low - reach) & (values <= high + reach), values, np.nan)


def _spread(values: Floats) -> float:
    """The range of the middle 98 % of the values; 0 where there are none."""
    present = values[~np.isnan(values)]
    if present.size < 10:
        return 0.0
    low, high = _quantiles(present, 0.01, 0.99)
    return high - low


def _quantiles(present: Floats, low: float, high: float) -> tuple[float, float]:
    at = np.array([int(low * (present.size - 1)), int(np.ceil(high * (present.size - 1)))])
    ordered = np.partition(present, at)
    return float(ordered[at[0]]), float(ordered[at[1]])


def _scaled(values: Floats) -> Floats:
    """Centred, of length 1, and 0 where missing."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros_like(values)
    middle = np.where(known, values - values[known].mean(), 0.0)
    length = float(np.sqrt((middle**2).sum()))
    return middle / length if length > 0 else np.zeros_like(values)


def _digits(value: float) -> int:
    return next(
        (n for n in range(1, MOST_DIGITS) if float(f"{value:.{n}g}") == value), MOST_DIGITS
    ) - (abs(value) == 1)
