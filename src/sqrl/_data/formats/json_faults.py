"""Faults in JSON Lines, told with their line; some would end the process that reads them."""

import io
import json
import re

import numpy as np
import pyarrow as pa

from sqrl.errors import DataError

MOST_DEPTH = 100  # of lists and objects in one another; Arrow's reader dies of some thousands
# Arrow's reader dies of a line `null`, and refuses all others that are no objects.
NO_OBJECT = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|\n)[ \t\r]*[^\s{]")
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
ONE_OBJECT = 'write one JSON object a line: {"name": value}'
OPENING, CLOSING = b"[{", b"]}"
JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list"}


def refuse_deadly(block: bytes, where: str, line: int = 1) -> None:
    r"""Raise where lines would end the process that reads them: a `null`, or a deep nest.

    >>> refuse_deadly(b'{"x": [1]}\n{}\n', "doctest")
    >>> refuse_deadly(b'{"x": 1}\nnull\n', "doctest")
    Traceback (most recent call last):
        ...
    sqrl.errors.DataError: The line is a JSON null, not an object.
      where: doctest, line 2
      fix:   write one JSON object a line: {"name": value}
    """
    found = NO_OBJECT.search(block)
    if found is not None:
        number = line + block.count(b"\n", 0, found.end() - 1)
        raise find_json_fault(pa.py_buffer(block), where, line) or DataError(
            "The line does not begin with '{'.",
            where=f"{where}, line {number}",
            fix=ONE_OBJECT,
        )
    if block.count(b"{") + block.count(b"[") - block.count(b"\n") <= MOST_DEPTH:
        return
    for number, text in enumerate(block.split(b"\n"), start=line):
        if _depth(text) > MOST_DEPTH and _depth(STRING.sub(b"", text)) > MOST_DEPTH:
            raise _too_deep(f"{where}, line {number}")


def _depth(text: bytes) -> int:
    """How deep lists and objects lie in one another, letters of strings taken for such too."""
    if text.count(b"{") + text.count(b"[") <= MOST_DEPTH:
        return 0
    letters = np.frombuffer(text, np.uint8)
    opened, closed = (np.isin(letters, list(ends)).astype(np.int64) for ends in (OPENING, CLOSING))
    return int(np.cumsum(opened - closed).max(initial=0))


def _too_deep(where: str) -> DataError:
    what = f"The line has more than {MOST_DEPTH} lists and objects in one another."
    return DataError(what, where=where, fix="write values that are flat")


def find_json_fault(  # noqa: PLR0911  (one for each kind of fault)
    data: pa.Buffer, where: str, first: int = 1
) -> DataError | None:
    """The first line that is not a JSON object in UTF-8 with the types of the lines before."""
    types: dict[str, str] = {}
    for number, line in enumerate(io.BufferedReader(pa.BufferReader(data)), start=first):
        place = f"{where}, line {number}"
        try:
            row = json.loads(line) if line.strip() else {}
        except UnicodeDecodeError:
            return DataError("The line is not UTF-8 text.", where=place, fix="save it as UTF-8")
        except json.JSONDecodeError as error:
            what = f"The line is not JSON: {error.msg} at character {error.colno}."
            return DataError(what, where=place, fix="write one JSON object a line")
        except RecursionError:
            return _too_deep(place)
        except ValueError:  # of Python's, which reads no numbers of thousands of digits
            fix = "write a shorter number, or the text in quotes"
            return DataError("The line has a number of too many digits.", where=place, fix=fix)
        if not isinstance(row, dict):
            what = f"The line is a JSON {_json_type(row)}, not an object."
            return DataError(what, where=place, fix=ONE_OBJECT)
        for name, value in row.items():
            seen = _json_type(value)
            expected = types.setdefault(name, seen) if value is not None else seen
            if seen != expected:
                what = f"Field {name!r} is {expected} in earlier lines and {seen} here."
                return DataError(what, where=place, fix="give the field one type throughout")
    return None


def _json_type(value: object) -> str:
    return "null" if value is None else JSON_TYPES.get(type(value), "object")


def not_json(error: Exception, where: str) -> DataError:
    reason = str(error).splitlines()[0].rstrip(".")
    what = f"The file is not JSON Lines: {reason}."
    return DataError(what, where=where, fix="write one JSON object a line")
