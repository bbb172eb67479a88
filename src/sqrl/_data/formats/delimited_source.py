"""CsvSource: delimited text of known columns, read in blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqrl._data.formats.delimited import MISSING_MARKERS
from sqrl._data.formats.delimited_types import Rungs
from sqrl._data.formats.file_format import FilePiece
from sqrl._data.formats.stored_file import File


@dataclass(frozen=True, slots=True)
class CsvSource:
    """A delimited text: the types that each column can have, and what its header says."""

    file: File
    kinds: Mapping[str, Rungs]
    own_names: tuple[str, ...]
    pieces: tuple[FilePiece, ...]
    separator: str
    encoding: str
    block_bytes: int

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in blocks, with the types that are wanted."""
        del rows
        places = [list(self.kinds).index(name) for name in wanted.names]
        names = [self.own_names[place] for place in places]
        types = dict(zip(names, wanted.types, strict=True))
        with (
            self.file.stream(piece.first, piece.last) as stream,
            self.blocks(stream, types, names, has_header=not piece.first) as reader,
        ):
            for batch in reader:
                yield batch.rename_columns(wanted.names)

    def blocks(
        self,
        stream: Any,
        types: Mapping[str, pa.DataType],
        names: list[str],
        *,
        has_header: bool = True,
    ) -> Any:
        """A reader of blocks with these types and columns; none are all."""
        import pyarrow.csv

        return pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(
                encoding=self.encoding,
                block_size=self.block_bytes,
                use_threads=False,
                column_names=None if has_header else self.own_names,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=list(MISSING_MARKERS),
                strings_can_be_null=True,
                column_types=types,
                include_columns=names,
            ),
        )
