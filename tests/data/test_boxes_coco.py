"""COCO JSON: truth, results and Cityscapes' file, and what is refused."""

import gzip
import json

import pytest

import real_data
from made_boxes import as_lists, coco_results, coco_truth, road, write_folder, write_json
from sqrl import read_table
from sqrl.boxes import read_boxes
from sqrl.errors import LimitError, SqrlError

TRUTH_PAGE = "https://cocodataset.org/#format-data"
RESULTS_PAGE = "https://cocodataset.org/#format-results"
LINES = "rows of other kinds are read from JSON Lines (.jsonl)"


def truth(**changes):
    """Two images, of which one has a box and a crowd."""
    boxes = [
        {"image_id": 7, "category_id": 3, "bbox": [10, 20, 100.5, 60], "iscrowd": 0, "id": 1},
        {"image_id": 7, "category_id": 3, "bbox": [0, 0, 5, 5], "iscrowd": 1, "id": 2},
    ]
    whole = {
        "info": {"year": 2026},
        "images": [
            {"id": 7, "file_name": "a/7.png", "width": 640, "height": 480},
            {"id": 8, "file_name": "a/8.png", "width": 320, "height": 240},
        ],
        "annotations": boxes,
        "categories": [{"id": 3, "name": "traffic light", "supercategory": "outdoor"}],
    }
    return {**whole, **changes}


def refusal(path, **options):
    with pytest.raises(SqrlError) as caught:
        read_boxes(path, **options)
    return str(caught.value)


def says(what, where, fix):
    return f"{what}\n  where: {where}\n  fix:   {fix}"


def test_truth_gives_boxes_with_names_and_sizes(tmp_path):
    """A crowd is left out and counted; an image without boxes is still an image."""
    boxes = read_boxes(write_json(tmp_path / "truth.json", truth()))

    assert as_lists(boxes.table) == {
        "image": ["a/7.png"],
        "type": ["traffic light"],
        "left": [10.0],
        "top": [20.0],
        "right": [110.5],
        "bottom": [80.0],
        "image_width": [640.0],
        "image_height": [480.0],
    }
    assert as_lists(boxes.images)["image"] == ["a/7.png", "a/8.png"]
    assert boxes.summary == "1 box on 2 images, 1 crowd region left out"


def test_a_packed_file_is_the_same(tmp_path):
    """Cityscapes' file is large enough to be packed."""
    plain = write_json(tmp_path / "truth.json", coco_truth(road()))
    packed = tmp_path / "truth.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert read_table(packed).fingerprint() == read_table(plain).fingerprint()


def test_coco_and_kitti_are_the_same_boxes(tmp_path):
    """Up to the rounding of a side that is a sum, and the images' suffix."""
    kitti = as_lists(read_table(write_folder(tmp_path / "label_2", road())))
    coco = as_lists(read_table(write_json(tmp_path / "truth.json", coco_truth(road()))))

    assert coco["type"] == kitti["type"]
    assert coco["image"] == [f"{image}.png" for image in kitti["image"]]
    assert coco["right"] == pytest.approx(kitti["right"], abs=1e-9)


def test_results_take_names_and_sizes_from_the_truth(tmp_path):
    """They hold only numbers."""
    told = write_json(tmp_path / "truth.json", truth())
    found = [{"image_id": 8, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.75}]
    boxes = read_boxes(write_json(tmp_path / "results.json", found), images=told)

    assert as_lists(boxes.table) == {
        "image": ["a/8.png"],
        "type": ["traffic light"],
        "left": [1.0],
        "top": [2.0],
        "right": [4.0],
        "bottom": [6.0],
        "score": [0.75],
        "image_width": [320.0],
        "image_height": [240.0],
    }
    assert boxes.images.n_rows == 2


def test_results_without_the_truth_are_refused(tmp_path):
    """The error says what is missing."""
    path = write_json(tmp_path / "results.json", coco_results(coco_truth(road())))

    assert refusal(path) == says(
        "COCO results do not say how their images and classes are called.",
        path,
        "name the COCO file of truth that they belong to with images= (--images)",
    )


def test_results_as_the_truth_of_results_are_refused(tmp_path):
    """The file given as images must know them."""
    path = write_json(tmp_path / "results.json", coco_results(coco_truth(road())))

    assert refusal(path, images=path) == says(
        "The file is not JSON as COCO has it for truth: Expected `object`, got `array`.",
        path,
        f"see {TRUTH_PAGE}; {LINES}",
    )


