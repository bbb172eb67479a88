"""Links and headings of Markdown pages, as GitHub reads them."""

import re
from collections.abc import Callable

# What holds no links, or the place where a link's target begins.
_PIECES = re.compile(
    r"^(?P<fence> *`{3,}).*?^(?P=fence) *$|<!--.*?-->|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<before>\]\(|<img src=\")(?P<target>[^)\s\"]+)",
    flags=re.MULTILINE | re.DOTALL,
)
_FENCES = re.compile(r"^(?P<fence> *`{3,}).*?^(?P=fence) *$", flags=re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", flags=re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:", flags=re.IGNORECASE)


def change_links(text: str, change: Callable[[str], str]) -> str:
    """The text with each link to a file of the project, or within the page, changed.

    >>> change_links("[a](b.md) `[c](d.md)` [e](https://f.org)", str.upper)
    '[a](B.MD) `[c](d.md)` [e](https://f.org)'
    """

    def changed(found: re.Match[str]) -> str:
        target = found["target"]
        if target is None or _ELSEWHERE.match(target):
            return found[0]
        return f"{found['before']}{change(target)}"

    return _PIECES.sub(changed, text)


def links(text: str) -> list[str]:
    """The links of a page to files of the project, or within the page.

    >>> links("[a](b.md#c) and ![d](e.png), [here](#f), [there](https://g.org)")
    ['b.md#c', 'e.png', '#f']
    """
    found: list[str] = []

    def keep(target: str) -> str:
        found.append(target)
        return target

    change_links(text, keep)
    return found


def title(text: str) -> str:
    """The first heading, as plain text.

    >>> title("# The `check` command")
    'The check command'
    """
    found = _HEADING.search(_FENCES.sub("", text))
    return _plain(found[1]) if found else ""


def anchors(text: str) -> set[str]:
    """What may stand after # in a link to a page: its headings as GitHub names them.

    >>> sorted(anchors("# Two words" + chr(10) + "## Once, [more](a.md)" + chr(10) + "# Two words"))
    ['once-more', 'two-words', 'two-words-1']
    """
    seen: dict[str, int] = {}
    names: set[str] = set()
    for heading in _HEADING.findall(_FENCES.sub("", text)):
        name = re.sub(r"[^\w\- ]", "", _plain(heading).lower()).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def _plain(heading: str) -> str:
    """A heading without the marks of code, emphasis and links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
