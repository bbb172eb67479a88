"""train_detector: the source model, trained on the images of KITTI's train part alone.

What comes out of the first layers, which stay as ImageNet left them, is computed once for a few
views of each image and kept in memory: that would be a third of the work of every step.
"""

import hashlib
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sqrl_paper.detection.average_precision import average_precision
from sqrl_paper.detection.detector import Detector, Size, make_detector, places_of
from sqrl_paper.detection.detector_targets import Targets, detection_loss, find_targets
from sqrl_paper.detection.detector_views import draw_view
from sqrl_paper.detection.found_boxes import find_all
from sqrl_paper.detection.road_images import RoadImages
from sqrl_paper.shared.checkpoints import load_or_train
from sqrl_paper.shared.training import Track, keep_best

AT_ONCE = 8  # images, where nothing is trained
LONGEST_GRADIENT = 5.0
MOST_VIEWS = 1000  # so that no two seeds share a view


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorTraining:
    """How a detector is trained: as long as a bench has time for.

    The size of mini-batches was chosen on the tenth of the train images that is held out, after one
    pass; the rest is usual and was not compared.
    """

    size: Size = "lite0"
    n_views: int = 3  # of each image
    epochs: int = 3  # each over all views
    batch: int = 4
    lr: float = 2e-3  # of pyramid and head at its highest; it rises from and falls to zero
    lr_features: float = 4e-4
    weight_decay: float = 1e-4
    held_out: float = 0.1  # the share of images by which the best epoch is chosen


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """What the first layers made of images, as halves, and what is to be said of them."""

    values: Tensor
    targets: Targets


def train_detector(
    images: RoadImages,
    *,
    seed: int,
    training: DetectorTraining | None = None,
    cache: Path | None = None,
    track: Track | None = None,
) -> Detector:
    """The detector after the epoch whose average precision on the held-out images was best.

    The weights are kept in `cache`, by default a folder of the user's, and trained once.
    """
    how = training or DetectorTraining()
    detector = make_detector(how.size, seed=seed)

    def train(untrained: nn.Module) -> dict[str, list[float]]:
        assert isinstance(untrained, Detector)
        return {"errors": _train(untrained, images, how, seed, track)}

    key = {"images": _fingerprint(images), "training": asdict(how), "seed": seed}
    load_or_train(detector, train, name="detector", key=key, folder=cache)
    return detector.eval()


def split_held_out(n: int, share: float, *, seed: int) -> tuple[Tensor, Tensor]:
    """Which of `n` images are trained on and which are held out, at least one of each.

    >>> [len(part) for part in split_held_out(514, 0.1, seed=0)]
    [463, 51]
    """
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    n_held_out = min(max(1, round(n * share)), n - 1)
    return order[n_held_out:], order[:n_held_out]


def _train(
    detector: Detector, images: RoadImages, how: DetectorTraining, seed: int, track: Track | None
) -> list[float]:
    """One less the average precision on the held-out images after each epoch."""
    ours, held_out = split_held_out(len(images), how.held_out, seed=seed)
    valid, mine, views = images.take(held_out), images.take(ours), []
    for view in range(how.n_views):
        views.append(_through_stem(detector, draw_view(mine, seed=seed * MOST_VIEWS + view)))
        if track is not None:
            track("features", view + 1, how.n_views)
    n_steps = -(-len(mine) // how.batch) * how.n_views * how.epochs
    optimizer = torch.optim.AdamW(_groups(detector, how), weight_decay=how.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        [group["lr"] for group in optimizer.param_groups],
        total_steps=n_steps,
        pct_start=0.1,
        cycle_momentum=False,
    )
    return keep_best(
        detector,
        lambda: _train_epoch(detector, views, optimizer, schedule, how.batch),
        lambda: 1 - _precision(detector, valid),
        epochs=how.epochs,
        patience=how.epochs,
        seed=seed,
        track=track,
    )


def _through_stem(detector: Detector, images: RoadImages) -> _View:
    """The images after the first layers, with what is to be said at each place."""
    height, width = images.pixels.shape[-2:]
    places = places_of(width, height)
    values, labels, boxes = [], [], []
    for rows in torch.split(torch.arange(len(images)), AT_ONCE):
        part = images.take(rows)
        with torch.no_grad():
            values.append(detector.features.stem(part.pixels).half())
        asked = find_targets(part.boxes, part.labels, part.image, places, n_images=len(part))
        labels.append(asked.label)
        boxes.append(asked.box)
    return _View(torch.cat(values), Targets(torch.cat(labels), torch.cat(boxes)))


def _train_epoch(
    detector: Detector,
    views: list[_View],
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    size: int,
) -> None:
    detector.train()
    detector.features.eval()  # its statistics are ImageNet's, better than those of a few images
    for view in views:
        for rows in torch.split(torch.randperm(len(view.values)), size):
            optimizer.zero_grad()
            targets = Targets(view.targets.label[rows], view.targets.box[rows])
            loss = detection_loss(detector.from_stem(view.values[rows].float()), targets)
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(detector.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            schedule.step()


def _precision(detector: Detector, valid: RoadImages) -> float:
    """The mean average precision on the held-out images; 0 if no object is on them."""
    detector.eval()
    reached = average_precision(find_all(detector, valid.pixels), valid)["map"]
    return 0.0 if math.isnan(reached) else reached


def _groups(detector: Detector, how: DetectorTraining) -> list[dict[str, Any]]:
    """Features learn more slowly, and biases and normalisations are not pulled towards zero."""
    groups = []
    ours = [*detector.pyramid.parameters(), *detector.head.parameters()]
    for parameters, lr in ((list(detector.features.parameters()), how.lr_features), (ours, how.lr)):
        for is_pulled in (True, False):
            chosen = [p for p in parameters if (p.ndim >= 2) == is_pulled]
            groups.append(
                {"params": chosen, "lr": lr} | ({} if is_pulled else {"weight_decay": 0.0})
            )
    return groups


def _fingerprint(images: RoadImages) -> str:
    """Hex digits that change with any pixel, box or label."""
    digest = hashlib.sha256()
    for part in (images.pixels, images.boxes, images.labels, images.image):
        digest.update(f"{part.dtype} {tuple(part.shape)}".encode())
        digest.update(part.contiguous().numpy().data)
    return digest.hexdigest()
