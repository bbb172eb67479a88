"""sqrl learn: rules from data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqrl._commands import options
from sqrl._commands.options import argument, option
from sqrl._commands.reading import open_data
from sqrl._commands.results import check_rules_path, print_lines, tell_written, width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqrl._learn.keep import Carried
    from sqrl._learn.plan import Plan
    from sqrl._rules.ruleset import RuleSet
    from sqrl._rules.schema import Schema


def learn(  # noqa: PLR0917
    train: Annotated[
        str,
        argument(
            "TRAIN", "CSV, Parquet, JSON Lines, Arrow or boxes to learn from: file, glob or folder."
        ),
    ],
    valid: Annotated[
        str | None, option("FILE", "Held-out rows; by default a share of TRAIN is held out.")
    ] = None,
    schema: Annotated[
        str | None, option("FILE", "Schema (YAML), or the name of one that comes with sqrl.")
    ] = None,
    label: Annotated[
        str | None, option("COLUMN", "Column that rules are about, where no schema is given.")
    ] = None,
    prediction: Annotated[
        str | None,
        option("COLUMN", "Column with a model's predictions, for checks of its predictions later."),
    ] = None,
    unit: options.Unit = None,
    order: Annotated[
        list[str] | None,
        option("COLUMN", "Column that rows are sorted by, for rules about the rows before."),
    ] = None,
    entity: Annotated[
        list[str] | None,
        option("COLUMN", "Column that says what a row is of, such as a patient or a track."),
    ] = None,
    output: Annotated[
        Path,
        option(
            "FILE", "Where to write: .json the rules, .parquet all candidates.", "-o", "--output"
        ),
    ] = Path("rules.json"),
    keep: Annotated[
        Path | None, option("RULES", "Keep decisions and edited bounds of these older rules.")
    ] = None,
    seed: Annotated[int, option("N", "Random seed of the split and the mini-batches.")] = 0,
    dry_run: Annotated[
        bool, option(None, "Show counts, memory and examples, and learn nothing.", "--dry-run")
    ] = False,
    holds: Annotated[
        float | None,
        option("SHARE", "Keep only rules that held-out rows show to hold this often: 0.95."),
    ] = None,
    min_support: Annotated[
        int | None, option("N", "Leave out rules that rest on fewer rows than this.", min=1)
    ] = None,
    private: Annotated[
        str | None,
        option("epsilon=E", "Rates of the label under noise that hides any single row."),
    ] = None,
    public: Annotated[
        str | None, option("FILE", "Rows that are public, for the buckets of --private.")
    ] = None,
    limit: Annotated[int | None, option("N", "Refuse more candidates than this.", min=1)] = None,
    top: options.Top = 10,
    images: options.Images = None,
    per_image: options.PerImage = False,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    engine: options.Engine = None,
    memory: options.Memory = "1GiB",
    skip_damaged: options.SkipDamaged = False,
    resume: options.Resume = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn the rules of a schema, and keep those whose bounds agree on held-out rows.

    Without a schema one is proposed, shown, and saved next to the rules for you to edit.
    """
    import sqrl
    from sqrl._data.formats.boxes import is_box_file
    from sqrl._data.write_file import check_writable
    from sqrl._learn.prepare import propose
    from sqrl._opening import Opening
    from sqrl._progress import Bar

    if not dry_run:
        check_rules_path(output)
    if private is not None or public is not None:
        beside: dict[str, object] = {
            "--schema": schema,
            "--valid": valid,
            "--unit": unit,
            "--order": order,
        }
        beside["--holds"] = holds
        _learn_private(train, label, private, public, min_support, output, top, beside)
        return
    if not dry_run and schema is None:
        check_writable(_schema_path(output))
    older = None if keep is None else sqrl.load_rules(keep)
    opening = Opening(
        engine=engine,
        memory=options.parse_size(memory),
        skip_damaged=skip_damaged,
        resume=resume,
        separator=separator,
        encoding=encoding,
        images=images,
        per_image=per_image,
    )
    table, *others = open_data(opening, *([train] if valid is None else [train, valid]))
    held_out = others[0] if others else None
    has_unit = per_image or (schema is not None and bool(sqrl.load_schema(schema).units))
    units = options.parse_unit(unit, is_boxes=not has_unit and is_box_file(Path(train)))
    chosen: Schema | str | None = schema
    if schema is None:
        chosen = proposed = propose(
            table,
            valid=held_out,
            label=label,
            order=order,
            entity=entity,
            prediction=prediction,
            unit=units,
            seed=seed,
        )
        typer.echo(f"# proposed schema\n{proposed.to_yaml()}", err=True)
    if dry_run:
        made = sqrl.plan(
            table,
            chosen,
            valid=held_out,
            label=label,
            order=order,
            entity=entity,
            unit=units,
            seed=seed,
        )
        _show_plan(made, limit)
        return
    with Bar(quiet=quiet) as bar:
        rules = sqrl.learn(
            table,
            chosen,
            valid=held_out,
            label=label,
            order=order,
            entity=entity,
            prediction=prediction,
            unit=units,
            seed=seed,
            keep="all" if output.suffix == ".parquet" else "selected",
            holds=holds,
            min_support=min_support,
            limit=limit,
            track=bar,
        )
    carried = None if older is None else sqrl.carry_decisions(older, rules, table)
    rules = rules if carried is None else carried.rules
    rules.save(output)
    _show_learned(rules, output, top)
    if carried is not None:
        _show_carried(carried, top)
    tell_written(output)
    opening.finish()
    if schema is None:
        _save_proposal(proposed, _schema_path(output))


