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

    loss(None, torch.zeros(5, 2, requires_grad=True))
    assert loss.notes[1:] == [
        "The rules are about mini-batches of 4 rows, those of steps have 5: larger ones vary less,"
        " and break rules less often."
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


def one_logit(out):
    """The probability of one class, from a model with one output."""
    return {"age": torch.tensor([50.0, 70.0]), "y": out.sigmoid()}


LOGIT = torch.zeros(2, 1, requires_grad=True)
HOW_ONE = (
    "of one logit give the probabilities of both classes, in their order:"
    " p = out.sigmoid().flatten(); {'y': torch.stack([1 - p, p], 1)}"
)


def test_one_logit_is_answered_with_how_to_give_two_classes():
    """Word for word, whichever way it is noticed; and what is said works."""
    assert message(["age > 60 => y = yes"], one_logit, LOGIT) == (
        "No rule can be computed: nothing can change whether 'y = yes' holds: it is not about"
        f" probabilities.\n  where: age > 60 => y = yes\n  fix:   {HOW_ONE}"
    )
    assert message(["0.5 <= rate(y = 1) <= 0.8 over 2"], one_logit, LOGIT) == (
        "No rule has a gradient: nothing that they bound depends on the model.\n"
        f"  where: 0.5 <= rate(y = 1) <= 0.8 over 2\n  fix:   {HOW_ONE}"
    )
    assert message(
        ["age > 60 => 0 <= y <= 0.1", "0.5 <= rate(y = yes) over 2"], one_logit, LOGIT
    ) == (
        "The rules compare 'y' with 'yes', but it holds numbers.\n"
        "  fix:   give sqrl.Categories(codes, names) under this name, or probabilities"
        " (rows, classes); of one logit: p = out.sigmoid().flatten(); torch.stack([1 - p, p], 1)"
    )

    def names(_, out):
        p = out.sigmoid().flatten()
        return {"y": torch.stack([1 - p, p], 1)}

    loss = RuleLoss(RuleSet.from_texts(["0.75 <= rate(y = 1) <= 1 over 2"]), names)

    assert loss(None, LOGIT).item() == pytest.approx(1.0)  # a half is 0.25 too low: one width


def test_rules_of_a_file_are_read_and_other_things_refused(tmp_path):
    """A path serves as it does for `df.sqrl.check`."""
    RuleSet.from_texts(RATE).save(tmp_path / "rules.json")
    names = lambda _, out: {"y": out.softmax(-1)}  # noqa: E731

    for path in (tmp_path / "rules.json", str(tmp_path / "rules.json")):
        assert RuleLoss(path, names).rules.texts() == RATE
    with pytest.raises(AdaptError) as caught:
        RuleLoss(RATE, names)
    assert str(caught.value) == (
        "The rules are a list.\n"
        "  fix:   give the rules of sqrl.learn(...), the path of a rules file, or"
        " sqrl.RuleSet.from_texts([...])"
    )


@pytest.mark.usefixtures("_slowly")  # the compiler alone takes seconds to load
@pytest.mark.filterwarnings("ignore")  # the compiler looks at whatever it meets
def test_a_compiled_loss_and_a_compiled_step_give_what_the_loss_gives():
    """No part of it is compiled: it holds sentences, and would be cut into many graphs."""
    rules = RuleSet.from_texts(
        ["0.1 <= f1(age > 50 => y = 1) <= 0.2 over 4", "0.3 <= precision(kind = a => y = 1) over 4"]
    )
    batch = sqrl.Batch(
        None, sqrl._adapt.batches.columns_of({"age": [40, 60, 70, 80], "kind": list("abab")})
    )
    loss = RuleLoss(rules, lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    out = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5], [2.0, 0.0]], requires_grad=True)

    def step(out):
        return (2 * out).sum() + loss(batch, 2 * out)

    def slope(value):
        return torch.autograd.grad(value, out)[0].tolist()

    assert slope(torch.compile(loss, backend="eager")(batch, out)) == slope(loss(batch, out))
    assert slope(torch.compile(step, backend="eager")(out)) == slope(step(out))


def test_no_step_but_the_first_waits_for_what_was_computed():
    """On a GPU, to ask whether any value is wrong or missing is to wait for all before it."""
    from torch.utils._python_dispatch import TorchDispatchMode

    asked = []

    class Asked(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function.name() in {"aten::_local_scalar_dense", "aten::nonzero", "aten::equal"}:
                asked.append(function.name())
            return function(*args, **(kwargs or {}))

    rules = RuleSet.from_texts(
        [
            "0.1 <= f1(age > 50 and not 55 <= age <= 65 => y = 1) <= 0.2 over 4",
            "0.3 <= precision(kind = a => y = 1) over 4",
            "y = 1 => 50 <= age <= 60",
            "age > 60 => y = 1",
            "y = 1 => 0.1 <= mean(age) <= 10 over 4",
        ]
    )
    columns = sqrl._adapt.batches.columns_of({"age": [40, None, 70, 80], "kind": list("abab")})
    loss = RuleLoss(rules, lambda _, out: {**columns, "y": out.softmax(-1)})
    out = torch.zeros(4, 2, requires_grad=True)
    with Asked():
        loss(None, out)
        first = len(asked)
        loss(None, out).backward()

    assert first  # wrong probabilities are still refused, and the mode above sees such questions
    assert asked[first:] == []
