"""Sheet: a small table of texts, for the terminal and for Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table with a title, and a note on what differs from the paper.

    The first column is of words and is aligned to the left, the others are of numbers.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def lines(self, *, width: int = 80) -> list[str]:
        """The table for a terminal.

        >>> sheet = Sheet(title="AUC", header=("method", "ours"), rows=[("none", "0.80")])
        >>> sheet.lines()
        ['AUC', '', 'method  ours', 'none    0.80']
        """
        grid = [self.header, *self.rows]
        widths = [max(len(row[at]) for row in grid) for at in range(len(self.header))]
        told = [_aligned(row, widths) for row in grid]
        note = ["", *wrap(self.note, width)] if self.note else []
        return [*wrap(self.title, width), "", *told, *note]

    def markdown(self) -> list[str]:
        r"""The sheet as lines of Markdown.

        >>> sheet = Sheet(title="AUC", header=("method", "ours"), rows=[("a|b", "0.80")])
        >>> sheet.markdown()
        ['**AUC**', '', '| method | ours |', '|---|---:|', '| a\\|b | 0.80 |']
        """
        note = ["", self.note] if self.note else []
        return [f"**{self.title}**", "", *markdown_table(self.header, self.rows), *note]


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int = 1
) -> list[str]:
    """The lines of a table; the first `n_words` columns are of words, the others of numbers.

    >>> markdown_table(("method", "AUC"), [("none", "0.8")])
    ['| method | AUC |', '|---|---:|', '| none | 0.8 |']
    """
    ruler = "|---" * n_words + "|---:" * (len(header) - n_words) + "|"
    return [_piped(header), ruler, *(_piped(row) for row in rows)]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first = row[0].ljust(widths[0])
    rest = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
    return GAP.join([first, *rest]).rstrip()


def _piped(row: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |"
