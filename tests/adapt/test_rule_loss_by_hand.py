"""RuleLoss against values computed by hand and against finite differences."""

import math

import pytest

from sqrl._rules.ruleset import RuleSet

torch = pytest.importorskip("torch")

from sqrl._adapt.rule_loss.loss import RuleLoss  # noqa: E402
from sqrl._adapt.rule_loss.penalties import excess, paper_penalty, sigmoid_step  # noqa: E402


def value_of(rule, names, **options):
    """The loss of one rule on named values."""
    loss = RuleLoss(RuleSet.from_texts([rule]), lambda _, out: out, **options)
    return float(loss(None, {name: torch.tensor(value) for name, value in names.items()}))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("2 <= x", 0.75),  # 2 - 1.25 below the bound
        ("5 <= x", 1.0),  # clipped
        ("x <= 1", 0.25),
        ("1 <= x <= 2", 0.0),
        ("2 <= x <= 3", 0.75 * 1.75 if 0.75 * 1.75 < 1 else 1.0),
        ("1.5 <= x <= 2", 0.25 * 0.75),
        ("0 <= x <= 1", 1.25 * 0.25),
    ],
)
def test_the_papers_loss_by_hand(rule, expected):
    """Eq. 4: the distance from one bound; Appendix B: the product of both distances; at most 1."""
    assert value_of(rule, {"x": [1.25]}, loss="paper") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("2 <= x <= 4", 0.75 / 2),  # in widths
        ("0 <= x <= 1", 0.25 / 1),
        ("0.5 <= x <= 0.75", 0.5 / 0.25),  # twice the width, not clipped
        ("2 <= x", 0.75 / 2),  # in the size of the bound
        ("x <= -4", 5.25 / 4),
        ("1 <= x <= 1", 0.25),  # a point: in its size
        ("0 <= x <= 0", 1.25),  # in ones
    ],
)
def test_the_expected_loss_by_hand(rule, expected):
    """A violation counts in widths of the interval, whatever the unit of the statistic."""
    assert value_of(rule, {"x": [1.25]}) == pytest.approx(expected)


def test_the_loss_is_the_mean_over_all_rules():
    """Eq. 5: kept rules count too, and rows are averaged."""
    rules = RuleSet.from_texts(["0 <= x <= 1", "0 <= x <= 9", "x <= 2"])
    loss = RuleLoss(rules, lambda _, out: {"x": out})

    # rows 2 and 3: (1 + 2) / 2 widths, nothing, (0 + 1 / 2) / 2
    assert float(loss(None, torch.tensor([2.0, 3.0]))) == pytest.approx((1.5 + 0 + 0.25) / 3)


def test_the_expected_f1_by_hand():
    """Rows of the head are replaced by their probabilities: 2 sum(p in body) / (body + sum(p))."""
    loss = RuleLoss(
        RuleSet.from_texts(["0.5 <= f1(a > 0 => y = 1) <= 0.75 over 4"]),
        lambda _, out: {"a": torch.tensor([1.0, 1.0, 0.0, 0.0]), "y": out},
    )
    p = torch.tensor([0.5, 0.25, 0.75, 1.0])
    f1 = 2 * (0.5 + 0.25) / (2 + 2.5)

    assert float(loss(None, torch.stack([1 - p, p], 1))) == pytest.approx((0.5 - f1) / 0.25)


