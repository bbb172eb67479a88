"""Statistics of a box and of all boxes of an image, against values worked out by hand."""

import numpy as np
import pytest

import sqrl
from made_boxes import as_lists, road, write_folder, write_frames
from sqrl import as_table
from sqrl.boxes import _statistics, box_statistics, image_statistics, overlap, read_boxes, sides_of
from sqrl.errors import DataError

ONE = as_table(
    {
        "left": [100.0],
        "top": [50.0],
        "right": [300.0],
        "bottom": [150.0],
        "image_width": [1000.0],
        "image_height": [500.0],
    }
)
SIX = ("width", "height", "aspect_ratio", "area", "x_center", "y_bottom")


def of(table, over):
    found = box_statistics(table, over=over)
    return {name: found[name].values.tolist()[0] for name in SIX}


def test_statistics_in_pixels():
    """A box of 200 x 100 around the point 200, 100."""
    assert of(ONE, "pixels") == {
        "width": 200.0,
        "height": 100.0,
        "aspect_ratio": 2.0,
        "area": 20000.0,
        "x_center": 200.0,
        "y_bottom": 150.0,
    }


def test_statistics_over_the_size_of_the_image():
    """Shares of 1000 x 500 pixels; the aspect ratio is the object's, whatever the image's."""
    assert of(ONE, "image") == pytest.approx(
        {
            "width": 0.2,
            "height": 0.2,
            "aspect_ratio": 2.0,
            "area": 0.04,
            "x_center": 0.2,
            "y_bottom": 0.3,
        }
    )


def test_both_schemas_speak_of_the_same_statistics():
    """So that rules in pixels and over the image can be compared."""
    pixels, image = sqrl.load_schema("detection"), sqrl.load_schema("boxes")

    assert set(pixels.statistics) == set(image.statistics) == set(SIX)
    assert pixels.rules == image.rules
    assert (pixels.let["A"], pixels.let["B"]) == (image.let["A"], image.let["B"])


def test_without_sizes_there_are_no_shares_of_the_image():
    """The error says where they would come from."""
    table = as_table({name: ONE[name].values for name in ("left", "top", "right", "bottom")})
    table = table.with_columns({"image": [1], "type": ["Car"]})
    for make in (box_statistics, image_statistics):
        with pytest.raises(DataError) as caught:
            make(table, over="image")

        assert str(caught.value) == (
            "The sizes of the images are not known.\n  where: dict\n"
            "  fix:   read the boxes with images=, a CSV of image, image_width and image_height"
        )


def test_a_box_without_height_has_no_aspect_ratio():
    """Rules pass over what is undefined."""
    flat = as_table({"left": [0.0], "top": [5.0], "right": [9.0], "bottom": [5.0]})
    found = box_statistics(flat)

    assert np.isnan(found["aspect_ratio"].values).all()
    assert found["area"].values.tolist() == [0.0]


SCENE = as_table(
    {
        "image": ["b", "a", "a", "a", "c"],
        "type": ["Van", "Car", "Car", "Van", "Car"],
        "left": [0, 0, 1, 0, 0],
        "top": [0, 0, 0, 0, 0],
        "right": [10, 2, 3, 2, 4],
        "bottom": [10, 2, 2, 2, 5],
        "image_width": [100, 10, 10, 10, 20],
        "image_height": [50, 10, 10, 10, 20],
    }
)


def test_statistics_of_an_image_by_hand():
    """In image a two boxes are equal, and each shares a third of what it covers with the other."""
    found = as_lists(image_statistics(SCENE))

    assert found["image"] == ["b", "a", "c"]
    assert found["count"] == [1, 3, 1]
    assert found["count_Car"] == [0, 2, 1]
    assert found["count_Van"] == [1, 1, 0]
    assert found["largest_area"] == [100, 4, 20]
    assert found["most_overlap"] == pytest.approx([np.nan, 1.0, np.nan], nan_ok=True)
    mean = (1 + 1 / 3 + 1 / 3) / 3
    assert found["mean_overlap"] == pytest.approx([np.nan, mean, np.nan], nan_ok=True)


def test_the_largest_as_a_share_of_the_image():
    """100 of 5000 pixels, 4 of 100, 20 of 400."""
    found = as_lists(image_statistics(SCENE, over="image"))

    assert found["largest_area"] == pytest.approx([0.02, 0.04, 0.05])


def test_images_without_boxes_and_classes_that_do_not_occur_are_counted(tmp_path):
    """None are nought; the largest of none is missing."""
    files = {"000000.txt": "", **{name: text for name, text in road(2).items() if "1" in name}}
    boxes = read_boxes(write_folder(tmp_path / "label_2", files))
    found = as_lists(image_statistics(boxes.table, images=boxes.images, classes=["Car", "Tram"]))

    assert found["image"] == ["000000", "000001"]
    assert found["count"] == [0, boxes.table.n_rows]
    assert found["count_Tram"] == [0, 0]
    assert np.isnan(found["largest_area"]).tolist() == [True, False]
    assert list(found)[2:4] == ["count_Car", "count_Tram"]


def test_images_that_lost_their_zeros_are_found_again():
    """A CSV reader makes numbers of KITTI's names."""
    boxes = as_table({**as_lists(SCENE), "image": [1, 2, 2, 2, 3]})
    images = as_table({"image": ["000001", "000002", "000003", "000004"]})
    found = as_lists(image_statistics(boxes, images=images))

    assert found["image"] == ["000001", "000002", "000003", "000004"]
    assert found["count"] == [1, 3, 1, 0]


def test_no_boxes_at_all(tmp_path):
    """A detector that found nothing."""
    boxes = read_boxes(write_folder(tmp_path / "results", {"1.txt": "", "2.txt": ""}))
    found = as_lists(image_statistics(boxes.table, images=boxes.images, classes=["Car"]))

    assert (found["count"], found["count_Car"]) == ([0, 0], [0, 0])


def test_overlaps_in_parts_are_those_of_plain_loops(tmp_path, monkeypatch):
    """An image with very many boxes is worked off a few rows at a time."""
    labels = write_folder(tmp_path / "label_2", road(3, seed=4))
    write_frames(tmp_path / "frames.csv", road(3))
    table = read_boxes(labels).table
    monkeypatch.setattr(_statistics, "AT_ONCE", 20)
    found = as_lists(image_statistics(table))
    sides, image = sides_of(table), as_lists(table)["image"]
    for name, most, mean in zip(
        found["image"], found["most_overlap"], found["mean_overlap"], strict=True
    ):
        here = [row for row in range(len(image)) if image[row] == name]
        pairs = [plain_overlap(sides[a], sides[b]) for a in here for b in here if a < b]

        assert most == pytest.approx(max(pairs))
        assert mean == pytest.approx(sum(pairs) / len(pairs))


def plain_overlap(one, other):
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    both = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return wide * high / (sum(both) - wide * high)


def test_boxes_without_an_area_do_not_overlap():
    """Nothing over nothing is not a number; here it is no overlap."""
    point = np.array([[1.0, 1.0, 1.0, 1.0]])

    assert overlap(point, point).tolist() == [[0.0]]
