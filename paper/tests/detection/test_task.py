"""The detection task: rules about boxes in KITTI's pixels, and losses that move them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("PIL", reason="needs what sqrl-paper depends on")

import sqrl  # noqa: E402
from sqrl import RuleSet, as_table  # noqa: E402
from sqrl.methods import RPL, Tent  # noqa: E402
from sqrl_paper.detection.box_losses import OnFound, make_box_loss  # noqa: E402
from sqrl_paper.detection.found_boxes import find_boxes  # noqa: E402
from sqrl_paper.detection.made import N_TRAIN, N_VAL, draw_boxes, write_kitti  # noqa: E402
from sqrl_paper.detection.road_images import CLASSES, RoadImages  # noqa: E402
from sqrl_paper.detection.task import (  # noqa: E402
    STATISTICS,
    are_single,
    break_rules,
    found_boxes,
    in_kitti,
    learn_detection,
    make_batches,
    ranges_of,
    read_train_boxes,
    true_boxes,
)

CAR, PEDESTRIAN = CLASSES.index("Car"), CLASSES.index("Pedestrian")
N_FRAMES = 160
WIDE = RuleSet.from_texts(["type = Car => 10 <= right - left <= 30"])


def made_images(boxes=(), labels=(), *, n=2):
    """Images of a camera that sees half as large as KITTI's, and 100 and 20 pixels off."""
    return RoadImages(
        pixels=torch.zeros(n, 3, 32, 64, dtype=torch.uint8),
        boxes=torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4),
        labels=torch.tensor(labels, dtype=torch.int64),
        image=torch.zeros(len(labels), dtype=torch.int64),
        names=tuple(map(str, range(n))),
        size=(64, 32),
        scale=0.5,
        shift=(100.0, 20.0),
    )


def output(*places):
    """What a detector gives for one image: a class, a logit for it and a box at each place."""
    logits = torch.zeros(1, len(places), 1 + len(CLASSES))
    for at, (label, logit, _) in enumerate(places):
        logits[0, at, 1 + label] = logit
    boxes = torch.tensor([[box for _, _, box in places]], dtype=torch.float32)
    return logits.requires_grad_(), boxes.requires_grad_()


WIDE_CAR = (CAR, 9.0, [10.0, 10, 30, 20])  # 40 of KITTI's pixels wide: 10 too many
WALKER = (PEDESTRIAN, 9.0, [40.0, 10, 60, 20])
NOTHING = (CAR, -9.0, [10.0, 10, 30, 20])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """KITTI with made frames, of which a few have images."""
    path = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    write_kitti(path, [draw_boxes(rng, (1242, 375)) for _ in range(N_FRAMES + N_VAL)])
    return path


def test_boxes_are_judged_where_kittis_camera_would_see_them():
    """Divided by the scale, then shifted: the principal points coincide."""
    moved = in_kitti(torch.tensor([[10.0, 10, 30, 20]]), made_images())

    assert moved.tolist() == [[120.0, 40.0, 160.0, 60.0]]


def test_the_loss_is_as_by_hand_and_moves_the_sides():
    """A car 10 pixels too wide for an interval of 20 costs a half; a pixel here is two there."""
    logits, boxes = output(WIDE_CAR)
    loss = make_box_loss(WIDE, made_images())(None, (logits, boxes))
    loss.backward()

    assert loss.item() == pytest.approx(0.5)
    assert boxes.grad[0, 0].tolist() == pytest.approx([-0.1, 0, 0.1, 0])
    assert logits.grad is None  # the class is certain


def test_a_box_of_another_class_does_not_break_the_rule_but_counts():
    """The loss is a mean over the boxes found."""
    loss = make_box_loss(WIDE, made_images())

    assert loss(None, output(WIDE_CAR, WALKER)).item() == pytest.approx(0.25)
    assert loss(None, output(WALKER)).item() == 0


def test_the_papers_loss_is_its_quadratic():
    """(0.1 - 0.4) (0.3 - 0.4) in hundreds of pixels; in pixels it is clipped at 1 and flat."""
    images = made_images()
    scaled = RuleSet.from_texts(["type = Car => 0.1 <= (right - left) / 100 <= 0.3"])
    logits, boxes = output(WIDE_CAR)
    loss = make_box_loss(scaled, images, loss="paper")(None, (logits, boxes))
    loss.backward()
    _, far = out = output(WIDE_CAR)
    flat = make_box_loss(WIDE, images, loss="paper")(None, out)
    flat.backward()

    assert loss.item() == pytest.approx(0.03)
    assert boxes.grad[0, 0].tolist() == pytest.approx([-0.008, 0, 0.008, 0])
    assert flat.item() == 1
    assert not far.grad.any()


def test_with_likely_classes_a_box_that_breaks_rules_becomes_less_likely():
    """The cost is weighed by the chance of the class, and a step down lowers it."""
    logits, boxes = output((CAR, 3.0, WIDE_CAR[2]))
    chance = float(logits.detach().softmax(-1)[0, 0, 1 + CAR])
    loss = make_box_loss(WIDE, made_images(), is_certain=False)(None, (logits, boxes))
    loss.backward()

    assert loss.item() == pytest.approx(0.5 * chance)
    assert boxes.grad[0, 0, 2] == pytest.approx(0.1 * chance)
    assert logits.grad[0, 0, 1 + CAR] == pytest.approx(0.5 * chance * (1 - chance))
    assert logits.grad[0, 0, 0] < 0  # nothing becomes likelier


