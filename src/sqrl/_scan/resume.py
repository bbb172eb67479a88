"""An engine that remembers what finished passes have found, so that a run can go on later."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sqrl._data.write_file import write_atomically
from sqrl._scan.job import Engine, Job, ReadChunk, State, Track, pack, unpack
from sqrl._version import __version__
from sqrl.errors import DataError


@dataclass(slots=True, eq=False)
class Resuming:
    """Runs jobs by another engine, unless the folder knows the state that they would give.

    A state is kept under a digest of the job and of the data: names, sizes and times of files.
    """

    engine: Engine
    folder: Path
    what: str = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = getattr(self.engine, "parts", ())
        seen = [getattr(part, "stamp", part.name) for part in parts]
        seen.append(getattr(self.engine, "stamp", None))
        self.what = digest((__version__, self.engine.name, self.engine.counts(), seen))

    @property
    def name(self) -> str:
        """What to call the data in messages."""
        return self.engine.name

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self.engine.names

    def counts(self) -> list[int]:
        """How many rows each part has, in the order of the rows."""
        return self.engine.counts()

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows, remembered or found."""
        path = self.folder / f"{digest((self.what, job, firsts, read))}.pass"
        if path.exists():
            return self._recall(path)
        state = self.engine.run(job, firsts, read, track=track)
        write_atomically(path, pack(state))
        return state

    def _recall(self, path: Path) -> State:
        try:
            return unpack(path.read_bytes())
        except (ValueError, OSError, KeyError) as error:
            raise DataError(
                f"What a pass had found cannot be read: {error}.",
                where=str(path),
                fix="remove the file; the pass is then done again",
            ) from None


def forget(folder: Path) -> None:
    """Remove what passes have found, and the folder if nothing else is in it."""
    for path in folder.glob("*.pass"):
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def digest(thing: Any) -> str:
    """Sixteen hex digits that change with any part of the thing.

    >>> digest({"a": frozenset(["x", "y"])}) == digest({"a": frozenset(["y", "x"])})
    True
    >>> digest((1, 2)) == digest((2, 1))
    False
    """
    total = hashlib.sha256()
    for part in _parts(thing):
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()[:16]


def _parts(thing: Any) -> Iterator[bytes]:
    yield type(thing).__qualname__.encode()
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, Mapping):
        yield from sorted(digest(pair).encode() for pair in thing.items())
    elif isinstance(thing, set | frozenset):
        yield from sorted(digest(item).encode() for item in thing)
    elif isinstance(thing, list | tuple):
        yield from (digest(item).encode() for item in thing)
    elif isinstance(thing, msgspec.Struct):
        yield from (digest(getattr(thing, name)).encode() for name in thing.__struct_fields__)
    elif is_dataclass(thing):
        yield from (digest(getattr(thing, field.name)).encode() for field in fields(thing))
    elif callable(thing):
        yield f"{thing.__module__}.{thing.__qualname__}".encode()
    else:
        yield repr(thing).encode()
