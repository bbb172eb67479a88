"""The detector of the detection task: its places, boxes, targets, loss, views and training."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from sqrl_paper.detection import detector_views as views
from sqrl_paper.detection.average_precision import average_precision
from sqrl_paper.detection.detector import make_detector, places_of
from sqrl_paper.detection.detector_targets import (
    Targets,
    detection_loss,
    find_targets,
    generalised_overlap,
)
from sqrl_paper.detection.detector_training import DetectorTraining, split_held_out, train_detector
from sqrl_paper.detection.found_boxes import find_all, find_boxes
from sqrl_paper.detection.road_images import CLASSES, IGNORED, RoadImages
from sqrl_paper.shared.efficientnet_lite import load_efficientnet_lite0

N_LOGITS = 1 + len(CLASSES)
CAR, PEDESTRIAN = CLASSES.index("Car"), CLASSES.index("Pedestrian")


def red_cars(n=12, *, height=64, width=96):
    """Images with one red block each, which is a Car, on grey noise."""
    generator = torch.Generator().manual_seed(0)
    size = (n, 3, height, width)
    pixels = torch.randint(100, 150, size, generator=generator, dtype=torch.uint8)
    left = torch.randint(0, width - 36, (n,), generator=generator).tolist()
    top = torch.randint(0, height - 30, (n,), generator=generator).tolist()
    for image, x, y in zip(pixels, left, top, strict=True):
        image[:, y : y + 30, x : x + 36] = torch.tensor([250, 10, 10]).byte()[:, None, None]
    boxes = [[x, y, x + 36, y + 30] for x, y in zip(left, top, strict=True)]
    return RoadImages(
        pixels=pixels,
        boxes=torch.tensor(boxes, dtype=torch.float32),
        labels=torch.full((n,), CAR),
        image=torch.arange(n),
        names=tuple(str(place) for place in range(n)),
        size=(width, height),
        scale=1.0,
        shift=(0.0, 0.0),
    )


def output(*places):
    """A detector's output for one image: (class, logit, box) at each place."""
    logits = torch.zeros(1, len(places), N_LOGITS)
    for place, (label, logit, _) in enumerate(places):
        logits[0, place, 1 + label] = logit
    return logits, torch.tensor([[box for _, _, box in places]], dtype=torch.float32)


def test_places_are_the_middles_of_cells_from_fine_to_coarse():
    """32 x 64 pixels have 4 x 8 cells of 8 pixels, 2 x 4 of 16 and 1 x 2 of 32."""
    places = places_of(64, 32)

    assert len(places) == 32 + 8 + 2
    assert places[:2].tolist() == [[4, 4, 8], [12, 4, 8]]
    assert places[-2:].tolist() == [[16, 16, 32], [48, 16, 32]]


def test_a_box_lies_around_its_place():
    """Moved by no stride and e strides wide, as long as nothing is learned."""
    detector = make_detector("tiny", seed=0)
    nn.init.zeros_(detector.head.moves.weight)
    _, boxes = detector(torch.zeros(1, 3, 32, 64))

    half = math.e * 8 / 2
    torch.testing.assert_close(boxes[0, 0], torch.tensor([4 - half, 4 - half, 4 + half, 4 + half]))
    assert (boxes[0, -1, 2] - boxes[0, -1, 0]).item() == pytest.approx(math.e * 32, rel=1e-5)


def test_an_object_is_rare_before_training():
    """Else the loss of the many places without one would drown the others."""
    logits, _ = make_detector("tiny", seed=0)(torch.zeros(1, 3, 32, 64))

    assert logits.softmax(-1)[..., 1:].sum(-1).mean().item() == pytest.approx(0.01, rel=0.2)


