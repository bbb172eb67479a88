"""The pages of the site: those of docs/, those made from the code, and what they link to."""

import html
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from api_pages import FOLDER, PAGES, api_index, api_page, first_lines
from command_page import NAME, command_page
from page_links import change_links, title

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "website" / "mkdocs.yml"
# Pages at the root of the repository, where GitHub and people look for them.
AT_ROOT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
_OPTION = re.compile(r"(?<!\S)--?[a-z][\w-]*")
_CODE = re.compile(r"`([^`]+ --?[a-z][^`]*)`")
_WHOLE = r'<span class="whole">\g<0></span>'
# The start page has no neighbours to list beside it.
_ALONE = "---\nhide: [navigation]\n---\n\n"


def sources() -> list[Path]:
    """Every page that is written by hand, as a path from the root."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [*(page.relative_to(ROOT) for page in pages), *map(Path, AT_ROOT)]


def place(path: Path) -> str:
    """Where a file of the repository lies on the site.

    >>> place(Path("docs/check.md")), place(Path("SECURITY.md")), place(Path("benchmarks/a.json"))
    ('check.md', 'project/security.md', 'files/benchmarks/a.json')
    """
    if str(path) in AT_ROOT:
        return AT_ROOT[str(path)]
    if path == Path("README.md"):
        return "index.md"
    if path.is_relative_to("docs"):
        inside = path.relative_to("docs")
        return (inside / "index.md" if (ROOT / path).is_dir() else inside).as_posix()
    return f"files/{path.as_posix()}"


def page_for_site(source: Path, text: str) -> tuple[str, set[Path]]:
    """A page with links as they are on the site, and the files that must come along.

    >>> page_for_site(Path("docs/a.md"), "[b](../benchmarks/results/guard.json)")
    ('[b](files/benchmarks/results/guard.json)', {PosixPath('benchmarks/results/guard.json')})
    """
    needed: set[Path] = set()

    def changed(target: str) -> str:
        name, mark, anchor = target.partition("#")
        path = Path(os.path.normpath(source.parent / name))
        if not name or not (ROOT / path).exists():  # within the page; or mkdocs will complain
            return target
        if path.suffix != ".md" and (ROOT / path).is_file():
            needed.add(path)
        here = Path(place(source)).parent
        return f"{os.path.relpath(place(path), here)}{mark}{anchor}".replace(os.sep, "/")

    text = re.sub(r"^```python\n(?=>>> )", "```pycon\n", text, flags=re.MULTILINE)
    return _whole_options(change_links(text, changed)), needed


def _whole_options(text: str) -> str:
    """The text with options in tables that no narrow screen breaks after their dashes.

    >>> _whole_options("| a | `b -c d` |")
    '| a | <code>b <span class="whole">-c</span> d</code> |'
    """

    def kept(found: re.Match[str]) -> str:
        code = html.escape(found[1], quote=False)
        return f"<code>{_OPTION.sub(_WHOLE, code)}</code>"

    lines = text.split("\n")
    return "\n".join(_CODE.sub(kept, line) if line.startswith("|") else line for line in lines)


def folder_index(folder: str, pages: Iterable[Path]) -> str:
    """A page that lists those of a folder that has no index of its own."""
    lines = [f"# {folder.capitalize()}", ""]
    return "\n".join([*lines, *(f"- [{title(p.read_text())}]({p.name})" for p in pages)]) + "\n"


def navigation(settings: dict[str, Any], folders: dict[str, list[str]]) -> list[Any]:
    """The order of pages, with a folder named in it replaced by its pages, its index first.

    >>> navigation({"nav": ["a.md", {"B": "b/"}, {"C": "c/"}]}, {"b/": ["b/index.md", "b/1.md"]})
    ['a.md', {'B': ['b/index.md', 'b/1.md']}]
    """

    def expanded(entries: list[Any]) -> list[Any]:
        out: list[Any] = []
        for entry in entries:
            name, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
            if isinstance(value, list):
                out.append({name: expanded(value)})
            elif not value.endswith("/"):
                out.append(entry)
            elif folders.get(value):  # else there are no such pages yet
                out.append({name: folders[value]})
        return out

    return expanded(settings["nav"])


def folder_pages(settings: dict[str, Any]) -> dict[str, list[str]]:
    """The pages of each folder that the order of pages names."""
    named = [value for value in nav_values(settings["nav"]) if value.endswith("/")]
    made = {f"{FOLDER}/": [f"{page.name}.md" for page in PAGES]}
    found = {}
    for folder in named:
        inside = sorted(path.name for path in (ROOT / "docs" / folder).glob("*.md"))
        names = made.get(folder) or [name for name in inside if name != "index.md"]
        found[folder] = [f"{folder}{name}" for name in ("index.md", *names)] if names else []
    return found


def nav_values(nav: list[Any]) -> list[str]:
    """The pages and folders of an order of pages, one after the other.

    >>> nav_values(["a.md", {"B": ["b.md", {"C": "c.md"}]}])
    ['a.md', 'b.md', 'c.md']
    """
    values: list[str] = []
    for entry in nav:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry
        values += nav_values(inner) if isinstance(inner, list) else [inner]
    return values


def load_settings() -> dict[str, Any]:
    """What mkdocs.yml says."""
    settings: dict[str, Any] = yaml.safe_load(SETTINGS.read_text())
    return settings


def write_pages(folder: Path) -> Path:
    """Write the site's pages and settings into an empty folder; the path of the settings."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    settings = load_settings()
    folders = folder_pages(settings)
    needed: set[Path] = set()
    for source in sources():
        text, more = page_for_site(source, (ROOT / source).read_text())
        needed |= more
        _write(pages / place(source), _ALONE + text if place(source) == "index.md" else text)
    for path in needed:
        (pages / place(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, pages / place(path))
    _write(pages / NAME, command_page())
    _write(pages / FOLDER / "index.md", api_index(first_lines()))
    for page in PAGES:
        _write(pages / FOLDER / f"{page.name}.md", api_page(page))
    for name, inside in folders.items():
        if inside and not (pages / inside[0]).exists():
            _write(pages / inside[0], folder_index(name[:-1], [pages / p for p in inside[1:]]))
    for name in settings["extra_css"] + settings["extra"]["polyfills"]:
        shutil.copyfile(SETTINGS.parent / name, pages / name)
    settings |= {"nav": navigation(settings, folders), "docs_dir": "pages"}
    _write(folder / "mkdocs.yml", yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    return folder / "mkdocs.yml"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
