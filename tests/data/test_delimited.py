"""Delimited text: what is found out by itself, and where each fault is said to be."""

import gzip

import numpy as np
import pytest

from sqrl._data.formats.delimited import SAMPLE_BYTES, detect_separator
from sqrl._data.table import read_table
from sqrl.errors import DataError


def written(folder, text, name="people.csv", encoding="utf-8"):
    """The path of a new file with this text."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def refusal(path, **options):
    """The text of the error that reading the file gives."""
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    return str(caught.value)


def values(table):
    """Each column's values that occur, by name."""
    return {name: table[name].distinct() for name in table}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    """Quoted separators and other punctuation do not mislead."""
    rows = [["a", "b"], ["1", f'"x{separator}y,;|z"'], ["2", "w"]]
    path = written(tmp_path, "\n".join(separator.join(row) for row in rows))

    assert values(read_table(path)) == {"a": (1, 2), "b": ("w", f"x{separator}y,;|z")}


SAMPLES = [
    pytest.param("a;b\n1,5;2,5\n3,5;4,5\n", ";", id="decimal commas"),
    pytest.param("a,b\n1;2,3\n4;5,6\n", ",", id="semicolons in a field"),
    pytest.param("a\n1\n2\n", ",", id="one column"),
    pytest.param("a,b\n1,2\n1,2,3\n", ",", id="a row too long"),
    pytest.param('a|b\n"1\n2|3"|4\n', "|", id="a line end in quotes"),
    pytest.param("a;b,c;d\n1;2;3\n", ";", id="a comma in a name"),
    pytest.param("", ",", id="nothing"),
]


@pytest.mark.parametrize(("text", "separator"), SAMPLES)
def test_the_separator_is_the_one_most_rows_agree_on(text, separator):
    """The header sets how many fields a row should have."""
    assert detect_separator(text) == separator


def test_a_given_separator_is_obeyed(tmp_path):
    """Detection never overrules a person."""
    path = written(tmp_path, "a,b;c\n1,2;3\n")

    assert read_table(path, separator=";").names == ("a,b", "c")


def test_a_tsv_file_is_parted_by_tabs(tmp_path):
    """The suffix says so; commas in it are text."""
    path = written(tmp_path, "a\nx,y\n", name="people.tsv")

    assert values(read_table(path)) == {"a": ("x,y",)}


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_encoding_is_found(tmp_path, encoding):
    """Byte order marks are read; without one it is UTF-8 if it can be, else Windows-1252."""
    path = written(tmp_path, "naïve;Größe\n1;müde\n", encoding=encoding)

    assert values(read_table(path)) == {"naïve": (1,), "Größe": ("müde",)}


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_the_whole_file_decides_on_the_encoding(tmp_path, encoding):
    """One accent after a megabyte of plain letters is read as rightly as at the start."""
    text = "a,b\n" + "1,plain\n" * 150_000 + "2,müde\n"
    table = read_table(written(tmp_path, text, encoding=encoding))

    assert (len(table), table["b"].distinct()) == (150_001, ("müde", "plain"))


@pytest.mark.parametrize("shift", range(3))
def test_a_character_cut_by_the_end_of_the_sample_does_no_harm(tmp_path, shift):
    """Wherever the sample ends, the file is UTF-8."""
    text = "a;b\n" + "x" * (SAMPLE_BYTES - 5 - shift) + "€€;1\ny;2\n"

    assert read_table(written(tmp_path, text))["b"].distinct() == (1, 2)


def test_a_given_encoding_is_obeyed(tmp_path):
    """What detection cannot know can be told."""
    path = written(tmp_path, "a,b\n1,Привет\n", encoding="cp1251")

    assert read_table(path, encoding="cp1251")["b"].distinct() == ("Привет",)


