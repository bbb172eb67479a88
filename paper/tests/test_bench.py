"""`sqrl bench`: jobs are remembered, tables fit, and errors say what to do."""

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs what sqrl-paper depends on")

from bench_jobs import Square, leave, square
from sqrl.cli import main
from sqrl.errors import SqrlError, UnknownNameError
from sqrl_paper import runs as runs_module
from sqrl_paper.bench import TASKS, load_task
from sqrl_paper.place import Place, fingerprint
from sqrl_paper.results import aim, describe_versions, show_spread, spread
from sqrl_paper.runs import Runs
from sqrl_paper.table import Sheet

SLOW = pytest.mark.skipif("not os.environ.get('SQRL_SLOW')", reason="takes long: make slow")


@pytest.fixture
def place(tmp_path):
    return Place(folder=tmp_path, cache=tmp_path / "cache", quick=True, data="data")


def squares(tmp_path, *numbers):
    return [Square(number=number, diary=str(tmp_path / "diary")) for number in numbers]


def make_runs(place, n_workers=1):
    return Runs(place, n_workers=n_workers, track=lambda *_: None)


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=SLOW)])
def test_jobs_are_done_once_and_remembered(place, tmp_path, n_workers):
    """In the order asked for, whether new or remembered, by one process or two."""
    jobs = squares(tmp_path, 3, 1, 2)
    with make_runs(place, n_workers).working() as first:
        before = first.map(square, jobs[:2], label="squares")
    with make_runs(place, n_workers).working() as second:
        after = second.map(square, jobs, label="squares")

    assert before == [
        {"square": 9, "quick": True, "1": None},
        {"square": 1} | before[0] | before[1],
    ]
    assert [one["square"] for one in after] == [9, 1, 4]
    assert (first.n_done, first.n_remembered) == (2, 0)
    assert (second.n_done, second.n_remembered) == (1, 2)
    assert sorted((tmp_path / "diary").read_text().split()) == ["1", "2", "3"]


def test_a_bench_that_fails_goes_on_where_it_was(place, tmp_path):
    """What was finished before the failure is not done again."""
    with pytest.raises(ValueError, match="a bad day"), make_runs(place).working() as runs:
        runs.map(square, squares(tmp_path, 5, -1), label="squares")
    with make_runs(place).working() as again:
        again.map(square, squares(tmp_path, 5), label="squares")

    assert (tmp_path / "diary").read_text().split() == ["5", "-1"]


@pytest.mark.parametrize("other", ["code", "data", "quick", "job", "work"])
def test_other_code_data_or_job_is_done_anew(place, tmp_path, monkeypatch, other):
    """A result is remembered by all that it follows from."""
    runs, (job,) = make_runs(place), squares(tmp_path, 2)
    kept = runs._path(square, job)
    if other == "code":
        monkeypatch.setattr(runs_module, "fingerprint_of_code", lambda: "other")
    changed = {"data": "other"} if other == "data" else {"quick": False}
    if other in {"data", "quick"}:
        values = {name: getattr(place, name) for name in ("folder", "cache", "quick", "data")}
        runs = make_runs(Place(**(values | changed)))
    work = leave if other == "work" else square
    asked = squares(tmp_path, 3)[0] if other == "job" else job

    assert runs._path(work, asked) != kept


def test_a_damaged_memory_is_done_anew(place, tmp_path):
    """Half a file, or one of something else, is not believed."""
    jobs = squares(tmp_path, 2)
    make_runs(place).map(square, jobs, label="squares")
    (path,) = (place.cache / "runs").iterdir()
    whole = path.read_bytes()
    believable = b'{"found": 0, "seconds": 1}', whole.replace(b"4", b"5", 1)
    for content in (b'{"found": {"squ', b"[]", b"{}", b"\xff", *believable):
        assert content != whole
        path.write_bytes(content)
        assert make_runs(place).map(square, jobs, label="squares")[0]["square"] == 4


def test_progress_is_told_with_what_was_remembered(place, tmp_path):
    """A bar begins where the last run ended."""
    told = []
    for numbers in ((1,), (1, 2)):
        runs = Runs(place, n_workers=1, track=lambda *one: told.append(one))
        runs.map(square, squares(tmp_path, *numbers), label="squares")

    assert told == [
        ("squares", 0, 1),
        ("squares", 1, 1),
        ("squares", 1, 2),
        ("squares", 2, 2),
    ]


def test_a_process_that_is_killed_says_what_to_do(place, tmp_path):
    """As where memory runs out; nothing hangs."""
    with pytest.raises(SqrlError) as caught, make_runs(place, 2).working() as runs:
        runs.map(leave, squares(tmp_path, 1, 2), label="squares")

    assert str(caught.value) == (
        "A process that did part of the work was stopped from outside, as is done where memory"
        " runs out.\n  fix:   run it again with --workers 1; what was finished is kept"
    )


def test_a_fingerprint_changes_with_a_file(tmp_path):
    """With its content and with its name."""
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text("x")
    other.write_text("x")
    found = {fingerprint([one]), fingerprint([other]), fingerprint([one, other])}
    one.write_text("y")

    assert len(found | {fingerprint([one])}) == 4


