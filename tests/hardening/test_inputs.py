"""Files and options that once ended a process, or a command with a fault of sqrl's own."""

import gzip
import json
import os
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqrl as product
from sqrl._data.given_path import given_path
from sqrl._data.read_file import read_file
from sqrl._data.table import as_table
from sqrl._opening import Opening
from sqrl._rules.schema import MOST_CUTS
from sqrl.boxes import box_statistics
from sqrl.errors import (
    DataError,
    LimitError,
    OutputError,
    RulesFileError,
    SchemaError,
    SqrlError,
)

ROWS = "x,y,k\n" + "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(100))
RULES = ["0 <= x <= 5", "k = a => 0 <= y <= 3"]


def rules(*texts, **columns):
    return product.RuleSet.from_texts(texts or RULES, **columns)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with rows, parts of a table and rules."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(ROWS)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        (tmp_path / f"parts/p{part}.csv").write_text(ROWS)
    rules(coverage=[0.98] * 2, support=[1000] * 2).save(tmp_path / "rules.json")
    return tmp_path


@pytest.mark.parametrize("is_scanned", [False, True])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'null\n{"x": 1}\n', "The line is a JSON null, not an object."),
        (b'\xef\xbb\xbf null\n{"x": 1}\n', "The line "),
        (b'{"x": ' + b"[" * 9000 + b"]" * 9000 + b"}\n", "more than 100 lists and objects"),
        (b'{"x": 1}\n' + b'{"x":' * 9000 + b"1" + b"}" * 9000, "more than 100 lists and objects"),
        (b'{"x": ' + b"[" * 1200, "more than 100 lists and objects"),
        (b'{"x": ' + b"9" * 5000 + b'}\n{"x": \n', "a number of too many digits"),
        (b'{"x\xff": 1}\n', "not UTF-8 text"),
    ],
    ids=["null", "null after a mark", "deep list", "deep object", "open", "digits", "latin-1"],
)
def test_lines_that_kill_arrows_reader_never_reach_it(tmp_path, content, said, is_scanned):
    """A crash of a library takes the whole process, and no --skip-damaged helps."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        product.scan(path) if is_scanned else product.read_table(path)


def test_brackets_in_text_are_not_taken_for_a_nest(tmp_path):
    """A drawing of brackets is a value like any other."""
    path = tmp_path / "s.jsonl"
    lines = [json.dumps({"x": text}) for text in ("[{" * 200 + '\\"' * 3, "a")]
    path.write_text("\n".join(lines))

    assert product.read_table(path).n_rows == 2


def test_a_packed_table_takes_the_memory_of_its_rows(tmp_path):
    """To ask for the limit at once took 8 GiB of address space for a file of 20 bytes."""
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    code = "import sys, sqrl; print(sqrl.read_table(sys.argv[1]).n_rows)"

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "x.csv.gz"],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert found.stdout == "100\n", found.stderr


def test_a_packed_table_beyond_the_limit_is_refused(tmp_path):
    """It is unpacked no further than that."""
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    with pytest.raises(LimitError, match="above the limit of 100"):
        product.read_table(tmp_path / "x.csv.gz", max_bytes=100)


@pytest.mark.parametrize(
    ("text", "broken"),
    [("x = y - 1 => x <= 1", 1), ("x != y - 1 => x <= 1", 0)],
)
def test_equality_with_an_expression_is_a_comparison(text, broken):
    """It parsed, and then a check stumbled over it."""
    found = product.check(rules(text), {"x": [1.0, 3.0], "y": [2.0, 4.0]})

    assert found.broken.tolist() == [broken]


@pytest.mark.parametrize("path", ["a" * 300 + ".csv", "a\0b.csv", "~no-such-user/x.csv"])
@pytest.mark.parametrize(
    "use",
    [
        product.read_table,
        product.load_rules,
        product.load_schema,
        product.scan,
        product.History,
        lambda path: product.check(rules(), {"x": [1], "y": [1], "k": ["a"]}, violations=path),
        lambda path: rules().save(path),
        lambda path: product.scan({"x": [1]}, resume=path),
        lambda path: Opening().is_scanned(path),
    ],
    ids=["table", "rules", "schema", "scan", "history", "violations", "save", "resume", "opening"],
)
def test_a_path_that_cannot_be_is_refused_in_words(path, use):
    """Whoever mistypes a path is told so, wherever it is given."""
    with pytest.raises(SqrlError):
        use(path)


@pytest.mark.parametrize("use", [product.load_rules, product.load_schema, product.read_table])
def test_a_device_is_no_file(tmp_path, use):
    """/dev/zero has no end, and says that it has no bytes."""
    link = tmp_path / "x.csv"
    link.symlink_to("/dev/zero")
    with pytest.raises(SqrlError, match="This is a device, not a file") as raised:
        use(link)

    assert str(raised.value).count("where:") == 1


def test_a_pipe_is_read_up_to_the_limit(tmp_path):
    """What a file says of its size is not believed."""
    path = tmp_path / "x.json"
    os.mkfifo(path)
    if os.fork() == 0:
        path.write_bytes(b"{}" * 50)
        os._exit(0)
    with pytest.raises(RulesFileError, match="more than 10 bytes"):
        read_file(path, most=10, error=RulesFileError, fix="")
    os.wait()


def test_a_name_that_is_not_utf_8_can_be_written_everywhere(place, sqrl):
    """Names of files are bytes."""
    bad = os.fsdecode(b"bad\xff.csv")
    (place / bad).write_text(ROWS)
    (place / "folder").mkdir()
    (place / "folder" / bad).write_text(ROWS)
    for options in (
        ("check", "rules.json", bad, "--junit", "a.xml", "--report", "a.html", "--report", "a.md"),
        ("check", "rules.json", bad, "--history", "kept", "--at", "2026-01-01"),
        ("learn", bad, "-o", "r.json"),
    ):
        assert sqrl(*options).code in {0, 1}, options
    assert "The name is not UTF-8" in sqrl("check", "rules.json", "folder/*.csv").err


@pytest.mark.parametrize(
    "options",
    [
        ("--separator", "é"),
        ("--encoding", "undefined"),
        ("--encoding", "punycode"),
        ("--encoding", "base64"),
        ("--memory", "9" * 400),
        ("--resume", "x.csv"),
        ("--resume", "x.csv/deeper"),
        ("--violations", "."),
    ],
)
@pytest.mark.usefixtures("place")
def test_options_that_cannot_be_are_bad_input(sqrl, options):
    """Exit status 70 is for faults of sqrl's own."""
    found = sqrl("check", "rules.json", "parts/*.csv", *options)

    assert found.code == 2, found.err


