"""Findings as annotations, which GitHub shows on a pull request, and as a job's summary."""

import os
from collections.abc import Iterator
from pathlib import Path

from sqrl._check.found_rows import FoundRows
from sqrl._check.violations import Violations
from sqrl.errors import OutputError
from sqrl.report._markdown import build_markdown
from sqrl.report._text_findings import evidence_text, nothing_text, other_notes
from sqrl.report._wording import counted

SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file that a job's summary is appended to
WORKSPACE = "GITHUB_WORKSPACE"  # names the folder that paths are relative to


def annotation_lines(
    found: Violations, path: str, *, fails: bool, rows: FoundRows | None = None
) -> Iterator[str]:
    """An annotation for each finding and note, and the result in one line.

    Where the check `fails`, findings are errors, and what else made it fail is one; otherwise
    they are warnings. Notes are notices. `path` is the file that they stand at.
    """
    place = relative(path)
    level = "error" if fails else "warning"
    findings = found.findings()
    for finding in findings:
        about = ", ".join(finding.columns)
        title = f"{finding.kind}: {about}" if about else finding.kind
        yield annotation(level, place, title, f"{finding.text}\n{evidence_text(finding)}")
    if rows is not None and rows.n_significant:
        many = f"{counted(rows.n_significant, 'row')} beyond chance"
        yield annotation(level, place, "rows", f"{many}: --rows lists them.")
    elif fails and not findings:
        yield annotation(level, place, "rules", f"{found.summary()}.")
    for note in other_notes(found):
        yield annotation("notice", place, "note", note)
    yield found.summary() if findings else f"{nothing_text(found)} {found.summary()}"


def annotation(level: str, path: str, title: str, message: str) -> str:
    r"""A command to GitHub's runner, in one line that nothing in the data can leave.

    >>> annotation("error", "a,b.csv", "range: x", "100 % of rows\nare too large")
    '::error file=a%2Cb.csv,title=range%3A x::100 %25 of rows%0Aare too large'
    """
    place = f"file={_escaped(path, ':,')},title={_escaped(title, ':,')}"
    return f"::{level} {place}::{_escaped(message)}"


def relative(path: str) -> str:
    """The path as GitHub wants it: from the folder of the repository, where it lies in that."""
    base = os.environ.get(WORKSPACE)
    whole = Path(path).absolute()
    if base and whole.is_relative_to(base):
        return whole.relative_to(base).as_posix()
    return path


def append_summary(found: Violations) -> Path | None:
    """The file that the report was appended to as Markdown; None where no job wants one."""
    named = os.environ.get(SUMMARY)
    if not named:
        return None
    path = Path(named)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{build_markdown(found)}\n")
    except OSError as error:
        raise OutputError(
            f"The job's summary cannot be written: {error.strerror}.",
            where=str(path),
            fix=f"let {SUMMARY} name a file that may be written, or unset it",
        ) from None
    return path


def _escaped(text: str, more: str = "") -> str:
    r"""The text with % and the ends of lines, and `more` characters, as GitHub writes them."""
    for char in f"%\r\n{more}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text
