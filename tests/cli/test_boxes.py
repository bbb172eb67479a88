"""sqrl learn and check on files of boxes, as a person meets them."""

import json
from pathlib import Path

import pyarrow.csv
import pytest

from made_boxes import (
    coco_results,
    coco_truth,
    kitti_line,
    road,
    voc_labels,
    write_folder,
    write_frames,
    write_json,
    write_zip,
    yolo_labels,
)
from sqrl._data.formats import read_arrow

SCHEMA = """
label: type
coverage: 0.9
statistics: {width: right - left, aspect_ratio: width / (bottom - top)}
let: {Y: values(type)}
rules:
  - type = Y => ? <= aspect_ratio <= ?
  - type = Y => ? <= width <= ?
validate: false
"""
MANY = 80


@pytest.fixture
def labels(sqrl):
    """The same boxes as label_2, labels.zip and boxes.csv; wide.zip has boxes that are too wide."""
    write_folder("label_2", road(MANY))
    write_zip("labels.zip", road(MANY))
    pyarrow.csv.write_csv(read_arrow(Path("label_2")), "boxes.csv")
    write_zip("wide.zip", road(MANY, seed=1, wide=1.5, score=True), prefix="")
    Path("schema.yaml").write_text(SCHEMA)
    return sqrl


def rules_in(path):
    return json.loads(Path(path).read_text())["rules"]


def test_rules_are_the_same_from_a_folder_an_archive_and_a_csv(labels):
    """The source of boxes does not change what is learned."""
    told = {}
    for name in ("label_2", "labels.zip", "boxes.csv"):
        options = "--schema", "schema.yaml", "--unit", "image", "-o", f"{name}.json"
        outcome = labels("learn", name, *options)
        assert outcome.code == 0
        told[name] = outcome.err

    assert len(rules_in("label_2.json")) == 6
    assert rules_in("label_2.json") == rules_in("labels.zip.json") == rules_in("boxes.csv.json")
    n_boxes = len(Path("boxes.csv").read_text().splitlines()) - 1
    read = f"{n_boxes} boxes on 80 images, 20 DontCare regions left out"
    assert told == {
        name: f"{name}: {read}; sizes not known without --images\nwrote {name}.json\n"
        for name in ("label_2", "labels.zip")
    } | {"boxes.csv": "wrote boxes.csv.json\n"}


def test_checks_are_the_same_from_a_folder_an_archive_and_a_csv(labels):
    """Nor what is found broken."""
    labels("learn", "boxes.csv", "--schema", "schema.yaml")
    found = [
        labels("check", "rules.json", name, "--format", "json")
        for name in ("label_2", "labels.zip", "boxes.csv")
    ]

    assert [outcome.code for outcome in found] == [0, 0, 0]
    assert found[0].out == found[1].out == found[2].out
    assert json.loads(found[0].out)["violations"] > 0


def test_detections_that_break_rules_end_with_status_one(labels):
    """Boxes half as wide again as the labelled ones."""
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    outcome = labels("check", "rules.json", "wide.zip")

    assert outcome.code == 1
    assert "Broken beyond chance:\n  1  type = Car => " in outcome.out


def test_coco_results_are_checked_with_the_truth_that_they_belong_to(labels):
    """Results that equal the truth break what the truth breaks."""
    truth = coco_truth(road(MANY))
    write_json("truth.json", truth)
    write_json("results.json", coco_results(truth))
    labels("learn", "truth.json", "--schema", "boxes")
    of_truth = labels("check", "rules.json", "truth.json", "--format", "json")
    of_results = labels(
        *("check", "rules.json", "results.json", "--images", "truth.json", "--format", "json")
    )
    alone = labels("check", "rules.json", "results.json")

    assert of_truth.code == of_results.code == 0
    assert of_truth.out == of_results.out
    assert json.loads(of_truth.out)["n_rules"] > 20
    assert alone.code == 2
    assert alone.err == (
        "sqrl: COCO results do not say how their images and classes are called.\n"
        "  where: results.json\n"
        "  fix:   name the COCO file of truth that they belong to with images= (--images)\n"
    )


