"""Results as a page that people open, or as Markdown for a pull request."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqrl._data.given_path import given_path, path_text
from sqrl._data.table import Table
from sqrl._data.write_file import check_writable, write_atomically
from sqrl.errors import DataError, OutputError

if TYPE_CHECKING:
    from sqrl._check.violations import Violations
    from sqrl._history.history import History

__all__ = ["write_report"]


def write_report(
    violations: "Violations | History",
    path: str | Path,
    *,
    compared: "Violations | None" = None,
    reference: "Violations | Table | None" = None,
    explanation: Any = None,
    title: str | None = None,
) -> None:
    """Write the result as one HTML page, or as Markdown, by the suffix of `path`.

    `compared` is an earlier result on the same rules, shown beside this one. `reference` holds
    rows to draw behind the checked ones, such as those the rules were learned from; without it
    those of `compared` are drawn. `explanation` is what `explain` gives, or text. Results of
    scanned rows, which are not at hand, are written as Markdown alone.

    Of a `History` the page shows every rule over time, with the alarms; only a title can be given.

    The page needs no network and runs nothing from the data.

    >>> from tempfile import TemporaryDirectory
    >>> import sqrl
    >>> rules = sqrl.RuleSet.from_texts(["0 <= x <= 9"])
    >>> with TemporaryDirectory() as folder:
    ...     write_report(sqrl.check(rules, {"x": [3.0, 12.0]}), Path(folder, "report.md"))
    ...     print(Path(folder, "report.md").read_text().splitlines()[0])
    ## Rules checked on dict
    """
    from sqrl._check.check import check
    from sqrl._check.violations import Violations
    from sqrl.report._contents import contents, same_rules
    from sqrl.report._markdown import build_markdown
    from sqrl.report._page import build_page

    path = given_path(path, OutputError)
    if not isinstance(violations, Violations):
        _write_history(violations, path, title)
        return
    results = [one for one in (violations, compared, reference) if isinstance(one, Violations)]
    check_report(path, next((one.source for one in results if not one.has_rows), None))
    if compared is not None:
        same_rules(violations, compared, "compared")
    text, title = _text_of(explanation), title and path_text(title)
    text = text and path_text(text)
    if path.suffix.lower() == ".md":
        page = build_markdown(violations, compared=compared, explanation=text, title=title)
        write_atomically(path, page.encode())
        return
    if isinstance(reference, Table):
        reference = check(violations.rules, reference)
    if reference is not None:
        same_rules(violations, reference, "reference")
    data = contents(
        violations, compared=compared, reference=reference, explanation=text, title=title
    )
    write_atomically(path, build_page(data))


def _write_history(history: "History", path: Path, title: str | None) -> None:
    from sqrl.report._history_contents import history_contents
    from sqrl.report._page import build_page

    check_history_report(path)
    title = title and path_text(title)
    write_atomically(path, build_page(history_contents(history, title=title), "history"))


def check_history_report(path: Path) -> None:
    """Raise where the page of a history could not be written under this name."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise OutputError(
            f"The page of a history cannot be written as '{path.suffix}'.",
            where=str(path),
            fix="end the name in .html",
        )
    check_writable(path)


def check_report(path: Path, scanned: str | None = None) -> None:
    """Raise where a report could not be written under this name, of data `scanned` if it is."""
    suffix = path.suffix.lower()
    if suffix not in {".html", ".htm", ".md"}:
        raise OutputError(
            f"A report cannot be written as '{path.suffix}'.",
            where=str(path),
            fix="end the name in .html or .md",
        )
    if scanned is not None and suffix != ".md":
        raise DataError(
            "A report shows rows, and these are scanned, never all in memory.",
            where=scanned,
            fix="end its name in .md, check some of the files, or use --engine memory",
        )
    check_writable(path)


def _text_of(explanation: Any) -> str | None:
    """What an explanation says: its lines, else itself as text."""
    if explanation is None:
        return None
    lines = getattr(explanation, "lines", None)
    return "\n".join(lines()) if callable(lines) else str(explanation)
