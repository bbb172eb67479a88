"""The command line: one thin command for each verb. Results to stdout, all else to stderr.

Exit status 0 is clean, 1 rules broken, 2 bad input, 70 a fault of sqrl's own, 130 interrupted.
"""

import io
import os
import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sqrl._version import __version__

if TYPE_CHECKING:
    from sqrl._data import Table
    from sqrl._plan import Plan
    from sqrl._rules import RuleSet
    from sqrl._schema import Schema
    from sqrl._violations import Violations

INTERRUPTED = 130

app = typer.Typer(
    name="sqrl",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How results are written to stdout."""

    table = "table"
    json = "json"


class FailOn(StrEnum):
    """When a check ends with status 1."""

    never = "never"
    significant = "significant"
    any = "any"


RulesArgument = Annotated[Path, typer.Argument(metavar="RULES", help="Rules file.")]
FormatOption = Annotated[Format, typer.Option(help="How to write the result.")]
LevelOption = Annotated[
    float, typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of false alarms to accept.")
]
BatchesOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Draw so many mini-batches; else disjoint ones of all rows."
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Of the mini-batches.")]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Of a CSV file; else detected.")
]
EncodingOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a CSV file; else detected.")
]
TopOption = Annotated[int, typer.Option(min=0, metavar="N", help="How many rules to show.")]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write a page: .html or .md.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


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
    """Learn statistical quantile rules from data, and check predictions against them."""


@app.command(short_help="Learn rules from data.")
def learn(  # noqa: PLR0917
    train: Annotated[
        Path, typer.Argument(metavar="TRAIN", help="CSV, Parquet, JSON Lines or Arrow file.")
    ],
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Held-out rows; else a share of TRAIN is held out."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Schema (YAML), or the name of a shipped one."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What rules are about, where no schema is given."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help=".json: rules kept; .parquet: all candidates."
        ),
    ] = Path("rules.json"),
    seed: Annotated[int, typer.Option(metavar="N", help="Of the split and the mini-batches.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show counts, memory and examples; learn nothing.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Refuse more candidates than this.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many rules to show.")] = 10,
    separator: Annotated[
        str | None, typer.Option(metavar="CHAR", help="Of a CSV file; else detected.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a CSV file; else detected.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Learn the rules of a schema, and keep those whose bounds agree on held-out rows.

    Without a schema one is proposed, shown, and saved next to the rules for you to edit.
    """
    import sqrl
    from sqrl._progress import Bar

    if not dry_run:
        _check_output(output, has_proposal=schema is None)
    table = sqrl.read_table(train, separator=separator, encoding=encoding)
    held_out = None
    if valid is not None:
        held_out = sqrl.read_table(valid, separator=separator, encoding=encoding)
    proposed = None
    if schema is None:
        proposed = sqrl.propose_schema(table, label=label, valid=held_out)
        _show_proposal(proposed)
    given: dict[str, Any] = {"valid": held_out, "label": label, "seed": seed}
    if dry_run:
        _show_plan(sqrl.plan(table, proposed or schema, **given), limit)
        return
    if output.suffix == ".parquet":
        given["keep"] = "all"
    with Bar(quiet=quiet) as bar:
        rules = sqrl.learn(table, proposed or schema, limit=limit, track=bar, **given)
    rules.save(output)
    _show_learned(rules, output, top)
    typer.echo(f"wrote {output}", err=True)
    if proposed is not None:
        _save_proposal(proposed, _schema_path(output))


@app.command(short_help="List, filter, sort and compare rules.")
def rules(
    path: Annotated[Path, typer.Argument(metavar="RULES", help="Rules file.")],
    top: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="How many rules to show; else all.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="FORMULA", help="Such as 'support > 100 and jaccard >= 0.8'."),
    ] = None,
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only rules that contain this.")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="BY", help="lower, upper, width, support, rows, jaccard or text."),
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    diff: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What appeared, vanished or moved in this newer file."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to write them.")] = Format.table,
) -> None:
    """List, filter, sort and compare rules."""
    import msgspec

    import sqrl
    from sqrl._show import rule_lines

    chosen = sqrl.load_rules(path)
    if diff is not None:
        difference = chosen.diff(sqrl.load_rules(diff))
        _print([difference.summary(), *difference.lines()[:top]])
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
    more = f"{len(shown):,} of " if len(shown) < len(chosen) else ""
    typer.echo(f"{more}{_count(len(chosen), 'rule')}", err=True)


