"""Rules and plans as text that fits a terminal."""

from collections.abc import Iterable, Iterator

import numpy as np

from sqrl._data.arrow_arrays import to_numpy
from sqrl._kernels.arrays import distinct
from sqrl._language.short import INDENT, sentence_lines, short_text, wrapped
from sqrl._learn.plan import Plan
from sqrl._rules.crowded_batches import crowded_batches
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import Rule, RuleSet
from sqrl.report._wording import counted

WHY = {
    "empty": "no row to speak of",
    "unsupported": "too few samples for a bound",
    "unstable": "bounds do not agree on held-out rows",
    "redundant": "same rows and same claim as another rule",
    "valid": "agree, but are not among the best",
    "unproven": "held-out rows do not show that they hold often enough",
}

LOOKED_AT = 20  # rules of a template, for one about columns that no rule before is about
TOLD = 2  # reasons of rules that were left out


def rule_lines(rules: Iterable[Rule], *, width: int = 80) -> Iterator[str]:
    """Each rule as a wrapped sentence, with what is known of it below."""
    for number, rule in enumerate(rules, start=1):
        yield from sentence_lines(rule.short_text, width, mark=f"{number:>3}  ")
        facts = _facts(rule)
        if facts:
            yield f"{INDENT}{facts}"


def some_of_each(rules: RuleSet, most: int) -> list[Rule]:
    """The first rules of every template in turn, about other columns than those before if it can.

    Cost: `LOOKED_AT` sentences for each rule that is shown, however many there are.
    """
    template = to_numpy(rules.table["template"].combine_chunks(), np.int32, -1)
    left = [np.flatnonzero(template == one).tolist() for one in distinct(template)]
    shown: list[int] = []
    told: set[frozenset[str]] = set()
    while len(shown) < most and any(left):
        for mine in left:
            if mine and len(shown) < most:
                about = {place: columns_of([rules.form(place)], {}) for place in mine[:LOOKED_AT]}
                chosen = next((place for place in about if about[place] not in told), mine[0])
                mine.remove(chosen)
                told.add(about[chosen])
                shown.append(chosen)
    return [rules[place] for place in sorted(shown)]


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
    if rule.id is not None:
        parts.append(f"id {rule.id}")
    return ", ".join(parts)


def summary_lines(rules: RuleSet, *, width: int = 80) -> list[str]:
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
    stable = sum(counts.get(status, 0) for status in ("redundant", "valid", "unproven", "selected"))
    for status, why in WHY.items():
        if counts.get(status):
            share = f" ({counts[status] / stable:.0%})" if status == "redundant" else ""
            lines.append(f"{counts[status]:>11,} {status}: {why}{share}")
    kept = counts.get("selected", 0)
    lines.append(f"{counted(kept, 'rule', width=11)} kept")
    for note in crowded_batches(rules):
        lines += wrapped(note, width, f"{'':>12}", f"{'':>14}")
    for why in (made.unproven or [])[:TOLD]:
        lines += wrapped(why, width, f"{'':>12}unproven, such as ", f"{'':>14}")
    return lines


def plan_lines(plan: Plan, *, width: int = 80) -> list[str]:
    """How many rules a schema has, how much memory they take, and a few of them."""
    lines = [f"{plan.train_rows:,} rows to learn from, {plan.valid_rows:,} held out"]
    for template in plan.templates:
        lines += ["", f"{template.n_candidates:,} rules of the form"]
        lines += wrapped(template.text, width, "  ", "    ")
        lines.append("such as")
        for example in template.examples:
            lines += wrapped(short_text(example), width, "  ", "    ")
    lines += ["", f"{plan.n_candidates:,} rules in all, about {size_text(plan.nbytes)} of memory"]
    return lines


def size_text(nbytes: int) -> str:
    """Bytes as people say them.

    >>> size_text(999), size_text(5 * 2**20), size_text(3 * 2**30)
    ('999 bytes', '5 MiB', '3.0 GiB')
    """
    if nbytes < 2**20:
        return f"{nbytes:,} bytes" if nbytes < 2**10 else f"{nbytes / 2**10:.0f} KiB"
    return f"{nbytes / 2**20:.0f} MiB" if nbytes < 2**30 else f"{nbytes / 2**30:.1f} GiB"