def test_missing_markers_are_missing_and_a_question_mark_is_not(tmp_path):
    """The list is short, and the same for numbers and text."""
    markers = ["", '""', "NA", "N/A", "NaN", "nan", "NULL", "null", "None"]
    rows = [f"{marker},{marker}" for marker in markers]
    table = read_table(written(tmp_path, "\n".join(["a,b", *rows, "1,?"])))

    assert values(table) == {"a": (1,), "b": ("?",)}
    assert table["a"].missing().tolist() == table["b"].missing().tolist() == [True] * 9 + [False]


def test_quotes_may_hold_quotes_separators_and_line_ends(tmp_path):
    """As every spreadsheet writes them."""
    table = read_table(written(tmp_path, 'a,b\r\n1,"x ""y"",\r\nz"\r\n2,5" pipe\r\n'))

    assert table["b"].distinct() == ('5" pipe', 'x "y",\r\nz')


def test_names_lose_the_blanks_around_them(tmp_path):
    """`a, b` in a header means a and b."""
    assert read_table(written(tmp_path, "a, b ,c\n1,2,3\n")).names == ("a", "b", "c")


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\r\n", "\ufeffa,b"])
def test_a_header_without_rows_is_a_table_without_rows(tmp_path, text):
    """Whether or not its line ends."""
    table = read_table(written(tmp_path, text))

    assert (table.names, len(table)) == (("a", "b"), 0)


def test_the_unnamed_first_column_of_a_pandas_file_is_the_index(tmp_path):
    """Such files are too common to refuse."""
    assert read_table(written(tmp_path, ",b\n0,x\n")).names == ("index", "b")


def test_a_type_that_changes_late_in_a_file_is_seen(tmp_path):
    """A column is text if its last row is, however many numbers precede it."""
    table = read_table(written(tmp_path, "a,b\n" + "123456789,1\n" * 900_000 + "1,x\n"))

    assert (table["a"].kind, table["b"].distinct()) == ("number", ("1", "x"))


