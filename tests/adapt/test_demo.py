"""The last step of `sqrl demo`: a model whose feed broke is adapted by the rules alone."""

import pytest
import torch

from sqrl._adapt.demo import Accuracies, adapt_demo, adapt_lines
from sqrl._data.demo import demo_people
from sqrl._learn.learn import learn

PEOPLE, NEW = demo_people(), demo_people(1024, seed=1)


@pytest.fixture(scope="module")
def rules():
    return learn(PEOPLE, label="repaid", prediction="predicted")


@pytest.fixture(scope="module")
def got(rules):
    return adapt_demo(PEOPLE, NEW, rules)


def test_the_demo_breaks_a_model_and_mends_most_of_it(got):
    """By far more than any processor's last bits."""
    assert got.broken < got.guess < got.adapted < got.trained + 0.05
    assert got.trained - got.broken > 0.2
    assert got.adapted - got.broken > 0.2


def test_labels_of_new_rows_have_no_part_in_adapting(rules, got):
    """With all of them turned round, just what was right is wrong; torch stays as it was."""
    words, codes = NEW["repaid"].categories, NEW["repaid"].values
    turned = ["no" if words[code] == "yes" else "yes" for code in codes]
    state, threads, reports = torch.get_rng_state(), torch.get_num_threads(), []
    other = adapt_demo(
        PEOPLE,
        NEW.with_columns({"repaid": turned}, replace=True),
        rules,
        track=lambda *told: reports.append(told),
    )

    for name in ("trained", "broken", "adapted"):
        assert getattr(got, name) + getattr(other, name) == pytest.approx(1)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert {label for label, *_ in reports} >= {"train", "adapt"}


def test_what_came_of_it_is_told_whatever_it_is():
    """Also where adapting has made the model worse, and beside what anybody could guess."""
    lines = list(adapt_lines(Accuracies(trained=1.0, broken=0.9, adapted=0.8, guess=0.7)))

    assert lines[-1] == "   > 100 % as trained, 90 % broken, 80 % adapted (always the same: 70 %)"
    assert max(map(len, lines)) <= 80
