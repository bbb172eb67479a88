"""Exported SQL, run in DuckDB, finds what `check` finds."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
import strategies
from effort import often
from made_exports import SIZE, forms, rules_of, run, tables, with_batches
from sqrl.errors import DataError, SchemaError
from sqrl.export import to_sql
from sqrl.export._steps import double

BY_HAND = {
    "x": [1.0, 5.0, 20.0, None, math.nan, 7.0, 8.0, 9.0],
    "y": [1, 2, 0, 4, 5, 0, None, 8],
    "kind": ["a", "a", "b", "a", "b", None, "b", "a"],
    "wet": [True, False, None, True, True, False, True, False],
    "batch": [1, 1, 1, 1, 2, 2, 2, None],
}


def near_a_bound(found, rule):
    """Whether a statistic that is summed lies so near a bound that the order of the sum decides."""
    form = found.rules.form(rule)
    if form.statistic not in {"mean", "std"}:
        return False
    ends = [end.value for end in (form.pieces[0].lower, form.pieces[0].upper) if end is not None]
    values = found.batch_values[rule]
    return any(np.isclose(values, end, rtol=1e-9, atol=1e-9).any() for end in ends)


def test_mini_batches_of_too_few_units_are_not_counted():
    """Units of two columns, one of them missing: as many as there are different pairs."""
    rules = sqrl.RuleSet.from_texts(["mean(x) <= 1 over 3 units"])
    schema = sqrl.Schema(rules=("? <= x <= ?",), unit=["drive", "track"])
    data = pa.table(
        {
            "drive": [1, 1, 2, 2, 1, 1, 2, 1, None, None, 1],
            "track": ["a", "b", "a", "a", "a", "a", "b", "b", "a", "a", "a"],
            "x": [5.0] * 4 + [9.0] * 4 + [0.0, 1.0, 0.5],
            "batch": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3],
        }
    )
    known = dataclasses.replace(rules, schema=schema)
    (line,) = run(to_sql(known, like=data, batch_column="batch"), data)
    with pytest.raises(SchemaError) as caught:
        to_sql(rules, like=data, batch_column="batch")

    assert (line["applicable"], line["violations"]) == (2, 2)  # the last has two units
    assert str(caught.value).splitlines()[0] == (
        "'over 3 units' needs a column that says which rows belong together."
    )


@settings(max_examples=often(20, 60))
@given(made=st.lists(forms(), min_size=1, max_size=6), table=tables())
def test_every_form_of_rule_is_broken_in_duckdb_just_where_check_says(made, table):
    """Applicable and violations, whatever is missing, tied, infinite or hard to quote.

    Columns of another kind than rules need are read as far as they can be by a check, and refused
    by an export.
    """
    rules = rules_of(made)
    try:
        query = to_sql(rules, like=table, batch_column="batch")
    except DataError:
        return
    found = sqrl.check(rules, table)
    batched = with_batches(table, found.batches.get(SIZE, ()))
    lines = run(query, batched)

    assert [line["rule"] for line in lines] == list(range(1, len(rules) + 1))
    assert [line["text"] for line in lines] == rules.texts()
    for rule, line in enumerate(lines):
        assert line["applicable"] == found.applicable[rule]
        if not near_a_bound(found, rule):
            assert line["violations"] == found.broken[rule]


@settings(max_examples=often(10, 25))
@given(made=st.lists(forms(), min_size=1, max_size=6), table=tables())
def test_the_rows_that_break_rules_in_duckdb_are_those_that_check_names(made, table):
    """Each row by its key, with the numbers of the rules that it breaks."""
    single = [form for form in made if form.kind in {"sample", "class"}]
    if not single:
        return
    rules = rules_of(single)
    try:
        query = to_sql(rules, like=table, rows=["id"])
    except DataError:
        return
    found = sqrl.check(rules, table)
    lines = run(query, table)
    broken = {line["id"]: [int(n) - 1 for n in line["broken_rules"].split()] for line in lines}
    named = {row: found.rules_of(row).tolist() for row in range(table.num_rows)}

    assert broken == {row: rules for row, rules in named.items() if rules}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("2 <= x <= 8", (6, 3)),  # below: 1, above: 20 and 9
        ("x <= 8", (6, 2)),
        ("kind = a => 2 <= x", (3, 1)),
        ("wet => x <= 7", (2, 1)),  # rows 1 and 7; the others' wetness or x is not known
        ("not wet => x <= 7", (3, 1)),
        ("x <= 1 if y <= 1 else x <= 9", (5, 2)),  # 20 and 7 where y is 0
        ("x / y <= 2", (3, 1)),  # by zero is undefined; 5 / 2 is too much
        ("x > 6 => kind = b", (3, 1)),  # one of four has no kind
        ("kind in [b, c] => y <= 4", (2, 1)),
        ("2 in [2] => 3 < 2", (8, 8)),  # about no column at all
        ("2 <= f1(x > 2 => kind = a) over 4", (1, 1)),
        ("f1(x > 2 => kind = a) <= 0.4 over 4", (1, 0)),  # 2 * 1 / (2 + 3)
        ("f1(x > 2 => kind = a) <= 0.39 over 4", (1, 1)),
        ("f1_given(x > 2 => kind = a) <= 0.6 over 4", (1, 1)),  # r = 1 / 2
        ("precision(x > 2 => kind = a) <= 0.5 over 4", (1, 0)),
        ("recall(x > 2 => kind = a) <= 0.3 over 4", (1, 1)),
        ("accuracy(x > 2 => kind = a) <= 0.25 over 4", (1, 0)),
        ("support(x > 2 => kind = a) <= 0.25 over 4", (1, 0)),
        ("lift(x > 2 => kind = a) <= 0.6 over 4", (1, 1)),  # 1 * 4 / (2 * 3)
        ("rate(x > 2) <= 0.5 over 3", (2, 2)),  # 2 of 3 and all of those known
        ("kind = b => rate(x > 2) <= 0.5 over 3", (2, 2)),  # all of one, and of those known
        ("8 <= mean(x) <= 9 over 3", (2, 1)),  # 26 / 3 and 15 / 2
        ("kind = a => mean(x) <= 3 over 3", (1, 0)),  # the other has no such row
        ("std(x) <= 1 over 3", (2, 1)),
        ("min(x) <= 3 over 3", (2, 1)),
        ("max(x) <= 8 over 3", (2, 1)),
        ("5 <= median(x) <= 7.4 over 3", (2, 1)),  # 5 of three, 7.5 of two
    ],
)
def test_a_rule_of_each_form_by_hand(text, counts):
    """Counted on paper; what columns hold is guessed from the rule, and smaller groups are left."""
    table = pa.table({name: pa.array(values) for name, values in BY_HAND.items()})
    (line,) = run(to_sql(sqrl.RuleSet.from_texts([text]), batch_column="batch"), table)

    assert (line["applicable"], line["violations"]) == counts


@pytest.mark.parametrize(
    "text",
    [
        "exp(x)",
        "exp(-x)",
        "log(x)",
        "sqrt(x)",
        "x ** y",
        "y ** x",
        "x ** -0.5",
        "2 ** x",
        "abs(x)",
        "x ** x",
        "min(x, 3, x)",
    ],
)
def test_functions_are_undefined_where_check_has_them_undefined(text):
    """Of zero, of negative numbers, of infinity, and where the result would be too large."""
    values = [None, math.nan, -math.inf, -800.0, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 800.0, 1e300]
    x, y = [list(column) for column in zip(*[(a, b) for a in values for b in values], strict=True)]
    table = pa.table({"x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64())})
    rules = sqrl.RuleSet.from_texts([f"{text} <= 1.2345678", f"0.0012345 <= {text}"])
    found = sqrl.check(rules, table)
    lines = run(to_sql(rules), table)

    assert [line["applicable"] for line in lines] == found.applicable.tolist()
    assert [line["violations"] for line in lines] == found.broken.tolist()


@settings(max_examples=20)
@given(st.lists(strategies.numbers(), min_size=1, max_size=50))
def test_numbers_come_back_to_the_same_bits(values):
    """A bound is the float it was learned as, not the nearest decimal of the database."""
    literals = ", ".join(double(value).sql("duckdb") for value in values)
    (line,) = run(f"SELECT [{literals}] AS numbers", pa.table({"x": [1]}))

    assert line["numbers"] == values
    assert {type(number) for number in line["numbers"]} == {float}


def test_the_prediction_takes_the_place_of_the_label():
    """As in `check`, also where a condition is on the label."""
    rules = sqrl.RuleSet.from_texts(["type = Car => width <= 3", "type = Van => 4 <= width"])
    table = pa.table({"type": ["Car", "Van"], "said": ["Van", "Van"], "width": [9.0, 2.0]})
    found = sqrl.check(rules, table, prediction="said")
    for like in (None, table):
        lines = run(to_sql(rules, prediction="said", like=like), table)

        assert [line["applicable"] for line in lines] == found.applicable.tolist() == [0, 2]
        assert [line["violations"] for line in lines] == found.broken.tolist() == [0, 1]


def test_what_chance_explains_stands_beside_the_violations():
    """n p + 3 sqrt(n p (1 - p) (1 + n / learned from)); nothing for a rule that was not learned."""
    rules = sqrl.RuleSet.from_texts(
        ["x <= 9", "y <= 9", "x > 1 => y = 1"],
        coverage=[0.98, None, None],
        support=[99, None, None],
        evidence=[None, None, [98.0, 4.0]],
    )
    table = pa.table({"x": np.arange(100.0), "y": np.ones(100)})
    lines = run(to_sql(rules), table)
    share = (0.02 * 98 + 1) / 100

    assert lines[0]["allowed"] == pytest.approx(
        100 * share + 3 * (100 * share * (1 - share) * 2) ** 0.5
    )
    assert lines[1]["allowed"] == 0
    assert lines[2]["allowed"] == pytest.approx(
        98 * 0.05 + 3 * (98 * 0.05 * 0.95 * (1 + 98 / 99)) ** 0.5
    )


def test_statistics_made_of_statistics_are_computed_once():
    """The query grows with what is defined, not with what it would be written out."""
    made = {"s0": "x"} | {f"s{i}": f"(s{i - 1} + s{i - 1}) / 2" for i in range(1, 41)}
    schema = sqrl.Schema(rules=("? <= s40 <= ?",), statistics=made)
    plain = sqrl.RuleSet.from_texts(["2 <= s40 <= 3"])
    rules = sqrl.RuleSet(plain.table, plain.nodes, schema)
    sql = to_sql(rules)
    (line,) = run(sql, pa.table({"x": [1.0, 2.5, 4.0]}))

    assert len(sql) < 40_000
    assert (line["applicable"], line["violations"]) == (3, 2)


def test_hundreds_of_rules_are_one_query():
    """Counted in parts, as databases limit the columns of a table; in the order of the rules."""
    texts = [f"x <= {bound}" for bound in range(260)]
    texts.insert(7, "mean(x) <= 1 over 2")
    rules = sqrl.RuleSet.from_texts(texts)
    table = pa.table({"x": np.arange(260.0), "b": np.arange(260) // 2})
    lines = run(to_sql(rules, batch_column="b"), table)
    rows = run(to_sql(rules.filter("kind = sample"), rows=["x", "b"]), table)

    assert [line["rule"] for line in lines] == list(range(1, 262))
    assert [line["text"] for line in lines] == texts
    expected = [259 - bound for bound in range(260)]
    assert [line["violations"] for line in lines] == [*expected[:7], 129, *expected[7:]]
    assert sorted(rows[0]) == ["b", "broken_rules", "x"]
    assert {row["x"]: len(row["broken_rules"].split()) for row in rows} == {
        float(x): x for x in range(1, 260)
    }
