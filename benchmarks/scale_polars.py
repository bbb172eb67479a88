"""The same bounds and counts by polars, in lazy queries that are written to be quick."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from scale_rules import (
    CUTS,
    N_BUCKETS,
    STATISTICS,
    TAILS,
    Bucketed,
    Cuts,
    Ends,
    Found,
    Plain,
    bounds_of,
    in_order,
)
from sqrl import RuleSet

Cut = dict[str, list[float]]  # of the statistics of a class


def boxes(files: Sequence[str]) -> Any:
    """A lazy frame of the class and the six statistics, in float64 as in sqrl's schema."""
    sides = ("left", "top", "right", "bottom")
    left, top, right, bottom = (pl.col(side).cast(pl.Float64) for side in sides)
    width, height = right - left, bottom - top
    return pl.scan_parquet(list(files)).select(
        "type",
        width=width,
        height=height,
        aspect_ratio=pl.when(height != 0).then(width / height),
        area=width * height,
        x_center=(left + right) / 2,
        y_bottom=bottom,
    )


def bounds(data: Any) -> tuple[Plain, Bucketed]:
    """The quantiles that the 252 rules are made of.

    The streaming engine reads class after class. It has no quantiles of its own, so these are of
    the rows in memory: of whole columns without gaps between chunks, which a quantile is selected
    from and need not be sorted for. Of the ways that were tried it is the quickest. Queries that
    group all classes by class and bucket take two to three times as long, with bounds that are
    chosen by `when` or joined, of the files or of rows in memory; all classes in memory, divided by
    `partition_by`, take as long and more memory.
    """
    plain: Plain = {}
    bucketed: Bucketed = {}
    words = data.select(pl.col("type").unique()).collect(engine="streaming")["type"].to_list()
    for word in words:
        rows = data.filter(pl.col("type") == word).drop("type").collect(engine="streaming")
        rows = rows.rechunk().lazy()
        whole = rows.select(_quantiles(STATISTICS, (TAILS[0], *CUTS, TAILS[1])))
        (found,) = whole.collect(engine="in-memory").rows()
        cuts: Cut = {}
        for name, (lower, *between, upper) in _each(STATISTICS, found).items():
            plain[word, name], cuts[name] = [lower, upper], between
        queries = [
            rows.group_by(_bucket(by, cuts[by]).alias("bucket")).agg(_quantiles(_others(by), TAILS))
            for by in STATISTICS
        ]
        frames = pl.collect_all(queries, engine="in-memory")
        for by, frame in zip(STATISTICS, frames, strict=True):
            for name in _others(by):
                bucketed[word, by, name] = cuts[by], [[] for _ in range(N_BUCKETS)]
            for bucket, *found in frame.drop_nulls("bucket").rows():
                for name, pair in _each(_others(by), found).items():
                    bucketed[word, by, name][1][bucket] = pair
    return plain, bucketed


def _others(by: str) -> list[str]:
    return [name for name in STATISTICS if name != by]


def _quantiles(names: Sequence[str], wanted: Sequence[float]) -> list[Any]:
    return [
        pl.col(name).quantile(share, "linear").alias(f"{name} {share}")
        for name in names
        for share in wanted
    ]


def _each(names: Sequence[str], found: Sequence[float]) -> dict[str, list[float]]:
    """The quantiles of each statistic, of those of all in a row."""
    n_each = len(found) // len(names)
    return {
        name: list(found[n_each * place : n_each * (place + 1)]) for place, name in enumerate(names)
    }


def _bucket(by: str, cuts: Sequence[float]) -> Any:
    """The number of the bucket that a box is in; null where the statistic is."""
    return sum((pl.col(by) > cut).cast(pl.Int8) for cut in cuts)


def counts(data: Any, rules: RuleSet) -> list[list[int]]:
    """How often each rule applies and is broken, in the order of the rules.

    A query for each class, all by the streaming engine: masks of the buckets of each statistic,
    then sums of what lies outside the bounds of its bucket. Of the ways that were tried (bounds of
    a class and bucket joined, looked up, chosen by `when`; all classes in one query or in memory)
    it is the quickest by far.
    """
    ends, cuts = bounds_of(rules)
    found: Found = {}
    for word in sorted({word for word, *_ in ends}):
        query = data.filter(pl.col("type") == word).with_columns(_masks(word, cuts))
        row = query.select(_sums(word, ends)).collect(engine="streaming").row(0)
        keys = [(word, by, name) for by in STATISTICS for name in STATISTICS]
        found |= {key: list(row[2 * place : 2 * place + 2]) for place, key in enumerate(keys)}
    return in_order(rules, found)


def _masks(word: str, cuts: Cuts) -> list[Any]:
    """Whether a box is in each bucket of each statistic."""
    made = []
    for by in STATISTICS:
        low, middle, high = cuts[word, by]
        value = pl.col(by)
        masks = [
            value <= low,
            (value > low) & (value <= middle),
            (value > middle) & (value <= high),
            value > high,
        ]
        made += [mask.alias(f"{by} {bucket}") for bucket, mask in enumerate(masks)]
    return made


def _sums(word: str, ends: Ends) -> list[Any]:
    """How often the rules of a class apply and are broken, one after the other."""
    made = []
    for by in STATISTICS:
        for name in STATISTICS:
            applies = pl.col(by).is_not_null() & pl.col(name).is_not_null()
            outside = [
                (pl.col(name) < lower) | (pl.col(name) > upper)
                for lower, upper in ends[word, by, name]
            ]
            broken = outside[0]
            if by != name:
                broken = reduce(
                    or_, (pl.col(f"{by} {place}") & out for place, out in enumerate(outside))
                )
            made += [applies.sum().alias(f"{by} {name} n"), broken.sum().alias(f"{by} {name}")]
    return made
