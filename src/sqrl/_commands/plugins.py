"""Commands that other packages add: found by their entry points, loaded when they are called."""

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sqrl.errors import MissingExtraError, PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUP = "sqrl.commands"
# What has a place in the help though its package may not be there, and how to get that.
PACKAGES = {"bench": "pip install sqrl-paper, or in a clone of the repository: pip install ./paper"}


class Commands(TyperGroup):
    """The commands of sqrl, then those of other packages; of two with one name sqrl's counts."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help."""
        own = super().list_commands(ctx)
        return [*own, *sorted(set(_found().names) - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = _find(cmd_name)
        return None if found is None else Plugin(cmd_name, short_help=f"From {_package(found)}.")


class Plugin(TyperCommand):
    """A command of another package, which is not loaded before it is called."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """The context of the command itself, which then takes this one's place."""
        assert self.name is not None
        return load_command(self.name).make_context(info_name, args, parent, **extra)


def load_command(name: str) -> Any:
    """The command that a package adds under this name, ready to be called."""
    found = _find(name)
    if found is None:
        raise MissingExtraError(
            f"'sqrl {name}' is in a package of its own, which is not installed.",
            fix=PACKAGES.get(name),
        )
    try:
        function = found.load()
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name=name)(function)
        return typer.main.get_command(app)
    except Exception as error:  # of whatever kind: it is somebody else's module
        raise PluginError(
            f"'sqrl {name}' cannot be loaded: {type(error).__name__}: {error}",
            where=f"{_package(found)}, {found.value}",
            fix=f"install the package again, or without it: pip uninstall {_package(found)}",
        ) from error


def _found() -> "EntryPoints":
    from importlib.metadata import entry_points  # which takes as long to import as typer

    return entry_points(group=GROUP)


def _find(name: str) -> "EntryPoint | None":
    return next(iter(_found().select(name=name)), None)


def _package(found: "EntryPoint") -> str:
    """The name of the package that an entry point is of."""
    return found.dist.name if found.dist is not None else found.module.partition(".")[0]
