"""Pascal VOC's annotations: what is read, and the XML that is refused."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_boxes import as_lists, road, voc_file, voc_labels, write_folder, write_frames, write_zip
from sqrl import read_table
from sqrl._data.formats.boxes.voc import FIX
from sqrl.boxes import read_boxes
from sqrl.errors import DataError, SqrlError

DOG = ("dog", 48, 240, 195, 371)
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE annotation [
<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<annotation><object><name>&c;</name></object></annotation>
"""
OUTSIDE = """<!DOCTYPE annotation [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<annotation><object><name>&x;</name></object></annotation>
"""
DECLARES = "The file declares a document type, which could declare entities."


def refusal(path, **options):
    with pytest.raises(SqrlError) as caught:
        read_boxes(path, **options)
    return str(caught.value)


def says(what, where, fix=FIX):
    return f"{what}\n  where: {where}\n  fix:   {fix}"


def test_a_row_for_each_object(tmp_path):
    """Difficult ones too; parts of an object are none; the image is called as its file is."""
    files = {
        "7.xml": voc_file([DOG, ("car", 1, 2, 3.5, 4)], size=(353, 500)),
        "8.xml": voc_file([]),
    }
    boxes = read_boxes(write_folder(tmp_path / "Annotations", files))

    assert as_lists(boxes.table) == {
        "image": ["7", "7"],
        "type": ["dog", "car"],
        "left": [48.0, 1.0],
        "top": [240.0, 2.0],
        "right": [195.0, 3.5],
        "bottom": [371.0, 4.0],
        "image_width": [353.0, 353.0],
        "image_height": [500.0, 500.0],
    }
    assert as_lists(boxes.images)["image"] == ["7", "8"]
    assert boxes.summary == "2 boxes on 2 images"


def test_voc_and_kitti_are_the_same_boxes(tmp_path):
    """To the last bit, from a folder and from an archive with VOC's lists of images in it."""
    write_frames(tmp_path / "frames.csv", road())
    kitti = read_table(write_folder(tmp_path / "label_2", road()))
    voc = read_table(write_folder(tmp_path / "Annotations", voc_labels(road())))
    files = {f"Annotations/{name}": text for name, text in voc_labels(road()).items()}
    files["ImageSets/Main/train.txt"] = "000000\n"
    archive = read_table(write_zip(tmp_path / "VOC.zip", files, prefix="VOC2012/"))

    assert kitti.fingerprint() == voc.fingerprint() == archive.fingerprint()


def test_sizes_that_are_not_told_come_from_images(tmp_path):
    """Programs write 0 where they do not know; some files have no size at all."""
    none = "<annotation><object><name>a</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>"
    none += "<ymax>2</ymax></bndbox></object></annotation>"
    folder = write_folder(
        tmp_path / "Annotations", {"1.xml": voc_file([DOG], (0, 0)), "2.xml": none}
    )
    write_frames(tmp_path / "sizes.csv", {"1": "", "2": ""}, size=(640, 480))

    assert "image_width" not in read_table(folder)
    sized = read_table(folder, images=tmp_path / "sizes.csv")
    assert as_lists(sized)["image_width"] == [640.0, 640.0]


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, "<!DOCTYPE html>\n<annotation/>"])
def test_declarations_are_refused_before_anything_is_expanded_or_read(tmp_path, text):
    """A billion laughs, and entities that name files."""
    folder = write_folder(tmp_path / "Annotations", {"1.xml": text})
    message = refusal(folder)

    assert message.startswith(f"{DECLARES}\n  where: {folder / '1.xml'}, line ")
    assert message.endswith(f"\n  fix:   {FIX}")


@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ("<xmax>195</xmax>", "", "The object has no <xmax>.", 4),
        ("<name>dog</name>", "<name> </name>", "The object has no <name>.", 4),
        (">48<", ">left<", "The xmin is 'left', not a number.", 4),
        (">48<", ">200<", "The right side of the box, 195, lies left of 200.", 4),
        (">371<", ">1<", "The bottom of the box, 1, lies above 240.", 4),
        (
            "<name>dog</name>",
            "<name>a</name><name>b</name>",
            "There are two <name> where one belongs.",
            4,
        ),
        ("</bndbox>", "", "The file is not XML: mismatched tag.", 4),
        ("</annotation>", "", "The file is not XML: no element found.", 6),
        ("annotation", "annotations", "The file holds <annotations>, not <annotation>.", 2),
        ("<depth>", "<a>" * 40 + "<depth>", "Elements are nested more than 32 deep.", 2),
        ("<width>353<", "<width>-3<", "The width of the image is -3.", 6),
        ("<height>500<", "<height>high<", "The height of the image is 'high', not a number.", 6),
        ('"1.0"', '"1.0" encoding="klingon"', "The file is not XML: unknown encoding: klingon.", 1),
        ("dog", "&dog;", "The file is not XML: undefined entity.", 4),
    ],
)
def test_damaged_files_are_named_with_file_and_line(tmp_path, old, new, what, line):
    """In a folder and in an archive."""
    text = voc_file([DOG], size=(353, 500))
    assert old in text
    files = {"7.xml": text.replace(old, new)}
    folder = write_folder(tmp_path / "Annotations", files)
    archive = write_zip(tmp_path / "voc.zip", files, prefix="Annotations/")

    assert refusal(folder) == says(what, f"{folder / '7.xml'}, line {line}")
    assert refusal(archive) == says(what, f"{archive}, Annotations/7.xml, line {line}")


@given(content=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    """Never another error than ours."""
    folder = write_folder(tmp_path_factory.mktemp("voc") / "Annotations", {})
    (folder / "1.xml").write_bytes(content)

    with pytest.raises(DataError):
        read_boxes(folder)


sides = st.floats(0, 1e6)
words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)


@given(boxes=st.lists(st.tuples(words, sides, sides, sides, sides), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, boxes):
    """Names with signs of XML in them, and sides to the last bit."""
    made = [(escape(k), min(a, c), min(b, d), max(a, c), max(b, d)) for k, a, b, c, d in boxes]
    folder = tmp_path_factory.mktemp("voc")
    (folder / "1.xml").write_text(voc_file(made), encoding="utf-8")
    found = as_lists(read_table(folder))

    assert found["type"] == [box[0] for box in boxes]
    assert found["left"] == [box[1] for box in made]
    assert found["bottom"] == [box[4] for box in made]