def test_the_detector_is_drawn_by_the_seed_alone():
    """Torch's own random state is left as it was."""
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (make_detector("tiny", seed=seed) for seed in (0, 0, 1))

    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [model.head.of_class[0].mix.weight for model in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_the_features_are_those_of_efficientnet():
    """The blocks up to a stride of 32 with ImageNet's weights, the last of them left out."""
    detector, whole = make_detector(seed=0), load_efficientnet_lite0()
    pixels = torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8)
    seen = []
    for place in (4, 10, 14):
        whole.blocks[place].register_forward_hook(lambda _, __, made: seen.append(made))
    with torch.no_grad():
        whole(pixels)
        features = detector.features.rest(detector.features.stem(pixels))

    for own, theirs in zip(features, seen, strict=True):
        torch.testing.assert_close(own, theirs)


def test_found_boxes_pass_gradients_to_every_normalisation():
    """Both by their logits and by their sides, or nothing could be adapted by them."""
    detector = make_detector("tiny", seed=0)
    out = detector(red_cars(2).pixels)
    found = find_boxes(out, least_score=0.0)
    (found.logits.square().sum() + found.box.square().sum()).backward()
    norms = [m for m in detector.modules() if isinstance(m, nn.BatchNorm2d)]

    assert len(norms) == 5 + 3 + 3 + 2 * 2 * 3
    assert all(norm.weight.grad is not None for norm in norms)
    assert sum(bool(norm.weight.grad.abs().sum() > 0) for norm in norms) == len(norms)


def naive_suppression(boxes, labels, scores, most):
    """The surest box stays, what overlaps it by more goes, and so on: one box at a time."""
    left, kept = sorted(range(len(boxes)), key=lambda row: -scores[row]), []
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [
            row
            for row in left
            if labels[row] != labels[best] or naive_overlap(boxes[row], boxes[best]) <= most
        ]
    return kept


def naive_overlap(box, other):
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    inner = max(width, 0) * max(height, 0)
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, other)]
    return inner / (sum(areas) - inner)


@pytest.mark.parametrize("seed", range(5))
def test_doubles_go_as_in_a_plain_loop(seed):
    """Two classes, a hundred boxes, of which many overlap."""
    generator = np.random.default_rng(seed)
    low = generator.uniform(0, 60, (100, 2))
    boxes = np.concatenate([low, low + generator.uniform(10, 30, (100, 2))], 1)
    labels, logits = generator.integers(0, 2, 100), generator.uniform(2, 6, 100)
    places = zip(labels.tolist(), logits.tolist(), boxes.tolist(), strict=True)
    found = find_boxes(output(*places), overlap=0.4)

    assert found.place.tolist() == naive_suppression(boxes, labels, logits, 0.4)
    assert found.label.tolist() == labels[found.place].tolist()


def test_boxes_are_found_up_to_a_number_and_down_to_a_score():
    """A logit of 3 among 7 zeros is a chance of e^3 / (e^3 + 7) = 0.742, one of 1 is 0.280."""
    apart = [(CAR, 3.0, [0, 0, 9, 9]), (CAR, 1.0, [20, 0, 29, 9]), (PEDESTRIAN, 0.5, [0, 0, 9, 9])]
    found = find_boxes(output(*apart))

    assert found.label.tolist() == [CAR, CAR, PEDESTRIAN]
    assert found.score[:2].tolist() == pytest.approx([0.7416, 0.2797], abs=1e-4)
    assert find_boxes(output(*apart), least_score=0.28).place.tolist() == [0]
    assert find_boxes(output(*apart), n_most=2).place.tolist() == [0, 1]


def test_outputs_that_are_not_finite_find_nothing():
    """A model that came apart is a model that finds nothing, not an error."""
    logits, boxes = output((CAR, math.nan, [0, 0, 9, 9]), (CAR, 9.0, [math.inf, 0, 9, 9]))

    assert len(find_boxes((logits, boxes))) == 0


