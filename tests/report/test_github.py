"""Annotations and the job's summary: what GitHub reads, and nothing that data can forge."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

import sqrl as library
from sqrl.errors import OutputError
from sqrl.report._github import annotation, annotation_lines, append_summary, relative

KNOWN = {"coverage": [0.98, 0.98], "support": [900, 900]}
TEXTS = ["0 <= x <= 9", "0 <= y <= 9"]
FAR = {"x": [3.0, 50.0, 60.0, 70.0], "y": [1.0] * 4}
COMMAND = re.compile(r"::(error|warning|notice) file=([^:,\s]*),title=([^:,]*)::([^\r\n]*)")


def found_on(data, texts=TEXTS):
    """A check of two rules that say what chance would break."""
    return library.check(library.RuleSet.from_texts(texts, **KNOWN), data)


def test_a_finding_is_an_error_with_its_evidence_and_notes_are_notices():
    """The sentence first, then how sure it is and what to look at next."""
    found = found_on({**FAR, "y": [None] * 4})
    *lines, last = annotation_lines(found, "new.csv", fails=True)
    read = [COMMAND.fullmatch(line).groups() for line in lines]

    assert read[0][:3] == ("error", "new.csv", "missing%3A y")
    assert read[1][:3] == ("error", "new.csv", "range%3A x")
    assert unquote(read[1][3]).splitlines()[0] == found.findings()[1].text
    assert "Next: " in unquote(read[1][3]).splitlines()[1]
    assert all(level == "notice" and title == "note" for level, _, title, _ in read[2:])
    assert last == found.summary()


def test_what_does_not_fail_is_a_warning():
    """With --fail-on never a red cross would say what the exit status does not."""
    first, *_ = annotation_lines(found_on(FAR), "new.csv", fails=False)

    assert first.startswith("::warning file=new.csv,title=range%3A x::x: 3 of 4 rows")


def test_a_failure_without_a_finding_is_one_error():
    """Who fails on any broken rule is told which check it was."""
    found = library.check(library.RuleSet.from_texts(["x <= 9"]), {"x": [1.0, 12.0]})
    first, *_ = annotation_lines(found, "new.csv", fails=True)

    assert first == f"::error file=new.csv,title=rules::{found.summary()}."


@pytest.mark.parametrize("evil", ["a\n::error::b", "x\r::stop-commands::z", "100%0Aoff", "a:b,c"])
def test_nothing_in_the_data_forges_a_command(evil):
    """Ends of lines, separators and percent signs come back as they were, from one line."""
    line = annotation("notice", evil, evil, evil)
    _, path, title, message = COMMAND.fullmatch(line).groups()

    assert [unquote(part) for part in (path, title, message)] == [evil] * 3


def test_paths_are_those_of_the_repository(monkeypatch, tmp_path):
    """GitHub knows files by their place in the repository; others stay as they were given."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert relative(str(tmp_path / "data" / "new.csv")) == "data/new.csv"
    assert relative("data/new.csv") == "data/new.csv"
    assert relative("/elsewhere/new.csv") == "/elsewhere/new.csv"


def test_the_report_is_appended_to_the_summary_of_the_job(monkeypatch, tmp_path):
    """Another step's summary stays; outside of a job nothing is written."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert append_summary(found_on(FAR)) is None

    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    append_summary(found_on(FAR))

    assert path.read_text().startswith("before\n## Rules checked on dict\n")
    assert "### 1 finding" in path.read_text()


def test_a_summary_that_cannot_be_written_says_so(monkeypatch, tmp_path):
    """Word for word."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(OutputError) as raised:
        append_summary(found_on(FAR))

    assert str(raised.value) == (
        "The job's summary cannot be written: Is a directory.\n"
        f"  where: {tmp_path}\n"
        "  fix:   let GITHUB_STEP_SUMMARY name a file that may be written, or unset it"
    )


def test_the_command_writes_both(sqrl, monkeypatch):
    """Exit statuses are those of any format."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    library.RuleSet.from_texts(TEXTS, **KNOWN).save("rules.json")
    Path("new.csv").write_text("x,y\n3,1\n50,1\n60,1\n70,1\n")
    outcome = sqrl("check", "rules.json", "new.csv", "--format", "github")
    never = sqrl("check", "rules.json", "new.csv", "--format", "github", "--fail-on", "never")

    assert (outcome.code, never.code) == (1, 0)
    assert outcome.out.startswith("::error file=new.csv,title=range%3A x::x: 3 of 4 rows outside")
    assert never.out.startswith("::warning file=new.csv,")
    assert Path("summary.md").read_text().count("### 1 finding") == 2
