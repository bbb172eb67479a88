"""Findings in people's words: one sentence with numbers before and after, and what to do next."""

import math
from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from sqrl._check.columns_now import ColumnNow, unseen_text
from sqrl._check.findings.cell_shares import cell_shares, quantile_of
from sqrl._check.findings.changes import (
    Change,
    before_and_after,
    column_of,
    missing_before,
)
from sqrl._check.findings.distribution_words import distribution_text, percent
from sqrl._check.findings.groups import Group
from sqrl._check.findings.hints import frequent_value, lookalike, scale_factor
from sqrl._check.findings.rule_words import (
    listed,
    outside,
    rule_text,
    span,
    was_text,
)
from sqrl._check.findings.value_words import direction, item_name, value_words
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.violations import Violations
from sqrl._language.forms import Form
from sqrl._language.printer import to_text
from sqrl._language.tree import Known, Name, Node, walk
from sqrl._rows.rows import Rows
from sqrl._rows.sequences import columns_behind, is_sequence
from sqrl._rules.needed_columns import axes_of, names_in, parts_of
from sqrl._rules.sequence_names import row_order_of

LOOK_AT_DATA = "look at how the data was written or read"
LEARN_AGAIN = "if this is how data is meant to be now, learn the rules again"


def nothing_to_check(found: Violations) -> str:
    """No rows, or no rules."""
    return "nothing was checked: there are no " + ("rules" if found.n_rows else "rows")


def nothing_applied(found: Violations) -> str:
    """Rules and rows that have nothing to do with each other."""
    return f"nothing was checked: none of {_rules(len(found))} applies to any of {_rows(found)}"


def why_gone(found: Violations, name: str) -> tuple[str, ...]:
    """The columns for lack of which one is gone: itself, or those that it follows from."""
    row_order = row_order_of(found.rules.schema)
    behind = columns_behind([name], row_order, found.rules.statistics())
    lacking = behind - set(_all_names(found)) if found.has_rows else frozenset[str]()
    lacking |= {other for other in behind if (now := found.columns.get(other)) and now.is_gone}
    return tuple(sorted(lacking)) or (name,)


def gone(found: Violations, name: str, n_rules: int) -> tuple[str, str]:
    """A column that the data does not have."""
    if is_sequence(name) and row_order_of(found.rules.schema) is not None:
        return (
            f"{name} cannot be computed: {_rules(n_rules)} cannot be checked",
            "write the columns that it follows from as they were",
        )
    others = [other for other in _all_names(found) if other not in found.columns]
    close = get_close_matches(name, others, n=1)
    advice = f"is it now called {close[0]}? " if close else ""
    if name == found.label and found.prediction is None:
        advice += "name the column with a model's answer: --prediction COLUMN; or "
    return (
        f"column {name} is gone: {_rules(n_rules)} cannot be checked",
        f"{advice}put it back, or learn the rules again without it",
    )


def _all_names(found: Violations) -> Sequence[str]:
    return found.table.names if found.has_rows else ()


def other_kind(found: Violations, name: str, now: ColumnNow) -> tuple[str, str]:
    """A column with values that are not what rules need."""
    assert now.unread is not None
    such_as = "" if now.unread.example is None else f", such as {now.unread.example!r}"
    where = f"in {now.n_unread:,} of {_rows(found)}"
    return (
        f"{name} holds {now.unread.holds} {where}{such_as}; it held {now.unread.needs}",
        "write the column as it was; what could not be read was taken as missing",
    )


def was_known(found: Violations, name: str, rules: Sequence[int]) -> bool:
    """Whether a column without any value is no chance: rows used to have values in it."""
    known = [missing_before(found, rule) for rule in rules]
    shares = [share for share in known if share is not None]
    del name
    return not shares or min(shares) ** found.n_rows < found.level


def all_missing(found: Violations, name: str) -> tuple[str, str]:
    """A column without any value."""
    return f"{name}: missing in all {_rows(found)}", _where_lost(name)


def _where_lost(name: str) -> str:
    return f"find where values of {name} are lost; {LEARN_AGAIN}"


