"""How good predictions are expected to be, and what a change of them risks, beside drawn labels."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from sqrl._adapt.expected import ERRORS, Expected, Gain, expected_auc, lowest_changes
from sqrl._adapt.guard import Breakage, Decision


def test_the_expected_auc_is_that_of_all_pairs():
    """By hand, pair by pair, each weighed by how likely it is a positive and a negative."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        scores = torch.randint(0, 5, (12,), generator=generator).double()
        truth = torch.rand(12, generator=generator).double()
        naive = total = 0.0
        for i in range(12):
            for j in range(12):
                weight = float(truth[i] * (1 - truth[j]))
                total += weight
                naive += weight * (0.5 if scores[i] == scores[j] else float(scores[i] > scores[j]))
        both = torch.stack([-scores, scores], 1)

        found = expected_auc(both, torch.stack([1 - truth, truth], 1))
        assert found == pytest.approx(naive / total)


def scores(probabilities, y):
    """Accuracy, and AUC averaged over classes, by labels."""
    n_classes = probabilities.shape[1]
    chosen = [1] if n_classes == 2 else range(n_classes)
    auc = np.mean([roc_auc_score(y == one, probabilities[:, one]) for one in chosen])
    return float((probabilities.argmax(1) == y).mean()), float(auc)


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (2, 1), (3, 2)])
def test_the_lowest_change_is_that_of_drawn_labels(n_classes, seed):
    """Labels drawn many times, both predictions scored each time: mean less 1.645 deviations."""
    draw = np.random.default_rng(seed)
    odds = draw.normal(size=(400, n_classes))
    truth = np.exp(odds) / np.exp(odds).sum(1, keepdims=True)
    before, after = odds + draw.normal(size=odds.shape), odds + 0.8 * draw.normal(size=odds.shape)
    after = after.round(1)  # some are equal
    drawn = (truth.cumsum(1)[None] < draw.random((300, 400, 1))).sum(2)
    changes = np.array([np.subtract(scores(after, y), scores(before, y)) for y in drawn])
    wanted = changes.mean(0) - ERRORS * changes.std(0)

    found = lowest_changes(*(torch.tensor(one) for one in (before, after, truth)))

    assert np.all(np.abs(np.subtract(found, wanted)) < 0.2 * changes.std(0) + 1e-3)
    assert np.all(np.abs((changes < found).mean(0) - 0.05) < 0.05)


def test_few_rows_make_a_change_unsure():
    """The same predictions of ten times as many rows are surer."""
    draw = np.random.default_rng(0)
    odds = draw.normal(size=300)
    made = [
        torch.tensor(np.stack([-one, one], 1) / 2).softmax(1)
        for one in (odds + draw.normal(size=300), odds + 0.9 * draw.normal(size=300), odds)
    ]
    few = lowest_changes(*made)
    many = lowest_changes(*(one.repeat(10, 1) for one in made))

    assert all(one < other - 0.003 for one, other in zip(few, many, strict=True))


def test_no_rows_of_a_class_is_no_change_of_ranking():
    """An AUC that cannot be had does not count."""
    one = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert lowest_changes(one, one.flip(0), one) == (0.0, 0.0)


def gain(loss=0.4, accuracy=0.85, ranking=0.95, lowest=(0.03, 0.03)):
    """A gain over a log loss of 0.5, an accuracy of 0.8 and an AUC of 0.9."""
    return Gain(Expected(0.5, 0.80, 0.90), Expected(loss, accuracy, ranking), *lowest)


def test_what_gains_next_to_nothing_is_not_worth_it():
    """Half a point of accuracy or AUC that is surely a gain, or a twentieth of log loss."""
    assert not gain(0.46, 0.804, 0.904, (0.001, 0.001)).is_worth_it
    assert gain(0.499, 0.806, 0.9, (0.001, -0.001)).is_worth_it
    assert not gain(0.499, 0.806, 0.9, (-0.001, 0.0)).is_worth_it
    assert gain(0.499, 0.8, 0.906, (-0.001, 0.001)).is_worth_it
    assert gain(0.44, 0.8, 0.9, (-0.001, -0.001)).is_worth_it
    assert not gain(0.5).is_worth_it  # a log loss that does not fall


def test_every_opinion_must_agree():
    """Rules broken less, and by no opinion too small a gain, or one that chance may turn."""
    before, after = Breakage(0.2, 1.0), Breakage(0.1, 0.1)

    assert Decision(before, after).is_better  # where rules say nothing of rows
    assert Decision(before, after, (gain(), gain(lowest=(0.01, -0.0049)))).is_better
    assert not Decision(after, before, (gain(), gain())).is_better
    assert not Decision(before, after, (gain(), gain(lowest=(0.01, -0.0051)))).is_better
    assert not Decision(before, after, (gain(0.499, 0.8, 0.9), gain())).is_better
    assert gain().value == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("loss", "ranking", "lowest", "own_lowest", "expected"),
    [
        (0.3, 0.90, 0.0, -0.1, False),  # the log loss alone falls: rows are to stay ranked
        (0.3, 0.90, 0.0, -0.004, True),
        (0.3, 0.95, 0.03, -0.1, True),  # opinions see rows that are ranked better
        (0.3, 0.95, -0.001, -0.1, False),  # what may be chance
    ],
)
def test_what_is_only_too_certain_is_not_ranked_anew(loss, ranking, lowest, own_lowest, expected):
    """Opinions that see no score rise may know too little of rows: a source that knew more lost."""
    seen = gain(loss, 0.8, ranking, (0.0, lowest))
    own = gain(0.6, 0.7, 0.8, (-0.2, own_lowest))
    found = Decision(Breakage(0.2, 1.0), Breakage(0.1, 0.1), (seen, gain()), own)

    assert found.is_better is expected
