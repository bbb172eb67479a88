"""Guesses where order statistics lie: what sorting gives, whatever the sample was."""

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from both_loops import loops_of  # noqa: F401  (runs each test on both)
from sqrl._kernels.selection import Collecting, Selection
from sqrl._kernels.selection_guess import Guessing, Sample, make_guess

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7976931348623157e308]
ANY = 1 << 40
NUMBERS = {
    "any": st.floats(),
    "special": st.sampled_from(SPECIAL),
    "tied": st.integers(-3, 3).map(float) | st.just(np.nan),
    "many": st.integers(-500, 500).map(lambda n: n / 7),
}


@st.composite
def problems(draw):
    """Values and groups, a sample that may be of other values, and a seed for the rest."""
    kinds = [NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))] for _ in range(2)]
    n_groups, seed = draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    values, others = (np.array(draw(st.lists(k, max_size=80)), np.float64) for k in kinds)
    groups, other_groups = (rng.integers(-1, n_groups, v.size) for v in (values, others))
    if draw(st.booleans()):  # a sample of these very values
        chosen = rng.random(values.size) < 0.5
        others, other_groups = values[chosen], groups[chosen]
    share = draw(st.sampled_from([0.01, 0.5, 1.0]))
    return values, groups, n_groups, sample_of(others, other_groups, share), seed


def sample_of(values, groups, share):
    """A sample, in order and without what is missing."""
    order = np.argsort(values)
    order = order[~np.isnan(values[order])]
    return Sample(values[order], groups[order], share)


def some_ranks(counts, seed, k=3):
    """Ranks that each group has, or -1; the same share of each for any count."""
    rng = np.random.default_rng(seed)
    shares = rng.random((len(counts), k))
    ranks = (shares * np.asarray(counts)[:, None]).astype(int)
    return np.where(
        (np.asarray(counts)[:, None] == 0) | (rng.random(shares.shape) < 0.2), -1, ranks
    )


def search(values, groups, guess, n_groups, wants, *, most_each, seed=0):
    """The finished selection and the kind of each round; values come in pieces, states merge."""
    first = guess.round(most_bytes=1 << 16, most_each=most_each)
    selection, kinds = Selection(n_groups, wants, most_bytes=1 << 16, guess=first), []
    rng = np.random.default_rng(seed)
    while not selection.is_done:
        kinds.append(type(selection.round))
        order = rng.permutation(values.size)
        cuts = np.sort(rng.integers(0, values.size + 1, 3))
        pieces = zip(np.split(values[order], cuts), np.split(groups[order], cuts), strict=True)
        states = [selection.round.summarise(*piece, selection.round.start()) for piece in pieces]
        selection.narrow(reduce(selection.round.merge, states))
    return selection, kinds


@settings(deadline=None)  # the first call loads the compiled loops
@given(problem=problems(), most_each=st.sampled_from([-1, 30, 1000, ANY]))
def test_order_statistics_are_those_of_sorting_whatever_was_guessed(problem, most_each):
    """A sample of other values costs rounds, and changes no bit of what is found."""
    values, groups, n_groups, sample, seed = problem

    def wants(counts):
        return some_ranks(counts, seed)

    guess = make_guess(sample, n_groups, wants)
    found, _ = search(values, groups, guess, n_groups, wants, most_each=most_each, seed=seed)
    counts = [sum((groups == group) & ~np.isnan(values)) for group in range(n_groups)]
    expected = oracles.order_statistics(values, groups, some_ranks(counts, seed))

    assert found.counts.tolist() == counts
    assert found.through.tolist() == [[through for _, through in row] for row in expected]
    flat = np.array([np.nan if v is None else v for row in expected for v, _ in row])
    wanted = ~np.isnan(flat)
    assert (
        found.values.ravel()[wanted].view(np.uint64).tolist()
        == flat[wanted].view(np.uint64).tolist()
    )
    assert np.isnan(found.values.ravel()[~wanted]).all()


def quartets(counts):
    """The ranks about the first and the last percent."""
    lower, upper = (counts - 1) // 100, (counts - 1) * 99 // 100
    return np.stack([lower, lower + 1, upper, upper + 1], axis=1)


