"""The same bounds and counts by DuckDB, in SQL that is written to be quick."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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

FORMULAS = {  # of sqrl's schema `detection`, in float64 as there
    "width": "right_ - left_",
    "height": "bottom_ - top_",
    "aspect_ratio": "(right_ - left_) / nullif(bottom_ - top_, 0)",
    "area": "(right_ - left_) * (bottom_ - top_)",
    "x_center": "(left_ + right_) / 2",
    "y_bottom": "bottom_",
}


def connect(files: Sequence[str], scratch: Path, *, memory: int, threads: int) -> Any:
    """A connection with the view `boxes`, of the class and the six statistics."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{memory // 2**20}MiB'")
    connection.execute(f"SET threads = {threads}")
    connection.execute(f"SET temp_directory = '{scratch / 'duckdb'}'")
    connection.execute("SET preserve_insertion_order = false")
    sides = ", ".join(f'"{side}"::DOUBLE AS {side}_' for side in ("left", "top", "right", "bottom"))
    made = ", ".join(f"{formula} AS {name}" for name, formula in FORMULAS.items())
    listed = ", ".join(f"'{file}'" for file in files)
    connection.execute(f"CREATE VIEW data AS SELECT * FROM read_parquet([{listed}])")
    connection.execute(
        f"CREATE VIEW boxes AS SELECT type, {made} FROM (SELECT type, {sides} FROM data)"
    )
    return connection


def bounds(connection: Any, *, at_once: bool) -> tuple[Plain, Bucketed]:
    """The quantiles that the 252 rules are made of.

    `at_once` asks for as many as a query can have, which holds the values of all of them in memory;
    else each query is about one statistic.
    """
    names = list(STATISTICS)
    together = [names] if at_once else [[name] for name in names]
    wanted = str([TAILS[0], *CUTS, TAILS[1]])
    plain: Plain = {}
    cuts: Cuts = {}
    for some in together:
        for word, *found in connection.execute(_quantiles(some, wanted, "type")).fetchall():
            for name, (lower, *between, upper) in zip(some, found, strict=True):
                plain[word, name], cuts[word, name] = [lower, upper], between
    bucketed: Bucketed = {}
    for by in names:
        others = [name for name in names if name != by]
        for some in [others] if at_once else [[name] for name in others]:
            query = _quantiles(some, str(list(TAILS)), f"type, {_bucket(by, cuts)}")
            for word, bucket, *found in connection.execute(query).fetchall():
                for name, pair in zip(some, found, strict=True):
                    empty: tuple[list[float], list[list[float]]] = (cuts[word, by], [[]] * 4)
                    bucketed.setdefault((word, by, name), (empty[0], list(empty[1])))
                    bucketed[word, by, name][1][bucket] = pair
    return plain, bucketed


def _quantiles(names: Sequence[str], wanted: str, groups: str) -> str:
    made = ", ".join(f"quantile_cont({name}, {wanted})" for name in names)
    return f"SELECT {groups}, {made} FROM boxes GROUP BY ALL"


def _bucket(by: str, cuts: Cuts) -> str:
    """The number of the bucket that a box is in, by the cut points of its class."""
    cases = " ".join(
        f"WHEN '{word}' THEN " + " + ".join(f"({by} > {_literal(cut)})::TINYINT" for cut in found)
        for (word, name), found in cuts.items()
        if name == by
    )
    return f"CASE type {cases} END"


def counts(connection: Any, rules: RuleSet) -> list[list[int]]:
    """How often each rule applies and is broken, in the order of the rules.

    Six queries, one for each statistic that is cut: each box is joined with the bounds of its class
    and bucket. Of the ways that were tried (a filter for each rule, a choice of bounds by CASE, by
    list, by join) it is the quickest by far.
    """
    ends, cuts = bounds_of(rules)
    found: Found = {key: [0, 0] for key in ends}
    for by in STATISTICS:
        for word, counted in connection.execute(_counts_query(by, ends, cuts)).fetchall():
            for name, (applicable, broken) in zip(STATISTICS, counted, strict=True):
                found[word, by, name][0] += applicable
                found[word, by, name][1] += broken
    return in_order(rules, found)


def _counts_query(by: str, ends: Ends, cuts: Cuts) -> str:
    """A row for each class and bucket of one statistic, with the counts for all six."""
    lines = []
    for word in sorted({word for word, *_ in ends}):
        for bucket in range(N_BUCKETS):
            pairs = [ends[word, by, name][bucket] for name in STATISTICS]
            bounds = ", ".join(_literal(bound) for pair in pairs for bound in pair)
            lines.append(f"('{word}', {bucket}::TINYINT, {bounds})")
    names = ", ".join(f"{name}_low, {name}_high" for name in STATISTICS)
    counted = ", ".join(
        f"[count({name}), count(*) FILTER (WHERE {name} < {name}_low OR {name} > {name}_high)]"
        for name in STATISTICS
    )
    return f"""
        SELECT type, [{counted}]
        FROM (SELECT *, {_bucket(by, cuts)} AS bucket FROM boxes)
        JOIN (VALUES {", ".join(lines)}) AS bounds(type, bucket, {names}) USING (type, bucket)
        GROUP BY type, bucket"""


def exported_counts(connection: Any, rules: RuleSet) -> list[list[int]]:
    """The same by the query that `sqrl export --to sql` makes."""
    from sqrl.export import to_sql

    rows = connection.execute(to_sql(rules, table="data", dialect="duckdb")).fetchall()
    return [[applicable, broken] for _, _, applicable, broken, *_ in rows]


def _literal(value: float) -> str:
    """A number that DuckDB reads as this very float64; without an exponent it is a decimal."""
    return f"{value:.17e}"
