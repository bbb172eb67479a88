"""RuleLoss against the definition, values computed by hand, and finite differences."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_loss
import sqrl
import strategies
from sqrl._forms import Form, Piece
from sqrl._language.tree import Compare, In, Name, Not, Number, Word, walk
from sqrl._rules import RuleSet
from sqrl._schema import as_schema
from sqrl.errors import AdaptError, UnknownNameError

torch = pytest.importorskip("torch")

from sqrl._adapt._batches import columns_of  # noqa: E402
from sqrl._adapt._loss import RuleLoss  # noqa: E402
from sqrl._adapt._penalties import excess, paper_penalty, sigmoid_step  # noqa: E402

CLASSES = ("Car", "Tram", "Van")
COUNTS = ["f1", "f1_given", "precision", "recall", "accuracy", "support", "lift"]
VALUES = ["mean", "std", "min", "max", "median"]
SCHEMA = as_schema(
    {"statistics": {"ratio": "x / y", "twice": "2 * ratio"}, "rules": ["? <= ratio <= ?"]}
)


def label_formulas():
    """A formula about the label alone."""
    values = st.sampled_from([*CLASSES, "Bus"]).map(Word)
    equal = st.builds(Compare, st.just(Name("label")), st.sampled_from(["=", "!="]), values)
    member = st.builds(In, st.just(Name("label")), st.lists(values, min_size=1).map(tuple))
    return st.one_of(equal, equal.map(Not), member)


def formulas():
    """A formula about the label or about columns."""
    return label_formulas() | strategies.table_formulas()


@st.composite
def pieces(draw, tests=(None,)):
    """Closed intervals, some open on one side, some of one point."""
    made = []
    for test in tests:
        low = draw(st.none() | st.integers(-2, 1))
        high = draw(st.none() | st.integers(-2 if low is None else low, 2))
        low = -1 if low is None and high is None else low
        ends = (None if end is None else Number(float(end)) for end in (low, high))
        made.append(Piece(*ends, test))
    return tuple(made)


@st.composite
def forms(draw):
    """A rule of any form about the columns of `table_rows` and a label."""
    given = tuple(draw(st.lists(formulas(), max_size=2)))
    kind = draw(st.sampled_from(["sample", "class", "values", "share", "counts"]))
    if kind == "class":
        columns_only = tuple(draw(st.lists(strategies.table_formulas(), min_size=1, max_size=2)))
        return Form(kind="class", given=columns_only, head=draw(label_formulas()))
    if kind == "sample":
        tests = [*draw(st.lists(formulas(), max_size=2)), None]
        subject = draw(strategies.table_numbers())
        return Form(kind="sample", given=given, subject=subject, pieces=draw(pieces(tests)))
    parts = {"kind": "logic", "given": given, "pieces": draw(pieces()), "over": 4}
    if kind == "values":
        subject = draw(st.sampled_from([Name("x"), Name("twice"), Name("bit")]))
        parts |= {"kind": "batch", "statistic": draw(st.sampled_from(VALUES)), "subject": subject}
    elif kind == "share":
        parts |= {"statistic": "rate", "body": (draw(formulas()),)}
    else:
        body = tuple(draw(st.lists(formulas(), min_size=1, max_size=2)))
        parts |= {"statistic": draw(st.sampled_from(COUNTS)), "body": body}
        parts["head"] = draw(formulas())
    return Form(**parts)


@st.composite
def cases(draw):
    """Rules, rows, and probabilities of three classes on each row, not too near to one another."""
    rows = draw(strategies.table_rows(max_size=8))
    lines = st.permutations([1, 3, 8]).map(lambda line: [part / 12 for part in line])
    certain = st.sampled_from([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    chances = [draw(lines | certain) for _ in rows]
    of_label = Compare(Name("label"), "=", Word("Car"))
    always = Form(kind="logic", statistic="rate", body=(of_label,), pieces=draw(pieces()), over=4)
    return [*draw(st.lists(forms(), max_size=4)), always], rows, chances


def rule_set(made):
    """The forms as rules that know the derived statistics."""
    rules = RuleSet.from_forms(made, coverage=[0.75] * len(made))
    return RuleSet(rules.table, rules.nodes, SCHEMA)


def batch_of(rows):
    """The columns of the rows as tensors."""
    return columns_of(strategies.columns_of(rows))


def hard(chances):
    """The likeliest class as certain."""
    return [[float(index == line.index(max(line))) for index in range(3)] for line in chances]


def naive_costs(made, rows, chances, *, loss, conditions):
    """What each rule costs, by definition."""
    stepped = [
        [value if value == 1 else 1 / (1 + math.exp(-100 * (value - 0.5))) for value in line]
        for line in chances
    ]
    given = hard(chances) if conditions == "hard" else chances
    weigh = {"given": given, "head": chances, "counted": chances if loss == "expected" else stepped}
    penalty = naive_loss.hinge if loss == "expected" else naive_loss.quadratic
    return [
        naive_loss.cost(
            form,
            rows,
            weigh.__getitem__,
            classes=CLASSES,
            label="label",
            penalty=penalty,
            coverage=0.75,
            statistics=strategies.STATISTICS,
        )
        for form in made
    ]


def loss_of(rules, rows, **options):
    """A RuleLoss of rules about the label and the columns of rows."""
    columns = batch_of(rows)
    return RuleLoss(rules, lambda _, out: {**columns, "label": out}, classes=CLASSES, **options)


@settings(max_examples=300)
@given(case=cases(), conditions=st.sampled_from(["soft", "hard"]))
def test_the_expected_loss_is_what_the_definition_says(case, conditions):
    """The compiled module gives what a loop over rules, rows and classes gives, for every form."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows, conditions=conditions)
    out = torch.tensor(chances, dtype=torch.float64)
    costs = naive_costs(made, rows, chances, loss="expected", conditions=conditions)
    value = float(loss(None, out))
    taken = [cost for cost, rule in zip(costs, loss.rules, strict=True) if is_taken(loss, rule)]

    assert value == pytest.approx(sum(taken) / len(taken), rel=1e-6, abs=1e-9)


