"""sqrl export: rules as SQL, as tests of dbt or as a pandera schema."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sqrl._commands import options
from sqrl._commands.options import option
from sqrl._commands.reading import selected
from sqrl._commands.results import tell_written
from sqrl.export import DIALECTS, TARGETS


def export(  # noqa: PLR0917
    path: options.Rules,
    to: Annotated[str, options.choice(lambda: TARGETS, help="What to write the rules as.")],
    output: Annotated[
        Path | None,
        option("PATH", "File to write, or folder for dbt; by default stdout.", "-o", "--output"),
    ] = None,
    table: Annotated[str, option("NAME", "Table that has the rows; for dbt a model.")] = "data",
    dialect: Annotated[
        str, options.choice(lambda: DIALECTS, help="SQL dialect of the database.")
    ] = DIALECTS[0],
    batch_column: Annotated[
        str | None, option("COLUMN", "Column that says which mini-batch a row belongs to.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        option("COLUMN", "Select the rows that break rules, and show this column; once for each."),
    ] = None,
    like: Annotated[
        Path | None, option("FILE", "Rows with the same columns, to see what these hold.")
    ] = None,
    prediction: options.Prediction = None,
    where: Annotated[
        str | None, option("FORMULA", "Export only such rules: 'kind in [sample, class]'.")
    ] = None,
    limit: Annotated[int, option("N", "Refuse to export more rules than this.", min=1)] = 1000,
) -> None:
    """Write rules as SQL, as tests of dbt or as a pandera schema, to run where the data lives.

    What is written finds what `sqrl check` finds.
    """
    chosen = selected(path)
    if where:
        chosen = chosen.filter(where)
    given: dict[str, Any] = {"like": like, "prediction": prediction, "limit": limit}
    given |= {"table": table, "dialect": dialect, "batch_column": batch_column}
    target = TARGETS[to]
    _refuse_rows(to, rows)
    target.check_output(output)
    made = target.export(chosen, rows=rows or (), **given)
    if isinstance(made, str):
        _write_text(made, output)
    else:
        assert target.folder is not None
        assert output is not None
        target.folder.write(output, made)
        typer.echo(f"wrote {len(made):,} {target.folder.files} to {output}", err=True)


def _write_text(text: str, output: Path | None) -> None:
    from sqrl._data.write_file import write_atomically

    if output is None:
        typer.echo(text, nl=False)
        return
    write_atomically(output, text.encode())
    tell_written(output)


def _refuse_rows(to: str, rows: list[str] | None) -> None:
    if rows and "rows" not in TARGETS[to].options:
        able = ", ".join(target.name for target in TARGETS.values() if "rows" in target.options)
        raise typer.BadParameter(f"is for --to {able}, not {to}.", param_hint="'--rows'")
