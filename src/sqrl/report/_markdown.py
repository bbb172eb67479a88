"""The report as Markdown that fits a pull request."""

import re

import numpy as np

from sqrl._check.violations import Violations
from sqrl._language.short import rounded
from sqrl.report._contents import title_of
from sqrl.report._story import story, what_was_checked
from sqrl.report._text_findings import evidence_text, nothing_text, other_notes
from sqrl.report._wording import counted, percent, short_sentence

MOST_RULES = 30
MOST_FINDINGS = 20
MOST_CHARACTERS = 240  # of a sentence
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~@:-])")


def build_markdown(
    violations: Violations,
    *,
    compared: Violations | None = None,
    explanation: str | None = None,
    title: str | None = None,
) -> str:
    """Findings, a summary, and a table of the rules broken beyond chance."""
    lines = [f"## {plain_text(title or title_of(violations))}", ""]
    lines += [plain_text(what_was_checked(violations)), ""]
    lines += _findings(violations)
    lines += [f"**{plain_text(violations.summary())}.**", ""]
    if compared is not None:
        lines += [_change(compared), ""]
    lines += _table(violations, compared)
    lines += _waived(violations)
    if notes := other_notes(violations):
        lines += [*(f"- {plain_text(note)}" for note in notes[:5]), ""]
    if explanation is not None:
        lines += [*map(plain_text, explanation.splitlines()[:10]), ""]
    lines += ["<details><summary>How to read this</summary>", ""]
    for paragraph in story(violations):
        lines += [plain_text(paragraph), ""]
    lines += ["</details>"]
    return "\n".join(lines) + "\n"


def _findings(violations: Violations) -> list[str]:
    """A line for each finding, with how sure it is and what to look at next below."""
    findings = violations.findings()
    if not findings:
        return [plain_text(nothing_text(violations)), ""]
    lines = [f"### {counted(len(findings), 'finding')}", ""]
    for number, finding in enumerate(findings[:MOST_FINDINGS], start=1):
        said = plain_text(evidence_text(finding))
        lines.append(f"{number}. **{plain_text(finding.text)}**<br>{said}")
    if len(findings) > MOST_FINDINGS:
        lines += ["", f"and {len(findings) - MOST_FINDINGS:,} more."]
    return [*lines, ""]


def _change(compared: Violations) -> str:
    return (
        f"Before ({code(compared.source)}): {counted(compared.total, 'violation')}, "
        f"{compared.per_sample():.3g} a sample; "
        f"{counted(compared.n_significant, 'rule')} broken beyond chance."
    )


def _table(violations: Violations, compared: Violations | None) -> list[str]:
    is_known = not np.isnan(violations.p_value).all()
    n = violations.n_significant if is_known else violations.n_broken
    if not n:
        return []
    names = ["broken", "of", "expected", "p", *(["before"] if compared is not None else [])]
    first = "rule broken beyond chance" if is_known else "rule broken"
    lines = [f"| {' | '.join([first, *names])} |", f"|---|{'--:|' * len(names)}"]
    for index in violations.worst(min(n, MOST_RULES)).tolist():
        cells = [
            code(_shortened(short_sentence(violations.rules.form(index)))),
            f"{violations.broken[index]:,}",
            f"{violations.applicable[index]:,}",
            _number(violations.expected[index]),
            _number(violations.p_value[index]),
        ]
        if compared is not None:
            share = compared.broken[index] / max(compared.applicable[index], 1)
            cells.append(f"{compared.broken[index]:,} ({percent(float(share))})")
        lines.append(f"| {' | '.join(cells)} |")
    if n > MOST_RULES:
        lines += ["", f"and {counted(n - MOST_RULES, 'more rule')}."]
    return [*lines, ""]


def _waived(violations: Violations) -> list[str]:
    """A line for each rule that is waived: until when, and why."""
    if not violations.waived:
        return []
    lines = [f"{counted(len(violations.waived), 'rule')} waived, and so no findings:", ""]
    for place, one in list(violations.waived.items())[:MOST_RULES]:
        sentence = code(_shortened(short_sentence(violations.rules.form(place))))
        lines.append(f"- {sentence} {plain_text(one.text)}")
    return [*lines, ""]


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 2]} …"


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.1e}" if 0 < value < 0.001 else f"{rounded(float(value), 3):,g}"


def code(text: str) -> str:
    r"""The text as code that no markup inside can leave, also within a table.

    >>> code("a | `b`")
    '`` a \\| `b` ``'
    """
    line = " ".join(text.split()).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def plain_text(text: str) -> str:
    r"""The text with every character that Markdown or HTML would act on made inert.

    >>> plain_text("<b> *x*")
    '&lt;b&gt; \\*x\\*'
    """
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", line)
