"""Files of boxes around objects -> Arrow tables: KITTI, YOLO, Pascal VOC and COCO."""

from pathlib import Path

from sqrl._data.formats.boxes.collected import SHARES, SIDES, BoxFile
from sqrl._data.formats.boxes.image_sizes import image_key

__all__ = ["BOX_FILES", "SHARES", "SIDES", "BoxFile", "image_key", "is_box_file", "read_box_file"]

MAX_BYTES = 2**30  # COCO's largest file has 450 MB
LABELS = (".txt", ".xml")
BOX_FILES = "KITTI, YOLO (.txt) or Pascal VOC (.xml) labels as a folder or .zip, COCO as .json"


def is_box_file(path: Path) -> bool:
    """Whether the path is a .zip, a .json, packed or not, or a folder with .txt or .xml in it.

    >>> is_box_file(Path("labels.zip")), is_box_file(Path("a.JSON.gz")), is_box_file(Path("a.csv"))
    (True, True, False)
    """
    if path.is_dir():
        return any(file.suffix in LABELS for file in path.iterdir())
    return path.suffix.lower() == ".zip" or _is_json(path)


def read_box_file(path: Path, *, images: Path | None = None, max_bytes: int = MAX_BYTES) -> BoxFile:
    """The boxes in a file or folder, the images they are on, and what was left out.

    `images` names a CSV file with the sizes of the images, the folder of the images, or the COCO
    file of truth that COCO results belong to. More than a gigabyte is refused, whatever
    `max_bytes` allows.
    """
    from sqrl._data.formats.boxes.coco import read_coco
    from sqrl._data.formats.boxes.kitti import read_kitti
    from sqrl._data.formats.boxes.label_files import find_label_files
    from sqrl._data.formats.boxes.line_format import is_yolo
    from sqrl._data.formats.boxes.voc import read_voc
    from sqrl._data.formats.boxes.yolo import read_yolo

    most = min(max_bytes, MAX_BYTES)
    if _is_json(path) and not path.is_dir():
        return read_coco(path, images=images, max_bytes=most)
    found = find_label_files(path, max_bytes=most)
    if found.suffix == ".xml":
        return read_voc(found, images=images)
    return (read_yolo if is_yolo(found) else read_kitti)(found, images=images)


def _is_json(path: Path) -> bool:
    return path.name.lower().endswith((".json", ".json.gz"))
