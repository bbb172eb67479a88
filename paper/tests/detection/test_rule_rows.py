"""Rules that hold from drive to drive, and what true boxes break of them."""

import gzip

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what sqrl-paper depends on")
pytest.importorskip("safetensors", reason="needs what sqrl-paper depends on")

from sqrl import as_table, load_schema  # noqa: E402
from sqrl.errors import DataError  # noqa: E402
from sqrl_paper.detection import bench as detection  # noqa: E402
from sqrl_paper.detection.data import KITTI, images_of  # noqa: E402
from sqrl_paper.detection.drives import (  # noqa: E402
    TRACKING,
    learn_by_drive,
    read_drives,
)
from sqrl_paper.detection.found_boxes import Found  # noqa: E402
from sqrl_paper.detection.made import write_detection  # noqa: E402
from sqrl_paper.detection.rule_rows import SOURCES, Rules, describe_rules, rules_of  # noqa: E402
from sqrl_paper.detection.scores import recall, score_truth  # noqa: E402
from sqrl_paper.detection.task import SCHEMA, read_train_boxes  # noqa: E402
from sqrl_paper.place import Place  # noqa: E402
from sqrl_paper.runs import Runs  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detection")
    write_detection(folder)
    return Place(folder=folder, cache=folder / "cache", quick=True, data="made", is_made=True)


def test_rules_that_hold_are_some_of_all_and_truth_breaks_are_those_of_a_check(place):
    """Without any model: all rules, and those that drives show to hold."""
    runs = Runs(place, n_workers=1, track=lambda *_: None)
    told = detection.rules_alone(place, runs, [0])["rule_sets"]
    whole, held = rules_of(place, "all rules")[0], rules_of(place, "holds 0.9")[0]

    assert list(told) == list(SOURCES)
    assert told["all rules"]["rules"] == len(whole) == 252
    assert set(held.texts()) < set(whole.texts())
    assert told["holds 0.9"]["truth"][KITTI] == score_truth(images_of(place, KITTI), held)
    assert told["holds 0.9"]["rules"] == len(held) > told["holds 0.95"]["rules"]
    assert describe_rules(place, Rules(rules="holds 0.9"))["unproven"]


def test_a_rule_that_one_drive_of_many_breaks_throughout_is_left_out():
    """Cars of 100 pixels everywhere; on one drive of eight all are twice as wide."""

    def boxes(n, wide):
        left = np.zeros(n)
        sides = {"left": left, "top": left, "right": left + wide, "bottom": left + 50.0}
        return {"type": ["Van", *["Car"] * (n - 1)], **sides}

    rng = np.random.default_rng(0)
    train = as_table(boxes(2000, 100 + rng.normal(0, 1, 2000)))
    rows = boxes(800, 100 + rng.normal(0, 0.1, 800))
    rows["drive"] = [f"{at // 100}" for at in range(800)]
    schema = load_schema(SCHEMA)
    same = learn_by_drive(train, as_table(rows), schema, holds=0.9)
    rows["right"] = np.where(np.arange(800) < 100, 200.0, rows["right"])
    other = learn_by_drive(train, as_table(rows), schema, holds=0.9)
    width = [text for text in same.texts() if "=> 9" in text and "<= width <=" in text]

    assert width
    assert not set(width) & set(other.texts())
    assert any("99 of 799 held-out rows in 8 units" in why for why in other.provenance.unproven)


def test_boxes_of_other_classes_are_left_out_of_drives(tmp_path):
    """DontCare is no class; a file that cannot be read says what it should hold."""
    path = tmp_path / TRACKING
    path.parent.mkdir()
    lines = "seq,type,left,top,right,bottom\n0000,Car,1,2,3,4\n0001,DontCare,1,2,3,4\n"
    path.write_bytes(gzip.compress(lines.encode()))
    found = read_drives(tmp_path)
    path.write_bytes(gzip.compress(lines.replace(",1,2", ",x,2").encode()))

    assert (found.n_rows, found["right"].values.tolist()) == (1, [3.0])
    with pytest.raises(DataError, match="The labels of drives cannot be read: could not convert"):
        read_drives(tmp_path)


def test_recall_counts_true_boxes_of_a_class_once(place):
    """By hand: each true box found twice counts once, as another class not at all."""
    images = images_of(place, KITTI)
    known = images.labels >= 0
    image, label, box = images.image[known], images.labels[known], images.boxes[known]
    n = len(image)

    def found(label, times=1):
        return Found(
            image=image.repeat(times),
            place=torch.arange(n * times),
            label=label.repeat(times),
            score=torch.full((n * times,), 0.9),
            logits=torch.zeros(n * times, 8),
            box=box.repeat(times, 1),
        )

    half = found(label).take(torch.arange(n) % 2 == 0)
    assert recall(found(label), images) == recall(found(label, 2), images) == 1.0
    assert recall(half, images) == (n + 1) // 2 / n
    assert recall(found((label + 1) % 7), images) < 0.2
    assert read_train_boxes(place.folder).n_rows > 0
