import subprocess
import sys
from itertools import pairwise
from math import comb
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from both_loops import loops_of  # noqa: F401  (runs each test on both)
from sqrl import _kernels as kernels
from sqrl._kernels import threads as kernel_threads
from sqrl._rows.quantiles import percentile_ranks

pytestmark = pytest.mark.filterwarnings("error")


@st.composite
def families(draw, max_features=6):
    """Groups of features, complete or not, and the lengths of bodies wanted."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_features))
    group = np.repeat(np.arange(len(sizes)), sizes)[:max_features].astype(np.int32)
    group = np.array(draw(st.permutations(group.tolist())), np.int32)
    complete = np.array(draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    high = draw(st.integers(1, 4))
    return group, complete, draw(st.integers(1, high)), high


@st.composite
def tables(draw, n_features):
    """Features that are true, false or unknown on rows, and the rows' parts (-1: left out)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows = draw(st.sampled_from([1, 5, 63, 64, 65, 200]))
    n_parts = draw(st.integers(1, 4))
    true = rng.random((n_features, n_rows)) < rng.random((n_features, 1))
    false = ~true
    unknown = rng.random((n_features, 1)) < draw(st.sampled_from([0, 0.3, 1]))
    false &= ~(unknown & (rng.random(false.shape) < 0.2))
    true &= rng.random((n_features, 1)) > 0.1  # now and then a feature is never true
    parts = rng.integers(draw(st.sampled_from([-1, 0])), n_parts, n_rows).astype(np.int32)
    return true, false, parts, n_parts


@st.composite
def problems(draw, max_features=5):
    """A family of bodies with a table to count them in."""
    family = draw(families(max_features))
    return family, draw(tables(len(family[0])))


@st.composite
def batches_of(draw, n_rows):
    """Mini-batches of rows, some of them short."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from([1, 2, 7, 8, 40])), draw(st.sampled_from([1, 3, 70]))
    return rng.integers(draw(st.sampled_from([-1, 0])), n_rows, shape)


def random_weights(n_rows):
    """A weight for each row."""
    return np.random.default_rng(3).integers(2**64, size=n_rows, dtype=np.uint64)


def quantile_ranks(n_batches, *quantiles):
    """Where numpy's quantiles lie among up to so many sorted values."""
    counts = np.arange(n_batches + 1)
    (rank_lo, frac_lo), (rank_hi, frac_hi) = (percentile_ranks(counts, q) for q in quantiles)
    return kernels.Ranks(rank_lo, frac_lo, rank_hi, frac_hi)


def literals(bodies):
    return [[x for x in body if x >= 0] for body in bodies.literals(np.arange(bodies.n)).tolist()]


def as_list(bounds):
    """Bounds as the oracle gives them."""
    columns = (bounds.lower.ravel(), bounds.upper.ravel(), bounds.support.ravel())
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(families())
def test_enumeration_finds_every_body_in_order_and_no_contradiction(family):
    """Exhaustive and consistent: what comes out is what itertools and the definition give."""
    bodies = kernels.enumerate_bodies(*family)

    assert literals(bodies) == oracles.bodies(*family)


@given(families())
def test_the_closed_form_counts_what_is_enumerated(family):
    """The size of a search is known exactly before it is begun."""
    bodies = kernels.enumerate_bodies(*family)
    lengths = np.count_nonzero(bodies.subsets >= 0, axis=1)
    enumerated = [
        int(np.diff(bodies.offset)[lengths == length].sum())
        for length in range(family[2], family[3] + 1)
    ]

    assert kernels.count_bodies(*family) == enumerated


def test_the_closed_form_is_exact_far_beyond_what_can_be_enumerated():
    """Python integers do not overflow."""
    counts = kernels.count_bodies(np.arange(10_000), np.zeros(10_000, bool), 60, 60)

    assert counts == [comb(10_000, 60) * 2**60]


def test_bodies_decode_in_any_order_and_more_than_once():
    """Ids are data, not positions."""
    bodies = kernels.enumerate_bodies(np.arange(5), np.zeros(5, bool), 2, 3)
    ids = np.array([100, 3, 3, bodies.n - 1])

    assert bodies.literals(ids).tolist() == bodies.literals(np.arange(bodies.n))[ids].tolist()
    assert bodies.nbytes == bodies.subsets.nbytes + bodies.valid.nbytes + bodies.offset.nbytes