BAD = {
    "no bytes": (
        b"",
        {},
        "The file is empty.\n  where: {path}\n  fix:   add a header and rows",
    ),
    "blanks": (
        b"\xef\xbb\xbf \n\t\r\n",
        {},
        "The file is empty.\n  where: {path}\n  fix:   add a header and rows",
    ),
    "a row too long": (
        b'a,b\n1,"x\ny"\n1,2,3\n',
        {},
        "Line 4 has 3 fields, but the header has 2.\n  where: {path}, line 4\n"
        "  fix:   mend the line, or give the separator if ',' is not what parts the fields",
    ),
    "a row too short": (
        b"a\tb\tc\n1\t2\t3\n\n1\n",
        {},
        "Line 4 has 1 field, but the header has 3.\n  where: {path}, line 4\n"
        "  fix:   mend the line, or give the separator if '\\t' is not what parts the fields",
    ),
    "the wrong separator": (
        b"a:b\n1:2\n3:4,5\n",
        {"separator": ","},
        "Line 3 has 2 fields, but the header has 1.\n  where: {path}, line 3\n"
        "  fix:   mend the line, or give the separator if ',' is not what parts the fields",
    ),
    "a quote left open": (
        b'a,b\n1,x\n2,"y\n3,z\n4,w\n',
        {},
        "The quote that opens in line 3 never closes.\n  where: {path}, line 3\n"
        '  fix:   close it, and write a quote inside quotes twice: ""',
    ),
    "a quote left open in front of a separator": (
        b'a,b,c\n1,x,y\n2,"y,3\n3,z,4\n',
        {},
        "The quote that opens in line 3 never closes.\n  where: {path}, line 3\n"
        '  fix:   close it, and write a quote inside quotes twice: ""',
    ),
    "a quote left open before much text": (
        b'a,b\n1,x\n2,"y\n' + b"3,z\n" * 50_000,
        {},
        "A field in the row of line 3 has more than 131,072 letters.\n  where: {path}, line 3\n"
        "  fix:   is a quote left open? Close it, or shorten the field",
    ),
    "names twice": (
        b"a,b, a,c,b\n1,2,3,4,5\n",
        {},
        "Column names occur more than once: 'a', 'b'.\n  where: {path}\n"
        "  fix:   give every column a name of its own",
    ),
    "no name": (
        b"a,b, \n1,2,3\n",
        {},
        "Column 3 has no name.\n  where: {path}\n  fix:   give every column a name of its own",
    ),
    "NUL bytes": (
        b"a,b\n1,2\n1,\x00\x01\n",
        {},
        "The file holds a NUL byte, so it is not plain text.\n  where: {path}, line 3\n"
        "  fix:   is it another kind of file? If it is text, give its encoding",
    ),
    "a NUL byte far into the file": (
        b"a,b\n" + b"1,2\n" * 300_000 + b"1,\x00\n",
        {},
        "The file holds a NUL byte, so it is not plain text.\n  where: {path}, line 300002\n"
        "  fix:   is it another kind of file? If it is text, give its encoding",
    ),
    "neither of two encodings": (
        b"a,b\n1,\x81\n",
        {},
        "The file is neither UTF-8 nor Windows-1252 text.\n  where: {path}\n"
        "  fix:   give the encoding it was written in, such as 'latin-1' or 'utf-16'",
    ),
    "not the encoding given": (
        b"a,b\n1,\xe9\n",
        {"encoding": "utf-8"},
        "The file is not utf-8 text.\n  where: {path}\n"
        "  fix:   give the encoding it was written in, such as 'latin-1' or 'utf-16'",
    ),
    "a name not in the encoding given": (
        b"a,\xe9\n1,2\n",
        {"encoding": "utf-8"},
        "The file is not utf-8 text.\n  where: {path}\n"
        "  fix:   give the encoding it was written in, such as 'latin-1' or 'utf-16'",
    ),
    "not UTF-16": (
        b"a,b\n1,22\n",
        {"encoding": "utf-16"},
        "The file is not utf-16 text.\n  where: {path}\n"
        "  fix:   give the encoding it was written in, such as 'latin-1' or 'utf-16'",
    ),
    "an encoding that is none": (
        b"a,b\n1,2\n",
        {"encoding": "utf-9"},
        "Unknown encoding 'utf-9'.\n  where: {path}\n"
        "  fix:   pass a name such as 'utf-8', 'latin-1' or 'utf-16'",
    ),
    "a separator of two characters": (
        b"a,b\n1,2\n",
        {"separator": "::"},
        "'::' cannot separate fields.\n  where: {path}\n"
        "  fix:   pass one character, such as ',' or ';' or '\\t'",
    ),
}


@pytest.mark.parametrize(("text", "options", "expected"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_the_place_and_the_remedy(tmp_path, text, options, expected):
    """Nobody has to search for the line, or for what to do about it."""
    path = written(tmp_path, text)

    assert refusal(path, **options) == expected.format(path=path)


def test_a_row_longer_than_a_block_is_refused(tmp_path):
    """A quote left open for megabytes is the usual cause."""
    path = written(tmp_path, b'a,b\n1,2\n3,"' + b"x" * 2**24 + b'"\n')

    assert refusal(path) == (
        "A field in the row of line 3 has more than 131,072 letters.\n"
        f"  where: {path}, line 3\n"
        "  fix:   is a quote left open? Close it, or shorten the field"
    )


def test_a_packed_file_is_read_as_its_content(tmp_path):
    """`people.csv.gz` is `people.csv`."""
    path = written(tmp_path, gzip.compress(b"a;b\n1;x\n"), name="people.CSV.gz")

    assert values(read_table(path)) == {"a": (1,), "b": ("x",)}


def test_infinities_are_numbers(tmp_path):
    """They are values, not missing ones."""
    table = read_table(written(tmp_path, "a,b\ninf,1\n-inf,2\n"))

    assert table["a"].values.tolist() == [np.inf, -np.inf]
