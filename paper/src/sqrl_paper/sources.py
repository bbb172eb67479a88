"""Digests of source code, folder by folder, that comments, docstrings and layout do not change.

Results are kept with them, so that anyone can tell later whether the code has changed since.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

PACKAGES = ("src/sqrl", "paper/src/sqrl_paper")
HEX_DIGITS = 12
HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Source = tuple[str, str]  # a path from the root of the repository, and what the file says


def read_sources(root: Path) -> Iterator[Source]:
    """The source files of the product and of the paper's tasks."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield path.relative_to(root).as_posix(), path.read_text()


def digests(sources: Iterable[Source]) -> dict[str, str]:
    """A digest for each folder of sources, and for each file at a package's door.

    >>> digests([("src/sqrl/_learn/a.py", "x = 1"), ("src/sqrl/cli.py", "y = 2")])
    {'_learn': 'f89c47c68462', 'cli': '904c8f1beffb'}
    """
    texts: dict[str, list[str]] = {}
    for path, text in sorted(sources):
        name = PurePosixPath(path).name
        texts.setdefault(folder_of(path), []).append(f"{name} {code_of(text)}")
    return {
        folder: sha256("\n".join(some).encode()).hexdigest()[:HEX_DIGITS]
        for folder, some in sorted(texts.items())
    }


def folder_of(path: str) -> str:
    """What a file is counted to: its folder below the package, or itself at the door of sqrl.

    >>> folder_of("src/sqrl/_check/findings/blame.py"), folder_of("src/sqrl/cli.py")
    ('_check/findings', 'cli')
    >>> folder_of("paper/src/sqrl_paper/cardio/task.py")
    'sqrl_paper/cardio'
    """
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[parts.index("src") + 1 :]
    parts = parts[1:] if parts[0] == "sqrl" else parts
    return "/".join(parts[:-1] or parts)


@cache
def code_of(text: str) -> str:
    """A digest of what a module says to the interpreter, without docstrings.

    >>> code_of("x = 1  # one") == code_of("x = (1)") != code_of("x = 2")
    True
    """
    said: list[str] = []
    _say(ast.parse(text), said)
    return sha256("\n".join(said).encode()).hexdigest()


def _say(node: object, said: list[str]) -> None:
    """Append a tree as words that depend neither on where things stand nor on Python's version."""
    if isinstance(node, list):
        said.append(str(len(node)))
        for one in node:
            _say(one, said)
    elif isinstance(node, ast.AST):
        said.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if name == "body" and isinstance(node, HAVE_DOCSTRINGS):
                value = node.body[ast.get_docstring(node, clean=False) is not None :]
            # newer Pythons have more fields, empty as a rule; a context follows from the place
            if value is not None and value != [] and name != "ctx":
                said.append(name)
                _say(value, said)
    else:
        said.append(repr(node))