def test_rules_over_the_image_hold_for_another_camera(labels):
    """The same scenes with twice the resolution break rules in pixels, and none over the image."""
    files = road(MANY)
    doubled = {name: double(text) for name, text in files.items()}
    write_zip("doubled.zip", doubled)
    write_frames("one.csv", files)
    write_frames("two.csv", doubled, size=(2484, 750))
    labels("learn", "labels.zip", "--images", "one.csv", "--schema", "boxes", "-o", "share.json")
    labels("learn", "labels.zip", "--schema", "schema.yaml", "-o", "pixel.json")
    shares = labels("check", "share.json", "doubled.zip", "--images", "two.csv")
    pixels = labels("check", "pixel.json", "doubled.zip")

    assert (shares.code, pixels.code) == (0, 1)


def double(text):
    lines = [line.split() for line in text.splitlines()]
    return "\n".join(
        kitti_line(line[0], *(2 * float(side) for side in line[4:8])) for line in lines
    )


def test_rules_about_whole_images(labels):
    """How many boxes, how large the largest is, how much they overlap."""
    Path("images.yaml").write_text(
        "let: {A: [count, count_Van, largest_area]}\nrules: ['? <= A <= ?']\nvalidate: false\n"
        "coverage: 0.9\n"
    )
    files = {name: text + text for name, text in road(MANY, seed=5).items()}
    write_zip("twice.zip", {name: text.replace("Van", "Car") for name, text in files.items()})
    learned = labels("learn", "labels.zip", "--per-image", "--schema", "images.yaml")
    outcome = labels("check", "rules.json", "twice.zip", "--per-image", "--format", "json")
    found = json.loads(outcome.out)
    broken = {rule["text"].split(" <= ")[1]: rule["violations"] for rule in found["rules"]}

    assert learned.code == 0
    assert found["n_samples"] == MANY
    assert broken["count"] > 40
    assert broken["count_Van"] == 0  # none of them, though no box is a Van any more


def test_held_out_images_count_the_classes_of_the_others(labels):
    """A class that does not occur in them is there nought times."""
    few = {name: text.replace("Van", "Car") for name, text in road(MANY, seed=3).items()}
    write_zip("valid.zip", few)
    Path("images.yaml").write_text("let: {A: [count_Van]}\nrules: ['? <= A <= ?']\n")
    outcome = labels(
        *("learn", "labels.zip", "--valid", "valid.zip", "--per-image", "--schema", "images.yaml")
    )

    assert outcome.code == 0
    assert "80 rows to learn from, 80 held out" in outcome.out


def test_boxes_are_repaired_from_their_own_files(labels):
    """The output is a table with the columns that were read."""
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    outcome = labels("repair", "rules.json", "wide.zip", "--columns", "right", "-o", "new.csv")
    header = Path("new.csv").read_text().splitlines()[0]

    assert outcome.code == 0
    assert header == '"image","type","left","top","right","bottom","score"'


def test_a_reference_may_be_a_file_of_boxes(labels):
    """The labels are drawn behind the detections."""
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    outcome = labels(
        *("check", "rules.json", "wide.zip", "--reference", "labels.zip", "--report", "page.html")
    )

    assert outcome.code == 1
    assert '"behind":"reference: labels.zip"' in Path("page.html").read_text()


def test_damaged_labels_are_refused_with_status_two(labels):
    """With the file and the line."""
    write_zip("bad.zip", {"000003.txt": "Car 0.0 0"})
    outcome = labels("learn", "bad.zip", "--schema", "schema.yaml")

    assert outcome.code == 2
    assert outcome.err.startswith(
        "sqrl: The line has 3 fields: KITTI's have 15, or 16 with a score, and YOLO's 5, or 6 with "
        "a confidence.\n"
        "  where: bad.zip, training/label_2/000003.txt, line 1\n"
    )


def test_classes_by_other_names_are_checked_once_they_are_renamed(labels):
    """Small letters and a class that rules know as another one: what is found is the same."""
    other = {
        name: text.replace("Car", "car").replace("Van", "transporter")
        for name, text in road(MANY, seed=1, wide=1.5, score=True).items()
    }
    write_zip("other.zip", other, prefix="")
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    unnamed = labels("check", "rules.json", "other.zip", "--format", "json")
    names = ("--rename", "car=Car", "--rename", "transporter=Van")
    renamed = labels("check", "rules.json", "other.zip", *names, "--format", "json")
    known = labels("check", "rules.json", "wide.zip", "--format", "json")
    compared = labels("compare", "rules.json", "other.zip", "other.zip", *names)

    assert json.loads(unnamed.out)["violations"] < json.loads(known.out)["violations"]
    assert json.loads(renamed.out)["rules"] == json.loads(known.out)["rules"]
    assert compared.code == 0


