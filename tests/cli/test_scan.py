"""Scans from the command line: the same results, with engines, memory, damage and resumption."""

import json
import os
import resource
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqrl import check, learn, load_rules, scan
from sqrl.errors import DataError

SCHEMA = """\
let: {Y: values(kind), A: [x, y], L: "literals(x/4, y/3)"}
rules:
  - kind = Y => ? <= A <= ?
  - "? <= f1(L{1..2} => kind = Y) <= ? over 64"
coverage: 0.9
label: kind
"""


def make_rows(seed, n=800):
    """Numbers that depend on the class."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], n)
    x = rng.normal(size=n) + (kind == "a")
    return pa.table({"kind": kind, "x": x, "y": rng.normal(size=n)})


@pytest.fixture
def folder(tmp_path):
    """Four Parquet files, the same rows in one file, and a schema."""
    (tmp_path / "parts").mkdir()
    tables = [make_rows(seed) for seed in range(4)]
    for place, table in enumerate(tables):
        pq.write_table(table, tmp_path / "parts" / f"{place}.parquet", row_group_size=300)
    pq.write_table(pa.concat_tables(tables), tmp_path / "whole.parquet")
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def run(sqrl):
    """Runs a command: the exit status, and what was written to stdout and stderr."""

    def run(*arguments):
        done = sqrl(*arguments)
        return done.code, done.out, done.err

    return run


@pytest.fixture
def rules(folder, run):
    """A file of rules learned from the parts."""
    path = folder / "r.json"
    run("learn", folder / "parts", "--schema", folder / "schema.yaml", "-o", path)
    return path


def learned(path):
    """The rules in a file, but for where and when they were learned."""
    content = json.loads(path.read_text())
    for field in ("created", "source"):
        content["provenance"].pop(field)
    return content


def test_a_glob_gives_the_rules_and_the_counts_of_the_whole_file(folder, run):
    """learn and check of many files say what they say of one."""
    schema, many = folder / "schema.yaml", f"{folder}/parts/*.parquet"
    run("learn", folder / "whole.parquet", "--schema", schema, "-o", folder / "one.json")
    status, _, told = run("learn", many, "--schema", schema, "-o", folder / "many.json")
    one = run("check", folder / "one.json", folder / "whole.parquet", "--format", "json")
    other = run("check", folder / "many.json", folder / "parts", "--format", "json")

    assert status == 0
    assert "3,200 rows, scanned" in told
    assert learned(folder / "many.json") == learned(folder / "one.json")
    assert other[:2] == one[:2]


def test_a_dry_run_and_a_proposed_schema_work_on_a_scan(folder, run):
    """Counts come before any work, and a schema is proposed from drawn rows."""
    status, out, _ = run("learn", folder / "parts", "--label", "kind", "--dry-run")
    again = run("learn", folder / "parts", "--label", "kind", "-o", folder / "r.json")

    assert status == 0
    assert "rules in all" in out
    assert again[0] == 0
    assert (folder / "r.schema.yaml").exists()


def test_violations_of_a_scan_are_a_folder(folder, run, rules):
    """A row for every row, in order, with the numbers of the rules that it breaks."""
    status, _, told = run("check", rules, folder / "parts", "--violations", folder / "broken")
    written = pq.read_table(folder / "broken")
    found = check(load_rules(rules), folder / "whole.parquet")
    expected = [[] for _ in range(3200)]
    for rule, row in zip(found.pair_rule.tolist(), found.pair_row.tolist(), strict=True):
        expected[row].append(rule + 1)

    assert status in {0, 1}
    assert f"wrote {folder / 'broken'}" in told
    assert written["row"].to_pylist() == list(range(1, 3201))
    assert written["violations"].to_pylist() == expected


def test_a_report_of_a_scan_is_refused(folder, run, rules):
    """A report draws rows; a scan has none."""
    status, _, told = run("check", rules, folder / "parts", "--report", folder / "page.html")

    assert status == 2
    assert "A report shows rows, and these are scanned, never all in memory." in told
    assert not (folder / "page.html").exists()


def test_a_damaged_file_in_the_middle_is_named_or_skipped(folder, run):
    """The error says which file; with --skip-damaged the others are learned from."""
    damaged = folder / "parts" / "1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    schema, rules = folder / "schema.yaml", folder / "r.json"
    refused = run("learn", folder / "parts", "--schema", schema, "-o", rules)
    skipped = run("learn", folder / "parts", "--schema", schema, "-o", rules, "--skip-damaged")

    assert refused[0] == 2
    assert "1.parquet" in refused[2]
    assert skipped[0] == 0
    assert "left out: " in skipped[2]
    assert "1.parquet" in skipped[2]
    assert json.loads(rules.read_text())["provenance"]["rows"] == 2400


def test_a_list_that_is_not_of_files_is_no_table():
    """A list of files is scanned; any other list is refused as it always was."""
    for data in ([1, 2], [{"x": 1.0}]):
        with pytest.raises(DataError, match="A list is not a table"):
            learn(data, {"rules": ["? <= x <= ?"]})


def test_a_size_that_is_none_is_refused(run):
    """Memory is a number of bytes with a unit."""
    status, _, told = run("learn", "x*.parquet", "--memory", "plenty", "--engine", "local")

    assert status == 2
    assert "'plenty' is no size, such as 2GB." in told.replace("\n", " ")


def test_an_interrupted_run_goes_on_after_the_last_finished_pass(folder, run):
    """What passes have found is kept, used when the command is run again, and then forgotten."""
    kept, rules, schema = folder / "kept", folder / "r.json", folder / "schema.yaml"
    told = []

    def interrupt(label, *_):
        told.append(label)
        if label == "pass 2":
            raise KeyboardInterrupt

    data = scan(folder / "parts", resume=kept)
    with pytest.raises(KeyboardInterrupt):
        learn(data, str(schema), track=interrupt)
    n_kept = len(list(kept.glob("*.pass")))
    again = []
    learn(
        scan(folder / "parts", resume=kept),
        str(schema),
        track=lambda label, *_: again.append(label),
    )
    status, _, _ = run("learn", folder / "parts", "--schema", schema, "-o", rules, "--resume", kept)
    run("learn", folder / "parts", "--schema", schema, "-o", folder / "plain.json")

    assert n_kept >= 1
    assert "columns" in told
    assert "columns" not in again
    assert status == 0
    assert not kept.exists()
    assert learned(rules) == learned(folder / "plain.json")


def test_a_changed_file_is_not_taken_for_the_one_that_was_seen(folder):
    """Remembered passes belong to files of that size and time."""
    kept, schema = folder / "kept", str(folder / "schema.yaml")
    before = learn(scan(folder / "parts", resume=kept), schema)
    pq.write_table(make_rows(99), folder / "parts" / "2.parquet")
    after = learn(scan(folder / "parts", resume=kept), schema)

    assert before.provenance.fingerprint != after.provenance.fingerprint
    assert after.table.equals(learn(scan(folder / "parts"), schema).table)


def test_a_changed_piece_of_an_arrow_file_is_seen(tmp_path, monkeypatch):
    """A part of a file that was cut knows the file it is of, whatever the format."""
    monkeypatch.setattr("sqrl._data.formats.columnar.MOST_ROWS", 100)
    path, kept, schema = tmp_path / "a.arrow", tmp_path / "kept", {"rules": ["? <= x <= ?"]}
    found = []
    for shift in (0.0, 50.0):
        table = pa.table({"x": np.arange(1000.0) + shift})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
        os.utime(path, ns=(int(shift), int(shift)))
        found.append(learn(scan(path, resume=kept), schema)[0])

    assert found[1].upper == found[0].upper + 50


def unfinished(folder):
    """What a run that is not over keeps beside its output."""
    return list(folder.glob(".sqrl-*"))


def test_ctrl_c_leaves_no_half_written_result(folder, rules, start):
    """The process ends with status 130; no folder of violations is there, nor what was begun."""
    process = start("check", rules, folder / "parts", "--violations", folder / "broken")
    until = time.monotonic() + 300
    while not unfinished(folder) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)

    assert process.returncode in {0, 1, 130}  # it may have ended before the signal came
    assert not unfinished(folder)
    assert (folder / "broken").exists() == (process.returncode != 130)
    assert ("Interrupted; no result was written." in told) == (process.returncode == 130)


def test_a_full_disk_leaves_no_half_written_result(folder, rules, run, start):
    """An error says so, and neither the folder nor what was begun of it remains."""
    run("check", rules, folder / "parts", "--violations", folder / "compiled")
    process = start(
        *("check", rules, folder / "parts", "--violations", folder / "broken"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)),
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # Python would leave half of it
    )
    _, told = process.communicate(timeout=300)

    assert process.returncode == 2
    assert "Cannot write the file" in told
    assert not (folder / "broken").exists()
    assert not unfinished(folder)
