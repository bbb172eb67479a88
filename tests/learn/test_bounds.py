"""Bounds of every kind of rule against plain loops over rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from sqrl._data.draws import draw_batches
from sqrl._data.table import as_table
from sqrl._language import to_text
from sqrl._language.statistics import (
    BUILT_IN,
    batch_statistic,
)
from sqrl._learn.bounds import Sampler, logic, make_measure
from sqrl._learn.bounds.implied_class import alone
from sqrl._learn.candidates import enumerate_candidates, make_templates
from sqrl._rows.quantiles import BoundOptions
from sqrl._rows.questions import MemoryAnswers
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema


def make_table(seed, n=240, missing=0.1):
    """Numbers that depend on the class, with ties and missing values."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2])
    shift = np.select([kind == "x", kind == "y"], [0.0, 2.0], 1.0)
    columns = {
        "a": rng.normal(shift, 1.0),
        "b": rng.integers(0, 9, n) + shift,
        "c": rng.exponential(1.0, n).round(1),
        "flag": (rng.random(n) < 0.4).astype(float),
        "grade": rng.integers(1, 4, n).astype(float),
    }
    for values in columns.values():
        values[rng.random(n) < missing] = np.nan
    return as_table({**columns, "kind": [str(k) for k in kind]})


def measured(table, rule, *, train=None, seed=3, batches=20, **options):
    """The measure, the forms of all candidates on `train`, and their bounds on `table`."""
    let = options.pop("let", {})
    schema = Schema(
        rules=(rule,),
        let=let,
        coverage=options.pop("coverage", 0.8),
        bounds=BoundOptions(min_support=1),
        **options,
    )
    rows = Rows(train or table, {})
    (template,) = make_templates(schema, rows)
    making = make_measure(enumerate_candidates(template), rows.table, schema)
    (measure,) = MemoryAnswers(rows, None).ask([making])
    return measure, bounds_on(table, measure, Sampler("train", batches, seed))


def bounds_on(table, measure, sampler):
    """The bounds of all candidates on the rows of a table."""
    (bounds,) = MemoryAnswers(Rows(table, {}), None).ask([measure.bounds(sampler, measure.method)])
    return bounds


def column(table, name):
    values = table[name]
    if values.kind == "category":
        return np.array(values.categories)[values.values]
    return values.values


def percentiles(values, coverage=0.8):
    values = values[~np.isnan(values)]
    tail = 100 * round((1 - coverage) / 2, 12)
    return np.percentile(values, [tail, 100 - tail]) if values.size else np.array([np.nan, np.nan])


@pytest.mark.parametrize("seed", range(3))
def test_conditional_intervals_are_percentiles_within_the_class(seed):
    """kind = Y => ? <= A <= ? is numpy.percentile of A in each class, missing values left out."""
    table = make_table(seed)
    measure, bounds = measured(
        table, "kind = Y => ? <= A <= ?", let={"Y": "values(kind)", "A": ["a", "b", "a - b"]}
    )

    for index in range(measure.candidates.n):
        form = measure.form(index, bounds)
        kind = to_text(form.given[0]).removeprefix("kind = ")
        subject = {"a": column(table, "a"), "b": column(table, "b")}
        subject["a - b"] = subject["a"] - subject["b"]
        values = subject[to_text(form.subject)][column(table, "kind") == kind]
        assert [bounds.lower[index, 0], bounds.upper[index, 0]] == percentiles(values).tolist()
        assert bounds.support[index, 0] == (~np.isnan(values)).sum()
    assert measure.candidates.n == 9


def naive_pieces(table, kind, by, subject, n_buckets):
    """Buckets within the class by a plain loop: quartiles, then percentiles in each bucket."""
    rows = column(table, "kind") == kind
    by_values, values = column(table, by), column(table, subject)
    present = rows & ~np.isnan(by_values)
    cuts = np.percentile(by_values[present], [100 * i / n_buckets for i in range(1, n_buckets)])
    pieces = []
    for low, high in itertools.pairwise([-np.inf, *cuts, np.inf]):
        inside = present & (by_values > low) & (by_values <= high)
        if inside.any():
            pieces.append(percentiles(values[inside]).tolist())
    return pieces


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("by", "subject"), [("a", "b"), ("b", "a"), ("c", "a")])
def test_bucketed_intervals_are_percentiles_within_each_bucket(seed, by, subject):
    """`by A/4` cuts A within the class; ties that leave a bucket empty make fewer pieces."""
    table = make_table(seed)
    measure, bounds = measured(
        table, f"kind = Y => ? <= {subject} <= ? by {by}/4", let={"Y": "values(kind)"}
    )

    for index, kind in enumerate("xyz"):
        there = bounds.support[index] >= 0
        made = np.stack([bounds.lower[index], bounds.upper[index]], axis=1)[there].tolist()
        assert made == naive_pieces(table, kind, by, subject, 4)
        assert len(measure.form(index, bounds).pieces) == len(made)


