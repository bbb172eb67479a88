"""Enumeration: exhaustive, without duplicates or contradictions, counted beforehand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._data.table import as_table
from sqrl._language import to_text
from sqrl._language.forms import sentence_of
from sqrl._language.tree import Name
from sqrl._learn.candidates import _injections, check_limit, enumerate_candidates, make_templates
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema
from sqrl.errors import LimitError, SchemaError

TABLE = as_table(
    {
        "a": [1.0, 2.0, 3.0, 4.0] * 5,
        "b": [4.0, 3.0, 1.0, 2.0] * 5,
        "c": [1.0, 1.0, 2.0, 2.0] * 5,
        "flag": [True, False, False, True] * 5,
        "kind": ["x", "y", "z", "x"] * 5,
    }
)


def templates(rules, **let):
    schema = Schema(rules=tuple(rules), let=let)
    return make_templates(schema, Rows(TABLE, schema.expressions()))


def sentences(template):
    """Every candidate as text, filled in one by one."""
    candidates = enumerate_candidates(template)
    found = []
    for index in range(candidates.n):
        choice = {hole: int(candidates.columns[hole][index]) for hole in template.holes}
        text = to_text(template.fill(sentence_of(template.form), choice))
        for name, family in template.families.items():
            literals = candidates.bodies[name].literals(np.array([choice[name]]))[0]
            formulas = " and ".join(to_text(family.formula(i)) for i in literals.tolist() if i >= 0)
            text = text.replace(f"{name}{{{family.low}..{family.high}}}", formulas)
        found.append((text, *(choice[hole] for hole in template.holes if "bucket" in hole)))
    return found


def test_every_filling_is_made_once_and_names_differ():
    """Two columns in one rule are never the same column."""
    (template,) = templates(
        ["kind = Y => ? <= B <= ? by A/4"], Y="values(kind)", A=["a", "b", "c"], B=["a", "b", "c"]
    )
    expected = {
        f"kind = {y} => ? <= {b} <= ? by {a}/4"
        for y in "xyz"
        for a, b in itertools.permutations("abc", 2)
    }
    made = [text for text, *_ in sentences(template)]

    assert template.count() == len(made) == 18
    assert set(made) == expected


def test_one_rule_per_bucket_is_one_candidate_per_bucket():
    """`in each of 4` multiplies the candidates by four."""
    (template,) = templates(
        ["A in each of 4 and ? <= B <= ? => kind = Y"], Y="values(kind)", A=["a", "b"], B=["b", "c"]
    )
    made = sentences(template)

    assert template.count() == len(made) == len(set(made)) == 3 * 3 * 4


def test_conjunctions_never_contradict_and_none_is_missing():
    """Two values of one column, or the negation of all of them, are never joined."""
    (template,) = templates(
        ["? <= f1(L{1..3} => kind = x) <= ? over 4"], L="literals(a/2, kind, flag)"
    )
    literals = ["a <= 2.5", "a > 2.5", "kind = x", "kind = y", "kind = z", "flag"]
    groups = [0, 0, 1, 1, 1, 2]
    expected = set()
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(6), size):
            for signs in itertools.product([False, True], repeat=size):
                positive = [groups[i] for i, s in zip(chosen, signs, strict=True) if not s]
                negative = [groups[i] for i, s in zip(chosen, signs, strict=True) if s]
                if len(set(positive)) < len(positive):
                    continue
                if negative.count(0) == 2 or negative.count(1) == 3:
                    continue
                body = " and ".join(
                    f"not {literals[i]}" if s else literals[i]
                    for i, s in zip(chosen, signs, strict=True)
                )
                expected.add(f"? <= f1({body} => kind = x) <= ? over 4")
    made = [text for text, *_ in sentences(template)]

    assert len(made) == len(set(made)) == template.count()
    assert set(made) == expected


@given(st.lists(st.sets(st.sampled_from("abcde"), max_size=5), min_size=1, max_size=4))
def test_the_closed_form_counts_injective_choices(domains):
    """Inclusion-exclusion over partitions agrees with trying every choice."""
    named = [{Name(letter) for letter in domain} for domain in domains]
    tried = sum(len(set(choice)) == len(choice) for choice in itertools.product(*named))

    assert _injections(named) == tried


def test_a_billion_rules_are_counted_and_refused_at_once():
    """The count is closed form: to make the rules would take days."""
    wide = as_table({f"x{i}": np.arange(100) % 97 * (i + 1.0) for i in range(60)})
    names = ", ".join(f"x{i}/8" for i in range(60))
    schema = Schema(
        rules=("? <= f1(L{1..4} => x0 > 3) <= ? over 8",), let={"L": f"literals({names})"}
    )
    made = make_templates(schema, Rows(wide, {}))
    with pytest.raises(LimitError) as caught:
        check_limit(made, 10_000_000)

    assert made[0].count() > 10**9
    assert str(caught.value) == (
        f"The schema has {made[0].count():,} rules, more than the limit of 10,000,000.\n"
        f"  where: ? <= f1(L{{1..4}} => x0 > 3) <= ? over 8 ({made[0].count():,} rules)\n"
        "  fix:   use fewer literals, buckets or columns, or raise the limit "
        "(limit: in the schema, --limit on the command line)"
    )


@pytest.mark.parametrize(
    "rules",
    [
        ["? <= a <= ?", "? <= A <= ?"],
        ["? <= A <= ?", "? <= B <= ?"],
        ["kind = x => ? <= A <= ?", "kind = Y => ? <= B <= ?"],
        ["? <= f1(L{1..2} => kind = Y) <= ? over 4", "? <= f1(L{2..3} => kind = x) <= ? over 4"],
    ],
)
def test_templates_that_make_the_same_rule_are_refused(rules):
    """No rule is made twice, so that the count holds."""
    with pytest.raises(SchemaError, match=r"makes rules that rules\[0\] makes too"):
        templates(rules, A=["a", "b"], B=["b", "c"], Y="values(kind)", L="literals(a/2, flag)")


@pytest.mark.parametrize(
    "rules",
    [
        ["? <= A <= ?", "? <= A"],
        ["kind = Y => ? <= A <= ?", "? <= A <= ?"],
        ["? <= mean(A) <= ? over 4", "? <= mean(A) <= ? over 8"],
        ["? <= f1(L{1..2} => kind = Y) <= ? over 4", "? <= f1(L{3} => kind = Y) <= ? over 4"],
    ],
)
def test_templates_that_differ_are_accepted(rules):
    """Only what can coincide is refused."""
    made = templates(rules, A=["a", "b"], Y="values(kind)", L="literals(a/2, flag)")

    assert len(made) == 2


def test_a_hole_can_be_a_threshold():
    """`a > T` takes each of the numbers listed."""
    (template,) = templates(["a > T => ? <= b <= ?"], T=[1, 2.5])

    assert [text for text, *_ in sentences(template)] == [
        "a > 1 => ? <= b <= ?",
        "a > 2.5 => ? <= b <= ?",
    ]


def test_a_literal_hole_by_itself_is_one_literal():
    """`L => ...` is `L{1} => ...`."""
    (template,) = templates(["L => ? <= b <= ?"], L="literals(flag)")

    assert template.count() == 2
    assert [text for text, *_ in sentences(template)] == [
        "L{1} => ? <= b <= ?",
        "L{1} => ? <= b <= ?",
    ]


@pytest.mark.parametrize(
    ("body", "what", "fix"),
    [
        (
            "not L{1..2}",
            "Literals to enumerate must stand in a body or condition, joined by 'and'.",
            "write L{1..3} => ..., or L{1..2} and smoke => ...",
        ),
        (
            "N{1..2}",
            "N{1..2} needs a domain of literals.",
            "write under let: N: literals(age/8, smoke)",
        ),
    ],
)
def test_literals_where_they_cannot_be_enumerated_are_refused(body, what, fix):
    """Negated as a whole, or of a hole that has no literals."""
    rule = f"? <= precision({body} => kind = x) <= ? over 8"
    with pytest.raises(SchemaError) as caught:
        templates([rule], L="literals(a/2, flag)", N=["a", "b"])

    assert str(caught.value) == f"{what}\n  where: rules[0], {rule}\n  fix:   {fix}"
