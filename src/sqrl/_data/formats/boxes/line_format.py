"""is_yolo: whether lines of .txt files are YOLO's or KITTI's, by what the first of them holds."""

from sqrl._data.formats.boxes.label_files import LabelFiles
from sqrl.errors import DataError

KITTI_FIELDS = (15, 16)  # the second with a score
YOLO_FIELDS = (5, 6)  # the second with a confidence
KITTI_LINE = (
    "type truncated occluded alpha left top right bottom and 7 more numbers, then a score if it is "
    "a detection"
)
YOLO_LINE = "class x_center y_center width height in shares of the image, then a confidence"
FIX = f"a line of KITTI's is: {KITTI_LINE}; a line of YOLO's is: {YOLO_LINE} if it is a detection"


def is_yolo(found: LabelFiles) -> bool:
    """Whether the lines are YOLO's; where there is none at all, names of classes tell."""
    for file in found.files:
        for number, fields in file.lines(FIX):
            if len(fields) in KITTI_FIELDS + YOLO_FIELDS:
                return len(fields) in YOLO_FIELDS
            raise DataError(
                f"The line has {len(fields)} {'field' if len(fields) == 1 else 'fields'}: KITTI's "
                "have 15, or 16 with a score, and YOLO's 5, or 6 with a confidence.",
                where=f"{file.where}, line {number}",
                fix=FIX,
            )
    return found.names is not None
