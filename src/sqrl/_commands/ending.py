"""How a run ends: errors become messages on stderr and exit statuses."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

INTERRUPTED = 130


def end(error: BaseException) -> NoReturn:
    """Leave with the message and the status that an error stands for."""
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _leave_quietly()
    show = getattr(error, "show", None)
    if show is not None:  # a usage error, which typer knows how to show
        show()
        sys.exit(2)
    if "--debug" in sys.argv or isinstance(error, SystemExit):
        raise error
    code, message = _explain(error)
    typer.echo(f"sqrl: {message}", err=True)
    sys.exit(code)


def _explain(error: BaseException) -> tuple[int, str]:
    from sqrl.errors import SqrlError

    if isinstance(error, typer.Abort) and isinstance(error.__cause__, EOFError):
        error = error.__cause__  # typer takes any end of a file for Ctrl-D
    if isinstance(error, SqrlError):
        return 2, str(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "Interrupted; no result was written."
    if isinstance(error, PermissionError):
        what, fix = "Permission denied.", "ask its owner, or change its permissions"
        return 2, str(SqrlError(what, where=error.filename and str(error.filename), fix=fix))
    if isinstance(error, MemoryError):
        fix = "see --dry-run for what the schema needs; use fewer literals"
        return 2, f"Out of memory.\n  fix:   {fix}"
    fix = "this is a fault of sqrl's own; please report it with what --debug shows"
    return 70, f"{type(error).__name__}: {error}\n  fix:   {fix}"


@contextmanager
def keeping_status(status: int) -> Iterator[None]:
    """While results are written: where nobody reads on, as in `| head`, the status stays."""
    try:
        yield
    except BrokenPipeError:
        _silence()
        raise typer.Exit(status) from None


def _leave_quietly() -> NoReturn:
    """End without a word when nobody reads on, as in `sqrl rules RULES | head`."""
    _silence()
    sys.exit(0)


def _silence() -> None:
    """Write what is left to nowhere: the flush at the end would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
