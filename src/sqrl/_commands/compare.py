"""sqrl compare: two models or two dates on the same rules."""

from functools import partial
from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.ending import keeping_status
from sqrl._commands.options import FailOn, argument, option
from sqrl._commands.reading import open_rows, selected
from sqrl._commands.results import check_results, show, tell_written, width


def compare(  # noqa: PLR0917
    path: options.Rules,
    before: Annotated[str, argument("BEFORE", "Rows to check first.")],
    after: Annotated[str, argument("AFTER", "Rows to compare with them; may be the same file.")],
    prediction: options.Prediction = None,
    prediction_after: Annotated[
        str | None, option("COLUMN", "Prediction column of AFTER, where it has another name.")
    ] = None,
    format: options.Formatted = options.Format.table,
    fail_on: Annotated[
        FailOn, option(None, "Which rules broken more often make the exit status 1.")
    ] = FailOn.never,
    report: options.Report = None,
    level: options.Level = 0.01,
    batches: options.Batches = None,
    seed: options.BatchSeed = 0,
    top: options.Top = 10,
    images: options.Images = None,
    per_image: options.PerImage = False,
    rename: options.Rename = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare two models or two dates: which rules are broken more often, which less."""
    import sqrl
    from sqrl._opening import Opening
    from sqrl._progress import Bar
    from sqrl.report._text_check import comparison_lines

    opening = Opening(
        separator=separator,
        encoding=encoding,
        images=images,
        rename=options.parse_renamed(rename),
        per_image=per_image,
    )
    check_results(report, scanned=before if opening.is_scanned(before, after) else None)
    chosen = selected(path)
    rows = open_rows(opening, chosen, before, after)
    named = prediction, prediction if prediction_after is None else prediction_after
    how = partial(sqrl.check, chosen, level=level, batches=batches, seed=seed)
    with Bar(quiet=quiet) as bar:
        first = how(rows[0], prediction=named[0], track=bar)
        second = how(rows[1], prediction=named[1], track=bar)
    found = sqrl.compare(first, second)
    if report is not None:
        sqrl.write_report(second, report, compared=first)
    worse = (found.change > 0) & ~second.is_waived
    failed = (worse & found.significant).any() if fail_on == FailOn.significant else worse.any()
    status = int(bool(failed) and fail_on != FailOn.never)
    with keeping_status(status):
        show(found.to_dict(), comparison_lines(found, top=top, width=width()), format)
        tell_written(report)
    raise typer.Exit(status)
