"""Outputs: what is there is never lost, mixed or replaced by what it is not."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sqrl as product
from sqrl._data import unfinished
from sqrl._data.unfinished import is_unfinished, remove_leftovers, unfinished_file
from sqrl._data.write_file import (
    check_folder,
    replacing,
    replacing_folder,
    write_atomically,
)
from sqrl._opening import Opening
from sqrl._scan.resume import Resuming, seal, unseal
from sqrl.errors import DataError, OutputError

NAME = ".sqrl-0123456789abcdef"


def folder_of(path, content):
    path.mkdir()
    (path / "rows-0").write_text(content)
    return path


def contents(path):
    return {file.name: file.read_text() for file in path.iterdir()}


@pytest.fixture
def parts(tmp_path):
    for part in range(2):
        (tmp_path / f"p{part}.csv").write_text("x\n1\n2\n3\n")
    return str(tmp_path / "*.csv")


def resumed(parts, folder):
    """What a finished check leaves in its folder."""
    opening = Opening(resume=folder)
    (data,) = opening.open(parts)
    product.check(product.RuleSet.from_texts(["x <= 2"]), data)
    opening.finish()


def test_a_finished_run_removes_only_what_it_has_remembered(tmp_path, parts):
    """A folder may hold files of other people, and passes of another run that is under way."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.pass").write_text("precious")
    (mine / f"{'a' * 16}.pass").write_text("of another run")
    resumed(parts, mine)

    assert contents(mine) == {"notes.pass": "precious", f"{'a' * 16}.pass": "of another run"}


def test_a_finished_run_removes_a_folder_of_its_own(tmp_path, parts):
    """Nothing is left of what only served to go on."""
    resumed(parts, tmp_path / "kept")

    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("n_kept", range(3))
def test_where_a_pass_cannot_be_kept_its_file_is_named_and_not_the_schema(
    tmp_path, parts, monkeypatch, n_kept
):
    """The disk is full, from the first pass on or a later one, which cuts what the schema names."""
    schema = tmp_path / "schema.yaml"
    schema.write_text('let: {L: "literals(x/2)"}\nrules: ["L => x <= ?"]\nvalidate: false\n')
    kept, flush = [], os.fsync

    def fill(file):
        if len(kept) == n_kept:
            raise OSError(28, "No space left on device")
        kept.append(file)
        flush(file)

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(OutputError, match="No space left on device") as raised:
        product.learn(product.scan(parts, resume=tmp_path / "kept"), str(schema))

    assert Path(raised.value.where).parent == tmp_path / "kept"
    assert raised.value.where.endswith(".pass")


def test_a_run_goes_on_where_another_has_removed_the_folder(tmp_path, parts):
    """The folder is made again."""
    data = product.scan(parts, resume=tmp_path / "kept")
    (tmp_path / "kept").rmdir()
    product.check(product.RuleSet.from_texts(["mean(x) <= 2 over 2"]), data)

    assert isinstance(data.engine, Resuming)
    assert list((tmp_path / "kept").glob("*.pass"))


@pytest.mark.parametrize("place", range(0, 120, 7))
def test_a_bit_that_has_changed_in_a_remembered_pass_is_noticed(place):
    """Else a resumed run would learn other rules without a word."""
    sealed = bytearray(seal({"counts": np.arange(9), "sums": np.zeros(3)}))
    sealed[place % len(sealed)] ^= 1
    with pytest.raises(DataError, match="damaged, or of another version"):
        unseal(bytes(sealed), "x.pass")


@pytest.mark.parametrize("content", [b"", b"a", b"abc", b"\0" * 60])
def test_a_remembered_pass_that_was_cut_off_is_noticed(content):
    """Whatever is left of it."""
    with pytest.raises(DataError, match="damaged"):
        unseal(content, "x.pass")