@pytest.mark.usefixtures("place")
def test_rows_of_nul_bytes_separate_nothing():
    """The separator is one letter of ASCII."""
    with pytest.raises(DataError, match="cannot separate fields"):
        product.read_table("x.csv", separator="\0")


def test_an_archive_with_names_that_are_no_text_is_refused(tmp_path):
    """A name that claims to be UTF-8 may not be."""
    path = tmp_path / "k.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("aé.txt", "")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(DataError, match="The archive cannot be read"):
        product.read_table(path)


def test_labels_of_nothing_but_lines_are_refused_at_once(tmp_path):
    """16 MiB of line ends pack into 16 kB."""
    path = tmp_path / "k.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "\n" * 300_000)
    with pytest.raises(LimitError, match="more than 200,000 lines"):
        product.read_table(path)


@pytest.mark.parametrize(
    "text",
    [r'label: "\U00110000"', r'label: "\UFFFFFFFF"', r'{rules: ["? <= x"], let: {Y: ["\ud800"]}}'],
)
def test_letters_that_do_not_exist_are_refused_in_a_schema(tmp_path, text):
    """Else they fail when rules are saved, after the work."""
    (tmp_path / "s.yaml").write_text(text + "\n")
    with pytest.raises(SchemaError):
        product.load_schema(tmp_path / "s.yaml")


def test_many_keys_of_a_schema_are_read_quickly(tmp_path):
    """Each was compared with all before it: 30,000 took 17 s."""
    names = ", ".join(f"A{i}: [1]" for i in range(2_000))
    (tmp_path / "s.yaml").write_text(f"let: {{{names}, A7: [1]}}\n")
    with pytest.raises(SchemaError, match="The key 'A7' stands twice"):
        product.load_schema(tmp_path / "s.yaml")


X = {"x": np.arange(100.0), "y": np.arange(100.0)}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"let": {"L": "literals(x/1000000000)"}, "rules": ["L => ? <= y <= ?"]}, "from 2 to"),
        ({"let": {"L": "literals(x/0)"}, "rules": ["L => ? <= y <= ?"]}, "from 2 to"),
        ({"let": {"L": "literals(x/2.5)"}, "rules": ["L => ? <= y <= ?"]}, "from 2 to"),
        ({"rules": [f"x in each of {MOST_CUTS + 1} => ? <= y"]}, "buckets are too many"),
        ({"rules": ["? <= y <= ? by x/10001"]}, "use fewer buckets"),
        (
            {"batches": {"train": 10**18}, "rules": ["? <= mean(x) <= ? over 4"]},
            "at most 536,870,912 are drawn",
        ),
        (
            {
                "statistics": {
                    "s0": "x",
                    **{f"s{i}": f"s{i - 1} + 1" for i in range(1, 200)},
                },
                "rules": ["? <= s199 <= ?"],
            },
            "a chain of more than 50 others",
        ),
    ],
)
def test_work_without_end_is_refused_before_it_begins(schema, said):
    """A schema of one line could ask for hours, or for all memory."""
    with pytest.raises(SqrlError, match=said):
        product.learn(X, schema)


