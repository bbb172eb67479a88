"""The page: constant HTML, CSS and JavaScript around one block of data.

Nothing from the data becomes markup. It is embedded as JSON in which no character can end the
block, and the script only ever sets it as text. The page's own policy allows that one style and
that one script, by their hashes, and no connection to anywhere.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any

import msgspec

from sqrl.errors import LimitError

MOST_BYTES = 200 * 2**20
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}


def build_page(data: dict[str, Any], name: str = "page") -> bytes:
    """The whole page as UTF-8, of 200 MiB at most; `name` is that of its HTML, CSS and script.

    What all pages share stands before what is of this one.
    """
    embedded = embed_json(data)
    if len(embedded) > MOST_BYTES:
        raise LimitError(
            f"The report would take {len(embedded) / 2**20:,.0f} MiB, more than the "
            f"{MOST_BYTES / 2**20:,.0f} MiB that a browser opens with ease.",
            fix="check fewer rules, such as rules.filter('support > 100'), or write the result "
            "with --format json",
        )
    style, script = _assets("page.css", f"{name}.css"), _assets("makers.js", f"{name}.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{hash_of(style)}'; script-src '{hash_of(script)}'"
    )
    parts = {"policy": policy.encode(), "style": style, "script": script, "data": embedded}
    return fill_page(_assets(f"{name}.html"), parts)


def fill_page(page: bytes, parts: dict[str, bytes]) -> bytes:
    """The page with its parts; the data come last, so that no mark within them is looked for.

    >>> fill_page(b"<p>{{name}}</p>", {"name": b"x"})
    b'<p>x</p>'
    """
    for name, part in parts.items():
        before, after = page.split(f"{{{{{name}}}}}".encode())
        page = before + part + after
    return page


def embed_json(data: Any) -> bytes:
    r"""The data as JSON that is inert inside a script element.

    >>> embed_json({"a": "</script>&"})
    b'{"a":"\\u003c/script\\u003e\\u0026"}'
    """
    text = msgspec.json.encode(data)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _assets(*names: str) -> bytes:
    """The files of these names, one after the other, each once."""
    return b"".join(read_asset(name) for name in dict.fromkeys(names))


def read_asset(name: str, room: str = "sqrl.report") -> bytes:
    """A file that comes with a room: a page, a style or a script."""
    return files(room).joinpath(name).read_bytes()


def hash_of(content: bytes) -> str:
    """The hash by which a page's policy allows a style or a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
