"""Cuts of large text files: ranges of bytes that begin with a row, found without parsing rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np

from sqrl._data.formats.file_format import UNREADABLE, FilePiece
from sqrl._data.formats.stored_file import File
from sqrl._kernels import threads
from sqrl._kernels.arrays import Bools, Bytes, Int64s

PIECE_BYTES = 1 << 26  # about what a piece has; a file of less than two of them is one piece
CHUNK_BYTES = 1 << 20
QUOTE, NEWLINE = ord('"'), ord("\n")
# A row that begins with this byte may begin with a byte order mark, which a reader would drop.
MARK = 0xEF

# What reading pieces may raise, whereupon the file is read as one; some stores have no ranges.
UNCUT = (*UNREADABLE, NotImplementedError)

Result = TypeVar("Result")


def cut_lines(file: File) -> tuple[FilePiece, ...]:
    """Pieces of a file in which every line is a row, their rows not yet counted; () is no cut."""
    ranges = _ranges(file)
    return _pieces(file, side_by_side([partial(_first_line, file, *each) for each in ranges[1:]]))


def cut_rows(file: File, separator: str, *, skip: int = 0) -> tuple[FilePiece, ...]:
    """Pieces of a file in which quotes may hold newlines, their rows not yet counted; () is no cut.

    An even number of quotes before a newline says that it ends a row, as long as a quote stands
    either at the beginning of a field or inside of quotes. Where one stands elsewhere, or the last
    one is left open, the file is not cut. `skip` bytes at the beginning belong to no field.
    """
    may_precede = np.zeros(256, bool)
    may_precede[[ord(separator), NEWLINE, ord("\r"), QUOTE]] = True
    ranges = _ranges(file)
    looks = [partial(_look, file, a, b, skip, may_precede) for a, b in ranges]
    starts: list[int | None] = []
    is_inside = False
    for quotes in side_by_side(looks):
        if quotes.is_stray[is_inside]:
            return ()
        starts.append(quotes.starts[is_inside])
        is_inside ^= quotes.is_odd
    return () if is_inside else _pieces(file, starts[1:])


def side_by_side(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """What each of the calls gives, in their order, on a thread for each core.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    found: dict[int, Result] = {}
    chunks = [partial(_keep, found, number, work) for number, work in enumerate(works)]
    threads.run([chunks], threads=None, track=None)
    return [found[number] for number in range(len(works))]


def _keep(found: dict[int, Result], number: int, work: Callable[[], Result]) -> None:
    found[number] = work()


def _ranges(file: File) -> list[tuple[int, int]]:
    """The bytes of the file in about equal shares, wherever their rows begin."""
    n_shares = 0 if file.is_packed else file.n_bytes // PIECE_BYTES
    if n_shares < 2:
        return []
    return list(pairwise(file.n_bytes * share // n_shares for share in range(n_shares + 1)))


def _pieces(file: File, starts: Sequence[int | None]) -> tuple[FilePiece, ...]:
    """Pieces that begin at 0 and at these bytes; the last goes to the end, however far that is."""
    firsts = [0, *(start for start in starts if start is not None)]
    if len(firsts) < 2:
        return ()
    lasts = [*firsts[1:], 0]
    names = [f"bytes {a} to {b - 1}" for a, b in pairwise([*firsts, file.n_bytes])]
    return tuple(
        FilePiece(f"{file.shown}, {name}", 0, first, last)
        for name, first, last in zip(names, firsts, lasts, strict=True)
    )


def _first_line(file: File, first: int, last: int) -> int | None:
    """Where the first line begins that begins in these bytes."""
    at = first
    with file.stream(first, last) as stream:
        while data := stream.read(CHUNK_BYTES):
            letters = np.frombuffer(data, np.uint8)
            if len(found := _line_starts(letters)):
                return at + int(found[0])
            at += len(data)
    return None


def _line_starts(letters: Bytes) -> Int64s:
    """The places after newlines; without that after the last letter, of which nothing is known."""
    places = np.flatnonzero(letters[:-1] == NEWLINE) + 1
    starts: Int64s = places[letters[places] != MARK]
    return starts


@dataclass(frozen=True, slots=True)
class _Quotes:
    """What some bytes say in two cases: they begin outside of quotes [0], or inside [1].

    `starts` is where the first row begins, `is_stray` whether a quote outside of quotes stands
    where none opens; `is_odd` is whether they end in the other case than they begin.
    """

    starts: tuple[int | None, int | None]
    is_stray: tuple[bool, bool]
    is_odd: bool


def _look(file: File, first: int, last: int, skip: int, may_precede: Bools) -> _Quotes:
    first, last = max(first, skip), max(last, skip)
    at, n_quotes = first, 0
    starts: list[int | None] = [None, None]
    is_stray = [False, False]
    with file.stream(max(first - 1, skip), last) as stream:
        before = stream.read(1) if first > skip else b"\n"
        while not all(is_stray) and (data := stream.read(CHUNK_BYTES)):
            letters = np.frombuffer(before + data, np.uint8)
            quotes = np.flatnonzero(letters[1:] == QUOTE) if b'"' in data else np.empty(0, int)
            opens = may_precede[letters[quotes]]
            for case in (0, 1):
                outside = (n_quotes + case) % 2  # the first of the quotes that is met outside
                is_stray[case] |= not opens[outside::2].all()
                if starts[case] is None and (len(quotes) or not outside):
                    found = _line_starts(letters[1:])
                    n_before = n_quotes + case + np.searchsorted(quotes, found)
                    found = found[n_before % 2 == 0]
                    starts[case] = at + int(found[0]) if len(found) else None
            n_quotes += len(quotes)
            at += len(data)
            before = data[-1:]
    return _Quotes((starts[0], starts[1]), (is_stray[0], is_stray[1]), bool(n_quotes % 2))
