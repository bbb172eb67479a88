"""KITTI's labelled boxes by frame, a detector's boxes, and which of these are right."""

import zipfile
from pathlib import Path

import numpy as np

import sqrl

SIDES = ("left", "top", "right", "bottom")
CLASSES = ("Car", "Pedestrian", "Cyclist")
ALIKE = {"Car": "Van", "Pedestrian": "Person_sitting"}  # what KITTI's own evaluation forgives


def labelled_boxes(root, split):
    """The labelled boxes of the train or val frames: frame, type and sides as columns."""
    root = Path(root)
    frames, kinds, boxes = [], [], []
    with zipfile.ZipFile(root / "data_object_label_2.zip") as archive:
        for frame in (root / "ImageSets" / f"{split}.txt").read_text().split():
            for line in archive.read(f"training/label_2/{frame}.txt").decode().splitlines():
                parts = line.split()
                frames.append(int(frame))
                kinds.append(parts[0])
                boxes.append([float(part) for part in parts[4:8]])
    columns = np.array(boxes).T
    return {"frame": np.array(frames), "type": kinds, **dict(zip(SIDES, columns, strict=True))}


def detected_boxes(root, split="val"):
    """The RGB detector's boxes: frame, type, score and sides."""
    return sqrl.read_table(Path(root) / f"detections_rgb_{split}.csv.gz")


def overlap(boxes, others, *, of_first=False):
    """The intersection over union of each box with each other one, or over the box alone.

    >>> overlap(np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 2], [5, 5, 6, 6]])).tolist()
    [[0.3333333333333333, 0.0]]
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    inner = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(b[:, 2:] - b[:, :2], 0, None).prod(axis=1) for b in (boxes, others)]
    whole = areas[0][:, None] + (0 if of_first else areas[1][None, :] - inner)
    return np.divide(inner, whole, out=np.zeros_like(inner, float), where=whole > 0)


def match_greedily(overlaps, score, at_least=0.5):
    """For each detection the truth it is matched to, or -1: the surest detection chooses first."""
    matched = np.full(len(overlaps), -1)
    free = np.ones(overlaps.shape[1], bool)
    for index in np.argsort(-score, kind="stable"):
        best = np.where(free, overlaps[index], -1.0)
        if best.size and best.max() >= at_least:
            matched[index] = best.argmax()
            free[matched[index]] = False
    return matched


def judge_detections(detections, truth, at_least=0.5):
    """Which detections are wrong, and which of those KITTI's own evaluation would forgive.

    Right is a box that takes a labelled box of its frame and class. Forgiven is one on a region
    that nobody labelled ("DontCare"), or on a class much like its own.
    """
    kind = np.array(detections["type"].categories)[detections["type"].values]
    boxes = np.stack([detections[side].values for side in SIDES], axis=1)
    score = detections["score"].values
    true_kind = np.array(truth["type"])
    true_boxes = np.stack([truth[side] for side in SIDES], axis=1)
    wrong, forgiven = np.ones(len(kind), bool), np.zeros(len(kind), bool)
    labelled = _by_frame(truth["frame"])
    for frame, found in _by_frame(detections["frame"].values.astype(int)).items():
        here = labelled.get(frame, np.empty(0, int))
        ignored = true_boxes[here[true_kind[here] == "DontCare"]]
        for name in CLASSES:
            mine = found[kind[found] == name]
            true = true_boxes[here[true_kind[here] == name]]
            alike = true_boxes[here[true_kind[here] == ALIKE.get(name)]]
            wrong[mine] = match_greedily(overlap(boxes[mine], true), score[mine], at_least) < 0
            near = overlap(boxes[mine], alike).max(axis=1, initial=0.0) >= at_least
            near |= overlap(boxes[mine], ignored, of_first=True).max(axis=1, initial=0.0) >= 0.5
            forgiven[mine] = near & wrong[mine]
    return wrong, forgiven


def _by_frame(frame):
    """The rows of each frame."""
    order = np.argsort(frame, kind="stable")
    names, starts = np.unique(frame[order], return_index=True)
    return dict(zip(names.tolist(), np.split(order, starts[1:]), strict=True))
