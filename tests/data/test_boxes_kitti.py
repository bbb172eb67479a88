"""KITTI label files: what is read, what is left out, and what is refused."""

import zipfile
from pathlib import Path

import pytest

import real_data
from made_boxes import as_lists, kitti_line, road, write_folder, write_zip
from sqrl import read_table
from sqrl._data.formats.boxes import label_files
from sqrl._data.formats.boxes.kitti import LINES
from sqrl._data.formats.boxes.line_format import FIX
from sqrl.boxes import read_boxes
from sqrl.errors import DataError, LimitError, SqrlError

PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php"
TWO = {
    "000001.txt": "\n".join(
        [
            kitti_line("Car", 10, 20, 110.5, 80),
            kitti_line("DontCare", 1, 2, 3, 4),
            "",
            kitti_line("Van", 0, 0, 5, 5),
        ]
    ),
    "000000.txt": kitti_line("Pedestrian", 712.4, 143, 810.73, 307.92) + "\r\n",
    "000002.txt": "",
}


def refusal(path, **options):
    with pytest.raises(SqrlError) as caught:
        read_boxes(path, **options)
    return caught.value


def says(what, where, fix):
    return f"{what}\n  where: {where}\n  fix:   {fix}"


def test_a_row_for_each_box_in_the_order_of_the_images(tmp_path):
    """DontCare is left out and counted; an image without boxes is still an image."""
    boxes = read_boxes(write_folder(tmp_path / "label_2", TWO))

    assert as_lists(boxes.table) == {
        "image": ["000000", "000001", "000001"],
        "type": ["Pedestrian", "Car", "Van"],
        "left": [712.4, 10.0, 0.0],
        "top": [143.0, 20.0, 0.0],
        "right": [810.73, 110.5, 5.0],
        "bottom": [307.92, 80.0, 5.0],
    }
    assert as_lists(boxes.images) == {"image": ["000000", "000001", "000002"]}
    assert as_lists(boxes.left_out)["type"] == ["DontCare"]
    assert repr(boxes) == "Boxes(3 boxes on 3 images, 1 DontCare region left out)"


def test_folder_and_archive_are_the_same(tmp_path):
    """Whatever the order in the archive and the folders in it."""
    folder = read_table(write_folder(tmp_path / "label_2", road()))
    official = read_table(write_zip(tmp_path / "data_object_label_2.zip", road()))
    flat = read_table(write_zip(tmp_path / "flat.zip", road(), prefix=""))

    assert folder.fingerprint() == official.fingerprint() == flat.fingerprint()


def test_what_a_file_manager_adds_is_no_label(tmp_path):
    """Unpacked archives have it as the archives do."""
    path = write_folder(tmp_path / "label_2", road())
    folder = read_table(path)
    (path / "._000007.txt").write_bytes(b"\x00\x05\x16\x07\xff")

    assert read_table(path).fingerprint() == folder.fingerprint()


def test_detections_have_a_score(tmp_path):
    """It is the sixteenth field."""
    files = {"7.txt": kitti_line("Car", 1, 2, 3, 4, score=-0.25)}
    table = read_table(write_folder(tmp_path / "results", files))

    assert as_lists(table)["score"] == [-0.25]


def test_sizes_come_from_the_file_named_or_from_the_one_beside(tmp_path):
    """Leading zeros may be lost on the way; the file named is preferred."""
    labels = write_folder(tmp_path / "label_2", TWO)
    (tmp_path / "frames.csv").write_text("frame,img_w,img_h\n0,1224,370\n1,1242,375\n2,9,9\n")
    (tmp_path / "own.csv").write_text(
        "image_height,image,image_width\n7,000000.png,8\n7,000001.png,8\n7,000002.png,8\n"
    )

    assert as_lists(read_table(labels))["image_width"] == [1224, 1242, 1242]
    assert as_lists(read_boxes(labels).images)["image_height"] == [370, 375, 9]
    own = as_lists(read_table(labels, images=tmp_path / "own.csv"))
    assert (own["image_width"], own["image_height"]) == ([8, 8, 8], [7, 7, 7])


def test_an_image_whose_size_is_not_given_is_named(tmp_path):
    """A size that is only known of some images would make rules silent about the others."""
    labels = write_folder(tmp_path / "label_2", TWO)
    frames = tmp_path / "frames.csv"
    frames.write_text("frame,img_w,img_h\n000000,1224,370\n")

    assert str(refusal(labels)) == says(
        "The size of image '000001' is not given.",
        frames,
        "add a line for it, or name another file with images= (--images)",
    )


