"""Everything that the page shows, as plain data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sqrl._check.violations import Violations
from sqrl._data.draws import shuffle_rows
from sqrl._language.forms import Form
from sqrl._language.tree import Units
from sqrl._rows.rows import Rows
from sqrl._version import __version__
from sqrl.errors import DataError
from sqrl.report._drawing import Dots, Drawing, Histogram, RightWrong, draw_rule
from sqrl.report._examples import find_boxes, find_examples
from sqrl.report._story import story, what_was_checked
from sqrl.report._text_findings import evidence_text, nothing_text, other_notes
from sqrl.report._wording import plain, plains, short_sentence

MOST_DRAWN = 2_000  # rules with a drawing and examples; the others keep their numbers
MOST_ROWS_DRAWN = 50_000  # a histogram looks no different with more
RULES_AT_ONCE = 50  # share what was computed of the rows; more would fill the memory


def contents(
    violations: Violations,
    *,
    compared: Violations | None = None,
    reference: Violations | None = None,
    explanation: str | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """The page's data: a summary, a column of values for each fact of the rules, and details."""
    behind, role = (compared, "before") if reference is None else (reference, "reference")
    order = violations.worst(None).tolist()
    drawn = sorted(order[:MOST_DRAWN])
    examples = find_examples(violations, drawn)
    return {
        "title": title or title_of(violations),
        "version": __version__,
        "checked": what_was_checked(violations),
        "findings": _findings(violations),
        "nothing": nothing_text(violations),
        "story": story(violations),
        "notes": other_notes(violations),
        "explanation": explanation,
        "level": violations.level,
        "totals": _totals(violations),
        "before": _totals(compared) if compared is not None else None,
        "behind": None if behind is None else f"{role}: {behind.source}",
        "n_drawn": len(drawn),
        "rows_drawn": min(violations.n_rows, MOST_ROWS_DRAWN),
        "order": order,
        "rules": _rule_columns(violations, compared),
        "drawings": dict(zip(drawn, draw_rules(violations, drawn, behind), strict=True)),
        "examples": examples,
        "boxes": find_boxes(violations, examples),
    }


def _findings(violations: Violations) -> list[dict[str, Any]]:
    """The findings, each with how sure it is in words."""
    return [
        {
            "text": finding.text,
            "kind": finding.kind,
            "said": evidence_text(finding),
            "rules": list(finding.rules),
        }
        for finding in violations.findings()
    ]


def title_of(violations: Violations) -> str:
    """The title of a report that was given none."""
    return f"Rules checked on {violations.source}"


def same_rules(violations: Violations, other: Violations, what: str) -> None:
    """Raise where two results are not about the same rules in the same order."""
    if violations.rules is other.rules or violations.rules.texts() == other.rules.texts():
        return
    raise DataError(
        f"The {what} result is about other rules: two results can be shown together only if they "
        "were checked with the same ones.",
        where=other.source,
        fix="check both files with one rules file",
    )


def _totals(violations: Violations) -> dict[str, Any]:
    return {
        "source": violations.source,
        "rows": violations.n_rows,
        "rules": len(violations),
        "single": len(violations) - len(violations.batch_values),
        "violations": violations.total,
        "expected": plain(float(np.nansum(violations.expected))),
        "per_sample": plain(violations.per_sample(), 3),
        "rows_broken": int(np.count_nonzero(violations.row_counts())),
        "significant": violations.n_significant,
        "broken": violations.n_broken,
    }


def _over(form: Form) -> str | None:
    """What the mini-batches of a rule are of, in words."""
    if form.over is None:
        return None
    return f"{form.over:,}{'' if isinstance(form.over, Units) else ' rows'}"


def _rule_columns(violations: Violations, compared: Violations | None) -> dict[str, Any]:
    """Each fact as a list over all rules, null where it is not known."""
    rules = violations.rules
    forms, full = rules.forms(), rules.texts()
    short = [short_sentence(form) for form in forms]
    columns: dict[str, Any] = {
        "text": short,
        "full": [None if a == b else a for a, b in zip(full, short, strict=True)],
        "kind": [form.kind for form in forms],
        "over": [_over(form) for form in forms],
        "applicable": violations.applicable.tolist(),
        "broken": violations.broken.tolist(),
        "expected": plains(violations.expected),
        "p": plains(violations.shown_p_value, 3),
        "significant": violations.significant.astype(int).tolist(),
        "effect": plains(violations.effect(), 3),
    }
    for name in ("coverage", "support", "rows", "jaccard"):
        columns[name] = plains(rules.table[name].to_pylist())
    if violations.waived:
        said = {place: one.text for place, one in violations.waived.items()}
        columns["waived"] = [said.get(place) for place in range(len(rules))]
    if violations.weighted_broken is not None:
        columns["weighted"] = plains(violations.weighted_broken, 4)
    if compared is not None:
        columns["before_applicable"] = compared.applicable.tolist()
        columns["before"] = compared.broken.tolist()
        columns["before_significant"] = compared.significant.astype(int).tolist()
    return columns


def draw_rules(
    violations: Violations, rules: Sequence[int], other: Violations | None = None
) -> list[dict[str, Any]]:
    """The drawing of each rule as plain data."""
    table, other_table = _sampled(violations), _sampled(other) if other is not None else None
    statistics = violations.rules.statistics()
    drawn = []
    for first in range(0, len(rules), RULES_AT_ONCE):
        rows = Rows(table, statistics)
        other_rows = Rows(other_table, statistics) if other_table is not None else None
        drawn += [
            _plain_drawing(draw_rule(violations, rule, rows, other=other, other_rows=other_rows))
            for rule in rules[first : first + RULES_AT_ONCE]
        ]
    return drawn


def _sampled(violations: Violations) -> Any:
    """The table, or the same rows of it every time where there are very many."""
    table = violations.table
    if table.n_rows <= MOST_ROWS_DRAWN:
        return table
    return table.take(np.sort(shuffle_rows(table.n_rows, seed=0)[:MOST_ROWS_DRAWN]))


def _plain_drawing(drawing: Drawing) -> dict[str, Any]:
    if isinstance(drawing, RightWrong):
        return {"bar": [drawing.right, drawing.wrong], "other": drawing.other}
    if isinstance(drawing, Dots):
        return {
            "dots": plains(drawing.values, 5),
            "other": None if drawing.other is None else plains(drawing.other[:60], 5),
            "lower": plain(drawing.lower),
            "upper": plain(drawing.upper),
        }
    return {"bins": [_plain_bins(bins) for bins in drawing]}


def _plain_bins(bins: Histogram) -> dict[str, Any]:
    return {
        "lower": plain(bins.lower),
        "upper": plain(bins.upper),
        "first": bins.first,
        "width": bins.width,
        "below": bins.n_below,
        "inside": bins.n_inside,
        "least": plain(bins.least),
        "most": plain(bins.most),
        "log": bool(bins.is_log),
        "counts": bins.counts.tolist(),
        "other": None if bins.other is None else bins.other.tolist(),
        "test": bins.test,
    }