@pytest.mark.parametrize(("low", "high"), [(0, 2), (3, 2), (1, 6)])
def test_lengths_that_make_no_family_are_refused(low, high):
    """A mask of valid signs has room for five features."""
    with pytest.raises(ValueError, match="Lengths must satisfy 1 <= low <= high <= 5"):
        kernels.enumerate_bodies(np.arange(3), np.zeros(3, bool), low, high)


def test_more_features_than_literals_can_name_are_refused():
    """A literal is an int16."""
    with pytest.raises(ValueError, match="At most 16384 features can be combined, not 20000"):
        kernels.enumerate_bodies(np.arange(20_000), np.zeros(20_000, bool), 1, 1)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_counts_agree_with_counting_by_hand(problem):
    """Inclusion-exclusion and the direct path give what the naive loop gives."""
    family, (true, false, parts, n_parts) = problem
    bodies = kernels.enumerate_bodies(*family)
    packed = kernels.pack_table(true, false, parts, n_parts=n_parts)
    counts = kernels.body_counts(bodies, packed)

    expected = oracles.body_counts(literals(bodies), true, false, parts, n_parts)
    assert counts.tolist() == expected


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_counts_of_mini_batches_are_added_up(data):
    """A row in two mini-batches counts twice, and a missing row (-1) not at all."""
    true, false, parts, n_parts = data.draw(tables(3))
    batches = data.draw(batches_of(len(parts)))
    bodies = kernels.enumerate_bodies(np.arange(3), np.zeros(3, bool), 1, 3)
    packed = kernels.pack(true, false, parts, batches, n_parts=n_parts)
    rows = batches[batches >= 0]

    expected = oracles.body_counts(
        literals(bodies), true[:, rows], false[:, rows], parts[rows], n_parts
    )
    assert kernels.body_counts(bodies, packed).tolist() == expected


@pytest.mark.parametrize("n_rows", [4096, 4097, 9001])
def test_features_that_exclude_each_other_are_counted_over_all_words_of_a_part(n_rows):
    """A set with an empty subset is not counted, and a part may have more words than lanes."""
    rng = np.random.default_rng(n_rows)
    bucket = rng.integers(0, 3, n_rows)
    true = np.stack([*(bucket == value for value in range(4)), *(rng.random((2, n_rows)) < 0.3)])
    parts = rng.integers(-1, 2, n_rows).astype(np.int32)
    bodies = kernels.enumerate_bodies(np.arange(6), np.zeros(6, bool), 1, 4)
    packed = kernels.pack_table(true, ~true, parts, n_parts=2)
    weights = random_weights(n_rows)
    counts = kernels.body_counts(bodies, packed)
    hashes = kernels.body_hashes(bodies, packed, weights, parts)

    for body, found, hashed in zip(literals(bodies), counts.tolist(), hashes, strict=True):
        rows = oracles.body_rows(body, true, ~true)
        assert found == [np.count_nonzero(rows & (parts == part)) for part in (0, 1)]
        assert hashed == weights[rows & (parts >= 0)].sum(dtype=np.uint64)
    assert packed.sizes.sum(axis=1).tolist() == [np.count_nonzero(parts == p) for p in (0, 1)]
    assert np.bitwise_count(packed.bits[-1]).sum(axis=0).tolist() == packed.sizes.sum(0).tolist()


def test_more_features_than_bits_in_a_word_are_packed():
    """Row codes of 64 bits are gathered as often as it takes."""
    rng = np.random.default_rng(0)
    true = rng.random((150, 300)) < 0.4
    false = ~true & (rng.random(true.shape) < 0.9)
    parts = rng.integers(0, 2, 300)
    bodies = kernels.enumerate_bodies(np.arange(150), np.zeros(150, bool), 1, 1)
    packed = kernels.pack_table(true, false, parts, n_parts=2)

    expected = oracles.body_counts(literals(bodies), true, false, parts, 2)
    assert kernels.body_counts(bodies, packed).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(problems())
def test_hashes_are_equal_exactly_where_the_rows_are(problem):
    """Redundant bodies are found without comparing rows; rows left out do not tell apart."""
    family, (true, false, parts, n_parts) = problem
    bodies = kernels.enumerate_bodies(*family)
    packed = kernels.pack_table(true, false, parts, n_parts=n_parts)
    hashes = kernels.body_hashes(bodies, packed, random_weights(parts.size), parts)

    rows = [
        (oracles.body_rows(body, true, false) & (parts >= 0)).tobytes() for body in literals(bodies)
    ]
    assert len(set(zip(rows, hashes.tolist(), strict=True))) == len(set(rows))
    assert len(set(hashes.tolist())) == len(set(rows))


