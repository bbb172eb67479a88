"""Registry: things of one kind by name, such as the file formats; the door to add another."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

from sqrl.errors import SqrlError, unknown

T = TypeVar("T")


class Registry(Generic[T]):
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
        self.kind = kind
        self._items = dict(items)

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise unknown(self.kind, name, self._items)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def values(self) -> list[T]:
        """The things themselves, in the order in which they were added."""
        return list(self._items.values())

    def add(self, name: str, item: T) -> None:
        """Add a thing under a name that is free."""
        if name in self._items:
            what = f"There already is a {self.kind} named {name!r}."
            raise SqrlError(what, fix="choose another name, or remove that one first")
        self._items[name] = item

    def remove(self, name: str) -> None:
        """Remove what is registered under the name."""
        if name not in self._items:
            raise unknown(self.kind, name, self._items)
        del self._items[name]

    @contextmanager
    def adding(self, name: str, item: T) -> Iterator[T]:
        """Add a thing for as long as the `with` block runs."""
        self.add(name, item)
        try:
            yield item
        finally:
            self.remove(name)
