"""The columns of a schema that follow from the rows before, and whether it says what it must."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqrl._language import parse, parse_formula, to_text
from sqrl._language.names import SEQUENCE_FUNCTIONS, SINCE_LAST, base_of, sequence_of, with_base
from sqrl._language.tree import Name, Node, walk
from sqrl._rows.sequences import RowOrder, is_sequence
from sqrl.errors import ParseError, SchemaError

if TYPE_CHECKING:
    from sqrl._rules.schema import Entry, Schema

_MAY_FOLLOW = re.compile("|".join([*SEQUENCE_FUNCTIONS, SINCE_LAST]))


def row_order_of(schema: "Schema | None") -> RowOrder | None:
    """Which rows follow one another, where the schema says so.

    >>> from sqrl._rules.schema import Schema
    >>> row_order_of(Schema(rules=("? <= x",), order="day", entity=["ward", "bed"]))
    RowOrder(order=('day',), entity=('ward', 'bed'))
    """
    if schema is None or schema.order is None:
        return None
    return RowOrder(_listed(schema.order), _listed(schema.entity))


def order_given(
    order: str | Sequence[str] | None, entity: str | Sequence[str] | None
) -> dict[str, str | list[str]]:
    """The keys of a schema that say which rows follow one another, as far as they are given.

    >>> order_given("day", ("ward", "bed")), order_given(None, ())
    ({'order': 'day', 'entity': ['ward', 'bed']}, {})
    """
    found: dict[str, str | list[str]] = {}
    for key, names in (("order", _listed(order)), ("entity", _listed(entity))):
        if names:
            found[key] = names[0] if len(names) == 1 else list(names)
    return found


def check_row_order(schema: "Schema") -> None:
    """Raise where a schema asks for what came before and does not say in which order rows come."""
    order, entity = _listed(schema.order), _listed(schema.entity)
    for key, names in (("order", order), ("entity", entity)):
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice or not all(names) or (getattr(schema, key) is not None and not names):
            what = f"names {twice[0]!r} twice" if twice else "names no column"
            raise SchemaError(
                f"The schema's {key} {what}.", where=key, fix=f"write {key}: {_EXAMPLES[key]}"
            )
    both = [name for name in order if name in entity]
    if both:
        raise SchemaError(
            f"{both[0]!r} is both the order and the entity: each row would follow none.",
            where="entity",
            fix="leave one of them out",
        )
    if entity and not order:
        raise SchemaError(
            "The schema has an entity, but no order in which its rows come.",
            where="entity",
            fix=f"add 'order: {_EXAMPLES['order']}', the column to sort rows by",
        )
    if order:
        return
    for where, tree in _trees(schema):
        for name in _names(tree):
            if sequence_of(name) is not None:
                raise SchemaError(
                    f"{name} looks at the rows before, and the schema does not say in which "
                    "order rows come.",
                    where=where,
                    fix="add 'order: timestamp', and 'entity: patient' where rows are of several",
                )


_EXAMPLES = {"order": "timestamp", "entity": "patient"}


def sequence_names(schema: "Schema") -> frozenset[str]:
    """The columns that follow from the rows before, with the holes in their names filled.

    >>> from sqrl._rules.schema import Schema
    >>> made = Schema(rules=("? <= delta(A) <= ?",), let={"A": ["left", "top"]}, order="frame")
    >>> sorted(sequence_names(made))
    ['delta(left)', 'delta(top)']
    """
    found = set()
    for where, tree in _trees(schema):
        for name in _names(tree):
            if is_sequence(name):
                found |= set(_filled(name, schema.let, where))
    return frozenset(found)


def fill_name(name: str, entry: Node, hole: str) -> Name:
    """The name with what a hole stands for at its bottom, which must be a name too."""
    if not isinstance(entry, Name):
        raise SchemaError(
            f"{name} takes columns and statistics by their names, and {hole!r} stands for "
            f"'{to_text(entry)}'.",
            fix="give it a name under 'statistics' and write that",
        )
    return Name(with_base(name, entry.name))


def _filled(name: str, let: "Mapping[str, str | list[Entry]]", where: str) -> Iterator[str]:
    hole = base_of(name)
    entries = let.get(hole)
    if entries is None:
        yield name
        return
    if isinstance(entries, str):
        raise SchemaError(
            f"{name} takes columns, and {hole!r} stands for {entries}.",
            where=where,
            fix=f"write a list of columns under let: {hole}: [width, height]",
        )
    for entry in entries:
        item = _parsed(str(entry)) or Name(str(entry))
        try:
            yield fill_name(name, item, hole).name
        except SchemaError as error:
            raise error.at(where) from None


def _trees(schema: "Schema") -> Iterator[tuple[str, Node]]:
    """Every tree of a schema that may name such a column, and where it stands.

    Most texts of most schemas name none, and there can be thousands: they are not parsed.
    """
    for name, text in schema.statistics.items():
        if _MAY_FOLLOW.search(text):
            yield f"statistics.{name}", parse_formula(text)
    for index, text in enumerate(schema.sentences):
        if _MAY_FOLLOW.search(text):
            yield f"rules[{index}], {text}", parse(text)
    for hole, entries in schema.let.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            is_text = isinstance(entry, str) and _MAY_FOLLOW.search(entry)
            tree = _parsed(str(entry)) if is_text else None
            if tree is not None:
                yield f"let.{hole}", tree


def _names(tree: Node) -> Iterator[str]:
    return (node.name for node in walk(tree) if isinstance(node, Name))


def _parsed(text: str) -> Node | None:
    try:
        return parse_formula(text)
    except ParseError:
        return None  # a word that is no formula


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
