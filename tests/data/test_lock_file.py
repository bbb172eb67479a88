"""A lock between processes."""

import subprocess
import sys

import pytest

from sqrl._data.lock_file import locked
from sqrl.errors import OutputError

HOLD = """
import sys, time
from pathlib import Path
from sqrl._data.lock_file import locked
with locked(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


def test_a_lock_that_is_held_is_waited_for_and_then_named(tmp_path):
    """A process that hangs does not hang others; one that dies holds nothing."""
    path = tmp_path / ".lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        with pytest.raises(OutputError) as caught, locked(path, patience=0.05):
            pass
    finally:
        holder.kill()
        holder.communicate()

    assert str(caught.value) == (
        "Another process has held the lock for 0.05 seconds.\n"
        f"  where: {path}\n"
        "  fix:   find the process that hangs, end it, and try again"
    )
    with locked(path, patience=0.0):
        assert path.exists()


def test_a_lock_is_let_go_of_at_an_error(tmp_path):
    """Whatever happens under it."""
    path = tmp_path / ".lock"
    with pytest.raises(ZeroDivisionError), locked(path):
        _ = 1 / 0
    with locked(path, patience=0.0):
        pass


def test_a_lock_that_cannot_be_made_is_an_output_error(tmp_path):
    """With the place."""
    path = tmp_path / "none" / ".lock"
    with pytest.raises(OutputError) as caught, locked(path):
        pass

    assert str(caught.value) == (
        "Cannot make the lock file: No such file or directory.\n"
        f"  where: {path}\n"
        "  fix:   check the name, the disk's free space and the permissions"
    )