def test_images_of_the_same_name_go_by_their_ids(tmp_path):
    """Boxes of two images are not mixed up."""
    images = [{"id": "x", "file_name": "1.png"}, {"id": "y", "file_name": "1.png"}]
    box = {"image_id": "y", "category_id": 3, "bbox": [0, 0, 1, 1]}
    path = write_json(tmp_path / "truth.json", truth(images=images, annotations=[box]))
    table = read_table(path)

    assert as_lists(table)["image"] == ["y"]
    assert "image_width" not in table


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Input data was truncated"),
        ("{}", "Object missing required field `images`"),
        ('{"images": [{"id": 1.5}]}', "Expected `int | str`, got `float` - at `$.images[0].id`"),
        (
            json.dumps(truth(annotations=[{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3]}])),
            "Expected `array` of length 4 - at `$.annotations[0].bbox`",
        ),
        (
            json.dumps(truth(annotations=[{"image_id": 7, "category_id": 3}])),
            "Object missing required field `bbox` - at `$.annotations[0]`",
        ),
        (
            '{"images": ' + "[" * 100_000,
            "Expected `object`, got `array` - at `$.images[0]`",
        ),
        (
            '{"info": ' + "[" * 100_000,
            "maximum recursion depth exceeded while deserializing an object",
        ),
    ],
)
def test_what_is_not_coco_is_refused_with_the_place(tmp_path, text, reason):
    """Damaged, of another kind, or made to exhaust the reader."""
    path = tmp_path / "truth.json"
    path.write_text(text)
    what = f"The file is not JSON as COCO has it for truth: {reason}."

    assert refusal(path) == says(what, path, f"see {TRUTH_PAGE}; {LINES}")


def test_rows_in_a_list_are_not_results(tmp_path):
    """A list of other records is told where such are read from."""
    path = write_json(tmp_path / "rows.json", [{"a": 1}])

    assert refusal(path) == says(
        "The file is not JSON as COCO has it for results: "
        "Object missing required field `image_id` - at `$[0]`.",
        path,
        f"see {RESULTS_PAGE}; {LINES}",
    )


def box(**changes):
    return {"image_id": 7, "category_id": 3, "bbox": [0, 0, 1, 1], **changes}


@pytest.mark.parametrize(
    ("boxes", "what", "place"),
    [
        ([box(image_id=9)], "There is no image with the id 9.", 0),
        ([box(), box(category_id="x")], "There is no category with the id 'x'.", 1),
        ([box(bbox=[0, 0, -1, 2])], "The box is -1 wide and 2 high.", 0),
        ([box(score=0.5), box()], "Some boxes have a score and others have none.", 1),
    ],
)
def test_boxes_that_fit_nothing_are_named(tmp_path, boxes, what, place):
    """By their place in the list."""
    path = write_json(tmp_path / "truth.json", truth(annotations=boxes))

    assert refusal(path) == says(what, f"{path}, annotations[{place}]", f"see {TRUTH_PAGE}")


def test_ids_that_stand_twice_are_refused(tmp_path):
    """It would not be known which of the two is meant."""
    twice = [{"id": 3, "name": "a"}, {"id": 3, "name": "b"}]
    path = write_json(tmp_path / "truth.json", truth(categories=twice))

    assert refusal(path) == says(
        "The id 3 occurs more than once in 'categories'.", path, "give each an id of its own"
    )


def test_a_packed_file_that_unpacks_to_too_much_is_refused(tmp_path):
    """Unpacking stops at the limit."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))

    with pytest.raises(LimitError) as caught:
        read_table(path, max_bytes=1000)
    assert str(caught.value) == says(
        "The file has 1,001 bytes or more, above the limit of 1,000.",
        path,
        "split the file, or make a Parquet file of its boxes",
    )


def test_the_file_of_cityscapes():
    """500 images of 2048 x 1024, with 9,792 boxes of eight classes."""
    root = real_data.folder("cityscapes")
    boxes = read_boxes(root / "instancesonly_filtered_gtFine_val.json.gz")

    assert boxes.summary == "9,792 boxes on 500 images, 0 crowd regions left out"
    assert set(as_lists(boxes.table)["image_width"]) == {2048.0}
    assert boxes.table["type"].distinct() == (
        *("bicycle", "bus", "car", "motorcycle", "person", "rider", "train", "truck"),
    )
