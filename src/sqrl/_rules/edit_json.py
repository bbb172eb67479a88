"""JSON edited in place: one member of an object changes, every other character stays as it was.

So that a decision is a small difference in version control, whoever wrote the file and however it
is indented.
"""

import json
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any

import msgspec

_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a member of an object, or an element of an array, stands in a text."""

    start: int  # of the name, or of the element
    value: int
    end: int


def members(text: str, start: int = 0) -> dict[str, Span]:
    """The members of the object that begins at a place.

    >>> members('{"a": [1, 2], "b": 3}')["b"]
    Span(start=14, value=19, end=20)
    """
    found = {}
    at = _skip(text, _skip(text, start) + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        found[name] = Span(at, value, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def elements(text: str, start: int) -> list[int]:
    """Where each element of the array that begins at a place begins."""
    found = []
    at = _skip(text, _skip(text, start) + 1)
    while text[at] != "]":
        found.append(at)
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def put_member(text: str, start: int, name: str, value: Any, *, after: str) -> str:
    r"""The text with a member of one object set; a new one comes after another that is there.

    >>> put_member('{\n "a": 1,\n "c": 3\n}', 0, "b", [2], after="a")
    '{\n "a": 1,\n "b": [\n  2\n ],\n "c": 3\n}'
    >>> put_member('{"a": 1, "b": 2}', 0, "b", 5, after="a")
    '{"a": 1, "b": 5}'
    """
    there = members(text, start)
    space = _space_before(text, there[after].start)
    made = _written(value, space)
    if name in there:
        return text[: there[name].value] + made + text[there[name].end :]
    end = there[after].end
    return f"{text[:end]},{space or ' '}{json.dumps(name)}: {made}{text[end:]}"


def drop_member(text: str, start: int, name: str) -> str:
    r"""The text without a member of one object, and without the comma that goes with it.

    >>> drop_member('{\n "a": 1,\n "b": 2\n}', 0, "b"), drop_member('{"a": 1, "b": 2}', 0, "a")
    ('{\n "a": 1\n}', '{"b": 2}')
    """
    there = members(text, start)
    if name not in there:
        return text
    names = list(there)
    place = names.index(name)
    if place:
        return text[: there[names[place - 1]].end] + text[there[name].end :]
    following = there[names[1]].start if len(names) > 1 else there[name].end
    return text[: there[name].start] + text[following:]


def _written(value: Any, space: str) -> str:
    """A value as JSON, indented as its neighbours are where these stand on lines of their own."""
    encoded = msgspec.json.encode(value)
    if "\n" not in space:
        return msgspec.json.format(encoded, indent=0).decode()
    end = "\r\n" if "\r" in space else "\n"
    indent = space.rpartition("\n")[2]
    return msgspec.json.format(encoded, indent=1).decode().replace("\n", f"{end}{indent}")


def _space_before(text: str, at: int) -> str:
    start = at
    while text[start - 1] in _SPACE:
        start -= 1
    return text[start:at]


def _skip(text: str, at: int) -> int:
    """The first place from `at` on that is no space."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    if at >= len(text):
        raise JSONDecodeError("The text ends too soon", text, at)
    return at
