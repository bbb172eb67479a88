"""sqrl schemas: the schemas that come with sqrl."""

from typing import Annotated

import typer

from sqrl._commands.options import argument
from sqrl._commands.results import print_lines


def schemas(name: Annotated[str | None, argument("NAME", "Show this schema.")] = None) -> None:
    """List the schemas that come with sqrl, or show one."""
    from sqrl._rules.schema import shipped_schema, shipped_schemas

    if name is None:
        print_lines(shipped_schemas())
    else:
        typer.echo(shipped_schema(name).read_text(encoding="utf-8"), nl=False)
