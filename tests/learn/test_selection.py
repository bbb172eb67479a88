"""Agreement on held-out rows, redundancy and selection, each computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._learn.bounds import Bounds
from sqrl._learn.selection import Ranking, find_redundant, jaccard, select_top
from sqrl._rows.quantiles import BoundMethod, BoundOptions
from sqrl._rules.schema import Select

TWO_SIDED = BoundMethod(0.02, True, True, BoundOptions())


def bounds(*intervals):
    """One candidate for each interval."""
    lower, upper = np.array(intervals, float).T
    return Bounds(lower[:, None], upper[:, None], np.full((len(intervals), 1), 99))


@pytest.mark.parametrize(
    ("train", "valid", "expected"),
    [
        ((0, 4), (1, 5), 3 / 5),  # Appendix A: (min ub - max lb) / (max ub - min lb)
        ((0, 4), (0, 4), 1.0),
        ((0, 4), (1, 2), 1 / 4),
        ((0, 1), (2, 3), 0.0),  # disjoint: the paper's absolute value would give 1/3
        ((0, 0.1), (5, 5.1), 0.0),  # narrow and far apart: there it would give 0.96
        ((0, 1), (1, 2), 0.0),
        ((3, 3), (3, 3), 1.0),  # two equal points
        ((3, 3), (4, 4), 0.0),
        ((3, 3), (2, 4), 0.0),
    ],
)
def test_jaccard_of_two_intervals(train, valid, expected):
    """The overlap over the hull, 0 where they are apart."""
    assert jaccard(bounds(train), bounds(valid), TWO_SIDED)[0] == expected


def test_an_open_end_is_the_datas_own():
    """A one-sided rule is compared with the extreme value of train and validation together."""
    lower_only = BoundMethod(0.02, True, False, BoundOptions())
    upper_only = BoundMethod(0.02, False, True, BoundOptions())

    assert jaccard(bounds((2, 10)), bounds((4, 12)), lower_only)[0] == (12 - 4) / (12 - 2)
    assert jaccard(bounds((1, 10)), bounds((0, 12)), upper_only)[0] == (10 - 0) / (12 - 0)


def test_of_several_pieces_the_least_agreement_counts():
    """A bucketed rule agrees only where every piece does; one that is not there does not count."""
    train = Bounds(
        np.array([[0.0, 0.0, np.nan]]), np.array([[4.0, 4.0, np.nan]]), np.array([[9, 9, -1]])
    )
    valid = Bounds(
        np.array([[0.0, 1.0, np.nan]]), np.array([[4.0, 5.0, np.nan]]), np.array([[9, 9, -1]])
    )

    assert jaccard(train, valid, TWO_SIDED)[0] == 3 / 5


def test_a_piece_without_held_out_rows_is_not_confirmed():
    """What cannot be compared is nan, which is not above any threshold."""
    valid = Bounds(np.array([[np.nan]]), np.array([[np.nan]]), np.array([[0]]))

    assert np.isnan(jaccard(bounds((0, 1)), valid, TWO_SIDED)[0])


def pieces(*intervals, width=3):
    lower, upper = np.full((1, width), np.nan), np.full((1, width), np.nan)
    for index, (low, high) in enumerate(intervals):
        lower[0, index], upper[0, index] = low, high
    strict = np.zeros((1, width), bool)
    return Bounds(lower, upper, np.full((1, width), 9), strict, strict)


@pytest.mark.parametrize(
    ("train", "valid", "expected"),
    [
        ([(0, 2), (5, 6)], [(1, 2), (5, 7)], 2 / 4),
        ([(0, 2)], [(0, 2)], 1.0),
        ([(0, 2)], [], 0.0),
        ([(0, 2)], [(3, 4)], 0.0),
        ([(3, 3)], [(3, 3)], 1.0),
    ],
)
def test_bodies_of_several_intervals_agree_by_their_length(train, valid, expected):
    """Shared length over joint length."""
    assert jaccard(pieces(*train), pieces(*valid), TWO_SIDED)[0] == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 3), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_of_rules_with_the_same_head_and_rows_the_shortest_then_the_first_stays(rules):
    """Redundancy against a plain loop."""
    same, head, length, keep = (np.array(column) for column in zip(*rules, strict=True))
    made = find_redundant(keep, same.astype(np.uint64), head, length)
    expected = []
    for i, (same_i, head_i, length_i, keep_i) in enumerate(rules):
        better = [
            j
            for j, (same_j, head_j, length_j, keep_j) in enumerate(rules)
            if keep_j and (same_j, head_j) == (same_i, head_i) and (length_j, j) < (length_i, i)
        ]
        expected.append(bool(keep_i and better))

    assert made.tolist() == expected


@pytest.mark.parametrize("by", ["lower", "width", "support", "jaccard"])
def test_the_top_of_each_group_is_selected(by):
    """Highest lower bound, narrowest width, most rows or best agreement, group by group."""
    rng = np.random.default_rng(0)
    n = 60
    lower = rng.random(n)
    ranking = Ranking(
        lower, lower + rng.random(n), rng.permutation(n), rng.random(n), np.ones(n, int)
    )
    keep, group = rng.random(n) < 0.7, rng.integers(0, 3, n)
    selected = select_top(keep, group, ranking, Select(top=4, by=by))
    score = {
        "lower": ranking.lower,
        "width": -(ranking.upper - ranking.lower),
        "support": ranking.rows,
        "jaccard": ranking.jaccard,
    }[by]

    for value in range(3):
        mine = np.flatnonzero(keep & (group == value))
        best = mine[np.argsort(-score[mine])][:4]
        assert selected[group[selected] == value].tolist() == best.tolist()


def test_without_a_top_all_are_selected():
    """Selection is a choice, not a default."""
    keep = np.array([True, False, True])
    columns = [np.zeros(3)] * 5

    assert select_top(keep, np.zeros(3, int), Ranking(*columns), Select()).tolist() == [0, 2]
