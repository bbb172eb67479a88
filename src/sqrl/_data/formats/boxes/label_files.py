"""find_label_files: the .txt or .xml files of a folder or of a .zip archive, an image a file.

An archive is read in memory, up to a limit: no name in it ever becomes a path.
"""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from sqrl._data.formats.boxes.collected import shown
from sqrl._data.formats.stored_file import refuse_absent
from sqrl._data.given_path import path_text
from sqrl._data.read_file import read_file
from sqrl.errors import DataError, LimitError, SqrlError

MOST_PACKED = 2**27  # bytes of an archive: KITTI's own has 6 million
MOST_IN_FILE = 2**24  # bytes of the labels of one image
MOST_LINES = 200_000  # of one image
FEWER = "give fewer label files, or make a Parquet file of the boxes"
NAMES = ("classes.txt", "data.yaml")  # what YOLO's classes are called; the first is preferred
# Where data sets keep their labels, beside lists of images and pages to be read.
KEPT_IN = {".xml": "Annotations", ".txt": "labels"}
LABELS_FIX = "give a folder or .zip of KITTI's or YOLO's .txt files, or of Pascal VOC's .xml files"


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What is in the file of an image, the image's name, and where the file is."""

    image: str
    where: str
    content: bytes

    def lines(self, fix: str) -> Iterator[tuple[int, list[str]]]:
        """The number and the fields of each line that is not blank."""
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise DataError("The file is not text.", where=self.where, fix=fix) from None
        if text.count("\n") > MOST_LINES:
            what = f"The labels of one image have more than {MOST_LINES:,} lines."
            raise LimitError(what, where=self.where, fix=FEWER)
        for number, line in enumerate(text.split("\n"), start=1):
            if fields := line.split():
                yield number, fields


@dataclass(frozen=True, slots=True)
class LabelFiles:
    """The label files of a `path`, all with one suffix, and the file that names YOLO's classes."""

    path: Path
    suffix: str
    files: list[LabelFile]
    names: LabelFile | None


def find_label_files(path: Path, *, max_bytes: int) -> LabelFiles:
    """The label files, in the order of their images' names; each image has one."""
    suffix, found, names = (_in_folder if path.is_dir() else _in_archive)(path, max_bytes)
    files: dict[str, LabelFile] = {}
    for file in found:
        other = files.setdefault(file.image, file)
        if other is not file:
            raise DataError(
                f"There are two files for image {shown(repr(file.image))}.",
                where=f"{other.where} and {file.where}",
                fix="keep one folder of labels, such as training/label_2",
            )
    return LabelFiles(path, suffix, [files[image] for image in sorted(files)], names)


def choose_labels(names: list[PurePath], where: str) -> tuple[str, list[PurePath]]:
    """The suffix of the label files among `names`, and which these are.

    >>> names = [PurePath("VOC/Annotations/1.xml"), PurePath("VOC/ImageSets/train.txt")]
    >>> choose_labels(names, "doctest")
    ('.xml', [PurePosixPath('VOC/Annotations/1.xml')])
    """
    labels = [name for name in names if name.suffix in KEPT_IN and name.name not in NAMES]
    for suffix, folder in KEPT_IN.items():
        kept = [name for name in labels if name.suffix == suffix and folder in name.parts[:-1]]
        if kept:
            return suffix, kept
    suffixes = {name.suffix for name in labels}
    if len(suffixes) != 1:
        kinds = ".txt and .xml files" if suffixes else "no .txt and no .xml files"
        fix = "keep one kind of labels there" if suffixes else LABELS_FIX
        raise DataError(f"There are {kinds} in it.", where=where, fix=fix)
    return suffixes.pop(), labels


Found = tuple[str, list[LabelFile], LabelFile | None]


def _in_folder(path: Path, max_bytes: int) -> Found:
    inside = [PurePath(file.name) for file in path.iterdir() if file.is_file()]
    inside = [name for name in inside if not _is_hidden(name)]
    suffix, chosen = choose_labels(inside, str(path))
    n_bytes = 0
    files = []
    for name in chosen:
        n_bytes += (path / name).stat().st_size
        _check_size(n_bytes, max_bytes, str(path))
        files.append(_read(path / name))
    # Data sets name their classes beside the folders labels, or train/labels.
    folders = (path.absolute(), *path.absolute().parents[:2])
    beside = (folder / name for folder in folders for name in NAMES)
    names = next((file for file in beside if file.is_file()), None)
    return suffix, files, None if names is None else _read(names)


def _read(file: Path) -> LabelFile:
    _check_size(file.stat().st_size, MOST_IN_FILE, str(file))
    content = read_file(file, most=MOST_IN_FILE, error=DataError, fix=FEWER)
    return LabelFile(path_text(file.stem), str(file), content)


def _in_archive(path: Path, max_bytes: int) -> Found:
    refuse_absent(path)
    _check_size(path.stat().st_size, MOST_PACKED, str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            return _unpack_chosen(archive, path, max_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        if isinstance(error, SqrlError):  # which may be one of them
            raise
        # A password is a RuntimeError.
        what = f"The archive cannot be read: {shown(str(error)).rstrip('.')}."
        fix = "fetch it again, or unpack it and give the folder"
        raise DataError(what, where=str(path), fix=fix) from None


def _unpack_chosen(archive: zipfile.ZipFile, path: Path, max_bytes: int) -> Found:
    members = [(PurePosixPath(member.filename), member) for member in archive.infolist()]
    members = [(name, member) for name, member in members if not _is_hidden(name)]
    suffix, chosen = choose_labels([name for name, _ in members], str(path))
    wanted = set(chosen)
    labels = [member for name, member in members if name in wanted]
    naming = [
        (NAMES.index(name.name), len(name.parts), member)
        for name, member in members
        if name.name in NAMES
    ]
    names = [member for *_, member in sorted(naming, key=lambda one: one[:2])[:1]]
    for member in [*labels, *names]:
        _check_size(member.file_size, MOST_IN_FILE, _place(path, member))
    _check_size(sum(member.file_size for member in labels), max_bytes, str(path))
    files = [_unpack(archive, member, path) for member in labels]
    return suffix, files, _unpack(archive, names[0], path) if names else None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> LabelFile:
    """What is in a member, which may claim to be smaller than it is."""
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise zipfile.BadZipFile("it is packed in another way than deflate")
    with archive.open(member) as file:
        # With a number, as without one all of it is unpacked before its claim is looked at.
        content = file.read(member.file_size + 1)
    return LabelFile(PurePosixPath(member.filename).stem, _place(path, member), content)


def _is_hidden(name: PurePath) -> bool:
    """Whether a file is one that a file manager adds of its own."""
    return any(part.startswith("._") or part == "__MACOSX" for part in name.parts)


def _place(path: Path, member: zipfile.ZipInfo) -> str:
    return f"{path}, {shown(member.filename)}"


def _check_size(n_bytes: int, most: int, where: str) -> None:
    if n_bytes > most:
        raise LimitError(
            f"There are {n_bytes:,} bytes here, above the limit of {most:,} for label files.",
            where=where,
            fix=FEWER,
        )
