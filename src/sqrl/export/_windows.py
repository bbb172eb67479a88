"""Columns that follow from the rows before, as window functions of SQL."""

from collections.abc import Sequence

from sqlglot import exp


def followed(
    function: str,
    value: exp.Expression,
    n_rows: int,
    *,
    entity: Sequence[exp.Expression],
    order: Sequence[exp.Expression],
) -> exp.Expression:
    """`lag`, `delta` or `rolling_mean` of a value; NULL where the entity or the order is.

    Rows of an equal order come as the database likes.

    >>> columns = {"entity": [exp.column("who")], "order": [exp.column("day")]}
    >>> followed("lag", exp.column("x"), 2, **columns).sql("duckdb")  # doctest: +ELLIPSIS
    'CASE WHEN NOT who IS NULL AND NOT day IS NULL THEN LAG(x, 2) OVER (PARTITION BY who, ...
    """
    known = exp.and_(*(_is_known(key) for key in (*entity, *order)), copy=False)
    # Rows whose order is missing are nobody's row before: they are kept apart.
    apart = exp.Case().when(known.copy(), exp.Literal.number(1)).else_(exp.Literal.number(0))
    # Where none is NULL it does not matter which come first; but BigQuery takes nothing else.
    ordered = [exp.Ordered(this=key.copy(), nulls_first=True) for key in order]
    over = {
        "partition_by": [*(key.copy() for key in entity), apart],
        "order": exp.Order(expressions=ordered),
    }
    if function == "rolling_mean":
        rows = exp.WindowSpec(
            kind="ROWS",
            start=exp.Literal.number(n_rows - 1),
            start_side="PRECEDING",
            end="CURRENT ROW",
        )
        made: exp.Expression = exp.Window(this=exp.Avg(this=value), **over, spec=rows)
    else:
        lag = exp.Lag(this=value.copy(), offset=exp.Literal.number(n_rows))
        made = exp.Window(this=lag, **over)
        if function == "delta":
            made = exp.Paren(this=exp.Sub(this=value, expression=made))
    return exp.Case().when(known, made)


def _is_known(key: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null()))
