"""sqrl check: where data or predictions break rules."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqrl._commands import options
from sqrl._commands.options import FailOn
from sqrl._commands.printing import show, width
from sqrl._commands.reading import check_file, read_reference, selected
from sqrl._commands.scanning import Scanning
from sqrl._commands.writing import check_results, tell_written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sqrl._check.violations import Violations
    from sqrl._rules.ruleset import RuleSet
    from sqrl._scan.scan import Scan


def check(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Rows to check: a file, glob or folder.")
    ],
    prediction: options.Prediction = None,
    probabilities: options.Probabilities = None,
    format: options.Formatted = options.Format.table,
    fail_on: Annotated[
        FailOn, typer.Option(help="Which broken rules make the exit status 1.")
    ] = FailOn.significant,
    report: options.Report = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to draw behind in the page, such as TRAIN."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Also write a test case for each rule.")
    ] = None,
    violations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write broken rows: .csv or .parquet; of a scan, a folder."
        ),
    ] = None,
    level: options.Level = 0.05,
    batches: options.Batches = None,
    seed: options.BatchSeed = 0,
    top: options.Top = 10,
    images: options.Images = None,
    per_image: options.PerImage = False,
    rename: options.Rename = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    engine: options.Engine = None,
    memory: options.Memory = "1GiB",
    skip_damaged: options.SkipDamaged = False,
    resume: options.Resume = None,
    quiet: options.Quiet = False,
) -> None:
    """Find where data or predictions break rules, and which rules beyond chance."""
    read: dict[str, Any] = {"separator": separator, "encoding": encoding, "images": images}
    read["rename"] = options.parse_renamed(rename)
    scanning = Scanning(engine, memory, skip_damaged, resume)
    judging: dict[str, Any] = {"prediction": prediction, "level": level}
    judging |= {"batches": batches, "seed": seed}
    judging["probabilities"] = options.parse_probabilities(probabilities)
    wanted = _Wanted(report, reference, junit, violations)
    chosen = selected(path)
    scanned = scanning.open(data, read, is_boxes=_is_boxes(data, read, per_image=per_image))
    if scanned is None:
        found = _check_in_memory(
            chosen, Path(data), wanted, quiet=quiet, read=read, per_image=per_image, **judging
        )
    else:
        found = _check_scan(chosen, scanned, wanted, quiet=quiet, **judging)
        scanning.finish()
    failed = _failed(found, fail_on)
    if junit is not None:
        from sqrl.report._junit import write_junit

        write_junit(found, failed, junit)
    from sqrl.report._text_check import violation_lines

    show(found.to_dict(), violation_lines(found, top=top, width=width()), format)
    tell_written(junit, violations, report)
    raise typer.Exit(int(bool(failed.any())))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to write beside the result."""

    report: Path | None
    reference: Path | None
    junit: Path | None
    violations: Path | None


def _is_boxes(data: str, read: dict[str, Any], *, per_image: bool) -> bool:
    from sqrl._data.formats.boxes import is_box_file

    return per_image or bool(read["rename"]) or is_box_file(Path(data).expanduser())


def _check_in_memory(
    rules: "RuleSet", data: Path, wanted: _Wanted, *, per_image: bool, **given: Any
) -> "Violations":
    """Which rules the rows break; what is wanted of them is written."""
    check_results(wanted.report, wanted.junit, wanted.violations)
    behind = read_reference(wanted.reference, rules, per_image=per_image)
    found = check_file(rules, data, per_image=per_image, **given)
    if wanted.violations is not None:
        from sqrl._check.broken_pairs_file import write_pairs

        write_pairs(found, wanted.violations)
    if wanted.report is not None:
        from sqrl.report import write_report

        write_report(found, wanted.report, reference=behind)
    return found


def _check_scan(
    rules: "RuleSet", scanned: "Scan", wanted: _Wanted, *, quiet: bool, **given: Any
) -> "Violations":
    """The same of rows that are scanned: of those there is no report."""
    import sqrl
    from sqrl._check.broken_rows_folder import check_folder
    from sqrl._progress import Bar
    from sqrl.errors import DataError

    if wanted.report is not None:
        raise DataError(
            "A report shows rows, and these are scanned, never all in memory.",
            where=scanned.name,
            fix="check some of the files, or use --engine memory",
        )
    check_results(None, wanted.junit)
    if wanted.violations is not None:
        check_folder(wanted.violations)
    with Bar(quiet=quiet) as bar:
        found = sqrl.check(rules, scanned, track=bar, **given)
        if wanted.violations is not None:
            prediction = given["prediction"]
            sqrl.write_violations(
                rules, scanned, wanted.violations, prediction=prediction, track=bar
            )
    return found


def _failed(found: "Violations", fail_on: FailOn) -> "NDArray[np.bool_]":
    """Which rules make the exit status 1."""
    if fail_on == FailOn.never:
        return found.broken < 0
    return found.significant if fail_on == FailOn.significant else found.broken > 0