@pytest.mark.parametrize(
    ("text", "what", "line", "fix"),
    [
        (
            "frame,img_w,img_h\n1,wide,3\n",
            "'wide' is not a number of pixels.",
            ", line 2",
            "give the width and the height of the image",
        ),
        (
            "frame,img_w,img_h\n1,0,3\n",
            "'0' is not a number of pixels.",
            ", line 2",
            "give the width and the height of the image",
        ),
        (
            "frame,img_w,img_h\n1,2\n",
            "The line has 2 fields, not 3.",
            ", line 2",
            "give every image one line",
        ),
        (
            "frame,img_w,img_h\n1,2,3\n01,2,4\n",
            "Image '01' has another size than before.",
            ", line 3",
            "keep one line for each image",
        ),
        (
            "frame,img_w,high\n1,2,3\n",
            "Unknown column 'image_height'.",
            "",
            "use one of: frame, img_w, high",
        ),
    ],
)
def test_damaged_sizes_are_named_with_their_line(tmp_path, text, what, line, fix):
    """And a column that is not there with those that are."""
    labels = write_folder(tmp_path / "label_2", {"1.txt": kitti_line("Car", 1, 2, 3, 4)})
    path = tmp_path / "sizes.csv"
    path.write_text(text)

    assert str(refusal(labels, images=path)) == says(what, f"{path}{line}", fix)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Car 0 0 0 1 2 3", "The line has 7 fields, not 15, or 16 with a score."),
        (kitti_line("Car", "one", 2, 3, 4), "The left side is 'one', not a number."),
        (kitti_line("Car", 1, "nan", 3, 4), "The top is 'nan', not a number."),
        (kitti_line("Car", 1, 2, "inf", 4), "The right side is 'inf', not a number."),
        (kitti_line("Car", "1_0", 2, 30, 4), "The left side is '1_0', not a number."),
        (kitti_line("Car", 5, 2, 3, 4), "The right side of the box, 3, lies left of 5."),
        (kitti_line("Car", 1, 9, 3, 4), "The bottom of the box, 4, lies above 9."),
        (kitti_line("Car", 1, 2, 3, 4, 0.5), "The line has a score, unlike the lines before it."),
    ],
)
def test_damaged_lines_are_named_with_file_and_line(tmp_path, line, what):
    """In a folder and in an archive."""
    files = {"000007.txt": f"{kitti_line('Van', 0, 0, 5, 5)}\n\n{line}\n"}
    folder = write_folder(tmp_path / "label_2", files)
    archive = write_zip(tmp_path / "labels.zip", files)

    assert str(refusal(folder)) == says(what, f"{folder / '000007.txt'}, line 3", LINES.fix)
    where = f"{archive}, training/label_2/000007.txt, line 3"
    assert str(refusal(archive)) == says(what, where, LINES.fix)
    assert LINES.fix.endswith(f"the labels are at {PAGE}")


