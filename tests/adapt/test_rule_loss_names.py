"""What RuleLoss says of names and rules that do not fit one another."""

import numpy as np
import pytest

import sqrl
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError, UnknownNameError

torch = pytest.importorskip("torch")

from sqrl._adapt.rule_loss.loss import RuleLoss  # noqa: E402


def message(rules, names, out, **options):
    """What is said of names that do not fit the rules."""
    with pytest.raises((AdaptError, UnknownNameError)) as caught:
        RuleLoss(RuleSet.from_texts(rules), lambda _, out: names(out), **options)(None, out)
    return str(caught.value)


RATE = ["0.1 <= rate(y = 1) <= 0.2 over 4"]
LOGITS = torch.zeros(4, 2)


@pytest.mark.parametrize(
    ("rules", "names", "expected"),
    [
        (
            RATE,
            lambda out: {"yy": out.softmax(-1)},
            "The rules speak of 'y', which the names function does not give.\n"
            "  fix:   return it from names=lambda batch, out: {...}; did you mean 'yy'?",
        ),
        (
            RATE,
            lambda out: {"y": out + 1},
            "The probabilities of 'y' add up to 2 in row 1.\n"
            "  fix:   give probabilities, such as out.softmax(-1), not logits",
        ),
        (
            RATE,
            lambda out: out,
            "The names function gave a Tensor, not a dict of tensors.\n"
            '  fix:   write names=lambda batch, out: {"label": out.softmax(-1), **batch.columns}',
        ),
        (
            RATE,
            lambda out: {"y": out[None]},
            "'y' has the shape (1, 4, 2).\n"
            "  fix:   give (rows,) for numbers, such as out[..., 0].flatten(), "
            "or (rows, classes) for probabilities",
        ),
        (
            ["x <= 1", *RATE],
            lambda out: {"y": out.softmax(-1), "x": out[:3, 0]},
            "The names have different numbers of rows (x: 3, y: 4).\n"
            "  fix:   give every name a value for each row of the batch",
        ),
        (
            ["0.1 <= rate(y = a and x = b) <= 0.2 over 4"],
            lambda out: {"y": out.softmax(-1), "x": out.softmax(-1)},
            "Two names hold probabilities of classes: x and y.\n"
            "  fix:   rules can be about the classes of one label; adapt to the other in another "
            "loss",
        ),
        (
            ["0.1 <= rate(y = a) <= 0.2 over 4"],
            lambda out: {"y": out.softmax(-1)},
            "'y' has 2 columns of probabilities, and the rules speak of 1 classes.\n"
            "  fix:   say which is which: classes=['a']",
        ),
        (
            ["y = 1 or x > 0 => x <= 1"],
            lambda out: {"y": out.softmax(-1), "x": out[:, 0]},
            "No rule can be computed: 'y = 1 or x > 0' mixes the label with other columns in one "
            "formula.\n  where: y = 1 or x > 0 => x <= 1",
        ),
        (
            ["kind = Car => x <= 1"],
            lambda out: {"kind": out[:, 0], "x": out[:, 1]},
            "The rules compare 'kind' with 'Car', but it holds numbers.\n"
            "  fix:   give sqrl.Categories(codes, names) under this name, or probabilities "
            "(rows, classes)",
        ),
        (
            ["x <= 1"],
            lambda _: {"x": ["a", "b", "c", "d"]},
            "The rules need numbers in 'x', but it holds categories.\n"
            "  fix:   give a tensor of numbers under this name",
        ),
    ],
)
def test_names_that_do_not_fit_the_rules_are_explained(rules, names, expected):
    """What is wrong, and how to mend it, word for word."""
    assert message(rules, names, LOGITS) == expected


def test_a_table_that_replaces_the_prediction_is_found_out():
    """The true label in the prediction's place would leak it, and has no gradient."""
    out = torch.zeros(4, 2, requires_grad=True)
    rule = "0.1 <= f1(a > 0 => y = 1) <= 0.2 over 4"
    columns = {"a": torch.ones(4), "y": torch.tensor([0, 1, 1, 0])}
    said = message([rule], lambda out: {"y": out.softmax(-1), **columns}, out)

    assert said == (
        "No rule has a gradient: nothing that they bound depends on the model.\n"
        "  where: 0.1 <= f1(a > 0 => y = 1) <= 0.2 over 4\n"
        "  fix:   put the prediction last, so that no column replaces it: "
        "{**batch.columns, 'y': out.softmax(-1)}"
    )


def test_rules_without_a_gradient_are_named():
    """Some rules may be about inputs alone: they are counted, and said to move nothing."""
    rules = RuleSet.from_texts([*RATE, "a <= 1"])
    loss = RuleLoss(rules, lambda _, out: {"y": out.softmax(-1), "a": torch.ones(4)})
    loss(None, torch.zeros(4, 2, requires_grad=True))

    assert loss.notes == ["1 rules have no gradient, such as a <= 1"]


