"""What columns say of each other is found where it is, and not where it is not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from sqrl._learn.relations.combinations import find_combinations
from sqrl._learn.relations.dependence import (
    Pair,
    chi_square_p,
    chi_squares,
    dependent_pairs,
    n_cells,
    pair_tables,
    spread_out,
)
from sqrl._learn.relations.features import Cells, Feature, as_cells, as_values
from sqrl._learn.relations.functional import decides, find_dependencies
from sqrl._learn.relations.orders import find_orders

CODES = st.lists(st.integers(-1, 3), min_size=30, max_size=30)


def number(name, values, n_valid=200):
    """A feature of a number, its last values held out."""
    values = np.asarray(values, float)
    return Feature(name, name, True, values[:-n_valid], values[-n_valid:])


def category(name, codes, n_valid=200):
    """A feature of a category, its last values held out."""
    codes = np.asarray(codes, np.int64)
    return Feature(name, name, False, codes[:-n_valid], codes[-n_valid:])


def pairs_of(*features):
    """The names of the pairs that depend on each other."""
    cells = [as_cells(one, n_cells(one.train.size, len(features))) for one in features]
    found = dependent_pairs(cells, most=50)
    return [(features[pair.first].text, features[pair.second].text) for pair in found]


@given(first=CODES, second=CODES)
def test_tables_of_all_pairs_are_those_that_counting_gives(first, second):
    """The matrix product counts what a loop counts, and chi-square is its definition."""
    codes = [np.array(first), np.array(second)]
    tables = pair_tables(codes, 4)
    chi, df, n = chi_squares(tables)
    table, wanted = oracles.chi_square(first, second, 4)

    assert tables[0, :, 1, :].tolist() == table
    assert chi[0, 1] == pytest.approx(wanted.chi, abs=1e-4, rel=1e-4)
    assert (df[0, 1], n[0, 1]) == (wanted.df, wanted.n)


@pytest.mark.parametrize("df", [1, 4, 9, 49])
def test_the_chance_of_a_chi_square_is_about_right(df):
    """Good to screen with: within a factor of two down to a ten-thousandth."""
    from scipy.stats import chi2

    for wanted in (0.3, 0.05, 1e-3, 1e-4):
        found = float(chi_square_p(np.array([chi2.isf(wanted, df)]), np.array([float(df)]))[0])

        assert abs(math.log2(found / wanted)) < 1


def test_dependent_columns_are_found_the_strongest_first():
    """Numbers, categories and both; what is independent is not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    kind = (x > 0).astype(int) + (rng.random(2000) < 0.3)
    found = pairs_of(
        number("x", x),
        number("y", x + rng.normal(size=2000) * 0.5),
        category("kind", kind),
        category("size", (kind + (rng.random(2000) < 0.2)) % 3),
        number("noise", rng.normal(size=2000)),
    )

    assert found[0] == ("x", "y") or found[0] == ("kind", "size")
    assert {("x", "y"), ("x", "kind"), ("kind", "size")} <= set(found)
    assert not any("noise" in pair for pair in found)


def test_independent_columns_give_no_pairs():
    """Twenty columns of noise, thirty times: none is ever related."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        cells = [Cells(rng.integers(0, 4, 400), rng.integers(0, 4, 100), 4) for _ in range(20)]

        assert dependent_pairs(cells, most=10) == []


def test_what_does_not_hold_on_held_out_rows_is_no_relation():
    """A dependence of the first rows alone is not given."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = np.concatenate([x[:800], rng.normal(size=200)])

    assert pairs_of(number("x", x), number("y", y)) == []


