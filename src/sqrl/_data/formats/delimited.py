"""Delimited text -> Arrow: encoding and separator are found, each fault is given with its line."""

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import chain, islice

import pyarrow as pa

from sqrl.errors import DataError

MISSING_MARKERS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
SEPARATORS = (",", ";", "\t", "|")
SAMPLE_BYTES = 2**16
CHUNK_BYTES = 2**20
SAMPLE_ROWS = 50
BLOCK_BYTES = 2**23  # no row may be longer than this
# The marks of UTF-32 begin with those of UTF-16, so they come first.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SOME_TEXT = "a,b\n1,2\n"
ENCODING_FIX = "give the encoding it was written in, such as 'latin-1' or 'utf-16'"


def read_delimited(
    data: pa.Buffer, *, where: str, separator: str | None = None, encoding: str | None = None
) -> pa.Table:
    r"""The rows of a delimited text whose first line names the columns.

    >>> text = pa.py_buffer(b"height;smokes\n1,72;no\n")
    >>> read_delimited(text, where="people.csv").column_names
    ['height', 'smokes']
    """
    check_options(separator, encoding, where=where)
    found = encoding or detect_encoding(data)
    refuse_binary(data, found, where=where)
    try:
        sample = sample_of(data, found)
        separator = separator or detect_separator(sample)
        if len(data) <= SAMPLE_BYTES and not set("\r\n") & set(sample):
            bytes(memoryview(data)).decode(found)  # raises where the sample has marks
            data = pa.py_buffer(f"{sample}\n".encode(found))  # arrow wants a header's line to end
        table = _parse(data, separator=separator, encoding=found)
        names = [name.strip() for name in table.column_names]
    except pa.ArrowInvalid as error:
        raise find_fault(data, separator or ",", found, where) or unsplit(error, where) from None
    except UnicodeError:
        raise undecodable(encoding, where) from None
    if any(pa.types.is_binary(field.type) for field in table.schema):
        raise undecodable(encoding, where)  # what is not UTF-8, arrow silently reads as bytes
    # An unclosed quote swallows all rows after it without a word from arrow.
    n_quotes = sum(chunk.count(b'"') for chunk in _chunks(data))
    if n_quotes % 2 and (fault := find_fault(data, separator, found, where)):
        raise fault
    return table.rename_columns(["index" if names[0] == "" else names[0], *names[1:]])


def detect_encoding(data: pa.Buffer) -> str:
    r"""The encoding that the byte order mark tells, else UTF-8 where all of it fits, else cp1252.

    >>> detect_encoding(pa.py_buffer("naïve".encode())), detect_encoding(pa.py_buffer(b"na\xefve"))
    ('utf-8', 'cp1252')
    """
    head = bytes(memoryview(data)[:4])
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in _chunks(data):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def detect_separator(text: str) -> str:
    r"""The separator that gives most rows as many fields as the header, and at least two.

    >>> detect_separator("a;b\n1,5;2,5\n"), detect_separator("a\n1\n")
    (';', ',')
    """

    def agreement(separator: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        counts = [len(fields) for fields in islice(reader, SAMPLE_ROWS) if fields]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return counts.count(counts[0]) / len(counts), counts[0]

    return max(SEPARATORS, key=agreement)


def check_options(separator: str | None, encoding: str | None, *, where: str) -> None:
    is_one = separator is None or (len(separator) == 1 and separator.isascii())
    if not is_one or separator in {'"', "\r", "\n", "\0"}:
        fix = "pass one character, such as ',' or ';' or '\\t'"
        raise DataError(f"{separator!r} cannot separate fields.", where=where, fix=fix)
    if encoding is not None:
        try:
            given = pa.py_buffer(SOME_TEXT.encode(encoding))  # as Arrow hands them over
            decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            is_known = decoder.decode(given, True) == SOME_TEXT
        except (LookupError, ValueError, TypeError, AttributeError):  # UnicodeError is one of them
            is_known = False
        if not is_known:
            fix = "pass a name such as 'utf-8', 'latin-1' or 'utf-16'"
            raise DataError(f"Unknown encoding {encoding!r}.", where=where, fix=fix)


def refuse_binary(data: pa.Buffer, encoding: str, *, where: str) -> None:
    """Raise for NUL bytes, which no text holds, and for a file of nothing but blanks."""
    if not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        for number, chunk in enumerate(_chunks(data)):
            if (position := chunk.find(b"\0")) >= 0:
                before = bytes(memoryview(data)[: number * CHUNK_BYTES + position])
                what = "The file holds a NUL byte, so it is not plain text."
                fix = "is it another kind of file? If it is text, give its encoding"
                line = before.count(b"\n") + 1
                raise DataError(what, where=f"{where}, line {line}", fix=fix)
    if not any(chunk.strip(b" \t\r\n\0\xff\xfe\xef\xbb\xbf") for chunk in _chunks(data)):
        raise DataError("The file is empty.", where=where, fix="add a header and rows")


def _parse(data: pa.Buffer, *, separator: str, encoding: str) -> pa.Table:
    import pyarrow.csv

    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(encoding=encoding, block_size=BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=list(MISSING_MARKERS), strings_can_be_null=True
        ),
    )


def find_fault(data: pa.Buffer, separator: str, encoding: str, where: str) -> DataError | None:
    """The first row that does not have as many fields as the header, or a quote left open."""
    end = "\0end"
    text = io.TextIOWrapper(pa.BufferReader(data), encoding, errors="replace", newline="")
    reader = csv.reader(chain(text, ["\n", end]), delimiter=separator)
    line, last, expected = 1, 1, 0
    try:
        for fields in reader:
            if fields == [end]:
                return None
            expected = expected or len(fields)
            if fields and len(fields) != expected and end not in fields[-1]:
                seen = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
                return DataError(
                    f"Line {line} has {seen}, but the header has {expected}.",
                    where=f"{where}, line {line}",
                    fix=f"mend the line, or give the separator if {separator!r} is not what parts "
                    "the fields",
                )
            last, line = line, reader.line_num + 1
    except csv.Error:
        what = (
            f"A field in the row of line {line} has more than {csv.field_size_limit():,} letters."
        )
        fix = "is a quote left open? Close it, or shorten the field"
        return DataError(what, where=f"{where}, line {line}", fix=fix)
    return DataError(
        f"The quote that opens in line {last} never closes.",
        where=f"{where}, line {last}",
        fix='close it, and write a quote inside quotes twice: ""',
    )


def unsplit(error: pa.ArrowInvalid, where: str) -> DataError:
    reason = str(error).splitlines()[0]
    fix = "is a quote left open, or is it another kind of file?"
    return DataError(f"The text cannot be split into rows: {reason}.", where=where, fix=fix)


def undecodable(encoding: str | None, where: str) -> DataError:
    tried = f"not {encoding} text" if encoding else "neither UTF-8 nor Windows-1252 text"
    return DataError(f"The file is {tried}.", where=where, fix=ENCODING_FIX)


def sample_of(data: pa.Buffer, encoding: str) -> str:
    """The text of the first lines, without a byte order mark or a line cut short."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    text = decoder.decode(bytes(memoryview(data)[:SAMPLE_BYTES])).removeprefix("\ufeff")
    return text if len(data) <= SAMPLE_BYTES else text[: text.rfind("\n") + 1] or text


def _chunks(data: pa.Buffer) -> Iterator[bytes]:
    view = memoryview(data)
    return (bytes(view[at : at + CHUNK_BYTES]) for at in range(0, len(view), CHUNK_BYTES))
