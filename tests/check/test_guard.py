"""guard(): one row by compiled functions, held against a check of the same row."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
import strategies
from sqrl._check.row_outcomes import ROW_OUTCOMES
from sqrl._check.sentences import sentences_of
from sqrl._language.kinds import KINDS, single_kinds
from sqrl._language.printer import to_text
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import FUNCTIONS
from sqrl._rules.schema import Schema
from sqrl.errors import DataError, SqrlError

ROOT = Path(__file__).parent.parent.parent
STATISTICS = {name: to_text(tree) for name, tree in strategies.STATISTICS.items()}


def of(forms, coverage):
    """Rules with the derived columns that the strategies' rules name."""
    rules = sqrl.RuleSet.from_forms(forms, coverage=[coverage] * len(forms))
    schema = Schema(rules=("? <= x <= ?",), statistics=STATISTICS)
    return sqrl.RuleSet(rules.table, rules.nodes, schema)


def by_check(rules, row):
    """The broken rules and their sentences, by a check of a table of one row."""
    found = sqrl.check(rules, {name: [value] for name, value in row.items()})
    places = found.pair_rule.tolist()
    return places, sentences_of(found, 0, places)


def agrees(rules, row):
    """Assert that guard and check say the same of a row; what a check refuses may be answered."""
    accept = sqrl.guard(rules)
    try:
        places, said = by_check(rules, row)
    except SqrlError:
        return
    assert accept.broken(row) == places
    assert accept(row) == said


@settings(max_examples=40)
@given(
    forms=st.lists(strategies.single_forms(), min_size=1, max_size=3),
    rows=strategies.table_rows(max_size=6),
    coverage=st.sampled_from([None, 0.98, 1.0]),
)
def test_a_row_breaks_what_a_check_of_it_breaks_in_the_same_words(forms, rows, coverage):
    """Every form of a rule about rows, with missing values, on rows one by one."""
    rules = of(forms, coverage)
    for row in rows:
        agrees(rules, row)


