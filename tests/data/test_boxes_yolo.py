"""YOLO's label files: classes, sizes, shares where these are not known, and what is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_boxes import (
    as_lists,
    kitti_line,
    road,
    write_folder,
    write_frames,
    write_zip,
    yolo_labels,
)
from sqrl import read_table
from sqrl._data.formats.boxes.class_names import FIX as NAMES_FIX
from sqrl._data.formats.boxes.class_names import read_class_names
from sqrl._data.formats.boxes.label_files import LabelFile
from sqrl._data.formats.boxes.line_format import FIX
from sqrl._data.formats.boxes.yolo import LINES
from sqrl.boxes import image_statistics, read_boxes
from sqrl.errors import LimitError, SqrlError

HALF = {"a.txt": "1 0.5 0.25 0.5 0.5\n", "b.txt": ""}


def refusal(path, **options):
    with pytest.raises(SqrlError) as caught:
        read_boxes(path, **options)
    return str(caught.value)


def says(what, where, fix):
    return f"{what}\n  where: {where}\n  fix:   {fix}"


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0"


def test_yolo_and_kitti_are_the_same_boxes(tmp_path):
    """Up to rounding, where the sizes of the images are known."""
    write_frames(tmp_path / "frames.csv", road())
    kitti = as_lists(read_table(write_folder(tmp_path / "label_2", road())))
    yolo = as_lists(read_table(write_folder(tmp_path / "labels", yolo_labels(road()))))

    assert list(yolo) == list(kitti)
    for column in ("image", "type", "image_width", "image_height"):
        assert yolo[column] == kitti[column]
    for side in ("left", "top", "right", "bottom"):
        assert yolo[side] == pytest.approx(kitti[side], abs=1e-9)


def test_folder_and_archive_are_the_same(tmp_path):
    """The archive brings its classes along."""
    files = yolo_labels(road(score=True))
    folder = read_table(write_folder(tmp_path / "labels", files))
    archive = read_table(write_zip(tmp_path / "labels.zip", files, prefix="set/labels/"))

    assert folder.fingerprint() == archive.fingerprint()
    assert "score" in folder


def test_without_sizes_the_sides_are_shares_and_called_so(tmp_path):
    """A rule about pixels cannot take them for pixels; an image without boxes is still an image."""
    boxes = read_boxes(write_folder(tmp_path / "found", HALF))

    assert as_lists(boxes.table) == {
        "image": ["a"],
        "type": ["1"],
        "left_share": [0.25],
        "top_share": [0.0],
        "right_share": [0.75],
        "bottom_share": [0.5],
    }
    assert repr(boxes) == "Boxes(1 box on 2 images)"
    whole = as_lists(image_statistics(boxes.table, images=boxes.images))
    assert whole["largest_area_share"][0] == 0.25
    assert "largest_area" not in whole


@pytest.mark.parametrize(
    ("labels", "images"),
    [("mine", "mine"), ("labels/train", "images/train"), ("train/labels", "train/images")],
)
def test_images_beside_tell_their_sizes(tmp_path, labels, images):
    """In the same folder, or where Ultralytics and Roboflow keep them."""
    for folder in (labels, images):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name, text in HALF.items():
        (tmp_path / labels / name).write_text(text)
    (tmp_path / images / "a.png").write_bytes(png(200, 100))
    (tmp_path / images / "b.PNG").write_bytes(png(20, 10))
    (tmp_path / images / "other.png").write_bytes(b"not asked for")
    boxes = read_boxes(tmp_path / labels)

    assert as_lists(boxes.table)["right"] == [150.0]
    assert as_lists(boxes.images)["image_width"] == [200.0, 20.0]


def test_a_folder_of_images_may_be_named(tmp_path):
    """And each image has to be in it."""
    labels = write_folder(tmp_path / "found", HALF)
    images = tmp_path / "pictures"
    images.mkdir()
    (images / "a.png").write_bytes(png(200, 100))

    assert refusal(labels, images=images) == says(
        "The size of image 'b' is not given.",
        images,
        "add the image, or name another file with images= (--images)",
    )
    (images / "b.png").write_bytes(png(20, 10))
    assert as_lists(read_table(labels, images=images))["left"] == [50.0]


def test_images_beside_that_are_others_tell_nothing(tmp_path):
    """Pages of a manual in the same folder are no reason to refuse labels."""
    folder = write_folder(tmp_path / "mine", HALF)
    (folder / "curve.png").write_bytes(png(200, 100))

    assert "left_share" in read_table(folder)


@pytest.mark.parametrize("place", ["labels/train", "labels", "."])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("classes.txt", "cat\r\ntraffic light\n\n"),
        ("data.yaml", "train: ../images\nnc: 2\nnames: [cat, traffic light]\n"),
        ("data.yaml", "names:\n  0: cat\n  1: traffic light\n"),
    ],
)
def test_classes_are_named_by_a_file_in_the_folder_or_above(tmp_path, place, name, text):
    """As labelImg writes them, and as Ultralytics does."""
    (tmp_path / "labels").mkdir()
    folder = write_folder(tmp_path / "labels" / "train", HALF)
    (tmp_path / place / name).write_text(text)

    assert as_lists(read_table(folder))["type"] == ["traffic light"]


def test_class_names_are_text_whatever_yaml_would_make_of_them():
    """No is a word, and so is 1e3."""
    names = read_class_names(LabelFile("data", "data.yaml", b"names: [no, 1e3, 2020-01-01, ~]"))

    assert list(names.values()) == ["no", "1e3", "2020-01-01", "~"]


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("path: here\n", "The file does not name classes.", ""),
        ("names: [cat, [dog]]\n", "The file does not name classes.", ""),
        ("names: {cat: 0}\n", "A class has no number.", ""),
        (f"names:\n  ? {'1' * 5_000}\n  : cat\n", "A class has no number.", ""),
        ("names: [cat, cat]\n", "Two classes have one name.", ""),
        ("names: [cat, '']\n", "A class has an empty name.", ""),
        (
            "names: [cat\nnc: 1\n",
            "The file is not YAML: expected ',' or ']', but got ':'.",
            ", line 2",
        ),
        ("names: " + "[" * 5_000, "The file is not YAML.", ""),
        ("&a [*a]", "The file is not YAML: found unconstructable recursive node.", ", line 1"),
    ],
)
def test_damaged_names_are_refused(tmp_path, text, what, line):
    """With the file, and the line where YAML tells it."""
    folder = write_folder(tmp_path / "labels", {**HALF, "data.yaml": text})

    assert refusal(folder) == says(what, f"{folder / 'data.yaml'}{line}", NAMES_FIX)


def test_names_without_end_are_refused(tmp_path):
    """Names of classes are few."""
    folder = write_folder(tmp_path / "labels", {**HALF, "classes.txt": "a\n" * 200_000})

    assert refusal(folder) == says(
        "The names of classes take 400,000 bytes, above 262,144.",
        folder / "classes.txt",
        "keep the names of classes alone",
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0 0.5 0.5 0.1", "The line has 4 fields, not 5, or 6 with a confidence."),
        (kitti_line("Car", 1, 2, 3, 4), "The line has 15 fields, not 5, or 6 with a confidence."),
        ("0 0.5 0.5 0.1 0.1 0.9", "The line has a confidence, unlike the lines before it."),
        ("car 0.5 0.5 0.1 0.1", "The class is 'car', not a number."),
        ("-1 0.5 0.5 0.1 0.1", "The class is '-1', not a whole number from 0."),
        ("0.5 0.5 0.5 0.1 0.1", "The class is '0.5', not a whole number from 0."),
        ("9 0.5 0.5 0.1 0.1", "Class 9 is not among the 3 that have a name."),
        ("0 nan 0.5 0.1 0.1", "The x of the centre is 'nan', not a number."),
        ("0 0.5 0.5 320 0.1", "The width is 320, not a share of the image."),
        ("0 0.5 -0.5 0.1 0.1", "The y of the centre is -0.5, not a share of the image."),
        ("0 0.5 0.5 0.1 -0.001", "The height is -0.001, not a share of the image."),
    ],
)
def test_damaged_lines_are_named_with_file_and_line(tmp_path, line, what):
    """In a folder and in an archive."""
    files = {"classes.txt": "a\nb\nc\n", "7.txt": f"0 0.5 0.5 0.1 0.1\n\n{line}\n"}
    folder = write_folder(tmp_path / "labels", files)
    archive = write_zip(tmp_path / "labels.zip", files, prefix="labels/")

    assert refusal(folder) == says(what, f"{folder / '7.txt'}, line 3", LINES.fix)
    assert refusal(archive) == says(what, f"{archive}, labels/7.txt, line 3", LINES.fix)


def test_lines_of_neither_kind_are_refused(tmp_path):
    """The message says what both look like."""
    folder = write_folder(tmp_path / "notes", {"README.txt": "Pictures\nof cats\n"})

    assert refusal(folder) == says(
        "The line has 1 field: KITTI's have 15, or 16 with a score, and YOLO's 5, or 6 with a "
        "confidence.",
        f"{folder / 'README.txt'}, line 1",
        FIX,
    )


def test_an_archive_as_roboflow_makes_it(tmp_path):
    """Pages to be read are no labels; images and labels are in folders of their own."""
    path = tmp_path / "set.zip"
    files = {
        "README.dataset.txt": "# Cats\nhttps://example.org\n",
        "data.yaml": "names: [cat, dog]\n",
        "train/labels/a.txt": HALF["a.txt"],
        "valid/labels/b.txt": "",
        "train/images/a.jpg": "x",
    }
    boxes = read_boxes(write_zip(path, files, prefix=""))

    assert as_lists(boxes.table)["type"] == ["dog"]
    assert as_lists(boxes.images)["image"] == ["a", "b"]


def test_two_kinds_of_labels_in_one_folder_are_refused(tmp_path):
    """Which are meant?"""
    folder = write_folder(tmp_path / "both", {**HALF, "a.xml": "<annotation/>"})

    assert refusal(folder) == says(
        "There are .txt and .xml files in it.", folder, "keep one kind of labels there"
    )


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    """Names of classes, too."""
    path = write_zip(tmp_path / "bomb.zip", {**HALF, "classes.txt": " " * 20_000_000}, prefix="")

    with pytest.raises(LimitError, match="20,000,000 bytes here, above the limit of 16,777,216"):
        read_table(path)


boxes_in_shares = st.lists(
    st.tuples(st.integers(0, 99), *[st.floats(0, 1, width=32)] * 4), min_size=1, max_size=8
)


@given(boxes=boxes_in_shares, width=st.integers(1, 10_000), height=st.integers(1, 10_000))
def test_what_is_written_is_read(tmp_path_factory, boxes, width, height):
    """Every side is the centre and half a size from it, in pixels of the image."""
    root = tmp_path_factory.mktemp("yolo")
    text = "\n".join(" ".join(map(repr, box)) for box in boxes)
    folder = write_folder(root / "found", {"0012.txt": text, "0013.txt": ""})
    write_frames(root / "frames.csv", {"12": "", "13": ""}, size=(width, height))
    found = as_lists(read_table(folder))

    assert found["type"] == [str(box[0]) for box in boxes]
    assert found["left"] == [(x - w / 2) * width for _, x, _, w, _ in boxes]
    assert found["bottom"] == [(y + h / 2) * height for _, _, y, _, h in boxes]
