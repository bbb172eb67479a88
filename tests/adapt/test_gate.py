"""Before the first step all rows are looked at: what may be adapted to, and by which rules."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

import sqrl
from rows_of_two_classes import OVER, accuracy, columns, made, rules, trained
from sqrl._adapt.batches import Batch, Categories, join_batches
from sqrl.errors import AdaptWarning


@dataclass
class Output:
    logits: Tensor


class Wrapped(nn.Module):
    """The model, with its output in another shape."""

    def __init__(self, kind):
        super().__init__()
        self.inner, self.kind = trained(), kind

    def forward(self, x):
        out = self.inner(x)
        kinds = {"logits": Output(out), "dict": {"scores": out}, "tuple": (out, x)}
        return kinds[self.kind]


PICK = {
    "logits": lambda out: out.logits,
    "dict": lambda out: out["scores"],
    "tuple": lambda out: out[0],
}


def adapt(fed, seen, *, door="Batches", model=None, pick=None, **options):
    """The model adapted to rows that come through one kind of loader, and what was warned of."""
    options = {"epochs": 8, **options}
    inputs, table = torch.tensor(fed, dtype=torch.float32), columns(seen)
    batches = sqrl.Batches(inputs, table, size=OVER)
    get = pick or (lambda out: out)
    names = lambda batch, out: {**batch.columns, "y": get(out).softmax(-1)}  # noqa: E731
    if door == "list":
        batches = list(batches)
    elif door == "generator":
        batches, options = (one for one in list(batches)), {**options, "epochs": 1}
    elif door in ("tuples", "dicts"):
        rows = [
            (inputs[at], {name: torch.tensor(values[at]) for name, values in table.items()})
            for at in range(len(inputs))
        ]
        if door == "dicts":
            rows = [{"x": x, "columns": one} for x, one in rows]
        first, second = (0, 1) if door == "tuples" else ("x", "columns")
        batches = DataLoader(rows, batch_size=OVER, shuffle=True)
        names = lambda batch, out: {**batch[second], "y": get(out).softmax(-1)}  # noqa: E731
        options["forward"] = lambda model, batch: model(batch[first])
    loss = sqrl.RuleLoss(rules(), names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapted = sqrl.adapt(model or trained(), batches, loss, **options)
    assert loss.standing is None  # rules stand as they were given
    return adapted, [str(one.message) for one in caught if one.category is AdaptWarning]


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


DOORS = ("Batches", "list", "generator", "tuples", "dicts")


@pytest.mark.parametrize("door", DOORS)
def test_a_changed_table_is_refused_through_every_loader(door):
    """All columns drawn anew from elsewhere: the source is returned, and a warning says why."""
    x, _ = made(1024, 1)
    wrong = 0.3 * x[:, ::-1] + 1.0

    adapted, said = adapt(wrong, wrong, door=door)

    assert adapted.changed == ()
    assert len(said) == 1
    assert said[0].startswith("The table has changed: ")
    assert said[0].endswith("or pass trust_rules=True to adapt all the same.")


@pytest.mark.parametrize("kind", PICK)
def test_it_is_refused_whatever_shape_the_output_has(kind):
    """An output with `.logits`, a dict, a tuple: rules see what names() makes of it."""
    x, _ = made(1024, 1)
    wrong = 0.3 * x[:, ::-1] + 1.0

    adapted, said = adapt(wrong, wrong, model=Wrapped(kind), pick=PICK[kind])

    assert adapted.changed == ()
    assert said[0].startswith("The table has changed: ")


@pytest.mark.parametrize("mode", ["online", "episodic"])
def test_it_is_refused_in_a_stream_too(mode):
    """Every mini-batch is predicted by the source, and its record says why."""
    x, _ = made(1024, 1)
    wrong = 0.3 * x[:, ::-1] + 1.0

    adapted, said = adapt(wrong, wrong, mode=mode)

    assert adapted.changed == ()
    assert any(one.startswith("The table has changed: ") for one in said)
    assert all(record.why and not record.n_steps for record in adapted.trace.records)


def test_too_few_rows_to_tell_are_left_alone():
    """Unless asked for; either way a warning says that it cannot be told."""
    x, _ = made(OVER // 2, 1)
    fed = x + np.array([1.5, 0, 0])

    left, said = adapt(fed, x)
    trusted, also = adapt(fed, x, trust_rules=True)

    assert left.changed == ()
    assert "cannot be told: there are 128 rows" in said[0]
    assert trusted.changed
    assert "cannot be told" in also[0]


def test_a_change_in_the_last_rows_is_seen():
    """All rows are looked at, not the first ones that rules are about."""
    x, _ = made(4096, 1)
    later = np.concatenate([x[:OVER], 0.3 * x[OVER:, ::-1] + 1.0])

    assert adapt(later, later, door="list")[0].changed == ()


def test_rules_about_one_drifted_column_are_left_out_and_the_others_serve_if_asked():
    """Whether the column is wrong or rows are others cannot be told; who knows says so."""
    x, y = made(2048, 1)
    wrong = x + np.array([1.5, 0, 0])

    left, said = adapt(wrong, wrong)
    asked, also = adapt(wrong, wrong, trust_rules=True)

    assert left.changed == ()
    assert said[0].startswith("x0 drifted, and nothing else: ")
    assert also[0].startswith("x0 drifted, and nothing else: ")
    assert any("they name x0, which drifted" in note for note in asked.trace.notes)
    assert accuracy(asked, wrong, y) > accuracy(trained(), wrong, y) + 0.05


@pytest.mark.parametrize("share", [0.05, 0.6])
def test_another_balance_of_classes_is_followed(share):
    """Bounds move with it; by the bounds as learned the model would be led astray."""
    x, y = made(2048, 1, share)

    adapted, said = adapt(x, x)
    led_astray, _ = adapt(x, x, trust_rules=True)

    assert said == []
    assert any("The balance of classes has changed: " in note for note in adapted.trace.notes)
    assert accuracy(adapted, x, y) > accuracy(trained(), x, y) - 0.003
    assert accuracy(led_astray, x, y) < accuracy(trained(), x, y) - 0.02


def test_classes_in_the_wrong_order_are_warned_of():
    """The warning gives the order that fits."""
    x, _ = made(1024, 1)

    _, said = adapt(x, x, pick=lambda out: out.flip(-1))

    assert any(
        one.startswith("The classes may be in another order: ") and "classes=['1', '0']" in one
        for one in said
    )


def test_rules_without_a_history_say_what_they_cannot_tell():
    """Rules written by hand do not know how often their conditions held."""
    loss_rules = sqrl.RuleSet.from_texts(["0.1 <= rate(y = 1) <= 0.2 over 64"])
    loss = sqrl.RuleLoss(loss_rules, lambda _, out: {"y": out.softmax(-1)})
    x, _ = made(256, 1)

    adapted = sqrl.adapt(trained(), sqrl.Batches(torch.tensor(x).float(), size=64), loss, epochs=2)

    assert any("cannot be told: the rules do not know" in note for note in adapted.trace.notes)


class InPlace(nn.Module):
    """A model that normalises its input in place."""

    def __init__(self):
        super().__init__()
        self.inner = trained()

    def forward(self, x):
        return self.inner(x.sub_(0.5).div_(2).mul_(2).add_(0.5).add_(0.3))


def test_a_model_that_changes_its_input_gets_a_copy_each_time():
    """The same mini-batch is run many times; so is the user's own tensor in a list."""
    given = [Batch(torch.randn(64, 3), {}) for _ in range(3)]
    before = [one.inputs.clone() for one in given]
    loss = sqrl.RuleLoss(
        sqrl.RuleSet.from_texts(["0.8 <= rate(y = 1) <= 0.9 over 64"]),
        lambda _, out: {"y": out.softmax(-1)},
    )

    adapted = sqrl.adapt(InPlace(), given, loss, epochs=2)
    once, twice = adapted.predict(given), adapted.predict(given)

    assert torch.equal(once, twice)
    assert all(torch.equal(one.inputs, was) for one, was in zip(given, before, strict=True))
