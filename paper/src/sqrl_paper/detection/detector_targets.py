"""What a detector should say at each place, and how far it is from that."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from sqrl_paper.detection.detector import STRIDES

BACKGROUND, UNCOUNTED = 0, -1
LONGEST = 8.0  # strides of a box on a grid; a longer one is on the next, the last has the rest
INNER = 0.3  # of a box's width and height to each side of its centre, where places speak for it
MOST_STRIDES = 1.5  # which that is at most; it is at least half a stride, so that one place does
FOCUS = 2.0  # the power in the focal loss


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The class at each place, one more than its place in CLASSES, and the box of the object.

    Shapes: label (n, places), BACKGROUND or UNCOUNTED where there is no object; box (n, places, 4).
    """

    label: Tensor
    box: Tensor


def find_targets(
    boxes: Tensor, labels: Tensor, image: Tensor, places: Tensor, *, n_images: int
) -> Targets:
    """What should be said at each of `places`, given the boxes on `n_images` images.

    Places near the centre of a box speak for it, on the grid that fits its size; where boxes
    compete the smallest wins. Elsewhere in an ignored region nothing is asked.
    Shapes: boxes (m, 4), labels and image (m,), places (p, 3) as from `places_of`.
    """
    label = torch.full((n_images, len(places)), BACKGROUND, dtype=torch.long)
    target = torch.zeros(n_images, len(places), 4)
    ignored, counted = (labels < 0).nonzero()[:, 0], (labels >= 0).nonzero()[:, 0]
    inside = ((places[:, :2] >= boxes[:, None, :2]) & (places[:, :2] <= boxes[:, None, 2:])).all(-1)
    for row in ignored.tolist():
        label[image[row], inside[row]] = UNCOUNTED
    speaks = _speaks(boxes, places)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    for row in counted[area[counted].argsort(descending=True, stable=True)].tolist():
        label[image[row], speaks[row]] = 1 + labels[row]
        target[image[row], speaks[row]] = boxes[row]
    return Targets(label, target)


def detection_loss(out: tuple[Tensor, Tensor], targets: Targets) -> Tensor:
    """The focal loss of all classes and the loss of boxes where objects are, for each such place.

    Lin et al., "Focal Loss for Dense Object Detection" (2017), with a softmax over the classes.
    """
    logits, boxes = out
    is_object, is_counted = targets.label > BACKGROUND, targets.label != UNCOUNTED
    n_objects = is_object.sum().clamp(min=1)
    log_chance = log_softmax(logits[is_counted], -1)
    log_chance = log_chance.gather(1, targets.label[is_counted][:, None])[:, 0]
    of_class = -(((1 - log_chance.exp()) ** FOCUS) * log_chance).sum() / n_objects
    overlaps = generalised_overlap(boxes[is_object], targets.box[is_object])
    return of_class + (1 - overlaps).sum() / n_objects


def generalised_overlap(boxes: Tensor, others: Tensor) -> Tensor:
    """The intersection over union of each pair, less the share of the hull that is in neither.

    Rezatofighi et al. (2019); 1 for equal boxes, near -1 far apart. Shapes: (k, 4), result (k,).

    >>> generalised_overlap(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 0, 3, 2]])).item()
    0.3333333432674408
    """
    inner = _area(
        torch.maximum(boxes[:, :2], others[:, :2]), torch.minimum(boxes[:, 2:], others[:, 2:])
    )
    hull = _area(
        torch.minimum(boxes[:, :2], others[:, :2]), torch.maximum(boxes[:, 2:], others[:, 2:])
    )
    union = _area(boxes[:, :2], boxes[:, 2:]) + _area(others[:, :2], others[:, 2:]) - inner
    tiny = 1e-6
    return inner / union.clamp(min=tiny) - (hull - union) / hull.clamp(min=tiny)


def _area(low: Tensor, high: Tensor) -> Tensor:
    return (high - low).clamp(min=0).prod(-1)


def _speaks(boxes: Tensor, places: Tensor) -> Tensor:
    """Which places speak for which box. Shapes: result (m, p)."""
    sides = boxes[:, 2:] - boxes[:, :2]
    limits = torch.tensor([LONGEST * stride for stride in STRIDES[:-1]])
    grid = torch.bucketize(sides.amax(-1), limits)
    stride = torch.tensor(STRIDES, dtype=boxes.dtype)[grid]
    reach = torch.minimum(sides * INNER, MOST_STRIDES * stride[:, None])
    reach = torch.maximum(reach, stride[:, None] / 2)
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    is_near = ((places[None, :, :2] - centre[:, None]).abs() <= reach[:, None]).all(-1)
    return is_near & (places[None, :, 2] == stride[:, None])