def is_taken(loss, rule):
    """Whether a rule has a part in the loss."""
    return rule.text not in loss.left_out


@given(case=cases())
def test_only_rules_that_mix_the_label_with_columns_are_left_out(case):
    """Every rule is either computed or named with the reason."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows)
    loss(None, torch.tensor(chances))
    names = {"ratio": {"x", "y"}, "twice": {"x", "y"}}

    def names_of(node):
        found = {part.name for part in walk(node) if isinstance(part, Name)}
        return set().union(*(names.get(name, {name}) for name in found))

    expected = {
        rule.text
        for form, rule in zip(made, loss.rules, strict=True)
        if naive_loss.mixes(form, "label", names_of)
    }

    assert set(loss.left_out) == expected


@st.composite
def paper_cases(draw):
    """Rules whose label is one class in the head, or in no place at all."""
    made, rows, chances = draw(cases())
    of_class = st.sampled_from(CLASSES).map(lambda name: Compare(Name("label"), "=", Word(name)))
    columns = strategies.table_formulas()
    logic = st.builds(
        lambda body, head, ends: Form(
            kind="logic", statistic="f1", body=(body,), head=head, pieces=ends, over=4
        ),
        columns,
        of_class,
        pieces(),
    )
    plain = [form for form in made if form.kind in {"sample", "class", "batch"}]
    return [*plain, *draw(st.lists(logic, min_size=1, max_size=3))], rows, chances


@given(case=paper_cases(), conditions=st.sampled_from(["soft", "hard"]))
def test_the_papers_loss_is_what_the_definition_says(case, conditions):
    """Eq. 4, Appendix B and sigmoidF1, averaged over the rules (Eq. 5)."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows, loss="paper", conditions=conditions)
    value = float(loss(None, torch.tensor(chances, dtype=torch.float64)))
    costs = naive_costs(made, rows, chances, loss="paper", conditions=conditions)
    taken = [cost for cost, rule in zip(costs, loss.rules, strict=True) if is_taken(loss, rule)]

    assert value == pytest.approx(sum(taken) / len(taken), rel=1e-6, abs=1e-9)


@given(case=cases())
def test_measured_with_the_likeliest_class_is_what_check_counts(case):
    """Which rules apply and which are broken, by the definition that `check` is held to."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows)
    measured = loss.measure(None, torch.tensor(chances, dtype=torch.float64), hard=True)
    said = [
        {**row, "label": CLASSES[line.index(max(line))]}
        for row, line in zip(rows, chances, strict=True)
    ]
    for index, (form, rule) in enumerate(zip(made, loss.rules, strict=True)):
        if not is_taken(loss, rule):
            continue
        if form.over:
            outcomes = [naive.batch_outcome(form, said, strategies.STATISTICS)]
        else:
            outcomes = [naive.outcome(form, row, strategies.STATISTICS) for row in said]

        assert measured.applicable[index] == len(outcomes) - outcomes.count("n/a")
        assert measured.broken[index] == outcomes.count("broken")


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

    assert loss_with("soft") == pytest.approx((0.75 * 1 + 0.25 * 2) / 2)
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


def test_no_rules_and_unknown_options_are_refused():
    """An empty rule set is a mistake, not a loss of zero."""
    with pytest.raises(AdaptError, match="There are no rules"):
        RuleLoss(RuleSet.from_texts([]), lambda _, out: out)
    with pytest.raises(AdaptError, match="'quadratic' is not known"):
        RuleLoss(RuleSet.from_texts(RATE), lambda _, out: out, loss="quadratic")


def test_a_statistic_of_ones_own_needs_a_tensor_form():
    """It is left out and named, until one is registered."""
    from sqrl._adapt._statistics import _VALUES, tensor_statistic
    from sqrl._stats._registry import _VALUES as PLAIN

    @sqrl.statistic("reach")
    def reach(values):
        return values.max(axis=-1) - values.min(axis=-1)

    try:
        rules = RuleSet.from_texts(["reach(x) <= 1 over 4", "x <= 9"])
        loss = RuleLoss(rules, lambda _, out: {"x": out})
        assert float(loss(None, torch.tensor([0.0, 3.0]))) == 0.0
        assert loss.left_out == {
            "reach(x) <= 1 over 4": "reach(...) has no tensor form; "
            "register one with sqrl.tensor_statistic('reach')"
        }

        @tensor_statistic("reach")
        def tensor_reach(values, _):
            return values.amax(-1) - values.amin(-1)

        loss = RuleLoss(rules, lambda _, out: {"x": out})
        assert float(loss(None, torch.tensor([0.0, 3.0]))) == pytest.approx(2.0 / 2)
    finally:
        _VALUES.pop("reach", None)
        PLAIN.pop("reach", None)