def test_batches_do_not_change_what_is_found():
    """Images are numbered through."""
    detector, pixels = make_detector("tiny", seed=0), red_cars(5).pixels
    at_once = find_boxes(detector(pixels), least_score=0.0, n_most=3)
    in_parts = find_all(detector, pixels, batch=2, least_score=0.0, n_most=3)

    assert in_parts.image.tolist() == at_once.image.tolist() == sorted([*range(5)] * 3)
    assert in_parts.place.tolist() == at_once.place.tolist()
    assert not in_parts.box.requires_grad


def test_places_near_the_centre_speak_for_a_box():
    """A box of 40 x 20 pixels is asked for on the finest grid, 12 pixels and 6 from its centre."""
    places = places_of(64, 64)
    box = torch.tensor([[12.0, 22.0, 52.0, 42.0]])
    targets = find_targets(box, torch.tensor([CAR]), torch.tensor([0]), places, n_images=1)
    speaking = places[targets.label[0] == 1 + CAR].tolist()

    assert speaking == [[x, y, 8] for y in (28, 36) for x in (20, 28, 36, 44)]
    assert (targets.label[0] > 0).sum() == 8
    assert targets.box[0][targets.label[0] > 0].unique(dim=0).tolist() == box.tolist()


def test_larger_boxes_are_on_coarser_grids():
    """Up to 64 pixels on the first, up to 128 on the second."""
    places = places_of(160, 160)
    for side, stride in ((64, 8), (65, 16), (128, 16), (129, 32)):
        box = torch.tensor([[10.0, 10.0, 10.0 + side, 20.0]])
        targets = find_targets(box, torch.tensor([0]), torch.tensor([0]), places, n_images=1)

        assert places[targets.label[0] > 0][:, 2].unique().tolist() == [stride]


def test_even_the_smallest_box_has_a_place():
    """The cell that its centre lies in, though the box may not reach the middle of it."""
    places = places_of(32, 32)
    targets = find_targets(
        torch.tensor([[8.5, 8.5, 10.5, 10.5]]), torch.tensor([0]), torch.tensor([0]), places,
        n_images=1,
    )  # fmt: skip

    assert places[targets.label[0] > 0].tolist() == [[12, 12, 8]]


def test_where_boxes_compete_the_smaller_one_wins():
    """Whichever comes first."""
    places = places_of(64, 64)
    large, small = [0.0, 0.0, 60.0, 60.0], [25.0, 25.0, 35.0, 35.0]
    for boxes, labels in (([large, small], [0, 3]), ([small, large], [3, 0])):
        targets = find_targets(
            torch.tensor(boxes), torch.tensor(labels), torch.tensor([0, 0]), places, n_images=1
        )
        middle = ((places - torch.tensor([28.0, 28.0, 8.0])).abs().sum(1) == 0).nonzero().item()

        assert targets.label[0, middle] == 1 + 3


def test_in_ignored_regions_only_objects_count():
    """A car in front of one is asked for; the rest of the region is not held against anybody."""
    places = places_of(64, 64)
    region, car = [0.0, 0.0, 32.0, 64.0], [0.0, 0.0, 16.0, 16.0]
    targets = find_targets(
        torch.tensor([car, region]), torch.tensor([CAR, IGNORED]), torch.tensor([1, 1]), places,
        n_images=2,
    )  # fmt: skip
    is_inside = places[:, 0] <= 32

    assert (targets.label[0] == 0).all()
    assert (targets.label[1][~is_inside] == 0).all()
    assert sorted(targets.label[1][is_inside].unique().tolist()) == [-1, 1 + CAR]


def test_the_generalised_overlap_by_hand():
    """Equal boxes; half over; and apart, where 18 of the hull's 20 pixels are in neither."""
    boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 1, 1]])
    others = torch.tensor([[0.0, 0, 2, 2], [1, 0, 3, 2], [19, 0, 20, 1]])

    assert generalised_overlap(boxes, others).tolist() == pytest.approx([1, 1 / 3, -18 / 20])


