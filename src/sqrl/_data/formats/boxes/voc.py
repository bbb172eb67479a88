"""read_voc: Pascal VOC's annotations, an XML file an image.

Text of the elements that are read is gathered as the parser meets it; there is no tree. A document
type, and with it every declaration of an entity, is refused before anything is expanded or fetched.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from sqrl._data.formats.boxes.collected import (
    Box,
    BoxFile,
    Size,
    as_number,
    check_sides,
    collect_boxes,
    shown,
)
from sqrl._data.formats.boxes.image_sizes import find_sizes
from sqrl._data.formats.boxes.label_files import LabelFile, LabelFiles
from sqrl.errors import DataError

PAGE = "http://host.robots.ox.ac.uk/pascal/VOC/"
FIX = (
    "an <annotation> has a <size> with <width> and <height>, and for each <object> a <name> and a "
    f"<bndbox> with <xmin>, <ymin>, <xmax> and <ymax>: see {PAGE}"
)
MOST_DEEP = 32
SIDES = ("xmin", "ymin", "xmax", "ymax")
OBJECT = ("annotation", "object")
# What is read of an image and of an object, by its place; an object's parts are not.
READ: dict[tuple[str, ...], str] = {
    ("annotation", "size", "width"): "width",
    ("annotation", "size", "height"): "height",
    (*OBJECT, "name"): "name",
    **{(*OBJECT, "bndbox", side): side for side in SIDES},
}


def read_voc(found: LabelFiles, *, images: Path | None) -> BoxFile:
    """The boxes of annotation files; sizes are theirs unless `images` tells them.

    Sides are taken as they stand: VOC counts pixels from 1, and the last one belongs to the box.
    """
    boxes: list[Box] = []
    sizes: dict[str, Size] = {}
    for file in found.files:
        found_here, sizes[file.image] = _parse(file)
        boxes += found_here
    names = list(sizes)
    given = sizes if images is None else find_sizes(names, found.path, images)
    return collect_boxes(boxes, names, given, has_score=False)


@dataclass(slots=True, eq=False)
class _Reading:
    """Where the parser is in a file, the text that it met there, and the boxes so far."""

    image: str
    boxes: list[Box] = field(default_factory=list)
    place: list[str] = field(default_factory=list)
    of_image: dict[str, str] = field(default_factory=dict)
    of_object: dict[str, str] = field(default_factory=dict)

    def begin(self, name: str, _: dict[str, str]) -> None:
        """An element begins."""
        self.place.append(name)
        if len(self.place) > MOST_DEEP:
            raise ValueError(f"Elements are nested more than {MOST_DEEP} deep.")
        if self.place[0] != "annotation":
            raise ValueError(f"The file holds <{shown(self.place[0])}>, not <annotation>.")
        if tuple(self.place) == OBJECT:
            self.of_object.clear()
        known = READ.get(tuple(self.place))
        if known is not None and known in self._texts(known):
            raise ValueError(f"There are two <{known}> where one belongs.")
        if known is not None:
            self._texts(known)[known] = ""

    def text(self, text: str) -> None:
        """Text of the element that is open."""
        known = READ.get(tuple(self.place))
        if known is not None:
            self._texts(known)[known] += text

    def end(self, _: str) -> None:
        """An element ends, and with an object its box is whole."""
        if tuple(self.place) == OBJECT:
            self.boxes.append(self._box())
        self.place.pop()

    def pixels(self, name: str) -> float | None:
        """The width or the height of the image; None where it is not told, or told to be 0."""
        text = self.of_image.get(name, "").strip()
        value = as_number(text, f"{name} of the image") if text else 0.0
        if value < 0:
            raise ValueError(f"The {name} of the image is {value:g}.")
        return value or None

    def _texts(self, known: str) -> dict[str, str]:
        return self.of_image if known in {"width", "height"} else self.of_object

    def _box(self) -> Box:
        missing = [name for name in ("name", *SIDES) if not self.of_object.get(name, "").strip()]
        if missing:
            raise ValueError(f"The object has no <{missing[0]}>.")
        sides = (as_number(self.of_object[side].strip(), side) for side in SIDES)
        return Box(self.image, self.of_object["name"].strip(), check_sides(*sides), None, False)


def _parse(file: LabelFile) -> tuple[list[Box], Size]:
    """The boxes in a file, and the size of its image."""
    reading = _Reading(file.image)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.EntityDeclHandler = _refuse_declarations
    parser.StartElementHandler = reading.begin
    parser.CharacterDataHandler = reading.text
    parser.EndElementHandler = reading.end
    try:
        parser.Parse(file.content, True)
        return reading.boxes, Size(reading.pixels("width"), reading.pixels("height"))
    except expat.ExpatError as error:
        what = f"The file is not XML: {expat.ErrorString(error.code)}."
        raise DataError(what, where=f"{file.where}, line {error.lineno}", fix=FIX) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        where = f"{file.where}, line {parser.CurrentLineNumber}"
        what = str(error) if isinstance(error, ValueError) else f"The file is not XML: {error}."
        raise DataError(what, where=where, fix=FIX) from None


def _refuse_declarations(*_: Any) -> None:
    raise ValueError("The file declares a document type, which could declare entities.")
