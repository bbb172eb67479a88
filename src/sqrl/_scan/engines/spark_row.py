"""SparkRow: what some partitions of a Spark dataframe gave, as a row that Spark can carry."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqrl import errors
from sqrl.errors import SqrlError

SPARK_SCHEMA = "parts array<int>, rows array<bigint>, state binary, error string"
ARROW_SCHEMA = pa.schema(
    {
        "parts": pa.list_(pa.int32()),
        "rows": pa.list_(pa.int64()),
        "state": pa.binary(),
        "error": pa.string(),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class SparkRow:
    """The numbers of the partitions, how many rows each has, and their packed state or an error.

    An error travels as data: raised in a worker, it would be tried again in vain and then reach
    people as a Java stack trace.
    """

    parts: list[int]
    rows: list[int]
    state: bytes | None
    error: SqrlError | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "SparkRow":
        """The row from its fields, as Arrow and Spark give them."""
        state = None if row["state"] is None else bytes(row["state"])
        error = None if row["error"] is None else _error(row["error"])
        return cls(row["parts"], row["rows"], state, error)

    def to_batch(self) -> pa.RecordBatch:
        """A batch of this one row.

        >>> error = errors.DataError("The file is empty.", where="a.csv")
        >>> batch = SparkRow([3], [0], None, error).to_batch()
        >>> print(SparkRow.of(batch.to_pylist()[0]).error)
        The file is empty.
          where: a.csv
        """
        error = None if self.error is None else _text(self.error)
        row = {"parts": self.parts, "rows": self.rows, "state": self.state, "error": error}
        return pa.RecordBatch.from_pylist([row], schema=ARROW_SCHEMA)


def _text(error: SqrlError) -> str:
    kind = type(error).__name__
    return json.dumps({"kind": kind, "what": error.what, "where": error.where, "fix": error.fix})


def _error(text: str) -> SqrlError:
    fields = json.loads(text)
    kind: type[SqrlError] = getattr(errors, fields["kind"], SqrlError)
    return kind(fields["what"], where=fields["where"], fix=fields["fix"])
