"""An engine that remembers what finished passes have found, so that a run can go on later."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sqrl._data.read_file import read_file
from sqrl._data.unfinished import remove_leftovers
from sqrl._data.write_file import write_atomically
from sqrl._scan.job import Engine, Job, ReadChunk, State, Track, pack, unpack
from sqrl._version import __version__
from sqrl.errors import DataError, OutputError

MARK = b"sqrl pass 1\n"
LARGEST = 1 << 36  # bytes; a state is far smaller than the rows
AGAIN = "remove the file; the pass is then done again"


@dataclass(slots=True, eq=False)
class Resuming:
    """Runs jobs by another engine, unless the folder knows the state that they would give.

    A state is kept under a digest of the job and of the data: names, sizes and times of files.
    `used` are the files that this run has written or read.
    """

    engine: Engine
    folder: Path
    used: set[Path] = field(default_factory=set)
    what: str = field(init=False)

    def __post_init__(self) -> None:
        self._make_folder()
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
        self.used.add(path)
        if path.exists():
            return unseal(read_file(path, most=LARGEST, error=DataError, fix=AGAIN), str(path))
        state = self.engine.run(job, firsts, read, track=track)
        self._make_folder()  # another run, now at its end, may have removed it
        write_atomically(path, seal(state))
        return state

    def forget(self) -> None:
        """Remove what this run has remembered, and the folder if nothing else is in it.

        What another run has remembered there, and files of other people, are left alone.
        """
        with suppress(OSError):
            for path in self.used:
                path.unlink(missing_ok=True)
            remove_leftovers(self.folder)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            is_file = isinstance(error, FileExistsError | NotADirectoryError)
            reason = "a file is in its way" if is_file else error.strerror
            raise OutputError(
                f"The folder for finished passes cannot be made: {reason}.",
                where=str(self.folder),
                fix="name another folder",
            ) from None


def seal(state: State) -> bytes:
    """A state as bytes that tell whether they are whole."""
    packed = pack(state)
    return MARK + hashlib.sha256(packed).digest() + packed


def unseal(sealed: bytes, where: str) -> State:
    """The state that `seal` made the bytes of; raises where a single bit has changed.

    >>> unseal(seal({"counts": np.array([3, 4])}), "doctest")
    {'counts': array([3, 4])}
    """
    start = len(MARK) + hashlib.sha256().digest_size
    if sealed[:start] != MARK + hashlib.sha256(sealed[start:]).digest():
        raise DataError(
            "What a pass had found is damaged, or of another version of sqrl.",
            where=where,
            fix=AGAIN,
        )
    return unpack(sealed[start:])


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