def _learn_private(
    train: str,
    label: str | None,
    private: str | None,
    public: str | None,
    min_support: int | None,
    output: Path,
    top: int,
    beside: "Mapping[str, object]",
) -> None:
    """Learn rates of the label under noise, and write them."""
    import sqrl
    from sqrl.errors import SchemaError

    for name, value in beside.items():
        if value not in (None, "supervise"):
            raise SchemaError(f"{name} cannot be used with --private.", fix=f"leave {name} out")
    if public is None or private is None:
        lacking = "--public" if public is None else "--private"
        raise SchemaError(
            f"Private rules need {lacking}: buckets and values must not come from private rows.",
            fix="name rows that anyone may see: --private epsilon=1 --public unlabelled.csv",
        )
    made = sqrl.Private(epsilon=_epsilon(private), public=sqrl.read_table(public))
    rules = sqrl.learn(sqrl.read_table(train), label=label, private=made, min_support=min_support)
    rules.save(output)
    _show_learned(rules, output, top)
    tell_written(output)


def _epsilon(text: str) -> float:
    """The number in epsilon=1, or the number alone.

    >>> _epsilon("epsilon=0.5"), _epsilon("2")
    (0.5, 2.0)
    """
    from sqrl.errors import SchemaError

    name, _, value = text.rpartition("=")
    try:
        if name.strip() not in {"", "epsilon"}:
            raise ValueError
        return float(value)
    except ValueError:
        raise SchemaError(
            f"'{text}' does not say how private.", where="--private", fix="write epsilon=1"
        ) from None


def _schema_path(output: Path) -> Path:
    return output.with_suffix(".schema.yaml")


def _save_proposal(schema: "Schema", path: Path) -> None:
    """Save the schema, unless another is there: it may have been edited by hand."""
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != schema.to_yaml():
        typer.echo(f"kept {path}, which differs; use it with --schema {path}", err=True)
        return
    schema.save(path)
    typer.echo(f"wrote {path}: edit it and use it with --schema", err=True)


def _show_plan(plan: "Plan", limit: int | None) -> None:
    from sqrl.report._text_rules import plan_lines

    print_lines(plan_lines(plan, width=width()))
    most = limit or plan.schema.limit
    if plan.n_candidates > most:
        typer.echo(f"more than the limit of {most:,}; raise it with --limit", err=True)


def _show_carried(carried: "Carried", top: int) -> None:
    from sqrl.report._text_review import carried_lines

    print_lines(["", *carried_lines(carried, top=top, width=width())])


def _show_learned(rules: "RuleSet", output: Path, top: int) -> None:
    from sqrl.report._text_rules import rule_lines, some_of_each, summary_lines

    kept = rules.filter("status = selected") if output.suffix == ".parquet" else rules
    print_lines(summary_lines(rules))
    if kept and top:
        print_lines(["", *rule_lines(some_of_each(kept, top), width=width())])
        if len(kept) > top:
            print_lines([f"     ... and {len(kept) - top:,} more: sqrl rules {output}"])
    if not kept:
        hint = "no rule was kept; give more rows, or lower 'coverage' in the schema"
        typer.echo(hint, err=True)
