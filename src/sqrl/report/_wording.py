"""Numbers as the report shows them: few digits, and nothing that JSON cannot say."""

import math
from collections.abc import Iterable

from sqrl._language import to_text
from sqrl._language.forms import Form, sentence_of
from sqrl._language.short import rounded, short_node


def plain(value: float, digits: int = 6) -> float | int | None:
    """The number as JSON has it: whole ones without a point, None for nan and infinities.

    >>> plain(3.0), plain(0.30000000000000004), plain(float("inf"))
    (3, 0.3, None)
    """
    if not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    return float(f"{value:.{digits}g}") if abs(value) < 1 else rounded(value, digits)


def plains(values: Iterable[float], digits: int = 6) -> list[float | int | None]:
    """Each number as JSON has it."""
    return [plain(float(value), digits) for value in values]


def short_sentence(form: Form) -> str:
    """The rule's sentence with its numbers rounded: made from its parts, 10,000 take a second."""
    return to_text(short_node(sentence_of(form)))


def count_text(count: float, thing: str, things: str | None = None) -> str:
    """A number and what is counted.

    >>> count_text(1, "rule"), count_text(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def percent(share: float) -> str:
    """A share as people write it.

    >>> percent(0.05), percent(0.123), percent(0.0004), percent(0.998)
    ('5 %', '12.3 %', '0.04 %', '99.8 %')
    """
    value = 100 * share
    return f"{rounded(value, 3 if value > 1 else 1):g} %"
