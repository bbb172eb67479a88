"""Rules and plans as text that fits a terminal."""

import textwrap
from collections.abc import Iterable, Iterator

import numpy as np

from sqrl._language import parse, to_text
from sqrl._language.short import short_node
from sqrl._plan import Plan
from sqrl._rules import Rule, RuleSet

DIGITS = 4
INDENT = " " * 5  # of what stands below a numbered rule
WHY = {
    "empty": "no row to speak of",
    "unsupported": "too few samples for a bound",
    "unstable": "bounds do not agree on held-out rows",
    "redundant": "same rows and same claim as a shorter rule",
    "valid": "agree, but are not among the best",
}


def short_text(text: str, *, digits: int = DIGITS) -> str:
    """The sentence with its numbers rounded for the eye; the file keeps them exact.

    >>> short_text("type = Car => 0.5804515708739127 <= aspect_ratio <= 3.3136574044501272")
    'type = Car => 0.5805 <= aspect_ratio <= 3.314'
    >>> short_text("age > 19834.25 => y = 1")
    'age > 19834 => y = 1'
    """
    return to_text(short_node(parse(text), digits))


def rule_lines(rules: Iterable[Rule], *, width: int = 80) -> Iterator[str]:
    """Each rule as a wrapped sentence, with what is known of it below."""
    for number, rule in enumerate(rules, start=1):
        yield from sentence_lines(short_text(rule.text), width, mark=f"{number:>3}  ")
        facts = _facts(rule)
        if facts:
            yield f"{INDENT}{facts}"


def some_of_each(rules: RuleSet, most: int) -> RuleSet:
    """The first rules of every template, as many of each as there is room for."""
    template = rules.table["template"].to_numpy()
    place = np.empty(len(rules), np.int64)
    for one in np.unique(template):
        mine = np.flatnonzero(template == one)
        place[mine] = np.arange(mine.size)
    return rules.take(np.sort(np.argsort(place, kind="stable")[:most]))


def sentence_lines(text: str, width: int, *, mark: str = INDENT) -> list[str]:
    """The sentence on lines of this width, each piece of a bucketed rule on lines of its own.

    >>> sentence_lines("1 <= w <= 2 if h <= 3 else 2 <= w <= 4", 80, mark="  1  ")
    ['  1  1 <= w <= 2 if h <= 3', '       else 2 <= w <= 4']
    """
    first, *others = text.split(" else ")
    lines = _wrapped(first, width, mark, " " * (len(mark) + 2))
    for other in others:
        lines += _wrapped(f"else {other}", width, " " * (len(mark) + 2), " " * (len(mark) + 4))
    return lines


def _facts(rule: Rule) -> str:
    parts = []
    if rule.support is not None:
        parts.append(f"{rule.support:,} {'mini-batches' if rule.form.over else 'samples'}")
    if rule.rows is not None:
        parts.append(f"{rule.rows:,} rows")
    if rule.jaccard is not None:
        parts.append(f"agreement {rule.jaccard:.2f}")
    if rule.status is not None and rule.status != "selected":
        parts.append(rule.status)
    return ", ".join(parts)


def summary_lines(rules: RuleSet) -> list[str]:
    """What learning did: the rows it saw and what became of the candidates."""
    made = rules.provenance
    if made is None:
        return [f"{len(rules):,} rules"]
    counts = made.counts
    held_out = f"{made.valid_rows:,} held out" if made.valid_rows else "none held out"
    if made.valid_source:
        held_out += f" ({made.valid_source})"
    lines = [f"{made.source}: {made.train_rows:,} rows to learn from, {held_out}"]
    lines.append(f"{counts.get('candidates', 0):>11,} candidates")
    for status, why in WHY.items():
        if counts.get(status):
            share = _redundant_share(counts) if status == "redundant" else ""
            lines.append(f"{counts[status]:>11,} {status}: {why}{share}")
    kept = counts.get("selected", 0)
    lines.append(f"{kept:>11,} {'rule' if kept == 1 else 'rules'} kept")
    return lines


def _redundant_share(counts: dict[str, int]) -> str:
    stable = sum(counts.get(status, 0) for status in ("redundant", "valid", "selected"))
    return f" ({counts['redundant'] / stable:.0%})"


def plan_lines(plan: Plan, *, width: int = 80) -> list[str]:
    """How many rules a schema has, how much memory they take, and a few of them."""
    lines = [f"{plan.train_rows:,} rows to learn from, {plan.valid_rows:,} held out"]
    for template in plan.templates:
        lines += ["", f"{template.n_candidates:,} rules of the form"]
        lines += _wrapped(template.text, width, "  ", "    ")
        lines.append("such as")
        for example in template.examples:
            lines += _wrapped(short_text(example), width, "  ", "    ")
    lines += ["", f"{plan.n_candidates:,} rules in all, about {size_text(plan.nbytes)} of memory"]
    return lines


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def size_text(nbytes: int) -> str:
    """Bytes as people say them.

    >>> size_text(999), size_text(5 * 2**20), size_text(3 * 2**30)
    ('999 bytes', '5 MiB', '3.0 GiB')
    """
    if nbytes < 2**20:
        return f"{nbytes:,} bytes" if nbytes < 2**10 else f"{nbytes / 2**10:.0f} KiB"
    return f"{nbytes / 2**20:.0f} MiB" if nbytes < 2**30 else f"{nbytes / 2**30:.1f} GiB"