@pytest.mark.parametrize(
    "use",
    [
        lambda: product.learn(X, {"rules": ["? <= x <= ?"]}, keep="x"),
        lambda: product.learn(X, {"rules": ["? <= x <= ?"]}, limit=0),
        lambda: product.learn(X, {"rules": ["? <= x <= ?"]}, seed=1.5),
        lambda: product.learn(X, {"rules": ["? <= x <= ?"]}, seed="x"),
        lambda: product.check(rules("mean(x) <= 1 over 4"), X, batches=-1),
        lambda: product.check(rules("mean(x) <= 1 over 4"), X, batches=10**9),
        lambda: product.check(rules("x <= 4"), X, prediction=3),
        lambda: product.check(rules("x <= 4"), {"x": [10**30]}),
        lambda: product.check(rules("x <= 4"), {"x\ud800": [1]}),
        lambda: box_statistics(as_table({"x": [1]}), over=None),
    ],
)
def test_arguments_that_cannot_be_are_refused_in_words(use):
    """They were taken, or ended in errors of numpy."""
    with pytest.raises(SqrlError):
        use()


def test_a_tensor_that_requires_a_gradient_is_refused_in_words():
    """torch says how to detach it; that it is a column's says sqrl."""
    torch = pytest.importorskip("torch")
    with pytest.raises(SqrlError, match="Column 'x' cannot be read: Can't call numpy"):
        product.as_table({"x": torch.ones(3, requires_grad=True)})


def test_masked_values_are_missing():
    """The mask of a numpy array says so."""
    masked = np.ma.array([1.0, 99.0], mask=[0, 1])

    assert product.check(rules("0 <= x <= 5"), {"x": masked}).broken.tolist() == [0]


def test_paths_are_checked_without_anything_being_there(tmp_path):
    """A file that is yet to be made has a path too."""
    assert given_path(tmp_path / "new.csv") == tmp_path / "new.csv"
    assert given_path("~") != given_path(".")


def test_an_output_in_the_way_of_passes_is_named(place):
    """Where a file is, no folder can be made."""
    with pytest.raises(OutputError, match="a file is in its way"):
        product.scan(place / "parts", resume=place / "x.csv")


def test_a_table_in_a_pipe_is_read(tmp_path):
    """As `sqrl check rules.json <(...)` would give it, with a suffix."""
    path = tmp_path / "x.csv"
    os.mkfifo(path)
    if os.fork() == 0:
        path.write_text(ROWS)
        os._exit(0)
    table = product.read_table(path)
    os.wait()

    assert table.n_rows == 100


def write_parquet(path, **changes):
    """A rules file of which some columns, or the header, are changed."""
    rules(
        "0 <= x <= 5",
        "f1(x > 1 => y = 1) <= 0.9 over 8",
        "mean(x) <= 3 over 8",
        "x > 1 => y = 1",
        "x <= 1 if y > 2 else x <= 2",
    ).save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"sqrl-rules"])
    for name, value in changes.items():
        if name == "nodes":
            header["nodes"] = value
        else:
            place, made = table.schema.get_field_index(name), table[name].to_pylist()
            is_all = not isinstance(value, dict)
            made = [value] * len(made) if is_all else [value.get(i, v) for i, v in enumerate(made)]
            kind = None if is_all and value is not None else table.schema.field(name).type
            table = table.set_column(place, name, pa.array(made, kind))
    table = table.replace_schema_metadata({"sqrl-rules": json.dumps(header)})
    pq.write_table(table, path)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": None},
        {"nodes": 3},
        {"nodes": [["x"]]},
        {"nodes": ["x <="]},
        {"lower": "text"},
        {"given": 3.5},
        {"kind": {0: None}},
        {"kind": {0: "logic"}},
        {"kind": {1: "sample"}},
        {"kind": {2: "class"}},
        {"subject": {0: None}},
        {"subject": {0: 999}},
        {"head": {3: None}},
        {"statistic": {1: None}},
        {"statistic": {1: "mean"}},
        {"statistic": {2: "f1"}},
        {"statistic": {2: "nothing"}},
        {"body": {1: None}},
        {"body": {1: [None]}},
        {"given": {3: [None]}},
        {"pieces": {4: [None, None]}},
        {"over": {1: 0}},
        {"over": {1: -1}},
        {"over": {1: None}},
        {"over": {2: None}},
        {"over": {2: 0}},
        {"lower": {0: float("nan")}},
        {"upper": {1: float("inf")}},
        {"coverage": {0: 5.0}},
        {"coverage": {0: float("nan")}},
        {"support": {0: -1}},
        {"jaccard": {0: -0.5}},
        {"evidence": {0: [1.0]}},
        {"evidence": {1: [1.0]}},
        {"evidence": {2: [1.0, float("nan"), 0.0]}},
        {"tail": {0: [1] * 50}},
    ],
    ids=str,
)
def test_a_damaged_parquet_file_of_rules_is_refused_when_it_is_loaded(tmp_path, changes):
    """Later, every part of the product trusts rules."""
    write_parquet(tmp_path / "r.parquet", **changes)
    with pytest.raises(SqrlError) as refused:
        product.load_rules(tmp_path / "r.parquet")

    assert "r.parquet" in str(refused.value)