@app.command(short_help="Find where data or predictions break rules.")
def check(  # noqa: PLR0917
    path: RulesArgument,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to check.")],
    prediction: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What a model said; stands in for the label."),
    ] = None,
    probabilities: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS=COLUMN", help="A class's predicted probability; repeatable."),
    ] = None,
    format: FormatOption = Format.table,
    fail_on: Annotated[
        FailOn, typer.Option(help="Which broken rules make the exit status 1.")
    ] = FailOn.significant,
    report: ReportOption = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to draw behind in the page, such as TRAIN."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Also write a test case for each rule.")
    ] = None,
    violations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write broken rows: .csv or .parquet."),
    ] = None,
    level: LevelOption = 0.05,
    batches: BatchesOption = None,
    seed: SeedOption = 0,
    top: TopOption = 10,
    separator: SeparatorOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Find where data or predictions break rules, and which rules beyond chance."""
    import sqrl
    from sqrl._junit import write_junit
    from sqrl._pairs_file import write_pairs
    from sqrl._show_check import violation_lines

    _check_results(report, junit, violations)
    behind = None if reference is None else sqrl.read_table(reference)
    chosen = _selected(path)
    found = _check_file(
        chosen,
        data,
        quiet=quiet,
        read={"separator": separator, "encoding": encoding},
        prediction=prediction,
        probabilities=_parse_probabilities(probabilities),
        level=level,
        batches=batches,
        seed=seed,
    )
    failed = found.significant if fail_on == FailOn.significant else found.broken > 0
    if fail_on == FailOn.never:
        failed = found.broken < 0
    if junit is not None:
        write_junit(found, failed, junit)
    if violations is not None:
        write_pairs(found, violations)
    if report is not None:
        from sqrl.report import write_report

        write_report(found, report, reference=behind)
    _show(found.to_dict(), violation_lines(found, top=top, width=_width()), format)
    _tell_written(junit, violations, report)
    raise typer.Exit(int(bool(failed.any())))


@app.command(short_help="Compare two models or two dates on the same rules.")
def compare(  # noqa: PLR0917
    path: RulesArgument,
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Rows to check.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Rows to check; may be the same.")],
    prediction: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What a model said, in BEFORE.")
    ] = None,
    prediction_after: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The same in AFTER, if named otherwise.")
    ] = None,
    format: FormatOption = Format.table,
    fail_on: Annotated[
        FailOn, typer.Option(help="Which rules broken more often make the exit status 1.")
    ] = FailOn.never,
    report: ReportOption = None,
    level: LevelOption = 0.05,
    batches: BatchesOption = None,
    seed: SeedOption = 0,
    top: TopOption = 10,
    separator: SeparatorOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Compare two models or two dates: which rules are broken more often, which less."""
    from sqrl._compare import compare as compare_results
    from sqrl._show_check import comparison_lines

    _check_results(report)
    chosen = _selected(path)
    read = {"separator": separator, "encoding": encoding}
    options: dict[str, Any] = {"level": level, "batches": batches, "seed": seed, "quiet": quiet}
    first = _check_file(chosen, before, read=read, prediction=prediction, **options)
    named = prediction if prediction_after is None else prediction_after
    second = _check_file(chosen, after, read=read, prediction=named, **options)
    found = compare_results(first, second)
    if report is not None:
        from sqrl.report import write_report

        write_report(second, report, compared=first)
    _show(found.to_dict(), comparison_lines(found, top=top, width=_width()), format)
    _tell_written(report)
    worse = found.change > 0
    failed = (worse & found.significant).any() if fail_on == FailOn.significant else worse.any()
    raise typer.Exit(int(bool(failed) and fail_on != FailOn.never))


