"""A task with a known truth whose inputs shift: what adaptation mends, what the guard prevents."""

import warnings
from functools import cache

import numpy as np
import pytest

import sqrl

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from small_model import train_small  # noqa: E402
from sqrl._check.evidence import with_evidence  # noqa: E402
from sqrl._data.table import as_table  # noqa: E402
from sqrl._rows.questions import MemoryAnswers  # noqa: E402
from sqrl._rows.rows import Rows  # noqa: E402

SCHEMA = {
    "label": "y",
    "let": {"L": "literals(x0/4, x1/4, x2/4)", "Y": "values(y)"},
    "rules": ["? <= f1(L{1..2} => y = Y) <= ? over 512"],
    "batches": {"train": 60, "valid": 30},
    "bounds": {"min_support": 50},
    "validate": {"epsilon": 0.5},
}
NORMS = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
LR = 0.05


def made(n, seed):
    """Rows whose label is drawn from a known probability."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    chance = 1 / (1 + np.exp(-(1.5 * x[:, 0] + x[:, 1] - 0.5 * x[:, 2])))
    return x, (rng.random(n) < chance).astype(int)


def table(x):
    """The columns that rules speak of."""
    return {f"x{index}": x[:, index] for index in range(4)}


@cache
def rules():
    """Rules about rows like those that the models were trained on."""
    x, y = made(8000, 0)
    return sqrl.learn(table(x) | {"y": y}, SCHEMA)


@cache
def trained(norm):
    """A small classifier with normalisation layers."""
    return train_small(*made(8000, 0), norm=NORMS[norm], epochs=5)


@cache
def shifted(shift):
    """Test rows whose first column the model sees shifted, and their labels."""
    x, y = made(4096, 1)
    inputs = torch.tensor(x, dtype=torch.float32)
    inputs[:, 0] += shift
    return sqrl.Batches(inputs, table(x), size=512), y


def rule_loss(**options):
    """The loss of the rules on a batch."""
    names = lambda batch, out: {**batch.columns, "y": out.softmax(-1)}  # noqa: E731
    return sqrl.RuleLoss(rules(), names, **options)


def evaluate(model, shift):
    """Accuracy by the true labels, and how far rules are broken on all rows."""
    batches, y = shifted(shift)
    with torch.no_grad():
        accuracy = float((model(batches.inputs).argmax(1).numpy() == y).mean())
        loss = rule_loss()
        excess = [loss.measure(one, model(one.inputs)).mean_excess for one in batches.in_order()]
    return accuracy, float(np.mean(excess))


def adapted(norm, shift, **options):
    """The classifier adapted to the shifted rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sqrl.errors.AdaptWarning)  # that steps were undone
        return sqrl.adapt(trained(norm), shifted(shift)[0], rule_loss(), epochs=4, **options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shift", [0.5, 1.5])
def test_violations_fall_and_accuracy_does_not(norm, shift):
    """Without a label, most of what the shift has cost comes back.

    Not where better rates would cost the ranking of rows that the rules' own opinion has: with
    batch normalisation and the larger shift a third comes back, where it was most (decision 35).
    """
    is_held_back = norm == "batch" and shift > 1
    best, _ = evaluate(trained(norm), 0.0)
    accuracy, excess = evaluate(trained(norm), shift)
    after, excess_after = evaluate(adapted(norm, shift, lr=LR), shift)

    assert excess_after < (0.55 if is_held_back else 0.2) * excess
    assert after - accuracy > (0.3 if is_held_back else 0.8) * (best - accuracy)


@pytest.mark.parametrize("norm", NORMS)
def test_where_there_is_nothing_to_mend_nothing_is_lost(norm):
    """On rows like those of training accuracy stays within half a point."""
    accuracy, excess = evaluate(trained(norm), 0.0)
    after, excess_after = evaluate(adapted(norm, 0.0, lr=LR), 0.0)

    assert abs(after - accuracy) < 0.005
    assert excess_after <= excess * 1.001


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_guard_prevents_what_a_learning_rate_far_too_high_does(norm, shift):
    """A hundred times the rate: without the guard worse than before, with it never."""
    accuracy, excess = evaluate(trained(norm), shift)
    free, excess_free = evaluate(adapted(norm, shift, lr=100 * LR, guard=False), shift)
    kept, excess_kept = evaluate(adapted(norm, shift, lr=100 * LR), shift)

    assert excess_free > excess or free < accuracy
    assert excess_kept <= excess * 1.001
    assert kept >= accuracy - 0.002


def test_tent_under_the_guard_of_rules_does_no_harm():
    """Any objective can be guarded by rules."""
    from sqrl.methods import Tent

    batches, _ = shifted(1.5)
    model = trained("layer")
    accuracy, excess = evaluate(model, 1.5)
    free = sqrl.adapt(model, batches, Tent(), lr=LR, epochs=4)
    kept = sqrl.adapt(model, batches, Tent(), lr=LR, epochs=4, guard=rule_loss())

    assert evaluate(free, 1.5)[1] > excess
    assert evaluate(kept, 1.5)[1] <= excess * 1.001
    assert evaluate(kept, 1.5)[0] >= accuracy - 0.002


def test_rules_regularise_training():
    """Trained on few labels, a model breaks rules less where they are part of its loss."""
    x, y = made(8000, 0)
    few = torch.tensor(x[:60], dtype=torch.float32), torch.tensor(y[:60])
    many = sqrl.Batches(torch.tensor(x, dtype=torch.float32), table(x), size=512, seed=0)
    found = {}
    for weight in (0.0, 1.0):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        optimiser = torch.optim.Adam(model.parameters(), 1e-2)
        loss = rule_loss()
        for _ in range(5):
            for batch in many:
                optimiser.zero_grad()
                cost = nn.functional.cross_entropy(model(few[0]), few[1])
                (cost + weight * loss(batch, model(batch.inputs))).backward()
                optimiser.step()
        found[weight] = evaluate(model.eval(), 0.0)

    assert found[1.0][1] < found[0.0][1] / 2
    assert found[1.0][0] > found[0.0][0]


def test_what_chance_alone_breaks_is_left_alone():
    """Mini-batches a quarter of the rules' size break rules by chance; joined they do not."""
    batches, _ = shifted(0.0)
    model = trained("layer")
    small = sqrl.Batches(batches.inputs, table(made(4096, 1)[0]), size=128)
    wide = [text.replace("over 512", "over 2048") for text in rules().texts()]
    loose = sqrl.RuleSet.from_texts(wide, coverage=[0.9] * len(wide))
    loss = sqrl.RuleLoss(loose, lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    by_chance = np.mean([loss.measure(one, model(one.inputs)).share for one in small])

    adapted = sqrl.adapt(model, small, loss)

    assert by_chance > 0.1
    assert adapted.changed == ()
    assert adapted.trace.records == ()
    assert adapted.trace.ending.startswith("Nothing was done: ")
    assert adapted.trace.ending.endswith("no more than the 10.0% that chance would break.")


def known_of(rule, labels):
    """The rule, with what these labels of held-out rows say of it."""
    held_out = as_table({"a": np.arange(len(labels), dtype=float), "y": labels})
    return MemoryAnswers(Rows(held_out, {}), None).ask([with_evidence(rule, "train")])


def test_few_held_out_rows_do_not_show_that_the_truth_keeps_a_rule():
    """None of four breaks it; as many as half of all may: a model that does has nothing to mend."""
    rule = sqrl.RuleSet.from_texts(["a >= 0 => y = 1"], coverage=[0.98])
    batches = sqrl.Batches(torch.randn(64, 1), {"a": [1.0] * 64}, size=16)
    (known,) = known_of(rule, [1, 1, 1, 1])
    half = [[0.5, 0.5], [0.51, 0.49]] * 8  # what half of the rows break

    def names(batch, out):
        return {**batch.columns, "y": 0 * out + torch.tensor(half)}

    adapted = sqrl.adapt(two_classes(), batches, sqrl.RuleLoss(known, names), epochs=1)

    assert adapted.trace.ending == (
        "Nothing was done: 50.5% of what rules apply to break them, no more than the 52.7% that"
        " true labels of held-out rows may break."
    )


def test_rules_that_the_truth_breaks_are_no_guide():
    """Held-out rows whose labels break a rule in every fourth case: nothing is done, and said."""
    model = two_classes()
    rule = sqrl.RuleSet.from_texts(["a >= 0 => y = 1"], coverage=[0.98])
    batches = sqrl.Batches(torch.randn(64, 1), {"a": [1.0] * 64}, size=16)
    done = {}
    for name, labels in (("true", [1, 1, 1, 1]), ("broken", [1, 1, 1, 0])):
        (known,) = known_of(rule, labels * 25)
        loss = sqrl.RuleLoss(known, lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
        assert loss.held_out_share == (0.0 if name == "true" else 0.25)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done[name] = sqrl.adapt(model, batches, loss, epochs=1)
        assert [str(one.message)[:70] for one in caught] == (
            []
            if name == "true"
            else ["True labels of held-out rows break 100% of the rules too often. A mode"]
        )
    with pytest.warns(sqrl.errors.AdaptWarning, match="True labels of held-out rows break"):
        trusted = sqrl.adapt(model, batches, loss, epochs=1, trust_rules=True)

    assert done["true"].changed == trusted.changed != ()
    assert done["broken"].changed == ()
    assert done["broken"].trace.ending == "Nothing was done: the rules are broken by true labels."


def test_rules_about_single_rows_are_measured_on_more_than_one_mini_batch():
    """Of the first one the rule does not speak, and the others break it."""
    rule = sqrl.RuleSet.from_texts(["a >= 0 => y = 1"], coverage=[0.98])
    loss = sqrl.RuleLoss(rule, lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    batches = [
        sqrl.Batch(torch.ones(8, 1), {"a": torch.full((8,), value)}) for value in (-1.0, 1.0, 1.0)
    ]
    adapted = sqrl.adapt(two_classes(), batches, loss, epochs=1)

    assert len(adapted.trace) == 1


def two_classes():
    """A small classifier that is not sure of anything."""
    torch.manual_seed(0)
    return nn.Sequential(nn.LayerNorm(1), nn.Linear(1, 2))


def test_rules_whose_own_columns_have_drifted_are_no_guide():
    """Nothing is done, and a warning says why; who trusts the columns can go on."""
    x, _ = made(4096, 1)
    drifted = x + np.array([1.0, 0.7, -0.6, 0.0])
    inputs = torch.tensor(drifted, dtype=torch.float32)
    model = trained("layer")
    wrong, right = (sqrl.Batches(inputs, table(rows), size=512) for rows in (drifted, x))
    says = "The table has changed: how often the rules' conditions hold"

    with pytest.warns(sqrl.errors.AdaptWarning, match=says):
        left_alone = sqrl.adapt(model, wrong, rule_loss(), epochs=1)
    with pytest.warns(sqrl.errors.AdaptWarning, match=says):
        trusted = sqrl.adapt(model, wrong, rule_loss(), epochs=1, trust_rules=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted = sqrl.adapt(model, right, rule_loss(), epochs=1)

    assert left_alone.changed == ()
    assert left_alone.trace.ending == "Nothing was done: the table has changed too much."
    assert len(trusted.trace) == len(adapted.trace) == 1