def test_a_whole_parquet_file_of_rules_is_loaded(tmp_path):
    """What the damaged ones were made of is right."""
    write_parquet(tmp_path / "r.parquet")

    assert len(product.load_rules(tmp_path / "r.parquet")) == 5


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("0 <= x <= 5", {"support": 10**20}),
        ("0 <= x <= 5", {"rows": 10**20}),
        ("0 <= x <= 5", {"coverage": 5}),
        ("0 <= x <= 5", {"coverage": -1}),
        ("x > 1 => y = 1", {"evidence": [1.0]}),
        ("x > 1 => y = 1", {"evidence": [-1, -5]}),
        ("x > 1 => y = 1", {"evidence": [1, 5]}),
        ("mean(x) <= 3 over 8", {"evidence": [1.0]}),
        ("f1(x > 1 => y = 1) <= 0.9 over 8", {"evidence": [1.0]}),
        ("f1(x > 1 => y = 1) <= 0.9 over 8", {"evidence": [1.0, 2.0, 3.0, 4.0]}),
        ("0 <= x <= 5", {"tail": [-3]}),
    ],
)
def test_impossible_numbers_in_a_rules_file_are_refused(tmp_path, text, changes):
    """An edit by hand that cannot be true is answered when the file is read."""
    rules(text, coverage=[0.98], support=[100]).save(tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    content["rules"][0] |= changes
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(RulesFileError):
        product.load_rules(tmp_path / "r.json")


def test_full_coverage_by_few_rows_can_be_checked(tmp_path):
    """It was a division by zero."""
    rules("0 <= x <= 5", coverage=[1.0], support=[10]).save(tmp_path / "r.json")
    found = product.check(product.load_rules(tmp_path / "r.json"), X)

    assert found.broken.tolist() == [94]


def test_a_deep_nest_in_a_rules_file_is_refused(tmp_path):
    """An unknown key may hold anything, but not without end."""
    rules().save(tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text()
    (tmp_path / "r.json").write_text(
        text.replace('"rules": [', '"more": ' + "[" * 100_000 + "]" * 100_000 + ',"rules": [', 1)
    )
    with pytest.raises(RulesFileError, match="nested too deeply"):
        product.load_rules(tmp_path / "r.json")


def test_a_data_frame_that_arrow_cannot_hold_is_refused():
    """pandas holds integers of any size."""
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="cannot be made a table"):
        product.check(rules("x <= 4"), pd.DataFrame({"x": [10**30]}))


def test_half_of_a_surrogate_pair_in_a_title_is_spelt_out(tmp_path):
    """A report is written after the work, and must not fail then."""
    found = product.check(rules("x <= 4"), {"x": [1.0] * 50})
    for name in ("r.md", "r.html"):
        product.write_report(found, tmp_path / name, title="a\ud800", explanation="b\udfff")

        assert "\\ud800" in (tmp_path / name).read_text()


def test_candidates_without_bounds_are_not_saved_as_rules(tmp_path):
    """JSON could not be loaded again; Parquet keeps every candidate."""
    schema = {"let": {"Y": "values(k)"}, "rules": ["k = Y => ? <= x <= ?"]}
    found = product.learn({"x": [1.0, 2.0] * 3, "k": ["a", "b"] * 3}, schema, keep="all")
    found.save(tmp_path / "r.parquet")

    assert product.load_rules(tmp_path / "r.parquet").texts() == found.texts()
    with pytest.raises(OutputError, match="2 of the candidates have no bounds"):
        found.save(tmp_path / "r.json")