def test_missing_values_and_constants_are_no_relation():
    """Rows where one is missing do not count; a column of one value depends on nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    half = np.where(rng.random(1000) < 0.5, np.nan, x)

    assert pairs_of(number("x", x), number("half", half), number("one", np.ones(1000))) == [
        ("x", "half")
    ]
    assert pairs_of(number("none", np.full(1000, np.nan)), number("x", x)) == []


def test_every_column_has_its_strongest_partner_before_any_has_many():
    """A budget is spread out, and the label is served first."""
    pairs = [Pair(0, 1, 0.9), Pair(0, 2, 0.8), Pair(0, 3, 0.7), Pair(1, 2, 0.6), Pair(3, 4, 0.1)]
    nobody = np.zeros(5, bool)
    label = np.array([False] * 4 + [True])

    assert spread_out(pairs, most=3, most_each=2, first=nobody) == [
        Pair(0, 1, 0.9),
        Pair(0, 2, 0.8),
        Pair(3, 4, 0.1),
    ]
    assert spread_out(pairs, most=1, most_each=2, first=label) == [Pair(3, 4, 0.1)]


@given(first=CODES, second=CODES)
def test_a_function_is_what_a_loop_says_is_one(first, second):
    """On rows where both are known each value of the first has one of the second."""
    one = Cells(np.array(first), np.array(first), 4)
    other = Cells(np.array(second), np.array(second), 4)

    assert decides(one, other) == oracles.decides(first, second)


def test_a_country_decides_its_currency_and_not_its_channel():
    """One direction is given where each decides the other; few-valued numbers may be decided."""
    rng = np.random.default_rng(0)
    country = rng.integers(0, 5, 2000)
    features = [
        category("country", country),
        category("currency", 4 - country),
        number("zone", country // 2),
        category("channel", rng.integers(0, 3, 2000)),
    ]
    cells = [as_cells(one, 8) for one in features]
    found = find_dependencies(features, dependent_pairs(cells, most=50))
    named = {(features[f.decides].text, features[f.decided].text): f.both_ways for f in found}

    assert named == {
        ("country", "currency"): True,
        ("country", "zone"): False,
        ("currency", "zone"): False,
    }


def test_an_exception_on_held_out_rows_is_no_function():
    """All rows must agree."""
    codes = np.tile([0, 1, 2], 400)
    other = codes.copy()
    other[-1] = 0
    features = [category("a", codes), category("b", other)]

    assert find_dependencies(features, [Pair(0, 1, 1.0)]) == []


def orders_table(rng, n=3000):
    price, quantity = rng.lognormal(3, 0.8, n).round(2), 1.0 + rng.poisson(0.8, n)
    shipping = (4 + rng.gamma(2, 1, n)).round(2)
    return {
        "price": price,
        "quantity": quantity,
        "shipping": shipping,
        "total": (price * quantity + shipping).round(2),
    }


def combinations_of(columns, most=10):
    features = [number(name, values) for name, values in columns.items()]
    found = find_combinations(features, most=most)
    return [one.text(list(columns)) for one in found]


def test_a_sum_of_a_product_is_found():
    """The total of an order is what was paid for the things and for sending them."""
    assert combinations_of(orders_table(np.random.default_rng(0))) == [
        "total - price * quantity - shipping"
    ]


def test_noise_and_wild_values_do_not_hide_a_line():
    """Power is 230 times current, give or take, but for a few wild rows and missing ones."""
    rng = np.random.default_rng(0)
    current = rng.uniform(1, 9, 3000)
    power = 230 * current + rng.normal(0, 10, 3000)
    power[::500], current[::7] = 1e9, np.nan

    assert combinations_of({"current": current, "power": power, "x": rng.normal(size=3000)}) == [
        "power - 230 * current"
    ]


def test_a_difference_is_found_though_neither_part_tells_it():
    """The width of a box is right less left; each by itself says nothing of it."""
    rng = np.random.default_rng(0)
    left, width = rng.uniform(0, 1000, 2000), rng.uniform(10, 50, 2000)

    assert combinations_of({"left": left, "right": left + width, "width": width}) == [
        "right - left - width"
    ]


@given(seed=st.integers(0, 50))
@settings(max_examples=10)
def test_independent_numbers_have_no_combination(seed):
    """Nothing narrow is found among columns that have nothing to do with each other."""
    rng = np.random.default_rng(seed)

    assert combinations_of({name: rng.normal(size=600) for name in "abcde"}) == []


@pytest.mark.parametrize(
    "values",
    [np.full(600, np.nan), np.ones(600), np.full(600, np.inf), np.r_[np.nan, np.arange(599)]],
    ids=["missing", "constant", "infinite", "one missing"],
)
def test_odd_columns_neither_fail_nor_combine(values):
    """Constants, missing and infinite values are passed over."""
    rng = np.random.default_rng(0)
    columns = {"odd": values, "x": rng.normal(size=600), "y": rng.normal(size=600)}

    assert combinations_of(columns) == []


def test_orders_are_found_without_those_that_follow():
    """Ordered before packed before shipped; what never meets says nothing."""
    rng = np.random.default_rng(0)
    ordered = rng.integers(0, 90, 2000)
    packed = ordered + rng.integers(0, 3, 2000)
    features = [
        number("shipped", packed + rng.integers(0, 3, 2000)),
        number("ordered", ordered),
        number("packed", packed),
        number("year", np.full(2000, 2025.0)),
        number("noise", rng.normal(45, 30, 2000)),
    ]
    found = [(features[o.low].text, features[o.high].text) for o in find_orders(features)]

    assert found == [("packed", "shipped"), ("ordered", "packed")]


def test_a_value_never_seen_is_in_a_cell_of_its_own():
    """Held-out values are coded as those of the rows to learn from."""
    feature = Feature("x", "x", True, np.array([1.0, 2, 2, np.nan]), np.array([2.0, 3, np.nan]))
    cells = as_values(feature, 5)

    assert cells.train.tolist() == [0, 1, 1, -1]
    assert cells.valid.tolist() == [1, 2, -1]
    assert as_values(feature, 1) is None
