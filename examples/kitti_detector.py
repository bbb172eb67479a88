"""A detector of cars and people whose boxes have the wrong shape.

Labels in KITTI's format tell how wide, how high and where boxes of each class are. A new version of
the detector squeezes images before it looks at them and forgets to scale boxes back: no score
shows it, and there are no labels of the new drive. Rules of shapes, learned from labels of other
images, say which boxes are off; set SQRL_DATA to check a real detector on KITTI instead.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import sqrl
from sqrl.boxes import read_boxes


def write_labels(folder, seed, squeeze=1.0):
    """Made-up label files of 300 images, ten boxes each, as KITTI writes them."""
    folder.mkdir()
    made = sqrl.demo_table(3000, seed=seed)
    kinds = np.array(made["type"].categories)[made["type"].values]
    sides = np.column_stack([made[side].values for side in ("left", "top", "right", "bottom")])
    sides[:, [0, 2]] *= squeeze
    lines = [
        f"{kind} 0 0 0 {' '.join(map(str, box.round(2)))} 0 0 0 0 0 0 0\n"
        for kind, box in zip(kinds, sides, strict=True)
    ]
    for image in range(300):
        (folder / f"{image:06}.txt").write_text("".join(lines[10 * image : 10 * image + 10]))
    return read_boxes(folder).table


if "SQRL_DATA" in os.environ:
    kitti = Path(os.environ["SQRL_DATA"], "kitti")
    frames = (kitti / "ImageSets" / "train.txt").read_text().split()
    labels = read_boxes(kitti / "data_object_label_2.zip").on(frames).table
    detections = pa.csv.read_csv(kitti / "detections_rgb_val.csv.gz")
    detections = detections.rename_columns({"frame": "image"})
else:
    folder = Path(tempfile.mkdtemp())
    labels = write_labels(folder / "labels", seed=0)
    detections = write_labels(folder / "detections", seed=1, squeeze=0.85)

schema = {
    "label": "type",
    "unit": "image",
    "statistics": {"aspect_ratio": "(right - left) / (bottom - top)", "height": "bottom - top"},
    "let": {"Y": ["Car", "Pedestrian", "Cyclist"], "A": ["aspect_ratio", "height", "bottom"]},
    "rules": ["type = Y => ? <= A <= ?", "type = Y => ? <= mean(A) <= ? over 32 units"],
}
rules = sqrl.learn(labels, schema)
found = sqrl.check(rules, detections)
print(found)
print(*found.findings(), sep="\n")

if len(sys.argv) > 1:  # the report page, if a file is named for it
    sqrl.write_report(found, sys.argv[1], reference=labels, title="Boxes of the new detector")