ODD = [None, 1, 0, 2.5, True, "Car", "5", " 7 ", "abc", "", "true", float("nan"), float("inf")]
ODD += [2**60, [1, 2], b"x", date(2024, 5, 1), datetime(2024, 5, 1, 13, 45), np.float32(0.1)]
ODD += [np.int64(5), np.str_("Car"), np.bool_(True), np.datetime64("2024-05-01"), "2024-05-01"]
USES = ["0 <= x <= 9", "x = Car => 1 <= 0", "x in [5, 7]", "known(x)", "x = true => y <= 1"]
USES += ["x => y <= 1", "length(x) <= 3", "weekday(x) <= 5", "x / y <= 1", "x != 5 => y <= 1"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_values_of_any_kind_are_taken_as_a_check_takes_them(use, value):
    """Numbers as text, text in numbers, dates, lists, and what numpy gives."""
    texts = [use.replace("1 <= 0", "y <= 1"), "0 <= y <= 1"]
    agrees(sqrl.RuleSet.from_texts(texts), {"x": value, "y": 5.0})


@pytest.mark.parametrize("text", ["days(t) <= 10", "hour(t) <= 3", "month(t) <= 2", "known(t)"])
@pytest.mark.parametrize(
    "moment",
    [
        date(1969, 12, 31),
        datetime(2024, 2, 29, 23, 59, 59, 999999),
        datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
        datetime(2024, 3, 1, 1, 0, tzinfo=timezone(timedelta(hours=5))),
        "2024-02-29T23:59",
        None,
    ],
)
def test_dates_and_moments_are_those_of_a_check(text, moment):
    """To the last bit, with time zones and before 1970."""
    rules = sqrl.RuleSet.from_texts([text, "0 <= y <= 1"])
    agrees(rules, {"t": moment, "y": 5.0})


def test_arithmetic_that_is_undefined_breaks_nothing():
    """x / 0, a log of nothing and what overflows are missing, as everywhere."""
    texts = ["x / y <= 0", "log(y) >= 5", "x ** 400 <= 1", "min(x, y) >= 3", "exp(x * x) <= 1"]
    agrees(sqrl.RuleSet.from_texts(texts), {"x": 30.0, "y": 0.0})

    assert sqrl.guard(sqrl.RuleSet.from_texts(texts)).broken({"x": 30.0, "y": 0.0}) == [3]


def test_every_kind_of_rule_about_rows_is_compiled():
    """Who adds a kind to checks is told of the guard."""
    assert set(ROW_OUTCOMES) == set(single_kinds())
    for kind in single_kinds():
        assert sqrl.guard(sqrl.RuleSet.from_texts([KINDS[kind].example])).n_left_out == 0


@pytest.mark.parametrize("function", [*FUNCTIONS, *COLUMN_FUNCTIONS])
def test_every_function_is_that_of_a_check(function):
    """Of numbers, dates and text, also undefined ones."""
    rules = sqrl.RuleSet.from_texts(
        [f"0 + {function}(x) <= -0.5", f"0 + {function}(x) >= 99", "y <= 1"]
    )
    for value in (2.0, 0.0, -1.5, 800.0, "A1 b 2", "", "2024-05-01T13:45", None):
        agrees(rules, {"x": value, "y": 5.0})


def test_rules_about_mini_batches_are_left_out_and_counted():
    """Places are those of the rules that were given."""
    rules = sqrl.RuleSet.from_texts(["mean(x) <= 5 over 64", "x <= 9", "rate(x > 1) <= 1 over 8"])
    accept = sqrl.guard(rules)

    assert (accept.n_left_out, accept.places, repr(accept)) == (
        2, (1,), "Guard of 1 rules, 2 left out",
    )  # fmt: skip
    assert accept.broken({"x": 12}) == [1]


@pytest.mark.parametrize("x", [20.0, "20"])
def test_rejected_rules_are_left_out_and_counted(x):
    """As in a check, by compiled functions and the long way; places are those given."""
    rules = sqrl.RuleSet.from_texts(["x <= 9", "y <= 9"])
    accept = sqrl.guard(rules.reject(rules.ids()[0], by="Ann", why="two kinds of sensors"))

    assert accept.broken({"x": x, "y": 20.0}) == [1]
    assert accept({"x": x, "y": 1.0}) == []
    assert accept.n_left_out == 1


def test_what_is_not_in_the_row_is_missing_and_breaks_only_rules_that_it_is_known():
    """A key less is like None; a row without any of the columns is refused."""
    rules = sqrl.RuleSet.from_texts(["x <= 9", "known(y)"])
    accept = sqrl.guard(rules)

    assert accept({"x": 12.0, "y": 1}) == ["x 12 is above 9, the most that all rows may have"]
    assert accept({"x": 3.0}) == ["y is missing, and in all rows it is known"]
    with pytest.raises(DataError) as raised:
        accept({"z": 3.0})
    assert str(raised.value) == (
        "The row has none of the columns that rules name.\n"
        "  where: row\n"
        "  fix:   give values for x, y"
    )


def test_a_prediction_takes_the_labels_place():
    """And is called one; a class that no rule names breaks what says which there are."""
    rules = sqrl.RuleSet.from_texts(["joy > 0.6 => mood = good"])
    accept = sqrl.guard(rules, prediction="said")

    assert accept({"joy": 0.9, "mood": "good", "said": "bad"}) == [
        "joy 0.9 belongs to mood = good, and the prediction is bad"
    ]
    assert accept({"joy": 0.9, "mood": "bad", "said": "good"}) == []
    with pytest.raises(DataError) as raised:
        accept({"joy": 0.9})
    assert str(raised.value) == (
        "The row has no value for the prediction 'said'.\n"
        "  where: row\n"
        "  fix:   give one, or None where it is missing; the row has joy"
    )


def test_rules_learned_by_unit_need_none_here():
    """A row is checked by itself, also where its values need a table."""
    rows = {"image": [i // 3 for i in range(90)], "x": [i % 10 for i in range(90)]}
    schema = Schema(rules=("? <= x <= ?",), unit="image")
    accept = sqrl.guard(sqrl.learn(rows, schema))

    assert accept.broken({"x": 99}) == accept.broken({"x": "99"}) == [0]


def test_rules_learned_from_a_table_agree_on_its_rows():
    """The default schema of the demo's table, on rows that it was learned from and on odd ones."""
    table = sqrl.demo_table()
    rules = sqrl.learn(table)
    found = sqrl.check(rules, table)
    accept = sqrl.guard(rules)
    for row in np.unique(found.pair_row)[:40].tolist():
        values = {name: table[name].take(np.array([row])).distinct() for name in table.names}
        plain = {name: value[0] if value else None for name, value in values.items()}
        broken = found.pair_rule[found.pair_row == row].tolist()

        assert accept.broken(plain) == broken
        assert accept(plain) == sentences_of(found, row, broken)


def test_the_page_has_the_figures_of_the_results_file():
    """And the bar, a millisecond for 300 rules, is met there."""
    made = json.loads((ROOT / "benchmarks" / "results" / "guard.json").read_text())
    page = " ".join((ROOT / "docs" / "frames.md").read_text().split())
    times = made["microseconds"]

    assert (made["n_rules"], [bar["met"] for bar in made["bars"]]) == (300, [True])
    assert f"the median row takes {times['median'] / 1e3:.3f} ms" in page
    assert f"one row takes {made['check_of_one_row_microseconds'] / 1e3:.0f} ms" in page
    assert f"99 % of all rows at most {times['p99'] / 1e3:.1f} ms" in page
