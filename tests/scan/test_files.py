"""Files of any number and size: the rows and types of one file read whole, in bounded memory."""

import csv
import gzip
import io
import json
import pickle
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sqrl._data.formats import read_arrow
from sqrl._data.table import as_table, read_table
from sqrl._scan.files.find import is_many, search_store, size_of
from sqrl._scan.files.open import open_files
from sqrl.errors import DataError, UnknownNameError

FEW = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = {
    "whole": st.integers(-1000, 1000),
    "real": st.floats(-1e6, 1e6),
    "flag": st.booleans(),
    "word": st.sampled_from(["car", "van", "größe", "a,b", 'say "hi"', "two\nlines"]),
    "empty": st.none(),
}
TYPES = {
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "word": pa.string(),
    "empty": pa.null(),
}
# What Arrow takes for different types, or for the same one in different ways.
VALUES = (
    *("", "NA", "0", "1", "-7", "+5", " 5 ", "0x1F", "99999999999999999999", "1.5", "1e5", "inf"),
    *("nan1", "true", "FALSE", " true", "t", "2024-01-01", "2024-01-01 ", "12:30", "25:00"),
    *("12:30:01", "2024-01-01 10:00", "2024-01-01 10:00:00.5", "2024-01-01T10:00:00Z", " NA"),
    *("2024-01-01T10:00:00.25+01:00", "20240101", "word", 'a "quote"', "größe", "two\nlines"),
    *(" 12:30", "2024-01-01 10:00 ", " 2024-01-01T10:00:00Z", "\t1.5", "24:00", "2024-02-30"),
)


def rows_of(names):
    """Rows as lists of values, some of them missing."""
    cells = [st.none() | COLUMNS[name] for name in names]
    return st.lists(st.tuples(*cells), min_size=1, max_size=12)


@st.composite
def split_tables(draw):
    """Names, rows, and where the rows are cut into files."""
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=5, unique=True))
    rows = draw(rows_of(names))
    return names, rows, sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))


def write_csv(path, names, rows):
    """Write delimited text, packed where the path says so."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "full"])  # without it a row of nothing would be a blank line
    for row in rows:
        shown = [str(cell).lower() if isinstance(cell, bool) else cell for cell in row]
        writer.writerow([*shown, 0])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_json(path, names, rows):
    """Write JSON Lines, packed where the path says so; a line lacks what is missing."""
    found = [{n: c for n, c in zip(names, row, strict=True) if c is not None} for row in rows]
    data = "".join(json.dumps(row) + "\n" for row in found).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def arrow_table(names, rows):
    """The rows with the types of the columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pa.array(each, TYPES[n]) for n, each in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def write_parquet(path, names, rows):
    """Write Parquet in row groups of three."""
    pq.write_table(arrow_table(names, rows), path, row_group_size=3)


def write_arrow(path, names, rows):
    """Write an Arrow file in record batches of three."""
    table = arrow_table(names, rows)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def write_stream(path, names, rows):
    """Write an Arrow stream."""
    table = arrow_table(names, rows)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


WRITERS = [
    pytest.param(".csv", write_csv, id="csv"),
    pytest.param(".csv.gz", write_csv, id="packed csv"),
    pytest.param(".jsonl", write_json, id="json"),
    pytest.param(".ndjson.gz", write_json, id="packed json"),
    pytest.param(".parquet", write_parquet, id="parquet"),
    pytest.param(".arrow", write_arrow, id="arrow"),
    pytest.param(".ipc", write_stream, id="arrow stream"),
]


def gathered(files, columns=None):
    """All rows of all parts as one Arrow table."""
    batches = [batch for part in files.parts for batch in part.read(columns)]
    return pa.Table.from_batches(batches, batches[0].schema if batches else files.parts[0].schema)


def content(table):
    """All that a table says, for comparison."""
    return [
        (name, c.kind, c.is_integer, c.categories, np.nan_to_num(c.values, nan=1e300).tolist())
        for name, c in table.columns.items()
    ]


def refusal(path, **options):
    """The text of the error that opening the files and reading them gives."""
    with pytest.raises(DataError) as caught:
        gathered(open_files(path, **options))
    return str(caught.value)


