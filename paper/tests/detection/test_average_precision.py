"""Average precision of found boxes, by COCO's own program, on cases worked out by hand."""

import math

import pytest
import torch

from sqrl_paper.detection.average_precision import average_precision
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.road_images import CLASSES, IGNORED, RoadImages

CAR, TRAM = CLASSES.index("Car"), CLASSES.index("Tram")
HERE, THERE = [0.0, 0.0, 10.0, 10.0], [40.0, 40.0, 60.0, 60.0]
HALF = 51 / 101  # of the 101 recalls that COCO asks for, up to one half


def truth(*rows, n_images=2):
    """Images with boxes: (image, label, box)."""
    return RoadImages(
        pixels=torch.zeros(n_images, 3, 64, 64, dtype=torch.uint8),
        boxes=torch.tensor([row[2] for row in rows]).reshape(-1, 4),
        labels=torch.tensor([row[1] for row in rows], dtype=torch.long),
        image=torch.tensor([row[0] for row in rows], dtype=torch.long),
        names=tuple(str(place) for place in range(n_images)),
        size=(64, 64),
        scale=1.0,
        shift=(0.0, 0.0),
    )


def found(*rows):
    """Boxes found: (image, label, box, score)."""
    return Found(
        image=torch.tensor([row[0] for row in rows], dtype=torch.long),
        place=torch.zeros(len(rows), dtype=torch.long),
        label=torch.tensor([row[1] for row in rows], dtype=torch.long),
        score=torch.tensor([row[3] for row in rows], dtype=torch.float32),
        logits=torch.zeros(len(rows), 1 + len(CLASSES)),
        box=torch.tensor([row[2] for row in rows], dtype=torch.float32).reshape(-1, 4),
    )


def test_the_truth_itself_is_perfect(capsys):
    """1 for each class that is there, no other class is named, and nothing is printed."""
    scores = average_precision(
        found((0, CAR, HERE, 0.9), (1, TRAM, THERE, 0.8)),
        truth((0, CAR, HERE), (1, TRAM, THERE)),
    )

    assert scores == pytest.approx(
        {"map": 1.0, "map50": 1.0, "map75": 1.0, "Car": 1.0, "Tram": 1.0}
    )
    assert capsys.readouterr().out == ""


def test_half_of_the_objects_found_is_half_of_the_recalls():
    """Two cars, one found: precision 1 up to a recall of 0.5, then 0."""
    scores = average_precision(
        found((0, CAR, HERE, 0.9), (1, CAR, HERE, 0.8)), truth((0, CAR, HERE), (0, CAR, THERE))
    )

    assert scores["Car"] == scores["map"] == pytest.approx(HALF)


def test_a_surer_mistake_halves_the_precision():
    """The mistake comes first, so that precision is 1/2 where the car is found."""
    scores = average_precision(
        found((0, CAR, HERE, 0.7), (1, CAR, HERE, 0.8)), truth((0, CAR, HERE), (0, CAR, THERE))
    )

    assert scores["Car"] == pytest.approx(HALF / 2)


def test_a_box_counts_up_to_its_overlap():
    """An overlap of 0.62 is enough for 0.5, 0.55 and 0.6, three of the ten."""
    scores = average_precision(found((0, CAR, [0, 0, 10, 6.2], 0.9)), truth((0, CAR, HERE)))

    assert scores == pytest.approx({"map": 0.3, "map50": 1.0, "map75": 0.0, "Car": 0.3})


def test_a_class_that_is_missed_counts_as_much_as_the_others():
    """The mean is over classes, not over boxes."""
    scores = average_precision(
        found((0, CAR, HERE, 0.9), (1, CAR, HERE, 0.9)),
        truth((0, CAR, HERE), (1, CAR, HERE), (1, TRAM, THERE)),
    )

    assert scores == pytest.approx(
        {"map": 0.5, "map50": 0.5, "map75": 0.5, "Car": 1.0, "Tram": 0.0}
    )


def test_what_is_found_in_an_ignored_region_does_not_count():
    """Of whatever class, and however often."""
    inside = [42.0, 42.0, 50.0, 50.0]
    boxes = truth((0, CAR, HERE), (0, TRAM, HERE), (0, IGNORED, THERE))
    right = ((0, CAR, HERE, 0.5), (0, TRAM, HERE, 0.5))
    beside = ((0, CAR, inside, 0.9), (0, CAR, inside, 0.8), (0, TRAM, inside, 0.9))

    assert average_precision(found(*right, *beside), boxes)["map"] == pytest.approx(1.0)


def test_nothing_found_is_nothing_won():
    """Zero, and no error."""
    assert average_precision(found(), truth((0, CAR, HERE)))["map"] == 0.0


def test_boxes_that_are_not_finite_are_not_found():
    """A model that came apart is worth zero, and does not stop the comparison."""
    broken = [math.nan, 0, 10, 10]
    only_nan = average_precision(found((0, CAR, broken, math.nan)), truth((0, CAR, HERE)))
    beside = average_precision(
        found((0, CAR, broken, 0.9), (0, CAR, HERE, 0.5)), truth((0, CAR, HERE))
    )

    assert only_nan["map"] == 0.0
    assert beside["map"] == pytest.approx(1.0)


def test_without_truth_there_is_no_number():
    """Not zero, which would say that something was missed."""
    scores = average_precision(found((0, CAR, HERE, 0.9)), truth((0, IGNORED, THERE)))

    assert list(scores) == ["map", "map50", "map75"]
    assert all(math.isnan(value) for value in scores.values())
