"""How files become data: tables in memory, scans, or boxes; decided once for all of a task."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqrl._data.formats import all_suffixes
from sqrl._data.formats.boxes import SHARES, is_box_file
from sqrl._data.given_path import given_path
from sqrl._data.table import Table, read_table
from sqrl._rules.files import is_rules_file
from sqrl._scan.engines import IN_MEMORY
from sqrl._scan.files.find import is_many, size_of
from sqrl._scan.scan import LARGE, MEMORY, Scan, scan
from sqrl.errors import DataError

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How files are opened: the same for all the data of a task.

    `engine` is "memory", or one that scans; without one, many or large files are scanned. `images`,
    `rename` and `per_image` are for files of boxes: what is known of the images, by what names
    rules know the classes, and whether there is a row for each image instead of one for each box.
    """

    engine: str | None = None
    memory: int = MEMORY
    skip_damaged: bool = False
    resume: Path | None = None
    separator: str | None = None
    encoding: str | None = None
    images: Path | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    per_image: bool = False
    _scans: list[Scan] = field(default_factory=list, init=False, repr=False)

    def is_scanned(self, *paths: str | Path) -> bool:
        """Whether the files are scanned, all of them, rather than read into memory."""
        is_boxes = any(is_box_file(given_path(path)) for path in paths)
        if self.engine == IN_MEMORY or self.per_image or self.rename or is_boxes:
            return False
        if self.engine is not None or self.resume is not None or self.skip_damaged:
            return True
        return any(is_many(path) or size_of(path) > LARGE for path in paths)

    def open(
        self, *paths: str | Path, classes: Iterable[str] = (), tell: Tell = lambda _: None
    ) -> list[Table | Scan]:
        """The data in the files: all of it scanned, or all in memory.

        Of images, the boxes of these `classes` and of those in the files before are counted too.
        `tell` is given sentences that a person should know.
        """
        if self.is_scanned(*paths):
            return [self._scan(path, tell) for path in paths]
        tables: list[Table | Scan] = []
        for path in paths:
            table = self._read(Path(path), classes, tell)
            classes = {*classes, *classes_counted(table.names)}
            tables.append(table)
        return tables

    def _scan(self, path: str | Path, tell: Tell) -> Scan:
        given = {"separator": self.separator, "encoding": self.encoding}
        found = scan(
            path,
            engine=self.engine or "local",
            memory=self.memory,
            skip_damaged=self.skip_damaged,
            resume=self.resume,
            **{name: value for name, value in given.items() if value},
        )
        self._scans.append(found)
        tell(f"{found.name}: {sum(found.engine.counts()):,} rows, scanned")
        for sentence in found.skipped:
            tell(f"left out: {sentence}")
        return found

    def _read(self, path: Path, classes: Iterable[str], tell: Tell) -> Table:
        images = None
        if is_box_file(given_path(path)):
            if is_rules_file(given_path(path)):  # which is JSON, as COCO's files are
                what = "This is a rules file, not data."
                fix = "name a table or boxes; 'sqrl check' takes the rules first, then the data"
                raise DataError(what, where=str(path), fix=fix)
            from sqrl.boxes import read_boxes

            found = read_boxes(path, images=self.images)
            found = found.rename(self.rename) if self.rename else found
            tell(f"{path}: {found.summary}{_size_hint(found.table)}")
            table, images = found.table, found.images
        else:
            self._refuse(path)
            table = read_table(
                path, separator=self.separator, encoding=self.encoding, images=self.images
            )
        if not self.per_image:
            return table
        from sqrl.boxes import classes_of, image_statistics

        wanted = sorted({*classes_of(table), *classes})
        return image_statistics(table, images=images, classes=wanted)

    def _refuse(self, path: Path) -> None:
        """Raise where a file that is none of boxes cannot be read as it is asked for."""
        if self.rename:
            what = "Classes are renamed in files of boxes, and this is none."
            raise DataError(what, where=str(path), fix="leave out --rename")
        if is_many(path):
            what = "Many files are scanned, not read into memory."
            fix = "name one file; 'sqrl learn' and 'sqrl check' scan many, without --engine memory"
            raise DataError(what, where=str(path), fix=fix)
        if given_path(path).is_dir():
            what = "There is no table in the folder, and no labels of boxes."
            fix = f"tables end in {', '.join(all_suffixes())}; labels are .txt or .xml"
            raise DataError(what, where=str(path), fix=fix)

    def finish(self) -> None:
        """Forget what finished passes have found: the work is done."""
        if self.resume is not None:
            from sqrl._scan.resume import Resuming

            for one in self._scans:
                if isinstance(one.engine, Resuming):
                    one.engine.forget()


def _size_hint(boxes: Table) -> str:
    """What a person should know of boxes on images whose sizes are not known."""
    if "image_width" in boxes:
        return ""
    hint = "; sizes not known without --images"
    return f"{hint}: sides are shares of the image" if SHARES[0] in boxes else hint


def classes_counted(names: Iterable[str]) -> set[str]:
    """The classes whose boxes in an image these columns count.

    >>> classes_counted(["count", "count_Car", "largest_area"])
    {'Car'}
    """
    return {name.removeprefix("count_") for name in names if name.startswith("count_")}
