"""read_coco: COCO JSON, of truth or of a detector's results; Cityscapes' file is one of truth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from sqrl._data.formats.boxes.collected import Box, BoxFile, Sides, Size, collect_boxes, shown
from sqrl._data.formats.stored_file import load_file
from sqrl.errors import DataError, LimitError

LEFT_OUT = "crowd"  # one region around many objects
TRUTH_PAGE = "https://cocodataset.org/#format-data"
RESULTS_PAGE = "https://cocodataset.org/#format-results"
Id = int | str
T = TypeVar("T")


class Image(msgspec.Struct, frozen=True, gc=False):
    """One of the images of a file."""

    id: Id
    file_name: str | None = None
    width: float | None = None
    height: float | None = None


class Category(msgspec.Struct, frozen=True, gc=False):
    """One of the classes of a file."""

    id: Id
    name: str


class Annotation(msgspec.Struct, frozen=True, gc=False):
    """A box: left, top, width and height; `iscrowd` says that it is around many objects."""

    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    iscrowd: bool | int = 0
    score: float | None = None


class Result(Annotation, frozen=True, gc=False, kw_only=True):
    """A box that a detector found."""

    score: float


class TruthFile(msgspec.Struct, frozen=True):
    """A file of truth, of which fields that are not named here are passed over."""

    images: list[Image]
    annotations: list[Annotation]
    categories: list[Category]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What a file of truth knows: images and classes by their ids, and sizes by image."""

    images: Mapping[Id, str]
    classes: Mapping[Id, str]
    sizes: Mapping[str, Size]


def read_coco(path: Path, *, images: Path | None, max_bytes: int) -> BoxFile:
    """The boxes in a file; results need the file of truth, which knows images and classes."""
    content = _load(path, max_bytes)
    if bytes(content[:4096]).lstrip()[:1] != b"[":
        truth = _decode(content, TruthFile, path, TRUTH_PAGE)
        return _gather(truth.annotations, _known(truth, path), path, "annotations")
    results = _decode(content, list[Result], path, RESULTS_PAGE)
    if images is None:
        raise DataError(
            "COCO results do not say how their images and classes are called.",
            where=str(path),
            fix="name the COCO file of truth that they belong to with images= (--images)",
        )
    truth = _decode(_load(images, max_bytes), TruthFile, images, TRUTH_PAGE)
    return _gather(results, _known(truth, images), path, "")


def _load(path: Path, max_bytes: int) -> memoryview:
    try:
        return memoryview(load_file(path, max_bytes=max_bytes))
    except LimitError as error:  # this limit cannot be raised
        fix = "split the file, or make a Parquet file of its boxes"
        raise LimitError(error.what, where=error.where, fix=fix) from None


def _decode(content: memoryview, type: type[T], path: Path, page: str) -> T:
    try:
        return msgspec.json.decode(content, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = "truth" if page == TRUTH_PAGE else "results"
        what = f"The file is not JSON as COCO has it for {kind}: {shown(str(error))}."
        fix = f"see {page}; rows of other kinds are read from JSON Lines (.jsonl)"
        raise DataError(what, where=str(path), fix=fix) from None


def _known(truth: TruthFile, path: Path) -> _Known:
    _refuse_repeated([image.id for image in truth.images], "images", path)
    _refuse_repeated([category.id for category in truth.categories], "categories", path)
    names = [image.file_name for image in truth.images]
    if None in names or len(set(names)) < len(names):
        names = [str(image.id) for image in truth.images]
    images = {image.id: str(name) for image, name in zip(truth.images, names, strict=True)}
    classes = {category.id: category.name for category in truth.categories}
    sizes = {images[image.id]: Size(image.width, image.height) for image in truth.images}
    return _Known(images, classes, sizes)


def _refuse_repeated(ids: list[Id], what: str, path: Path) -> None:
    repeated = [one for one, count in Counter(ids).items() if count > 1]
    if repeated:
        raise DataError(
            f"The id {shown(repr(repeated[0]))} occurs more than once in {what!r}.",
            where=str(path),
            fix="give each an id of its own",
        )


def _gather(boxes: Sequence[Annotation], known: _Known, path: Path, key: str) -> BoxFile:
    made = []
    has_score = bool(boxes) and boxes[0].score is not None
    for place, box in enumerate(boxes):
        try:
            if (box.score is not None) != has_score:
                raise ValueError("Some boxes have a score and others have none.")
            image = _look_up(known.images, box.image_id, "image")
            kind = _look_up(known.classes, box.category_id, "category")
            made.append(Box(image, kind, _sides(box.bbox), box.score, bool(box.iscrowd)))
        except ValueError as error:
            where = f"{path}, {key}[{place}]"
            raise DataError(str(error), where=where, fix=f"see {TRUTH_PAGE}") from None
    images = list(known.images.values())
    return collect_boxes(made, images, known.sizes, has_score=has_score, reason=LEFT_OUT)


def _look_up(names: Mapping[Id, str], id: Id, what: str) -> str:
    if id not in names:
        raise ValueError(f"There is no {what} with the id {shown(repr(id))}.")
    return names[id]


def _sides(bbox: Sides) -> Sides:
    left, top, width, height = bbox
    if width < 0 or height < 0:
        raise ValueError(f"The box is {width:g} wide and {height:g} high.")
    return left, top, left + width, top + height
