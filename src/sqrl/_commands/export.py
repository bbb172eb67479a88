"""sqrl export: rules as SQL, as tests of dbt or as a pandera schema."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqrl._commands import options
from sqrl._commands.reading import selected
from sqrl._commands.writing import tell_written

if TYPE_CHECKING:
    from sqrl._rules.ruleset import RuleSet


class Target(StrEnum):
    """What rules are exported to."""

    sql = "sql"
    dbt = "dbt"
    pandera = "pandera"


class Dialect(StrEnum):
    """Of which database the SQL is."""

    duckdb = "duckdb"
    spark = "spark"
    bigquery = "bigquery"
    snowflake = "snowflake"
    postgres = "postgres"


def export(  # noqa: PLR0917
    path: options.Rules,
    to: Annotated[Target, typer.Option(help="What to write.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="A file, or dbt's folder; else stdout."
        ),
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="Where the rows are; for dbt a model.")
    ] = "data",
    dialect: Annotated[Dialect, typer.Option(help="Of the database.")] = Dialect.duckdb,
    batch_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What tells mini-batches apart, for rules about them."),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="SQL of the rows that break rules, known by this; repeatable."
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows with the same columns, to see what these hold."),
    ] = None,
    prediction: options.Prediction = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="FORMULA", help="Only such rules: 'kind in [sample, class]'."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Refuse more rules than this.")
    ] = 1000,
) -> None:
    """Write rules as SQL, as tests of dbt or as a pandera schema, to run where the data lives.

    What is written finds what `sqrl check` finds.
    """
    chosen = selected(path)
    if where:
        chosen = chosen.filter(where)
    given: dict[str, Any] = {"like": like, "prediction": prediction, "limit": limit}
    if to != Target.pandera:
        given |= {"table": table, "dialect": dialect.value, "batch_column": batch_column}
    _refuse_rows(to, rows)
    if to == Target.dbt:
        _write_dbt(chosen, output, given)
    else:
        _write_text(_text(chosen, to, rows, given), output)


def _text(rules: "RuleSet", to: Target, rows: list[str] | None, given: dict[str, Any]) -> str:
    from sqrl import export as exports

    if to == Target.pandera:
        return exports.to_pandera(rules, **given)
    return exports.to_sql(rules, rows=rows or (), **given)


def _write_text(text: str, output: Path | None) -> None:
    from sqrl._data.write_file import write_atomically

    if output is None:
        typer.echo(text, nl=False)
        return
    write_atomically(output, text.encode())
    tell_written(output)


def _write_dbt(rules: "RuleSet", output: Path | None, given: dict[str, Any]) -> None:
    from sqrl.errors import OutputError
    from sqrl.export import to_dbt
    from sqrl.export._dbt import PREFIX
    from sqrl.export._folder import check_folder, write_folder

    if output is None:
        what = "Tests of dbt are written to a folder, and none was named."
        raise OutputError(what, fix="name one, such as -o tests/sqrl")
    check_folder(output, prefix=PREFIX)
    files = to_dbt(rules, **given)
    write_folder(output, files, prefix=PREFIX)
    typer.echo(f"wrote {len(files):,} tests to {output}", err=True)


def _refuse_rows(to: Target, rows: list[str] | None) -> None:
    if rows and to != Target.sql:
        raise typer.BadParameter(f"is for --to sql, not {to}.", param_hint="'--rows'")
