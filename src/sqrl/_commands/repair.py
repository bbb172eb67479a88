"""sqrl repair: the nearest predictions that keep the rules."""

from pathlib import Path
from typing import Annotated

from sqrl._commands import options
from sqrl._commands.options import argument, option
from sqrl._commands.reading import refuse_empty, selected
from sqrl._commands.results import show, tell_written, width
from sqrl._data.given_path import given_path


def repair(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[Path, argument("DATA", "Rows with predictions.")],
    output: Annotated[
        Path, option("FILE", "Where to write repaired rows: .csv or .parquet.", "-o", "--output")
    ],
    prediction: options.Prediction = None,
    probabilities: options.Probabilities = None,
    columns: Annotated[
        list[str] | None,
        option("A,B", "Columns of numbers that a model predicted; they may change."),
    ] = None,
    format: options.Formatted = options.Format.table,
    images: options.Images = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
) -> None:
    """Move predictions to the nearest that keep the rules about single rows.

    Keeping every rule is not being right: this is what to beat, not what to trust.
    """
    from sqrl._data.formats import write_table
    from sqrl._repair.original_types import given_as
    from sqrl._repair.repair import repair as repair_rows

    _check_output(output, data, path)
    images = images and given_path(images)
    rows = given_as(data, separator=separator, encoding=encoding, images=images)
    refuse_empty(rows.table, data)
    found = repair_rows(
        selected(path),
        rows,
        prediction=prediction,
        probabilities=options.parse_probabilities(probabilities),
        columns=_split(columns),
    )
    write_table(found.table, output)
    show(found.to_dict(), found.lines(width=width()), format)
    tell_written(output)


def _check_output(output: Path, *inputs: Path) -> None:
    """Raise before any work where the rows could not be written, or only over what was read."""
    from sqrl._data.formats import check_table_suffix
    from sqrl._data.write_file import check_writable
    from sqrl.errors import OutputError

    for given in inputs:
        if output.exists() and given.exists() and output.samefile(given):
            raise OutputError(
                f"The output is the file that is read: {given}.",
                where=str(output),
                fix=f"name another, such as -o {given.stem}.repaired.csv",
            )
    check_table_suffix(output)
    check_writable(output)


def _split(given: list[str] | None) -> list[str] | None:
    names = [name.strip() for part in given or () for name in part.split(",")]
    return [name for name in names if name] or None
