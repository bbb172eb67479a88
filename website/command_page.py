"""The page of the command line, made from the commands themselves."""

import html
import inspect
import re
from typing import Any

import typer

from sqrl.cli import app

NAME = "commands.md"


def command_page() -> str:
    """Every command with its arguments, options and defaults, as Markdown."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("sqrl", [], resilient_parsing=True)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    lines = [
        "# Command line",
        "",
        f"`sqrl COMMAND`. {group.help} `sqrl COMMAND --help` shows in a terminal what stands here.",
        "",
        "Results go to stdout, everything else to stderr. The exit status is 0 if all is well, 1 if"
        " something was found, 2 for input that cannot be used, 70 for a fault of sqrl's own, and"
        " 130 after Ctrl-C.",
        "",
        "| command | |",
        "|---|---|",
    ]
    for name, command in commands.items():
        about = command.get_short_help_str(limit=200)
        lines.append(f"| [`sqrl {name}`](#sqrl-{name}) | {_cell(about)} |")
    lines += ["", "Options before the command:", *_tables(group, context)]
    for name, command in commands.items():
        lines += ["", f"## sqrl {name}", "", *_command(name, command, context)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, parent: Any) -> list[str]:
    """What `--help` says of a command."""
    context = parent.command.context_class(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    return [
        inspect.cleandoc(command.help or command.short_help or ""),
        "",
        "```text",
        f"sqrl {name} {usage}",
        "```",
        *_tables(command, context),
    ]


def _tables(command: Any, context: Any) -> list[str]:
    """A table of arguments and one of options, as `--help` words them; none that is empty."""
    lines: list[str] = []
    for kind in ("argument", "option"):
        known = [
            one
            for one in command.get_params(context)
            if one.param_type_name == kind and "--help" not in one.opts
        ]
        records = [one.get_help_record(context) for one in known]
        rows = [f"| {_code(names)} | {_cell(about)} |" for names, about in filter(None, records)]
        lines += ["", f"| {kind} | |", "|---|---|", *rows] if rows else []
    return lines


def _code(names: str) -> str:
    """Names as code, each of several by itself; a narrow screen may break a list of choices."""
    parts = (html.escape(name).replace("|", "&#124;<wbr>") for name in names.split(", "))
    return ", ".join(f"<code>{part}</code>" for part in parts)


def _cell(text: str) -> str:
    """Text for a cell of a table: nothing in it is a mark of Markdown or a tag."""
    return re.sub(r"([|*_\\[\]`])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")