@pytest.mark.parametrize("seed", range(2))
def test_one_rule_per_bucket_has_the_bounds_of_the_pieces(seed):
    """`A in each of 4` makes the pieces of `by A/4` rules of their own."""
    table = make_table(seed)
    let = {"Y": "values(kind)"}
    _, pieces = measured(table, "kind = Y => ? <= a <= ? by b/4", let=let)
    measure, single = measured(table, "kind = Y and b in each of 4 => ? <= a <= ?", let=let)

    assert single.lower.shape == (12, 1)
    np.testing.assert_array_equal(single.lower.reshape(3, 4), pieces.lower)
    np.testing.assert_array_equal(single.upper.reshape(3, 4), pieces.upper)
    np.testing.assert_array_equal(single.support.reshape(3, 4), pieces.support)
    first = measure.form(0, single)
    assert to_text(first.given[0]) == "kind = x"
    assert to_text(first.given[1]).startswith("b <= ")


def test_buckets_nest():
    """`by b/2, c/3` cuts c anew within each half of b."""
    table = make_table(5)
    measure, bounds = measured(table, "? <= a <= ? by b/2, c/3")
    b, c, a = column(table, "b"), column(table, "c"), column(table, "a")
    expected = []
    half = np.percentile(b[~np.isnan(b)], 50)
    for mask in (b <= half, b > half):
        third = c[mask & ~np.isnan(c)]
        cuts = np.percentile(third, [100 / 3, 200 / 3])
        for low, high in itertools.pairwise([-np.inf, *cuts, np.inf]):
            expected.append(percentiles(a[mask & (c > low) & (c <= high)]).tolist())

    assert np.stack([bounds.lower[0], bounds.upper[0]], axis=1).tolist() == expected
    tests = [to_text(p.test) if p.test else None for p in measure.form(0, bounds).pieces]
    assert tests[2] == f"b <= {half:g}"
    assert tests[5] is None


def test_buckets_keep_their_cuts_on_another_table():
    """Cut points come from train; validation rows fall into the buckets of train."""
    train, valid = make_table(0), make_table(1)
    _, bounds = measured(valid, "? <= a <= ? by b/4", train=train)
    cuts = np.percentile(column(train, "b")[~np.isnan(column(train, "b"))], [25, 50, 75])
    b, a = column(valid, "b"), column(valid, "a")
    expected = [
        percentiles(a[(b > low) & (b <= high)]).tolist()
        for low, high in itertools.pairwise([-np.inf, *cuts, np.inf])
    ]

    assert np.stack([bounds.lower[0], bounds.upper[0]], axis=1).tolist() == expected


@pytest.mark.parametrize(
    ("statistic", "naive"),
    [
        ("mean", np.mean),
        ("std", np.std),
        ("min", np.min),
        ("max", np.max),
        ("median", np.median),
    ],
)
def test_mini_batch_bounds_are_percentiles_of_the_statistic(statistic, naive):
    """The statistic is of the rows in the mini-batch that satisfy the condition."""
    table = make_table(2)
    _, bounds = measured(
        table, f"kind = Y => ? <= {statistic}(a) <= ? over 40", let={"Y": "values(kind)"}
    )
    batches = draw_batches(table.n_rows, 40, 20, seed=3, where="")
    for index, kind in enumerate("xyz"):
        values = []
        for batch in batches:
            a = column(table, "a")[batch][column(table, "kind")[batch] == kind]
            a = a[~np.isnan(a)]
            values.append(naive(a) if a.size else np.nan)
        expected = percentiles(np.array(values))
        np.testing.assert_allclose(
            [bounds.lower[index, 0], bounds.upper[index, 0]], expected, rtol=1e-12
        )


def truth(literal, table):
    """Where a literal of the tests' tables is true, by hand."""
    text = to_text(literal)
    if text.startswith("not "):
        name = text.split()[1]
        known = ~np.isnan(column(table, name))
        return known & ~truth_of(text.removeprefix("not "), table)
    return truth_of(text, table)


