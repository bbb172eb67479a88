"""Tables in every format, whole or damaged: memory and scan read the same, or both refuse."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
from draw import COLUMNS, ODD_VALUES, Draw, arrow_table, as_bytes, as_text

import sqrl
from sqrl._data.formats import cut_text
from sqrl.errors import SqrlError
from targets import expect

cut_text.PIECE_BYTES = 128  # so that a scan reads text in pieces, as it does large files

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".csv.gz", ".jsonl.gz", ".feather")
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")


def make(draw: Draw) -> dict[str, Any]:
    """The bytes of a file, and its suffix."""
    suffix = draw.one(SUFFIXES[:7])
    content = _content(draw, suffix.removesuffix(".gz"))
    if draw.chance(0.5):
        content = draw.damaged_bytes(content)
    if suffix.endswith(".gz"):
        content = gzip.compress(content)
        if draw.chance(0.2):
            content = draw.damaged_bytes(content)
    return {"content": as_text(content), "suffix": suffix}


def _content(draw: Draw, suffix: str) -> bytes:
    columns = draw.table()
    if draw.chance(0.2):
        name = draw.one(COLUMNS)
        columns[draw.one(("", "X", " x", "größe", "a\nb", f"{name}2"))] = columns.pop(name)
    if suffix == ".jsonl":
        return _json_lines(draw, columns)
    if suffix in {".csv", ".tsv"}:
        return _delimited(draw, columns, "\t" if suffix == ".tsv" else draw.one(",;\t|"))
    table = _odd_types(draw, arrow_table(columns))
    sink = io.BytesIO()
    if suffix == ".parquet":
        pq.write_table(table, sink, row_group_size=draw.one((1, 7, 1000)))
    else:
        kind = draw.one((pa.ipc.new_file, pa.ipc.new_stream))
        with kind(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=draw.one((3, 1000)))
    return sink.getvalue()


def _json_lines(draw: Draw, columns: dict[str, list[Any]]) -> bytes:
    lines = []
    for row in zip(*columns.values(), strict=True):
        line = {name: value for name, value in zip(columns, row, strict=True) if draw.chance(0.95)}
        if draw.chance(0.02):
            line = draw.one((None, 1, [], "x", {"x": draw.one(ODD_VALUES)}, {}))
        lines.append(json.dumps(line, ensure_ascii=draw.chance(0.5)))
    return draw.one(("\n", "\n", "\r\n", "\n\n")).join(lines).encode("utf-8", "surrogatepass")


def _delimited(draw: Draw, columns: dict[str, list[Any]], separator: str) -> bytes:
    def field(value: Any) -> str:
        text = draw.one(("", "NA", "nan")) if value is None else str(value)
        is_quoted = any(mark in text for mark in (separator, '"', "\n", "\r")) or draw.chance(0.05)
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    lines = [separator.join(map(field, columns))]
    for row in zip(*columns.values(), strict=True):
        fields = list(map(field, row))
        if draw.chance(0.005):
            fields = fields[:-1] if draw.chance(0.5) else [*fields, "9"]
        lines.append(separator.join(fields))
    text = draw.one(("\n", "\n", "\r\n", "\r")).join(lines) + draw.one(("", "\n"))
    return text.encode(draw.one(ENCODINGS), "replace")


def _odd_types(draw: Draw, table: pa.Table) -> pa.Table:
    """The table with one column of a type that others write."""
    n_rows = table.num_rows
    kind = draw.one(
        (
            *(pa.int8(), pa.uint64(), pa.float32(), pa.float16(), pa.decimal128(9, 2), pa.bool_()),
            *(pa.date32(), pa.timestamp("ns", "UTC"), pa.duration("s"), pa.time32("s"), pa.null()),
            *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.binary(), pa.large_string()),
            *(
                pa.dictionary(pa.int8(), pa.string()),
                pa.string_view(),
                pa.map_(pa.string(), pa.int8()),
            ),
        )
    )
    if draw.chance(0.5):
        return table
    try:
        column = pa.array([draw.one((0, 1, None)) for _ in range(n_rows)], pa.int64()).cast(kind)
    except pa.ArrowException:
        column = pa.nulls(n_rows, kind)
    return table.append_column("odd", column)


def run(case: dict[str, Any], folder: Path) -> None:
    """Read it in memory and by a scan; learn from it and check it."""
    path = folder / f"t{case['suffix']}"
    path.write_bytes(as_bytes(case["content"]))
    in_memory = _attempt(lambda: _columns(path, is_scanned=False))
    scanned = _attempt(lambda: _columns(path, is_scanned=True))
    if isinstance(in_memory, SqrlError) or isinstance(scanned, SqrlError):
        both = isinstance(in_memory, SqrlError) and isinstance(scanned, SqrlError)
        expect(both or "no rows" in str(in_memory) + str(scanned), _said(in_memory, scanned))
        return
    names, n_rows = in_memory
    expect(in_memory == scanned, f"memory reads {in_memory}, a scan {scanned}")
    if not n_rows or "x" not in names:
        return
    rules = sqrl.RuleSet.from_texts(["0 <= x <= 5"])
    sums = []
    for data in (path, sqrl.scan(path)):
        found = _attempt(lambda data=data: sqrl.check(rules, data))
        is_refused = isinstance(found, SqrlError)
        sums.append("refused" if is_refused else (found.applicable.tolist(), found.broken.tolist()))
    expect(sums[0] == sums[1], f"memory counts {sums[0]}, a scan {sums[1]}")


def _columns(path: Path, *, is_scanned: bool) -> tuple[list[str], int]:
    if is_scanned:
        found = sqrl.scan(path)
        for part in found.engine.parts:
            for batch in part.read(None):
                batch.validate(full=True)
        return list(found.engine.names), sum(found.engine.counts())
    table = sqrl.read_table(path)
    for name in table.names:
        np.asarray(table[name].values)
    return list(table.names), table.n_rows


def _attempt(work: Any) -> Any:
    try:
        return work()
    except SqrlError as error:
        return error


def _said(*found: Any) -> str:
    names = ("memory", "a scan")
    said = [
        f"{name}: {one.what if isinstance(one, SqrlError) else f'reads {one}'}"
        for name, one in zip(names, found, strict=True)
    ]
    return "; ".join(said)
