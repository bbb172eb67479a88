"""One window as a Parquet file: a row for each rule, so that any reader of Parquet can use it.

What is said of the whole window stands in the file's metadata, as JSON.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._data.arrow_arrays import from_numpy, from_values, to_numpy
from sqrl._data.write_file import replacing
from sqrl._history.record import CheckRecord
from sqrl._kernels.arrays import Int64s
from sqrl.errors import HistoryError

FORMAT = "sqrl-window"
VERSION = 1
SUFFIX = ".parquet"
MOST_RULES = 5_000_000
MOST_BYTES = 1 << 30
WORDS = {  # what the words of a window can be
    "layout": ("outcomes", "counts", "moments", "cells", "units", "p"),
    "sides": ("up", "down", "both"),
}
COLUMNS = pa.schema(
    {
        "at": pa.string(),
        "id": pa.string(),
        "text": pa.string(),
        "applicable": pa.int64(),
        "broken": pa.int64(),
        "expected": pa.float64(),
        "p_value": pa.float64(),
        "evidence": pa.list_(pa.float64()),
        "reference": pa.list_(pa.float64()),
        "layout": pa.string(),
        "sides": pa.string(),
        "shape": pa.list_(pa.int64()),
        "statistic": pa.string(),
    }
)
KNOWN = ("at", "id", "text", "applicable", "broken", "layout", "sides")  # never null


class WindowHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a whole window. `fingerprint` tells the data and rules it was made from."""

    format: str = FORMAT
    version: int = VERSION
    at: str
    source: str
    rules: str
    n_rows: int
    findings: tuple[str, ...] = ()
    finding_rules: tuple[tuple[str, ...], ...] = ()
    n_facts: int = 0
    waived: tuple[str, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class _Version:
    format: str | None = None
    version: int | None = None


def to_table(record: CheckRecord, fingerprint: str = "") -> pa.Table:
    """The window as a table, its header in the metadata."""
    header = WindowHeader(
        at=record.at,
        source=record.source,
        rules=record.rules,
        n_rows=record.n_rows,
        findings=record.findings,
        finding_rules=record.finding_rules,
        n_facts=record.n_facts,
        waived=record.waived,
        fingerprint=fingerprint,
    )
    columns = [
        from_values([record.at] * len(record.ids), pa.string()),
        from_values(record.ids, pa.string()),
        from_values(record.texts, pa.string()),
        from_numpy(record.applicable),
        from_numpy(record.broken),
        from_numpy(record.expected, np.isnan(record.expected)),
        from_numpy(record.p_value, np.isnan(record.p_value)),
        from_values(record.evidence, COLUMNS.field("evidence").type),
        from_values(record.reference, COLUMNS.field("reference").type),
        from_values(record.layout, pa.string()),
        from_values(record.sides, pa.string()),
        from_values(record.shape, COLUMNS.field("shape").type),
        from_values(record.statistic, pa.string()),
    ]
    return pa.table(columns, COLUMNS.with_metadata({FORMAT: msgspec.json.encode(header)}))


def write_window(path: Path, table: pa.Table) -> None:
    """Write the window's file; an old one stays until the new one is whole."""
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_table(path: Path) -> pa.Table:
    """The window's rows, with its header in the metadata; raises where the file is damaged."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        _check_size(file, path)
        _header(file.schema_arrow.metadata, path)
        table = file.read(use_threads=False)
        if not table.schema.equals(COLUMNS):
            raise damaged(path, "its columns are not those of a window")
        table.validate(full=True)  # words that are no UTF-8 among others
    except FileNotFoundError:
        raise damaged(path, "it is not there any more") from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise damaged(path, str(error).splitlines()[0]) from None
    return table


def read_header(path: Path) -> WindowHeader:
    """What a file says of its whole window, without its rows."""
    import pyarrow.parquet as pq

    try:
        return _header(pq.read_schema(path).metadata, path)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise damaged(path, str(error).splitlines()[0]) from None


def read_window(path: Path, at: str) -> CheckRecord:
    """The record in a window's file, whose name says that it is of `at`."""
    table = read_table(path)
    header = _header(table.schema.metadata, path)
    if header.at != at:
        raise damaged(path, f"it is of {header.at[:40]!r}; its name was changed")
    for name in KNOWN:
        if table[name].null_count:
            raise damaged(path, f"its column {name!r} has gaps")
    values = {name: tuple(table[name].to_pylist()) for name in ("id", "text", *WORDS)}
    _check_rules(values, header, path)
    applicable, broken = _counts(table, path)
    return CheckRecord(
        at=header.at,
        source=header.source,
        rules=header.rules,
        n_rows=header.n_rows,
        ids=values["id"],
        texts=values["text"],
        applicable=applicable,
        broken=broken,
        expected=_array(table["expected"], np.float64, np.nan),
        p_value=_array(table["p_value"], np.float64, np.nan),
        evidence=_tuples(table["evidence"]),
        reference=_tuples(table["reference"]),
        layout=values["layout"],
        sides=values["sides"],
        shape=_tuples(table["shape"]),
        statistic=tuple(table["statistic"].to_pylist()),
        findings=header.findings,
        finding_rules=header.finding_rules,
        n_facts=header.n_facts,
        waived=header.waived,
    )


def stamp_of(path: Path) -> str:
    """What changes when the file of a window does: its size and its time."""
    try:
        stat = path.stat()
    except OSError:
        raise damaged(path, "it is not there any more") from None
    return f"{stat.st_size} {stat.st_mtime_ns}"


def damaged(path: Path, why: str) -> HistoryError:
    """The error for a file of a history that cannot be used."""
    return HistoryError(
        f"A window of the history cannot be read: {why.rstrip('.')}.",
        where=str(path),
        fix="remove the file, and check the data of that window again",
    )


def _header(metadata: dict[bytes, bytes] | None, path: Path) -> WindowHeader:
    encoded = (metadata or {}).get(FORMAT.encode())
    if encoded is None:
        raise damaged(path, "it is no window of a history")
    try:
        known = msgspec.json.decode(encoded, type=_Version)
        if known.format == FORMAT and known.version != VERSION:
            raise HistoryError(
                f"The window has format version {known.version}; this sqrl reads version "
                f"{VERSION}.",
                where=str(path),
                fix="use the sqrl that wrote it, or begin a new history",
            )
        return msgspec.json.decode(encoded, type=WindowHeader)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None


def _check_size(file: Any, path: Path) -> None:
    """Raise before anything is unpacked that would not fit."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    if file.metadata.num_rows > MOST_RULES or sum(g.total_byte_size for g in groups) > MOST_BYTES:
        raise damaged(path, f"it is larger than {MOST_RULES:,} rules or {MOST_BYTES:,} bytes")


def _check_rules(values: dict[str, tuple[Any, ...]], header: WindowHeader, path: Path) -> None:
    """Raise where rules are named twice, or findings name rules that are not there."""
    ids = set(values["id"])
    if len(ids) != len(values["id"]):
        raise damaged(path, "a rule stands in it twice")
    for name, words in WORDS.items():
        strange = next((word for word in values[name] if word not in words), None)
        if strange is not None:
            raise damaged(path, f"its column {name!r} says {strange[:40]!r}")
    n_findings, n_lists = len(header.findings), len(header.finding_rules)
    if n_findings != n_lists or header.n_rows < 0 or not 0 <= header.n_facts <= n_findings:
        raise damaged(path, "its header contradicts itself")
    if not {one for mine in header.finding_rules for one in mine} <= ids:
        raise damaged(path, "a finding names a rule that is not in it")
    if not set(header.waived) <= ids:
        raise damaged(path, "a rule is waived that is not in it")


def _counts(table: pa.Table, path: Path) -> tuple[Int64s, Int64s]:
    applicable, broken = (_array(table[name], np.int64, 0) for name in ("applicable", "broken"))
    if ((broken < 0) | (broken > applicable)).any():
        raise damaged(path, "a rule is broken more often than it applies")
    return applicable, broken


def _array(column: pa.ChunkedArray, dtype: type[np.generic], missing: float) -> NDArray[Any]:
    parts = [to_numpy(part, dtype, missing) for part in column.chunks]
    return np.concatenate([np.empty(0, dtype), *parts])


def _tuples(column: pa.ChunkedArray) -> tuple[tuple[Any, ...] | None, ...]:
    return tuple(None if value is None else tuple(value) for value in column.to_pylist())