def truth_of(text, table):
    name, op, value = text.split()
    values = column(table, name)
    with np.errstate(invalid="ignore"):
        number = float(value)
        return {"=": values == number, "<=": values <= number, ">": values > number}[op]


@pytest.mark.parametrize(
    "statistic", [name for name in BUILT_IN if batch_statistic(name).of == "counts"]
)
def test_logic_bounds_are_percentiles_of_the_statistic_of_counts(statistic):
    """Kernel, slow path and a plain loop agree for every body, head and statistic."""
    table = make_table(7, n=150)
    rule = f"? <= {statistic}(L{{1..2}} => kind = Y) <= ? over 30"
    let = {"Y": "values(kind)", "L": "literals(a/2, grade, flag = 1)"}
    measure, bounds = measured(table, rule, let=let, batches=12)
    batches = draw_batches(table.n_rows, 30, 12, seed=3, where="")
    function = batch_statistic(statistic).function
    for index in range(measure.candidates.n):
        form = measure.form(index, bounds)
        body = np.ones(table.n_rows, bool)
        for literal in form.body:
            body &= truth(literal, table)
        head = column(table, "kind") == to_text(form.head).removeprefix("kind = ")
        b, h, c = body[batches].sum(1), head[batches].sum(1), (body & head)[batches].sum(1)
        counts = [x.astype(float) for x in (b, h, c, np.full(12, 30))]
        expected = percentiles(function(*counts))
        made = np.array([bounds.lower[index, 0], bounds.upper[index, 0]])
        np.testing.assert_array_equal(made, expected)
    assert measure.candidates.n == 3 * measure.candidates.bodies["L"].n


def test_a_statistic_of_ones_own_gives_what_the_kernel_gives():
    """A registered statistic takes the slow path and agrees with the built-in of its formula."""

    @sqrl.statistic("my_f1", of="counts")
    def my_f1(body, head, both, _rows):
        return 2 * both / np.where(body + head == 0, np.nan, body + head)

    table = make_table(8)
    let = {"Y": "values(kind)", "L": "literals(a/3, grade, flag = 1)"}
    _, fast = measured(table, "? <= f1(L{1..2} => kind = Y) <= ? over 30", let=let)
    _, slow = measured(table, "? <= my_f1(L{1..2} => kind = Y) <= ? over 30", let=let)

    np.testing.assert_array_equal(fast.lower, slow.lower)
    np.testing.assert_array_equal(fast.upper, slow.upper)
    np.testing.assert_array_equal(fast.support, slow.support)


def test_the_kernel_knows_a_statistic_by_its_function_and_not_by_its_name():
    """Another function under a name that the kernel knows is not what the kernel computes."""
    table = make_table(8)
    let = {"Y": "values(kind)", "L": "literals(a/3, grade, flag = 1)"}
    rule = "? <= {}(L{{1..2}} => kind = Y) <= ? over 30"
    _, support = measured(table, rule.format("support"), let=let)
    sqrl.statistic("f1", of="counts")(lambda _body, _head, both, rows: both / rows)
    _, found = measured(table, rule.format("f1"), let=let)

    np.testing.assert_array_equal(found.lower, support.lower)
    np.testing.assert_array_equal(found.upper, support.upper)


OF_COUNTS = {"counts", "share"}


def test_the_kernel_knows_every_built_in_statistic_of_counts():
    """None of them is slow because something was renamed."""
    functions = {batch_statistic(name).function: name for name in BUILT_IN}
    of_counts = {one for one, name in functions.items() if batch_statistic(name).of in OF_COUNTS}

    assert set(logic.IN_KERNEL) == of_counts
    assert {functions[one]: name for one, name in logic.IN_KERNEL.items()} == {
        **{name: name for name in logic.STATISTICS},
        "rate": "support",
    }


