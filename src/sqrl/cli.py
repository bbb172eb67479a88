"""The command line: one thin command for each verb. Results to stdout, all else to stderr.

Exit status 0 is clean, 1 rules broken, 2 bad input, 70 a fault of sqrl's own, 130 interrupted,
143 terminated.
"""

import gc
import io
import sys
from types import SimpleNamespace
from typing import Annotated, NoReturn

import typer

from sqrl._commands.check import check
from sqrl._commands.compare import compare
from sqrl._commands.demo import demo
from sqrl._commands.ending import INTERRUPTED, TerminatedError, be_terminable, end, have_streams
from sqrl._commands.explain import explain
from sqrl._commands.export import export
from sqrl._commands.history import history
from sqrl._commands.learn import learn
from sqrl._commands.plugins import Commands, Plugin
from sqrl._commands.quick_values import spare_pydantic, spare_regex
from sqrl._commands.repair import repair
from sqrl._commands.review import review
from sqrl._commands.rules import rules
from sqrl._commands.schemas import schemas
from sqrl._version import __version__

app = typer.Typer(
    name="sqrl",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"sqrl {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")] = False,
) -> None:
    """Learn rules from data, and find what new rows or predictions break beyond chance."""


def bench() -> None:
    """Run one of the paper's tasks on real data; the package sqrl-paper has this command."""


# In the order of the help; those of other packages follow.
app.command(short_help="Learn rules from data.")(learn)
app.command(short_help="List, filter, sort and compare rules.")(rules)
app.command(short_help="Accept, reject or waive rules.")(review)
app.command(short_help="Find what has changed in data or predictions.")(check)
app.command(short_help="Show what checks over time say, and decide about alarms.")(history)
app.command(short_help="Compare two models or two dates on the same rules.")(compare)
app.command(short_help="Say which broken rules predict errors.")(explain)
app.command(short_help="Move predictions to the nearest that keep the rules.")(repair)
app.command(short_help="Write rules as SQL, dbt tests or a pandera schema.")(export)
app.command(short_help="Run one of the paper's tasks on real data.", cls=Plugin)(bench)
app.command()(schemas)
app.command(short_help="See what sqrl does, in a few seconds and offline.")(demo)


def main() -> NoReturn:
    """Run the command line; errors become messages and exit codes."""
    gc.set_threshold(50_000, 20, 20)  # imports make many objects and next to no garbage
    have_streams()
    be_terminable()
    sys.meta_path.insert(0, SimpleNamespace(find_spec=spare_regex))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may have letters a terminal has not
            stream.reconfigure(errors="backslashreplace")
    try:
        command = spare_pydantic(typer.main.get_command(app))
        code = command(prog_name="sqrl", standalone_mode=False)
        if code == INTERRUPTED:  # how typer returns from Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit, TerminatedError) as error:
        end(error)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
