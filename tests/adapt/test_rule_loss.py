"""RuleLoss against the definition: a loop over rules, rows and classes, on random rule sets."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_loss
import strategies
from effort import often
from sqrl._language.forms import Form, Piece
from sqrl._language.statistics import BUILT_IN, batch_statistic
from sqrl._language.tree import Compare, In, Name, Not, Number, Word, walk
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import as_schema

torch = pytest.importorskip("torch")

from sqrl._adapt.batches import columns_of  # noqa: E402
from sqrl._adapt.rule_loss.loss import RuleLoss  # noqa: E402

CLASSES = ("Car", "Tram", "Van")
COUNTS = [name for name in BUILT_IN if batch_statistic(name).of == "counts"]
VALUES = [name for name in BUILT_IN if batch_statistic(name).of == "values"]
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


@settings(max_examples=often(40, 150))
@given(case=cases(), conditions=st.sampled_from(["weighted", "hard"]))
def test_the_expected_loss_is_what_the_definition_says(case, conditions):
    """The compiled module gives what a loop over rules, rows and classes gives, for every form."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows, conditions=conditions)
    out = torch.tensor(chances, dtype=torch.float64)
    costs = naive_costs(made, rows, chances, loss="expected", conditions=conditions)
    value = float(loss(None, out))
    taken = [cost for cost, rule in zip(costs, loss.rules, strict=True) if is_taken(loss, rule)]

    assert value == pytest.approx(sum(taken) / len(taken), rel=1e-6, abs=1e-9)


def has_no_twin(form):
    """Whether a rule's statistic has none on tensors, as that of repeated values."""
    return form.statistic is not None and "torch" in batch_statistic(form.statistic).reasons


def is_taken(loss, rule):
    """Whether a rule has a part in the loss."""
    return rule.text not in loss.left_out


@given(case=cases())
def test_only_rules_that_mix_the_label_or_have_no_twin_are_left_out(case):
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
        if naive_loss.mixes(form, "label", names_of) or has_no_twin(form)
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


@given(case=paper_cases(), conditions=st.sampled_from(["weighted", "hard"]))
def test_the_papers_loss_is_what_the_definition_says(case, conditions):
    """Eq. 4, Appendix B and sigmoidF1, averaged over the rules (Eq. 5)."""
    made, rows, chances = case
    loss = loss_of(rule_set(made), rows, loss="paper", conditions=conditions)
    value = float(loss(None, torch.tensor(chances, dtype=torch.float64)))
    costs = naive_costs(made, rows, chances, loss="paper", conditions=conditions)
    taken = [cost for cost, rule in zip(costs, loss.rules, strict=True) if is_taken(loss, rule)]

    # What is about columns alone is certain; the oracle adds up stepped classes, here to 1 - 6e-8.
    assert value == pytest.approx(sum(taken) / len(taken), rel=1e-6, abs=1e-6)


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
