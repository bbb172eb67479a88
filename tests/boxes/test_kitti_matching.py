"""The matching that says which detections are wrong."""

import numpy as np

from sqrl import as_table
from sqrl.boxes import KITTI_ALIKE, Boxes, evaluate_boxes, match_boxes, overlap


def test_the_surest_detection_takes_the_box_and_the_next_gets_none():
    """One labelled box makes one detection right, though both overlap it."""
    overlaps = np.array([[0.9, 0.2], [0.6, 0.55], [0.95, 0.0]])

    assert match_boxes(overlaps, np.array([0.5, 0.7, 0.9])).tolist() == [-1, 1, 0]
    assert match_boxes(overlaps[:, :0], np.array([0.5, 0.7, 0.9])).tolist() == [-1, -1, -1]


def test_overlap_is_over_the_union_or_over_the_first_box():
    """A box of 2 x 2 half inside one of 2 x 4."""
    one, other = np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 4]])

    assert overlap(one, other)[0, 0] == 2 / 10
    assert overlap(one, other, of_first=True)[0, 0] == 0.5


def test_frames_and_classes_are_kept_apart():
    """Right is a box of the same frame and class; a van taken for a car is forgiven."""
    box = {"left": 0.0, "top": 0.0, "right": 10.0, "bottom": 10.0}
    detections = as_table(
        {
            "image": [1, 2, 3, 4],
            "type": ["Car", "Car", "Pedestrian", "Cyclist"],
            "score": [0.9, 0.8, 0.7, 0.6],
            **{side: [value] * 4 for side, value in box.items()},
        }
    )
    labels = as_table(
        {
            "image": ["000001", "000002", "000003"],
            "type": ["Car", "Van", "Car"],
            **{side: [value] * 3 for side, value in box.items()},
        }
    )
    regions = as_table(
        {"image": ["000004"], "type": ["DontCare"], **{side: [v] for side, v in box.items()}}
    )
    images = as_table({"image": ["000001", "000002", "000003", "000004"]})
    truth = Boxes(labels, images, regions, "DontCare")
    wrong, forgiven = evaluate_boxes(detections, truth, alike=KITTI_ALIKE)

    assert wrong.tolist() == [False, True, True, True]
    assert forgiven.tolist() == [False, True, False, True]
