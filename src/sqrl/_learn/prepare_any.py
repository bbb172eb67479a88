"""Data of any size, prepared for learning: read into memory, or scanned."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqrl._data.extractors import Extractor
from sqrl._learn.prepare import Prepared, prepare
from sqrl._learn.prepare_scan import prepare_scan
from sqrl._progress import Track
from sqrl._rules.schema import Schema
from sqrl._scan.scan import as_scan, refuse_extractors, scan_anyway


def prepare_any(
    train: Any,
    schema: Schema | Mapping[str, Any] | str | Path | None,
    *,
    valid: Any = None,
    label: str | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
    track: Track | None = None,
) -> Prepared:
    """The data and the schema, checked against each other; see `prepare`."""
    scanned = as_scan(train)
    if scanned is None and as_scan(valid) is not None:
        scanned = scan_anyway(train)
    if scanned is None:
        return prepare(train, schema, valid=valid, label=label, seed=seed, extractors=extractors)
    refuse_extractors(extractors, scanned.name)
    held_out = None if valid is None else scan_anyway(valid).engine
    return prepare_scan(scanned, schema, valid=held_out, label=label, seed=seed, track=track)
