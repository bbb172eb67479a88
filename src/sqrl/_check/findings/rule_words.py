"""How one rule is broken, in words; and the words that sentences of findings share."""

import math
from collections.abc import Sequence

from sqrl._check.findings.cell_shares import cell_shares
from sqrl._check.findings.changes import before_and_after
from sqrl._check.findings.distribution_words import percent, shares_text
from sqrl._check.findings.value_words import item_name, value_words
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.sentences import phrase, readable
from sqrl._check.violations import Violations
from sqrl._language.forms import Form
from sqrl._language.tree import (
    Call,
    Compare,
    In,
    Known,
    Name,
    Node,
    Number,
    Truth,
    Word,
    conjunction,
)
from sqrl._rows.rows import category_text

MOST_NAMED = 3  # values, or columns, in a sentence


def rule_text(found: Violations, rule: int, form: Form) -> str:
    """How one rule is broken, in words."""
    where = f"where {' and '.join(map(phrase, form.given))}, " if form.given else ""
    if form.is_single:
        rows = f"in {found.broken[rule]:,} of {found.applicable[rule]:,} rows"
        expected = found.expected[rule]
        return f"{where}{_single_claim(form)} {rows}{_expected(expected)}"
    shares = cell_shares(found, rule)
    if shares is not None:
        return f"{where}{shares_text(shares)}"
    before, after = before_and_after(found, rule)
    if math.isnan(before) or math.isnan(after):
        share = f"{found.broken[rule]:,} of {found.applicable[rule]:,} mini-batches"
        return f"{found.rules[rule].short_text} is broken by {share}"
    if form.statistic == "rate":
        body = conjunction(form.body)
        assert body is not None
        return f"{where}{phrase(body)} in {percent(after)} of rows, was {percent(before)}"
    return f"{where}{_statistic_text(form)} is {was_text(after, before)}"


def _expected(count: float) -> str:
    if math.isnan(count):
        return ""
    return f" (about {readable(count, digits=2)} expected)" if count >= 0.5 else " (none expected)"


def _single_claim(form: Form) -> str:
    """What breaks a rule about single rows."""
    if form.subject is not None:
        return _outside_claim(form, form.subject)
    match form.head:
        case Compare(Name(name), "=", Number() | Word() | Truth() as value):
            return f"{name} is not {category_text(value)}"
        case In(Name(name), values):
            return f"{name} is not {listed([category_text(value) for value in values], 'or')}"
        case Known(item):
            return f"{item_name(item)} is missing"
        case head:
            assert head is not None
            return f"this is not so: {phrase(head)},"


def _outside_claim(form: Form, subject: Node) -> str:
    match subject:
        case Call("max", (Call("abs", (item,)), Number())) if len(form.pieces) == 1:
            return f"{item_name(item)} is not 0"
    if len(form.pieces) > 1:
        return f"{item_name(subject)} is outside its bounds"
    (lower,), (upper,) = interval_ends(form)
    return f"{item_name(subject)} is {outside(subject, lower, upper)}"


def _statistic_text(form: Form) -> str:
    parts: list[Node] = [*form.body] if form.subject is None else [form.subject]
    inner = " and ".join(map(phrase, parts)) if form.subject is None else item_name(parts[0])
    head = f" => {phrase(form.head)}" if form.head is not None else ""
    return f"{form.statistic}({inner}{head})"


def was_text(after: float, before: float) -> str:
    """A number after and before."""
    return f"{readable(after)}, was {readable(before)}"


def span(item: Node, lower: float, upper: float) -> str:
    """An interval, which may be open on one side."""
    if math.isinf(lower):
        return f"up to {value_words(item, upper)}"
    if math.isinf(upper):
        return f"{value_words(item, lower)} or more"
    return f"{value_words(item, lower)} to {value_words(item, upper)}"


def outside(item: Node, lower: float, upper: float) -> str:
    """What is not in an interval."""
    if math.isinf(lower):
        return f"above {value_words(item, upper)}"
    if math.isinf(upper):
        return f"below {value_words(item, lower)}"
    return f"outside {span(item, lower, upper)}"


def listed(names: Sequence[str], last: str = "and", most: int = MOST_NAMED) -> str:
    """Names as people list them.

    >>> listed(["a", "b", "c"]), listed(list("abcdef"))
    ('a, b and c', 'a, b, c and 3 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} {last} {len(names) - most:,} more"
    return (
        f" {last} ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
    )