@pytest.mark.parametrize("is_certain", [True, False])
@pytest.mark.parametrize("loss", ["expected", "paper"])
def test_without_boxes_the_loss_is_0_and_so_are_gradients(loss, is_certain):
    """An image in dense rain is no reason for nan."""
    logits, boxes = output(NOTHING, NOTHING)
    found = make_box_loss(WIDE, made_images(), loss=loss, is_certain=is_certain)(
        None, (logits, boxes)
    )
    found.backward()

    assert found.item() == 0
    assert not boxes.grad.any()


@pytest.mark.parametrize("method", [Tent(), RPL()])
def test_methods_for_classifiers_see_the_boxes_found(method):
    """Two of three places; the third, which is background, has no part in it."""
    logits, boxes = output(WIDE_CAR, WALKER, NOTHING)
    value = OnFound(method)(None, (logits, boxes))
    value.backward()

    assert value.item() == pytest.approx(method(None, logits[0, :2]).item())
    assert logits.grad[0, :2].any()
    assert not logits.grad[0, 2].any()


def test_methods_without_boxes_minimise_nothing():
    """A mean over no boxes would be nan."""
    logits, boxes = output(NOTHING)
    value = OnFound(Tent())(None, (logits, boxes))
    value.backward()

    assert value.item() == 0
    assert not logits.grad.any()
    assert OnFound(Tent()).statistics == "adapted"


def test_rules_are_those_of_all_train_frames(folder):
    """Also of the many without an image, and of none that is for validation."""
    boxes = read_train_boxes(folder)
    frames = {boxes["image"].categories[code] for code in boxes["image"].values}

    assert N_TRAIN < N_FRAMES
    assert frames == {f"{number:06}" for number in range(N_FRAMES)}
    assert len(learn_detection(boxes)) == 252


def test_in_other_units_the_rules_are_the_same(folder):
    """Each bound is divided by its statistic's unit."""
    boxes = read_train_boxes(folder)
    units = ranges_of(boxes)
    plain, scaled = learn_detection(boxes), learn_detection(boxes, units=units)
    table = boxes.take(np.arange(40))
    for index in range(0, 252, 17):
        one, other = plain.form(index), scaled.form(index)
        unit = units[one.subject.name]
        bounds = [piece.upper.value / unit for piece in one.pieces]

        assert [piece.upper.value for piece in other.pieces] == pytest.approx(bounds)
    first, second = break_rules(plain, table), break_rules(scaled, table)
    assert (first.n_pairs, first.box.tolist()) == (second.n_pairs, second.box.tolist())
    assert set(units) == set(STATISTICS)


def test_every_box_has_36_rules_and_six_about_one_statistic(folder):
    """6 statistics and 30 ordered pairs for its class."""
    boxes = read_train_boxes(folder)
    rules = learn_detection(boxes)
    found = break_rules(rules, boxes)

    assert found.n_pairs == 36 * boxes.n_rows
    assert are_single(rules).sum() == 7 * 6
    assert found.of_box().sum() == len(found.rule) == sqrl.check(rules, boxes).total
    assert found.share == len(found.rule) / found.n_pairs
    marked = found.of_box(are_single(rules))
    assert marked.sum() == are_single(rules)[found.rule].sum()


def test_the_loss_and_the_count_see_the_same_violations(folder):
    """Two ways of computing them, one with gradients."""
    rules = learn_detection(read_train_boxes(folder))
    rng = np.random.default_rng(1)
    sides = [(left, top, left + w, top + h) for left, top, w, h in rng.uniform(5, 90, (30, 4))]
    out = output(*((int(rng.integers(7)), 9.0, list(box)) for box in sides))
    images = made_images()
    found = find_boxes(out, least_score=0.3)
    counted = break_rules(rules, found_boxes(found, images))
    measured = make_box_loss(rules, images).measure(None, out)

    assert len(found) > 20
    assert int(measured.applicable.sum()) == counted.n_pairs
    assert measured.broken.tolist() == np.bincount(counted.rule, minlength=252).tolist()


def test_ignored_regions_are_no_true_boxes():
    """Nobody said what is there."""
    images = made_images([[10, 10, 30, 20], [0, 0, 5, 5]], [CAR, -1])
    table = true_boxes(images)

    assert table.n_rows == 1
    assert table["right"].values.tolist() == [160.0]


def test_no_boxes_break_no_rules():
    """And none applies."""
    nothing = break_rules(WIDE, true_boxes(made_images()))

    assert (nothing.n_boxes, nothing.n_pairs, nothing.share) == (0, 0, 0.0)
    assert nothing.of_box().tolist() == []


def test_a_range_of_nothing_is_a_unit_of_one():
    """A statistic that never varies can be divided by its unit."""
    box = {"left": [0.0], "top": [0.0], "right": [4.0], "bottom": [2.0]}

    assert set(ranges_of(as_table(box)).values()) == {1.0}


def test_mini_batches_hold_images_alone():
    """What is known of them is for the final figures."""
    batch = next(iter(make_batches(made_images(n=4), size=2, seed=0)))

    assert batch.inputs.shape == (2, 3, 32, 64)
    assert batch.columns == {}
