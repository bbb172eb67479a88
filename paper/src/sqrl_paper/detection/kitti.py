"""find_kitti: KITTI's image files of a part, with the boxes that are labelled on them."""

from pathlib import Path

import numpy as np

from sqrl.boxes import Boxes, image_key, read_boxes
from sqrl.errors import DataError
from sqrl_paper.detection.road_labels import (
    CLASSES,
    IGNORED,
    LabelledFile,
    by_image,
    damaged_image,
    image_files,
)
from sqrl_paper.shared.data_files import data_folder, find_file
from sqrl_paper.shared.images import image_size

KITTI_PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php?obj_benchmark=2d"
TITLE = "KITTI, 2D objects"
LABELS = "kitti/data_object_label_2.zip"
FOLDERS = ("kitti/training/image_2", "kitti/image_2", "kitti/images_480")
FEWEST = 1000  # pixels across an official image; copies are smaller


def find_kitti(folder: str | Path | None, part: str) -> list[LabelledFile]:
    """The image files of a part that are there, in the order of their names."""
    labels = find_file(folder, LABELS, title=TITLE, page=KITTI_PAGE)
    files = _files(folder)
    wanted = {image_key(name) for name in frames_of(folder, part)}
    boxes = read_boxes(labels)
    found = by_image(boxes, _label)
    sizes = _sizes(boxes)
    chosen = [path for key, path in files.items() if key in wanted and key in found]
    if not chosen:
        raise DataError(
            f"None of KITTI's images for {part!r} is there.",
            where=str(next(iter(files.values())).parent),
            fix=f"download the left color images from {KITTI_PAGE} and unpack them there",
        )
    return [
        LabelledFile(path, path.stem, *_size(path, sizes), *found[image_key(path.stem)])
        for path in chosen
    ]


def _label(kind: str) -> int:
    """What a class of the file is here; Misc and DontCare are ignored."""
    return CLASSES.index(kind) if kind in CLASSES else IGNORED


def frames_of(folder: str | Path | None, part: str) -> list[str]:
    """The frames of a part, by the usual split."""
    path = data_folder(folder) / f"kitti/ImageSets/{part}.txt"
    try:
        return path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"It is not known which of KITTI's frames are for {part!r}.",
            where=str(path),
            fix="put the usual split there, of 3,712 frames to train and 3,769 to validate, "
            "with the number of a frame on each line",
        ) from None


def _files(folder: str | Path | None) -> dict[str, Path]:
    root = data_folder(folder)
    for name in FOLDERS:
        found = image_files(root / name)
        if found:
            return {image_key(path.stem): path for path in found}
    raise DataError(
        f"The images of the data set {TITLE!r} are not there.",
        where=str(root / FOLDERS[0]),
        fix=f"download the left color images from {KITTI_PAGE} and unpack them in "
        f"{root / 'kitti'}, or say with --data DIR or SQRL_DATA=DIR which folder holds it",
    )


def _sizes(boxes: Boxes) -> dict[str, tuple[float, float]]:
    """The sizes of the original images by name, if the file frames.csv tells them."""
    if "image_width" not in boxes.images:
        return {}
    names, columns = boxes.images["image"], ("image_width", "image_height")
    widths, heights = (np.asarray(boxes.images[c].values, np.float64).tolist() for c in columns)
    keys = [image_key(names.categories[code]) for code in names.values]
    return dict(zip(keys, zip(widths, heights, strict=True), strict=True))


def _size(path: Path, sizes: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """How large the original image is, which boxes are in pixels of."""
    key = image_key(path.stem)
    if key in sizes:
        return sizes[key]
    width, height = _own_size(path)
    if width < FEWEST:
        raise DataError(
            f"The image is {width} pixels wide, and how wide the original is is not known.",
            where=str(path),
            fix=f"fetch the original from {KITTI_PAGE}, or put frames.csv with the columns "
            "frame, img_w and img_h beside the labels",
        )
    return width, height


def _own_size(path: Path) -> tuple[int, int]:
    try:
        return image_size(path)
    except OSError:
        raise damaged_image(path, KITTI_PAGE) from None
