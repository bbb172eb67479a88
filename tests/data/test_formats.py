"""Files: every format gives the same table, and every bad file says what is wrong."""

import gzip
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sqrl._data.table import as_table, read_table
from sqrl.errors import DataError, LimitError

DATA = {
    "height": [168, None, 156],
    "weight": [62.5, 85.0, None],
    "smokes": [True, None, False],
    "city": ["Zürich", None, "Bern"],
    "nothing": [None, None, None],
}
SUFFIXES = (
    ".csv, .tsv, .txt, .jsonl, .ndjson, .parquet, .pq, .arrow, .feather, .ipc; "
    "delimited text and JSON Lines also with .gz; "
    "boxes: KITTI, YOLO (.txt) or Pascal VOC (.xml) labels as a folder or .zip, COCO as .json"
)


def json_lines(path):
    rows = [dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def arrow_file(path):
    table = pa.table(DATA)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def arrow_stream(path):
    table = pa.table(DATA)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def arrow_tsv(path):
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(pa.table(DATA), path, options)


WRITERS = {
    "csv by pyarrow": ("a.csv", lambda path: pyarrow.csv.write_csv(pa.table(DATA), path)),
    "tsv by pyarrow": ("a.tsv", arrow_tsv),
    "csv by pandas": ("a.csv", lambda path: pd.DataFrame(DATA).to_csv(path, index=False)),
    "packed csv by pandas": ("a.csv.gz", lambda path: pd.DataFrame(DATA).to_csv(path, index=False)),
    "txt by pandas": ("a.txt", lambda path: pd.DataFrame(DATA).to_csv(path, index=False, sep="|")),
    "csv by polars": ("a.csv", lambda path: pl.DataFrame(DATA).write_csv(path)),
    "parquet by pyarrow": ("a.parquet", lambda path: pq.write_table(pa.table(DATA), path)),
    "parquet by pandas": ("a.pq", lambda path: pd.DataFrame(DATA).to_parquet(path)),
    "parquet by polars": ("A.PARQUET", lambda path: pl.DataFrame(DATA).write_parquet(path)),
    "json lines": ("a.jsonl", json_lines),
    "packed json lines": ("a.ndjson.gz", json_lines),
    "json lines by polars": ("a.ndjson", lambda path: pl.DataFrame(DATA).write_ndjson(path)),
    "arrow file": ("a.arrow", arrow_file),
    "arrow stream": ("a.ipc", arrow_stream),
    "arrow by polars": ("a.arrow", lambda path: pl.DataFrame(DATA).write_ipc(path)),
    "feather": ("a.feather", lambda path: pyarrow.feather.write_feather(pa.table(DATA), path)),
}


@pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS.keys())
def test_every_format_and_writer_gives_the_same_table(tmp_path, name, write):
    """A table is its content, not the file that it came in."""
    path = tmp_path / name
    write(path)
    table = read_table(path)

    assert (table.source, len(table)) == (name, 3)
    assert {name: table[name].distinct() for name in table} == {
        "height": (156, 168),
        "weight": (62.5, 85.0),
        "smokes": (False, True),
        "city": ("Bern", "Zürich"),
        "nothing": (),
    }
    assert table.fingerprint() == as_table(DATA).fingerprint()


def test_an_index_that_pandas_saved_is_called_index(tmp_path):
    """Its CSV and its Parquet files agree."""
    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 7])
    frame.to_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")

    tables = [read_table(tmp_path / name) for name in ("a.csv", "a.parquet")]
    assert set(tables[0].names) == set(tables[1].names) == {"index", "a"}
    assert tables[0].fingerprint() == tables[1].fingerprint()


def test_a_field_that_a_line_lacks_is_missing(tmp_path):
    """JSON Lines need not repeat every name."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}\n{"c": {"d": 1}}\n')
    table = read_table(path)

    assert {name: table[name].kind for name in table} == {
        "a": "number",
        "b": "category",
        "c": "other",
    }
    assert table["a"].missing().tolist() == [False, False, True]


def refusal(path, error=DataError, **options):
    """The text of the error that reading the file gives."""
    with pytest.raises(error) as caught:
        read_table(path, **options)
    return str(caught.value)


def test_a_missing_file_is_answered_with_the_nearest_one(tmp_path):
    """A slip of the finger costs one look."""
    (tmp_path / "people.csv").touch()
    path = tmp_path / "poeple.csv"

    what = "There is no such file."
    assert refusal(path) == f"{what}\n  where: {path}\n  fix:   did you mean 'people.csv'?"
    path = tmp_path / "zzz.parquet"
    assert refusal(path) == f"{what}\n  where: {path}\n  fix:   check the path"


def test_a_missing_folder_is_said_to_be_missing(tmp_path):
    """Not the file in it."""
    folder = tmp_path / "nowhere"

    expected = f"There is no such folder.\n  where: {folder}\n  fix:   check the path"
    assert refusal(folder / "a.csv") == expected


@pytest.mark.parametrize("name", ["folder", "folder.csv"])
def test_a_folder_is_not_a_file(tmp_path, name):
    """Whatever its name ends in."""
    path = tmp_path / name
    path.mkdir()

    expected = (
        f"This is a folder, not a file.\n  where: {path}\n"
        "  fix:   name a file in it, or a folder of labels: .txt of KITTI or YOLO, "
        ".xml of Pascal VOC"
    )
    assert refusal(path) == expected


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    """A permission is the owner's to give."""
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")

    def deny(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "open", deny)
    assert refusal(path) == (
        f"The file may not be read.\n  where: {path}\n"
        "  fix:   ask its owner, or change its permissions"
    )


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "a.parquet.gz", "csv"])
def test_an_unknown_format_is_answered_with_those_known(tmp_path, name):
    """The suffix decides, and the choice is listed."""
    path = tmp_path / name
    path.write_text("a\n1\n")

    expected = (
        f"The format of {name!r} is unknown.\n  where: {path}\n  fix:   use one of: {SUFFIXES}"
    )
    assert refusal(path) == expected


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_an_empty_file_is_refused_in_every_format(tmp_path, name):
    """Zero bytes are no table."""
    path = tmp_path / name
    path.touch()

    expected = f"The file is empty.\n  where: {path}\n  fix:   add a header and rows"
    assert refusal(path) == expected


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_above_the_limit_is_refused_before_it_fills_the_memory(tmp_path, name):
    """Packed files count by what they unpack to."""
    path = tmp_path / name
    text = b"a,b\n" + b"1,2\n" * 1000
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    size = "1,001" if name.endswith(".gz") else "4,004"

    assert refusal(path, LimitError, max_bytes=1000) == (
        f"The file has {size} bytes or more, above the limit of 1,000.\n"
        f"  where: {path}\n"
        "  fix:   raise max_bytes= if it fits in memory, or read fewer rows or columns"
    )


