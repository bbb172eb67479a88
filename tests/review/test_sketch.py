"""The sketch of values that the page counts by: exact at the ends, near between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqrl._review.sketch import EXACT, make_sketch

FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(FLOATS, max_size=60), FLOATS)
def test_few_values_are_counted_exactly(values, bound):
    """As a loop counts them, ties and all."""
    for at in [bound, *values]:
        assert make_sketch(np.array(values, float)).below(at) == (
            float(sum(value < at for value in values)),
            True,
        )


def test_many_values_are_exact_at_the_ends_and_near_between():
    """A 98 % rule of a hundred thousand rows has its bounds where all values are kept."""
    values = np.random.default_rng(0).normal(size=100_000)
    sketch = make_sketch(values)
    for share in (0.0001, 0.01, 0.02, 0.3, 0.5, 0.9, 0.99, 0.9999):
        bound = float(np.quantile(values, share))
        count, is_exact = sketch.below(bound)
        true = int((values < bound).sum())

        assert is_exact == (min(true, values.size - true) < EXACT)
        assert abs(count - true) <= (0 if is_exact else values.size / 1024)
    assert sketch.values.size < 6000


def test_what_is_no_number_is_left_out():
    """Missing and infinite values lie beyond no bound that a page could draw."""
    sketch = make_sketch(np.array([np.nan, np.inf, 3.0, -np.inf, 1.0]))

    assert (sketch.n, sketch.values.tolist()) == (2, [1.0, 3.0])
