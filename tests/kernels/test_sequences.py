"""Rows that follow one another, held against loops over the rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from sqrl._kernels.sequences import arrange, rolling_means, rows_back

KEY = st.one_of(st.none(), st.integers(0, 2))


@st.composite
def arrangements(draw):
    """Rows with one or two keys of entity and of order, many of them alike, some missing."""
    n_rows = draw(st.integers(0, 25))
    n_entity, n_order = draw(st.integers(0, 2)), draw(st.integers(1, 2))

    def keys(n_keys):
        some = st.tuples(*[KEY] * n_keys)
        return draw(st.lists(some, min_size=n_rows, max_size=n_rows))

    return keys(n_entity), keys(n_order)


def arranged(entity, order):
    """What the kernel makes of keys, None where one is missing."""
    known = np.array([None not in (*e, *o) for e, o in zip(entity, order, strict=True)], np.bool_)

    def columns(keys):
        return [np.array([0 if k is None else k for k in one]) for one in zip(*keys, strict=True)]

    return arrange(columns(entity), columns(order) or [np.empty(0)], known)


@given(keys=arrangements(), n=st.integers(1, 4))
def test_the_row_before_is_the_one_that_a_loop_finds(keys, n):
    """Within its entity, by order, ties as they come; none where a key is missing."""
    entity, order = keys
    numbers = list(range(len(order)))

    found = rows_back(arranged(entity, order), n)

    expected = oracles.sequence("lag", numbers, entity, order, n)
    assert found.tolist() == [-1 if row is None else row for row in expected]


@given(keys=arrangements(), n=st.integers(1, 30), data=st.data())
def test_rolling_means_are_those_of_a_loop(keys, n, data):
    """Over the last n rows of the entity, missing values left out."""
    entity, order = keys
    values = data.draw(
        st.lists(
            st.one_of(st.none(), st.integers(-99, 99)), min_size=len(order), max_size=len(order)
        )
    )
    floats = np.array([np.nan if value is None else value for value in values], np.float64)

    found = rolling_means(floats, arranged(entity, order), n)

    expected = oracles.sequence("rolling_mean", values, entity, order, n)
    np.testing.assert_array_equal(found, [np.nan if value is None else value for value in expected])


def test_rolling_means_of_an_entity_do_not_depend_on_the_others():
    """To the last bit: a scan computes some entities at a time."""
    rng = np.random.default_rng(0)
    values, who = rng.lognormal(0, 9, 900), rng.geometric(0.4, 900)
    order, known = np.arange(900.0), np.ones(900, np.bool_)
    for n in (2, 3, 7, 24, 100, 999):
        together = rolling_means(values, arrange([who], [order], known), n)
        for one in np.unique(who):
            mine = np.flatnonzero(who == one)
            alone = arrange([], [order[mine]], known[mine])

            assert rolling_means(values[mine], alone, n).tobytes() == together[mine].tobytes()


def test_a_large_value_leaves_a_rolling_mean_when_it_leaves_the_rows():
    """As it would not if sums were carried along."""
    one = arrange([], [np.arange(4.0)], np.ones(4, np.bool_))

    assert rolling_means(np.array([1e300, 1.0, 1.0, 2.0]), one, 2).tolist()[2:] == [1.0, 1.5]
