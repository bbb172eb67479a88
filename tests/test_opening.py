"""Files are opened in one way for all the data of a task."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from made_scans import made_table
from sqrl import RuleSet, load_rules
from sqrl._opening import Opening
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.resume import Resuming
from sqrl._scan.scan import Scan
from sqrl.errors import DataError


@pytest.fixture
def folder(tmp_path):
    """A Parquet file, a folder of two, and text with a semicolon."""
    table = made_table(1, 60)
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "many").mkdir()
    for place in range(2):
        pq.write_table(table, tmp_path / "many" / f"{place}.parquet")
    semicolon = pa.csv.WriteOptions(delimiter=";")
    pa.csv.write_csv(table.select(["a", "b"]), tmp_path / "text.csv", semicolon)
    return tmp_path


def test_one_small_file_is_read_and_many_are_scanned(folder):
    """Unless an engine, a resumption or damage is spoken of."""
    one, many = folder / "one.parquet", folder / "many"

    assert not Opening().is_scanned(one)
    assert Opening().is_scanned(many)
    assert Opening().is_scanned(f"{folder}/many/*.parquet")
    assert Opening(engine="local").is_scanned(one)
    assert Opening(skip_damaged=True).is_scanned(one)
    assert Opening(resume=folder / "kept").is_scanned(one)
    assert not Opening(engine="memory").is_scanned(one)


def test_a_large_file_is_scanned(folder, monkeypatch):
    """As sqrl.check and sqrl.learn decide."""
    monkeypatch.setattr("sqrl._opening.LARGE", 10)

    assert Opening().is_scanned(folder / "one.parquet")


def test_all_data_of_a_task_is_opened_alike(folder):
    """If one of two is scanned, so is the other, with the same options."""
    how = Opening(memory=1 << 20, resume=folder / "kept")
    pair = how.open(folder / "one.parquet", folder / "many")

    for data in pair:
        assert isinstance(data, Scan)
        assert data.memory == 1 << 20
        assert isinstance(data.engine, Resuming)
        assert isinstance(data.engine.engine, LocalEngine)
    assert [sum(data.engine.counts()) for data in pair] == [60, 120]
    small = Opening(separator=";").open(folder / "text.csv", folder / "text.csv")
    assert [one.names for one in small] == [("a", "b")] * 2


@pytest.mark.parametrize("engine", [None, "local"])
def test_separators_are_those_of_every_file(folder, engine):
    """Also where a file is scanned."""
    how = Opening(engine=engine, separator=",")
    first, second = how.open(folder / "text.csv", folder / "text.csv")
    names = [one.names if engine is None else one.engine.names for one in (first, second)]

    assert [len(one) for one in names] == [1, 1]


def test_an_engine_that_does_not_exist_is_refused(folder):
    """It does not run locally without a word."""
    with pytest.raises(DataError) as caught:
        Opening(engine="dask").open(folder / "one.parquet")

    assert str(caught.value).splitlines()[0] == "There is no engine 'dask'."


def test_many_files_are_not_read_into_memory(folder):
    """What was asked for cannot be, and is not done in another way."""
    with pytest.raises(DataError) as caught:
        Opening(engine="memory").open(folder / "many")

    assert str(caught.value) == (
        "Many files are scanned, not read into memory.\n"
        f"  where: {folder / 'many'}\n"
        "  fix:   name one file; 'sqrl learn' and 'sqrl check' scan many, without --engine memory"
    )


def test_what_a_person_should_know_is_said(folder):
    """How many rows are scanned, and what was left out."""
    damaged = folder / "many" / "1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    told = []
    Opening(skip_damaged=True).open(folder / "many", tell=told.append)

    assert told[0] == f"{folder / 'many'}: 60 rows, scanned"
    assert told[1].startswith(f"left out: {damaged} was left out: ")


SCHEMA = """\
let: {A: [a, b]}
rules: ["? <= A <= ?"]
coverage: 0.8
bounds: {min_support: 3}
"""


def test_held_out_files_get_the_options_of_train_files(folder, sqrl):
    """Engine, separator and damage alike, on the command line."""
    (folder / "schema.yaml").write_text(SCHEMA)
    (folder / "valid").mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / "valid" / name).write_bytes((folder / "text.csv").read_bytes())
    (folder / "valid" / "b.csv").write_text('a;b\n"1;2\n')
    given = ("--schema", folder / "schema.yaml", "-o", folder / "r.json", "--separator", ";")
    files = (folder / "text.csv", "--valid", folder / "valid")
    refused = sqrl("learn", *files, *given)
    done = sqrl("learn", *files, *given, "--skip-damaged")

    assert refused.code == 2
    assert "b.csv" in refused.err
    assert done.code == 0, done.err
    assert "text.csv: 60 rows, scanned" in done.err
    assert f"{folder / 'valid'}: 60 rows, scanned" in done.err
    made = load_rules(folder / "r.json").provenance
    assert (made.train_rows, made.valid_rows) == (60, 60)


@pytest.mark.parametrize("label", [None, "kind"])
def test_a_proposed_schema_sees_held_out_rows_wherever_they_are(folder, label):
    """Mini-batches are as large as the held-out rows allow, scanned or not."""
    from sqrl._learn.prepare import propose

    train, valid = folder / "train.parquet", folder / "valid.parquet"
    pq.write_table(made_table(1, 4000), train)
    proposed = []
    for n_valid in (40, 2000):
        pq.write_table(made_table(2, n_valid), valid)
        for how in (Opening(), Opening(engine="local")):
            rows, held_out = how.open(train, valid)
            proposed.append(propose(rows, valid=held_out, label=label))

    assert proposed[0] == proposed[1]
    assert proposed[2] == proposed[3]
    assert proposed[0] != proposed[2]


def test_two_globs_are_compared(folder, sqrl):
    """Results of scans are counts, and counts can be compared."""
    rules = RuleSet.from_texts(["-1 <= a <= 1"])
    rules.save(folder / "rules.json")
    one, many = folder / "one.parquet", f"{folder}/many/*.parquet"
    done = sqrl("compare", folder / "rules.json", one, many, "--report", folder / "c.md")
    page = sqrl("compare", folder / "rules.json", one, many, "--report", folder / "c.html")

    assert done.code == 0, done.err
    assert "scanned rows, taken as different ones" in done.out.replace("\n", " ")
    assert Path(folder / "c.md").exists()
    assert page.code == 2
    assert "A report shows rows, and these are scanned, never all in memory." in page.err
