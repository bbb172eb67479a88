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


class CheckFormat(StrEnum):
    """How the result of a check is written to stdout."""

    table = "table"
    json = "json"
    github = "github"


class FailOn(StrEnum):
    """When a check ends with status 1."""

    never = "never"
    significant = "significant"
    any = "any"


class FailOnCheck(StrEnum):
    """When a check of one data set ends with status 1."""

    never = "never"
    significant = "significant"
    any = "any"
    rows = "rows"


def choice(names: Callable[[], Iterable[str]], help: str) -> Any:
    """An option whose value is one of these names, to which a registry may add while we run."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in (known := list(names())):
            listed = ", ".join(f"'{name}'" for name in known)
            raise typer.BadParameter(f"'{value}' is not one of {listed}.")
        return value

    return typer.Option(metavar=f"<{'|'.join(names())}>", callback=check, help=help)


def option(metavar: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option: what to call its value, and a whole phrase about it."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """An argument: what to call it, and a whole phrase about it."""
    return typer.Argument(metavar=metavar, help=help)


IN_PLACE = "Column with a model's prediction, which takes the place of the label."

Rules = Annotated[Path, argument("RULES", "File of rules, from 'sqrl learn'.")]
Prediction = Annotated[str | None, option("COLUMN", IN_PLACE)]
Unit = Annotated[
    list[str] | None,
    option(
        "COLUMN",
        "Column that says which rows belong together, such as image; may be given more than once. "
        "Boxes belong to their image, unless it is 'none'.",
    ),
]
Probabilities = Annotated[
    list[str] | None,
    option("CLASS=COLUMN", "Column with the predicted probability of a class; once for each."),
]
Formatted = Annotated[Format, option(None, "Write the result as a table or as JSON.")]
CheckFormatted = Annotated[
    CheckFormat,
    option(None, "Write the result as a table, as JSON, or as annotations of a GitHub job."),
]
Level = Annotated[
    float,
    option(
        "SHARE",
        "Expected share of false alarms among findings, and among significant rules.",
        min=0.0,
        max=1.0,
    ),
]
Batches = Annotated[
    int | None,
    option("N", "Draw N mini-batches; by default rows are cut into disjoint ones.", min=1),
]
BatchSeed = Annotated[int, option("N", "Random seed of the mini-batches.")]
Separator = Annotated[str | None, option("CHAR", "Separator of a CSV file, detected by default.")]
Encoding = Annotated[str | None, option("NAME", "Encoding of a CSV file, detected by default.")]
Images = Annotated[
    Path | None,
    option(
        "FILE", "For boxes: CSV of image sizes, folder of images, or the truth of COCO results."
    ),
]
Rename = Annotated[
    list[str] | None,
    option("CLASS=NAME", "For boxes: the name that rules have for a class; once for each."),
]
PerImage = Annotated[
    bool, option(None, "For boxes: make a row for each image instead of each box.", "--per-image")
]
Engine = Annotated[
    str | None,
    choice(
        lambda: [IN_MEMORY, *file_engines()],
        help="Read the data into memory, or scan it with an engine; by default its size decides.",
    ),
]
Memory = Annotated[str, option("SIZE", "Memory that a scan may use, such as 500MB or 4GB.")]
SkipDamaged = Annotated[
    bool, option(None, "Leave out files that cannot be read.", "--skip-damaged")
]
Resume = Annotated[
    Path | None, option("FOLDER", "Keep the results of finished passes here, and go on from them.")
]
FalseAlarms = Annotated[
    str | None, option("N/UNIT", "False alarms to allow on average; in a new history 1/year.")
]
Every = Annotated[
    str | None,
    option("UNIT", "How often checks are made: hour, day (in a new history), week, month, year."),
]
Top = Annotated[int, option("N", "How many rules to show.", min=0)]
Report = Annotated[Path | None, option("FILE", "Also write a report: .html or .md.")]
Quiet = Annotated[bool, option(None, "Show no progress bar.", "--quiet", "-q")]


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
    if found is None or found[2] not in units or not 0 < float(found[1]) < 1e18:
        raise typer.BadParameter(f"'{text}' is no size, such as 2GB.", param_hint="'--memory'")
    return int(float(found[1]) * units[found[2]])


def parse_unit(given: list[str] | None, *, is_boxes: bool) -> tuple[str, ...]:
    """The columns of the unit: those given, none for `none`, and of boxes the image.

    >>> parse_unit(None, is_boxes=True), parse_unit(["none"], is_boxes=True)
    (('image',), ())
    """
    if given is None:
        return ("image",) if is_boxes else ()
    return () if given == ["none"] else tuple(given)