@pytest.mark.parametrize(("slope", "offset"), [(-1.0, 0.0), (-100.0, -0.5), (-7.0, 0.25)])
def test_sigmoid_f1_is_its_formula(slope, offset):
    """Benedict et al.: tp, fp and fn with a sigmoid of the prediction in place of a decision."""
    y = torch.tensor([1.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    p = torch.tensor([0.51, 0.25, 0.75, 0.52, 0.49], dtype=torch.float64)
    sig = 1 / (1 + torch.exp(slope * (p + offset)))
    tp, fp, fn = (sig * y).sum(), (sig * (1 - y)).sum(), ((1 - sig) * y).sum()
    f1 = float(2 * tp / (2 * tp + fn + fp))
    loss = RuleLoss(
        RuleSet.from_texts(["0.9 <= f1(a = 1 => y = 1) <= 0.95 over 5"]),
        lambda _, out: {"a": y, "y": out},
        loss="paper",
        slope=slope,
        offset=offset,
    )

    assert sigmoid_step(p, slope, offset).tolist() == pytest.approx(sig.tolist())
    assert float(loss(None, torch.stack([1 - p, p], 1))) == pytest.approx((0.9 - f1) * (0.95 - f1))


def test_the_released_loss_by_hand():
    """Distances to the nearer bounds in the statistic's unit, averaged over the broken rules."""
    texts = ["0 <= mean(x) <= 1 over 2", "0 <= mean(x) <= 2.5 over 2", "0 <= mean(x) <= 9 over 2"]
    loss = RuleLoss(RuleSet.from_texts(texts), lambda _, out: {"x": out}, loss="released")
    x = torch.tensor([3.0, 4.0], requires_grad=True)  # their mean, 3.5, is 2.5, 1 and 0 outside
    value = loss(None, x)
    value.backward()

    assert value.item() == pytest.approx((2.5 + 1.0) / 2)
    assert x.grad.tolist() == pytest.approx([0.5, 0.5])
    assert float(loss(None, torch.tensor([0.5, 0.5]))) == 0


def test_the_released_loss_counts_within_the_body_by_the_sigmoid():
    """F1 within the body: 2 c / (b + c), c being the stepped probabilities in the body."""
    rules = RuleSet.from_texts(["0.9 <= f1_given(a = 1 => y = 1) <= 0.95 over 3"])
    a, p = torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.51, 0.25, 0.99], dtype=torch.float64)
    loss = RuleLoss(rules, lambda _, out: {"a": a, "y": out}, loss="released")
    c = float(torch.sigmoid(100 * (p[:2] - 0.5)).sum())

    assert float(loss(None, torch.stack([1 - p, p], 1))) == pytest.approx(0.9 - 2 * c / (2 + c))


def test_a_class_rule_by_hand():
    """How far the share of kept rows is below the coverage; the paper's: 1 - p where broken."""
    rules = RuleSet.from_texts(["0 <= a <= 1 => y = 1"], coverage=[0.75])
    p = torch.tensor([0.25, 0.625, 0.5])
    chances = torch.stack([1 - p, p], 1)
    named = {"a": torch.tensor([0.0, 1.0, 2.0]), "y": chances}
    ours = RuleLoss(rules, lambda _, out: out)
    papers = RuleLoss(rules, lambda _, out: out, loss="paper")

    assert float(ours(None, named)) == pytest.approx((0.75 - (0.25 + 0.625) / 2) / 0.75)
    assert float(papers(None, named)) == pytest.approx(0.75 / 3)


def test_a_soft_condition_weighs_and_a_hard_one_decides():
    """`type = Car => ...` counts by the probability of Car, or only where Car is likeliest."""
    rules = RuleSet.from_texts(["type = Car => 0 <= x <= 1"])
    out = {"x": torch.tensor([2.0, 3.0]), "type": torch.tensor([[0.75, 0.25], [0.25, 0.75]])}

    def loss_with(conditions):
        loss = RuleLoss(rules, lambda _, out: out, conditions=conditions, classes=["Car", "Van"])
        return float(loss(None, out))

    assert loss_with("weighted") == pytest.approx((0.75 * 1 + 0.25 * 2) / 2)
    assert loss_with("soft") == loss_with("weighted")  # its name once
    assert loss_with("hard") == pytest.approx(1 / 2)


EVERY_FORM = [
    "0.9 <= f1(a > 0 => y = 1) <= 0.95 over 6",
    "0.9 <= precision(a > 0 => y = 1) over 6",
    "y = 1 => 0.1 <= mean(x) <= 0.2 over 6",
    "0.1 <= std(x) <= 0.2 over 6",
    "max(x) <= 0.3 over 6",
    "min(x) >= 1.5 over 6",
    "median(x) <= 0.2 over 6",
    "0.9 <= rate(y = 1) over 6",
    "a > 0 => y = 1",
    "y = 0 => x <= 0.3 if a <= 0.5 else 2 <= x <= 3",
    "0.1 <= x / (1 + a) <= 0.2",
    "sqrt(abs(x)) + log(x + 3) <= 0.1",
    "x ** 2 <= 0.1",
    "exp(x) - min(x, a) + max(x, a) <= 0.1",
]


