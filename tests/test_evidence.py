"""What held-out rows say of a rule, against counting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import sqrl
import strategies
from sqrl._data import as_table
from sqrl._evaluate import Rows
from sqrl._evidence import add_evidence, evidence_of, with_evidence
from sqrl._forms import Form, read_form
from sqrl._language import parse
from sqrl._language.tree import Name


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


@given(st.lists(st.floats(-1e3, 1e3), max_size=12), st.lists(st.floats(-1e3, 1e3), max_size=12))
def test_moments_add_up(one, other):
    """The moments of all values from those of two parts."""

    def moments(values):
        array = np.array(values, float)
        return [len(values), array.mean(), array.var()] if values else [0.0, 0.0, 0.0]

    assert add_evidence(moments(one), moments(other)) == pytest.approx(
        moments(one + other), abs=1e-6
    )


def test_learned_rules_carry_what_held_out_rows_said():
    """The counts are of the rows held out, not of those learned from."""
    rng = np.random.default_rng(0)
    train, valid = ({"x": rng.normal(size=n), "k": ["a"] * n} for n in (500, 90))
    rules = sqrl.learn(train, {"rules": ["? <= x <= ?"], "coverage": 0.9}, valid=valid)
    inside = (valid["x"] >= rules[0].lower) & (valid["x"] <= rules[0].upper)

    assert rules[0].evidence == [90.0, float((~inside).sum())]


def test_candidates_that_were_not_selected_get_no_evidence():
    """There may be hundreds of thousands, and nobody checks them."""
    rules = sqrl.RuleSet.from_texts(
        ["0 <= x <= 1", "0 <= x <= 2", "x <= 3"], status=["selected", "unstable", None]
    )
    found = with_evidence(rules, Rows(as_table({"x": [0.5, 1.5]}), {}))

    assert [rule.evidence for rule in found] == [[2.0, 1.0], None, [2.0, 0.0]]
