"""Violations and comparisons as text that fits a terminal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sqrl._check.probabilities import ADVICE
from sqrl._check.violations import Violations
from sqrl._language.short import INDENT, sentence_lines, wrapped
from sqrl.report._story import units_text
from sqrl.report._text_findings import finding_lines, other_notes, promise_text
from sqrl.report._wording import counted, p_text, percent, short_number

if TYPE_CHECKING:
    from sqrl._check.compare import Comparison

MOST_CLASSES = 12
FEW = 3  # rules broken as chance has it that are shown


def violation_lines(found: Violations, *, top: int = 10, width: int = 80) -> Iterator[str]:
    """What was found: findings, the rules behind them, and how to read it."""
    rows = f"{counted(found.n_rows, 'row')}{units_text(found)}"
    yield f"{found.source}: {rows}, {counted(len(found), 'rule')}"
    yield ""
    yield from finding_lines(found, width=width)
    yield ""
    yield from wrapped(_totals(found), width)
    if found.prediction is not None:
        yield from _class_lines(found)
    order = found.worst(None)
    beyond = order[found.significant[order]]
    is_other = ~found.significant & (found.broken > 0) & ~found.is_waived
    others = order[is_other[order]]
    yield from _listed("Broken beyond chance:", beyond, found, top, width)
    if not found.findings():
        few = top if np.isnan(found.shown_p_value).all() else min(top, FEW)
        yield from _listed("Broken, as chance might have it:", others, found, few, width)
    waived = sorted(found.waived, key=lambda place: (-int(found.broken[place]), place))
    yield from _listed("Waived, and so no findings:", waived, found, top, width)
    reading = list(_reading_lines(found, width))
    if reading:
        yield from ("", *reading)
    notes = other_notes(found)
    if notes and not reading:
        yield ""
    for note in notes:
        yield from wrapped(f"note: {note}", width)


def _totals(found: Violations) -> str:
    """How often rules are broken, in a line."""
    batches = "".join(
        f", {counted(count, 'mini-batch', 'mini-batches')} of {size:,}"
        for size, count in found.n_batches.items()
    )
    return (
        f"Rules{batches}: {counted(found.total, 'violation')}, {found.per_sample():.3g} a sample; "
        f"{found.n_broken:,} broken, {found.n_significant:,} beyond chance."
    )


def _class_lines(found: Violations) -> Iterator[str]:
    """How each class fares, where there are several and not too many."""
    table = found.per_class().to_pylist()
    if not 1 < len(table) <= MOST_CLASSES:
        return
    yield ""
    names = ["of no class" if row["class"] is None else short_name(row["class"]) for row in table]
    wide = max(len(name) for name in names)
    for name, row in zip(names, table, strict=True):
        share = "" if row["share"] is None else f" ({percent(row['share'])})"
        beyond = f", {row['significant']:,} beyond chance" if row["significant"] else ""
        yield (
            f"  {name:<{wide}}  {counted(row['n_rules'], 'rule')} "
            f"broken {row['violations']:,} times{share}{beyond}"
        )


def _listed(
    title: str, chosen: Iterable[int], found: Violations, top: int, width: int
) -> Iterator[str]:
    """The first rules under a title, and how many more there are."""
    places = [int(place) for place in chosen]
    if not places or not top:
        return
    yield ""
    yield title
    yield from _numbered(places, found, partial(_counts, found), top, width)


def _numbered(
    places: Sequence[int], found: Violations, say: Callable[[int], str], top: int, width: int
) -> Iterator[str]:
    """The first rules, each with what is said of it below, and how many more there are."""
    for number, place in enumerate(places[:top], start=1):
        text = found.rules[place].short_text
        yield from sentence_lines(text, width, mark=f"{number:>3}  ")
        yield from wrapped(say(place), width, INDENT)
    if top and len(places) > top:
        yield f"{INDENT}... and {len(places) - top:,} more"


def _counts(found: Violations, place: int) -> str:
    """How often one rule is broken, and how often the null hypothesis expects."""
    broken, of = int(found.broken[place]), int(found.applicable[place])
    batches = " mini-batches" if place in found.batch_values else ""
    parts = [f"broken by {broken:,} of {of:,}{batches} ({percent(broken / max(of, 1))})"]
    if not of:  # no mini-batch is full, and yet all rows together say something
        parts = [f"tested on all {found.n_rows:,} rows together"]
    if found.weighted_broken is not None and found.weighted_applicable is not None:
        softly, of_softly = found.weighted_broken[place], found.weighted_applicable[place]
        if of_softly > 0:
            share = f"({percent(softly / of_softly)})"
            weighted = f"{short_number(softly)} of {short_number(of_softly)}"
            parts.append(f"by probabilities {weighted} {share}")
    if not np.isnan(found.expected[place]):
        parts.append(f"expected {short_number(found.expected[place])}")
    waived = found.waived.get(place)
    p = found.p_value[place] if waived is None else waived.p_value
    if not np.isnan(p):
        parts.append(p_text(p))
    if waived is not None:
        parts.append(waived.text)
    return ", ".join(parts)


def _reading_lines(found: Violations, width: int) -> Iterator[str]:
    """What a finding promises, and what 'by probabilities' means, where they are said."""
    unknown = int(np.isnan(found.shown_p_value).sum())
    if any(finding.p_value is not None for finding in found.findings()):
        yield from wrapped(promise_text(found), width)
    if found.total and unknown:
        these = "the rules" if unknown == len(found) else counted(unknown, "rule")
        yield from wrapped(
            f"Of {these} it is not known what chance would do: that takes learned bounds, and for "
            "rules of classes and mini-batches held-out rows.",
            width,
        )
    if found.weighted_broken is not None:
        yield from wrapped(ADVICE, width)


def comparison_lines(found: "Comparison", *, top: int = 10, width: int = 80) -> Iterator[str]:
    """What changed from one result to another: totals, and the rules that changed most."""
    before, after = found.before, found.after
    yield f"{'':24}{'before':>12}{'after':>12}"
    yield f"{'rows':<24}{before.n_rows:>12,}{after.n_rows:>12,}"
    yield f"{'violations':<24}{before.total:>12,}{after.total:>12,}"
    yield f"{'violations a sample':<24}{before.per_sample():>12.3g}{after.per_sample():>12.3g}"
    yield f"{'rules broken':<24}{before.n_broken:>12,}{after.n_broken:>12,}"
    yield f"{'rules beyond chance':<24}{before.n_significant:>12,}{after.n_significant:>12,}"
    yield ""
    yield from wrapped(found.summary(), width)
    chosen = [int(place) for place in found.order() if found.change[place]]
    yield from _numbered(chosen, before, partial(_change, found), top, width)


def _change(found: "Comparison", place: int) -> str:
    shares = [percent(result.share()[place]) for result in (found.before, found.after)]
    counts = [
        f"{result.broken[place]:,} of {result.applicable[place]:,}"
        for result in (found.before, found.after)
    ]
    word = "more" if found.change[place] > 0 else "less"
    sure = f"surely {word}" if found.significant[place] else word
    p = "" if np.isnan(found.p_value[place]) else f", {p_text(found.p_value[place])}"
    return f"{sure}: {counts[0]} ({shares[0]}) -> {counts[1]} ({shares[1]}){p}"


def short_name(name: str, most: int = 24) -> str:
    """A class's name that leaves room for what is said of it."""
    return name if len(name) <= most else f"{name[: most - 3]}..."
