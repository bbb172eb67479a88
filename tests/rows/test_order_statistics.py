"""Order statistics within cells, in memory and asked of scanned rows, against plain loops."""

from dataclasses import replace
from itertools import chain, pairwise
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._data.table import as_table
from sqrl._kernels.selection import Selection
from sqrl._language import parse_formula
from sqrl._learn.domains import cut_points
from sqrl._rows.cells import Grid
from sqrl._rows.order_statistics import ForBounds, ForCuts, Ordered, OrderStatistics, pick
from sqrl._rows.quantiles import BoundMethod, BoundOptions, sort_groups
from sqrl._rows.rows import Rows

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([-0.0, 0.0, np.nan, 1e-320, 0.1]),
    st.floats(-1e300, 1e300),
)
SOON = settings(deadline=None, max_examples=50)  # the first call pays for imports and compilation
PERCENTILES = st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True).map(sorted)


def every_rank(counts):
    """Wants all order statistics, of as many values as the largest group has."""
    ranks = np.arange(max(counts.max(initial=0), 1))
    return np.where(ranks < counts[:, None], ranks, -1)


def ordered(values, wants):
    """The order statistics of one group, without a table."""
    groups = np.zeros(len(values), np.int64)
    return Ordered(*pick(*sort_groups(np.array(values, float) + 0.0, groups, 1), wants))


@SOON
@given(st.lists(st.tuples(st.integers(0, 2), NUMBERS), max_size=30))
def test_picked_values_are_those_of_a_sorted_list(pairs):
    """And `through` counts the values that are no greater."""
    groups = np.array([group for group, _ in pairs], np.int64)
    values = np.array([value for _, value in pairs], float)
    counts, found, through = pick(*sort_groups(values, groups, 3), every_rank)

    for group in range(3):
        mine = sorted(v for g, v in pairs if g == group and not isnan(v))
        assert counts[group] == len(mine)
        assert found[group, : len(mine)].tolist() == mine
        assert through[group, : len(mine)].tolist() == [sum(v <= w for v in mine) for w in mine]
        assert np.isnan(found[group, len(mine) :]).all()
        assert not through[group, len(mine) :].any()


@SOON
@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_of_all_rows_values_are_sorted_once_and_give_what_any_condition_gives(values):
    """A condition that holds everywhere goes the long way, by groups of rows."""
    rows = Rows(as_table({"x": values, "y": [1.0] * len(values)}), {})
    subject, always = parse_formula("x + 0"), parse_formula("y = 1")
    where = np.zeros(1, np.int64)
    wholes = [Grid(((),), ((),), (), (), where), Grid(((always,),), ((),), (), (), where)]
    for wants in (every_rank, ForCuts((50.0,)), every_rank):
        asked = [OrderStatistics("train", grid, (0,), (subject,), wants) for grid in wholes]
        short, long = (question.answer(rows)[0] for question in asked)

        np.testing.assert_equal(short.values.view(np.int64), long.values.view(np.int64))
        assert short.counts.tolist() == long.counts.tolist()
        assert short.through.tolist() == long.through.tolist()
        for question in asked:
            assert question.group_of_rows(rows).tolist() == [0] * len(values)
    assert rows.ascending(subject) is rows.ascending(subject)


@SOON
@given(st.lists(NUMBERS, max_size=40), PERCENTILES)
def test_cuts_are_those_of_values_in_memory(values, percentiles):
    """Literals are cut by `cut_points` in memory and by `ForCuts` where rows are scanned."""
    wants = ForCuts(tuple(map(float, percentiles)))
    cuts = wants.cuts(ordered(values, wants))[0]
    expected = cut_points(np.array(values, float), list(map(float, percentiles)))

    assert cuts[: expected.size].tolist() == expected.tolist()
    assert np.isnan(cuts[expected.size :]).all()


@SOON
@given(st.lists(st.sampled_from([-np.inf, np.inf, -1.0, 0.0, 1.0]), max_size=20), PERCENTILES)
def test_cuts_of_infinite_values_are_the_same_too(values, percentiles):
    """They are reported, but only where a rule would speak of them."""
    wants = ForCuts(tuple(map(float, percentiles)))
    with np.errstate(invalid="ignore"):
        cuts = wants.cuts(ordered(values, wants))[0]
        expected = cut_points(np.array(values, float), list(map(float, percentiles)))

    assert cuts[~np.isnan(cuts)].tolist() == expected.tolist()


