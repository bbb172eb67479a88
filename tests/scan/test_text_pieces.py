"""Large text in pieces: rows, types, errors and results are those of the file read as one."""

import gzip
import json
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import sqrl
from effort import often
from sqrl._data.formats import cut_text
from sqrl._data.formats.delimited_parts import survey_csv
from sqrl._data.formats.file_format import Reading
from sqrl._data.formats.stored_file import File
from sqrl._scan.files.open import open_files
from sqrl.errors import DataError, SqrlError

MANY = settings(
    deadline=None, max_examples=often(50, 200), suppress_health_check=[HealthCheck.too_slow]
)
WHOLE = 1 << 40
FIELDS = (
    *("0", "7", "NA", "", '"5"', "1.5", "-3", "true", "word", "größe", "2024-01-01", "12:30"),
    *('"two\nlines"', '"a,b"', '""', '"say ""hi"""', '"\r\n"', '"""quoted"""', " 5 ", "\ufeffx"),
)
FAULTS = ('a"b', '"a" "', '"open', '"', "\0", '""x"y"', '"a"b', "more", "fewer")
ENDS = ("\n", "\n", "\n", "\r\n", "\n\n", "\r", "\n\r\n")
VALUES = (None, 1, -5, 2.5, True, "word", "2024-01-01", "two\nlines", 'a "quote"', [1], {"n": 1})


@st.composite
def texts(draw):
    """Delimited text of which some has a late type, and some a stray quote or a field too many."""
    n_columns = draw(st.integers(1, 3))
    fields = st.sampled_from(FIELDS[: draw(st.integers(2, len(FIELDS)))])
    row = st.lists(fields, min_size=n_columns, max_size=n_columns)
    rows = [["a", '"b c"', "d"][:n_columns], *draw(st.lists(row, min_size=6, max_size=25))]
    rows += [[draw(st.sampled_from(FIELDS))] * n_columns]
    if draw(st.integers(0, 3)) == 0:
        fault, faulty = draw(st.sampled_from(FAULTS)), draw(st.sampled_from(rows))
        faulty[-1:] = {"more": ["9", "9"], "fewer": []}.get(fault, [fault])
    ends = draw(st.sampled_from([("\n",), ("\r\n",), ENDS]))
    lines = [",".join(row) + draw(st.sampled_from(ends)) for row in rows]
    start = draw(st.sampled_from(["", "", "", "\ufeff", "\n\n", " \n"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "cp1252", "utf-16"]))
    return (start + "".join(lines)).encode(encoding, "replace")


@st.composite
def json_lines(draw):
    """Lines of JSON, some of them not what Arrow expects."""
    names = st.sampled_from("abc")
    values = st.sampled_from(VALUES[: draw(st.integers(2, len(VALUES)))])
    rows = draw(st.lists(st.dictionaries(names, values, max_size=3), max_size=20))
    lines = [json.dumps(row) for row in rows]
    odd = ["", "null", "[]", '{"a": 1', "{", '{"a":\n{"b": 1}}', '{"a": 1} {"a": 2}', "\ufeff{}"]
    for fault in draw(st.lists(st.sampled_from(odd), max_size=1)):
        lines.insert(draw(st.integers(0, len(lines))), fault)
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""]).encode()


def gathered(files):
    """All rows of all parts as one Arrow table."""
    batches = [batch for part in files.parts for batch in part.read()]
    return pa.Table.from_batches(batches, files.parts[0].schema).combine_chunks()


def outcome(path, piece_bytes, **options):
    """What the file says when it is cut into pieces of about so many bytes, or the error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut_text, "PIECE_BYTES", piece_bytes)
        try:
            files = open_files(path, **options)
            table = gathered(files)
        except SqrlError as error:
            return str(error)
    assert sum(part.n_rows for part in files.parts) == table.num_rows
    return table.schema.to_string(), table.to_pylist()


def both(data, suffix, piece_bytes, **options):
    """The outcomes of a file read as one and in pieces."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        path.write_bytes(data)
        return outcome(path, WHOLE, **options), outcome(path, piece_bytes, **options)


@MANY
@example(b'a,b\n1,"x\n2,3\n4,"\n' * 4, 8, 64)
@example(b'\xef\xbb\xbf"a",b\n' + b"1,2\n" * 20 + b"1.5,x\n", 16, 64)
@example(b"a,b\n" + b"1,2\n" * 20 + b"1,2,3\n" + b"\xff,1\n", 16, 64)
@example(b"a\n" + b"1\n" * 20 + b"\xe4\n", 16, 64)
@example(b"\n" * 40 + b"a,b\n" + b"1,2\n" * 9, 16, 64)
@example(b"a,b\n" + b"1,2\n" * 9 + b"\n" * 40, 16, 64)
@example(b'a,b\n1,"' + b"x" * 200 + b'"\n' + b"1,2\n" * 9, 16, 64)
@given(data=texts(), piece_bytes=st.integers(6, 60), block_bytes=st.sampled_from([64, 1 << 20]))
def test_delimited_text_in_pieces_says_what_it_says_as_one(data, piece_bytes, block_bytes):
    """The same rows in the same order, the same types, or the same error word for word."""
    # Arrow's reader loses a line feed within quotes that begins a block, after a carriage return
    # that ends one: blocks that small would meet it often, and pieces begin other blocks.
    assume(block_bytes > 64 or b'"\r\n"' not in data)
    whole, cut = both(data, ".csv", piece_bytes, block_bytes=block_bytes)

    assert cut == whole


