"""read_class_names: what YOLO's numbers of classes stand for, from classes.txt or data.yaml."""

from typing import Any

from sqrl._data.formats.boxes.collected import shown
from sqrl._data.formats.boxes.label_files import LabelFile
from sqrl.errors import DataError

MOST_BYTES = 2**18  # a thousand classes have 20 thousand
MOST_DIGITS = 9  # of a class's number; Python refuses thousands of them with an error of its own
FIX = "write under names: a list, or a mapping from numbers to names, each name once"


def read_class_names(file: LabelFile) -> dict[int, str]:
    r"""The name of each class by its number.

    >>> read_class_names(LabelFile("classes", "classes.txt", b"person\ntraffic light\n"))
    {0: 'person', 1: 'traffic light'}
    >>> read_class_names(LabelFile("data", "data.yaml", b"names: {0: cat, 5: no}"))
    {0: 'cat', 5: 'no'}
    """
    if len(file.content) > MOST_BYTES:
        what = f"The names of classes take {len(file.content):,} bytes, above {MOST_BYTES:,}."
        raise DataError(what, where=file.where, fix="keep the names of classes alone")
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("The file is not UTF-8 text.", where=file.where, fix="save it so") from None
    is_yaml = file.where.endswith(".yaml")
    names = _from_yaml(text, file.where) if is_yaml else dict(enumerate(_lines(text)))
    repeated = len(set(names.values())) < len(names)
    if repeated or "" in names.values():
        what = "Two classes have one name." if repeated else "A class has an empty name."
        fix = FIX if is_yaml else "write one name a line, each once"
        raise DataError(what, where=file.where, fix=fix)
    return names


def _lines(text: str) -> list[str]:
    """The lines, without blank ones at the end: those in between would shift the numbers."""
    return [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []


def _from_yaml(text: str, where: str) -> dict[int, str]:
    import yaml

    try:
        # This loader makes nothing but text, so that a class may be called "no".
        whole = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = "" if mark is None else f", line {mark.line + 1}"
        what = f"The file is not YAML: {shown(str(error.problem))}."
        raise DataError(what, where=f"{where}{line}", fix=FIX) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise DataError("The file is not YAML.", where=where, fix=FIX) from None
    return _numbered(whole.get("names") if isinstance(whole, dict) else None, where)


def _numbered(names: Any, where: str) -> dict[int, str]:
    pairs = dict(enumerate(names)) if isinstance(names, list) else names
    if not isinstance(pairs, dict) or not all(isinstance(name, str) for name in pairs.values()):
        raise DataError("The file does not name classes.", where=where, fix=FIX)
    if not all(str(number).isdecimal() and len(str(number)) <= MOST_DIGITS for number in pairs):
        raise DataError("A class has no number.", where=where, fix=FIX)
    return {int(number): name.strip() for number, name in pairs.items()}