@pytest.fixture(scope="module")
def many():
    """Values in 20 groups of unequal size, and a sample of every fiftieth."""
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=400_000), (20 * rng.random(400_000) ** 2).astype(np.int64)
    return values, groups, sample_of(values[::50], groups[::50], 1 / 50)


def sorted_picks(values, groups, n_groups):
    """The quartets of each group by one sort."""
    counts = np.bincount(groups, minlength=n_groups)
    starts = np.cumsum(counts) - counts
    return values[np.lexsort((values, groups))][starts[:, None] + quartets(counts)]


@pytest.mark.parametrize(
    ("most_each", "kinds"), [(ANY, [Guessing]), (3000, [Guessing, Collecting])]
)
def test_a_right_guess_needs_one_round_or_two(many, most_each, kinds):
    """That is what guesses are for: every round reads all data."""
    values, groups, sample = many
    guess = make_guess(sample, 20, quartets)
    found, seen = search(values, groups, guess, 20, quartets, most_each=most_each)

    assert seen == kinds
    assert np.array_equal(found.values, sorted_picks(values, groups, 20))


def test_what_is_collected_is_about_what_is_expected(many):
    """Room is shared out by what guesses expect, so that it has to be an upper bound."""
    values, groups, sample = many
    guess = make_guess(sample, 20, quartets)
    first = guess.round(most_bytes=0, most_each=ANY)
    state = first.summarise(values, groups, first.start())

    assert state["found"][0] <= guess.expected.sum() < 3 * state["found"][0] < values.size


def test_more_than_was_expected_is_not_kept(many):
    """A sample that is not like the data costs rounds, never memory."""
    _, groups, sample = many
    guess = make_guess(sample, 20, quartets)
    first = guess.round(most_bytes=0, most_each=ANY)
    inside = np.tile(np.nan_to_num(guess.ranges.lows[groups, 0]), 2)  # all of them in a range
    pieces = zip(np.split(inside, 8), np.split(np.tile(groups, 2), 8), strict=True)
    states = [first.summarise(*piece, first.start()) for piece in pieces]
    merged = reduce(first.merge, states)

    assert merged["places"].sum() == inside.size
    assert merged["bits"].size == 0
    assert max(state["bits"].size for state in states) <= guess.expected.sum()
    found, kinds = search(inside, np.tile(groups, 2), guess, 20, quartets, most_each=ANY)
    assert len(kinds) > 1
    assert np.array_equal(found.values, sorted_picks(inside, np.tile(groups, 2), 20))


def test_a_value_that_most_rows_have_is_counted_and_not_collected():
    """A range of one value is known by its count."""
    values = np.repeat([1.0, 2.0, 3.0], [100, 50_000, 100])
    groups = np.zeros(values.size, np.int64)

    def median(counts):
        return counts[:, None] // 2

    guess = make_guess(sample_of(values[::10], groups[::10], 0.1), 1, median)
    first = guess.round(most_bytes=0, most_each=ANY)
    state = first.summarise(values, groups, first.start())
    found, kinds = search(values, groups, guess, 1, median, most_each=ANY)

    assert guess.ranges.lows.tolist() == guess.ranges.highs.tolist() == [[2.0]]
    assert state["found"].tolist() == [0]
    assert kinds == [Guessing]
    assert (found.values.tolist(), found.through.tolist()) == ([[2.0]], [[50_100]])


def test_rounds_that_guess_can_be_sent_to_other_processes(many):
    """What a worker needs is small and holds neither the sample nor a function."""
    values, groups, sample = many
    first = make_guess(sample, 20, quartets).round(most_bytes=1 << 16, most_each=-1)
    received = pickle.loads(pickle.dumps(first))
    mine, theirs = (one.summarise(values, groups, one.start()) for one in (first, received))

    assert len(pickle.dumps(first)) < 20_000
    assert {key: array.tolist() for key, array in mine.items()} == {
        key: array.tolist() for key, array in theirs.items()
    }
