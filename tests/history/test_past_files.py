"""Past files and the windows that they are of."""

import os
from pathlib import Path

import pytest

from sqrl._history.past_files import PastFile, find_past_files
from sqrl.errors import DataError


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)


def write(*names):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x\n1\n")


@pytest.mark.parametrize(
    ("name", "pattern", "at"),
    [
        ("data/day=2026-11-16.csv", "data/day=*.csv", "2026-11-16"),
        ("data/20261116.csv", "data/*.csv", "2026-11-16"),
        ("data/y=2026/m=11/d=16.csv", "data/y=*/m=*/d=*.csv", "2026-11-16"),
        ("data/2026-11-16T1300Z.csv", "data/*.csv", "2026-11-16T13:00:00Z"),
        ("data/rows of 2026-11-16, again.csv", "data/*.csv", "2026-11-16"),
        ("data/2026-11-16-a.csv", "data/*-[ab].csv", "2026-11-16"),
        ("data/a/2026-11-16.csv", "data/**/*.csv", "2026-11-16"),
        ("data/day=2026-11-16/part-0.csv", "data/day=*", "2026-11-16"),
        ("v2/2026-11-16/rows.csv", "v?/*/rows.csv", "2026-11-16"),
    ],
)
def test_the_window_is_what_the_wildcards_stand_for(name, pattern, at):
    """Or the one date among it; a folder of files can be a window too."""
    write(name)

    assert [file.at for file in find_past_files(pattern)] == [at]


def test_files_are_in_the_order_of_their_windows_and_others_left_alone():
    """What is no table has no window."""
    write("b/2026-01-02.csv", "c/2026-01-01.csv", "b/2026-01-03.png", "b/.2026-01-04.csv")
    found = find_past_files("*/*")

    assert [(file.at, str(file.path)) for file in found] == [
        ("2026-01-01", "c/2026-01-01.csv"),
        ("2026-01-02", "b/2026-01-02.csv"),
    ]


@pytest.mark.parametrize(
    ("names", "pattern", "message"),
    [
        (
            ["a.csv"],
            "*.parquet",
            "No table fits the pattern.\n  where: *.parquet\n  fix:   check it, and quote it so"
            " that the shell leaves it as it is: 'data/day=*.parquet'",
        ),
        (
            ["monday.csv"],
            "*.csv",
            "There is no date in the name of the file, or more than one.\n  where: monday.csv\n"
            "  fix:   give a pattern in which * stands for a date, such as 'data/day=*.parquet'",
        ),
        (
            ["2026-01-01a.csv", "2026-01-01b.csv"],
            "*.csv",
            "Two files are of one window, 2026-01-01.\n"
            "  where: 2026-01-01a.csv and 2026-01-01b.csv\n"
            "  fix:   put the files of a window in one folder, and give a pattern of folders",
        ),
    ],
)
def test_what_has_no_window_is_refused(names, pattern, message):
    """Before anything is checked."""
    write(*names)
    with pytest.raises(DataError) as caught:
        find_past_files(pattern)

    assert str(caught.value) == message


def test_a_fingerprint_changes_with_the_files_and_with_what_else_is_said():
    """Of a folder with any file in it; to move it elsewhere changes nothing."""
    write("a/day=2026-01-01/x.csv", "a/day=2026-01-01/y.csv")
    file = PastFile("2026-01-01", Path("a/day=2026-01-01"))
    first = file.fingerprint("rules")
    Path("a").rename("b")
    moved = PastFile("2026-01-01", Path("b/day=2026-01-01"))

    assert moved.fingerprint("rules") == first != moved.fingerprint("others")
    assert moved.n_bytes == 8
    os.utime("b/day=2026-01-01/y.csv", ns=(1, 1))
    touched = moved.fingerprint("rules")
    Path("b/day=2026-01-01/y.csv").unlink()
    assert len({first, touched, moved.fingerprint("rules")}) == 3
