"""The doors: another format, engine, export target, loss or method comes in by its registry alone.

Each test adds a toy in a `with` block, uses it everywhere, and sees it gone afterwards.
CONTRIBUTING says which files a built-in one takes.
"""

import json
import pickle
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

import sqrl as library
from sqrl._data.formats import FORMATS, format_of, write_table
from sqrl._data.formats.file_format import FileFormat
from sqrl._registry import Registry
from sqrl._scan.engines import ENGINES, EngineEntry, file_engines
from sqrl._scan.files.open import open_files
from sqrl._scan.job import summarise_part
from sqrl.errors import DataError, MissingExtraError, OutputError, SqrlError, UnknownNameError
from sqrl.export import TARGETS, Folder, Target

ROOT = Path(__file__).parent.parent
RULES = ("width <= 0.5", "kind = car => 0 <= speed <= 130")
N_ROWS = 400


def made_table():
    """Rows with numbers and words, and a few missing values."""
    random = np.random.default_rng(0)
    kind = np.where(random.random(N_ROWS) < 0.5, "car", "van")
    width = np.round(random.random(N_ROWS) + (kind == "van"), 3)
    speed = pa.array(random.integers(0, 150, N_ROWS), mask=random.random(N_ROWS) < 0.05)
    return pa.table({"kind": kind, "width": width, "speed": speed})


def in_three(table, write, suffix):
    """Write the rows to three files in the folder at hand."""
    for number, start in enumerate((0, 90, 250)):
        stop = (90, 250, N_ROWS)[number]
        write(table.slice(start, stop - start), Path(f"part{number}{suffix}"))


def broken_in(text):
    """How often each rule is broken, as a check says in JSON."""
    return [rule["violations"] for rule in json.loads(text)["rules"]]


# --- the registry itself


def test_a_name_is_taken_once_and_a_wrong_one_is_answered():
    """No thing hides another, and a wrong name is answered with the nearest."""
    shapes = Registry("shape", {"square": 4})
    taken = pytest.raises(SqrlError, match="There already is a shape named 'square'")
    with taken, shapes.adding("square", 5):
        pass
    with pytest.raises(UnknownNameError, match="did you mean 'square'"):
        _ = shapes["squar"]

    assert shapes == {"square": 4}


def test_what_is_added_for_a_block_is_gone_after_an_error_too():
    """A test that fails leaves no toy behind."""
    shapes = Registry("shape", {"square": 4})
    with pytest.raises(ZeroDivisionError), shapes.adding("line", 1):
        _ = shapes["line"] / 0

    assert "line" not in shapes


# --- file formats


def read_toy(data, where, reading):
    del where, reading
    return pyarrow.feather.read_table(pa.BufferReader(data), memory_map=False)


def write_toy(table, path):
    pyarrow.feather.write_feather(table, str(path), compression="lz4")


TOY_FORMAT = FileFormat("Toy", (".toyf", ".toyfeather"), read_toy, write=write_toy)


@pytest.fixture
def toy_format():
    with FORMATS.adding("Toy", TOY_FORMAT) as form:
        yield form


def test_a_format_is_known_as_long_as_it_is_registered(tmp_path):
    """Reading it says so before and after, with all suffixes that there are."""
    path = tmp_path / "rows.toyf"
    write_toy(made_table(), path)
    with FORMATS.adding("Toy", TOY_FORMAT):
        table = library.read_table(path)
        with pytest.raises(DataError) as raised:
            library.read_table(tmp_path / "rows.toyf.gz")
    assert table.fingerprint() == library.as_table(made_table()).fingerprint()
    assert "There is no such file." in str(raised.value)

    with pytest.raises(DataError, match=r"The format of 'rows\.toyf' is unknown") as raised:
        library.read_table(path)
    assert ".toyf" not in raised.value.fix
    assert all(suffix in raised.value.fix for form in FORMATS.values() for suffix in form.suffixes)


@pytest.mark.usefixtures("toy_format")
def test_rules_are_learned_from_files_of_a_new_format(tmp_path, monkeypatch):
    """From one file, and from several that are scanned: those of the rows in memory, to the bit."""
    monkeypatch.chdir(tmp_path)
    table = made_table()
    write_toy(table, Path("all.toyf"))
    in_three(table, write_toy, ".toyf")
    expected = library.learn(table, label="kind")

    one = library.learn("all.toyf", label="kind")
    many = library.learn(library.scan("part*.toyf"), label="kind")
    assert len(expected)
    assert one.table.equals(expected.table)
    assert many.table.equals(expected.table)


@pytest.mark.usefixtures("toy_format")
def test_a_scan_reads_a_new_format_part_by_part(tmp_path, monkeypatch):
    """A part for each file, of the columns that are wanted, so many rows at a time; it pickles."""
    monkeypatch.chdir(tmp_path)
    table = made_table()
    in_three(table, write_toy, ".toyf")
    parts = pickle.loads(pickle.dumps(open_files("part*.toyf", rows_at_once=64).parts))
    batches = [batch for part in parts for batch in part.read(frozenset({"width"}))]

    assert [part.n_rows for part in parts] == [90, 160, 150]
    assert max(batch.num_rows for batch in batches) == 64
    assert pa.Table.from_batches(batches).equals(table.select(["width"]))


