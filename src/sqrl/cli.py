"""The command line: one thin command for each verb. Results to stdout, all else to stderr.

Exit status 0 is clean, 1 rules broken, 2 bad input, 130 interrupted.
"""

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import click
import typer

from sqrl._version import __version__

app = typer.Typer(
    name="sqrl",
    help="Learn statistical quantile rules from data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How results are written to stdout."""

    table = "table"
    json = "json"


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"sqrl {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")] = False,
) -> None:
    """Learn statistical quantile rules from data."""


@app.command()
def learn(
    train: Annotated[Path, typer.Argument(help="CSV, Parquet, JSON Lines or Arrow file.")],
    valid: Annotated[
        Path | None, typer.Option(help="Held-out rows; else a share of TRAIN is held out.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Schema file (YAML), or the name of a shipped schema.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column to propose a schema for, where none is given.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help=".json: rules kept; .parquet: all candidates.")
    ] = Path("rules.json"),
    seed: Annotated[int, typer.Option(help="Of the split and the mini-batches.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show counts, memory and examples; learn nothing.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Refuse more candidates than this.")] = None,
    top: Annotated[int, typer.Option(help="How many rules to show.")] = 10,
    separator: Annotated[str | None, typer.Option(help="Of a CSV file; else detected.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV file; else detected.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Learn the rules of a schema from data, and keep those that agree on held-out rows."""
    import sqrl
    from sqrl._atomic import check_writable
    from sqrl._progress import Bar
    from sqrl._rules_file import check_suffix
    from sqrl._show import plan_lines, rule_lines, summary_lines

    if schema is None and label is None:
        typer.echo("No --schema and no --label: proposing rules about all columns.", err=True)
    table = sqrl.read_table(train, separator=separator, encoding=encoding)
    held_out = None
    if valid is not None:
        held_out = sqrl.read_table(valid, separator=separator, encoding=encoding)
    proposed = None
    if schema is None:
        proposed = sqrl.propose_schema(table, label=label)
        typer.echo(f"# proposed schema\n{proposed.to_yaml()}", err=True)
    chosen = proposed or schema
    if dry_run:
        made = sqrl.plan(table, chosen, valid=held_out, label=label, seed=seed)
        _print(plan_lines(made, width=_width()))
        return
    check_suffix(output)
    check_writable(output)
    keep = "all" if output.suffix == ".parquet" else "selected"
    with Bar(quiet=quiet) as bar:
        rules = sqrl.learn(
            table,
            chosen,
            valid=held_out,
            label=label,
            seed=seed,
            keep=keep,  # type: ignore[arg-type]
            limit=limit,
            track=bar,
        )
    rules.save(output)
    if proposed is not None:
        proposed.save(output.with_suffix(".schema.yaml"))
    selected = rules.filter("status = selected") if keep == "all" else rules
    _print(summary_lines(rules))
    if selected and top:
        _print(["", *rule_lines(selected.head(top), width=_width())])
        if len(selected) > top:
            _print([f"     ... and {len(selected) - top:,} more: sqrl rules {output}"])
    typer.echo(f"wrote {output}", err=True)


@app.command()
def rules(
    path: Annotated[Path, typer.Argument(metavar="RULES", help="Rules file.")],
    top: Annotated[int | None, typer.Option(help="How many rules to show; else all.")] = None,
    where: Annotated[
        str | None, typer.Option(help="Filter, such as 'support > 100 and jaccard >= 0.8'.")
    ] = None,
    search: Annotated[str | None, typer.Option(help="Only rules that contain this.")] = None,
    sort: Annotated[
        str | None, typer.Option(help="lower, upper, width, support, rows, jaccard or text.")
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    diff: Annotated[
        Path | None, typer.Option(help="What appeared, vanished or moved in this newer file.")
    ] = None,
    format: Annotated[Format, typer.Option(help="table or json.")] = Format.table,  # noqa: A002
) -> None:
    """List, filter, sort and compare rules."""
    import msgspec

    import sqrl
    from sqrl._show import rule_lines

    chosen = sqrl.load_rules(path)
    if diff is not None:
        difference = chosen.diff(sqrl.load_rules(diff))
        lines = difference.lines() if top is None else difference.lines()[:top]
        _print([difference.summary(), *lines])
        return
    if where:
        chosen = chosen.filter(where)
    if search:
        chosen = chosen.search(search)
    if sort:
        chosen = chosen.sort(sort, descending=not ascending)
    shown = chosen if top is None else chosen.head(top)
    if format == Format.json:
        typer.echo(msgspec.json.format(msgspec.json.encode(list(shown)), indent=1).decode())
        return
    _print(rule_lines(shown, width=_width()))
    _print([f"{len(shown):,} of {len(chosen):,} rules" if top else f"{len(chosen):,} rules"])


@app.command()
def schemas(
    name: Annotated[str | None, typer.Argument(help="Show this one.")] = None,
) -> None:
    """List the schemas that come with sqrl, or show one."""
    from sqrl._schema import shipped_schema, shipped_schemas

    if name is None:
        _print(list(shipped_schemas()))
    else:
        typer.echo(shipped_schema(name).read_text(encoding="utf-8"), nl=False)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Of the made-up data and of learning.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write the rules here.")
    ] = None,
) -> None:
    """Learn rules from made-up boxes around road users: a result in a few seconds, offline."""
    import sqrl
    from sqrl._demo import DEMO_SCHEMA, demo_table
    from sqrl._progress import Bar
    from sqrl._show import rule_lines, summary_lines

    table = demo_table(seed=seed)
    _print(["A schema, rules with holes (? is a bound to infer, Y A B L are enumerated):", ""])
    _print([f"  {line}" for line in DEMO_SCHEMA.to_yaml().splitlines()])
    with Bar() as bar:
        rules = sqrl.learn(table, DEMO_SCHEMA, seed=seed, track=bar)
    _print(["", "learned from made-up boxes around road users:", ""])
    _print([f"  {line}" for line in summary_lines(rules)])
    for title, formula in (
        ("The shape of each class", "kind = sample and upper < 50"),
        ("What tells the classes apart", "kind = logic"),
    ):
        _print(["", f"{title}:", *rule_lines(rules.filter(formula).head(8), width=_width())])
    if output is not None:
        rules.save(output)
        typer.echo(f"wrote {output}", err=True)


def main() -> NoReturn:
    """Run the command line; errors become messages and exit codes."""
    from sqrl.errors import SqrlError

    try:
        code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except SqrlError as error:
        if "--debug" in sys.argv:
            raise
        _fail(str(error))
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _fail("Interrupted; no result was written.", code=130)
    except BrokenPipeError:
        sys.exit(0)
    except MemoryError:
        _fail(
            "Out of memory.\n  fix:   see --dry-run for what the schema needs; use fewer literals"
        )


def _fail(message: str, *, code: int = 2) -> NoReturn:
    typer.echo(f"sqrl: {message}", err=True)
    sys.exit(code)


def _print(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)


def _width() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, 120)


if __name__ == "__main__":
    main()
