"""YAML as data: plain values only, read without surprises and written as people write it.

Read: no tags, no aliases, no repeated keys. `no`, `on`, `12:30` and `2020-01-01` are words; only
true, false, null and decimal numbers are anything else, `1e-3` included.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from sqrl.errors import SchemaError

_TAG = "tag:yaml.org,2002:"
_PLAIN = (
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"[-+]?[0-9]{1,18}", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
)

_BREAKS = frozenset("\n\r\x85\u2028\u2029")


def load_yaml(text: str, *, where: str) -> Any:
    """The plain values in YAML text.

    >>> load_yaml("{answer: no, share: 1e-3, day: 2020-01-01}", where="doctest")
    {'answer': 'no', 'share': 0.001, 'day': '2020-01-01'}
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except (ValueError, OverflowError):  # such as "\\U00110000", which is no letter
        raise SchemaError(
            "The YAML has a letter that does not exist.",
            where=where,
            fix="write what stands after \\\\u or \\\\U as it is",
        ) from None
    except RecursionError:
        raise SchemaError(
            "The YAML is nested too deeply.", where=where, fix="make it flat"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
        if isinstance(error, _RefusedError):
            raise SchemaError(f"{error.problem}.", where=place, fix=error.note) from None
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SchemaError(
            f"The text is not well-formed YAML: {problem}.",
            where=place,
            fix="check the indentation, the brackets and the quotes",
        ) from None


def dump_yaml(data: Mapping[str, Any]) -> str:
    """The mapping as YAML: lists and short mappings on one line, sentences on lines of their own.

    >>> print(dump_yaml({"let": {"Y": ["a", "no"]}, "rules": ["? <= age"]}), end="")
    let:
      Y: [a, 'no']
    rules:
      - '? <= age'
    """
    return yaml.dump(
        dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=66, indent=2
    )


def is_text(value: str) -> bool:
    r"""Whether text can be written anywhere: half of a surrogate pair cannot.

    >>> is_text("Ångström"), is_text("\ud800")
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class Flow(dict[Any, Any]):
    """A mapping that is written on one line: `{train: 67, valid: 22}`."""


class _RefusedError(yaml.MarkedYAMLError):
    """What YAML allows and we do not; the note says how to write it."""

    def __init__(self, problem: str, mark: Any, note: str) -> None:
        super().__init__(problem=problem, problem_mark=mark, note=note)


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses tags, aliases, which can blow up, and keys that stand twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            what = f"The alias *{event.anchor} is not followed"
            raise _RefusedError(what, event.start_mark, "write out what it stands for")
        if getattr(event, "tag", None) not in {None, "!"}:
            what = f"The tag {event.tag.replace(_TAG, '!!')} is not read"
            raise _RefusedError(what, event.start_mark, "leave the tag out")
        return super().compose_node(parent, index)

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if not is_text(value):
            what = "Half of a surrogate pair is no letter"
            raise _RefusedError(what, node.start_mark, "write the letter itself")
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for inner, _ in node.value:
            key = self.construct_object(inner, deep=True)
            spelt = key if isinstance(key, str | int | float | None) else repr(key)
            if spelt in seen:
                what = f"The key {key!r} stands twice"
                raise _RefusedError(what, inner.start_mark, "remove one of them")
            seen.add(spelt)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """A safe dumper that indents lists and writes out what stands twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _represent_list(dumper: _Dumper, data: list[Any]) -> Any:
    sentences = any(isinstance(item, Flow) or "?" in str(item) for item in data)
    return dumper.represent_sequence(f"{_TAG}seq", data, flow_style=not sentences)


def _represent_flow(dumper: _Dumper, data: Flow) -> Any:
    return dumper.represent_mapping(f"{_TAG}map", data, flow_style=True)


def _represent_text(dumper: _Dumper, data: str) -> Any:
    """Text with a line break that plain or single quotes would fold gets double quotes."""
    style = '"' if _BREAKS.intersection(data) else None
    return dumper.represent_scalar(f"{_TAG}str", data, style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(Flow, _represent_flow)
_Loader.add_constructor(f"{_TAG}int", lambda _, node: int(node.value))
_Loader.add_constructor(f"{_TAG}float", lambda _, node: float(node.value))
for _kind, _pattern, _first in _PLAIN:
    for _class in (
        _Loader,
        _Dumper,
    ):  # the dumper quotes whatever the loader would not read as text
        _class.add_implicit_resolver(
            f"{_TAG}{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first)
        )
_Loader.add_implicit_resolver(f"{_TAG}null", re.compile("^$"), [""])
