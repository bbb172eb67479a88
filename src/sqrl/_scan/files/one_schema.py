"""The columns that all files have, each with the type that holds the values of all."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sqrl._data.formats.file_format import FileSource
from sqrl.errors import DataError, nearest

Join = Callable[[Any, Any], Any]
Settle = Callable[[Any], pa.DataType]


def one_schema(
    sources: Sequence[FileSource], join: Join, settle: Settle, *, may_lack: bool
) -> pa.Schema:
    """The columns in the order of the first file; `may_lack` allows files without some of them."""
    filled = [source for source in sources if source.kinds]
    kinds: dict[str, Any] = {}
    homes: dict[str, str] = {}  # the file that a column has its type from, for messages
    for source in filled:
        if kinds and not may_lack:
            _refuse_other_names(source, filled[0])
        for name, kind in source.kinds.items():
            joined = join(kinds[name], kind) if name in kinds else kind
            if joined is None:
                first, second = _word(settle(kinds[name])), _word(settle(kind))
                home, here = homes[name], source.file.shown
                what = f"Column {name!r} is {first} in {home} and {second} in {here}."
                raise DataError(what, where=here, fix="give the column one type in all files")
            if name not in kinds or joined != kinds[name]:
                homes[name] = source.file.shown
            kinds[name] = joined
    return pa.schema([(name, settle(kind)) for name, kind in kinds.items()])


def partition_fields(sources: Sequence[FileSource], inside: Sequence[str]) -> pa.Schema:
    """The columns that the folders of the files tell, whole numbers where all values are."""
    values: dict[str, list[str | None]] = {}
    for source in sources:
        said = dict(source.file.partition)
        for name in {**values, **said} if values else said:
            if name not in said or (source is not sources[0] and name not in values):
                raise DataError(
                    f"The folders of some files tell {name!r}, and those of others do not.",
                    where=f"{sources[0].file.shown} and {source.file.shown}",
                    fix=f"put every file into a folder such as {name}=..., or name files of one "
                    "folder",
                )
            values.setdefault(name, []).append(said[name])
    return pa.schema(
        [
            (name, pa.int64() if _are_whole(texts) else pa.string())
            for name, texts in values.items()
            if name not in inside  # what the rows say themselves stands
        ]
    )


def partition_values(source: FileSource, fields: pa.Schema) -> tuple[tuple[str, Any], ...]:
    """What the folders of a file say of its rows, by column."""
    said = dict(source.file.partition)
    return tuple(
        (each.name, int(text) if (text := said[each.name]) and each.type == pa.int64() else text)
        for each in fields
    )


def _refuse_other_names(source: FileSource, first: FileSource) -> None:
    for lacking, having in ((source, first), (first, source)):
        for name in having.kinds:
            if name not in lacking.kinds:
                raise DataError(
                    f"Column {name!r} of {having.file.shown} is absent from this file.",
                    where=lacking.file.shown,
                    fix=nearest(name, [n for n in lacking.kinds if n not in having.kinds])
                    if set(lacking.kinds) - set(having.kinds)
                    else "add the column, or leave the file out",
                )


def _word(of: pa.DataType) -> str:
    if pa.types.is_dictionary(of):
        return _word(of.value_type)
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
        return "numbers"
    is_text = pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)
    return "text" if is_text else "booleans" if pa.types.is_boolean(of) else str(of)


def _are_whole(texts: Sequence[str | None]) -> bool:
    present = [text for text in texts if text is not None]
    return bool(present) and all(re.fullmatch(r"-?\d{1,18}", text) for text in present)
