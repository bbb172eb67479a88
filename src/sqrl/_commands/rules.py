"""sqrl rules: list, filter, sort and compare rules."""

from pathlib import Path
from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.options import option
from sqrl._commands.results import print_lines, show, width


def rules(
    path: options.Rules,
    top: Annotated[
        int | None, option("N", "How many rules to show, by default all.", min=0)
    ] = None,
    where: Annotated[
        str | None, option("FORMULA", "Show only such rules: 'support > 100 and jaccard >= 0.8'.")
    ] = None,
    search: Annotated[str | None, option("TEXT", "Show only rules that contain this.")] = None,
    sort: Annotated[
        str | None, option("BY", "Sort by lower, upper, width, support, rows, jaccard or text.")
    ] = None,
    ascending: Annotated[bool, option(None, "Sort the smallest first.", "--ascending")] = False,
    diff: Annotated[
        Path | None, option("FILE", "Show what appeared, vanished or moved in this newer file.")
    ] = None,
    format: options.Formatted = options.Format.table,
) -> None:
    """List, filter, sort and compare rules."""
    import sqrl
    from sqrl.report._text_rules import rule_lines
    from sqrl.report._wording import counted

    chosen = sqrl.load_rules(path)
    if diff is not None:
        difference = chosen.diff(sqrl.load_rules(diff))
        print_lines([difference.summary(), *difference.lines()[:top]])
        return
    if where:
        chosen = chosen.filter(where)
    if search:
        chosen = chosen.search(search)
    if sort:
        chosen = chosen.sort(sort, descending=not ascending)
    shown = chosen if top is None else chosen.head(top)
    if format == options.Format.json:
        show(list(shown), (), format)
        return
    print_lines(rule_lines(shown, width=width()))
    more = f"{len(shown):,} of " if len(shown) < len(chosen) else ""
    typer.echo(f"{more}{counted(len(chosen), 'rule')}", err=True)
