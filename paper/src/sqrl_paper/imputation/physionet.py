"""read_physionet: the hourly series of the PhysioNet Challenge 2012, from its own files.

A text file for each patient has a line `Time,Parameter,Value` for each measurement.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from sqrl.errors import DataError
from sqrl_paper.imputation.physionet_files import Record, damaged, find_records

N_RECORDS = 4_000
N_HOURS = 48
HEADER = b"Time,Parameter,Value"
FEATURES = (
    *("ALP", "ALT", "AST", "Albumin", "BUN", "Bilirubin", "Cholesterol", "Creatinine", "DiasABP"),
    *("FiO2", "GCS", "Glucose", "HCO3", "HCT", "HR", "K", "Lactate", "MAP", "Mg", "NIDiasABP"),
    *("NIMAP", "NISysABP", "Na", "PaCO2", "PaO2", "Platelets", "RespRate", "SaO2", "SysABP"),
    *("Temp", "TroponinI", "TroponinT", "Urine", "WBC", "pH"),
)
# Who the patient is, and two series that CSDI leaves out. Only among these does -1 mean unknown.
NOT_USED = ("RecordID", "Age", "Gender", "Height", "ICUType", "Weight", "MechVent")
PLACES = {**dict.fromkeys(NOT_USED, -1), **{name: at for at, name in enumerate(FEATURES)}}
TIME = re.compile(r"(\d\d):([0-5]\d)")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """What was measured of each patient in each hour, nan where nothing was.

    Shapes: records (n_patients,), rising; values (n_patients, 48, 35), features as in FEATURES.
    """

    records: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The lines of all records: the patient, the minute, the feature (-1: not used), the value."""

    patient: NDArray[np.int64]
    minute: NDArray[np.int64]
    feature: NDArray[np.int64]
    value: NDArray[np.float64]


def read_physionet(
    folder: str | Path | None = None, *, n_records: int | None = N_RECORDS
) -> Series:
    """The series in `physionet2012/set-a.tar.gz` of the data folder, or in `set-a/` beside it.

    As CSDI prepares them, and so the paper: the last value of an hour counts, and those of 48:00,
    where the last hour ends, are left out. Impossible values stay. Without a `folder`, `SQRL_DATA`
    and `./data` are tried. Another number of records than published is taken for damage;
    `n_records=None` takes any.
    """
    path, records = find_records(folder)
    if not records or n_records not in {None, len(records)}:
        wanted = "" if n_records is None else f" instead of {n_records:,}"
        raise damaged(f"There are {len(records):,} records{wanted}.", str(path))
    bodies = [_body(record, path) for record in records]
    lines = _parse(bodies)
    if lines is None:
        raise _fault(records, bodies, path)
    numbers = np.array([record.number for record in records], np.int64)
    values = _fill(lines, len(records))
    for array in (numbers, values):
        array.flags.writeable = False
    return Series(numbers, values)


def _body(record: Record, path: Path) -> bytes:
    """The lines after the header, each with its end."""
    header, _, body = record.content.replace(b"\r\n", b"\n").partition(b"\n")
    if header != HEADER:
        raise damaged(f"The header is not {HEADER.decode()!r}.", f"{path}, {record.name}")
    kept = body.rstrip(b"\n")
    return kept + b"\n" if kept else b""


def _parse(bodies: list[bytes]) -> _Lines | None:
    """The lines of all records; None if one of them is not as it should be."""
    text = pa.dictionary(pa.int32(), pa.string())
    types = {"time": text, "parameter": text, "value": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(b"".join(bodies)),
            read_options=csv.ReadOptions(column_names=list(types)),
            parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    lengths = [body.count(b"\n") for body in bodies]
    patient = np.repeat(np.arange(len(bodies)), lengths)
    minute, feature = _numbers(table["time"], _minute), _numbers(table["parameter"], PLACES.get)
    value = table["value"].to_numpy()
    if minute is None or feature is None or len(value) != len(patient):
        return None
    return _Lines(patient, minute, feature, value) if np.isfinite(value).all() else None


def _numbers(column: Any, number: Callable[[str], int | None]) -> NDArray[np.int64] | None:
    """A column of text as numbers, each distinct text looked at once; None if one has none."""
    joined = column.unify_dictionaries().combine_chunks()
    found = [number(text) for text in joined.dictionary.to_pylist()]
    if None in found:
        return None
    numbers: NDArray[np.int64] = np.array(found, np.int64)[joined.indices.to_numpy()]
    return numbers


def _minute(time: str) -> int | None:
    """The minutes since admission.

    >>> _minute("01:07"), _minute("48:00"), _minute("48:01"), _minute("1:07")
    (67, 2880, None, None)
    """
    match = TIME.fullmatch(time)
    if match is None:
        return None
    minute = 60 * int(match[1]) + int(match[2])
    return minute if minute <= 60 * N_HOURS else None


def _fill(lines: _Lines, n_patients: int) -> NDArray[np.float64]:
    values = np.full((n_patients, N_HOURS, len(FEATURES)), np.nan)
    is_used = (lines.feature >= 0) & (lines.minute < 60 * N_HOURS)
    # In the order of time, so that of several values in an hour the last is what stays.
    rows = np.flatnonzero(is_used)[np.argsort(lines.minute[is_used], kind="stable")]
    values[lines.patient[rows], lines.minute[rows] // 60, lines.feature[rows]] = lines.value[rows]
    return values


def _fault(records: list[Record], bodies: list[bytes], path: Path) -> DataError:
    """What to say of the first line that is not as it should be."""
    for record, body in zip(records, bodies, strict=True):
        for number, line in enumerate(body.decode(errors="replace").splitlines(), start=2):
            if not _is_sound(line):
                what = f"This is no measurement at a time within two days: {line[:60]!r}."
                return damaged(what, f"{path}, {record.name}, line {number}")
    return damaged("There are no measurements.", str(path))


def _is_sound(line: str) -> bool:
    """Whether a line is a measurement.

    >>> _is_sound("00:07,GCS,15"), _is_sound("00:07,GCS"), _is_sound("00:07,GSC,15")
    (True, False, False)
    """
    time, parameter, value, *more = [*line.split(","), "", "", ""]
    try:
        is_number = math.isfinite(float(value))
    except ValueError:
        is_number = False
    is_whole = len(more) == 3
    return is_whole and is_number and parameter in PLACES and _minute(time) is not None