def test_a_sheet_fits_and_aligns():
    """Words to the left, numbers to the right, the note wrapped."""
    sheet = Sheet(
        title="T", header=("method", "AUC"), rows=[("none", "0.8"), ("a", "10.25")], note="x " * 30
    )

    assert sheet.lines(width=40) == [
        "T",
        "",
        "method    AUC",
        "none      0.8",
        "a       10.25",
        "",
        " ".join("x" * 20),
        " ".join("x" * 10),
    ]


def test_spread_and_aim_by_hand():
    """The standard deviation between seeds is that of a sample; one seed has none."""
    assert spread([1.0, 3.0])["spread"] == pytest.approx(2**0.5)
    assert spread([1.0]) == {"mean": 1.0, "spread": 0.0, "seeds": [1.0]}
    assert show_spread(None, 1) == "-"
    assert aim("x", 2.0, "%", at_least=2)["met"]
    assert not aim("x", 2.0, "%", at_most=1)["met"]
    assert describe_versions(["sqrl-no-such"])["sqrl-no-such"] == ""


def test_an_unknown_task_names_the_nearest():
    """As everywhere."""
    with pytest.raises(UnknownNameError) as caught:
        load_task("cardoi")

    assert str(caught.value) == "Unknown task 'cardoi'.\n  fix:   did you mean 'cardio'?"


def bench(*words, cwd):
    """What `sqrl bench` prints, run in this process in a folder without data."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
        patch.delenv("SQRL_DATA", raising=False)
        patch.setenv("SQRL_CACHE", str(cwd / "cache"))
        patch.setenv("COLUMNS", "80")
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["sqrl", "bench", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    return out.getvalue()


@pytest.fixture
def sqrl_without_data(sqrl, monkeypatch):
    monkeypatch.delenv("SQRL_DATA", raising=False)
    monkeypatch.setenv("SQRL_CACHE", "cache")
    return sqrl


@pytest.mark.parametrize("task", TASKS)
def test_missing_files_are_named_with_the_page_to_fetch_them_from(sqrl_without_data, task):
    """A full bench never runs on made-up data, and a folder that is named has to have the files."""
    full = sqrl_without_data("bench", task)
    quick = sqrl_without_data("bench", task, "--quick", "--data", ".")

    for done in (full, quick):
        assert done.code == 2
        assert "is not there." in done.err
        assert "https://" in done.err
    assert not Path("cache").exists()


def test_outputs_that_cannot_be_written_are_refused_before_the_work(sqrl_without_data):
    """By their ending, and by their folder."""
    for words, what in (
        (("-o", "x.csv"), "Results cannot be written as '.csv'."),
        (("--figure", "x.gif"), "A figure cannot be written as '.gif'."),
        (("-o", "no/x.json"), "no/x.json"),
    ):
        done = sqrl_without_data("bench", "cardio", "--quick", *words)

        assert done.code == 2
        assert what in done.err


# One task from the command line, and one more with `make slow`; all others have a quick run in a
# test file of their own, most of them with `make slow` too, and what is written of their results is
# tested with the pages.
@pytest.fixture(scope="module", params=["cardio", "imputation"])
def quick(request, tmp_path_factory):
    """A folder with what a quick run of a task leaves, where no data is."""
    if request.param != "cardio":
        request.getfixturevalue("_slowly")
    folder = tmp_path_factory.mktemp("bench")
    options = ("--quick", "--workers", "1", "-o", "found.json", "--figure", "figure.png")
    return request.param, folder, bench(request.param, *options, cwd=folder)


def test_a_quick_run_needs_no_data_and_says_so(quick):
    """Tables that fit 80 columns, and no figure that is not a number."""
    _, _, text = quick

    assert "MADE-UP data" in text
    assert "paper" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text.split()


def test_results_say_how_they_came_about(quick):
    """Machine, commit, versions and seeds, and no path of the machine."""
    task, folder, _ = quick
    text = (folder / "found.json").read_text()
    found = json.loads(text)

    assert found["task"] == task
    assert found["data"] == "made"
    assert found["quick"]
    assert found["seeds"] == [0]
    assert {"date", "commit", "code", "machine", "versions", "seconds"} <= set(found)
    # A quick run on made-up data needs no weights, and so not every package of the full one.
    installed = {name for name, version in found["versions"].items() if version}
    assert {"python", "sqrl-rules", "numpy", "torch"} <= installed
    assert str(folder) not in text
    assert str(Path.home()) not in text


def test_tables_and_figure_are_made_of_the_results_alone(quick, tmp_path):
    """So that pages can be written from a file, without data or models."""
    task, folder, text = quick
    module = load_task(task)
    found = json.loads((folder / "found.json").read_text())
    module.draw(found, tmp_path / "again.png")
    titles = [sheet.title for sheet in module.sheets(found)]

    assert len(titles) >= 3
    assert all(" ".join(title.split()) in " ".join(text.split()) for title in titles)
    assert (folder / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "again.png").stat().st_size > 5000
