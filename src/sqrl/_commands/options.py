"""Options and arguments that several commands take, each spelt once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How results are written to stdout."""

    table = "table"
    json = "json"


class FailOn(StrEnum):
    """When a check ends with status 1."""

    never = "never"
    significant = "significant"
    any = "any"


Rules = Annotated[Path, typer.Argument(metavar="RULES", help="Rules file.")]
Prediction = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="What a model said; stands in for the label."),
]
Probabilities = Annotated[
    list[str] | None,
    typer.Option(metavar="CLASS=COLUMN", help="A class's predicted probability; repeatable."),
]
Formatted = Annotated[Format, typer.Option(help="How to write the result.")]
Level = Annotated[
    float, typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of false alarms to accept.")
]
Batches = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Draw so many mini-batches; else disjoint ones of all rows."
    ),
]
BatchSeed = Annotated[int, typer.Option(metavar="N", help="Of the mini-batches.")]
Separator = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Of a CSV file; else detected.")
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of a CSV file; else detected.")]
Images = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Sizes of KITTI's images (CSV), or the truth of COCO results."
    ),
]
Rename = Annotated[
    list[str] | None,
    typer.Option(metavar="CLASS=NAME", help="A class of boxes, as rules call it; repeatable."),
]
PerImage = Annotated[
    bool, typer.Option("--per-image", help="Boxes: a row for each image, with statistics of all.")
]
Top = Annotated[int, typer.Option(min=0, metavar="N", help="How many rules to show.")]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write a page: .html or .md.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def parse_probabilities(given: list[str] | None) -> dict[str, str] | None:
    """CLASS=COLUMN pairs; a class may itself hold an equals sign, a column after it may not.

    >>> parse_probabilities(["yes=p_yes", "a=b=p"])
    {'yes': 'p_yes', 'a=b': 'p'}
    """
    return _parse_pairs(given, "CLASS=COLUMN, such as yes=p_yes", "--probabilities") or None


def parse_renamed(given: list[str] | None) -> dict[str, str]:
    """CLASS=NAME pairs.

    >>> parse_renamed(["car=Car"])
    {'car': 'Car'}
    """
    return _parse_pairs(given, "CLASS=NAME, such as car=Car", "--rename")


def _parse_pairs(given: list[str] | None, expected: str, option: str) -> dict[str, str]:
    pairs = {}
    for pair in given or ():
        first, equals, second = pair.rpartition("=")
        if not (first and equals and second):
            raise typer.BadParameter(f"'{pair}' is not {expected}.", param_hint=f"'{option}'")
        pairs[first] = second
    return pairs
