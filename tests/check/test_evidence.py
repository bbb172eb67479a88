"""What held-out rows say of a rule, against counting by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import sqrl
import strategies
from sqrl._check.evidence import Evidence, with_evidence
from sqrl._data.table import as_table
from sqrl._language import parse
from sqrl._language.forms import Form, read_form
from sqrl._language.kinds import EVIDENCE
from sqrl._language.tree import Name
from sqrl._rows.questions import MemoryAnswers
from sqrl._rows.rows import Rows


def evidence_of(form, rows):
    """The numbers for one rule."""
    return Evidence("valid", [form]).answer(rows)[0]


@given(body=strategies.table_formulas(), head=strategies.table_formulas(), data=st.data())
def test_logic_counts_are_those_of_the_definition(body, head, data):
    """Rows in the body, the head, both and in all; a row with an unknown head does not count."""
    rows = data.draw(strategies.table_rows())
    form = Form(kind="logic", given=(Name("flag"),), statistic="f1", body=(body,), head=head)
    found = evidence_of(form, Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS))
    known = [
        (naive.truth(body, row, strategies.STATISTICS) is True, truth)
        for row in rows
        if naive.truth(form.given[0], row) is True
        and (truth := naive.truth(head, row, strategies.STATISTICS)) is not None
    ]

    assert found == [
        sum(a for a, _ in known),
        sum(b for _, b in known),
        sum(a and b for a, b in known),
        len(known),
    ]


def test_moments_leave_out_what_is_missing():
    """Rows outside of the condition or without a value do not count."""
    table = as_table({"x": [1.0, 3.0, None, 50.0], "flag": [True, True, True, False]})
    form = read_form(parse("flag => 0 <= mean(x) <= 2 over 2"))

    assert evidence_of(form, Rows(table, {})) == [2.0, 2.0, 1.0]
    assert evidence_of(form, Rows(table.take(np.array([3])), {})) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "text", ["0 <= x <= 2", "0 <= x <= 2 if x <= 1 else x <= 2", "flag => x > 9"]
)
def test_single_rows_are_counted(text):
    """How many rows a rule applies to, and how many break it."""
    table = as_table({"x": [1.0, 3.0, None, 50.0], "flag": [True, True, True, False]})
    rows = Rows(table, {})
    expected = [2.0, 2.0] if "=>" in text else [3.0, 2.0]

    assert evidence_of(read_form(parse(text)), rows) == expected


TEXTS = (
    "0 <= mean(x) <= 2 over 2",
    "flag => 0 <= std(y) <= 2 over 3",
    "f1(flag => bit) <= 0.9 over 2",
    "rate(x > 0) <= 0.9 over 2",
    "0 <= x <= 2",
    "0 <= x <= 1 if y <= 1 else x <= 2",
    "flag => bit",
)


@given(strategies.table_rows(max_size=20), st.lists(st.integers(0, 20), max_size=3), st.data())
def test_evidence_of_parts_is_evidence_of_the_whole_to_the_last_bit(rows, cuts, data):
    """For every kind of rule, for any parts, merged or added in any order."""
    forms = [read_form(parse(text)) for text in TEXTS]
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    chunks = [
        Rows(as_table(strategies.columns_of(rows[a:b])), {}) for a, b in pairwise(edges) if b > a
    ]
    evidence = Evidence("valid", forms)
    merged, in_turn = evidence.start(), evidence.start()
    for chunk in data.draw(st.permutations(chunks)):
        merged = evidence.merge(evidence.add(chunk, 0, evidence.start()), merged)
        in_turn = evidence.add(chunk, 0, in_turn)

    whole = Rows(as_table(strategies.columns_of(rows)), {})
    expected = [evidence_of(form, whole) for form in forms]
    assert evidence.finish(merged) == evidence.finish(in_turn) == expected
    assert [len(numbers) for numbers in expected] == [
        len(EVIDENCE[form.evidence]) for form in forms
    ]


def test_learned_rules_carry_what_held_out_rows_said():
    """The counts are of the rows held out, not of those learned from."""
    rng = np.random.default_rng(0)
    train, valid = ({"x": rng.normal(size=n), "k": ["a"] * n} for n in (500, 90))
    rules = sqrl.learn(train, {"rules": ["? <= x <= ?"], "coverage": 0.9}, valid=valid)
    inside = (valid["x"] >= rules[0].lower) & (valid["x"] <= rules[0].upper)

    assert rules[0].evidence == [90.0, float((~inside).sum())]


def test_evidence_can_be_asked_of_rows_wherever_they_are():
    """The question is answered by all rows at once or by parts of them, with the same numbers."""
    rules = sqrl.RuleSet.from_texts(["0 <= x <= 1", "0 <= mean(x) <= 1 over 2"])
    parts = [Rows(as_table({"x": x}), {}) for x in ([0.1, 0.2], [0.3, 7.0, None])]
    whole = Rows(as_table({"x": [0.1, 0.2, 0.3, 7.0, None]}), {})
    question = Evidence("valid", [rules.form(0), rules.form(1)])
    tally = question.start()
    for part, first in zip(parts, (0, 2), strict=True):
        tally = question.merge(question.add(part, first, question.start()), tally)
    asked = MemoryAnswers(parts[0], whole).ask([with_evidence(rules, "valid")])[0]

    expected = [evidence_of(rules.form(index), whole) for index in range(2)]
    assert question.finish(tally) == expected
    assert [rule.evidence for rule in asked] == expected


def test_candidates_that_were_not_selected_get_no_evidence():
    """There may be hundreds of thousands, and nobody checks them."""
    rules = sqrl.RuleSet.from_texts(
        ["0 <= x <= 1", "0 <= x <= 2", "x <= 3"], status=["selected", "unstable", None]
    )
    rows = Rows(as_table({"x": [0.5, 1.5]}), {})
    (found,) = MemoryAnswers(rows, None).ask([with_evidence(rules, "train")])

    assert [rule.evidence for rule in found] == [[2.0, 1.0], None, [2.0, 0.0]]
