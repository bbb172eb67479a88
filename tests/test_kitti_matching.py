"""The matching that says which detections are wrong."""

import numpy as np

from kitti_matching import judge_detections, match_greedily, overlap
from sqrl import as_table


def test_the_surest_detection_takes_the_box_and_the_next_gets_none():
    """One labelled box makes one detection right, though both overlap it."""
    overlaps = np.array([[0.9, 0.2], [0.6, 0.55], [0.95, 0.0]])

    assert match_greedily(overlaps, np.array([0.5, 0.7, 0.9])).tolist() == [-1, 1, 0]
    assert match_greedily(overlaps[:, :0], np.array([0.5, 0.7, 0.9])).tolist() == [-1, -1, -1]


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
            "frame": [1, 2, 3, 4],
            "type": ["Car", "Car", "Pedestrian", "Cyclist"],
            "score": [0.9, 0.8, 0.7, 0.6],
            **{side: [value] * 4 for side, value in box.items()},
        }
    )
    truth = {
        "frame": np.array([1, 2, 3, 4]),
        "type": ["Car", "Van", "Car", "DontCare"],
        **{side: np.full(4, value) for side, value in box.items()},
    }
    wrong, forgiven = judge_detections(detections, truth)

    assert wrong.tolist() == [False, True, True, True]
    assert forgiven.tolist() == [False, True, False, True]
