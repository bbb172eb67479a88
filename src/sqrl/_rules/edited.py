"""Rules whose bounds a person has edited: what they were, and what is no longer known of them."""

from collections.abc import Sequence
from dataclasses import replace as replace_fields
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from sqrl._data.arrow_arrays import from_values
from sqrl._language import parse
from sqrl._language.forms import Form, Piece, read_form, sentence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import Number
from sqrl._rules.decisions import ids_of
from sqrl._rules.rule_columns import COLUMNS, Pool, renumber
from sqrl._rules.ruleset import Rule, RuleSet
from sqrl.errors import SchemaError

# What was measured of bounds about rows, and says nothing of others; in the order of the file.
OF_BOUNDS = (
    *("coverage", "evidence", "tail", "prediction_evidence"),
    *("unit_evidence", "prediction_unit_evidence"),
)


def bounded(form: Form, lower: float | None, upper: float | None) -> Form:
    """The rule with other bounds, None for an open end; raises where it has not just two."""
    text = to_text(sentence_of(form))
    if len(form.pieces) != 1:
        what = "has a bound for each bucket" if form.pieces else "has no bounds"
        raise SchemaError(f"This rule {what}.", where=text, fix="edit its text in the rules file")
    if lower is None and upper is None:
        raise SchemaError("A rule needs a bound.", where=text, fix="reject it instead")
    if lower is not None and upper is not None and not lower <= upper:
        what = f"The lower bound {lower:g} is above the upper bound {upper:g}."
        raise SchemaError(what, where=text, fix="exchange them")
    piece = Piece(_number(lower), _number(upper), support=form.pieces[0].support)
    return replace(form, pieces=(piece,))


def with_bounds(
    rules: RuleSet,
    one: str,
    *,
    lower: float | None,
    upper: float | None,
    counted: tuple[int, int] | None = None,
) -> RuleSet:
    """The rules with other bounds for one of them; the sentence that was learned is kept beside.

    `counted` has the rows that the rule applies to and those that break the new bounds, of data
    that new rows are to be compared with. Without them, and where the new bounds do not hold all
    that the learned ones did, it is not known what chance would do, and the rule has no p-value.

    >>> rules = RuleSet.from_texts(["3 <= GCS <= 14"], coverage=[0.98])
    >>> edited = with_bounds(rules, rules.ids()[0], lower=3, upper=15)
    >>> edited[0].text, edited[0].learned, edited.ids() == rules.ids()
    ('3 <= GCS <= 15', '3 <= GCS <= 14', True)
    """
    rules = rules.with_ids()
    (name,) = ids_of(rules.ids(), one)
    place = rules.ids().index(name)
    old = rules[place]
    form = bounded(rules.form(place), lower, upper)
    learned: str | None = old.learned or old.text
    if to_text(sentence_of(form)) == learned and counted is None:
        learned = None  # taken back
    return put_edited(rules, place, form, learned, counted)


def put_edited(
    rules: RuleSet,
    place: int,
    form: Form,
    learned: str | None,
    counted: tuple[int, int] | None = None,
) -> RuleSet:
    """The rules with another in one place, which was `learned` with other bounds."""
    changes: dict[str, Any] = {"learned": learned}
    if form.bounds_rows:
        changes |= dict.fromkeys(OF_BOUNDS)
        if counted is not None:
            changes["evidence"] = [float(count) for count in counted]
        elif learned is None or is_wider(form, learned):
            changes["coverage"] = rules[place].coverage
    return _replaced(rules, place, form, changes)


def is_wider(form: Form, learned: str) -> bool:
    """Whether bounds hold all that the learned ones held: chance breaks them less often then.

    >>> is_wider(read_form(parse("1 <= x <= 9")), "2 <= x <= 9")
    True
    >>> is_wider(read_form(parse("1 <= x <= 9")), "1 <= x")
    False
    """
    old = read_form(parse(learned))
    if len(old.pieces) != len(form.pieces):
        return False
    return all(
        _end(new.lower, -1) <= _end(was.lower, -1) and _end(new.upper, 1) >= _end(was.upper, 1)
        for new, was in zip(form.pieces, old.pieces, strict=True)
    )


def _end(node: Any, side: int) -> float:
    return node.value if isinstance(node, Number) else side * float("inf")


def edited_by_hand(rule: Rule, form: Form) -> str | None:
    """The learned sentence of a rule whose text no longer has the bounds that stand beside it.

    In a rules file `lower` and `upper` are written beside the text when it is learned; an edit
    of the text leaves them behind. Of a rule in buckets they are the least and the greatest.
    """
    lowers = [_value(piece.lower) for piece in form.pieces]
    uppers = [_value(piece.upper) for piece in form.pieces]
    least = min((end for end in lowers if end is not None), default=None)
    most = max((end for end in uppers if end is not None), default=None)
    beside = rule.lower, rule.upper
    if not form.pieces or beside in {(least, most), (None, None)}:  # without any it was written
        return None
    if rule.learned is not None:  # edited once more
        return rule.learned
    if len(form.pieces) > 1:
        return UNKNOWN
    piece = Piece(_number(rule.lower), _number(rule.upper))
    return to_text(sentence_of(replace(form, pieces=(piece,))))


UNKNOWN = "?"  # that a rule was edited is known, and not what it was


def forget_measured(rules: RuleSet, learned: Sequence[str | None]) -> RuleSet:
    """The rules with what some were when they were learned; of these less is known."""
    if not any(learned):
        return rules
    before = rules.table["learned"].to_pylist()
    known = [new if new is not None else old for new, old in zip(learned, before, strict=True)]
    table = _put(rules.table, "learned", known)
    for name in OF_BOUNDS:
        values = table[name].to_pylist()
        for place, text in enumerate(learned):
            form = rules.form(place) if text is not None else None
            if form is None or not form.bounds_rows:
                continue
            is_kept = name == "coverage" and text != UNKNOWN and is_wider(form, text or "")
            values[place] = values[place] if is_kept else None
        table = _put(table, name, values)
    return replace_fields(rules, table=table)


def _replaced(rules: RuleSet, place: int, form: Form, changes: dict[str, Any]) -> RuleSet:
    """The rules with another in one place, of which all that is not changed stays."""
    row = rules.table.slice(place, 1).to_pylist()[0]
    made = RuleSet.from_forms([form], **{name: [row[name]] for name in row if name in OF_ROW})
    table = made.table
    for name, value in changes.items():
        table = _put(table, name, [value])
    pool = Pool()
    numbers = [
        from_values([pool.add(node) for node in nodes], pa.int32())
        for nodes in (rules.nodes, made.nodes)
    ]
    before, after = rules.table.slice(0, place), rules.table.slice(place + 1)
    whole = [renumber(before, numbers[0]), renumber(table, numbers[1]), renumber(after, numbers[0])]
    return replace_fields(rules, table=pa.concat_tables(whole), nodes=pool.nodes(), held_out=None)


OF_ROW = COLUMNS.names[COLUMNS.get_field_index("coverage") :]


def _put(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place, field = COLUMNS.get_field_index(name), COLUMNS.field(name)
    return table.set_column(place, field, from_values(values, field.type))


def _number(end: float | None) -> Number | None:
    return None if end is None else Number(float(end))


def _value(node: Any) -> float | None:
    return node.value if isinstance(node, Number) else None