@app.command(short_help="Say which broken rules foretell wrong predictions.")
def explain(  # noqa: PLR0917
    path: RulesArgument,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows with predictions and truth.")],
    prediction: Annotated[
        str, typer.Option(metavar="COLUMN", help="What a model said; stands in for the label.")
    ],
    truth: Annotated[str, typer.Option(metavar="COLUMN", help="What was right.")],
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How sure the model was.")
    ] = None,
    format: FormatOption = Format.table,
    report: ReportOption = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the cross-validation.")] = 0,
    separator: SeparatorOption = None,
    encoding: EncodingOption = None,
) -> None:
    """Say which broken rules foretell wrong predictions, and which right ones are doubtful."""
    from sqrl._explain import explain as explain_errors

    _check_results(report)
    table = _read_rows(data, {"separator": separator, "encoding": encoding})
    found = explain_errors(
        _selected(path), table, prediction=prediction, truth=truth, score=score, seed=seed
    )
    if report is not None:
        from sqrl.report import write_report

        write_report(found.violations, report, explanation=found)
    _show(found.to_dict(), found.lines(width=_width()), format)
    _tell_written(report)


@app.command()
def schemas(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show this one.")] = None,
) -> None:
    """List the schemas that come with sqrl, or show one."""
    from sqrl._schema import shipped_schema, shipped_schemas

    if name is None:
        _print(shipped_schemas())
    else:
        typer.echo(shipped_schema(name).read_text(encoding="utf-8"), nl=False)


@app.command(short_help="See what rules are, in a few seconds and offline.")
def demo(
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the made-up data and of learning.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write the rules here."),
    ] = None,
) -> None:
    """Learn rules from made-up boxes around road users, in a few seconds and offline."""
    import sqrl
    from sqrl._demo import DEMO_SCHEMA, demo_lines, demo_table
    from sqrl._progress import Bar

    if output is not None:
        _check_output(output, has_proposal=False)
    table = demo_table(seed=seed)
    with Bar() as bar:
        rules = sqrl.learn(table, DEMO_SCHEMA, seed=seed, track=bar)
    if output is not None:
        rules.save(output)
    _print(demo_lines(table, rules, width=_width()))
    if output is not None:
        typer.echo(f"wrote {output}", err=True)


