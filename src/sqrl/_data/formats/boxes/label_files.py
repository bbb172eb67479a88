"""find_label_files: the .txt files of a folder or of a .zip archive.

An archive is read in memory, up to a limit: no name in it ever becomes a path.
"""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqrl._data.formats.boxes.collected import shown
from sqrl._data.formats.stored_file import refuse_absent
from sqrl.errors import DataError, LimitError

PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php"
MOST_PACKED = 2**27  # bytes of an archive: KITTI's own has 6 million
MOST_IN_FILE = 2**24  # bytes of the labels of one image


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What is in the file of an image, the image's name, and where the file is."""

    image: str
    where: str
    content: bytes


def find_label_files(path: Path, *, max_bytes: int) -> list[LabelFile]:
    """The label files, in the order of their images' names; each image has one."""
    found = _from_folder(path, max_bytes) if path.is_dir() else _from_archive(path, max_bytes)
    files: dict[str, LabelFile] = {}
    for file in found:
        other = files.setdefault(file.image, file)
        if other is not file:
            raise DataError(
                f"There are two files for image {file.image!r}.",
                where=f"{other.where} and {file.where}",
                fix="keep one folder of labels, such as training/label_2",
            )
    if not files:
        raise DataError(
            "The archive has no .txt files in it.",
            where=str(path),
            fix=f"give the labels, data_object_label_2.zip from {PAGE}",
        )
    return [files[image] for image in sorted(files)]


def _from_folder(path: Path, max_bytes: int) -> Iterator[LabelFile]:
    n_bytes = 0
    for file in path.iterdir():
        if file.suffix == ".txt" and file.is_file():
            size = file.stat().st_size
            n_bytes += size
            _check_size(size, MOST_IN_FILE, str(file))
            _check_size(n_bytes, max_bytes, str(path))
            yield LabelFile(file.stem, str(file), _read(file))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        what = f"The file cannot be read: {error.strerror}."
        raise DataError(what, where=str(file), fix="check its permissions") from None


def _from_archive(path: Path, max_bytes: int) -> Iterator[LabelFile]:
    refuse_absent(path)
    _check_size(path.stat().st_size, MOST_PACKED, str(path))
    try:
        with zipfile.ZipFile(path) as archive:
            chosen = [member for member in archive.infolist() if _is_label_file(member.filename)]
            for member in chosen:
                _check_size(member.file_size, MOST_IN_FILE, _place(path, member))
            _check_size(sum(member.file_size for member in chosen), max_bytes, str(path))
            for member in chosen:
                image = PurePosixPath(member.filename).stem
                yield LabelFile(image, _place(path, member), _unpack(archive, member))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        # A password is a RuntimeError.
        what = f"The archive cannot be read: {shown(str(error)).rstrip('.')}."
        fix = f"fetch it again from {PAGE}, or unpack it and give the folder"
        raise DataError(what, where=str(path), fix=fix) from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """What is in a member, which may claim to be smaller than it is."""
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise zipfile.BadZipFile("it is packed in another way than deflate")
    with archive.open(member) as file:
        # With a number, as without one all of it is unpacked before its claim is looked at.
        return file.read(member.file_size + 1)


def _is_label_file(name: str) -> bool:
    """Whether a member is a .txt file, and not what a file manager adds of its own."""
    parts = PurePosixPath(name).parts
    is_hidden = any(part.startswith("._") or part == "__MACOSX" for part in parts)
    return name.endswith(".txt") and not is_hidden


def _place(path: Path, member: zipfile.ZipInfo) -> str:
    return f"{path}, {shown(member.filename)}"


def _check_size(n_bytes: int, most: int, where: str) -> None:
    if n_bytes > most:
        raise LimitError(
            f"There are {n_bytes:,} bytes here, above the limit of {most:,} for label files.",
            where=where,
            fix="give fewer label files, or make a Parquet file of the boxes",
        )