@pytest.mark.parametrize("cut", [5, 25, -4])
def test_a_damaged_gz_file_is_refused(tmp_path, cut):
    """A download cut short does not pass for a short table."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 50)[:cut])

    assert refusal(path) == (
        "The .gz file is damaged or was cut short.\n"
        f"  where: {path}\n"
        "  fix:   fetch or compress it again"
    )


def test_a_file_that_is_not_gz_is_refused_by_its_name(tmp_path):
    """The suffix promises what the bytes must keep."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")

    assert refusal(path).startswith("The .gz file is damaged or was cut short.\n")


def test_a_damaged_parquet_file_is_refused(tmp_path):
    """With the reason that its reader gives."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(DATA), path)
    path.write_bytes(path.read_bytes()[:-20])

    assert refusal(path) == (
        "The file is not Parquet, or is damaged: Parquet magic bytes not found in footer. "
        "Either the file is corrupted or this is not a parquet file.\n"
        f"  where: {path}\n"
        "  fix:   write or fetch it again"
    )


def test_a_damaged_arrow_file_is_refused(tmp_path):
    """With the reason that its reader gives."""
    path = tmp_path / "a.arrow"
    arrow_file(path)
    path.write_bytes(path.read_bytes()[:-20])

    assert refusal(path) == (
        "The file is not Arrow, or is damaged: Not an Arrow file.\n"
        f"  where: {path}\n"
        "  fix:   write or fetch it again"
    )


@pytest.mark.parametrize("write", [arrow_file, arrow_stream])
def test_no_damage_to_an_arrow_file_ends_in_anything_but_a_data_error(tmp_path, write):
    """Bytes overwritten anywhere are refused, or do not matter."""
    path = tmp_path / "a.arrow"
    write(path)
    whole = path.read_bytes()
    for start in range(0, len(whole), 16):
        path.write_bytes(whole[:start] + b"\xff" * 16 + whole[start + 16 :])
        try:
            read_table(path)
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017


BAD_JSON = {
    "blanks": (
        b" \n\n",
        "The file is empty.\n  where: {path}\n  fix:   write one JSON object a line",
    ),
    "no JSON": (
        b'{"a": 1}\n{"a": }\n',
        "The line is not JSON: Expecting value at character 7.\n"
        "  where: {path}, line 2\n  fix:   write one JSON object a line",
    ),
    "an array": (
        b'[{"a": 1}, {"a": 2}]\n',
        "The line is a JSON list, not an object.\n"
        '  where: {path}, line 1\n  fix:   write one JSON object a line: {{"name": value}}',
    ),
    "two types": (
        b'{"a": 1}\n{"a": null}\n{"a": 2.5}\n\n{"a": "x"}\n',
        "Field 'a' is number in earlier lines and text here.\n"
        "  where: {path}, line 5\n  fix:   give the field one type throughout",
    ),
    "two types far into the file": (
        b'{"a": true}\n' * 800_000 + b'{"a": 1}\n',
        "Field 'a' is boolean in earlier lines and number here.\n"
        "  where: {path}, line 800001\n  fix:   give the field one type throughout",
    ),
    "a name twice": (
        b'{"a": 1, "a": 2}\n',
        "The file is not JSON Lines: JSON parse error: Column(/a) was specified twice in row 0.\n"
        "  where: {path}\n  fix:   write one JSON object a line",
    ),
    "no name": (
        b'{"a": 1, "": 2}\n',
        "Column 2 has no name.\n  where: {path}\n  fix:   give every column a name of its own",
    ),
    "not UTF-8": (
        b'{"a": "x"}\n{"a": "\xe9"}\n',
        "The line is not UTF-8 text.\n  where: {path}, line 2\n  fix:   save it as UTF-8",
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_JSON.values(), ids=BAD_JSON.keys())
def test_a_bad_line_of_json_is_refused_with_its_number(tmp_path, text, expected):
    """Counted from the first line, blank lines included."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)

    assert refusal(path) == expected.format(path=path)
