"""The files of a history: whole or not there, in any order, and refused where they are damaged."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_histories import as_plain, made_record
from sqrl._history.settings import Settings, Waiver
from sqrl._history.store import Store
from sqrl._history.window_file import FORMAT, to_table
from sqrl.errors import DataError, HistoryError, OutputError

DAYS = [f"2026-01-{day:02}" for day in range(1, 10)]


@pytest.fixture
def store(tmp_path):
    """A history of two windows."""
    made = Store(tmp_path / "history")
    for at in DAYS[:2]:
        made.put(made_record(at))
    return made


def listing(store):
    """The names of all files, hidden ones too."""
    files = (path for path in store.folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(store.folder)) for path in files)


numbers = st.floats(allow_nan=True, allow_infinity=True)
lists = st.none() | st.lists(numbers, max_size=4).map(tuple)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def any_records(draw):
    """Records of all shapes: no rules, numbers that are none, any letters."""
    n = draw(st.integers(0, 4))
    counts = np.array(draw(st.lists(st.integers(0, 2**40), min_size=n, max_size=n)), np.int64)
    return made_record(
        draw(st.sampled_from([*DAYS, "2026-01-01T12:00:00Z"])),
        counts // 3,
        applicable=counts,
        source=draw(words),
        expected=np.array(draw(st.lists(numbers, min_size=n, max_size=n)), np.float64),
        p_value=np.full(n, np.nan),
        evidence=tuple(draw(st.lists(lists, min_size=n, max_size=n))),
        reference=tuple(draw(st.lists(lists, min_size=n, max_size=n))),
        texts=tuple(draw(st.lists(words, min_size=n, max_size=n))),
        shape=tuple(draw(st.lists(st.none() | st.just((1, 2)), min_size=n, max_size=n))),
        statistic=tuple(draw(st.lists(st.none() | words, min_size=n, max_size=n))),
        findings=(draw(words),),
        finding_rules=(tuple(f"{place:08x}" for place in range(n)),),
        n_facts=draw(st.integers(0, 1)),
        waived=tuple(f"{place:08x}" for place in range(draw(st.integers(0, n)))),
    )


@settings(max_examples=10)
@given(records=st.lists(any_records(), max_size=4))
def test_what_is_put_in_comes_out(tmp_path_factory, records):
    """To the last bit, in the order of time; of two of one time the later one is there."""
    store = Store(tmp_path_factory.mktemp("any") / "history")
    for record in records:
        store.put(record)
    last = {record.at: record for record in records}

    assert store.windows() == sorted(last)
    assert [as_plain(found) for found in store.records()] == [
        as_plain(last[at]) for at in sorted(last)
    ]


@settings(max_examples=5)
@given(order=st.permutations(DAYS[:4]))
def test_any_order_of_windows_gives_the_same_history(tmp_path_factory, order):
    """A day that was forgotten is put in later, and it is as if it never was."""
    store = Store(tmp_path_factory.mktemp("order") / "history")
    for at in order:
        store.put(made_record(at, broken=(int(at[-1]), 7)))

    assert store.windows() == DAYS[:4]
    assert [int(record.broken[0]) for record in store.records()] == [1, 2, 3, 4]


def test_a_window_checked_twice_counts_once(store):
    """The later check takes the place of the earlier one, whole."""
    store.put(made_record(DAYS[0], broken=(999,)))

    assert store.windows() == DAYS[:2]
    assert store.records()[0].broken.tolist() == [999]


def test_the_folder_holds_a_file_for_each_window_and_what_was_decided(store):
    """And the lock, which stays."""
    expected = [".lock", "history.json", f"windows/{DAYS[0]}.parquet", f"windows/{DAYS[1]}.parquet"]

    assert listing(store) == expected


def test_any_reader_of_parquet_reads_the_windows(store):
    """A row for each rule and check."""
    table = pq.read_table(store.folder / "windows")

    assert table["at"].to_pylist() == [DAYS[0], DAYS[0], DAYS[1], DAYS[1]]
    assert table["broken"].to_pylist() == [20, 25, 20, 25]


def test_a_history_that_is_not_there_is_empty(tmp_path):
    """Reading makes nothing."""
    store = Store(tmp_path / "history")

    assert (store.windows(), store.records(), store.settings()) == ([], [], Settings())
    assert list(tmp_path.iterdir()) == []


def test_the_data_behind_windows_is_remembered(tmp_path):
    """So that what was checked is not checked again."""
    store = Store(tmp_path / "history")
    store.put(made_record(DAYS[0]), fingerprint="abc")
    store.put(made_record(DAYS[1]))

    assert store.fingerprints() == {DAYS[0]: "abc", DAYS[1]: ""}


def test_leftovers_of_killed_writers_are_not_read_and_removed_by_the_next(store):
    """What others put into the folder stays."""
    for place in (store.folder, store.folder / "windows"):
        (place / ".sqrl-0123456789abcdef").write_bytes(b"half")
        (place / "notes.txt").write_text("mine")
        (place / ".sqrl-fedcba9876543210").mkdir()
    (store.folder / "windows" / "all.parquet").write_bytes(b"mine too")
    (store.folder / "windows" / "2026-99-99.parquet").write_bytes(b"mine as well")

    assert store.windows() == DAYS[:2]
    store.put(made_record(DAYS[2]))
    assert listing(store) == [
        *(".lock", "history.json", "notes.txt"),
        *(f"windows/{at}.parquet" for at in DAYS[:3]),
        *("windows/2026-99-99.parquet", "windows/all.parquet", "windows/notes.txt"),
    ]


@pytest.mark.parametrize("at", ["../2026-01-01", "2026-01-01/../../x", "20260101", "x", ""])
def test_no_window_leaves_the_folder(store, at):
    """A time is spelt one way, or refused."""
    with pytest.raises(DataError):
        store.put(made_record(at))

    assert store.windows() == DAYS[:2]


# What is damaged


def change_header(store, **changes):
    """Write the first window anew with another header."""
    path = store.folder / "windows" / f"{DAYS[0]}.parquet"
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[FORMAT.encode()]) | changes
    pq.write_table(table.replace_schema_metadata({FORMAT: json.dumps(header)}), path)


def change_column(store, name, values):
    """Write the first window anew with another column."""
    path = store.folder / "windows" / f"{DAYS[0]}.parquet"
    table = pq.read_table(path)
    place = table.column_names.index(name)
    column = pa.array(values, table.schema.field(name).type)
    pq.write_table(table.set_column(place, table.schema.field(name), column), path)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda s: change_header(s, at=DAYS[4]), f"it is of '{DAYS[4]}'; its name was changed"),
        (lambda s: change_header(s, n_rows="x"), "Expected `int`, got `str` - at `$.n_rows`"),
        (lambda s: change_header(s, n_rows=-1), "its header contradicts itself"),
        (lambda s: change_header(s, n_facts=1), "its header contradicts itself"),
        (lambda s: change_header(s, findings=["x"]), "its header contradicts itself"),
        (
            lambda s: change_header(s, findings=["x"], finding_rules=[["none"]]),
            "a finding names a rule that is not in it",
        ),
        (
            lambda s: change_header(s, waived=["none"]),
            "a rule is waived that is not in it",
        ),
        (lambda s: change_column(s, "id", ["a", "a"]), "a rule stands in it twice"),
        (lambda s: change_column(s, "id", ["a", None]), "its column 'id' has gaps"),
        (
            lambda s: change_column(s, "layout", ["outcomes", "odd"]),
            "its column 'layout' says 'odd'",
        ),
        (lambda s: change_column(s, "sides", ["left", "up"]), "its column 'sides' says 'left'"),
        (
            lambda s: change_column(s, "broken", [2000, 1]),
            "a rule is broken more often than it applies",
        ),
        (
            lambda s: change_column(s, "broken", [-1, 1]),
            "a rule is broken more often than it applies",
        ),
        (
            lambda s: pq.write_table(pa.table({"a": [1]}), s.folder / f"windows/{DAYS[0]}.parquet"),
            "it is no window of a history",
        ),
    ],
)
def test_a_damaged_window_is_named(store, damage, why):
    """With what is wrong and a way out."""
    damage(store)
    with pytest.raises(HistoryError) as caught:
        store.records()

    assert str(caught.value) == (
        f"A window of the history cannot be read: {why}.\n"
        f"  where: {store.folder / 'windows' / DAYS[0]}.parquet\n"
        "  fix:   remove the file, and check the data of that window again"
    )


def test_words_that_are_no_utf_8_are_named(store):
    """Parquet writes and reads bytes; only a look at each word tells that it is none."""
    n_rules = pq.read_table(store.folder / "windows" / f"{DAYS[0]}.parquet").num_rows
    bad = pa.array([b"\xe2\x28"] * n_rules)
    change_column(store, "text", pa.Array.from_buffers(pa.string(), n_rules, bad.buffers()))

    with pytest.raises(HistoryError, match=r"cannot be read: .*UTF"):
        store.records()


def test_a_window_with_other_columns_is_named(store):
    """Even if its header is right."""
    path = store.folder / "windows" / f"{DAYS[0]}.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["broken"]), path)
    with pytest.raises(HistoryError, match="its columns are not those of a window"):
        store.records()


@pytest.mark.parametrize("size", [0, 3, 100, -20])
def test_a_window_that_was_cut_off_is_named(store, size):
    """By a copy that broke off, say; a window that sqrl writes is whole."""
    path = store.folder / "windows" / f"{DAYS[0]}.parquet"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(HistoryError, match="A window of the history cannot be read") as caught:
        store.records()

    assert caught.value.where == str(path)
    with pytest.raises(HistoryError):
        store.fingerprints()


def test_a_window_too_large_to_unpack_is_refused(store, monkeypatch):
    """Before it is unpacked."""
    monkeypatch.setattr("sqrl._history.window_file.MOST_RULES", 1)
    with pytest.raises(HistoryError, match="it is larger than 1 rules or 1,073,741,824 bytes"):
        store.records()


def test_a_window_of_another_version_is_refused(store):
    """A newer sqrl may mean something else by the same names."""
    change_header(store, version=2)
    with pytest.raises(HistoryError) as caught:
        store.records()

    assert str(caught.value) == (
        "The window has format version 2; this sqrl reads version 1.\n"
        f"  where: {store.folder / 'windows' / DAYS[0]}.parquet\n"
        "  fix:   use the sqrl that wrote it, or begin a new history"
    )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "The history's settings cannot be read: Input data was truncated."),
        (b"[]", "The history's settings cannot be read: Expected `object`, got `array`."),
        (b"\xff{}", "The history's settings cannot be read: JSON is malformed: invalid character"),
        (b'{"format": "x"}', "The history's settings cannot be read: it is of something else."),
        (
            b'{"format": "sqrl-history", "version": 7}',
            "The history has format version 7; this sqrl reads version 1.",
        ),
        (
            b'{"format": "sqrl-history", "version": 1, "acepted": []}',
            "The history's settings cannot be read: Object contains unknown field `acepted`.",
        ),
    ],
)
def test_settings_that_cannot_be_read_are_named(store, content, what):
    """They are edited by people."""
    (store.folder / "history.json").write_bytes(content)
    with pytest.raises(HistoryError) as caught:
        store.records()

    assert caught.value.what.startswith(what)
    assert caught.value.where == str(store.folder / "history.json")


def test_settings_too_large_are_not_read(store, monkeypatch):
    """They are a few lines."""
    monkeypatch.setattr("sqrl._history.settings.LARGEST", 10)
    with pytest.raises(HistoryError, match="The file has more than 10 bytes"):
        store.settings()


@pytest.mark.parametrize(
    ("names", "what", "fix"),
    [
        (["a.csv"], "The folder is no history: it holds 'a.csv'.", "name a new or an empty folder"),
        (
            ["windows"],
            "The history has windows, and no history.json.",
            "bring the file back, or name another place",
        ),
    ],
)
def test_a_folder_of_something_else_is_refused(tmp_path, names, what, fix):
    """Neither read nor written to."""
    for name in names:
        (tmp_path / name).touch()
    for use in (Store(tmp_path).windows, lambda: Store(tmp_path).put(made_record())):
        with pytest.raises(HistoryError) as caught:
            use()

        assert str(caught.value) == f"{what}\n  where: {tmp_path}\n  fix:   {fix}"
    assert [path.name for path in tmp_path.iterdir()] == names


def test_a_file_in_its_place_is_refused(tmp_path):
    """A history is a folder."""
    (tmp_path / "a.csv").touch()
    with pytest.raises(HistoryError) as caught:
        Store(tmp_path / "a.csv").put(made_record())

    assert str(caught.value) == (
        "A history is a folder, and this is a file.\n"
        f"  where: {tmp_path / 'a.csv'}\n"
        "  fix:   name another place"
    )


def test_a_place_that_does_not_exist_is_refused(tmp_path):
    """A folder is made, not folders above it: that would be a typing error."""
    with pytest.raises(OutputError) as caught:
        Store(tmp_path / "none" / "history").put(made_record())

    assert str(caught.value) == (
        "The folder of the history's folder does not exist.\n"
        f"  where: {tmp_path / 'none' / 'history'}\n"
        f"  fix:   create it: mkdir -p {tmp_path / 'none'}"
    )


# What people decide


def test_decisions_are_kept_and_can_be_read_by_people(store):
    """In a file of a few lines."""
    waiver = Waiver(rule="00000001", until="2026-02-01", why="known")
    store.change(lambda now: msgspec.structs.replace(now, accepted=(DAYS[0],)))
    made = store.change(lambda now: msgspec.structs.replace(now, waivers=(waiver,)))

    assert made == store.settings() == Settings(accepted=(DAYS[0],), waivers=(waiver,))
    assert made.waived() == {"00000001": "2026-02-01"}
    assert json.loads((store.folder / "history.json").read_text()) == {
        "format": "sqrl-history",
        "version": 1,
        "false_alarms": "1/year",
        "every": "day",
        "accepted": [DAYS[0]],
        "waivers": [{"rule": "00000001", "until": "2026-02-01", "why": "known"}],
    }


# Several processes

WRITER = """
import sys
sys.path[:0] = [{helpers!r}]
import msgspec
from made_histories import made_record
from sqrl._history.store import Store
store, first, last, step = Store(__import__("pathlib").Path(sys.argv[1])), *map(int, sys.argv[2:])
print("ready", flush=True)
for number in range(first, last, step):
    at = f"{{2000 + number}}-01-01"
    store.put(made_record(at, broken=(number,) * 9))
    store.change(lambda now: msgspec.structs.replace(now, accepted=(*now.accepted, at)))
    print(at, flush=True)
