"""What the page about images and texts says is what was measured; a small run of its benchmark."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rendered import render

ROOT = Path(__file__).parents[2]
torch = pytest.importorskip("torch", reason="needs torch")


@pytest.fixture(scope="module")
def paired():
    """Boxes in threes, of which the model sees sixteen numbers and rules two others."""
    from cross_modal_data import Paired

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 1200)
    columns = pd.DataFrame(
        {
            "width": kind + rng.normal(0, 0.8, 1200),
            "height": rng.normal(0, 1, 1200),
            "y": np.array(["a", "b"])[kind],
        }
    )
    inputs = torch.tensor(rng.normal(0, 1, (1200, 16)) + 2 * np.outer(kind, np.arange(16) < 4))
    return Paired(columns, inputs.float(), np.arange(1200) // 3)


@pytest.fixture(scope="module")
def split(paired):
    from cross_modal import split_pairs

    return split_pairs(paired, paired.inputs, ("a", "b"), 0)


@pytest.fixture(scope="module")
def rules(split):
    from sqrl_paper.train.runs import learn_rules

    return learn_rules(split.behind)


def test_the_page_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    page = ROOT / "docs" / "cross-modal.md"
    (tmp_path / page.name).write_text(page.read_text())
    render("render_cross_modal", "--docs", tmp_path)

    assert (tmp_path / page.name).read_text() == page.read_text()
    assert "| supervised | 100% |" in page.read_text()


def test_rows_of_a_unit_are_never_divided(paired):
    """Behind the rules, to train on and to test are other units; all rows are in one of them."""
    from cross_modal import parts_of

    is_last = np.arange(1200) >= 801  # 267 units of three
    for given in (paired, replace(paired, is_test=is_last)):
        parts = parts_of(given, 1)
        units = [set(paired.units[which]) for which in parts.values()]

        assert sum(map(len, units)) == 400
        assert len(set.union(*units)) == 400
        assert np.sum(list(parts.values()), axis=0).tolist() == [1] * 1200
    assert (parts["test"] == is_last).all()
    assert parts_of(replace(paired, behind=paired.columns), 1)["behind"].sum() == 0


def test_labels_of_test_rows_and_hidden_ones_change_no_prediction(split, rules):
    """Rules, heads and stopping see neither; without labels those to train on are not seen."""
    import cross_modal_methods as ways
    from sqrl_paper.train.runs import learn_rules

    rates = learn_rules(split.behind, means=False)
    turned = split.test.assign(y=split.test["y"].to_numpy()[::-1])
    hidden = split.train.assign(y=split.train["y"].to_numpy()[::-1])
    other = replace(split, test=turned, train=hidden)
    for work in (
        lambda one: ways.predict_model(ways.by_fit(one, rules), one.test_x),
        lambda one: ways.by_clusters(one, ways.said_by_rules(one, rules)),
        lambda one: ways.votes_of(one, rates),
    ):
        assert (work(split) == work(other)).all()


def test_a_model_does_better_than_the_rules_that_trained_it(split, rules):
    """What rules get wrong cannot be seen in the inputs: it is noise, and noise averages out."""
    import cross_modal_methods as ways
    from sqrl_paper.train.methods import by_rules
    from sqrl_paper.train.runs import scores

    taught = ways.predict_model(ways.by_fit(split, rules), split.test_x)

    assert scores(split, taught)["accuracy"] > scores(split, by_rules(split, rules))["accuracy"]
    assert scores(split, taught)["accuracy"] > 0.85


def test_geometry_is_in_shares_of_the_image():
    """By hand, of one box."""
    from cross_modal_data import _with_geometry

    box = pd.DataFrame({"left": [0.1], "top": [0.2], "right": [0.3], "bottom": [0.6]})
    found = _with_geometry(box).iloc[0]

    assert found["ratio"] == pytest.approx(0.5)
    assert found["area"] == pytest.approx(0.08)
    assert (found["x_center"], found["y_bottom"]) == (pytest.approx(0.2), 0.6)


def test_no_row_is_told_by_a_model_that_saw_its_label():
    """The ceiling of the tables learns from the other half: labels of a row do not move it."""
    import cross_modal_methods as ways

    torch.manual_seed(0)
    source = torch.nn.Sequential(torch.nn.LayerNorm(2), torch.nn.Linear(2, 2))
    values, codes = torch.randn(40, 2), np.arange(40) % 2
    before = ways.with_test_labels(source, values, codes)
    order = np.random.default_rng(0).permutation(40)
    changed = codes.copy()
    changed[order[:20]] = 1 - changed[order[:20]]
    after = ways.with_test_labels(source, values, changed)

    assert (before[order[:20]] == after[order[:20]]).all()
    assert (before[order[20:]] != after[order[20:]]).any()


def test_darkened_images_have_a_share_of_their_light():
    """In bytes."""
    from cross_modal_data import DARK, DARKNESS, degrade

    grey = torch.full((1, 3, 2, 2), 200, dtype=torch.uint8)

    assert degrade(grey, DARK).unique().tolist() == [round(200 * DARKNESS)]
