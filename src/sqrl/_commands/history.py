"""sqrl history: what checks over time say, and what people decide about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqrl._commands import options
from sqrl._commands.options import argument, option
from sqrl._commands.reading import selected
from sqrl._commands.results import show, tell_written, width
from sqrl._commands.windows import open_history

if TYPE_CHECKING:
    from sqrl._history.history import History


def history(  # noqa: PLR0917
    folder: Annotated[Path, argument("FOLDER", "History, from 'sqrl check --history'.")],
    format: options.Formatted = options.Format.table,
    report: Annotated[Path | None, option("FILE.html", "Also write a page to look at.")] = None,
    accept: Annotated[
        list[str] | None,
        option("DATE", "Take a window that raised an alarm into the baseline; once for each."),
    ] = None,
    waive: Annotated[
        str | None, option("ID", "Let this rule raise no alarm; needs --until and --why.")
    ] = None,
    until: Annotated[
        str | None, option("DATE", "The last day of the waiver, such as 2026-12-31.")
    ] = None,
    why: Annotated[str | None, option("TEXT", "Why it is waived.")] = None,
    backfill: Annotated[
        str | None,
        option("GLOB", "Check past files that are no windows yet, such as 'data/day=*.parquet'."),
    ] = None,
    rules: Annotated[Path | None, option("RULES", "Rules to check past files against.")] = None,
    prediction: options.Prediction = None,
    false_alarms: options.FalseAlarms = None,
    every: options.Every = None,
    top: options.Top = 10,
    quiet: options.Quiet = False,
) -> None:
    """Show what checks over time say: windows, alarms, and the rules with the most evidence."""
    from sqrl.report import check_history_report, write_report
    from sqrl.report._history_facts import history_dict
    from sqrl.report._history_text import history_lines

    _need(waive, "--waive", {"--until": until, "--why": why})
    _need(backfill, "--backfill", {"--rules": rules})
    if report is not None:
        check_history_report(report)
    kept = open_history(folder, false_alarms, every)
    if backfill is not None and rules is not None:
        _backfill(kept, rules, backfill, prediction, quiet=quiet)
    _refuse_absent(kept)
    kept.keep_promise()
    for at in accept or ():
        kept.accept(at)
    if waive is not None and until is not None and why is not None:
        kept.waive(waive, until=until, why=why)
    timeline, settings = kept.timeline(), kept.settings
    if report is not None:
        write_report(kept, report)
    lines = history_lines(
        *(timeline, settings), name=str(folder), top=top, width=width(), blocks=_blocks()
    )
    # Of a year of windows and hundreds of rules it takes longer to make than all that is shown.
    whole = history_dict(timeline, settings) if format == options.Format.json else None
    show(whole, lines, format)
    tell_written(report)


def _need(asked: object, name: str, others: dict[str, object]) -> None:
    """Raise where options that belong together are not given together."""
    for other, value in others.items():
        if (asked is None) != (value is None):
            given, missing = (name, other) if value is None else (other, name)
            raise typer.BadParameter(f"It needs {missing}.", param_hint=f"'{given}'")


def _refuse_absent(kept: "History") -> None:
    from sqrl.errors import HistoryError

    if not kept.store.is_there:
        raise HistoryError(
            "There is no history.",
            where=str(kept.path),
            fix="make one: sqrl check RULES DATA --history FOLDER",
        )


def _backfill(
    kept: "History", rules: Path, pattern: str, prediction: str | None, *, quiet: bool
) -> None:
    """Check the past files that are no windows yet, and say how many there were."""
    from sqrl._commands.backfill import Backfill, check_past_files
    from sqrl._history.past_files import find_past_files
    from sqrl._progress import Bar

    kept.store.check()
    work, files = Backfill(kept.path, selected(rules), prediction), find_past_files(pattern)
    kept.keep_promise()
    todo = work.todo(files, kept)
    with Bar(quiet=quiet) as bar:
        written = check_past_files(work, todo, track=bar)
    windows = "window" if written == 1 else "windows"
    typer.echo(f"{written:,} {windows} written, {len(files) - written:,} were there", err=True)


def _blocks() -> str:
    """The letters that a row of blocks is made of: those that stdout can take."""
    import sys

    from sqrl.report._history_text import BLOCKS, PLAIN

    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS
