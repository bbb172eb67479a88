"""Findings as short paragraphs that fit a terminal."""

from collections.abc import Iterator

import numpy as np

from sqrl._check.findings.findings import Finding
from sqrl._check.violations import Violations
from sqrl._language.short import INDENT, wrapped
from sqrl.report._wording import counted, p_text, percent

NOTHING = "No findings: nothing that the rules watch has changed beyond chance."


def finding_lines(found: Violations, *, width: int = 80) -> Iterator[str]:
    """What has changed, each in a paragraph: the sentence, how sure it is, what to look at next."""
    findings = found.findings()
    if not findings:
        yield from wrapped(nothing_text(found), width)
        return
    yield f"{counted(len(findings), 'finding')}:"
    for number, finding in enumerate(findings, start=1):
        yield from wrapped(finding.text, width, f"{number:>3}  ", INDENT)
        yield from wrapped(evidence_text(finding), width, INDENT)


def nothing_text(found: Violations) -> str:
    """What to say where there is no finding: that is more where rules can be tested."""
    if np.isnan(found.shown_p_value).all():
        return "No findings: of these rules it is not known what chance would do."
    return NOTHING


def evidence_text(finding: Finding) -> str:
    """How sure a finding is, how many rules show it, and what to look at next."""
    if finding.p_value is None:
        return f"Next: {finding.advice}."
    rules = counted(len(finding.rules), "rule")
    return f"{p_text(finding.p_value)}, {rules}. Next: {finding.advice}."


def other_notes(found: Violations) -> list[str]:
    """The notes that no finding tells already."""
    told = [finding.text for finding in found.findings()]
    return [note for note in found.notes if not any(text.startswith(note) for text in told)]


def promise_text(found: Violations) -> str:
    """What a finding promises."""
    return (
        "If nothing had changed, rows would rarely look like this: of the findings with a p-value, "
        f"at most {percent(found.level)} are expected to be false alarms, as long as rows are "
        "independent of one another."
    )
