"""sqrl explain: which broken rules foretell wrong predictions."""

from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.printing import show, width
from sqrl._commands.reading import open_rows, selected
from sqrl._commands.writing import check_results, tell_written


def explain(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Rows with predictions and truth.")],
    prediction: Annotated[
        str, typer.Option(metavar="COLUMN", help="What a model said; stands in for the label.")
    ],
    truth: Annotated[str, typer.Option(metavar="COLUMN", help="What was right.")],
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How sure the model was.")
    ] = None,
    format: options.Formatted = options.Format.table,
    report: options.Report = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the cross-validation.")] = 0,
    images: options.Images = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
) -> None:
    """Say which broken rules foretell wrong predictions, and which right ones are doubtful."""
    import sqrl
    from sqrl._opening import Opening

    check_results(report)
    opening = Opening(engine="memory", separator=separator, encoding=encoding, images=images)
    rules = selected(path)
    (rows,) = open_rows(opening, rules, data)
    found = sqrl.explain(rules, rows, prediction=prediction, truth=truth, score=score, seed=seed)
    if report is not None:
        sqrl.write_report(found.violations, report, explanation=found)
    show(found.to_dict(), found.lines(width=width()), format)
    tell_written(report)