@settings(max_examples=40, deadline=None)
@given(problems(), st.lists(st.integers(0, 200), max_size=3))
def test_hashes_of_chunks_add_up_to_the_sum_of_the_weights(problem, cuts):
    """However rows are divided, and wherever packing puts them: a hash is a sum over its rows."""
    family, (true, false, parts, n_parts) = problem
    bodies = kernels.enumerate_bodies(*family)
    weights = random_weights(parts.size)
    total = np.zeros(bodies.n, np.uint64)
    for begin, end in pairwise([0, *sorted(cuts), parts.size]):
        here = slice(min(begin, parts.size), min(end, parts.size))
        packed = kernels.pack_table(true[:, here], false[:, here], parts[here], n_parts=n_parts)
        total += kernels.body_hashes(bodies, packed, weights[here], parts[here])

    expected = [
        weights[oracles.body_rows(body, true, false) & (parts >= 0)].sum(dtype=np.uint64)
        for body in literals(bodies)
    ]
    assert total.tolist() == expected


@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    problems(max_features=4),
    st.sampled_from(kernels.STATISTICS),
    st.sampled_from([(0, 1), (0.01, 0.99), (0.05, 0.5), (0.25, 0.75), (0.5, 0.9)]),
)
def test_bounds_agree_with_numpy_to_the_last_bit(data, problem, statistic, quantiles):
    """Every statistic, over mini-batches where it is defined, at numpy's own quantiles."""
    family, (true, false, parts, n_parts) = problem
    batches = data.draw(batches_of(len(parts)))
    heads = data.draw(st.lists(st.integers(0, n_parts - 1), min_size=1, max_size=2))
    bodies = kernels.enumerate_bodies(*family)
    packed = kernels.pack(true, false, parts, batches, n_parts=n_parts)
    ranks = quantile_ranks(len(batches), *quantiles)
    bounds = kernels.body_bounds(bodies, packed, statistic=statistic, ranks=ranks, heads=heads)

    expected = oracles.body_bounds(
        statistic, literals(bodies), heads, true, false, parts, batches, *quantiles
    )
    np.testing.assert_array_equal(as_list(bounds), expected)


@pytest.mark.parametrize("quantiles", [(0, 1), (0.01, 0.99), (0.1, 0.6), (0.5, 0.5)])
def test_bounds_over_many_mini_batches_are_numpy_percentiles(quantiles):
    """Few ranks from either end are found by steps, all others by selection."""
    rng = np.random.default_rng(5)
    true, parts = rng.random((2, 900)) < 0.3, rng.integers(0, 2, 900)
    batches = rng.integers(0, 900, (150, 30))
    bodies = kernels.enumerate_bodies(np.arange(2), np.zeros(2, bool), 1, 2)
    packed = kernels.pack(true, ~true, parts, batches, n_parts=2)
    ranks = quantile_ranks(150, *quantiles)
    bounds = kernels.body_bounds(bodies, packed, statistic="f1", ranks=ranks)

    expected = oracles.body_bounds(
        "f1", literals(bodies), [0, 1], true, ~true, parts, batches, *quantiles
    )
    assert as_list(bounds) == expected


def test_order_statistics_can_be_asked_for_by_number_of_values():
    """Tolerance bounds: a rank for each number of values, or none."""
    rng = np.random.default_rng(6)
    true, parts = rng.random((1, 90)) < 0.05, np.zeros(90, np.int32)
    batches = rng.integers(0, 90, (12, 20))
    n = np.arange(13, dtype=np.int32)
    supported = n >= 8
    ranks = kernels.Ranks(
        rank_lo=np.where(supported, 1, -1).astype(np.int32),
        frac_lo=np.zeros(13),
        rank_hi=np.where(supported, n - 2, -1).astype(np.int32),
        frac_hi=np.zeros(13),
    )
    bodies = kernels.enumerate_bodies(np.zeros(1, np.int32), np.zeros(1, bool), 1, 1)
    packed = kernels.pack(true, ~true, parts, batches, n_parts=1)

    for statistic in ("support", "precision"):
        bounds = kernels.body_bounds(bodies, packed, statistic=statistic, ranks=ranks)
        for i, body in enumerate(literals(bodies)):
            values = sorted(oracles.body_values(statistic, body, 0, true, ~true, parts, batches))
            enough = len(values) >= 8
            expected = (values[1], values[-2]) if enough else (np.nan, np.nan)
            np.testing.assert_equal((bounds.lower[i, 0], bounds.upper[i, 0]), expected)
            assert bounds.support[i, 0] == len(values)