def test_formulas_as_bodies_and_heads_and_conditions():
    """Bodies with `or`, heads that are formulas and conditions on rows are measured alike."""
    table = make_table(9, missing=0.0)
    measure, bounds = measured(
        table,
        "grade = 1 => ? <= precision(L{1} and (c > 1 or flag = 1) => a > T) <= ? over 60",
        let={"L": "literals(b/2)", "T": [0, 1]},
    )
    batches = draw_batches(table.n_rows, 60, 20, seed=3, where="")
    a, b, c = (column(table, name) for name in "abc")
    here = column(table, "grade") == 1
    cut = np.percentile(b, 50)
    either = (c > 1) | (column(table, "flag") == 1)
    for index in range(measure.candidates.n):
        form = measure.form(index, bounds)
        text = to_text(form.body[0])
        side = (b <= cut) if text.replace("not ", "").startswith("b <=") else (b > cut)
        side = ~side if text.startswith("not ") else side
        head = a > float(to_text(form.head).split()[-1])
        body = here & side & either
        with np.errstate(invalid="ignore"):
            values = (body & head)[batches].sum(1) / body[batches].sum(1)
        expected = percentiles(values)
        assert [bounds.lower[index, 0], bounds.upper[index, 0]] == expected.tolist()
    assert measure.candidates.n == 8


def test_rate_is_the_share_of_rows_where_a_formula_holds():
    """rate(...) needs no head."""
    table = make_table(4, missing=0.0)
    _, bounds = measured(table, "? <= rate(a > 0 => flag = 1) <= ? over 50")
    batches = draw_batches(table.n_rows, 50, 20, seed=3, where="")
    holds = (column(table, "a") <= 0) | (column(table, "flag") == 1)

    assert [bounds.lower[0, 0], bounds.upper[0, 0]] == percentiles(holds[batches].mean(1)).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_class_rules_are_what_no_other_class_covers(seed):
    """The body is the class's interval less those of all other classes, bucket by bucket."""
    table = make_table(seed)
    measure, bounds = measured(
        table, "c in each of 2 and ? <= a <= ? => kind = Y", let={"Y": "values(kind)"}
    )
    a, c, kind = (column(table, name) for name in ("a", "c", "kind"))
    half = np.percentile(c[~np.isnan(c)], 50)
    grid = np.linspace(-6, 8, 4001)
    for index, (name, bucket) in enumerate(itertools.product("xyz", range(2))):
        inside = (c > half) if bucket else (c <= half)
        intervals = {k: percentiles(a[inside & (kind == k)]) for k in "xyz"}
        low, high = intervals.pop(name)
        expected = (grid >= low) & (grid <= high)
        for other_low, other_high in intervals.values():
            expected &= ~((grid >= other_low) & (grid <= other_high))
        made = np.zeros(grid.size, bool)
        for lower, upper in zip(bounds.lower[index], bounds.upper[index], strict=True):
            made |= (grid > lower) & (grid < upper)
        np.testing.assert_array_equal(made, expected)
        if not np.isnan(bounds.lower[index]).all():
            form = measure.form(index, bounds)
            rows = Rows(as_table({"a": grid}), {})
            assert to_text(form.head) == f"kind = {name}"
            np.testing.assert_array_equal(rows.truths(form.given[-1]).true, expected)


@given(
    mine=st.tuples(st.integers(0, 10), st.integers(0, 10)),
    others=st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=4),
)
def test_what_is_left_of_an_interval_is_exact_to_its_ends(mine, others):
    """Points on the bounds belong to the closed intervals that are cut out."""
    low, high = sorted(mine)
    others = [sorted(other) for other in others]
    left = alone(
        float(low),
        float(high),
        np.array([o[0] for o in others], float),
        np.array([o[1] for o in others], float),
    )
    for point in np.arange(-1, 11.5, 0.25):
        expected = low <= point <= high and not any(a <= point <= b for a, b in others)
        made = any(
            (point > a if no_a else point >= a) and (point < b if no_b else point <= b)
            for a, b, no_a, no_b in left
        )
        assert made == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), high=st.integers(1, 3), n_batches=st.integers(1, 30))
def test_kernel_and_slow_path_agree_on_random_tables(seed, high, n_batches):
    """The compiled loops give what matrix products and one sort give, bit for bit."""
    table = make_table(seed, n=90, missing=0.2)
    rule = f"? <= f1(L{{1..{high}}} => kind = Y) <= ? over 25"
    let = {"Y": "values(kind)", "L": "literals(a/3, grade, flag = 1, c/2)"}
    measure, fast = measured(table, rule, let=let, batches=n_batches)
    original = logic.IN_KERNEL
    try:
        logic.IN_KERNEL = {}
        slow = bounds_on(table, measure, Sampler("train", n_batches, 3))
    finally:
        logic.IN_KERNEL = original

    np.testing.assert_array_equal(fast.lower, slow.lower)
    np.testing.assert_array_equal(fast.upper, slow.upper)
    np.testing.assert_array_equal(fast.support, slow.support)
