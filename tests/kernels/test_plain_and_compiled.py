"""The plain loops and the compiled ones give the same bits, kernel by kernel."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interval_rules import Intervals, evaluate_intervals
from sqrl import _kernels as kernels
from sqrl._data import draws
from sqrl._kernels import dispatch
from sqrl._kernels.plain.counting import MOST_WORDS
from sqrl._kernels.selection_rounds import Collecting, Counting, Spans
from sqrl._kernels.sums import add_moments, start_moments
from sqrl._rows.quantiles import percentile_ranks
from sqrl.errors import MissingExtraError

SLOW = pytest.mark.skipif("not os.environ.get('SQRL_SLOW')", reason="takes long: make slow")

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7976931348623157e308, 1.0, 2.5]
seeds = st.integers(0, 2**32)


@contextmanager
def using(kind: str | None) -> Iterator[None]:
    """The kernels by one kind of loops, or by whichever they choose."""
    before = os.environ.pop(dispatch.VARIABLE, None)
    if kind:
        os.environ[dispatch.VARIABLE] = kind
    try:
        yield
    finally:
        os.environ.pop(dispatch.VARIABLE, None)
        if before:
            os.environ[dispatch.VARIABLE] = before


def both_ways(work):
    """What the work gives by the plain loops and by the compiled ones."""
    with using("plain"):
        plain = work()
    with using("compiled"):
        return plain, work()


def assert_same_bits(first, second):
    """Equal types, shapes and bytes: nan is nan, and 0.0 is not -0.0."""
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


def made_table(seed):
    """Features that are sometimes unknown, parts and mini-batches with gaps, a family of bodies."""
    rng = np.random.default_rng(seed)
    n_features, n_rows, n_parts = rng.integers(1, 7), rng.integers(1, 300), rng.integers(1, 4)
    true = rng.random((n_features, n_rows)) < rng.random((n_features, 1))
    unknown = (rng.random((n_features, n_rows)) < 0.2) & (rng.random((n_features, 1)) < 0.4)
    parts = rng.integers(-1, n_parts, n_rows).astype(np.int32)
    batches = rng.integers(-1, n_rows, (rng.integers(1, 40), rng.integers(1, 150)))
    group = np.sort(rng.integers(0, 3, n_features)).astype(np.int32)
    high = rng.integers(1, 5)
    bodies = kernels.enumerate_bodies(group, rng.random(3) < 0.5, rng.integers(1, high + 1), high)
    return true & ~unknown, ~true & ~unknown, parts, batches, n_parts, bodies


@settings(deadline=None, max_examples=40)
@given(seeds)
def test_rows_are_packed_counted_and_hashed_alike(seed):
    """Words, counts of bodies and hashes of their rows."""
    true, false, parts, batches, n_parts, bodies = made_table(seed)
    weights = np.random.default_rng(seed).integers(0, 2**64 - 1, parts.size, np.uint64, True)

    def work():
        packed = kernels.pack(true, false, parts, batches, n_parts=n_parts)
        table = kernels.pack_table(true, false, parts, n_parts=n_parts)
        columns = [packed.bits, packed.negated, packed.part_words, packed.sizes, table.bits]
        hashes = kernels.body_hashes(bodies, table, weights, parts)
        return [*columns, kernels.body_counts(bodies, table), hashes]

    assert_same_bits(*both_ways(work))


@pytest.mark.parametrize("n_features", [64, 65])
def test_rows_are_hashed_alike_whether_or_not_their_features_fit_a_word(n_features):
    """Rows with the same features are merged only where a word says which they are."""
    rng = np.random.default_rng(n_features)
    true = np.repeat(rng.random((n_features, 20)) < 0.3, 5, axis=1)
    parts, weights = np.zeros(100, np.int32), rng.integers(0, 2**64 - 1, 100, np.uint64, True)
    bodies = kernels.enumerate_bodies(np.arange(n_features), np.zeros(n_features, bool), 3, 3)

    def work():
        table = kernels.pack_table(true, ~true, parts, n_parts=1)
        return [kernels.body_hashes(bodies, table, weights, parts)]

    assert_same_bits(*both_ways(work))


@pytest.mark.parametrize("n_rows", [MOST_WORDS * 64, (MOST_WORDS + 1) * 64])
def test_large_mini_batches_are_counted_alike(n_rows):
    """Also where a part has more rows than 16 bits can count."""
    true = np.ones((1, n_rows), bool)
    bodies = kernels.enumerate_bodies(np.zeros(1, np.int32), np.ones(1, bool), 1, 1)
    ranks = kernels.Ranks(*np.array([[-1, 0], [0, 0], [-1, 0], [0, 0]]))
    batches, parts = np.arange(n_rows)[None], np.zeros(n_rows, np.int32)

    def work():
        packed = kernels.pack(true, ~true, parts, batches, n_parts=1)
        found = kernels.body_bounds(bodies, packed, statistic="support", ranks=ranks)
        return found.lower, found.upper

    plain, compiled = both_ways(work)
    assert_same_bits(plain, compiled)
    assert plain[0][0, 0] == 1


@settings(deadline=None, max_examples=40)
@given(seeds, st.sampled_from(kernels.STATISTICS), st.sampled_from([0.01, 0.25, 0.5]))
def test_bounds_are_alike(seed, statistic, tail):
    """Bounds of every statistic, from order statistics at the ends and in the middle."""
    true, false, parts, batches, n_parts, bodies = made_table(seed)
    counts = np.arange(len(batches) + 1)
    (low, low_part), (high, high_part) = (percentile_ranks(counts, q) for q in (tail, 1 - tail))
    ranks = kernels.Ranks(low, low_part, high, high_part)

    def work():
        packed = kernels.pack(true, false, parts, batches, n_parts=n_parts)
        found = kernels.body_bounds(bodies, packed, statistic=statistic, ranks=ranks)
        return found.lower, found.upper, found.support

    assert_same_bits(*both_ways(work))


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(0, 3))
def test_intervals_are_evaluated_alike(seed, n_cuts):
    """Counts, broken rows and how far off they are, with open ends and infinite values."""
    rng = np.random.default_rng(seed)
    values, by = (np.where(rng.random(50) < 0.3, rng.choice(SPECIAL, 50), rng.normal(size=50)),) * 2
    ends = np.where(rng.random((n_cuts + 1, 2)) < 0.3, rng.choice(SPECIAL, 2), 0.5)
    ends = np.nan_to_num(ends, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    lower, upper = np.sort(ends, axis=1).T  # no rule's bounds are the wrong way round
    cuts = np.sort(rng.normal(size=n_cuts))
    rule = Intervals(rng.permutation(50)[:40], values, by[::-1].copy(), cuts, lower, upper)

    def work():
        found = evaluate_intervals([rule])[0]
        return found.applicable, found.broken, found.rows, found.excess

    assert_same_bits(*both_ways(work))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats() | st.sampled_from(SPECIAL), max_size=60), seeds)
def test_sums_are_alike(values, seed):
    """Every digit of the states, also where they are added to."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, 3, len(values))

    def work():
        state = start_moments(3)
        for part in (groups, groups[::-1].copy()):
            add_moments(np.array(values, np.float64), part, state)
        add_moments(np.array(values, np.float64), 1, state)
        return [state]

    assert_same_bits(*both_ways(work))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats() | st.sampled_from(SPECIAL), max_size=80), seeds)
