"""What pages say of training by rules is what was measured; a small run of the benchmark."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rendered import render

ROOT = Path(__file__).parents[2]


def test_the_pages_about_training_are_what_their_results_make_them(tmp_path):
    """No figure is typed by hand."""
    readme = tmp_path / "README.md"
    readme.write_text((ROOT / "README.md").read_text())
    render("render_train", "--docs", tmp_path, "--readme", readme, "--no-figure")

    page = (tmp_path / "train-results.md").read_text()
    assert page == (ROOT / "docs" / "train-results.md").read_text()
    assert readme.read_text() == (ROOT / "README.md").read_text()


def test_labels_of_test_rows_change_scores_and_no_prediction():
    """Rules, models and stopping never see them."""
    from sqrl_paper.train import methods as ways
    from sqrl_paper.train import runs as train
    from sqrl_paper.train.tables import READERS

    rows = READERS["wine"](Path())
    split = train.split_rows(rows, 0)
    turned = split.test.assign(y=split.test["y"].to_numpy()[::-1])
    other = ways.Split(split.behind, split.train, pd.DataFrame(turned), split.classes, 0)
    rules = train.learn_rules(split.behind)

    assert (ways.by_rules(split, rules) == ways.by_rules(other, rules)).all()
    assert train.scores(split, ways.by_rules(split, rules))["auc"] > 0.9


def test_a_bag_is_a_fact_with_the_rates_of_all_classes():
    """Other methods learn from the same rates, told as they take them: compared by counting."""
    from sqrl_paper.train import methods as ways
    from sqrl_paper.train import runs as train

    rows = pd.DataFrame({"x": [i % 4 for i in range(800)]})
    rows["y"] = ["abc"[(i % 4 + (i // 4) % 2) % 3] for i in range(800)]
    split = ways.Split(rows[:400], rows[400:], rows[400:], ("a", "b", "c"), 0)
    bags = ways.read_bags(split, train.learn_rules(split.behind, means=False))
    counted = pd.crosstab(split.behind["x"], split.behind["y"], normalize="index").to_numpy()

    assert bags.held.sum(dim=1).tolist() == [1.0] * 400
    for held, rates in zip(bags.held.T, bags.rates, strict=True):
        (value,) = {split.train["x"].iloc[row] for row in held.nonzero().flatten().tolist()}
        assert abs(rates.numpy() - counted[value]).max() < 1e-3


def test_the_calibration_error_is_computed_bin_by_bin():
    """Shares of rows, each times how far its mean probability is from the share that is right."""
    from sqrl_paper.train.runs import calibration_error

    draw = np.random.default_rng(0)
    sure, right = draw.uniform(0.34, 1.0, 200), draw.random(200) < 0.8
    sure[:3] = 1.0
    expected = 0.0
    for b in range(15):
        inside = [
            i for i in range(200) if b / 15 <= sure[i] < (b + 1) / 15 or b == 14 <= 14 * sure[i]
        ]
        if inside:
            gap = np.mean([sure[i] for i in inside]) - np.mean([right[i] for i in inside])
            expected += len(inside) / 200 * abs(gap)

    assert calibration_error(sure, right) == pytest.approx(expected)


def test_what_chance_alone_gives_is_the_error_of_a_perfect_model():
    """Of labels drawn from the same probabilities; less with more rows, none where all is sure.

    One bin of n rows with probability p: the mean distance of a binomial share from p.
    """
    from sqrl_paper.train.runs import calibration_error, error_by_chance

    draw = np.random.default_rng(5)
    sure = draw.uniform(0.5, 1.0, 36)
    others = [calibration_error(sure, draw.random(36) < sure) for _ in range(2_000)]
    expected = np.sqrt(2 / np.pi * 0.7 * 0.3 / 400)

    assert error_by_chance(sure) == pytest.approx(np.mean(others), rel=0.05)
    assert error_by_chance(np.full(400, 0.7)) == pytest.approx(expected, rel=0.15)
    assert error_by_chance(np.repeat(sure, 100)) < 0.2 * error_by_chance(sure)
    assert error_by_chance(np.ones(36)) == 0
    assert error_by_chance(sure) == error_by_chance(sure)  # the draws have a seed of their own


def test_the_aim_at_calibration_stands_beside_the_one_without_chance():
    """No bar is lowered: the plain error has its own, whatever chance alone gives."""
    from sqrl_paper.train import pages

    run = {"auc": 0.9, "ece": 0.11, "ece_by_chance": 0.095, "rules": 40}
    methods = (pages.ADDITIVE, pages.NETWORK, pages.PRIVATE, pages.SUPERVISED)
    table = {"behind": 70, "runs": [dict.fromkeys(methods, run)] * 2}
    aims = {one["what"]: one for one in pages.aims_of({"tables": {"wine": table}})}
    plain = aims["ECE of RuleClassifier, worst table"]
    beyond = aims["ECE of RuleClassifier less what chance alone gives, worst table"]

    assert (plain["measured"], plain["at_most"], plain["met"]) == (pytest.approx(11), 3, False)
    assert (beyond["measured"], beyond["at_most"], beyond["met"]) == (pytest.approx(1.5), 3, True)
