"""Rules about single rows against the language by definition, one row at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import strategies
from sqrl._check.row_outcomes import (
    _evaluate_by_masks,
    evaluate_rows,
    excess_of,
    suits_family,
)
from sqrl._data.table import as_table
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._language.tree import And, Compare, Name, Number
from sqrl._rows.rows import Rows


def rows_of(rows):
    """The rows for the evaluator."""
    return Rows(as_table(strategies.columns_of(rows)), strategies.STATISTICS)


@given(
    forms=st.lists(strategies.single_forms(), min_size=1, max_size=4), rows=strategies.table_rows()
)
def test_every_rule_on_every_row_is_what_the_definition_says(forms, rows):
    """Held, broken and not applicable, for every form of a rule, with missing values."""
    outcomes = evaluate_rows(forms, rows_of(rows))
    expected = [[naive.outcome(form, row, strategies.STATISTICS) for row in rows] for form in forms]
    broken = [
        (i, j) for i, line in enumerate(expected) for j, o in enumerate(line) if o == "broken"
    ]

    assert list(zip(outcomes.rule.tolist(), outcomes.row.tolist(), strict=True)) == broken
    for index, line in enumerate(expected):
        mine = outcomes.piece_of == index
        assert outcomes.applicable[mine].sum() == sum(outcome != "n/a" for outcome in line)
        assert outcomes.broken[mine].sum() == line.count("broken")
        assert mine.sum() == max(1, len(forms[index].pieces))
    assert (outcomes.excess >= 0).all()


@given(form=strategies.single_forms(), rows=strategies.table_rows())
def test_the_kernel_gives_what_masks_give(form, rows):
    """Where a rule suits the kernel, counts by piece, rows and excesses are those of numpy."""
    data = rows_of(rows)
    slow = _evaluate_by_masks(form, data)
    fast = evaluate_rows([form], data)

    assert fast.applicable.tolist() == slow.applicable.tolist()
    assert fast.broken.tolist() == slow.broken.tolist()
    assert fast.row.tolist() == slow.rows.tolist()
    np.testing.assert_array_equal(fast.excess, slow.excess)


@pytest.mark.parametrize(
    ("text", "suits"),
    [
        ("0 <= x <= 1", True),
        ("kind = Car => x <= 1", True),
        ("0 <= x <= 1 if y <= 0 else 0 <= x <= 2", True),
        ("0 <= x <= 1 if y <= 0 else 0 <= x <= 2 if y <= 3 else x <= 9", True),
        ("0 <= x <= 1 if y <= 3 else 0 <= x <= 2 if y <= 0 else x <= 9", False),
        ("0 <= x <= 1 if y < 0 else 0 <= x <= 2", False),
        ("0 <= x <= 1 if y <= 0 and bit <= 0 else 0 <= x <= 2", False),
        ("flag => kind = Car", False),
    ],
)
def test_which_rules_the_kernel_takes(text, suits):
    """Buckets of one expression in rising order; all else goes by masks."""
    assert suits_family(read_form(parse(text))) == suits


def test_families_of_few_rules_give_what_large_ones_give(monkeypatch):
    """However many rules are evaluated together, the outcomes are the same and in order."""
    rng = np.random.default_rng(0)
    table = as_table({"x": rng.normal(size=200), "g": rng.integers(0, 5, 200)})
    texts = [f"g = {i % 5} => {-1 - i / 10} <= x <= 1" for i in range(12)]
    texts[4] = "g = 4 and x > 0 => g >= 4"
    forms = [read_form(parse(text)) for text in texts]
    whole = evaluate_rows(forms, Rows(table, {}))
    monkeypatch.setattr("sqrl._check.row_outcomes.MOST_TOGETHER", 1)
    again = [read_form(parse(text)) for text in texts]  # others: how these are evaluated is known
    apart = evaluate_rows(again, Rows(table, {}))

    for name in ("applicable", "broken", "piece_of", "rule", "row", "excess"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(whole, name))


def test_rules_are_known_by_themselves_and_not_by_their_place():
    """The same rules in another order, and others that say the same, have outcomes of their own."""
    texts = ["0 <= x <= 1", "x <= 0", "1 <= x <= 2 if y <= 0 else x <= 9"]
    first, second = ([read_form(parse(text)) for text in texts] for _ in range(2))
    data = rows_of([{"x": 1.5, "y": 1.0, "flag": True, "bit": 0.0, "kind": "Car"}])

    assert evaluate_rows(first, data).rule.tolist() == [0, 1]
    assert evaluate_rows(first[::-1], data).rule.tolist() == [1, 2]
    assert evaluate_rows(second, data).rule.tolist() == [0, 1]


def test_nothing_to_judge():
    """No rules, or no rows, give empty outcomes of the right shapes."""
    none = evaluate_rows([], rows_of([]))
    forms = [read_form(parse("0 <= x <= 1 if y <= 0 else x <= 2")), read_form(parse("flag => bit"))]
    empty = evaluate_rows(
        forms, Rows(as_table({name: [] for name in ("x", "y", "flag", "bit")}), {})
    )

    assert none.applicable.size == none.row.size == 0
    assert empty.piece_of.tolist() == [0, 0, 1]
    assert empty.applicable.tolist() == empty.broken.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("value", "excess"),
    [(5.0, 0.25), (-4.0, 1.0), (1e300, np.inf), (np.inf, np.inf)],
)
def test_the_excess_is_in_widths(value, excess):
    """How far off, in units of what is allowed; further than a float32 can say is infinite."""
    for text in ("0 <= x <= 4", "0 <= x <= 4 if x < 1e301 else 0 <= x <= 4"):
        found = evaluate_rows([read_form(parse(text))], Rows(as_table({"x": [2.0, value]}), {}))

        assert found.row.tolist() == [1]
        assert found.excess.tolist() == [excess]


@pytest.mark.parametrize("text", ["x <= 4", "4 <= x <= 4", "x > 4 => x < 3"])
def test_rules_without_a_width_are_broken_by_infinitely_much(text):
    """One-sided rules, points and classes know only held and broken."""
    found = evaluate_rows([read_form(parse(text))], Rows(as_table({"x": [4.0, 9.0]}), {}))

    assert found.row.tolist() == [1]
    assert found.excess.tolist() == [np.inf]
    assert excess_of(np.array([5.0]), 4.0, 4.0).tolist() == [np.inf]


def test_infinite_values_hold_open_ends():
    """Infinity is beyond any bound, but not beyond no bound."""
    table = as_table({"x": [np.inf, -np.inf]})
    for text, broken in (("x <= 4", [0]), ("4 <= x", [1]), ("0 <= x <= 4", [0, 1])):
        assert evaluate_rows([read_form(parse(text))], Rows(table, {})).row.tolist() == broken


def test_two_part_buckets_are_one_test_each():
    """`by A/2, B/2` becomes tests of two parts; the first that is true decides."""
    form = read_form(parse("x <= 1 if y <= 0 and bit <= 0 else x <= 2 if y <= 0 else x <= 3"))

    assert form.pieces[0].test == And(
        (Compare(Name("y"), "<=", Number(0.0)), Compare(Name("bit"), "<=", Number(0.0)))
    )
