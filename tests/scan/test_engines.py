"""Jobs over parts on threads of this process, and what all engines share."""

import signal
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import engine_jobs
from engine_jobs import CountOnly, Fails, Slow, Toy, bits, cut, expected, made_rows, run
from sqrl._kernels.threads import available_cores
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.engines.ray import RayEngine
from sqrl._scan.engines.rechunk import gathered
from sqrl._scan.job import pack, unpack
from sqrl.errors import DataError, MissingExtraError

DTYPES = st.one_of(
    arrays.integer_dtypes(),
    arrays.floating_dtypes(sizes=(32, 64)),
    arrays.boolean_dtypes(),
    arrays.unicode_string_dtypes(max_len=4),
)
STATES = st.dictionaries(
    st.text(max_size=5), arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0))
)


def readers():
    """The threads of the engine that are alive."""
    return [thread for thread in threading.enumerate() if "sqrl part reader" in thread.name]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_the_number_of_parts_and_threads_changes_no_bit(n_parts, threads):
    """Rows cut in any way give the state of all rows at once."""
    table = made_rows()
    engine = LocalEngine("made", cut(table, n_parts), threads)

    assert bits(run(engine, Toy())) == bits(expected(table))


def test_no_parts_and_empty_parts_give_the_state_of_no_rows():
    """Nothing to read is no error."""
    empty = LocalEngine("made", cut(made_rows(0), 3))

    assert empty.counts() == [0, 0, 0]
    assert bits(run(empty, Toy())) == bits(Toy().start())
    assert bits(run(LocalEngine("made", []), Toy())) == bits(Toy().start())


def test_all_available_cores_are_used_unless_told_otherwise():
    """The default asks the system what this process may use."""
    assert LocalEngine("made", []).threads == available_cores() >= 1


def test_progress_is_told_in_rows_by_the_calling_thread():
    """It only grows, and ends with all rows."""
    told = []
    engine = LocalEngine("made", cut(made_rows(), 7), 2)
    run(engine, CountOnly(), track=lambda *rows: told.append((*rows, threading.current_thread())))

    assert [done for done, *_ in told] == sorted({done for done, *_ in told})
    assert told[-1] == (2000, 2000, threading.current_thread())
    assert {total for _, total, _ in told} == {2000}


def test_an_error_of_a_part_is_raised_as_it_is_and_stops_the_others():
    """The message is the part's own, and no thread stays behind."""
    told = []
    engine = LocalEngine("made", cut(made_rows(), 7), 2)
    with pytest.raises(DataError) as raised:
        run(engine, Fails(row=100), track=lambda done, _: told.append(done))

    what, where, fix = "The file is damaged.", "b.parquet", "write it again"
    assert str(raised.value) == f"{what}\n  where: {where}\n  fix:   {fix}"
    assert max(told, default=0) < 2000
    assert readers() == []


def test_an_error_that_is_not_ours_is_raised_as_it_is():
    """Faults of a program keep their type and text."""
    engine = LocalEngine("made", cut(made_rows(), 2), 2)
    with pytest.raises(ZeroDivisionError, match=r"^by design$"):
        run(engine, Fails(row=5, error=ZeroDivisionError("by design")))


def test_an_interrupt_starts_no_new_part_and_leaves_no_thread():
    """Ctrl-C stops at the next batch of each thread."""
    begun = []

    class Noted(engine_jobs.TablePart):
        def read(self, columns):
            begun.append(self.name)
            return super().read(columns)

    parts = [Noted(str(number), made_rows(500)) for number in range(20)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(
                LocalEngine("made", parts, 2),
                Slow(),
                track=lambda *_: signal.raise_signal(signal.SIGINT),
            )
    finally:
        signal.signal(signal.SIGINT, before)

    assert readers() == []
    assert len(begun) <= 3


def test_few_states_are_in_memory_at_a_time():
    """One for each thread and the one they are merged into, however many parts there are."""
    alive, most = [0], [0]
    lock = threading.Lock()

    class Counted(Slow):
        def start(self):
            with lock:
                alive[0] += 1
                most[0] = max(most[0], alive[0])
            return super().start()

        def merge(self, first, second):
            with lock:
                alive[0] -= 1
            return super().merge(first, second)

    state = run(LocalEngine("made", cut(made_rows(), 20), 3), Counted(seconds=0.001))

    assert state["n"].tolist() == [2000]
    assert 2 <= most[0] <= 4


def test_without_ray_the_engine_says_what_to_install(monkeypatch):
    """The rest of the package works without it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    engine = RayEngine("made", cut(made_rows(), 2))
    with pytest.raises(MissingExtraError) as raised:
        run(engine, Toy())

    assert str(raised.value) == 'The Ray engine needs ray.\n  fix:   pip install "sqrl-rules[ray]"'


@given(state=STATES)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_packed_state_comes_back_bit_for_bit(state):
    """Names, types, shapes and bits stay, those of nan too, and the arrays can be changed."""
    back = unpack(pack(state))

    assert list(back) == list(state)
    assert bits(back) == bits(state)
    assert all(array.flags.writeable for array in back.values())


def test_objects_are_not_packed():
    """What would need a pickle is refused, so that reading a state runs no code."""
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        pack({"a": np.array([{}], dtype=object)})


@given(sizes=st.lists(st.integers(0, 12)), rows=st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_gathered_batches_are_the_same_rows_in_useful_sizes(sizes, rows):
    """No row is lost or moved, no batch is too large, and no two neighbours would fit in one."""
    table = pa.table({"n": np.arange(sum(sizes)), "t": [str(n) for n in range(sum(sizes))]})
    starts = np.cumsum([0, *sizes]).tolist()
    batches = [
        batch
        for start, size in zip(starts[:-1], sizes, strict=True)
        for batch in table.slice(start, size).to_batches()
    ]
    found = list(gathered(iter(batches), rows=rows))
    lengths = [batch.num_rows for batch in found]

    assert pa.Table.from_batches(found, table.schema).equals(table)
    assert all(0 < length <= rows for length in lengths)
    if max(sizes, default=0) <= rows / 2:
        assert all(length > rows / 2 for length in lengths[:-1])
