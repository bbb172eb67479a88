"""Order statistics in rounds: what sorting gives, however the values are split up."""

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from both_loops import loops_of  # noqa: F401  (runs each test on both)
from sqrl._kernels.selection import Collecting, Counting, Selection
from sqrl.errors import DataError

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 2.2e-308, 1.7976931348623157e308]
NUMBERS = {
    "any": st.floats(),
    "special": st.sampled_from(SPECIAL),
    "few": st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0, -2.0]),
    "integers": st.integers(-(2**53), 2**53).map(float),
    "float32": st.floats(width=32),
    "tied": st.integers(-3, 3).map(float) | st.just(np.nan),
}


@st.composite
def problems(draw):
    """Values, their groups (-1: left out), the number of groups, and a seed for the rest."""
    numbers = NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))]
    values = np.array(draw(st.lists(numbers, max_size=60)), np.float64)
    n_groups = draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32))
    groups = np.random.default_rng(seed).integers(-1, max(n_groups, 0), values.size)
    return values, groups, n_groups, seed


def some_ranks(counts, seed, k=3):
    """Ranks that each group has, or -1."""
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(-1, count, k) if count else [-1] * k for count in counts], int)


def pieces_of(values, groups, seed):
    """The values in another order, cut into pieces of which some are empty."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(values.size)
    cuts = np.sort(rng.integers(0, values.size + 1, rng.integers(0, 6)))
    return list(zip(np.split(values[order], cuts), np.split(groups[order], cuts), strict=True))


def merged_state(selection, pieces, seed):
    """The state of all pieces: some follow one another in a state, and states merge at random."""
    rng = np.random.default_rng(seed)
    states = []
    for values, groups in pieces:
        state = states.pop() if states and rng.random() < 0.5 else selection.start()
        states.append(selection.summarise(values, groups, state))
    while len(states) > 1:
        second = states.pop(rng.integers(len(states)))
        states.append(selection.merge(states.pop(rng.integers(len(states))), second))
    return states[0]


def select(values, groups, n_groups, wants, **options):
    """The finished selection, and the kind of each round."""
    selection, kinds = Selection(n_groups, wants, **options), []
    while not selection.is_done:
        kinds.append(type(selection.round()))
        selection.narrow(selection.summarise(values, groups, selection.start()))
    return selection, kinds


def found_by(selection):
    """The results as bits, so that nan equals nan and 0.0 does not equal -0.0."""
    return [
        selection.counts.tolist(),
        selection.values.view(np.uint64).tolist(),
        selection.through.tolist(),
    ]


@settings(deadline=None)  # the first call loads the compiled loops
@given(problem=problems(), most_bytes=st.sampled_from([1, 2000, 1 << 25]))
def test_order_statistics_are_those_of_sorting(problem, most_bytes):
    """Every value and the number of values up to it, whatever the room for a state."""
    values, groups, n_groups, seed = problem
    selection, _ = select(
        values,
        groups,
        n_groups,
        lambda counts: some_ranks(counts, seed).reshape(-1, 3),
        most_bytes=most_bytes,
    )
    counts = [sum((groups == group) & ~np.isnan(values)) for group in range(n_groups)]
    expected = oracles.order_statistics(values, groups, some_ranks(counts, seed))

    assert selection.counts.tolist() == counts
    assert selection.through.tolist() == [[through for _, through in row] for row in expected]
    is_wanted = np.array([[value is not None for value, _ in row] for row in expected], bool)
    assert np.isnan(selection.values[~is_wanted.reshape(-1, 3)]).all()
    flat = np.array([value for row in expected for value, _ in row if value is not None])
    bits = selection.values[is_wanted.reshape(-1, 3)].view(np.uint64)
    assert bits.tolist() == flat.view(np.uint64).tolist()


@settings(deadline=None)  # the first call loads the compiled loops
@given(problem=problems(), most_bytes=st.sampled_from([1, 2000, 1 << 25]))
def test_pieces_and_their_order_change_no_bit(problem, most_bytes):
    """Round by round, any pieces in any order narrow to the same bins and the same results."""
    values, groups, n_groups, seed = problem
    whole, split = (
        Selection(
            n_groups, lambda counts: some_ranks(counts, seed).reshape(-1, 3), most_bytes=most_bytes
        )
        for _ in range(2)
    )
    pieces = pieces_of(values, groups, seed)
    while not whole.is_done:
        states = (
            whole.summarise(values, groups, whole.start()),
            merged_state(split, pieces, seed),
        )
        left, right = (one.round().bins(s) for one, s in zip((whole, split), states, strict=True))
        for name in ("spans", "counts", "least", "greatest"):
            assert np.array_equal(getattr(left, name), getattr(right, name))
        whole.narrow(states[0])
        split.narrow(states[1])

    assert split.is_done
    assert found_by(whole) == found_by(split)


def quartets(counts):
    """The ranks about the first and the last percent."""
    lower, upper = (counts - 1) // 100, (counts - 1) * 99 // 100
    return np.stack([lower, lower + 1, upper, upper + 1], axis=1)


def sorted_picks(values, groups, n_groups):
    """The quartets of each group by one sort."""
    counts = np.bincount(groups, minlength=n_groups)
    starts = np.cumsum(counts) - counts
    return values[np.lexsort((values, groups))][starts[:, None] + quartets(counts)]


@pytest.fixture(scope="module")
def million():
    """A million normal values in 50 groups."""
    rng = np.random.default_rng(0)
    return rng.normal(size=1_000_000), rng.integers(0, 50, 1_000_000)


@pytest.mark.parametrize(("most_bytes", "most_rounds"), [(1 << 25, 2), (1 << 20, 3), (1 << 16, 4)])
def test_a_million_values_need_few_rounds(million, most_bytes, most_rounds):
    """Passes over the data are what costs, so bins and states are as large as they may be."""
    selection, kinds = select(*million, 50, quartets, most_bytes=most_bytes)

    assert np.array_equal(selection.values, sorted_picks(*million, 50))
    assert len(kinds) <= most_rounds


def test_ties_need_no_more_rounds_than_values_that_differ():
    """A bin with one distinct value is settled: millions of equal values are never collected."""
    rng = np.random.default_rng(1)
    values, groups = rng.integers(0, 100, 300_000).astype(float), rng.integers(0, 9, 300_000)
    selection, kinds = select(values, groups, 9, quartets, most_bytes=1 << 18)

    assert np.array_equal(selection.values, sorted_picks(values, groups, 9))
    assert kinds == [Counting, Counting]


def test_states_stay_within_the_given_room(million):
    """Neither counting nor collecting takes more than most_bytes, whatever the pieces."""
    values, groups = million
    for most_bytes in (1 << 16, 1 << 20, 1 << 25):
        selection, sizes = Selection(50, quartets, most_bytes=most_bytes), []
        while not selection.is_done:
            pieces = zip(np.split(values, 8), np.split(groups, 8), strict=True)
            states = [selection.summarise(*piece, selection.start()) for piece in pieces]
            state = reduce(selection.merge, states)
            sizes += [sum(a.nbytes for a in one.values()) for one in (*states, state)]
            selection.narrow(state)

        assert max(sizes) <= most_bytes


def test_rounds_can_be_sent_to_other_processes(million):
    """What a worker needs is small and holds no function of the caller's."""
    values, groups = million
    selection = Selection(50, lambda counts: quartets(counts + 0), most_bytes=1 << 16)
    kinds = set()
    while not selection.is_done:
        sent = pickle.dumps(selection.round())
        received = pickle.loads(sent)
        kinds.add(type(received))
        state = pickle.loads(pickle.dumps(received.summarise(values, groups, received.start())))
        selection.narrow(state)

        assert len(sent) < 20_000

    assert kinds == {Counting, Collecting}
    assert np.array_equal(selection.values, sorted_picks(values, groups, 50))


