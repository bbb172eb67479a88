"""Rules and plans as text that fits a terminal."""

import textwrap
from collections.abc import Iterable

from sqrl._forms import read_form, sentence_of
from sqrl._language import parse, to_text
from sqrl._language.tree import Node, Number, rewrite
from sqrl._plan import Plan
from sqrl._rules import Rule, RuleSet

DIGITS = 4
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
    >>> short_text("age > 19834 => y = 1")
    'age > 19834 => y = 1'
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, Number) and node.value != int(node.value):
            return Number(float(f"{node.value:.{digits}g}"))
        return None

    return to_text(rewrite(sentence_of(read_form(parse(text))), change))


def rule_lines(rules: Iterable[Rule], *, width: int = 80) -> list[str]:
    """Each rule as a wrapped sentence, with what is known of it below."""
    lines: list[str] = []
    for number, rule in enumerate(rules, start=1):
        mark = f"{number:>3}  "
        lines += textwrap.wrap(
            short_text(rule.text),
            width,
            initial_indent=mark,
            subsequent_indent=" " * (len(mark) + 2),
            break_on_hyphens=False,
        )
        facts = _facts(rule)
        if facts:
            lines.append(" " * len(mark) + facts)
    return lines


def _facts(rule: Rule) -> str:
    over = rule.form.over
    parts = []
    if rule.support is not None:
        parts.append(f"{rule.support:,} {'mini-batches' if over else 'samples'}")
    if rule.rows is not None:
        parts.append(f"{rule.rows:,} rows")
    if rule.jaccard is not None:
        parts.append(f"agreement {rule.jaccard:.2f}")
    if rule.status not in {None, "selected"}:
        parts.append(f"{rule.status}: {WHY.get(rule.status or '', '')}")
    return " · ".join(parts)


def summary_lines(rules: RuleSet) -> list[str]:
    """What learning did: the rows it saw and what became of the candidates."""
    made = rules.provenance
    if made is None:
        return [f"{len(rules):,} rules"]
    held_out = made.valid_source or (
        f"{made.valid_rows:,} held out" if made.valid_rows else "none held out"
    )
    lines = [f"{made.source}: {made.train_rows:,} rows to learn from, {held_out}"]
    counts = made.counts
    lines.append(f"{counts.get('candidates', 0):>11,} candidates")
    for status, why in WHY.items():
        if counts.get(status):
            lines.append(f"{counts[status]:>11,} {status}: {why}")
    agreed = counts.get("redundant", 0) + counts.get("valid", 0) + counts.get("selected", 0)
    if counts.get("redundant"):
        lines[-1 if not counts.get("valid") else -2] += f" ({counts['redundant'] / agreed:.0%})"
    lines.append(f"{counts.get('selected', 0):>11,} rules kept")
    return lines


def plan_lines(plan: Plan, *, width: int = 80) -> list[str]:
    """How many rules a schema has, how much memory they take, and a few of them."""
    lines = [f"{plan.train_rows:,} rows to learn from, {plan.valid_rows:,} held out"]
    for template in plan.templates:
        lines += ["", f"{template.n_candidates:,} rules of the form"]
        lines += _indented(template.text, width)
        lines.append("such as")
        for example in template.examples:
            lines += _indented(short_text(example), width)
    lines += ["", f"{plan.n_candidates:,} rules in all, about {size_text(plan.nbytes)} of memory"]
    return lines


def _indented(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


def size_text(nbytes: int) -> str:
    """Bytes as people say them.

    >>> size_text(999), size_text(5 * 2**20), size_text(3 * 2**30)
    ('999 bytes', '5 MiB', '3.0 GiB')
    """
    if nbytes < 2**20:
        return f"{nbytes:,} bytes" if nbytes < 2**10 else f"{nbytes / 2**10:.0f} KiB"
    return f"{nbytes / 2**20:.0f} MiB" if nbytes < 2**30 else f"{nbytes / 2**30:.1f} GiB"
