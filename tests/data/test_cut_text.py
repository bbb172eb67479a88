"""Where large text files are cut: always between two rows, as Arrow's reader tells them apart."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import often
from sqrl._data.formats import cut_text
from sqrl._data.formats.cut_text import cut_lines, cut_rows
from sqrl._scan.files.find import find_files


def starts_of(text, cut, *, piece_bytes, chunk_bytes=1 << 20):
    """The bytes at which the pieces of a text begin."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut_text, "PIECE_BYTES", piece_bytes)
        patch.setattr(cut_text, "CHUNK_BYTES", chunk_bytes)
        path = Path(folder, "a.csv")
        path.write_bytes(text)
        pieces = cut(find_files(path)[0])
    assert [piece.last for piece in pieces[:-1]] == [piece.first for piece in pieces[1:]]
    assert not pieces or (pieces[0].first, pieces[-1].last) == (0, 0)
    return [piece.first for piece in pieces]


def row_starts(text, separator=b","):
    """Where rows begin, letter by letter: a quote opens only at the beginning of a field."""
    starts, state = {0}, "field begins"
    for at, letter in enumerate(text):
        if state == "in quotes":
            state = "after quote" if letter == ord('"') else state
        elif letter == ord('"') and state in {"field begins", "after quote"}:
            state = "in quotes"
        elif letter in b"\r\n":
            starts.add(at + 1)
            state = "field begins"
        else:
            state = "field begins" if letter == separator[0] else "in field"
    return starts


@settings(deadline=None, max_examples=often(80, 300))
@example([b'"', b"\n", b'"', b"\n", b"a", b"\n"] * 3, 2, 2)
@given(
    tokens=st.lists(st.sampled_from([b'"', b'""', b"a", b",", b"\n", b"\r\n", b'"a\n"', b',"'])),
    piece_bytes=st.integers(2, 9),
    chunk_bytes=st.integers(2, 9),
)
def test_a_piece_begins_with_a_row(tokens, piece_bytes, chunk_bytes):
    """However quotes and newlines lie, and wherever chunks of bytes end."""
    text = b"".join(tokens)
    found = starts_of(
        text, lambda file: cut_rows(file, ","), piece_bytes=piece_bytes, chunk_bytes=chunk_bytes
    )

    assert set(found) <= row_starts(text)
    assert found == sorted(set(found))
    assert all(start < len(text) for start in found)


@settings(deadline=None)
@given(text=st.text("a\n\r", max_size=60), piece_bytes=st.integers(2, 9))
def test_lines_are_cut_after_newlines(text, piece_bytes):
    """Which need not be looked for anywhere else than near the cuts."""
    data = text.encode()
    found = starts_of(data, cut_lines, piece_bytes=piece_bytes)

    assert all(data[start - 1 : start] == b"\n" for start in found[1:])


CUTS = [
    pytest.param(b"a,b\n" * 8, [0, 20], id="plain rows"),
    pytest.param(b'a,"\n"\n' + b"c,d\n" * 6, [0, 18], id="a newline in quotes"),
    pytest.param(b'"' + b"\n" * 30 + b'"\n', [], id="one row"),
    pytest.param(b'a"b\n' * 8, [], id="a quote inside a field"),
    pytest.param(b'"a" "\n' * 8, [], id="a quote after quotes"),
    pytest.param(b'"a""b"\n' * 8, [0, 35], id="a quote written twice"),
    pytest.param(b"a,b\n" * 7 + b'a,"', [], id="a quote that is left open"),
    pytest.param(b"a,b\r" * 8, [], id="carriage returns alone"),
    pytest.param(b"\xef\xbb\xbfa\n" * 8, [], id="rows that begin with a mark"),
]


@pytest.mark.parametrize(("text", "expected"), CUTS)
def test_text_that_is_in_doubt_is_not_cut(text, expected):
    """A cut inside quotes would make other rows of them."""
    found = starts_of(text, lambda file: cut_rows(file, ","), piece_bytes=len(text) // 2)

    assert found == expected


def test_the_mark_before_a_quote_belongs_to_no_field():
    """As spreadsheets write it before a header in quotes."""
    text = b'\xef\xbb\xbf"a"\n' + b"1\n" * 20

    assert starts_of(text, lambda file: cut_rows(file, ","), piece_bytes=20) == []
    assert starts_of(text, lambda file: cut_rows(file, ",", skip=3), piece_bytes=20) == [0, 25]
    assert starts_of(text, lambda file: cut_rows(file, ",", skip=3), piece_bytes=2)[0] == 0
