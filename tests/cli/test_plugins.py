"""Commands of other packages: found by entry points, loaded when called, harmless when broken."""

import importlib.metadata
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from sqrl._commands import plugins

COUNT = '''
from sqrl.commands import Format, Formatted, show


def count(text: str, format: Formatted = Format.table) -> None:
    """Count the letters of a text."""
    show({"letters": len(text)}, [f"{len(text)} letters"], format)
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Makes these the commands that packages add; the modules are made of their text."""

    def make(commands, **modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, name, raising=False)  # that of another test
        monkeypatch.syspath_prepend(tmp_path)
        found = EntryPoints(
            EntryPoint(name, value, plugins.GROUP) for name, value in commands.items()
        )
        monkeypatch.setattr(importlib.metadata, "entry_points", found.select)

    return make


def listed(out):
    """The lines of the help that name commands."""
    return [line.split(maxsplit=1) for line in out.split("Commands:\n")[1].splitlines()]


def test_without_its_package_bench_says_what_to_install(sqrl, install):
    """As any bad input: status 2, and what to type."""
    install({})
    for arguments in (["bench"], ["bench", "cardio", "--quick"], ["bench", "--help"]):
        done = sqrl(*arguments)

        assert done.code == 2
        assert done.out == ""
        assert done.err == (
            "sqrl: 'sqrl bench' is in a package of its own, which is not installed.\n"
            "  fix:   pip install sqrl-paper, or in a clone of the repository: "
            "pip install ./paper\n"
        )


@pytest.mark.parametrize("is_there", [True, False])
def test_the_help_has_bench_in_its_place_in_either_case(sqrl, install, is_there):
    """Its package is not looked into: it names a module that does not exist."""
    install({"bench": "not_a_module:bench"} if is_there else {})
    done = sqrl("--help")
    names = [name for name, _ in listed(done.out)]

    assert done.code == 0
    assert names[names.index("export") + 1 :] == ["bench", "schemas", "demo"]
    assert ["bench", "Run one of the paper's tasks on real data."] in listed(done.out)


def test_a_command_of_a_package_is_called_like_any_other(sqrl, install):
    """With arguments, options, help and usage errors."""
    install({"count": "counting:count"}, counting=COUNT)

    assert listed(sqrl("--help").out)[-1] == ["count", "From counting."]
    assert sqrl("count", "rule").out == "4 letters\n"
    assert sqrl("count", "rule", "--format", "json").out == '{\n "letters": 4\n}\n'
    assert "Count the letters of a text." in sqrl("count", "-h").out
    assert sqrl("count").code == 2
    assert "Usage: sqrl count" in sqrl("count").err


def test_a_broken_package_breaks_its_own_command_alone(sqrl, install):
    """What went wrong is said in a line, with the package that it is of."""
    install({"count": "counting:count"}, counting="import nowhere_to_be_found\n")
    done = sqrl("count", "rule")

    assert done.code == 2
    assert done.err == (
        "sqrl: 'sqrl count' cannot be loaded: ModuleNotFoundError: No module named"
        " 'nowhere_to_be_found'\n"
        "  where: counting, counting:count\n"
        "  fix:   install the package again, or without it: pip uninstall counting\n"
    )
    assert sqrl("--help").code == 0
    assert sqrl("schemas").code == 0


def test_what_is_no_function_cannot_be_a_command(sqrl, install):
    """A package may name anything."""
    install({"count": "counting:count"}, counting="count = 3\n")
    done = sqrl("count")

    assert done.code == 2
    assert done.err.startswith("sqrl: 'sqrl count' cannot be loaded: ")


def test_a_package_cannot_take_the_name_of_a_command_of_sqrl(sqrl, install):
    """`sqrl schemas` is what it always was, and is listed once."""
    install({"schemas": "counting:count"}, counting=COUNT)

    assert "letters" not in sqrl("schemas").out
    assert [name for name, _ in listed(sqrl("--help").out)].count("schemas") == 1