def changed(found: Violations, change: Change) -> tuple[str, str]:
    """What has changed in one column, and what to do next."""
    form = found.rules.form(change.rule)
    says = {
        "missing": _missing,
        "unseen": _unseen,
        "range": _range,
        "distribution": _distribution,
    }.get(change.kind, _rule)
    text, advice = says(found, change, form)
    others = [_clause(found, other) for other in change.others]
    also = [clause for clause in others if clause is not None]
    return "; also ".join([text, *also[:1]]), advice


def _clause(found: Violations, other: Change) -> str | None:
    """A second change of the same column in a few words; None where the first says enough."""
    form = found.rules.form(other.rule)
    if other.kind == "missing":
        before, after = _missing_shares(found, other, form)
        return f"missing in {percent(after)} of rows, was {percent(before)}"
    name = column_of(form)
    if other.kind == "unseen" and name is not None and found.columns[name].unseen:
        return f"value {found.columns[name].unseen[0].text}, never seen in training"
    return None


def _missing(found: Violations, change: Change, form: Form) -> tuple[str, str]:
    before, after = _missing_shares(found, change, form)
    name = _name_in(form)
    text = f"{name}: missing in {percent(after)} of rows, was {percent(before)}"
    return text, _where_lost(name) if after > before else LEARN_AGAIN


def _missing_shares(found: Violations, change: Change, form: Form) -> tuple[float, float]:
    before = missing_before(found, change.rule)
    name = _name_in(form)
    after = change.n_rows / max(found.n_rows, 1)
    if name in found.columns:
        after = found.columns[name].n_missing / max(found.n_rows, 1)
    return before or 0.0, after


def _name_in(form: Form) -> str:
    """What a rule about missing values is about."""
    for node in (*form.body, *((form.head,) if form.head else ())):
        for part in walk(node):
            if isinstance(part, Known):
                return item_name(part.item)
    return to_text(form.head) if form.head else "values"


def _unseen(found: Violations, change: Change, form: Form) -> tuple[str, str]:
    name = column_of(form)
    if name is None or not found.columns.get(name, ColumnNow()).unseen:
        return _rule(found, change, form)
    return unseen(found, name)


def unseen(found: Violations, name: str) -> tuple[str, str]:
    """Values that a column did not have in training."""
    now = found.columns[name]
    text = unseen_text(called(found, name), now, found.n_rows)
    like = lookalike([value.text for value in now.unseen], now.known)
    if like is not None:
        text += f"; {like[0]!r} looks like {like[1]!r}"
        return text, f"spell {name} as it was in training"
    return text, f"is the new value meant? then learn again; if not, find who writes {name}"


def called(found: Violations, name: str) -> str:
    """The name of a column as a person knows it: the prediction's in the label's place."""
    return found.prediction if name == found.label and found.prediction is not None else name


def _range(found: Violations, change: Change, form: Form) -> tuple[str, str]:
    rule, item = change.rule, form.subject
    assert item is not None
    (lower,), (upper,) = interval_ends(form)
    coverage = found.rules[rule].coverage
    rows = f"{item_name(item)}: {found.broken[rule]:,} of {found.applicable[rule]:,} rows"
    if coverage == 1:
        text = f"{rows} beyond all that was seen ({span(item, lower, upper)})"
    else:
        share = "" if coverage is None else f", where {percent(coverage)} of rows were"
        text = f"{rows} {outside(item, lower, upper)}{share}"
    ends = _ends(found, item, lower, upper)
    text = f"{text}{': ' if coverage == 1 else '; '}{ends}" if ends else text
    hint = _number_hint(found, item, lower, upper, change)
    return f"{text}{hint}", f"look at these rows: --violations rows.csv, or found.rows_of({rule})"


def _ends(found: Violations, item: Node, lower: float, upper: float) -> str:
    """How far the values go beyond the bounds."""
    if found.has_rows:
        values = Rows(found.table, found.rules.statistics()).numbers(item)
        least, greatest = np.fmin.reduce(values), np.fmax.reduce(values)
    elif isinstance(item, Name) and item.name in found.columns:
        least, greatest = found.columns[item.name].least, found.columns[item.name].greatest
    else:
        return ""
    parts = [f"down to {value_words(item, float(least))}"] if least < lower else []
    parts += [f"up to {value_words(item, float(greatest))}"] if greatest > upper else []
    return " and ".join(parts)