def test_rounds_of_a_selection_are_alike(values, seed):
    """The states of rounds that count and that collect, with several spans in a group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, 3, len(values))
    edges = np.sort(rng.integers(0, 2**64 - 1, (3, 4), np.uint64, True), axis=1)
    spans = Spans(np.arange(4) * 2, edges[:, ::2].ravel(), (edges[:, 1::2] - edges[:, ::2]).ravel())

    def work():
        states = []
        for one in (Counting.of(spans, 4), Collecting(spans, len(values))):
            state = one.start()
            for _ in range(2):
                state = one.summarise(np.array(values, np.float64), groups, state)
            used = int(state["found"][0]) if "found" in state else None
            states += [state[name][:used] for name in sorted(state)]
        return states

    assert_same_bits(*both_ways(work))


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 5000), st.integers(1, 100_000))
def test_keys_are_alike(seed, size, n_rows):
    """Keys of rows, sums of them, and the rows that are drawn."""
    words = np.random.default_rng(seed).integers(0, 2**64 - 1, n_rows, np.uint64, True)
    known, options = words % 3 > 0, {"seed": seed, "draw": 7}

    def work():
        total = draws.keyed_sum(words, known, 11, **options)
        drawn = draws.draw_batches(n_rows, min(size, n_rows), 2, seed=seed, where="rows")
        return [draws.row_keys(5, n_rows, **options), np.array([total], np.uint64), drawn]

    assert_same_bits(*both_ways(work))


def test_little_work_is_plain_and_much_is_compiled(monkeypatch):
    """A kernel goes over once its plain work would have paid for loading the compiled loops."""
    monkeypatch.setattr(dispatch, "_steps", {})
    monkeypatch.setattr(dispatch, "LATER", 100.0)  # numba may be loaded by other tests, or not
    monkeypatch.setattr(dispatch, "FIRST", 100.0)
    with using(None):
        names = [dispatch.loops("sums", 33.4).__name__ for _ in range(4)]  # 100.2 is too much
        other = dispatch.loops("selection", 40.0).__name__

    assert names == ["sqrl._kernels.plain.sums"] * 2 + ["sqrl._kernels.compiled.sums"] * 2
    assert other == "sqrl._kernels.plain.selection"


def test_loading_a_second_kernel_is_cheaper_than_the_first(monkeypatch):
    """Most of what the first one costs is numba itself."""
    monkeypatch.setattr(dispatch, "_steps", {})
    steps = (dispatch.LATER + dispatch.FIRST) / 2
    monkeypatch.setitem(sys.modules, "numba", None)
    with using(None):
        second = dispatch._is_much("sums", steps)
    monkeypatch.delitem(sys.modules, "numba")
    with using(None):
        first = dispatch._is_much("sums", steps)

    assert (first, second) == (False, True)


def test_who_expects_much_work_begins_with_compiled_loops(monkeypatch):
    """Numba is loaded beside the first work; then even little of it is done by compiled loops."""
    monkeypatch.setattr(dispatch, "_steps", {})
    monkeypatch.setattr(dispatch, "_ahead", [0.0])
    with using(None):
        dispatch.expect(1000)
        few = dispatch.loops("sums", 1.0).__name__
        dispatch.expect(10**8)
        for thread in threading.enumerate():
            if thread.name == dispatch.LOADER:
                thread.join()
        many = dispatch.loops("sums", 1.0).__name__

    assert (few, many) == ("sqrl._kernels.plain.sums", "sqrl._kernels.compiled.sums")


def test_who_asks_for_plain_loops_gets_them_however_much_is_expected(monkeypatch):
    """What SQRL_KERNELS says goes before what anybody expects."""
    monkeypatch.setattr(dispatch, "_ahead", [0.0])
    with using("plain"):
        dispatch.expect(10**8)
        name = dispatch.loops("sums", 1e12).__name__

    assert name == "sqrl._kernels.plain.sums"
    assert dispatch._ahead == [0.0]


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # so that importing it fails, as where it is not installed
import sqrl
from sqrl._kernels import dispatch
from sqrl._progress import Bar
dispatch.FIRST = dispatch.LATER = 1000.0
with Bar():
    rules = sqrl.learn(sqrl.demo_table(2000), label="type")
    found = sqrl.check(rules, sqrl.demo_table(1000, seed=1))
print(len(rules), found.total)
"""


