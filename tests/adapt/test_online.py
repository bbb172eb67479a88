"""A stream is followed while it drifts, and left to the source again when the drift ends."""

import warnings

import numpy as np
import torch
from torch import nn

import sqrl
from rows_of_two_classes import OVER, accuracy, columns, made, rules, trained
from sqrl._adapt.optimiser import Optimiser


def stream(mode="online", **options):
    """Accuracy of each mini-batch, by the source and as adapted: six like before, drifted, like."""
    seen = [made(OVER, 100 + at) for at in range(18)]
    fed = [x + np.array([1.5 * (6 <= at < 12), 0, 0]) for at, (x, _) in enumerate(seen)]
    batches = [
        sqrl.Batch(torch.tensor(x, dtype=torch.float32), one_batch(table))
        for x, (table, _) in zip(fed, seen, strict=True)
    ]
    loss = sqrl.RuleLoss(rules(), lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made_of = list(sqrl.adapt_stream(trained(), batches, loss, mode=mode, **options))
    right = [
        float((out.argmax(1).numpy() == y).mean())
        for (out, _), (_, y) in zip(made_of, seen, strict=True)
    ]
    source = [accuracy(trained(), x, y) for x, (_, y) in zip(fed, seen, strict=True)]
    return np.array(right), np.array(source), [record for _, record in made_of]


def one_batch(x):
    return {name: torch.tensor(values) for name, values in columns(x).items()}


def test_a_stream_returns_to_the_source_when_the_drift_ends():
    """Within three mini-batches; before, the moments of refused steps kept it in the drift."""
    right, source, records = stream(epochs=3)

    assert (right[8:12] - source[8:12]).mean() > 0.05
    assert (right[15:] - source[15:]).mean() > -0.005
    assert any("no more than" in record.why for record in records[13:])


def test_episodic_is_at_the_source_at_once():
    """Each mini-batch by itself: nothing is left of the ones before."""
    right, source, _ = stream("episodic", epochs=10)

    assert (right[6:12] - source[6:12]).mean() > 0.05
    assert (right[13:] - source[13:]).mean() > -0.005


def test_the_first_rows_of_a_stream_are_too_few_to_tell():
    """They are predicted by the source, and the record says why."""
    x, _ = made(OVER, 1)
    halves = x[: OVER // 2], x[OVER // 2 :]
    loss = sqrl.RuleLoss(rules(), lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    batches = [sqrl.Batch(torch.tensor(one).float() + 1.0, one_batch(one)) for one in halves]

    first, second = [record for _, record in sqrl.adapt_stream(trained(), batches, loss)]

    assert first.why.startswith("Nothing was done: there were 128 rows so far, and it takes 256")
    assert second.why == ""


def test_what_the_optimiser_forgets_has_no_part_in_the_next_step():
    """After steps the other way and back, a step is as the first one would have been."""
    values = {}
    for name in ("fresh", "forgotten", "remembered"):
        weight = nn.Parameter(torch.zeros(3))
        optimiser = Optimiser({"weight": weight}, lr=0.1)
        start = optimiser.take()
        if name != "fresh":
            for _ in range(5):
                optimiser.update(-weight.sum())
            with torch.no_grad():
                weight.copy_(start.masters[0])
        if name == "forgotten":
            optimiser.forget()
        optimiser.update(weight.sum())
        values[name] = weight.detach().clone()

    assert torch.equal(values["forgotten"], values["fresh"])
    assert not torch.equal(values["remembered"], values["fresh"])
