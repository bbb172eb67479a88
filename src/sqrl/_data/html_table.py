"""Tables for notebooks."""

from collections.abc import Iterable, Sequence


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML, of cells that are HTML; the first of a row stands to the left.

    >>> html_table(["rule"], [["x &lt;= 9"]])
    "<table><tr><th style='text-align:left'>rule</th></tr>\
<tr><td style='text-align:left'>x &lt;= 9</td></tr></table>"
    """
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    sides = [" style='text-align:left'", *[""] * len(cells)]
    made = (f"<{tag}{side}>{cell}</{tag}>" for cell, side in zip(cells, sides, strict=False))
    return f"<tr>{''.join(made)}</tr>"