def test_the_loss_by_hand():
    """Two places with even chances of 1/8, one a car that the box misses by 2/3; one uncounted."""
    logits = torch.zeros(1, 3, N_LOGITS)
    boxes = torch.tensor([[[0.0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 2, 2]]])
    label = torch.tensor([[1 + CAR, 0, -1]])
    target = torch.tensor([[[1.0, 0, 3, 2], [0, 0, 0, 0], [0, 0, 0, 0]]])
    focal = (7 / 8) ** 2 * math.log(8)

    loss = detection_loss((logits, boxes), Targets(label, target))
    assert loss.item() == pytest.approx(2 * focal + 2 / 3, rel=1e-5)


def test_images_without_objects_have_a_loss():
    """It is finite, and its gradient, too."""
    logits = torch.zeros(1, 2, N_LOGITS, requires_grad=True)
    boxes = torch.ones(1, 2, 4, requires_grad=True)
    loss = detection_loss((logits, boxes), Targets(torch.zeros(1, 2).long(), torch.zeros(1, 2, 4)))
    loss.backward()

    assert loss.item() == pytest.approx(2 * (7 / 8) ** 2 * math.log(8), rel=1e-5)
    assert torch.isfinite(logits.grad).all()


def test_boxes_go_where_the_pixels_go(monkeypatch):
    """In every view the red block fills its box, to a pixel or so."""
    monkeypatch.setattr(views, "_relight", lambda values, _: values.round().byte())
    images = red_cars(20)
    view = views.draw_view(images, seed=1)
    assert not torch.equal(view.boxes, images.boxes)
    for pixels, box, label in zip(view.pixels, view.boxes, view.labels, strict=True):
        is_red = (pixels[0].int() - pixels[1].int()) > 110
        if label == CAR:
            rows, columns = is_red.any(1).nonzero()[:, 0], is_red.any(0).nonzero()[:, 0]
            seen = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert [float(side) for side in seen] == pytest.approx(box.tolist(), abs=1.5)


def test_views_are_drawn_by_the_seed():
    """Mirrored or not, nearer or farther, lighter or darker."""
    images = red_cars(4)

    assert torch.equal(
        views.draw_view(images, seed=1).pixels, views.draw_view(images, seed=1).pixels
    )
    assert not torch.equal(
        views.draw_view(images, seed=1).pixels, views.draw_view(images, seed=2).pixels
    )


def test_the_held_out_images_are_not_trained_on():
    """Every image is in one of the parts; a tenth is held out, and one at the least."""
    ours, held_out = split_held_out(20, 0.1, seed=3)

    assert sorted([*ours.tolist(), *held_out.tolist()]) == list(range(20))
    assert len(held_out) == 2
    assert [len(part) for part in split_held_out(2, 0.1, seed=0)] == [1, 1]


def test_a_detector_learns_to_find_red_cars(tmp_path):
    """From nothing to most of them in some seconds; the weights are kept for the next time."""
    images, told = red_cars(24), []
    how = DetectorTraining(
        size="tiny", n_views=2, epochs=6, batch=4, lr=1e-2, lr_features=1e-2, held_out=0.1
    )
    before = average_precision(find_all(make_detector("tiny", seed=0), images.pixels), images)
    trained = train_detector(
        images, seed=0, training=how, cache=tmp_path, track=lambda *step: told.append(step)
    )
    after = average_precision(find_all(trained, images.pixels), images)

    assert before["map50"] < 0.1
    assert after["map50"] > 0.5
    assert told[:2] == [("features", 1, 2), ("features", 2, 2)]
    assert ("training", 1, 6) in told
    assert not trained.training

    n_told = len(told)
    again = train_detector(
        images, seed=0, training=how, cache=tmp_path, track=lambda *step: told.append(step)
    )
    assert len(told) == n_told
    assert all(
        torch.equal(a, b)
        for a, b in zip(*(m.state_dict().values() for m in (trained, again)), strict=True)
    )
    assert len(list(tmp_path.iterdir())) == 1
