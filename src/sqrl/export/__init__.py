"""Rules as code for other programs, so that they run where the data lives.

    to_sql       one query: how often each rule applies and is broken, or which rows break which
    to_dbt       a singular test of dbt for each rule, as files by name
    to_pandera   a Python file with a pandera schema of the rules about single rows

TARGETS has them by the names that `sqrl export --to` takes; each is a Target.

Each rule is true where it is broken, false where it is held and NULL where it does not apply, just
as `check` says.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqrl.errors import MissingExtraError
from sqrl.export._targets import DIALECTS, TARGETS, Folder, Target

if TYPE_CHECKING:
    from sqrl.export._dbt import to_dbt
    from sqrl.export._pandera import to_pandera
    from sqrl.export._sql import to_sql

_HOME = {"to_dbt": "_dbt", "to_pandera": "_pandera", "to_sql": "_sql"}

__all__ = ["DIALECTS", "TARGETS", "Folder", "Target", "to_dbt", "to_pandera", "to_sql"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sqrl.export' has no attribute {name!r}")
    try:
        return getattr(import_module(f"sqrl.export.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        what = f"sqrl.export.{name} needs sqlglot, which is not installed."
        raise MissingExtraError(what, fix='pip install "sqrl-rules[export]"') from None
