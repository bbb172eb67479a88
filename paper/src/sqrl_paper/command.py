"""sqrl bench: the paper's tables on real data."""

from pathlib import Path
from typing import Annotated

import typer

from sqrl.commands import (
    Bar,
    Format,
    Formatted,
    Quiet,
    check_writable,
    show,
    tell_written,
    width,
    write_atomically,
)
from sqrl.errors import OutputError


def bench(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="cardio, detection, imagenet-x, imputation, sentiment or train."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the data sets; by default SQRL_DATA or ./data."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Take small sizes, and made-up data if there is none.")
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many times to split and train.")
    ] = 3,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of processes; by default one for each core."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write all results: .json."),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw a rule and what it mended: .png or .svg."),
    ] = None,
    format: Formatted = Format.table,
    quiet: Quiet = False,
) -> None:
    """Run one of the paper's tasks on real data, and print its tables beside the paper's.

    Or `train`: models trained by rules without a label, beside other ways.

    Finished runs are kept (in SQRL_CACHE, or your cache folder): after Ctrl-C the same command
    goes on where it was.
    """
    import msgspec

    from sqrl_paper.bench import load_task, run_bench
    from sqrl_paper.results import n_cores
    from sqrl_paper.terminal import lines_of

    _check_paths(output, figure)
    chosen = load_task(task)
    with Bar(quiet=quiet) as bar:
        found = run_bench(
            task,
            folder=data,
            quick=quick,
            seeds=range(seeds),
            n_workers=1 if quick else workers or n_cores(),
            track=bar,
        )
    if output is not None:
        text = msgspec.json.format(msgspec.json.encode(found), indent=1)
        write_atomically(output, text + b"\n")
    if figure is not None:
        chosen.draw(found, figure)
    show(found, lines_of(chosen, found, width=width()), format)
    tell_written(output, figure)


def _check_paths(output: Path | None, figure: Path | None) -> None:
    """Raise before any work where a result could not be written."""
    allowed: list[tuple[Path | None, str, tuple[str, ...]]] = [
        (output, "Results", (".json",)),
        (figure, "A figure", (".png", ".svg")),
    ]
    for path, what, suffixes in allowed:
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise OutputError(
                f"{what} cannot be written as '{path.suffix}'.",
                where=str(path),
                fix=f"end the name in {' or '.join(suffixes)}",
            )
        check_writable(path)
