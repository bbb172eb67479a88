"""sqrl export: rules as SQL, as tests of dbt or as a pandera schema."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqrl._commands import options
from sqrl._commands.reading import selected
from sqrl._commands.writing import tell_written
from sqrl.export import DIALECTS, TARGETS

if TYPE_CHECKING:
    from sqrl.export import Folder


def export(  # noqa: PLR0917
    path: options.Rules,
    to: Annotated[str, options.choice(lambda: TARGETS, help="What to write.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="A file, or dbt's folder; else stdout."
        ),
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="Where the rows are; for dbt a model.")
    ] = "data",
    dialect: Annotated[str, options.choice(lambda: DIALECTS, help="Of the database.")] = DIALECTS[
        0
    ],
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
        _write_folder(made, output, target.folder)


def _write_text(text: str, output: Path | None) -> None:
    from sqrl._data.write_file import write_atomically

    if output is None:
        typer.echo(text, nl=False)
        return
    write_atomically(output, text.encode())
    tell_written(output)


def _write_folder(files: Mapping[str, str], output: Path, folder: "Folder") -> None:
    from sqrl.export._folder import write_folder

    write_folder(output, files, folder)
    typer.echo(f"wrote {len(files):,} {folder.files} to {output}", err=True)


def _refuse_rows(to: str, rows: list[str] | None) -> None:
    if rows and "rows" not in TARGETS[to].options:
        able = ", ".join(target.name for target in TARGETS.values() if "rows" in target.options)
        raise typer.BadParameter(f"is for --to {able}, not {to}.", param_hint="'--rows'")