def test_without_numba_everything_works_with_the_same_results_and_a_hint():
    """One line on stderr where work is much, however many kernels would have been compiled."""
    without, with_numba = (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for code in (
            WITHOUT_NUMBA,
            "\n".join(line for line in WITHOUT_NUMBA.splitlines() if "1000.0" not in line).replace(
                'sys.modules["numba"] = None', "pass"
            ),
        )
    )

    assert without.stdout == with_numba.stdout
    assert int(without.stdout.split()[0]) > 20
    assert without.stderr == (
        'much work, and numba would do it in less time: pip install "sqrl-rules[fast]"\n'
    )
    assert with_numba.stderr == ""


def test_compiled_loops_that_are_asked_for_need_numba(monkeypatch):
    """Who asks for them should not get others."""
    monkeypatch.setattr(dispatch, "has_numba", lambda: False)
    with using("compiled"), pytest.raises(MissingExtraError) as caught:
        dispatch.loops("sums", 1.0)

    assert str(caught.value) == (
        "SQRL_KERNELS=compiled needs numba.\n"
        '  fix:   pip install "sqrl-rules[fast]", or unset SQRL_KERNELS'
    )


@pytest.mark.parametrize("is_quiet", [False, pytest.param(True, marks=SLOW)])
def test_compiling_is_announced_once_and_only_to_those_who_listen(is_quiet, tmp_path):
    """One line on stderr for all kernels together, none if quiet, none from the library itself."""
    code = (
        "import numpy as np\nfrom sqrl._data.draws import row_keys\n"
        "from sqrl._progress import Bar\n"
        f"with Bar(quiet={is_quiet}):\n    row_keys(0, 5, seed=0, draw=0)\n"
        "from sqrl._data.draws import keyed_sum as total\n"
        f"with Bar(quiet={is_quiet}):\n"
        "    total(np.ones(3, np.uint64), np.ones(3, bool), 0, seed=0, draw=0)\n"
    )
    environment = {**os.environ, dispatch.VARIABLE: "compiled", "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        for _ in range(2)
    )

    assert first.stdout == second.stdout == second.stderr == ""
    assert first.stderr == ("" if is_quiet else "compiling, once\n")


def test_what_numba_kept_of_other_sources_is_forgotten(tmp_path):
    """A new version does not stumble over the old one's cache; its own is kept."""
    from sqrl._kernels.compiled.jit import STAMP, forget_older

    old, other = tmp_path / "counting.fill-1.py311.nbi", tmp_path / "notes.txt"
    old.write_bytes(b"of another version")
    other.write_text("not numba's")
    (tmp_path / STAMP).write_text("another digest")
    forget_older.__wrapped__(tmp_path)
    first = sorted(path.name for path in tmp_path.iterdir())
    old.write_bytes(b"of this version")
    forget_older.__wrapped__(tmp_path)

    assert first == [other.name, STAMP]
    assert old.exists()
