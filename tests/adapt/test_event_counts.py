"""The expected rows of events against a loop over them, with first and second gradients."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sqrl import Categories, RuleLoss, RuleSet
from sqrl._adapt.rule_loss.event_counts import EventCounts
from sqrl._adapt.rule_loss.literals import interval_of
from sqrl._adapt.rule_loss.program import Event
from sqrl._language import parse_formula
from sqrl.errors import AdaptError

CERTAIN = [False, True, False, False]


def made_events(n_conjunctions, per_conjunction):
    """Events in no order: each conjunction with some class sets, every third with all classes."""
    generator = torch.Generator().manual_seed(per_conjunction)
    pairs = [
        (place, [0, 2, 3][(place + step) % 3])
        for place in range(n_conjunctions)
        for step in range(per_conjunction)
    ]
    pairs += [(place, 1) for place in range(0, n_conjunctions + 1, 3)]
    order = torch.randperm(len(pairs), generator=generator).tolist()
    return [Event(*pairs[place]) for place in order] + [Event(*pairs[order[0]])]


@pytest.mark.parametrize("per_conjunction", [1, 2, 3])
def test_counts_of_events_are_sums_over_their_rows(per_conjunction):
    """Whether class sets have lines of their own, or all are multiplied with all."""
    events = made_events(7, per_conjunction)
    generator = torch.Generator().manual_seed(0)
    held = torch.rand(8, 30, generator=generator) < 0.4
    sets = torch.rand(30, 4, generator=generator, dtype=torch.float64)
    sets[:, 1] = 1.0
    counts = EventCounts(events, CERTAIN, torch.device("cpu"))

    def work(sets):
        return counts.count(held, sets)[counts.places(events)]

    expected = [float(sets[held[one.conjunction], one.classes].sum()) for one in events]
    torch.testing.assert_close(work(sets).tolist(), expected)
    moving = sets[:, [0, 2, 3]].clone().requires_grad_()

    def of_moving(moving):
        return work(torch.stack([moving[:, 0], sets[:, 1], moving[:, 1], moving[:, 2]], 1))

    assert gradcheck(of_moving, moving)
    assert gradgradcheck(of_moving, moving)


def test_only_certain_events_need_no_product():
    """Where all classes are meant, rows are counted, and there is no gradient."""
    counts = EventCounts([Event(1, 1)], CERTAIN, torch.device("cpu"))
    sets = torch.rand(3, 4, requires_grad=True)
    found = counts.count(torch.tensor([[True] * 3, [True, False, True]]), sets)

    assert found[counts.places([Event(1, 1)])].tolist() == [2.0]
    found.sum().backward()
    assert not sets.grad.any()


@pytest.mark.parametrize(
    ("formula", "ends", "is_inside"),
    [("x = 3", (3, 3), True), ("x != 3", (3, 3), False), ("3 = x", (3, 3), True)],
)
def test_equality_with_a_number_is_an_interval(formula, ends, is_inside):
    """So that it is decided together with all others."""
    found = interval_of(parse_formula(formula))

    assert ((found.lower, found.upper), found.is_inside) == (ends, is_inside)
    assert interval_of(parse_formula(formula), {"x"}) is None


def test_a_column_may_hold_numbers_in_one_batch_and_categories_in_the_next():
    """Equality with a number is decided as what the column holds there."""
    rules = RuleSet.from_texts(["0.9 <= rate(x = 2 and y = 1) <= 1 over 4"])
    loss = RuleLoss(rules, names=lambda batch, out: {"x": batch, "y": out.softmax(-1)})
    numbers = torch.tensor([2.0, 1.0, 2.0, float("nan")])
    names = Categories(torch.tensor([0, 1, 0, -1]), ("2", "1"))
    logits = torch.zeros(4, 2)

    assert float(loss(numbers, logits)) == float(loss(names, logits)) > 0
    with pytest.raises(AdaptError, match="different numbers of rows"):
        loss(numbers[:3], logits)