def test_mini_batches_of_another_size_are_noted():
    """Bounds are for mini-batches of the size that the rules name."""
    loss = RuleLoss(RuleSet.from_texts(RATE), lambda _, out: {"y": out.softmax(-1)})
    loss(None, torch.zeros(4, 2, requires_grad=True))
    assert loss.notes == []

    loss(None, torch.zeros(3, 2, requires_grad=True))
    assert loss.notes == [
        "The rules are about mini-batches of 4 rows, those of steps have 3: smaller ones break"
        " rules more often by chance."
    ]


def test_mini_batches_of_units_may_have_any_size_but_a_small_one():
    """About as many rows as units have in the data that rules were learned from."""
    boxes = {"image": np.repeat(np.arange(40), 5), "y": np.arange(200) % 2}
    schema = {"rules": ["? <= rate(y = 1) <= ? over 4 units"], "unit": "image", "label": "y"}
    loss = RuleLoss(sqrl.learn(boxes, schema), lambda _, out: {"y": out.softmax(-1)})
    for n_rows in (20, 31):
        loss(None, torch.zeros(n_rows, 2, requires_grad=True))
        assert loss.notes == []

    loss(None, torch.zeros(19, 2, requires_grad=True))
    assert loss.largest_size == 20
    assert loss.notes == [
        "The rules are about mini-batches of 4 units, about 20 rows, those of steps have 19:"
        " smaller ones break rules more often by chance."
    ]


def test_no_rules_and_unknown_options_are_refused():
    """An empty rule set is a mistake, not a loss of zero."""
    with pytest.raises(AdaptError, match="There are no rules"):
        RuleLoss(RuleSet.from_texts([]), lambda _, out: out)
    with pytest.raises(AdaptError, match="'quadratic' is not known"):
        RuleLoss(RuleSet.from_texts(RATE), lambda _, out: out, loss="quadratic")


def test_a_statistic_of_ones_own_needs_a_tensor_form():
    """It is left out and named, until one is registered."""

    @sqrl.statistic("reach")
    def reach(values):
        return values.max(axis=-1) - values.min(axis=-1)

    rules = RuleSet.from_texts(["reach(x) <= 1 over 4", "x <= 9"])
    loss = RuleLoss(rules, lambda _, out: {"x": out})
    assert float(loss(None, torch.tensor([0.0, 3.0]))) == 0.0
    assert loss.left_out == {
        "reach(x) <= 1 over 4": "reach(...) has no tensor form; "
        "register one with sqrl.tensor_statistic('reach')"
    }

    @sqrl.tensor_statistic("reach")
    def tensor_reach(values, _):
        return values.amax(-1) - values.amin(-1)

    loss = RuleLoss(rules, lambda _, out: {"x": out})
    assert float(loss(None, torch.tensor([0.0, 3.0]))) == pytest.approx(2.0 / 2)


def test_a_tensor_form_belongs_to_a_function_and_not_to_its_name():
    """Another statistic under the name of a built-in one does not get that one's tensor form."""
    rules = RuleSet.from_texts(["mean(x) <= 1 over 4", "x <= 9"])
    sqrl.statistic("mean", no_torch="it is a made-up one")(lambda values: values[:, 0])
    loss = RuleLoss(rules, lambda _, out: {"x": out})
    loss(None, torch.tensor([0.0, 3.0]))

    assert loss.left_out == {
        "mean(x) <= 1 over 4": "mean(...) has no tensor form: it is a made-up one"
    }


def double_twin(values, weights):
    """Twice the weighted sum, on tensors."""
    return 2 * (values * weights).sum(-1)


def test_a_tensor_form_comes_with_the_registration():
    """One decorator says all there is to say of a statistic."""
    sqrl.statistic("twice_sum", torch=double_twin)(lambda values: 2 * np.nansum(values, axis=-1))
    loss = RuleLoss(
        RuleSet.from_texts(["0 <= twice_sum(x) <= 1 over 4"]), lambda _, out: {"x": out}
    )
    out = torch.tensor([0.5, 0.5], requires_grad=True)
    value = loss(None, out)
    value.backward()

    assert value.item() == pytest.approx(1.0)
    assert out.grad.tolist() == [2.0, 2.0]


def test_arithmetic_on_counts_has_a_gradient_also_where_it_is_undefined():
    """A division by zero in one rule does not spoil the gradient of another."""
    sqrl.statistic("jaccard", of="counts")(
        lambda body, head, both, _rows: both / (body + head - both)
    )
    rules = RuleSet.from_texts(
        ["jaccard(x > 9 => y = 1) <= 0.1 over 4", "jaccard(x > 0 => y = 1) <= 0.1 over 4"]
    )
    loss = RuleLoss(rules, lambda batch, out: {"x": batch, "y": out.softmax(-1)})
    out = torch.zeros(2, 2, requires_grad=True)
    value = loss(torch.tensor([1.0, -1.0]), out)
    value.backward()

    assert loss.left_out == {}
    assert torch.isfinite(out.grad).all()
    assert out.grad.abs().sum() > 0
