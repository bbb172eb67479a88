"""Numbers, counts and shares as people read them, on a terminal, in a report and in a trace."""

import math
from collections.abc import Iterable

from sqrl._language import to_text
from sqrl._language.forms import Form, sentence_of
from sqrl._language.short import rounded, short_node


def plain(value: float | None, digits: int = 6) -> float | int | None:
    """The number as JSON has it: whole ones without a point, None for nan and infinities.

    >>> plain(3.0), plain(0.30000000000000004), plain(float("inf"))
    (3, 0.3, None)
    """
    if value is None or not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    return float(f"{value:.{digits}g}") if abs(value) < 1 else rounded(value, digits)


def plains(values: Iterable[float | None], digits: int = 6) -> list[float | int | None]:
    """Each number as JSON has it."""
    return [plain(None if value is None else float(value), digits) for value in values]


def short_sentence(form: Form) -> str:
    """The rule's sentence with its numbers rounded: made from its parts, 10,000 take a second."""
    return to_text(short_node(sentence_of(form)))


def counted(count: int, thing: str, things: str | None = None, *, width: int = 0) -> str:
    """A number, as wide as asked for, and what is counted.

    >>> counted(1, "rule"), counted(1200, "batch", "batches")
    ('1 rule', '1,200 batches')
    """
    return f"{count:>{width},} {thing if count == 1 else things or thing + 's'}"


def percent(share: float) -> str:
    """A share as people say it, with two digits, near 100 % with three.

    >>> percent(0.021), percent(0.5886), percent(0.00012), percent(0.998)
    ('2.1 %', '59 %', '0.012 %', '99.8 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"


def short_number(value: float) -> str:
    """A count that need not be whole.

    >>> short_number(0.123), short_number(288.4), short_number(1234567.0)
    ('0.12', '288', '1,234,567')
    """
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def p_text(p: float) -> str:
    """A p-value as people say it.

    >>> p_text(0.0312), p_text(1e-20), p_text(1.0)
    ('p = 0.031', 'p < 1e-15', 'p = 1')
    """
    return f"p = {p:.2g}" if p >= 1e-15 else "p < 1e-15"