@pytest.mark.usefixtures("toy_format")
def test_damage_in_a_new_format_is_told_in_our_words(tmp_path):
    """The format need not think of it; a scan can leave such files out."""
    write_toy(made_table(), tmp_path / "good.toyf")
    (tmp_path / "bad.toyf").write_bytes(b"no table at all")
    with pytest.raises(DataError, match="The file is not Toy, or is damaged: "):
        library.read_table(tmp_path / "bad.toyf")
    with pytest.raises(DataError, match="The file is not Toy, or is damaged: "):
        library.scan(tmp_path / "*.toyf")

    scan = library.scan(tmp_path / "*.toyf", skip_damaged=True)
    assert sum(scan.engine.counts()) == N_ROWS
    assert len(scan.skipped) == 1


@pytest.mark.usefixtures("toy_format")
def test_the_command_line_takes_a_new_format(sqrl):
    """learn and check, of one file and of a glob; both find the same."""
    write_toy(made_table(), Path("all.toyf"))
    in_three(made_table(), write_toy, ".toyf")
    learned = sqrl("learn", "all.toyf", "--label", "kind", "-o", "rules.json")
    library.RuleSet.from_texts(RULES).save("by_hand.json")
    given = ("--format", "json", "--fail-on", "any")
    found = [sqrl("check", "by_hand.json", data, *given) for data in ("all.toyf", "part*.toyf")]
    expected = library.check(library.load_rules("by_hand.json"), made_table()).broken.tolist()

    assert (learned.code, Path("rules.json").exists()) == (0, True)
    assert min(expected) > 0
    for done in found:
        assert done.code == 1
        assert sorted(broken_in(done.out)) == sorted(expected)
    assert found[1].err == "part*.toyf: 400 rows, scanned\n"


def test_a_table_is_written_in_a_new_format(tmp_path):
    """Under its first suffix, and only while it is registered."""
    path = tmp_path / "out.toyf"
    with FORMATS.adding("Toy", TOY_FORMAT):
        write_table(made_table(), path)
        assert library.read_table(path).n_rows == N_ROWS
    with pytest.raises(OutputError) as raised:
        write_table(made_table(), path)
    assert raised.value.what == "A table is written as .csv or .parquet, not .toyf."


def test_no_two_formats_share_a_suffix():
    """A suffix tells the format."""
    suffixes = [suffix for form in FORMATS.values() for suffix in form.suffixes]

    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)
    assert all(format_of(Path(f"a{suffix}")).name in FORMATS for suffix in suffixes)


@pytest.mark.parametrize("name", [form.name for form in FORMATS.values() if form.write])
def test_what_a_format_writes_it_reads_whole_and_in_parts(name, tmp_path):
    """The same values, whichever way."""
    path = tmp_path / f"rows{FORMATS[name].suffixes[0]}"
    write_table(made_table(), path)
    batches = [batch for part in open_files(path).parts for batch in part.read()]
    expected = library.as_table(made_table()).fingerprint()

    assert library.read_table(path).fingerprint() == expected
    assert library.as_table(pa.Table.from_batches(batches)).fingerprint() == expected


# --- engines


@dataclass
class Backwards:
    """Goes through the parts from the last to the first."""

    name: str
    parts: tuple
    names: tuple
    runs: int = 0

    def counts(self):
        return [part.n_rows for part in self.parts]

    def run(self, job, firsts, read, *, track=None):
        del track
        self.runs += 1
        state = job.start()
        for part, first in reversed(list(zip(self.parts, firsts, strict=True))):
            state = job.merge(summarise_part(job, part.read(job.columns), first, read), state)
        return state


@pytest.fixture
def toy_engines():
    """The engines that a registered toy has made."""
    made = []

    def of_files(name, parts, columns):
        made.append(Backwards(name, parts, columns))
        return made[-1]

    with ENGINES.adding("toy", EngineEntry("toy", of_files)):
        yield made
    assert "toy" not in file_engines()


@pytest.fixture
def in_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    in_three(made_table(), FORMATS["Parquet"].write, ".parquet")
    library.RuleSet.from_texts(RULES).save("by_hand.json")


@pytest.mark.usefixtures("in_parts")
def test_a_new_engine_gives_the_same_bits(toy_engines):
    """The order of the parts does not matter."""
    local, toy = (library.scan("part*.parquet", engine=name) for name in ("local", "toy"))
    rules = [library.learn(each, label="kind") for each in (local, toy)]

    assert len(rules[0])
    assert rules[1].table.equals(rules[0].table)
    assert library.check(rules[1], toy).to_dict() == library.check(rules[0], local).to_dict()
    assert toy_engines[0].runs > 1


