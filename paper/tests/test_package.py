"""The paper's package beside the product: it adds a command, and uses public names only."""

import ast
import re
from importlib.metadata import entry_points
from pathlib import Path

import sqrl_paper

SOURCE = Path(sqrl_paper.__file__).parent


def imported(path):
    """The names that a file imports, with their modules, those of its doctests too."""
    text = path.read_text(encoding="utf-8")
    lines = [line.strip().removeprefix(">>> ") for line in text.splitlines() if ">>> " in line]
    doctests = [line for line in lines if line.startswith(("from ", "import "))]
    for node in ast.walk(ast.parse("\n".join([text, *doctests]))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_public_names_of_sqrl_are_used():
    """What the tasks need is what anybody may use."""
    names = {(path.name, name) for path in SOURCE.rglob("*.py") for name in imported(path)}
    private = re.compile(r"sqrl\.(.*\.)?_")

    assert len(names) > 1000
    assert {(path, name) for path, name in names if private.match(name)} == set()


def test_private_names_would_be_found(tmp_path):
    """In code, in functions and in doctests."""
    path = tmp_path / "one.py"
    path.write_text('"""\n>>> from sqrl._data import table\n"""\ndef f():\n    import sqrl._rows\n')

    assert sorted(imported(path)) == ["sqrl._data.table", "sqrl._rows"]


def test_the_package_adds_a_command():
    """`sqrl bench`, by the entry point that its pyproject names."""
    (found,) = entry_points(group="sqrl.commands", name="bench")

    assert found.value == "sqrl_paper.command:bench"
    assert found.load().__name__ == "bench"