def test_a_class_that_is_not_there_cannot_be_renamed(labels):
    """The nearest one is named; and only boxes have classes to rename."""
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    wrong = labels("check", "rules.json", "wide.zip", "--rename", "car=Cars")
    table = labels("check", "rules.json", "boxes.csv", "--rename", "Car=car")
    no_pair = labels("check", "rules.json", "wide.zip", "--rename", "Car")

    assert (wrong.code, table.code, no_pair.code) == (2, 2, 2)
    assert wrong.err.endswith(
        "sqrl: Unknown class 'car'.\n  where: wide.zip\n  fix:   did you mean 'Car'?\n"
    )
    assert table.err == (
        "sqrl: Classes are renamed in files of boxes, and this is none.\n"
        "  where: boxes.csv\n"
        "  fix:   leave out --rename\n"
    )
    assert "'Car' is not CLASS=NAME, such as car=Car." in no_pair.err


def test_results_without_boxes_are_refused(labels):
    """A detector that found nothing cannot be evaluated box by box."""
    labels("learn", "labels.zip", "--schema", "schema.yaml")
    write_zip("nothing.zip", {"000003.txt": ""})
    outcome = labels("check", "rules.json", "nothing.zip")

    assert outcome.code == 2
    assert outcome.err.endswith(
        "sqrl: The table has no rows.\n  where: nothing.zip\n  fix:   give data to check\n"
    )


def test_the_commands_of_the_page_are_there(labels):
    """Every option that docs/detection.md types is one of its command's."""
    page = (Path(__file__).parents[2] / "docs" / "detection.md").read_text()
    typed = [line.split("#")[0] for line in page.splitlines() if line.startswith("sqrl ")]
    for line in typed:
        known = labels(line.split()[1], "--help").out
        assert all(option in known for option in line.split() if option.startswith("--")), line

    assert len(typed) == 9


@pytest.mark.parametrize("name", ["yolo", "Annotations", "yolo.zip", "Annotations.zip"])
def test_yolo_and_voc_are_learned_from_and_checked(labels, name):
    """The rules are those of the same boxes in KITTI's files, and so is what is found."""
    write_frames("frames.csv", road(MANY))
    write = write_zip if name.endswith(".zip") else write_folder
    make = yolo_labels if name.startswith("yolo") else voc_labels
    write(name, make(road(MANY)))
    for source in ("label_2", name):
        learned = labels("learn", source, "--schema", "boxes", "-o", f"{source}.json")
        assert learned.code == 0
    wide = labels("check", f"{name}.json", "wide.zip", "--images", "frames.csv")
    same = labels("check", f"{name}.json", name)

    n_boxes = sum(len(text.splitlines()) for text in road(MANY).values()) - 20
    assert learned.err == f"{name}: {n_boxes} boxes on 80 images\nwrote {name}.json\n"
    kitti, mine = (
        [rule["text"].split()[:3] for rule in rules_in(f"{source}.json")]
        for source in ("label_2", name)
    )
    assert len(mine) > 20
    assert mine == kitti
    assert (wide.code, same.code) == (1, 0)


def test_boxes_in_shares_are_learned_from_and_checked(labels):
    """A schema is proposed; rules about pixels say which columns are missing."""
    files = yolo_labels(road(MANY))
    write_folder("found", files)
    learned = labels("learn", "found", "-o", "shares.json")
    checked = labels("check", "shares.json", "found")
    pixels = labels("learn", "found", "--schema", "detection")

    assert learned.code == checked.code == 0
    assert checked.err.startswith("found: ")
    assert "sizes not known without --images: sides are shares of the image" in checked.err
    assert pixels.code == 2
    assert (
        "sqrl: Unknown column 'right'.\n  where: detection, statistics.width, found\n" in pixels.err
    )
