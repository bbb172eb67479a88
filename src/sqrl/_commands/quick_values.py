"""Words of the command line that need no library to become values.

Typer turns each of them, and each default, into a value by pydantic, which takes as long to import
as numpy. Text, paths and what has its type already are passed on here; typer does the rest.
"""

import sys
from enum import Enum
from pathlib import Path
from typing import Any

import typer


def spare_pydantic(command: Any) -> Any:
    """The command, whose parameters ask typer only where there is something to convert.

    It is left as it is by a typer that does not keep a converter in each parameter.
    """
    above = typer.Context(command, **command.context_settings)
    for one in [command, *command.commands.values()]:
        within = above if one is command else typer.Context(one, parent=above)
        for parameter in one.get_params(within):  # those of --help are made when asked for
            if getattr(parameter, "_runtime_param", parameter) is None:
                parameter._runtime_param = _Quick(parameter)
    return command


def spare_regex(name: str, *_: Any) -> None:
    """Raise where lark, while it is imported, looks for the package regex: it does without."""
    if name == "regex" and "lark" in sys.modules and not hasattr(sys.modules["lark"], "Lark"):
        raise ModuleNotFoundError(name)


class _Quick:
    """Takes the place of typer's converter of one parameter."""

    def __init__(self, parameter: Any) -> None:
        self._kind = parameter.type_descriptor.annotation
        is_choice = isinstance(self._kind, type) and issubclass(self._kind, Enum)
        self._words = {one.value: one for one in self._kind} if is_choice else {}

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value, or what typer makes of it."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        if not is_many and type(value) is self._kind:  # text, and defaults
            return value
        if self._kind is Path and isinstance(value, str):
            return Path(value)
        if not is_many and self._words.get(value) is not None:
            return self._words[value]
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
