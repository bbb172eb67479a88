"""Values of the command line that need no pydantic are those that typer makes with it."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest
import typer

from sqrl._commands.quick_values import spare_pydantic


class Colour(Enum):
    red = "red"
    blue = "blue"


def made():
    """A command with a parameter of every kind that ours have, and what it was called with."""
    app, called = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]}), []

    @app.callback()
    def common(debug: bool = False) -> None: ...

    @app.command()
    def go(
        path: Path,
        name: str,
        count: Annotated[int, typer.Option(min=1)] = 3,
        share: float = 0.5,
        colour: Colour = Colour.red,
        out: Path | None = None,
        words: Annotated[list[str] | None, typer.Option()] = None,
        loud: bool = False,
    ) -> None:
        called.append((path, name, count, share, colour, out, words, loud))

    return typer.main.get_command(app), called


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--count", "7", "--share", "1e-3", "--colour", "blue"],
        ["--out", "x y.csv", "--words", "a", "--words", "b", "--loud"],
    ],
)
def test_values_are_those_of_typer(arguments):
    """Given or by default, of every type."""
    results = []
    for prepare in (lambda command: command, spare_pydantic):
        command, called = made()
        prepare(command)(["go", "a.json", "7", *arguments], standalone_mode=False)
        results.append(called)

    assert results[0] == results[1]
    assert [type(value) for value in results[0][0]] == [type(value) for value in results[1][0]]


@pytest.mark.parametrize("arguments", [["--count", "0"], ["--share", "x"], ["--colour", "green"]])
def test_what_is_wrong_is_said_as_typer_says_it(arguments):
    """The converter that explains is still there."""
    messages = []
    for prepare in (lambda command: command, spare_pydantic):
        command, _ = made()
        with pytest.raises(typer.BadParameter) as error:
            prepare(command)(["go", "a.json", "7", *arguments], standalone_mode=False)
        messages.append(str(error.value))

    assert messages[0] == messages[1]


def test_a_typer_that_works_otherwise_is_left_alone():
    """What is not kept in a parameter cannot be replaced."""
    command, called = made()
    for parameter in command.commands["go"].params:
        del parameter._runtime_param
        parameter.process_value = lambda _, value: value
    spare_pydantic(command)(["go", "a.json", "7"], standalone_mode=False)

    assert called[0][:2] == ("a.json", "7")