"""


def start_writer(folder, *numbers):
    """A process that writes windows and accepts each of them."""
    code = WRITER.format(helpers=str(Path(__file__).parent.parent / "helpers"))
    arguments = [sys.executable, "-c", code, str(folder), *map(str, numbers)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_two_writers_at_once_lose_nothing(tmp_path):
    """Neither a window nor a decision, though both change the same file."""
    folder = tmp_path / "history"
    writers = [start_writer(folder, first, 20, 2) for first in (0, 1)]
    for writer in writers:
        writer.communicate()
    store = Store(folder)

    assert [writer.returncode for writer in writers] == [0, 0]
    assert [record.broken.tolist() for record in store.records()] == [[n] * 9 for n in range(20)]
    assert sorted(store.settings().accepted) == store.windows()


def test_a_writer_that_is_killed_leaves_a_whole_history(tmp_path):
    """Everything that it had finished is there, and the next one goes on."""
    folder = tmp_path / "history"
    finished = []
    for number, lines in enumerate([0, 2, 1]):  # at its first write, and in the middle of others
        writer = start_writer(folder, 100 * number, 100 * number + 100, 1)
        told = [writer.stdout.readline().strip() for _ in range(lines + 1)]
        writer.kill()
        told += writer.communicate()[0].split("\n")[:-1]
        finished += [line for line in told if line and line != "ready"]
        store = Store(folder)

        assert set(finished) <= set(store.windows()) == {r.at for r in store.records()}
        assert set(finished) <= set(store.settings().accepted)
    store.put(made_record("1999-01-01"))

    assert not [name for name in listing(store) if ".sqrl-" in name]


def test_the_table_of_a_window_is_what_is_written(store):
    """The same columns in memory and in the file."""
    made, read = to_table(made_record(DAYS[0])), store.tables()[0]

    assert made.equals(read)
