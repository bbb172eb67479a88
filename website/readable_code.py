"""How griffe reads the code for the API reference.

Examples in docstrings become blocks of code, for Markdown would take `>>>` for quotations. Methods
such as `__len__` of which nothing is said are left out, and so are fields that a signature has.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", flags=re.MULTILINE)


class ReadableCode(griffe.Extension):  # type: ignore[misc]
    """Changes what griffe has read, before it is rendered."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change a whole package; the extension for dataclasses must have seen it before."""
        make_readable(pkg)


def make_readable(parent: griffe.Module | griffe.Class) -> None:
    """Fence examples; drop private parameters, and members of classes that nobody is told of."""
    for name, member in list(parent.members.items()):
        if isinstance(member, griffe.Alias):
            continue
        if isinstance(parent, griffe.Class) and is_unsaid(member, parent):
            parent.del_member(name)
            continue
        if member.docstring:
            member.docstring.value = fenced(member.docstring.value)
        if isinstance(member, griffe.Function):
            for parameter in [one.name for one in member.parameters if one.name[0] == "_"]:
                del member.parameters[parameter]
        if isinstance(member, griffe.Module | griffe.Class):
            make_readable(member)


def is_unsaid(member: griffe.Object, parent: griffe.Class) -> bool:
    """Whether a member is private, or has no docstring and stands in a signature, or needs none."""
    if member.name == "__init__" or member.docstring:
        return False
    is_field = "dataclass" in parent.labels and member.is_attribute
    return bool(is_field or member.is_special or member.is_private)


def fenced(text: str) -> str:
    """The text with a fence around each example.

    >>> print(fenced("One." + 2 * chr(10) + ">>> 1 + 1" + chr(10) + "2"))
    One.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
