"""Registry: things of one kind by name, such as the file formats; the door to add another."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from sqrl.errors import SqrlError, unknown

T = TypeVar("T")


class Registry(dict[str, T]):
    """Things of one kind by name: those built in, and those added while the program runs.

    >>> shapes = Registry("shape", {"square": 4})
    >>> with shapes.adding("triangle", 3):
    ...     print(*shapes, shapes["triangle"])
    square triangle 3
    >>> shapes["triangl"]
    Traceback (most recent call last):
    sqrl.errors.UnknownNameError: Unknown shape 'triangl'.
      fix:   use one of: square
    """

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        super().__init__(items)
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise unknown(self.kind, name, self)

    @contextmanager
    def adding(self, name: str, item: T) -> Iterator[T]:
        """Add a thing, under a name that is free, for as long as the `with` block runs."""
        if name in self:
            what = f"There already is a {self.kind} named {name!r}."
            raise SqrlError(what, fix="choose another name")
        self[name] = item
        try:
            yield item
        finally:
            del self[name]
