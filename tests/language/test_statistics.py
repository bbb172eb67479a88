"""Statistics: what each is by its formula, and what all of them have in common."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from sqrl._language.statistics import (
    BUILT_IN,
    batch_statistic,
    batch_statistics,
    is_batch_statistic,
    statistic,
)
from sqrl.errors import SchemaError, UnknownNameError

NAMES = (
    "accuracy", "distance", "f1", "f1_given", "lift", "max", "mean", "median", "min", "precision",
    "rate", "recall", "repeats", "std", "support",
)  # fmt: skip
OF_VALUES = [name for name in BUILT_IN if batch_statistic(name).of == "values"]
OF_COUNTS = [name for name in BUILT_IN if batch_statistic(name).of == "counts"]


def counts(body, head, both, rows):
    """Four counts as arrays of one mini-batch each."""
    return [np.array([float(count)]) for count in (body, head, both, rows)]


# Six rows: the body holds on 4, the head on 3, both on 2.
BY_HAND_COUNTS = [
    ("f1", 2 * 2 / (4 + 3)),
    ("f1_given", 2 * 0.5 / (1 + 0.5)),
    ("precision", 2 / 4),
    ("recall", 2 / 3),
    ("accuracy", 3 / 6),  # 2 in both and 1 in neither
    ("support", 2 / 6),
    ("lift", (2 / 4) / (3 / 6)),
]


@pytest.mark.parametrize(("name", "expected"), BY_HAND_COUNTS)
def test_a_statistic_of_counts_is_its_formula(name, expected):
    """Each number worked out by hand from the same six rows."""
    assert batch_statistic(name).function(*counts(4, 3, 2, 6)).tolist() == [pytest.approx(expected)]


NAN = math.nan
UNDEFINED = [
    # name, empty body, empty head, both empty, no rows
    ("f1", 0.0, 0.0, NAN, NAN),
    ("f1_given", NAN, 0.0, NAN, NAN),
    ("precision", NAN, 0.0, NAN, NAN),
    ("recall", 0.0, NAN, NAN, NAN),
    ("accuracy", 0.5, 0.5, 1.0, NAN),
    ("support", 0.0, 0.0, 0.0, NAN),
    ("lift", NAN, NAN, NAN, NAN),
]


@pytest.mark.parametrize(("name", "no_body", "no_head", "neither", "no_rows"), UNDEFINED)
def test_a_statistic_of_counts_is_undefined_where_its_denominator_is_zero(
    name, no_body, no_head, neither, no_rows
):
    """F1 of an empty body is 0, unless there are no positives either."""
    body = np.array([0.0, 3.0, 0.0, 0.0])
    head = np.array([3.0, 0.0, 0.0, 0.0])
    rows = np.array([6.0, 6.0, 6.0, 0.0])

    found = batch_statistic(name).function(body, head, np.zeros(4), rows)
    np.testing.assert_array_equal(found, [no_body, no_head, neither, no_rows])


VALUES = np.array([[1.0, 3.0, np.nan, 8.0], [5.0, np.nan, np.nan, 6.0]])
BY_HAND_VALUES = [
    ("mean", [4.0, 5.5]),
    ("std", [math.sqrt((9 + 1 + 16) / 3), 0.5]),
    ("min", [1.0, 5.0]),
    ("max", [8.0, 6.0]),
    ("median", [3.0, 5.5]),
]
NUMPY = {
    "mean": np.nanmean,
    "std": np.nanstd,
    "min": np.nanmin,
    "max": np.nanmax,
    "median": np.nanmedian,
}


@pytest.mark.parametrize(("name", "expected"), BY_HAND_VALUES)
def test_a_statistic_of_values_is_its_formula(name, expected):
    """Each number worked out by hand from the same two mini-batches."""
    np.testing.assert_allclose(batch_statistic(name).function(VALUES), expected, rtol=1e-15)


values = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=1, max_size=20).filter(
    lambda numbers: not all(map(math.isnan, numbers))
)


@pytest.mark.parametrize("name", sorted(NUMPY))
@given(numbers=values)
def test_a_statistic_of_values_agrees_with_numpy_and_with_plain_python(name, numbers):
    """Three ways to the same number."""
    batch = np.array([numbers])
    found = batch_statistic(name).function(batch)

    np.testing.assert_allclose(found, NUMPY[name](batch, axis=-1), rtol=1e-9, atol=1e-6)
    present = [number for number in numbers if not math.isnan(number)]
    np.testing.assert_allclose(found, naive.value_statistic(name, present), rtol=1e-9, atol=1e-6)


@st.composite
def four_counts(draw):
    """How many rows are in the body, the head, both and in all, as they can be."""
    cells = draw(st.tuples(*[st.integers(0, 9)] * 4))
    both, only_body, only_head = cells[:3]
    return both + only_body, both + only_head, both, sum(cells)


@pytest.mark.parametrize("name", [name for name, _ in BY_HAND_COUNTS])
@given(of=four_counts())
def test_a_statistic_of_counts_agrees_with_plain_python(name, of):
    """The same fraction, or undefined in both."""
    expected = naive.count_statistic(name, *of)

    found = batch_statistic(name).function(*counts(*of))
    np.testing.assert_allclose(found, [NAN if expected is None else expected], rtol=1e-15)


@pytest.mark.parametrize("name", OF_VALUES)
class TestEveryStatisticOfValues:
    """Whatever is registered as a statistic of values keeps these promises."""

    def draw(self, *shape):
        """Mini-batches of numbers, some of them missing."""
        rng = np.random.default_rng(7)
        numbers = rng.normal(size=shape)
        numbers[rng.random(shape) < 0.3] = np.nan
        numbers[..., 0] = 1.0
        return numbers

    def test_it_gives_one_number_for_each_mini_batch(self, name):
        """The last axis is reduced, whatever stands before it."""
        for shape in [(5, 8), (1, 1), (0, 8), (2, 3, 8)]:
            found = batch_statistic(name).function(self.draw(*shape))

            assert found.shape == shape[:-1]
            assert found.dtype == np.float64
            assert np.isfinite(found).all()

    def test_it_does_not_depend_on_the_order_of_rows(self, name):
        """A mini-batch is a set of rows."""
        batches = self.draw(5, 8)
        shuffled = batches[:, np.random.default_rng(1).permutation(8)]

        found = batch_statistic(name).function
        np.testing.assert_allclose(found(shuffled), found(batches), rtol=1e-12)

    def test_it_permutes_with_the_mini_batches(self, name):
        """No mini-batch sees another."""
        batches = self.draw(5, 8)
        order = np.array([3, 0, 4, 2, 1])

        found = batch_statistic(name).function
        np.testing.assert_array_equal(found(batches[order]), found(batches)[order])

    def test_it_ignores_rows_that_do_not_count(self, name):
        """A nan changes nothing."""
        batches = self.draw(5, 8)
        padded = np.concatenate([batches, np.full((5, 3), np.nan)], axis=-1)

        found = batch_statistic(name).function
        np.testing.assert_allclose(found(padded), found(batches), rtol=1e-12)

    def test_it_is_undefined_where_no_row_counts(self, name):
        """Nothing is not zero; neither is it a warning."""
        batches = np.array([[np.nan, np.nan], [1.0, 2.0]])

        found = batch_statistic(name).function(batches)
        assert np.isnan(found).tolist() == [True, False]
        assert np.isnan(batch_statistic(name).function(np.empty((3, 0)))).tolist() == [True] * 3

    def test_it_leaves_its_input_alone(self, name):
        """It works on a read-only array and does not change it."""
        batches = self.draw(5, 8)
        before = batches.copy()
        batches.flags.writeable = False
        batch_statistic(name).function(batches)

        np.testing.assert_array_equal(batches, before)

    def test_a_single_row_is_no_exception(self, name):
        """One row has a statistic: its value, or no spread, and it repeats none."""
        found = batch_statistic(name).function(np.array([[3.0], [np.nan]]))

        assert found[0] == (0.0 if name in {"std", "repeats"} else 3.0)
        assert np.isnan(found[1])


@pytest.mark.parametrize("name", OF_COUNTS)
class TestEveryStatisticOfCounts:
    """Whatever is registered as a statistic of counts keeps these promises."""

    def draw(self, *shape):
        """Counts as they can be: both is at most body and head, all at least their union."""
        rng = np.random.default_rng(7)
        cells = rng.integers(1, 9, (4, *shape)).astype(np.float64)
        both, only_body, only_head, neither = cells
        return both + only_body, both + only_head, both, both + only_body + only_head + neither

    def test_it_keeps_the_shape(self, name):
        """One number for each rule and mini-batch."""
        for shape in [(5,), (2, 3), (0,), ()]:
            found = batch_statistic(name).function(*self.draw(*shape))

            assert found.shape == shape
            assert found.dtype == np.float64
            assert np.isfinite(found).all()

    def test_it_broadcasts(self, name):
        """One head and one number of rows serve many bodies."""
        body, head, both, rows = self.draw(4, 3)
        head, rows = head[:1] * 0 + 10.0, np.array(50.0)

        found = batch_statistic(name).function(body, head, both, rows)
        full = batch_statistic(name).function(body, head + 0 * body, both, rows + 0 * body)
        np.testing.assert_array_equal(found, full)

    def test_it_permutes_with_the_mini_batches(self, name):
        """No mini-batch sees another."""
        batches = self.draw(5)
        order = np.array([3, 0, 4, 2, 1])

        found = batch_statistic(name).function(*(count[order] for count in batches))
        np.testing.assert_array_equal(found, batch_statistic(name).function(*batches)[order])

    def test_it_is_undefined_without_rows(self, name):
        """Nothing is not zero; neither is it a warning."""
        assert np.isnan(batch_statistic(name).function(*counts(0, 0, 0, 0))).all()

    def test_it_leaves_its_input_alone(self, name):
        """It works on read-only arrays and does not change them."""
        batches = self.draw(5)
        before = [count.copy() for count in batches]
        for count in batches:
            count.flags.writeable = False
        batch_statistic(name).function(*batches)

        np.testing.assert_array_equal(batches, before)


def test_the_built_in_statistics_are_these():
    """A name in a rules file is a promise: none disappears unnoticed."""
    assert BUILT_IN == NAMES
    assert set(BUILT_IN) <= set(batch_statistics())
    assert list(batch_statistics()) == sorted(batch_statistics())
    assert batch_statistic("rate").of == "share"


def test_a_statistic_of_ones_own_is_known_by_its_name():
    """A rule can name what was registered in Python."""

    @statistic("third_moment")
    def third_moment(batches):
        return np.nanmean(batches**3, axis=-1)

    assert is_batch_statistic("third_moment")
    assert batch_statistic("third_moment").of == "values"
    assert batch_statistic("third_moment").function is third_moment
    assert third_moment(np.array([[1.0, 2.0]])).tolist() == [4.5]


def test_a_statistic_of_counts_of_ones_own_is_known_by_its_name():
    """The same holds for statistics of a body and a head."""

    @statistic("jaccard", of="counts")
    def jaccard(body, head, both, _rows):
        return both / (body + head - both)

    assert batch_statistic("jaccard").of == "counts"
    assert batch_statistic("jaccard").function(*counts(4, 3, 2, 6)).tolist() == [0.4]


def test_the_last_registration_of_a_name_counts():
    """In a notebook a cell is run again, perhaps with another kind."""
    statistic("again")(np.nanmin)
    statistic("again", of="counts")(np.fmax)

    assert batch_statistic("again").of == "counts"
    assert batch_statistics().count("again") == 1
    statistic("again")(np.nanmin)
    assert batch_statistic("again").of == "values"


REFUSED = [
    (
        "no name",
        "'no name' cannot name a statistic.\n  fix:   use letters, digits and underscores",
    ),
    ("", "'' cannot name a statistic.\n  fix:   use letters, digits and underscores"),
    (
        "rate",
        "'rate' is part of the language: the share of rows where a formula holds.\n"
        "  fix:   choose another name",
    ),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
def test_a_name_that_rules_cannot_use_is_refused(name, message):
    """A statistic that no sentence can name would be lost."""
    with pytest.raises(SchemaError) as error:
        statistic(name)

    assert str(error.value) == message


@pytest.mark.parametrize("look_up", [batch_statistic])
def test_an_unknown_statistic_is_answered_with_the_nearest_one(look_up):
    """A typo costs its author one read of the message."""
    with pytest.raises(UnknownNameError) as error:
        look_up("meen")

    assert str(error.value) == "Unknown statistic 'meen'.\n  fix:   did you mean 'mean'?"
    assert not is_batch_statistic("meen")


def test_a_statistic_of_counts_that_changes_their_shape_is_refused():
    """It would be given to the wrong rules."""
    statistic("total", of="counts")(lambda body, *_: body.sum())

    with pytest.raises(SchemaError) as error:
        batch_statistic("total")(*(np.ones((2, 3)) for _ in range(4)))

    assert str(error.value) == (
        "The statistic 'total' gave shape () for counts of shape (2, 3).\n"
        "  fix:   compute with each place of the counts by itself, such as both / body"
    )


def test_what_is_not_finite_is_undefined():
    """A division by zero is neither a number nor a warning."""
    statistic("odds", of="counts")(lambda body, _head, both, _rows: both / (body - both))
    found = batch_statistic("odds")(
        *(np.array(x) for x in ([4.0, 2.0, 0.0], 9, [1.0, 2.0, 0.0], 9))
    )

    np.testing.assert_array_equal(found, [1 / 3, NAN, NAN])