def main() -> NoReturn:
    """Run the command line; errors become messages and exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may have letters a terminal has not
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="sqrl", standalone_mode=False)
        if code == INTERRUPTED:  # how typer returns from Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        _end(error)
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: BaseException) -> NoReturn:
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

    if isinstance(error, SqrlError):
        return 2, str(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "Interrupted; no result was written."
    if isinstance(error, MemoryError):
        fix = "see --dry-run for what the schema needs; use fewer literals"
        return 2, f"Out of memory.\n  fix:   {fix}"
    fix = "this is a fault of sqrl's own; please report it with what --debug shows"
    return 70, f"{type(error).__name__}: {error}\n  fix:   {fix}"


def _leave_quietly() -> NoReturn:
    """End without a word when nobody reads on, as in `sqrl rules RULES | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
    sys.exit(0)


def _check_output(output: Path, *, has_proposal: bool) -> None:
    from sqrl._atomic import check_writable
    from sqrl._rules_file import check_suffix

    check_suffix(output)
    check_writable(output)
    if has_proposal:
        check_writable(_schema_path(output))


def _check_results(
    report: Path | None, junit: Path | None = None, violations: Path | None = None
) -> None:
    """Raise before any work where a result could not be written."""
    from sqrl._atomic import check_writable
    from sqrl._pairs_file import check_pairs_suffix
    from sqrl.errors import OutputError

    if violations is not None:
        check_pairs_suffix(violations)
    if report is not None and report.suffix.lower() not in {".html", ".htm", ".md"}:
        raise OutputError(
            f"A report cannot be written as '{report.suffix}'.",
            where=str(report),
            fix="end the name in .html or .md",
        )
    for path in (report, junit, violations):
        if path is not None:
            check_writable(path)


def _tell_written(*paths: Path | None) -> None:
    for path in paths:
        if path is not None:
            typer.echo(f"wrote {path}", err=True)


def _selected(path: Path) -> "RuleSet":
    """The rules in a file; of all candidates those that were selected."""
    import sqrl

    rules = sqrl.load_rules(path)
    return rules.filter("status = selected") if path.suffix == ".parquet" else rules


def _read_rows(path: Path, read: dict[str, Any]) -> "Table":
    import sqrl
    from sqrl.errors import DataError

    table = sqrl.read_table(path, **read)
    if table.n_rows == 0:
        raise DataError("The table has no rows.", where=str(path), fix="give data to check")
    return table


def _check_file(
    rules: "RuleSet", data: Path, *, read: dict[str, Any], quiet: bool, **options: Any
) -> "Violations":
    import sqrl
    from sqrl._progress import Bar

    table = _read_rows(data, read)
    with Bar(quiet=quiet) as bar:
        return sqrl.check(rules, table, track=bar, **options)


def _parse_probabilities(given: list[str] | None) -> dict[str, str] | None:
    """CLASS=COLUMN pairs; a class may itself hold an equals sign, a column after it may not."""
    pairs = {}
    for pair in given or ():
        name, equals, column = pair.rpartition("=")
        if not (name and equals and column):
            raise typer.BadParameter(
                f"'{pair}' is not CLASS=COLUMN, such as yes=p_yes.", param_hint="'--probabilities'"
            )
        pairs[name] = column
    return pairs or None


def _show(result: dict[str, Any], lines: Iterable[str], format: Format) -> None:
    """Write a result to stdout as JSON or as lines."""
    import msgspec

    if format == Format.json:
        typer.echo(msgspec.json.format(msgspec.json.encode(result), indent=1).decode())
    else:
        _print(lines)


def _schema_path(output: Path) -> Path:
    return output.with_suffix(".schema.yaml")


def _show_proposal(schema: "Schema") -> None:
    typer.echo(f"# proposed schema\n{schema.to_yaml()}", err=True)


def _save_proposal(schema: "Schema", path: Path) -> None:
    """Save the schema, unless another is there: it may have been edited by hand."""
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != schema.to_yaml():
        typer.echo(f"kept {path}, which differs; use it with --schema {path}", err=True)
        return
    schema.save(path)
    typer.echo(f"wrote {path}: edit it and use it with --schema", err=True)


def _show_plan(plan: "Plan", limit: int | None) -> None:
    from sqrl._show import plan_lines

    _print(plan_lines(plan, width=_width()))
    most = limit or plan.schema.limit
    if plan.n_candidates > most:
        typer.echo(f"more than the limit of {most:,}; raise it with --limit", err=True)


def _show_learned(rules: "RuleSet", output: Path, top: int) -> None:
    from sqrl._show import rule_lines, some_of_each, summary_lines

    kept = rules.filter("status = selected") if output.suffix == ".parquet" else rules
    _print(summary_lines(rules))
    if kept and top:
        _print(["", *rule_lines(some_of_each(kept, top), width=_width())])
        if len(kept) > top:
            _print([f"     ... and {len(kept) - top:,} more: sqrl rules {output}"])
    if not kept:
        hint = "no rule was kept; give more rows, or lower 'coverage' in the schema"
        typer.echo(hint, err=True)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line if line.isprintable() else _spelt_out(line))


def _spelt_out(line: str) -> str:
    """The line with what is no letter spelt out: a column's name must not steer the terminal."""
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in line)


def _width() -> int:
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


if __name__ == "__main__":
    main()