@pytest.mark.parametrize("method", ["percentile", "tolerance"])
@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True)])
@given(values=st.lists(NUMBERS, max_size=60))
@settings(deadline=None, max_examples=20)
def test_bounds_are_interpolated_as_numpy_does(method, sides, values):
    """Percentiles by their ranks; tolerance bounds are values of the data."""
    options = BoundOptions(method=method, confidence=0.6, min_support=4)
    wants = ForBounds((BoundMethod(0.2, *sides, options),))
    found = ordered(values, wants)
    lower, upper, support = (column[0] for column in wants.bounds(found))
    present = np.sort([v + 0.0 for v in values if not isnan(v)])

    assert support == present.size
    if np.isnan(lower):
        assert np.isnan(upper)
        assert method == "tolerance" or present.size < 4
    elif method == "percentile":
        tail = 10 if all(sides) else 20
        ends = np.percentile(present, [tail, 100 - tail])
        assert lower == (ends[0] if sides[0] else present[0])
        assert upper == (ends[1] if sides[1] else present[-1])
    else:
        assert {lower, upper} <= set(present.tolist())


def formulas(*texts):
    return tuple(map(parse_formula, texts))


# Each with the cut points of its levels: (conditions, cells above, cuts).
CONDITIONS = {
    "everywhere": ((),),
    "categories": (formulas("kind = x"), formulas("kind = y"), formulas("kind = absent")),
    "numbers": (formulas("grade = 1"), formulas("grade = 2")),
    "overlapping": (formulas("kind = x"), formulas("flag"), formulas("kind = x", "flag")),
    "the same twice": (formulas("kind = x"), formulas("kind = x")),
    "a category called 1": (formulas("kind = 1"), formulas("kind = x")),
}


@st.composite
def orders(draw):
    """A question about a table of a, b, flag, grade and kind, with or without buckets."""
    conditions = CONDITIONS[draw(st.sampled_from(sorted(CONDITIONS)))]
    n_levels = draw(st.integers(0, 2))
    items = draw(st.permutations(formulas("a", "b", "a - b")))[:n_levels]
    sizes = draw(st.lists(st.integers(2, 3), min_size=n_levels, max_size=n_levels))
    cuts, above = [], 1
    for size in sizes:
        shape = (len(conditions), above, size - 1)
        flat = draw(st.lists(st.sampled_from([-1.0, 0.0, 1.0, np.nan]), min_size=8, max_size=8))
        made = np.resize(np.array(flat), shape)
        cuts.append(np.sort(made, axis=2))  # nan comes last
        above *= size
    levels = (tuple(items),) * len(conditions)
    grid = Grid(conditions, levels, tuple(sizes), tuple(cuts), np.zeros(0, np.int64))
    chosen = draw(st.lists(st.integers(0, len(conditions) - 1), min_size=1, unique=True))
    classes = draw(st.sampled_from([(), formulas("flag = true", "flag = false")]))
    subjects = formulas("b", "a + b")
    return OrderStatistics("train", grid, tuple(sorted(chosen)), subjects, every_rank, classes)


@st.composite
def made_rows(draw):
    """Rows with ties and missing values."""
    small = st.none() | st.integers(-2, 2).map(float)
    row = st.tuples(
        small,
        small,
        st.none() | st.booleans(),
        st.none() | st.integers(1, 3),
        st.none() | st.sampled_from(["x", "y", "z", "1"]),
    )
    rows = draw(st.lists(row, max_size=25))
    names = ("a", "b", "flag", "grade", "kind")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def naive_groups(order, columns):
    """The rows of each group, by a plain loop over conditions and rows."""
    rows = Rows(as_table(columns), {})
    found = {group: [] for group in range(order.n_groups)}
    for place, condition in enumerate(order.conditions):
        truths = rows.all_true(order.grid.conditions[condition])
        for row in np.flatnonzero(truths).tolist():
            cell = 0
            for level, item in enumerate(order.grid.levels[condition]):
                cuts = order.grid.cuts[level][condition][cell]
                cuts = cuts[~np.isnan(cuts)].tolist()
                value = rows.numbers(item)[row]
                if cuts and np.isnan(value):
                    break
                bucket = sum(value > cut for cut in cuts)
                cell = cell * order.grid.n_buckets[level] + bucket
            else:
                group = place * order.grid.n_cells + cell
                if order.classes:
                    code = {True: 0, False: 1, None: None}[columns["flag"][row]]
                    group = None if code is None else group * 2 + code
                if group is not None:
                    found[group].append(row)
    return found


