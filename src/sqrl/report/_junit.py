"""Violations as JUnit XML, which CI systems show beside the results of tests."""

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from sqrl._check.findings.findings import Finding
from sqrl._check.violations import Violations
from sqrl._rules.ids import about
from sqrl._rules.ruleset import RuleSet


def junit_xml(
    found: Violations, failed: NDArray[np.bool_], findings: Sequence[Finding] = ()
) -> bytes:
    """A test suite with a case for each rule, and one with a failure for each finding.

    A case is named by the rule's id and what it is about, without what was learned, so that its
    history goes on when rules are learned again; its output is the whole sentence. Rules that
    `failed` say how often they were broken; those that applied to no sample are skipped, unless all
    rows together tested them, and so are waived ones.
    """
    idle = found.idle
    counts = {
        "tests": str(len(found)),
        "failures": str(int(failed.sum())),
        "errors": "0",
        "skipped": str(int(((idle | found.is_waived) & ~failed).sum())),
        "time": "0",
    }
    in_all = {
        "tests": str(len(found) + len(findings)),
        "failures": str(int(failed.sum()) + len(findings)),
    }
    suites = ElementTree.Element("testsuites", {"name": "sqrl", **counts, **in_all})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _legal(found.source), **counts})
    names = case_names(found.rules)
    for index, (text, known) in enumerate(zip(found.rules.texts(), found.rules.ids(), strict=True)):
        named = {"id": known, "classname": "sqrl.check", "name": _legal(names[index]), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", named)
        if failed[index]:
            message = case_message(found, index)
            attributes = {"type": "violation", "message": message}
            ElementTree.SubElement(case, "failure", attributes).text = f"{_legal(text)}\n{message}"
        elif index in found.waived:
            message = _legal(found.waived[index].text)
            ElementTree.SubElement(case, "skipped", {"message": message})
        elif idle[index]:
            ElementTree.SubElement(case, "skipped", {"message": "applied to no sample"})
        ElementTree.SubElement(case, "system-out").text = _legal(text)
    if findings:
        _add_findings(suites, found, findings)
    ElementTree.indent(suites, " ")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + bytes(ElementTree.tostring(suites)) + b"\n"


def _add_findings(
    suites: ElementTree.Element, found: Violations, findings: Sequence[Finding]
) -> None:
    """A suite of its own, in which every case is a finding, and fails."""
    counts = dict.fromkeys(("tests", "failures"), str(len(findings)))
    zeros = dict.fromkeys(("errors", "skipped", "time"), "0")
    name = f"findings of {_legal(found.source)}"
    suite = ElementTree.SubElement(suites, "testsuite", {"name": name, **counts, **zeros})
    for finding in findings:
        text, columns = _legal(finding.text), _legal(", ".join(finding.columns))
        title = f"{finding.kind}: {columns}" if columns else finding.kind
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": "sqrl.findings", "name": title, "time": "0"}
        )
        failure = ElementTree.SubElement(case, "failure", {"type": finding.kind, "message": text})
        failure.text = f"{text}\nnext: {_legal(finding.advice)}"


def case_names(rules: RuleSet) -> list[str]:
    """The name of each rule's test case: its id, and what it is about.

    >>> case_names(RuleSet.from_texts(["type = Car => 0.5 <= width <= 3.3"]))
    ['35d8027d type = Car => ? <= width <= ?']
    """
    coverage = rules.table["coverage"].to_pylist()
    return [
        f"{known} {about(rules.form(index), coverage[index])}"
        for index, known in enumerate(rules.ids())
    ]


def case_message(found: Violations, index: int) -> str:
    """How often a rule was broken, and what chance would do."""
    samples = "mini-batches" if index in found.batch_values else "rows"
    parts = [f"broken by {found.broken[index]:,} of {found.applicable[index]:,} {samples}"]
    if not found.applicable[index]:
        parts = [f"tested on all {found.n_rows:,} rows together"]
    if not np.isnan(found.expected[index]):
        parts.append(f"{found.expected[index]:.3g} expected by chance")
    if not np.isnan(found.p_value[index]):
        parts.append(f"p = {found.p_value[index]:.3g}")
    return ", ".join(parts)


def _legal(text: str) -> str:
    """The text with characters that XML cannot hold spelt out."""
    return "".join(char if _is_legal(char) else repr(char)[1:-1] for char in text)


def _is_legal(char: str) -> bool:
    code = ord(char)
    if code < 0x20:
        return char in "\t\n\r"
    return not (0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code in {0xFFFE, 0xFFFF})