@pytest.mark.parametrize(("suffix", "write"), WRITERS)
@FEW
@given(table=split_tables(), rows_at_once=st.integers(1, 5))
def test_files_say_what_one_file_says(suffix, write, table, rows_at_once):
    """However the rows are cut, names, kinds, values and their order are those of one file."""
    names, rows, cuts = table
    with TemporaryDirectory() as folder:
        whole = Path(folder, f"whole{suffix}")
        write(whole, names, rows)
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, None], strict=True)):
            write(Path(folder, f"part{number}{suffix}"), names, rows[start:end])
        expected = read_table(whole)
        files = open_files(f"{folder}/part*{suffix}", rows_at_once=rows_at_once, block_bytes=128)
        found = as_table(gathered(files))
        counts = [[batch.num_rows for batch in part.read(frozenset())] for part in files.parts]

    assert content(found) == content(expected)
    assert files.names == expected.names
    assert [sum(each) for each in counts] == [part.n_rows for part in files.parts]
    assert max(map(max, filter(None, counts))) <= rows_at_once
    assert sum(part.n_rows for part in files.parts) == len(rows)


@settings(FEW, max_examples=100)
@given(rows=st.lists(st.tuples(*[st.sampled_from(VALUES)] * 2), max_size=40))
def test_the_types_of_text_are_those_of_all_rows(rows):
    """Blocks of a few rows give the types, values and errors that the whole text gives."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        write_csv(path, ["a", "b"], rows)
        expected = read_arrow(path)
        files = open_files(path, block_bytes=128)
        found = gathered(files)

    assert files.parts[0].schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    assert files.parts[0].n_rows == len(rows)


@settings(FEW, max_examples=80)
@example(["2024-01-01 ", "2024-01-01 10:00"])  # a date may end in a blank, a moment may not
@given(values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
def test_the_types_of_a_few_values_are_those_that_arrow_finds(values):
    """Also where few values meet, so that every type of the ladder is seen."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        write_csv(path, ["a"], [[value] for value in values])

        assert open_files(path, block_bytes=64).parts[0].schema == read_arrow(path).schema


@pytest.mark.parametrize(("block_bytes", "is_whole"), [(256, False), (1 << 20, True)])
def test_a_late_row_widens_the_type_of_all_rows(tmp_path, block_bytes, is_whole):
    """A fraction or a word near the end makes the first row a fraction or a word too."""
    lines = [f"{row},{row % 2},{row}" for row in range(500)] + ["0.5,true,none"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["n,flag,word", *lines]))
    files = open_files(path, block_bytes=block_bytes)
    first = next(files.parts[0].read(None))

    assert (first.num_rows == 501) == is_whole
    assert [str(kind) for kind in files.parts[0].schema.types] == ["double", "bool", "string"]
    assert first.schema == files.parts[0].schema
    assert first.to_pylist()[1] == {"n": 1.0, "flag": True, "word": "1"}


@pytest.mark.parametrize(("suffix", "write"), [(".csv", write_csv), (".jsonl", write_json)])
def test_a_row_may_be_longer_than_a_block(tmp_path, suffix, write):
    """Up to the length that a row may have in memory."""
    path = tmp_path / f"a{suffix}"
    write(path, ["word"], [["short"], ["long" * 500], ["short"]])

    assert gathered(open_files(path, block_bytes=100)).equals(read_arrow(path))


def test_a_late_letter_decides_the_encoding(tmp_path):
    """Text that turns out not to be UTF-8 is read again as Windows-1252, as in memory."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"word,n\n" + b"plain,1\n" * 30000 + "größe,2\n".encode("cp1252"))

    assert gathered(open_files(path)).equals(read_arrow(path))


BAD_TEXT = [
    pytest.param("a,b\n1,2\n1,2,3\n", "line 3", id="a row too long"),
    pytest.param('a,b\n1,"2\n3,4\n', "line 2", id="an open quote"),
    pytest.param("a,b\n1,2\0\n", "line 2", id="a NUL byte"),
    pytest.param(" \n \n", "a.csv", id="blanks"),
    pytest.param("", "a.csv", id="nothing"),
    pytest.param("a,a\n1,2\n", "a.csv", id="a name twice"),
    pytest.param("a,\n1,2\n", "a.csv", id="no name"),
]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize(("text", "place"), BAD_TEXT)
def test_faults_in_text_are_told_as_in_memory(tmp_path, text, place, suffix):
    """The message names the file and the line, word for word as when the file is read whole."""
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
    with pytest.raises(DataError) as caught:
        read_table(path)
    told = refusal(path)

    assert told == str(caught.value) or (not text and "The file is empty." in told)
    assert place.removesuffix(".csv") in told


def test_what_cannot_be_decoded_is_named(tmp_path):
    """A byte that neither encoding knows is an error with the name of the file."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\n" + b"1\n" * 50000 + b"\x81\n")

    assert refusal(path) == str(
        DataError(
            "The file is neither UTF-8 nor Windows-1252 text.",
            where=str(path),
            fix="give the encoding it was written in, such as 'latin-1' or 'utf-16'",
        )
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    """As in memory; and a header may be all there is."""
    for name, text in (("a.csv", "größe;n\nä;1\n"), ("b.csv", "größe;n")):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))

        assert gathered(open_files(path)).cast(read_arrow(path).schema).equals(read_arrow(path))


