"""Check the links of the built site: every page, picture, script and anchor that a page names.

python website/site_links.py site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag links to, loads, or may be found by."""
        known = {name: value for name, value in attrs if value is not None}
        self.anchors |= {known[name] for name in ("id", "name") if name in known}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        # a link element with another purpose than to load something (canonical, next) is a link
        if tag in _LOADED and _LOADED[tag] in known:
            self.loaded.append(known[_LOADED[tag]])


def faults(site: Path) -> list[str]:
    """Every link that leads nowhere, and everything that would be loaded from other hosts."""
    pages = {path.resolve(): _read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        for target in page.loaded:
            if urlsplit(target).netloc:
                found.append(f"{name}: loads {target} from another host")
        for target in page.links + page.loaded:
            if fault := _fault(target, path, site, pages):
                found.append(f"{name}: {target}: {fault}")
    return found


def _fault(target: str, path: Path, site: Path, pages: dict[Path, _Page]) -> str | None:
    """What is wrong with a link of a page, if anything is."""
    link = urlsplit(target)
    if link.scheme or link.netloc:
        return None
    # 404.html is served for any address, so its links begin at the root
    start = site.resolve() if link.path.startswith("/") else path.parent
    goal = (start / unquote(link.path).lstrip("/")).resolve() if link.path else path
    goal = goal / "index.html" if goal.is_dir() else goal
    if not goal.is_file():
        return "there is no such file"
    if link.fragment and goal in pages and unquote(link.fragment) not in pages[goal].anchors:
        return "there is no such anchor"
    return None


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main(site: Path) -> int:
    """Print the faults; the exit status."""
    n_pages = len(list(site.rglob("*.html")))
    found = faults(site)
    print(*found, f"{n_pages} pages, {len(found)} faulty links", sep="\n")
    return 1 if found or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