def test_what_is_not_text_is_refused(tmp_path):
    """Such as an image that was named .txt."""
    folder = write_folder(tmp_path / "label_2", {})
    (folder / "1.txt").write_bytes(b"\xff\xd8\xff")

    assert str(refusal(folder)) == says("The file is not text.", folder / "1.txt", FIX)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    """A permission is the owner's to give."""
    folder = write_folder(tmp_path / "label_2", {"1.txt": ""})

    def deny(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    assert str(refusal(folder)) == says(
        "The file may not be read.",
        folder / "1.txt",
        "ask its owner, or change its permissions",
    )


def test_a_damaged_archive_is_refused(tmp_path):
    """Cut short, or not an archive at all."""
    whole = write_zip(tmp_path / "labels.zip", road()).read_bytes()
    (tmp_path / "labels.zip").write_bytes(whole[: len(whole) // 2])

    assert str(refusal(tmp_path / "labels.zip")) == says(
        "The archive cannot be read: File is not a zip file.",
        tmp_path / "labels.zip",
        "fetch it again, or unpack it and give the folder",
    )


def test_an_archive_without_labels_is_refused(tmp_path):
    """KITTI's images and its labels are in different archives."""
    path = write_zip(tmp_path / "images.zip", {"000000.png": "x"})

    assert str(refusal(path)) == says(
        "There are no .txt and no .xml files in it.",
        path,
        "give a folder or .zip of KITTI's or YOLO's .txt files, or of Pascal VOC's .xml files",
    )


def test_two_files_for_one_image_are_refused(tmp_path):
    """Boxes of the same image would be counted twice."""
    path = tmp_path / "labels.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/1.txt", kitti_line("Car", 1, 2, 3, 4))
        archive.writestr("b/1.txt", kitti_line("Car", 1, 2, 3, 4))

    assert str(refusal(path)) == says(
        "There are two files for image '1'.",
        f"{path}, a/1.txt and {path}, b/1.txt",
        "keep one folder of labels, such as training/label_2",
    )


def test_names_in_an_archive_are_never_paths(tmp_path):
    """Nothing is written, wherever a name points; what a file manager adds is passed over."""
    inner = tmp_path / "inner"
    inner.mkdir()
    path = inner / "labels.zip"
    line = kitti_line("Car", 1, 2, 3, 4)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../outside.txt", line)
        archive.writestr("/etc/absolute.txt", line)
        archive.writestr("__MACOSX/._outside.txt", b"\x00\x05\x16\x07")

    assert as_lists(read_table(path))["image"] == ["absolute", "outside"]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["inner", "labels.zip"]


def test_a_name_in_an_archive_cannot_steer_the_terminal(tmp_path):
    """Control characters are spelt out in errors."""
    path = tmp_path / "labels.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a\x1b[2J/1.txt", "Car")

    assert f"{path}, a\\x1b[2J/1.txt, line 1" in str(refusal(path))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    """Before anything is unpacked: fifty megabytes of blanks pack into fifty kilobytes."""
    path = write_zip(tmp_path / "bomb.zip", {"1.txt": " " * 50_000_000})
    error = refusal(path)

    assert isinstance(error, LimitError)
    assert str(error) == says(
        "There are 50,000,000 bytes here, above the limit of 16,777,216 for label files.",
        f"{path}, training/label_2/1.txt",
        "give fewer label files, or make a Parquet file of the boxes",
    )


def test_many_files_together_are_held_to_a_limit_too(tmp_path):
    """In an archive and in a folder."""
    for path in (
        write_zip(tmp_path / "labels.zip", road()),
        write_folder(tmp_path / "label_2", road()),
    ):
        with pytest.raises(LimitError, match=r"above the limit of 1,000 for label files"):
            read_table(path, max_bytes=1000)


def test_a_member_that_claims_to_be_small_is_not_unpacked_whole(tmp_path, monkeypatch):
    """What is read of it is what it claims, and its checksum then tells that this was a lie."""
    path = write_zip(tmp_path / "lie.zip", {"1.txt": " " * 3_000_000}, prefix="")
    honest = zipfile.ZipFile.infolist

    def small(self):
        for member in honest(self):
            member.file_size = 10
        return honest(self)

    monkeypatch.setattr(zipfile.ZipFile, "infolist", small)
    assert str(refusal(path)) == says(
        "The archive cannot be read: Bad CRC-32 for file '1.txt'.",
        path,
        "fetch it again, or unpack it and give the folder",
    )


def test_other_compressions_are_refused(tmp_path):
    """Python would unpack all of such a member at once, whatever it claims."""
    path = tmp_path / "labels.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("1.txt", kitti_line("Car", 1, 2, 3, 4))

    assert "packed in another way than deflate" in str(refusal(path))


def test_an_archive_itself_is_held_to_a_limit(tmp_path, monkeypatch):
    """Its list of names alone could fill the memory."""
    path = write_zip(tmp_path / "labels.zip", road())
    monkeypatch.setattr(label_files, "MOST_PACKED", 100)

    with pytest.raises(LimitError, match="above the limit of 100 for label files"):
        read_table(path)


def test_other_files_are_no_boxes(tmp_path):
    """And images go with boxes only."""
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")

    assert str(refusal(path)) == says(
        "This is no file of boxes.",
        path,
        "give KITTI, YOLO (.txt) or Pascal VOC (.xml) labels as a folder or .zip, COCO as .json, "
        "or use read_table",
    )
    with pytest.raises(DataError) as caught:
        read_table(path, images=path)
    assert str(caught.value) == says(
        "Images go with files of boxes, and this is none.",
        path,
        "leave out images= (--images)",
    )


def test_boxes_of_a_split(tmp_path):
    """Only what is on the images of the split; their names may have lost their zeros."""
    boxes = read_boxes(write_folder(tmp_path / "label_2", TWO)).on(["1", "000002"])

    assert as_lists(boxes.table)["type"] == ["Car", "Van"]
    assert as_lists(boxes.images)["image"] == ["000001", "000002"]
    assert boxes.left_out.n_rows == 1


def test_the_official_archive():
    """The counts are those published, and the boxes those that a plain loop reads."""
    root = real_data.folder("kitti")
    boxes = read_boxes(root / "data_object_label_2.zip")
    frames = (root / "ImageSets" / "train.txt").read_text().split()
    train = as_lists(boxes.on(frames).table)
    plain = real_data.kitti_boxes("train")
    kept = [place for place, kind in enumerate(plain["type"]) if kind != "DontCare"]

    assert boxes.summary == ("40,570 boxes on 7,481 images, 11,295 DontCare regions left out")
    assert train["type"] == [plain["type"][place] for place in kept]
    for side in ("left", "top", "right", "bottom"):
        assert train[side] == plain[side][kept].tolist()
    assert min(train["image_width"]) == 1224