def test_merging_leaves_both_states_as_they_are():
    """States that another process lends read-only can be merged."""
    selection = Selection(1, lambda counts: counts[:, None] // 2)
    one, none = np.zeros(1, np.int64), selection.start()
    state = selection.summarise(np.ones(1), one, selection.start())
    for array in (*state.values(), *none.values()):
        array.flags.writeable = False
    selection.narrow(selection.merge(state, none))

    assert selection.is_done
    assert selection.values.tolist() == [[1.0]]


def test_what_is_wanted_is_asked_once_after_the_first_round():
    """The counts leave out nan and group -1; groups of one distinct value are then done."""
    asked = []

    def wants(counts):
        asked.append(counts.tolist())
        return np.maximum(counts - 2, -1)[:, None]

    values, groups = np.array([2.0, 2.0, 2.0, np.nan, 7.0]), np.array([0, 0, 0, 0, -1])
    selection, kinds = select(values, groups, 2, wants)

    assert asked == [[3, 0]]
    assert kinds == [Counting]
    assert selection.through.tolist() == [[3], [0]]


@pytest.mark.parametrize("most_bytes", [1 << 25, 1])
def test_data_that_changes_between_rounds_is_refused(most_bytes):
    """Ranks counted on other data would be silently wrong."""
    values, groups = np.arange(1.0, 2.0, 0.001), np.zeros(1000, np.int64)
    selection = Selection(1, lambda counts: counts[:, None] // 3, most_bytes=most_bytes)
    selection.narrow(selection.summarise(values, groups, selection.start()))
    state = selection.summarise(np.tile(values, 9), np.tile(groups, 9), selection.start())

    with pytest.raises(DataError) as error:
        selection.narrow(state)
    assert str(error.value) == (
        "The data changed while it was read.\n  fix:   learn from data that nothing writes to"
    )