@pytest.mark.usefixtures("in_parts")
def test_the_command_line_takes_a_new_engine(sqrl, toy_engines):
    """By its name, with the same result as any other; a wrong name is told those that there are."""
    given = ("check", "by_hand.json", "part*.parquet", "--fail-on", "any", "--engine")
    local, toy, wrong = (sqrl(*given, name) for name in ("local", "toy", "tory"))

    assert (toy.code, toy.out) == (local.code, local.out) == (1, local.out)
    assert [engine.runs > 0 for engine in toy_engines] == [True]
    assert wrong.code == 2
    assert "'tory' is not one of 'memory', 'local', 'ray', 'toy'." in wrong.err


def test_an_engine_says_what_it_needs_before_any_file_is_read(tmp_path):
    """Not after an hour of looking at text."""
    entry = EngineEntry("toy", lambda *_: None, needs="no_such_module_of_ours")
    with ENGINES.adding("toy", entry), pytest.raises(MissingExtraError) as raised:
        library.scan(tmp_path / "absent.csv", engine="toy")

    assert str(raised.value) == (
        "The engine 'toy' needs no_such_module_of_ours, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[no_such_module_of_ours]"'
    )


@dataclass
class ToyData:
    """A dataset that only its own engine understands."""

    table: pa.Table


def test_an_engine_recognises_data_of_its_own():
    """Given to `check` as it is."""

    def of_data(data):
        return library.scan(data.table).engine

    rules, table = library.RuleSet.from_texts(RULES), made_table()
    entry = EngineEntry("toy", None, of_data, ToyData.__module__)
    with ENGINES.adding("toy", entry):
        found = library.check(rules, ToyData(table))
    with pytest.raises(DataError, match="A ToyData is not a table"):
        library.check(rules, ToyData(table))

    assert found.broken.tolist() == library.check(rules, table).broken.tolist()


def test_every_engine_is_documented_and_can_be_installed():
    """By name on the page about scans; its extra is one of ours."""
    page = (ROOT / "docs" / "scale.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in ENGINES:
        assert name in page.lower(), name
    assert all(f"--engine {name}" in page for name in file_engines())
    needed = {entry.needs for entry in ENGINES.values()} - {None}
    assert needed <= set(project["optional-dependencies"])


# --- export targets


def list_rules(rules, *, table="data", like=None, prediction=None, limit=1000):
    del like, prediction, limit
    return "".join(f"{table}: {text}\n" for text in rules.texts())


def a_file_each(rules, **_):
    return {f"toy_{number}.txt": text for number, text in enumerate(rules.texts(), start=1)}


def test_a_new_target_is_reached_from_python_and_from_the_command_line(sqrl):
    """To the screen and to a file; options that it does not take are not given to it."""
    rules = library.RuleSet.from_texts(RULES)
    rules.save("rules.json")
    given = ("export", "rules.json", "--to", "toy", "--table", "cars")
    with TARGETS.adding("toy", Target("toy", list_rules, options=("table",))) as target:
        shown, written = sqrl(*given), sqrl(*given, "-o", "toy.txt")
        refused = sqrl(*given, "--rows", "id")
        text = target.export(rules, table="cars", dialect="duckdb", rows=())
    after = sqrl(*given)

    assert text == f"cars: {RULES[0]}\ncars: {RULES[1]}\n"
    assert (shown.code, shown.out, shown.err) == (0, text, "")
    assert (written.code, written.err) == (0, "wrote toy.txt\n")
    assert Path("toy.txt").read_text() == text
    assert refused.code == 2
    assert "Invalid value for '--rows': is for --to sql, not toy." in refused.err
    assert after.code == 2
    assert "'toy' is not one of 'sql', 'dbt', 'pandera'." in after.err


def test_a_new_target_may_write_a_folder(sqrl):
    """Replaced as a whole, never one that holds other files; in words of its own."""
    library.RuleSet.from_texts(RULES).save("rules.json")
    folder = Folder("toy_", ".txt", files="cards", what="Cards", example="cards")
    given = ("export", "rules.json", "--to", "toy")
    with TARGETS.adding("toy", Target("toy", a_file_each, folder=folder)):
        nowhere, written = sqrl(*given), sqrl(*given, "-o", "cards")
        Path("cards/mine.txt").write_text("keep")
        strange = sqrl(*given, "-o", "cards")

    assert nowhere.code == written.code + 2 == strange.code == 2
    assert "Cards are written to a folder, and none was named." in nowhere.err
    assert "name one, such as -o cards" in nowhere.err
    assert written.err == "wrote 2 cards to cards\n"
    assert Path("cards/toy_2.txt").read_text() == RULES[1]
    assert "The folder holds files that were not exported, such as 'mine.txt'." in strange.err


@pytest.mark.parametrize("name", list(TARGETS))
def test_every_target_exports_rules_and_is_documented(name):
    """Text, or the text of files that its folder knows as its own."""
    target, rules = TARGETS[name], library.RuleSet.from_texts(RULES)
    made = target.export(rules, limit=10, table="cars", dialect="duckdb")

    assert f"--to {name}" in (ROOT / "docs" / "export.md").read_text()
    if target.folder is None:
        assert isinstance(made, str)
        assert made.endswith("\n")
        return
    assert len(made) == len(rules)
    assert all(file.startswith(target.folder.prefix) for file in made)
    assert all(file.endswith(target.folder.suffix) for file in made)