@pytest.mark.parametrize("rule", EVERY_FORM)
@pytest.mark.parametrize("loss", ["expected", "paper"])
def test_gradients_are_those_of_finite_differences(rule, loss):
    """Each form of a rule passes torch's gradcheck, under both losses."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(6, 2, dtype=torch.float64, generator=generator)
    x = torch.rand(6, dtype=torch.float64, generator=generator) + 0.4
    a = torch.tensor([0.0, 1.0, 2.0, 0.0, 1.0, 0.5])
    # A steep sigmoid is flat almost everywhere; a gentle one has something to check.
    module = RuleLoss(
        RuleSet.from_texts([rule], coverage=[0.9]),
        lambda _, out: {"y": out[0].softmax(-1), "x": out[1], "a": a},
        loss=loss,
        slope=-2.0,
    )

    def cost(logits, x):
        return module(None, (logits, x))

    logits.requires_grad_()
    x.requires_grad_()
    assert torch.autograd.gradcheck(cost, (logits, x))
    value = cost(logits, x)
    if loss == "expected":
        value.backward()
        total = sum(float(one.grad.abs().sum()) for one in (logits, x) if one.grad is not None)
        assert float(value.detach()) > 0
        assert total > 0


@pytest.mark.parametrize("rule", EVERY_FORM)
def test_missing_and_undefined_values_leave_no_nan_in_the_gradient(rule):
    """A row without a value has no say, and spoils nothing for the others."""
    logits = torch.zeros(4, 2, requires_grad=True)
    raw = torch.tensor([0.5, 0.0, -9.0, 1e30], requires_grad=True)
    a = torch.tensor([1.0, math.nan, -1.0, 0.0])
    module = RuleLoss(
        RuleSet.from_texts([rule]),
        lambda _, out: {"y": out[0].softmax(-1), "x": torch.where(a.isnan(), a, out[1]), "a": a},
    )
    module(None, (logits, raw)).backward()

    assert all(bool(one.grad.isfinite().all()) for one in (logits, raw) if one.grad is not None)


def test_half_precision_is_computed_in_single():
    """Counts of thousands of rows are not lost in half precision."""
    rules = RuleSet.from_texts(["0.1 <= rate(y = 1) <= 0.2 over 4096"])
    loss = RuleLoss(rules, lambda _, out: {"y": out.softmax(-1)})
    out = torch.zeros(4096, 2, dtype=torch.bfloat16, requires_grad=True)
    value = loss(None, out)
    value.backward()

    assert float(value.detach()) == pytest.approx(3.0)
    assert value.dtype == torch.float32
    assert out.grad.dtype == torch.bfloat16


def test_no_gradient_where_everything_holds():
    """Algorithm 2 makes no step for rules that are kept."""
    loss = RuleLoss(RuleSet.from_texts(["0 <= x <= 9"]), lambda _, out: {"x": out})
    out = torch.tensor([1.0, 9.0], requires_grad=True)
    value = loss(None, out)
    value.backward()

    assert float(value.detach()) == 0.0
    assert out.grad.tolist() == [0.0, 0.0]


def test_the_clipped_quadratic_has_no_gradient_far_out_and_ours_has():
    """Why the default is not the paper's."""
    rules = RuleSet.from_texts(["0 <= x <= 0.5"])
    far = torch.tensor([4.0], requires_grad=True)
    papers = RuleLoss(rules, lambda _, out: {"x": out}, loss="paper")
    ours = RuleLoss(rules, lambda _, out: {"x": out})

    assert torch.autograd.grad(papers(None, far), far)[0].item() == 0.0
    assert torch.autograd.grad(ours(None, far), far)[0].item() == pytest.approx(2.0)


def test_penalties_take_open_ends_and_undefined_values():
    """nan, a statistic of nothing, costs nothing; an open end is never passed."""
    inf, nan = math.inf, math.nan
    value = torch.tensor([nan, -5.0, 5.0])
    lower, upper = torch.tensor([0.0, -inf, 1.0]), torch.tensor([1.0, 0.0, inf])

    assert excess(value, lower, upper).tolist() == [0.0, 0.0, 0.0]
    assert paper_penalty(value, lower, upper).tolist() == [0.0, 0.0, 0.0]
