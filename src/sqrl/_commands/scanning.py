"""Data that a command scans instead of reading it into memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sqrl._commands.options import IN_MEMORY, parse_size

if TYPE_CHECKING:
    from sqrl._scan.scan import Scan


@dataclass(frozen=True, slots=True)
class Scanning:
    """How data is scanned, as the command line says."""

    engine: str | None
    memory: str
    skip_damaged: bool
    resume: Path | None

    def open(self, data: str, read: dict[str, Any], *, is_boxes: bool) -> "Scan | None":
        """The data as a scan; None where it is to be read into memory."""
        if self.engine == IN_MEMORY or is_boxes:
            return None
        from sqrl._scan.files.open import is_many, size_of
        from sqrl._scan.scan import LARGE, scan

        asked = self.engine is not None or self.resume is not None or self.skip_damaged
        if not asked and not is_many(data) and size_of(data) <= LARGE:
            return None
        found = scan(
            data,
            engine=self.engine or "local",
            memory=parse_size(self.memory),
            skip_damaged=self.skip_damaged,
            resume=self.resume,
            **{name: read[name] for name in ("separator", "encoding") if read.get(name)},
        )
        counts = found.engine.counts()
        typer.echo(f"{found.name}: {sum(counts):,} rows, scanned", err=True)
        for sentence in found.skipped:
            typer.echo(f"left out: {sentence}", err=True)
        return found

    def finish(self) -> None:
        """Forget what passes have found: the work is done."""
        if self.resume is not None and self.resume.is_dir():
            from sqrl._scan.resume import forget

            forget(self.resume)