def _number_hint(found: Violations, item: Node, lower: float, upper: float, change: Change) -> str:
    """What the values outside might be: one that stands for missing, or another unit."""
    if not found.has_rows:
        return ""
    values = Rows(found.table, found.rules.statistics()).numbers(item)
    outer = values[(values < lower) | (values > upper)]
    common = frequent_value(outer)
    if common is not None:
        return f"; {value_words(item, common[0])} in {common[1]:,} rows"
    if not outer.size or not isinstance(item, Name):
        return ""
    factor = scale_factor(_median_before(found, change), float(np.median(outer)))
    return f" (times {factor}?)" if factor is not None else ""


def _median_before(found: Violations, change: Change) -> float:
    """About the median of training, where shares of the same column say it; else nan."""
    for other in change.others:
        shares = cell_shares(found, other.rule)
        if shares is not None and shares.given is None:
            return quantile_of(shares.before[0], shares.axis, 0.5)
    return math.nan


def _distribution(found: Violations, change: Change, form: Form) -> tuple[str, str]:
    advice = f"look at when and where it changed; {LEARN_AGAIN}"
    shares = cell_shares(found, change.rule)
    if shares is not None and shares.given is None and not form.given:
        return distribution_text(found, shares, change.effect), advice
    if form.evidence == "moments" and form.subject is not None:
        before, after = before_and_after(found, change.rule)
        if form.statistic == "mean" and not math.isnan(after - before):
            way = direction(form.subject, before, after)
            return f"{item_name(form.subject)} is {way}: mean {was_text(after, before)}", advice
    return _rule(found, change, form)[0], advice


def exchanged(found: Violations, one: str, other: str) -> tuple[str, str]:
    """Two columns in each other's place."""
    one, other = called(found, one), called(found, other)
    text = f"{one} and {other} look exchanged: each has the values that the other had"
    return text, f"see whether {one} and {other} were renamed or written in another order"


def _rule(found: Violations, change: Change, form: Form) -> tuple[str, str]:
    return rule_text(found, change.rule, form), LEARN_AGAIN


def relation(found: Violations, columns: Sequence[str], change: Change) -> tuple[str, str]:
    """Columns that no longer go together, and the rule that shows it best."""
    form = found.rules.form(change.rule)
    first, *others = [called(found, name) for name in _as_named(found, form) or columns]
    text = rule_text(found, change.rule, form)
    if others:
        text = f"{first} no longer goes with {listed(others)}: {text}"
    what = f"{first} and {others[0]}" if others else first
    return text, f"compare {what} in a few rows; {LEARN_AGAIN}"


def _as_named(found: Violations, form: Form) -> list[str]:
    """What a rule names itself, derived columns first; nothing where it names plain columns."""
    nodes = [node for part in (*parts_of(form), axes_of(form)) for node in part]
    names, derived = names_in(nodes, {}), found.rules.statistics()
    if not names & derived.keys():
        return []
    return sorted(names, key=lambda name: (name not in derived, name))


def repeats(found: Violations, group: Group, n_copies: int, before: float) -> tuple[str, str]:
    """Rows, or keys, that occur more than once."""
    of = f"{n_copies:,} of {_rows(found)}"
    was = "none" if not before else percent(before)
    if len(group.columns) > 1:
        text = f"rows repeat: {of} are copies of earlier rows, was {was}"
    else:
        text = f"{group.columns[0]} repeats: {of} have a value that an earlier row has, was {was}"
    return text, "look for data that was written, loaded or joined twice"


def also_explains(found: Violations, group: Group, explained: Sequence[Group]) -> str:
    """Which other columns have changed only because this one has."""
    del found
    names = [one.columns[0] for one in explained if one.kind == "column"]
    del group
    if not names:
        return ""
    return f"; that explains {listed(names)} too"


def _rows(found: Violations) -> str:
    return f"{found.n_rows:,} {'row' if found.n_rows == 1 else 'rows'}"


def _rules(count: int) -> str:
    return f"{count:,} {'rule' if count == 1 else 'rules'}"