@MANY
@given(
    data=json_lines(), piece_bytes=st.integers(6, 60), block_bytes=st.sampled_from([64, 1 << 20])
)
def test_lines_of_json_in_pieces_say_what_they_say_as_one(data, piece_bytes, block_bytes):
    """The same rows in the same order, the same types, or the same error word for word."""
    whole, cut = both(data, ".jsonl", piece_bytes, block_bytes=block_bytes)

    assert cut == whole


def write_people(path, n_rows=2000):
    """Delimited text with quotes, newlines in them, missing values and a late fraction."""
    rng = np.random.default_rng(0)
    lines = ["kind,x,note"]
    for row in range(n_rows):
        x = "" if row % 17 == 0 else rng.integers(0, 100)
        lines.append(f'{"ab"[row % 2]},{x},"note ""{row}""\nof two, lines"')
    path.write_text("\n".join([*lines, "a,0.5,plain"]) + "\n")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file that is cut into pieces of about 8 kB."""
    monkeypatch.setattr(cut_text, "PIECE_BYTES", 1 << 13)
    path = tmp_path / "people.csv"
    write_people(path)
    return path


def test_a_large_file_is_many_parts(people):
    """So that every core, and every machine, has some of them."""
    files = open_files(people)
    again = pickle.loads(pickle.dumps(files.parts))
    names = [part.name for part in files.parts]

    assert len(files.parts) == people.stat().st_size >> 13
    assert names[0].startswith(f"{people}, bytes 0 to ")
    assert names[-1].endswith(f" to {people.stat().st_size - 1}")
    assert len({part.stamp for part in files.parts}) == len(files.parts)
    assert [part.n_rows for part in again] == [part.n_rows for part in files.parts]
    assert all(part.schema.field("x").type == pa.float64() for part in files.parts)


def test_rules_and_counts_do_not_depend_on_pieces(people, monkeypatch):
    """To the last bit: rows keep their numbers, by which they are held out."""
    schema = {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= x <= ?"]}

    def found():
        data = sqrl.scan(people)
        rules = sqrl.learn(data, schema)
        broken = sqrl.check(rules, data)
        return len(data.engine.parts), rules.table, broken.applicable, broken.broken

    n_cut, cut_rules, *cut = found()
    monkeypatch.setattr(cut_text, "PIECE_BYTES", WHOLE)
    n_whole, whole_rules, *whole = found()

    assert (n_cut > 5, n_whole) == (True, 1)
    assert cut_rules.equals(whole_rules)
    assert [each.tolist() for each in cut] == [each.tolist() for each in whole]


def test_a_file_that_grows_after_it_was_opened_is_told(people):
    """The last piece has all rows up to the end, also those that were not there before."""
    files = open_files(people)
    with people.open("a") as more:
        more.write("a,1,late\n")
    with pytest.raises(DataError) as caught:
        gathered(files)

    assert " rows were read where " in caught.value.what
    assert caught.value.where == files.parts[-1].name


def test_a_file_that_shrinks_after_it_was_opened_is_told(people):
    """Whatever pieces no longer have their bytes."""
    files = open_files(people)
    people.write_bytes(people.read_bytes()[:9000])

    with pytest.raises(DataError, match=r"rows were read where|rows cannot be read"):
        gathered(files)


def test_packed_and_wide_text_are_one_piece(people, tmp_path):
    """What has no rows at known bytes cannot be cut."""
    packed, wide = tmp_path / "a.csv.gz", tmp_path / "b.csv"
    packed.write_bytes(gzip.compress(people.read_bytes(), 0))
    wide.write_bytes(people.read_text().encode("utf-16"))
    expected = gathered(open_files(people))

    for path in (packed, wide):
        assert len(open_files(path).parts) == 1
        assert gathered(open_files(path)).equals(expected)
        assert len(open_files(people).parts) > 1


def test_a_store_without_ranges_is_read_as_one_piece(people):
    """As some that only give a file from its beginning to its end."""

    class OnlyStreams(pyarrow.fs.FSSpecHandler):
        def __init__(self):
            self.local = pyarrow.fs.LocalFileSystem()

        def get_type_name(self):
            return "streams"

        def open_input_stream(self, path):
            return self.local.open_input_stream(path)

        def open_input_file(self, path):
            raise NotImplementedError(path)

    size = people.stat().st_size
    store = pyarrow.fs.PyFileSystem(OnlyStreams())
    found = survey_csv(File("s3://people.csv", str(people), store, size), Reading())

    assert [piece.n_rows for piece in found.pieces] == [2001]


def test_a_fault_in_a_late_piece_has_its_line_in_the_file(people):
    """Lines are counted from the beginning of the file, not of a piece."""
    with people.open("a") as more:
        more.write("a,1\n")
    with pytest.raises(DataError) as caught:
        open_files(people)

    assert str(caught.value).splitlines()[:2] == [
        "Line 4003 has 2 fields, but the header has 3.",
        f"  where: {people}, line 4003",
    ]
