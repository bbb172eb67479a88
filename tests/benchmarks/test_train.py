"""What pages say of training by rules is what was measured; a small run of the benchmark."""

from pathlib import Path

import pandas as pd

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
