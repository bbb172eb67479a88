"""sqrl explain: which broken rules predict errors."""

from typing import Annotated

from sqrl._commands import options
from sqrl._commands.options import argument, option
from sqrl._commands.reading import open_rows, selected
from sqrl._commands.results import check_results, show, tell_written, width


def explain(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[str, argument("DATA", "Rows with predictions and the truth.")],
    prediction: Annotated[str, option("COLUMN", options.IN_PLACE)],
    truth: Annotated[str, option("COLUMN", "Column with what was right.")],
    score: Annotated[str | None, option("COLUMN", "Column with how sure the model was.")] = None,
    format: options.Formatted = options.Format.table,
    report: options.Report = None,
    seed: Annotated[int, option("N", "Random seed of the cross-validation.")] = 0,
    images: options.Images = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
) -> None:
    """Say which broken rules predict errors, and which right predictions are doubtful."""
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
