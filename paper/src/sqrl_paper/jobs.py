"""Jobs that several benches have."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Choice = TypeVar("Choice")  # the options that a task tries, a dataclass of plain values


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The seed whose data, rules and source model are described."""

    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Try(Generic[Choice]):
    """A choice of a method, tried on what is no one's test."""

    seed: int
    method: str
    choice: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(Generic[Choice]):
    """A method with its choice, on the test of a seed under a condition."""

    seed: int
    method: str
    choice: Choice
    condition: str
