"""sqrl schemas: the schemas that come with sqrl."""

from typing import Annotated

import typer

from sqrl._commands.printing import print_lines


def schemas(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show this one.")] = None,
) -> None:
    """List the schemas that come with sqrl, or show one."""
    from sqrl._rules.schema import shipped_schema, shipped_schemas

    if name is None:
        print_lines(shipped_schemas())
    else:
        typer.echo(shipped_schema(name).read_text(encoding="utf-8"), nl=False)