def test_a_pipe_is_written_into(tmp_path):
    """It stays a pipe, and its reader gets all of it."""
    path = tmp_path / "f.xml"
    os.mkfifo(path)
    reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
    write_atomically(path, b"a" * 100_000)

    assert reader.communicate()[0] == b"a" * 100_000
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_written_into(tmp_path):
    """In a container /dev/null itself would have been replaced."""
    path = tmp_path / "null.xml"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    write_atomically(path, b"a")
    with replacing(Path("/dev/null")) as temporary:
        temporary.write_bytes(b"b")

    assert stat.S_ISCHR(path.stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_two_writers_of_a_folder_do_not_mix(tmp_path):
    """The last one to finish has it all."""
    path = tmp_path / "v"
    one, other = replacing_folder(path), replacing_folder(path)
    first, second = one.__enter__(), other.__enter__()
    (first / "rows-0").write_text("A")
    (second / "rows-0").write_text("B")
    (first / "rows-1").write_text("A")
    one.__exit__(None, None, None)

    assert contents(path) == {"rows-0": "A", "rows-1": "A"}
    other.__exit__(None, None, None)
    assert contents(path) == {"rows-0": "B"}
    assert [file.name for file in tmp_path.iterdir()] == ["v"]


@pytest.mark.parametrize("can_swap", [True, False])
def test_a_folder_is_replaced_with_and_without_a_swap_of_names(tmp_path, monkeypatch, can_swap):
    """Not every file system swaps two names in one step."""
    if not can_swap:
        monkeypatch.setattr(unfinished, "_swap", lambda: None)
    path = folder_of(tmp_path / "v", "old")
    with replacing_folder(path) as new:
        (new / "rows-0").write_text("new")

    assert contents(path) == {"rows-0": "new"}
    assert [file.name for file in tmp_path.iterdir()] == ["v"]


def test_a_folder_that_a_killed_writer_moved_away_comes_back(tmp_path, monkeypatch):
    """Between two renames neither the old nor the new one has the name."""
    path, left = tmp_path / "v", tmp_path / NAME
    (left / "old").mkdir(parents=True)
    folder_of(left / "old" / "v", "old")
    monkeypatch.setattr(unfinished, "_swap", lambda: None)
    remove_leftovers(tmp_path)

    assert contents(path) == {"rows-0": "old"}
    assert not left.exists()


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    """And leaves what is still being written."""
    (tmp_path / NAME).write_text("half")
    folder_of(tmp_path / NAME.replace("0", "1"), "half")
    (tmp_path / ".sqrl-mine").write_text("of somebody else")
    with unfinished_file(tmp_path) as other:
        write_atomically(tmp_path / "r.json", b"{}")

        assert other.exists()
    assert sorted(contents(tmp_path)) == [".sqrl-mine", "r.json"]


def test_the_folder_that_a_run_is_in_is_not_replaced(tmp_path, monkeypatch):
    """The shell would stand in a folder that is gone."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="the folder that this is run in"):
        check_folder(Path(), is_ours=lambda _: True, others="", fix="")


COMMAND = [sys.executable, "-m", "sqrl.cli"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("place")
    (path / "x.csv").write_text("x\n" + "9\n" * 300)
    product.RuleSet.from_texts(["x <= 2"], coverage=[0.98], support=[1000]).save(path / "r.json")
    return path


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check r.json x.csv --fail-on any | true; exit ${PIPESTATUS[0]}", 1),
        ("rules r.json > /dev/full", 2),
        ("rules r.json >&-", 0),
    ],
)
def test_a_closed_or_full_output_leaves_the_status(place, command, code):
    """A gate in CI must not pass because nobody reads on."""
    sqrl = " ".join(COMMAND)
    found = subprocess.run(
        ["bash", "-c", f"{sqrl} {command}"], cwd=place, capture_output=True, check=False
    )

    assert found.returncode == code, found.stderr
    assert b"Traceback" not in found.stderr


def test_a_terminated_run_leaves_nothing_behind(tmp_path):
    """SIGTERM, which most schedulers send, ends a run as Ctrl-C does."""
    code = (
        "import sys, time\nfrom sqrl._commands.ending import be_terminable, end\n"
        "from pathlib import Path\nfrom sqrl._data.write_file import replacing\n"
        "be_terminable()\ntry:\n"
        "    with replacing(Path(sys.argv[1])) as temporary:\n"
        "        print('ready', flush=True)\n        time.sleep(60)\n"
        "except BaseException as error:\n    end(error)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "r.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert any(map(is_unfinished, tmp_path.iterdir()))
    time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate()

    assert child.returncode == 143
    assert said == "sqrl: Terminated; no result was written.\n"
    assert not list(tmp_path.iterdir())


def test_a_query_of_rows_refuses_the_name_that_its_result_has():
    """A key of that name would have shadowed which rules are broken."""
    from sqrl.export import to_sql

    with pytest.raises(DataError, match="cannot be shown under the name 'broken_rules'"):
        to_sql(product.RuleSet.from_texts(["x <= 2"]), rows=["broken_rules"])


def test_a_carriage_return_in_a_category_survives_a_template_of_dbt():
    """Jinja makes a line feed of it, and the test would then find nothing."""
    from sqrl.export import to_dbt

    jinja2 = pytest.importorskip("jinja2")
    rules = product.RuleSet.from_texts(['k = "a\\rb {{ x" => x <= 1'])
    (text,) = to_dbt(rules, table="boxes").values()
    rendered = jinja2.Template(text).render(ref=str)

    assert "'a\rb {{ x'" in rendered