@settings(deadline=None, max_examples=100)
@given(order=orders(), columns=made_rows())
def test_groups_are_those_of_a_plain_loop(order, columns):
    """Of all rows at once, and row by row where a row is in one group at most."""
    expected = naive_groups(order, columns)
    rows = Rows(as_table(columns), {})
    selected, group = order.groups(rows, order.conditions)
    of_rows = order.group_of_rows(rows)

    for number, mine in expected.items():
        assert sorted(selected[group == number].tolist()) == mine
        if of_rows is not None:
            assert np.flatnonzero(of_rows == number).tolist() == mine
    if of_rows is None:
        groups = naive_groups(replace(order, classes=()), columns)
        several = list(chain.from_iterable(groups.values()))
        assert len(set(several)) < len(several)


@SOON
@given(order=orders(), columns=made_rows(), cuts=st.lists(st.integers(0, 25), max_size=4))
def test_rows_in_parts_give_the_order_statistics_of_the_whole(order, columns, cuts):
    """A selection over the groups of the parts finds what sorting the whole finds."""
    rows = Rows(as_table(columns), {})
    table, n_rows = rows.table, rows.n
    ends = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    parts = [Rows(table.take(np.arange(first, last)), {}) for first, last in pairwise(ends)]

    for subject, expected in zip(order.subjects, order.answer(rows), strict=True):
        selection = Selection(order.n_groups, order.wants, most_bytes=64)
        while not selection.is_done:
            state = selection.round.start()
            for part in parts:
                selected, group = order.groups(part, order.conditions)
                state = selection.round.summarise(part.numbers(subject)[selected], group, state)
            selection.narrow(state)
        assert selection.counts.tolist() == expected.counts.tolist()
        assert selection.values.tobytes() == expected.values.tobytes()
        assert selection.through.tolist() == expected.through.tolist()


def test_there_is_one_zero_whatever_the_order_of_the_rows():
    """A sort leaves it to the rows which of 0.0 and -0.0 comes first, and a rule would show it."""
    grid = Grid(((),), ((),), (), (), np.zeros(1, np.int64))
    order = OrderStatistics("train", grid, (0,), formulas("x"), every_rank)
    found = [
        order.answer(Rows(as_table({"x": x}), {}))[0].values.tobytes()
        for x in ([-0.0, 0.0], [0.0, -0.0], [0.0, 0.0])
    ]

    assert found[0] == found[1] == found[2]


def test_few_conditions_at_a_time_give_the_same(monkeypatch):
    """Memory is for a limited number of rows."""
    columns = {"kind": ["x", "y", "x", "1"] * 5, "b": np.arange(20.0), "a": np.arange(20.0)}
    conditions = CONDITIONS["categories"]
    grid = Grid(conditions, ((),) * 3, (), (), np.zeros(0, np.int64))
    order = OrderStatistics("train", grid, (0, 1, 2), formulas("b"), every_rank)
    rows = Rows(as_table(columns), {})
    (whole,) = order.answer(rows)
    monkeypatch.setattr("sqrl._rows.order_statistics.MOST_ROWS_AT_ONCE", 20)
    wants = ForBounds((BoundMethod(0.2, True, True, BoundOptions(min_support=1)),))
    (some,) = OrderStatistics("train", grid, (0, 1, 2), formulas("b"), wants).answer(rows)

    assert some.counts.tolist() == whole.counts.tolist() == [10, 5, 0]
    assert wants.bounds(some)[0][:2].tolist() == [
        np.percentile(np.arange(20.0)[start::step], 10) for start, step in ((0, 2), (1, 4))
    ]
