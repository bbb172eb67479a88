"""sqrl check: where data or predictions break rules."""

from pathlib import Path
from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.ending import keeping_status
from sqrl._commands.options import FailOnCheck, argument, option
from sqrl._commands.reading import open_reference, open_rows, selected
from sqrl._commands.results import check_results, show, tell_written, width
from sqrl._commands.rows import RowsAsked, rows_after, with_rows
from sqrl._commands.windows import HistoryAsked, rules_failed, window_after, with_window


def check(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[str, argument("DATA", "Rows to check: a file, a glob or a folder.")],
    prediction: options.Prediction = None,
    probabilities: options.Probabilities = None,
    format: options.CheckFormatted = options.CheckFormat.table,
    rows: Annotated[
        bool, option(None, "Also list the rows that break rules, each with a p-value.", "--rows")
    ] = False,
    fail_on: Annotated[
        FailOnCheck,
        option(
            None,
            "What ends with exit status 1: a significant change (with --history a new alarm), any"
            " broken rule, or rows beyond chance.",
        ),
    ] = FailOnCheck.significant,
    report: options.Report = None,
    reference: Annotated[
        Path | None, option("FILE", "Rows to draw behind the checked ones in the report.")
    ] = None,
    junit: Annotated[
        Path | None, option("FILE.xml", "Also write a test case for each rule, as JUnit XML.")
    ] = None,
    violations: Annotated[
        Path | None,
        option("FILE", "Also write the rows that break rules: .csv, .parquet or a folder."),
    ] = None,
    history: Annotated[
        Path | None,
        option("FOLDER", "Keep the check here, and fail on what all checks kept there say."),
    ] = None,
    at: Annotated[
        str | None,
        option("DATE", "The date of these rows; by default that in the file's name, or today."),
    ] = None,
    false_alarms: options.FalseAlarms = None,
    every: options.Every = None,
    level: options.Level = 0.01,
    batches: options.Batches = None,
    seed: options.BatchSeed = 0,
    top: options.Top = 10,
    images: options.Images = None,
    per_image: options.PerImage = False,
    rename: options.Rename = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    engine: options.Engine = None,
    memory: options.Memory = "1GiB",
    skip_damaged: options.SkipDamaged = False,
    resume: options.Resume = None,
    quiet: options.Quiet = False,
) -> None:
    """Find what has changed in data or predictions, and which rules show it."""
    import sqrl
    from sqrl._opening import Opening
    from sqrl._progress import Bar
    from sqrl.report._text_check import violation_lines

    opening = Opening(
        engine=engine,
        memory=options.parse_size(memory),
        skip_damaged=skip_damaged,
        resume=resume,
        separator=separator,
        encoding=encoding,
        images=images,
        rename=options.parse_renamed(rename),
        per_image=per_image,
    )
    classes = options.parse_probabilities(probabilities)
    chosen = selected(path)
    windows = HistoryAsked(
        history, data, at=at, false_alarms=false_alarms, every=every, fail_on=fail_on
    )
    asked, is_scanned = RowsAsked(shown=rows, fail_on=fail_on), opening.is_scanned(data)
    asked.refuse_scan(data, is_scanned=is_scanned)
    check_results(report, junit, violations, scanned=data if is_scanned else None)
    (table,) = open_rows(opening, chosen, data)
    behind = open_reference(opening, chosen, reference)
    with Bar(quiet=quiet) as bar:
        found = sqrl.check(
            chosen,
            table,
            prediction=prediction,
            probabilities=classes,
            level=level,
            batches=batches,
            seed=seed,
            violations=violations,
            today=windows.day,
            track=bar,
        )
    opening.finish()
    findings, by_row, window = found.findings(), asked.find(found), windows.add(found)
    unwaived = (found.broken > 0) & ~found.is_waived
    by_choice = {FailOnCheck.significant: found.significant, FailOnCheck.any: unwaived}
    failed = by_choice.get(fail_on, found.broken < 0)  # never, and rows: no rule at all
    if window is not None and windows.decides:
        findings, failed = window.facts, rules_failed(found, window)
    is_failed = fail_on in by_choice and bool(findings)
    is_any = fail_on == FailOnCheck.any or windows.decides
    fails = is_failed or (is_any and bool(failed.any()))
    if asked.decides and by_row:
        fails = bool(by_row.n_significant)
    if report is not None:
        sqrl.write_report(found, report, reference=behind)
    if junit is not None:
        from sqrl._data.write_file import write_atomically
        from sqrl.report._junit import junit_xml

        write_atomically(junit, junit_xml(found, failed, findings if is_failed else ()))
    lines = violation_lines(found, top=top, width=width())
    lines = rows_after(lines, by_row, top=top, width=width())
    lines = window_after(lines, window, name=history, width=width())
    if format == options.CheckFormat.github:
        from sqrl.report._github import annotation_lines, append_summary

        lines = annotation_lines(found, data, fails=fails, rows=by_row)
        append_summary(found)
    with keeping_status(int(fails)):
        show(with_window(with_rows(found.to_dict(), by_row), window), lines, format)
        tell_written(junit, violations, report)
    raise typer.Exit(int(fails))
