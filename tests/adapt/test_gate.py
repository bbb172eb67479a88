"""Whether there is anything to mend is measured on mini-batches joined to the rules' size."""

import torch

import sqrl
from sqrl._adapt.batches import Batch, Categories, join_batches


def test_mini_batches_are_joined_with_all_they_hold():
    """Inputs of every shape, numbers and categories, row after row."""
    parts = [
        Batch(
            (torch.full((2, 1), value), {"mask": torch.full((2,), value)}, None),
            {"x": torch.full((2,), value), "kind": Categories(torch.tensor([0, 1]), ("a", "b"))},
        )
        for value in (1.0, 2.0)
    ]
    joined = join_batches(parts)

    assert joined.inputs[0].flatten().tolist() == [1.0, 1.0, 2.0, 2.0]
    assert joined.inputs[1]["mask"].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert joined.inputs[2] is None
    assert joined.columns["x"].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert joined.columns["kind"].codes.tolist() == [0, 1, 0, 1]


def test_rules_that_chance_would_break_more_often_change_nothing():
    """One of ten rows outside of a rule of 80 % is what the rule itself says."""
    rules = sqrl.RuleSet.from_texts(["0 <= y <= 1"], coverage=[0.8])
    x = torch.linspace(0.1, 1.1, 10)[:, None]
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
    torch.nn.init.ones_(model[0].weight)
    loss = sqrl.RuleLoss(rules, lambda _, out: {"y": out[:, 0]})

    kept = sqrl.adapt(model, sqrl.Batches(x, size=5), loss, parameters="all")
    mended = sqrl.adapt(model, sqrl.Batches(x + 1, size=5), loss, parameters="all")

    assert kept.changed == ()
    assert kept.trace.ending.endswith("no more than the 20.0% that chance would break.")
    assert mended.changed == ("0.weight",)