def test_a_faulty_line_of_json_is_named(tmp_path):
    """The line is counted from the beginning of the file, not of a block."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n' * 100 + '{"a": "x"}\n')

    assert refusal(path, block_bytes=64) == str(
        DataError(
            "Field 'a' is number in earlier lines and text here.",
            where=f"{path}, line 101",
            fix="give the field one type throughout",
        )
    )


def test_a_packed_file_that_was_cut_short_is_named(tmp_path):
    """Or left out."""
    for name in ("a.csv.gz", "b.csv.gz"):
        write_csv(tmp_path / name, ["word"], [[str(row) * 9] for row in range(3000)])
    path = tmp_path / "a.csv.gz"
    path.write_bytes(path.read_bytes()[:-200])

    assert "The .gz file is damaged or was cut short" in refusal(tmp_path)
    assert str(path) in refusal(tmp_path)
    assert len(open_files(tmp_path, skip_damaged=True).parts) == 1


def numbers(folder, name, count=50, **options):
    """A Parquet file of numbers that do not pack well."""
    path = Path(folder, name)
    values = np.random.default_rng(0).normal(size=count)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": values}), path, **options)
    return path


def test_a_truncated_parquet_file_is_named_or_left_out(tmp_path):
    """One bad file among many is told by name; on request the others are read without it."""
    for name in ("a.parquet", "b.parquet", "c.parquet"):
        numbers(tmp_path, name)
    bad = tmp_path / "b.parquet"
    bad.write_bytes(bad.read_bytes()[:-20])
    files = open_files(tmp_path, skip_damaged=True)

    assert "The file is not Parquet, or is damaged: " in refusal(tmp_path)
    assert f"where: {bad}" in refusal(tmp_path)
    assert [Path(part.name).name for part in files.parts] == ["a.parquet", "c.parquet"]
    assert len(files.skipped) == 1
    assert files.skipped[0].startswith(f"{bad} was left out: The file is not Parquet")


@pytest.mark.parametrize("options", [{"write_page_checksum": True}, {"compression": "snappy"}])
def test_a_corrupt_page_is_named_or_left_out(tmp_path, options):
    """Damage that the footer does not tell shows when the rows are read, with the file's name."""
    numbers(tmp_path, "a.parquet")
    words = pa.table({"n": np.arange(4000) // 7 * 1.0})
    bad = tmp_path / "b.parquet"
    pq.write_table(words, bad, row_group_size=1000, use_dictionary=False, **options)
    data = bytearray(bad.read_bytes())
    at = pq.ParquetFile(bad).metadata.row_group(2).column(0).data_page_offset
    data[at + 60 : at + 160] = bytes(byte ^ 0xFF for byte in data[at + 60 : at + 160])
    bad.write_bytes(data)
    files = open_files(tmp_path, skip_damaged=True)

    assert "The rows cannot be read: " in refusal(tmp_path)
    assert f"where: {bad}" in refusal(tmp_path)
    assert [Path(part.name).name for part in files.parts] == ["a.parquet"]
    assert files.skipped[0].startswith(f"{bad} was left out: The rows cannot be read: ")


def test_where_all_files_are_damaged_nothing_is_returned(tmp_path):
    """An empty result would look like an empty table."""
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")

    assert "None of the files can be read." in refusal(tmp_path, skip_damaged=True)


def test_large_files_are_cut_at_row_groups(tmp_path):
    """So that a single file can be shared out; a part says which groups it has."""
    for name, write in (("a.parquet", pq.write_table), ("a.arrow", write_feather)):
        path = tmp_path / name
        table = pa.table({"n": np.arange(5_000_000, dtype=np.uint32) // 1000})
        write(table, path, row_group_size=500_000)
        files = open_files(path)
        of = "row groups" if name == "a.parquet" else "record batches"

        assert [part.n_rows for part in files.parts] == [4_000_000, 1_000_000]
        assert [part.name for part in files.parts] == [
            f"{path}, {of} 0 to 7",
            f"{path}, {of} 8 to 9",
        ]
        assert gathered(files).equals(table)


def write_feather(table, path, *, row_group_size):
    """Write an Arrow file in record batches of this size."""
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=row_group_size)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Two million rows are read with the memory of one row group at most."""
    path = numbers(tmp_path, "a.parquet", 2_000_000, row_group_size=200_000)
    files = open_files(path, rows_at_once=1 << 16)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for part in files.parts:
        for batch in part.read(None):
            rows += batch.num_rows
            most = max(most, pa.total_allocated_bytes() - before)

    assert rows == 2_000_000
    assert most < 8 * 2**20  # the file has 16 million bytes


def test_a_part_can_be_read_by_another_process_in_another_folder(tmp_path, monkeypatch):
    """A part that was pickled knows where its file is."""
    monkeypatch.chdir(tmp_path)
    for name, write in (
        ("a.csv", write_csv),
        ("a.parquet", write_parquet),
        ("a.arrow", write_arrow),
    ):
        write(tmp_path / name, ["whole"], [[5], [None], [7]])
        (part,) = open_files(name).parts
        (tmp_path / "part").write_bytes(pickle.dumps(part))
        code = (
            f"import pickle; part = pickle.load(open({str(tmp_path / 'part')!r}, 'rb'))\n"
            "print(part.name, [b['whole'].to_pylist() for b in part.read(None)])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True
        )

        assert done.stdout == f"{name} [[5, None, 7]]\n"


def test_columns_are_chosen_by_name_in_the_order_of_the_schema(tmp_path):
    """Files may have them in another order; a name that is not there is an error."""
    write_parquet(tmp_path / "a.parquet", ["whole", "word"], [[1, "a"]])
    write_parquet(tmp_path / "b.parquet", ["word", "whole"], [["b", 2]])
    files = open_files(tmp_path)

    assert gathered(files).to_pydict() == {"whole": [1, 2], "word": ["a", "b"]}
    assert gathered(files, frozenset(["word"])).to_pydict() == {"word": ["a", "b"]}
    with pytest.raises(UnknownNameError, match="did you mean 'word'"):
        next(files.parts[0].read(frozenset(["wrod"])))


def test_the_index_of_pandas_is_called_index(tmp_path):
    """As when the file is read whole."""
    pq.write_table(pa.table({"n": [1], "__index_level_0__": [7]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(",n\n7,1\n")

    assert gathered(open_files(tmp_path / "a.parquet")).to_pydict() == {"n": [1], "index": [7]}
    assert gathered(open_files(tmp_path / "a.csv")).to_pydict() == {"index": [7], "n": [1]}


def test_folders_globs_lists_and_addresses_find_the_same_files(tmp_path):
    """Sorted by path, without what other programs leave beside the tables."""
    for name in ("b.parquet", "a.parquet", "deep/er/c.parquet", "_temporary/d.parquet"):
        numbers(tmp_path, name)
    for name in ("_SUCCESS", "._a.parquet", ".a.parquet.crc", "_x.parquet", "notes.md"):
        (tmp_path / name).write_bytes(b"no table")
    listed = [tmp_path / name for name in ("a.parquet", "b.parquet", "deep/er/c.parquet")]
    for path in (
        tmp_path,
        str(tmp_path),
        f"{tmp_path}/**/*.parquet",
        listed,
        f"file://{tmp_path}",
        f"file://{tmp_path}/**/*.parquet",
        [tmp_path / "?.parquet", tmp_path / "deep"],
    ):
        files = open_files(path)

        assert [part.source.file.path for part in files.parts] == list(map(str, listed))
        assert is_many(path)
        assert size_of(path) == sum(each.stat().st_size for each in listed)


def test_a_store_is_searched_as_a_disk_is(tmp_path):
    """A file system that is not of this machine gives the same files and rows."""
    for name in ("t/b.parquet", "t/year=2024/a.parquet", "t/_temporary/c.parquet", "t/_SUCCESS"):
        numbers(tmp_path, name)
    store = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())

    def found(root, pattern):
        return [file.shown for file in search_store(store, root, pattern, shown="s3://")]

    assert found("t", "") == ["s3://t/b.parquet", "s3://t/year=2024/a.parquet"]
    assert found("t", "*.parquet") == ["s3://t/b.parquet"]
    assert found("t", "**/[!b].par?uet") == ["s3://t/year=2024/a.parquet"]
    assert found("t/b.parquet", "") == ["s3://t/b.parquet"]
    with pytest.raises(DataError, match="There is no such file"):
        found("u", "")


def test_a_folder_of_labels_and_a_single_file_are_not_many(tmp_path):
    """Those are read as before."""
    (tmp_path / "000001.txt").write_text("Car 0 0 0 1 2 3 4 0 0 0 0 0 0 0\n")
    odd = tmp_path / "a[1].csv"
    odd.write_text("n\n1\n")
    (tmp_path / "none").mkdir()

    assert not is_many(tmp_path)
    assert not is_many(tmp_path / "none")
    assert not is_many(odd)
    assert size_of(odd) == 4
    assert size_of(tmp_path / "absent.csv") == 0
    assert gathered(open_files(odd)).to_pydict() == {"n": [1]}


def test_folders_that_tell_a_value_become_columns(tmp_path):
    """Numbers where all are, else text; what has no value is missing."""
    for folder in ("year=2024/place=north%20sea", "year=2025/place=__HIVE_DEFAULT_PARTITION__"):
        numbers(tmp_path, f"{folder}/a.parquet", 2)
    files = open_files(tmp_path)
    told = gathered(files, frozenset(["year", "place"]))

    assert files.names == ("n", "year", "place")
    assert told.to_pydict() == {
        "year": [2024, 2024, 2025, 2025],
        "place": ["north sea", "north sea", None, None],
    }
    assert gathered(files).num_rows == 4


def test_folders_that_tell_different_things_are_refused(tmp_path):
    """A column must be told for every row."""
    numbers(tmp_path, "a.parquet")
    numbers(tmp_path, "year=2024/a.parquet")

    assert "The folders of some files tell 'year', and those of others do not." in refusal(tmp_path)


def test_a_mixture_of_formats_is_refused(tmp_path):
    """With a file of each."""
    numbers(tmp_path, "a.parquet")
    write_csv(tmp_path / "b.csv", ["n"], [[1]])

    assert refusal(tmp_path) == str(
        DataError(
            f"The files are of more than one format: Parquet ({tmp_path / 'a.parquet'}), "
            f"delimited text ({tmp_path / 'b.csv'}).",
            where=str(tmp_path),
            fix="name files of one format, such as '*.parquet'",
        )
    )


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_text_in_one_file_and_numbers_in_another_are_refused(tmp_path, suffix):
    """Both files and the column are named."""
    write = {".parquet": write_parquet, ".csv": write_csv, ".jsonl": write_json}[suffix]
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write(first, ["whole"], [[1]])
    write(second, ["word"], [["car"]])
    if suffix == ".parquet":
        pq.write_table(pa.table({"whole": ["car"]}), second)
    else:
        second.write_text(second.read_text().replace("word", "whole"))

    assert refusal(tmp_path) == str(
        DataError(
            f"Column 'whole' is numbers in {first} and text in {second}.",
            where=str(second),
            fix="give the column one type in all files",
        )
    )


def test_a_column_that_is_absent_from_a_file_is_named(tmp_path):
    """With the nearest name that the file has."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("height,n\n1,2\n")
    second.write_text("hieght,n\n1,2\n")

    assert refusal(tmp_path) == str(
        DataError(
            f"Column 'height' of {first} is absent from this file.",
            where=str(second),
            fix="did you mean 'hieght'?",
        )
    )


def test_types_of_different_width_become_one(tmp_path):
    """Whole numbers beside fractions, words beside coded words, nothing beside anything."""
    tables = (
        pa.table({"n": pa.array([1], pa.int8()), "w": pa.array(["a"]).dictionary_encode()}),
        pa.table({"n": pa.array([1.5]), "w": pa.array(["b"], pa.large_string())}),
        pa.table({"n": pa.nulls(1), "w": pa.nulls(1)}),
    )
    for name, table in zip("abc", tables, strict=True):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    found = gathered(open_files(tmp_path))

    assert found.to_pydict() == {"n": [1.0, 1.5, None], "w": ["a", "b", None]}
    assert found.schema.types == [pa.float64(), pa.large_string()]


def test_where_there_is_no_table_the_place_is_named(tmp_path):
    """Nothing found is never taken for no rows."""
    assert "There is no table among the files." in refusal(tmp_path / "*.csv")
    assert "There is no such file." in refusal(tmp_path / "a.csv")
    assert "There is no table among the files." in refusal(f"file://{tmp_path}")
    assert "There is no file in the list." in refusal([])


def test_a_file_that_changes_after_it_was_opened_is_told(tmp_path):
    """Row numbers were given out for the rows that had been counted."""
    path = numbers(tmp_path, "a.csv.parquet", 50)
    files = open_files(path)
    numbers(tmp_path, "a.csv.parquet", 49)
    with pytest.raises(DataError) as caught:
        gathered(files)

    assert caught.value.what == "49 rows were read where 50 had been counted."
