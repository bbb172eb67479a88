"""A file for each kind of input: `make(draw)` gives a case, `run(case, folder)` runs it.

A case is plain, as JSON is. It is right where `run` returns or raises a SqrlError; everything else
is a finding.
"""

from importlib import import_module
from typing import Any

TARGETS = (
    *("language", "schemas", "rules_json", "rules_parquet", "tables", "boxes", "resume"),
    *("history", "exports", "command_line", "differential", "learning", "adapted"),
)
# What one process does together: torch takes seconds to import.
SLOW = ("adapted",)


def target(name: str) -> Any:
    """The module of a target."""
    return import_module(f"targets.{name}")


class WrongError(Exception):
    """An answer that is not what was promised."""


def expect(holds: bool, what: str) -> None:
    """Raise where a promise does not hold."""
    if not holds:
        raise WrongError(what)
