"""Violations as JUnit XML, which CI systems show beside the results of tests."""

from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from sqrl._check.violations import Violations


def junit_xml(found: Violations, failed: NDArray[np.bool_]) -> bytes:
    """A test suite with a case for each rule; those `failed` say how often they were broken.

    Rules that applied to no sample are skipped, unless all rows together tested them.
    """
    idle = found.idle
    counts = {
        "tests": str(len(found)),
        "failures": str(int(failed.sum())),
        "errors": "0",
        "skipped": str(int((idle & ~failed).sum())),
        "time": "0",
    }
    suites = ElementTree.Element("testsuites", {"name": "sqrl", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _legal(found.source), **counts})
    for index, text in enumerate(found.rules.texts()):
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": "sqrl.check", "name": _legal(text), "time": "0"}
        )
        if failed[index]:
            message = _message(found, index)
            attributes = {"type": "violation", "message": message}
            ElementTree.SubElement(case, "failure", attributes).text = f"{_legal(text)}\n{message}"
        elif idle[index]:
            ElementTree.SubElement(case, "skipped", {"message": "applied to no sample"})
    ElementTree.indent(suites, " ")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + bytes(ElementTree.tostring(suites)) + b"\n"


def _message(found: Violations, index: int) -> str:
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