def test_a_statistic_never_defined_has_no_bounds():
    """Unsupported is nan and support 0, not an error."""
    true = np.zeros((1, 10), bool)
    packed = kernels.pack(true, ~true, np.zeros(10), np.zeros((3, 4)), n_parts=1)
    bodies = kernels.enumerate_bodies(np.arange(1), np.zeros(1, bool), 1, 1)
    ranks = quantile_ranks(3, 0.1, 0.9)
    bounds = kernels.body_bounds(bodies, packed, statistic="precision", ranks=ranks)

    np.testing.assert_equal(as_list(bounds), [(np.nan, np.nan, 0), (1.0, 1.0, 3)])


@settings(max_examples=15, deadline=None)
@given(st.data(), problems(max_features=6))
def test_threads_do_not_change_a_single_bit(data, problem):
    """Chunks write to places of their own."""
    family, (true, false, parts, n_parts) = problem
    batches = data.draw(batches_of(len(parts)))
    bodies = kernels.enumerate_bodies(*family)
    packed = kernels.pack(true, false, parts, batches, n_parts=n_parts)
    table = kernels.pack_table(true, false, parts, n_parts=n_parts)
    weights = random_weights(parts.size)
    ranks = quantile_ranks(len(batches), 0.02, 0.98)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_threads, "CHUNK_COST", 10)  # many chunks, however small the problem
        results = [
            (
                as_list(
                    kernels.body_bounds(
                        bodies, packed, statistic="f1", ranks=ranks, threads=threads
                    )
                ),
                kernels.body_counts(bodies, packed, threads=threads).tolist(),
                kernels.body_hashes(bodies, table, weights, parts, threads=threads).tolist(),
            )
            for threads in (1, 3)
        ]

    np.testing.assert_equal(results[0], results[1])


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_is_counted_up_to_the_total(threads):
    """A caller can draw a bar: done grows by one, up to a total that does not change."""
    calls = []
    kernel_threads.run(
        [[lambda: None] * 5, [lambda: None] * 3],
        threads=threads,
        track=lambda done, total: calls.append((done, total)),
    )

    assert calls == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_cancels_what_has_not_begun(threads):
    """Ctrl-C comes out long before the 10 s that all chunks take, also on a machine that stalls."""
    begun = []

    def chunk():
        begun.append(1)
        sleep(0.003)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel_threads.run([[chunk] * 10_000], threads=threads, track=interrupt)
    assert len(begun) < 5000


@given(st.lists(st.integers(0, 9), max_size=50), st.floats(1, 1e7))
def test_chunks_cover_all_work_once(work, cost):
    """Ranges follow each other, and only items without work are left out."""
    ends = np.concatenate(([7], 7 + np.cumsum(np.array(work, np.int64))))
    ranges = kernel_threads.split(ends, cost)
    covered = [i for begin, end in ranges for i in range(begin, end)]

    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    assert sum(work[i] for i in covered) == sum(work)
    assert len(set(covered)) == len(covered)


def test_the_memory_that_bounds_take_is_known_beforehand():
    """The closed form is what the arrays of a run add up to."""
    group, complete = np.arange(20), np.zeros(20, bool)
    bodies = kernels.enumerate_bodies(group, complete, 1, 3)
    sizes = {"n_batches": 16, "batch_rows": 64, "n_parts": 2, "n_heads": 1}
    estimate = kernels.bounds_nbytes(group, complete, 1, 3, **sizes, threads=1)
    result = bodies.n * (8 + 8 + 4)
    table = (1 + 20 + 190) * 2 * 16 * 4

    assert result + table < estimate < 1.2 * (result + table)


def test_importing_the_kernels_does_not_import_numba():
    """The compiler is loaded when a kernel is first called, so that `--help` is quick."""
    code = "import sys, sqrl._kernels; sys.exit('numba' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
