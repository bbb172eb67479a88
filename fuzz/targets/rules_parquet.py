"""Rules files in Parquet, with cells, columns, types, the header or bytes damaged."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from draw import ODD_VALUES, Draw, as_bytes, as_text

from targets.rules_files import some_rules, use


def _bytes(number: int) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        some_rules(number).save(Path(folder, "r.parquet"))
        return Path(folder, "r.parquet").read_bytes()


def make(draw: Draw) -> dict[str, Any]:
    """The bytes of a file."""
    content = _bytes(draw.randint(0, 2))
    if draw.chance(0.15):
        return {"content": as_text(draw.damaged_bytes(content))}
    table = pq.read_table(io.BytesIO(content))
    header = json.loads(table.schema.metadata[b"sqrl-rules"])
    for _ in range(draw.randint(1, 2)):
        kind = draw.random()
        name = draw.one(table.column_names)
        place = table.schema.get_field_index(name)
        if kind < 0.25:
            header = draw.damaged_json(header)
        elif kind < 0.35:
            table = table.drop_columns([name])
        elif kind < 0.5:
            value = draw.one(ODD_VALUES)
            table = _with(table, place, name, [value] * table.num_rows, None)
        else:
            values, at = table[name].to_pylist(), draw.randint(0, table.num_rows - 1)
            other = draw.randint(0, table.num_rows - 1)
            options = [None, values[other], -1, 0, 1, 3, 99, 2**31 - 1, float("nan"), float("inf")]
            values[at] = draw.one([*options, [None], [], [0], [0, 1], "logic", "class", "f1"])
            table = _with(table, place, name, values, table.schema.field(name).type)
    table = table.replace_schema_metadata({"sqrl-rules": json.dumps(header)})
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink)
    except pa.ArrowException:  # what Parquet cannot hold is in no file
        return {"content": as_text(content)}
    return {"content": as_text(sink.getvalue())}


def _with(table: pa.Table, place: int, name: str, values: list[Any], kind: Any) -> pa.Table:
    try:
        return table.set_column(place, name, pa.array(values, kind))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return table  # what Arrow cannot hold is in no file


def run(case: dict[str, Any], folder: Path) -> None:
    """Load it and use what loads."""
    path = folder / "r.parquet"
    path.write_bytes(as_bytes(case["content"]))
    use(path, folder)
