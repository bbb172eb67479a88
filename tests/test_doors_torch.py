"""The doors of adaptation: another loss or method, and what every method must do."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import sqrl as library  # noqa: E402
from adapt_models import bits, some_batches, with_batch_norm  # noqa: E402
from sqrl._adapt.objective import Objective  # noqa: E402
from sqrl._adapt.rule_loss.penalties import LOSSES, Penalty, excess  # noqa: E402
from sqrl.errors import AdaptError  # noqa: E402
from sqrl.methods import METHODS, TableNoise  # noqa: E402

ROOT = Path(__file__).parent.parent
RATE = library.RuleSet.from_texts(["0.125 <= rate(y = 1) <= 0.375 over 4"])


def names(batch, out):
    del batch
    return {"y": out.softmax(-1), "x": out[:, 0]}


# --- losses


def squared(value, lower, upper):
    return excess(value, lower, upper).square()


def missed(found, is_kept):
    return (found.held & ~is_kept()).sum(1) / found.held.shape[1]


TOY_LOSS = Penalty("toy", outside=squared, implied=missed)


def test_a_new_loss_is_reached_by_its_name():
    """Bounds of statistics, bounds of rows and implied classes: each costs what the loss says."""
    texts = [*RATE.texts(), "x <= -1", "x > -5 => y = 1"]
    out = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    probability = out.softmax(-1)[:, 1]
    beyond = (probability.mean() - 0.375).clamp(min=0) / 0.25
    by_hand = [beyond**2, (out[:, 0] + 1).square().mean(), torch.tensor(0.75)]
    with LOSSES.adding("toy", TOY_LOSS):
        for text, expected in zip(texts, by_hand, strict=True):
            loss = library.RuleLoss(library.RuleSet.from_texts([text]), names, loss="toy")
            assert float(loss(None, out)) == pytest.approx(float(expected)), text
    with pytest.raises(AdaptError) as raised:
        library.RuleLoss(RATE, names, loss="toy")

    known = "expected, paper, released"
    assert str(raised.value) == f"'toy' is not known.\n  fix:   use one of: {known}"


def test_a_model_is_adapted_to_a_new_loss():
    """It is lower afterwards; how rules are measured does not depend on the loss."""
    rules = library.RuleSet.from_texts(["0.8 <= rate(y = 1) <= 0.9 over 16"])
    model, batches = with_batch_norm().eval(), some_batches()
    with LOSSES.adding("toy", TOY_LOSS):
        loss = library.RuleLoss(rules, names, loss="toy")
    plain = library.RuleLoss(rules, names)
    adapted = library.adapt(model, batches, loss, epochs=5, lr=1e-2)

    together = torch.cat(batches)
    assert loss(None, adapted(together)) < loss(None, model(together))
    measured = [one.measure(None, model(together)).excess for one in (loss, plain)]
    assert torch.equal(*measured)


@pytest.mark.parametrize("name", list(LOSSES))
def test_every_loss_is_zero_for_what_holds_and_is_documented(name):
    """And for what is undefined; positive and with a gradient for what is broken."""
    penalty = LOSSES[name]
    ends = torch.zeros(3), torch.ones(3)
    value = torch.tensor([0.5, torch.nan, 1.25], requires_grad=True)
    cost = penalty.outside(value, *ends)
    (gradient,) = torch.autograd.grad(cost.sum(), value)

    assert penalty.name == name
    assert cost[:2].tolist() == [0.0, 0.0]
    assert cost[2] > 0
    assert gradient[2] > 0
    assert f'loss="{name}"' in (ROOT / "docs" / "adapt.md").read_text()


# --- methods


class Small(Objective):
    """Outputs should be small."""

    def forward(self, batch, out, context=None):
        del batch, context
        return out.square().mean()


class Fair:
    """A classifier to whom both classes are equally likely."""

    classes_ = (0, 1)

    def predict_proba(self, rows):
        return torch.full((len(rows), 2), 0.5).numpy()


MADE = {
    "Unadapted": lambda method: method(),
    "BN": lambda method: method(),
    "Tent": lambda method: method(),
    "RPL": lambda method: method(),
    "CPL": lambda method: method(),
    "MEMO": lambda method: method(TableNoise(noise=0.5), n=2),
    "EATA": lambda method: method(some_batches(1, seed=1)),
    "SAR": lambda method: method(),
    "CoTTA": lambda method: method(TableNoise(noise=0.5), n=2),
    "Distil": lambda method: method(Fair(), None, features=lambda batch: batch),
    "Clip": lambda method: method(
        library.RuleSet.from_texts(["-0.1 <= a <= 0.1", "-0.1 <= b <= 0.1"]), ["a", "b"]
    ),
    "Mask": lambda method: method(
        library.RuleSet.from_texts(["c > 0 => y = 1"]),
        names=lambda batch, _: {"c": batch[:, 0]},
        classes=[0, 1],
    ),
    "Bias": lambda method: method(library.RuleLoss(RATE, names), 2),
}


def conforms(method, build):
    """Behind `adapt`: each row predicted, the same for the same seed, the source untouched."""
    model, batches = with_batch_norm().eval(), some_batches(3)
    before = bits(model)
    adapted = [library.adapt(model, batches, build(method), epochs=2, seed=1) for _ in range(2)]
    predicted = [one.predict(batches) for one in adapted]

    assert issubclass(method, Objective)
    assert bits(model) == before
    assert predicted[0].shape[0] == sum(len(batch) for batch in batches)
    assert not predicted[0].isnan().any()
    assert torch.equal(*predicted)
    assert method.__name__ in adapted[0].trace.objective


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_runs_behind_adapt_and_leaves_the_source_untouched(name):
    """A new one is added to MADE, which says how it is made."""
    conforms(METHODS[name], MADE[name])


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_is_documented(name):
    """In the table of docs/methods.md and in that of the package, under the name that it has."""
    import sqrl.methods

    assert getattr(sqrl.methods, name) is METHODS[name]
    assert f"| `{name}(" in (ROOT / "docs" / "methods.md").read_text()
    assert f"| `{name}`" in sqrl.methods.__doc__


def test_a_new_method_is_registered_by_its_name():
    """It needs no entry to be used; with one, it must do what every method does."""
    with METHODS.adding("Small", Small):
        assert list(METHODS)[-1] == "Small"
        conforms(METHODS["Small"], lambda method: method())

    assert "Small" not in METHODS
