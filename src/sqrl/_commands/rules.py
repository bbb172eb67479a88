"""sqrl rules: list, filter, sort and compare rules."""

from pathlib import Path
from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.printing import count, print_lines, show, width


def rules(
    path: options.Rules,
    top: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="How many rules to show; else all.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="FORMULA", help="Such as 'support > 100 and jaccard >= 0.8'."),
    ] = None,
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only rules that contain this.")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="BY", help="lower, upper, width, support, rows, jaccard or text."),
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    diff: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What appeared, vanished or moved in this newer file."),
    ] = None,
    format: Annotated[options.Format, typer.Option(help="How to write them.")] = (
        options.Format.table
    ),
) -> None:
    """List, filter, sort and compare rules."""
    import sqrl
    from sqrl.report._text_rules import rule_lines

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
    typer.echo(f"{more}{count(len(chosen), 'rule')}", err=True)
