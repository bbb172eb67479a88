"""Options and arguments that several commands take, each spelt once."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sqrl._scan.engines import IN_MEMORY, file_engines


class Format(StrEnum):
    """How results are written to stdout."""

    table = "table"
    json = "json"


class FailOn(StrEnum):
    """When a check ends with status 1."""

    never = "never"
    significant = "significant"
    any = "any"


def choice(names: Callable[[], Iterable[str]], help: str) -> Any:
    """An option whose value is one of these names, to which a registry may add while we run."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in (known := list(names())):
            listed = ", ".join(f"'{name}'" for name in known)
            raise typer.BadParameter(f"'{value}' is not one of {listed}.")
        return value

    return typer.Option(metavar=f"<{'|'.join(names())}>", callback=check, help=help)


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
Engine = Annotated[
    str | None,
    choice(
        lambda: [IN_MEMORY, *file_engines()], help="Who goes through the data; else by its size."
    ),
]
Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="For data that is scanned, such as 500MB or 4GB.")
]
SkipDamaged = Annotated[
    bool, typer.Option("--skip-damaged", help="Leave out files that cannot be read.")
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Remember finished passes there, and go on from them."),
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


def parse_size(text: str) -> int:
    """A number of bytes.

    >>> parse_size("2GB"), parse_size("1.5 MiB"), parse_size("4096")
    (2000000000, 1572864, 4096)
    """
    units = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
    units |= {f"{unit}b": size for unit, size in units.items() if unit in "kmgt" and unit}
    units |= {f"{unit}ib": 1024**power for power, unit in enumerate("kmgt", start=1)}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in units or not float(found[1]):
        raise typer.BadParameter(f"'{text}' is no size, such as 2GB.", param_hint="'--memory'")
    return int(float(found[1]) * units[found[2]])
