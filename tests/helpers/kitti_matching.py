"""KITTI's labelled boxes by split, and a detector's boxes."""

from pathlib import Path

import sqrl
from sqrl.boxes import read_boxes

CLASSES = ("Car", "Pedestrian", "Cyclist")


def labelled_boxes(root, split):
    """The boxes labelled in the train or val frames, and the regions that nobody labelled."""
    frames = (Path(root) / "ImageSets" / f"{split}.txt").read_text().split()
    return read_boxes(Path(root) / "data_object_label_2.zip").on(frames)


def detected_boxes(root, split="val"):
    """The RGB detector's boxes: image, type, score and sides."""
    table = sqrl.read_table(Path(root) / f"detections_rgb_{split}.csv.gz")
    return table.with_columns({"image": table["frame"].values})
