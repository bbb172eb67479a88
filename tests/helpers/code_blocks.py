"""The fenced blocks of README and pages: what language they are in, and why some are not run."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# Pages of the gallery are made of scripts, which tests/test_gallery.py runs.
PAGES = sorted(
    page
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if page.parent.name != "gallery"
)
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*).*\n(?P<code>(?:.*\n)*?)(?P=indent)```", re.M
)
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
COMMANDS = ("sqrl", "python", "pytest", "pip", "make", "git", "dbt", "mkdocs")


@dataclass(frozen=True, slots=True)
class Block:
    """Code on a page, in a language; `why_not` is the reason where the page says it is not run."""

    page: Path
    line: int
    language: str
    code: str
    why_not: str | None

    @property
    def place(self) -> str:
        """The page and the line, as errors have them."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page; where no language is named it is seen from the code."""
    text, found = page.read_text(), []
    for one in FENCE.finditer(text):
        before = text[: one.start()]
        marked = NOT_RUN.search(before)
        language = one["language"] or seen_language(one["code"])
        if language == "python" and ">>> " in one["code"]:
            language = "doctest"
        line = before.count("\n") + 2
        found.append(Block(page, line, language, one["code"], marked and marked[1]))
    return found


def seen_language(code: str) -> str:
    """Shell where every line begins with a command, rules where each is one, else text.

    >>> seen_language("sqrl demo\n"), seen_language("3 <= GCS <= 15\n"), seen_language("a\n")
    ('shell', 'rules', 'text')
    """
    lines = code.strip().splitlines()
    if all(line.split()[0] in COMMANDS for line in lines if line.strip()):
        return "shell"
    return "rules" if all("<=" in line or "=>" in line for line in lines) else "text"


def commands_in(code: str) -> list[list[str]]:
    """The commands of a shell block as lists of words, without comments; `&&` ends one."""
    import shlex

    found: list[list[str]] = []
    for line in code.replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word in ("&&", "|", ";"):
                found += [words] if words else []
                words = []
            else:
                words.append(word)
    return found
