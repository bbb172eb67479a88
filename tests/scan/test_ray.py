"""Jobs over parts as Ray tasks, on this machine."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sqrl
from engine_jobs import (
    BY_DAY,
    PATHS,
    RULES,
    SEQUENCES,
    TWICE,
    AlwaysDies,
    CountOnly,
    Dies,
    DyingPart,
    Fails,
    Names,
    Slow,
    Toy,
    bits,
    cut,
    expected,
    made_rows,
    made_visits,
    run,
    sequences_in_memory,
    sequences_scanned,
)
from sqrl._scan.engines.ray import RayEngine
from sqrl.errors import DataError, SqrlError, UnknownNameError

ray = pytest.importorskip("ray", reason='ray is not installed: pip install "sqrl-rules[ray]"')

# Ray's own code, when it starts and ends.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def _ray():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_gcs_server_port_wait_time_s", "300")  # a busy machine is slow to start
        patch.setenv("PYTHONPATH", PATHS)
        ray.init(
            address="local",
            num_cpus=2,
            object_store_memory=100 * 2**20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
        yield
        ray.shutdown()
    gc.collect()  # of Ray's handles of processes, which warn of those that have just ended


def dataset_of(table, n_blocks):
    """The table as a dataset of so many blocks."""
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data.from_arrow([part.table for part in cut(table, n_blocks)])


@pytest.mark.parametrize("n_parts", [1, 7, 20])
def test_ray_gives_the_same_bits_as_all_rows_at_once(n_parts):
    """Neither the number of parts nor the levels of merging change the state."""
    table = made_rows()
    engine = RayEngine("made", cut(table, n_parts))
    state = run(engine, Toy())

    assert bits(state) == bits(expected(table))
    assert all(array.flags.writeable for array in state.values())


def test_no_parts_give_the_state_of_no_rows():
    """Nothing to read is no error."""
    assert bits(run(RayEngine("made", []), Toy())) == bits(Toy().start())


def test_progress_is_told_in_rows():
    """It only grows, and ends with all rows."""
    told = []
    run(RayEngine("made", cut(made_rows(), 5)), CountOnly(), track=lambda *rows: told.append(rows))

    assert told == sorted(told)
    assert told[-1] == (2000, 2000)


def test_an_error_of_ours_comes_through_with_its_own_text(capfd):
    """What was wrong, where and how to mend it; nothing about tasks and workers."""
    with pytest.raises(DataError) as raised:
        run(RayEngine("made", cut(made_rows(), 12)), Fails(row=1500))

    what, where, fix = "The file is damaged.", "b.parquet", "write it again"
    assert capfd.readouterr().err == ""
    assert type(raised.value) is DataError
    assert str(raised.value) == f"{what}\n  where: {where}\n  fix:   {fix}"


def test_another_error_comes_through_with_what_ray_knows_of_it():
    """A fault of a program keeps its type, and the trace of the worker is its cause."""
    with pytest.raises(ZeroDivisionError, match=r"^by design$") as raised:
        run(RayEngine("made", cut(made_rows(), 2)), Fails(error=ZeroDivisionError("by design")))

    assert "engine_jobs.py" in str(raised.value.__cause__)


def test_an_interrupt_begins_nothing_more(tmp_path):
    """Only the few tasks that were at work, or next, are finished."""

    class Signs(Slow):
        def summarise(self, chunk, state):
            (Path(tmp_path) / str(chunk.first)).touch()
            return super().summarise(chunk, state)

    def interrupt(*_):
        raise KeyboardInterrupt

    parts = cut(made_rows(20_000), 20)
    with pytest.raises(KeyboardInterrupt):
        run(RayEngine("made", parts), Signs(seconds=0.02), track=interrupt)
    begun = -1
    while begun != (begun := len(list(tmp_path.iterdir()))):
        time.sleep(0.5)

    assert begun < 200 / 2


def test_a_dataset_is_numbered_in_the_order_of_its_rows():
    """Blocks are parts, in order, though some take longer than others."""
    table = made_rows()

    def delayed(batch):
        time.sleep(0.2 if batch["n"][0].as_py() == 0 else 0.0)
        return batch

    dataset = dataset_of(table, 4).map_batches(delayed, batch_format="pyarrow", batch_size=None)
    order = dataset.context.execution_options.preserve_order
    engine = RayEngine.of_dataset(dataset, rows_at_once=300)

    assert sum(engine.counts()) == 2000
    assert bits(run(engine, Toy())) == bits(expected(table))
    assert bits(run(engine, Toy(columns=None))) == bits(expected(table))
    assert run(engine, CountOnly())["n"].tolist() == [2000]
    assert dataset.context.execution_options.preserve_order == order


def test_a_block_is_read_in_batches_with_the_columns_that_are_asked_for():
    """Small enough for memory, and no column too many."""
    table = made_rows()
    engine = RayEngine.of_dataset(dataset_of(table, 2), name="pets", rows_at_once=300)
    batches = [batch for part in engine.parts for batch in part.read(frozenset({"n", "pet"}))]
    one_block = RayEngine.of_dataset(dataset_of(table, 1), name="pets")
    with pytest.raises(UnknownNameError) as raised:
        run(one_block, CountOnly(columns=frozenset({"pest"})))

    assert pa.Table.from_batches(batches).equals(table.select(["pet", "n"]))
    assert max(batch.num_rows for batch in batches) == 300
    assert run(engine, Names())["names"].tolist() == ["n", "pet", "pet code", "x"]
    what, where, fix = "Unknown column 'pest'.", "pets, block 1", "did you mean 'pet'?"
    assert str(raised.value) == f"{what}\n  where: {where}\n  fix:   {fix}"


def test_a_dataset_without_arrow_blocks_serves_too():
    """Blocks of another kind are made Arrow tables by Ray."""
    import ray.data

    table = made_rows(50)
    engine = RayEngine.of_dataset(ray.data.from_pandas(table.to_pandas()))

    assert run(engine, Toy())["pets"].tolist() == expected(table)["pets"].tolist()
    assert np.array_equal(run(engine, Toy())["numbers"], expected(table)["numbers"])


def test_rules_and_counts_are_those_of_memory_to_the_last_bit(tmp_path):
    """From files in any number, and from a dataset."""
    import pyarrow.parquet as pq

    table = made_rows()
    for place, part in enumerate(cut(table, 5)):
        pq.write_table(part.table, tmp_path / f"{place}.parquet")
    whole = sqrl.learn(table, RULES)
    found = sqrl.check(whole, table).to_dict()

    for data in (sqrl.scan(tmp_path, engine="ray"), dataset_of(table, 3)):
        assert sqrl.learn(data, RULES).table.equals(whole.table)
        assert sqrl.check(whole, data).to_dict() == found


# What costs Ray its workers comes last: each new one imports everything.


def test_a_busy_worker_killed_during_learn_and_during_check_changes_nothing(tmp_path):
    """It dies in the third pass of one and the second of the other; the results are the same."""
    table = made_rows()
    parts = cut(table, 4)
    whole = sqrl.learn(table, RULES)
    marks = tmp_path / "learn", tmp_path / "check"
    dying = [
        sqrl.Scan(
            RayEngine(
                "made",
                [*parts[:3], DyingPart("dies", parts[3].table, marker=str(mark), at=nth)],
                tuple(table.column_names),
            )
        )
        for mark, nth in zip(marks, (3, 2), strict=True)
    ]
    rules = sqrl.learn(dying[0], RULES)
    found = sqrl.check(whole, dying[1])

    assert marks[0].stat().st_size > 3
    assert marks[1].stat().st_size > 2
    assert rules.table.equals(whole.table)
    assert found.to_dict() == sqrl.check(whole, table).to_dict()


@pytest.mark.usefixtures("_slowly")
def test_a_worker_that_is_killed_at_work_changes_nothing(tmp_path):
    """Its part is done again by another, and counted once."""
    table = made_rows()
    marker = tmp_path / "died"
    state = run(RayEngine("made", cut(table, 7)), Dies(marker=str(marker), row=700))

    assert marker.exists()
    assert bits(state) == bits(expected(table))


def test_a_worker_that_dies_again_and_again_is_an_error_of_ours(monkeypatch):
    """Ray gives up in the end; the message says what to look for."""
    monkeypatch.setattr("sqrl._scan.engines.ray.RETRIES", 1)  # each costs a new process
    with pytest.raises(SqrlError) as raised:
        run(RayEngine("made", cut(made_rows(), 2)), AlwaysDies(row=0))

    assert raised.value.what.startswith("Ray could not finish a part: ")
    assert raised.value.where == "made"


@pytest.mark.usefixtures("_slowly")
def test_a_program_that_did_not_start_ray_uses_the_cluster_that_is_named():
    """RAY_ADDRESS is all that a command needs to know, and it prints nothing of Ray's."""
    code = (
        "from engine_jobs import Toy, cut, made_rows, run\n"
        "from sqrl._scan.engines.ray import RayEngine\n"
        "print(run(RayEngine('made', cut(made_rows(), 3)), Toy())['pets'].tolist())\n"
        "import ray; print(ray.get_runtime_context().gcs_address)"
    )
    address = ray.get_runtime_context().gcs_address
    environment = os.environ | {"RAY_ADDRESS": address}  # and the fixture's PYTHONPATH
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout.splitlines() == [str(expected(made_rows())["pets"].tolist()), address]
    assert done.stderr == ""


@pytest.mark.usefixtures("_slowly")
def test_columns_that_follow_from_rows_before_are_those_of_memory():
    """Of parts and of blocks, in one portion or in several, to the last bit."""
    table = made_visits(200)
    files = RayEngine("visits", cut(table, 3), tuple(table.column_names))
    blocks = RayEngine.of_dataset(dataset_of(table, 3))
    expected = sequences_in_memory(table, SEQUENCES, BY_DAY, TWICE)
    for engine, memory in ((files, 1 << 30), (blocks, 1 << 15)):
        found = sequences_scanned(engine, SEQUENCES, BY_DAY, TWICE, memory=memory)

        for name in SEQUENCES:
            assert found[name].tolist() == pytest.approx(expected[name].tolist(), nan_ok=True)
            assert found[name].tobytes() == expected[name].tobytes()
