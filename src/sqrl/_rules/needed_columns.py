"""What rules need of a table: which columns, and what those must hold."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import numpy as np

from sqrl._data.table import Column, Table
from sqrl._language.forms import Form
from sqrl._language.names import sequence_of
from sqrl._language.parser import is_formula
from sqrl._language.printer import to_text
from sqrl._language.tree import (
    Between,
    Bucket,
    Call,
    Compare,
    In,
    Known,
    Name,
    Node,
    Number,
    Truth,
    Word,
    children,
    walk,
)
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl.errors import DataError, UnknownNameError, nearest

Need = Literal["numbers", "truths", "categories", "digits", "dates", "text"]
HOLDS = {
    "numbers": "numbers",
    "truths": "true and false",
    "categories": "categories",
    "digits": "numbers",
    "dates": "dates",
    "text": "text",
}


def names_in(nodes: Iterable[Node], statistics: Mapping[str, Node]) -> set[str]:
    """The columns that formulas and expressions name, those behind derived statistics too.

    >>> sorted(names_in([Name("area"), Name("y")], {"area": Name("w")}))
    ['w', 'y']
    """
    found: set[str] = set()
    todo = [part.name for node in nodes for part in walk(node) if isinstance(part, Name)]
    done: set[str] = set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        if name in statistics:
            todo += [part.name for part in walk(statistics[name]) if isinstance(part, Name)]
        else:
            found.add(name)
    return found


def names_by_value(node: Node) -> Iterator[str]:
    """The names of which a tree compares or computes with the values.

    Whether a column has a value, and functions of text, take words one by one, however many.

    >>> from sqrl._language import parse_formula
    >>> list(names_by_value(parse_formula("known(a) and length(b) > 3 and c = x")))
    ['c']
    """
    match node:
        case Name(name):
            yield name
        case Known(Name()):
            return
        case Call(function) if function in COLUMN_FUNCTIONS:
            return
        case _:
            for part in children(node):
                yield from names_by_value(part)


def parts_of(form: Form) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The formulas and the expressions that a form is made of."""
    tests = tuple(piece.test for piece in form.pieces if piece.test is not None)
    head = (form.head,) if form.head is not None else ()
    subject = (form.subject,) if form.subject is not None else ()
    return (*form.given, *form.body, *head, *tests), subject


def axes_of(form: Form) -> tuple[Node, ...]:
    """What the shares of a form are of: columns, of categories too, and expressions."""
    return tuple(axis.item if isinstance(axis, Bucket) else axis for axis in form.axes)


def columns_of(forms: Iterable[Form], statistics: Mapping[str, Node]) -> frozenset[str]:
    """The columns that rules name, those behind derived statistics too."""
    nodes = {node for form in forms for part in (*parts_of(form), axes_of(form)) for node in part}
    return frozenset(names_in(nodes, statistics))


def check_columns(
    forms: Iterable[Form], table: Table, statistics: Mapping[str, Node], extractors: list[str]
) -> None:
    """Raise where the rules need a column that is not there, or that holds something else."""
    names, needs = column_needs(forms, statistics)
    for name in sorted(names):
        if name not in table:
            raise _missing(name, table, extractors)
    for name, need, example in needs:
        _check_content(table, table[name], need, example)


def column_needs(
    forms: Iterable[Form], statistics: Mapping[str, Node]
) -> tuple[set[str], list[tuple[str, Need, str]]]:
    """The columns that rules name, and what each must hold for them, with an example."""
    formulas: dict[Node, None] = {}
    expressions: dict[Node, None] = {}
    words: dict[str, str] = {}  # columns of which shares of categories are known, and one of these
    for form in forms:
        some, others = parts_of(form)
        formulas.update(dict.fromkeys(some))
        expressions.update(dict.fromkeys(others))
        known = form.reference.axes if form.reference else ()
        for axis, item in zip(known, axes_of(form), strict=True) if known else ():
            if axis.words is None:
                expressions[item] = None
            elif isinstance(item, Name):
                words[item.name] = axis.words[0] if axis.words else ""
    names = names_in([*formulas, *expressions, *map(Name, words)], statistics)
    used = {name: tree for name, tree in statistics.items() if name not in names}
    needs = [need for node in formulas for need in _formula_needs(node)]
    needs += [need for node in [*expressions, *used.values()] for need in _expression_needs(node)]
    needs += [(name, "categories", to_text(Word(word))) for name, word in words.items()]
    return names, [need for need in dict.fromkeys(needs) if need[0] in names]


def _missing(name: str, table: Table, extractors: list[str]) -> UnknownNameError:
    fix = nearest(name, table.names)
    if sequence_of(name) is not None:
        fix = "add it, or give the rules a schema that says in which order rows come ('order:')"
    if extractors:
        fix += f"; or pass extractors=[{', '.join(extractors)}]"
    what = f"The rules need a column {name!r}, which the data does not have."
    return UnknownNameError(what, where=table.source, fix=fix)


def _formula_needs(node: Node) -> Iterator[tuple[str, Need, str]]:
    match node:
        case Name(name):
            yield name, "truths", ""
        case Compare(Name(name), "=" | "!=", Word() | Truth() | Number() as value):
            yield from _value_needs(name, value)
        case In(Name(name), values):
            for one in values:
                yield from _value_needs(name, one)
        case Known(Name()):
            return  # any column has values, or lacks them
        case Known(item) if not is_formula(item):
            yield from _expression_needs(item)
        case Compare() | Between() | In():
            yield from _expression_needs(node)
        case _:
            for child in children(node):
                yield from _formula_needs(child)


def _value_needs(name: str, value: Node) -> Iterator[tuple[str, Need, str]]:
    """What a column must hold that is compared with a value: text only equals categories."""
    if isinstance(value, Word) and not _is_number(value.text):
        yield name, "categories", to_text(value)
    if isinstance(value, Number):
        yield name, "digits", to_text(value)


def _expression_needs(node: Node) -> Iterator[tuple[str, Need, str]]:
    match node:
        case Name(name):
            yield name, "numbers", ""
        case Call(function, (Name(name),)) if function in COLUMN_FUNCTIONS:
            yield name, COLUMN_FUNCTIONS[function].of, ""
        case Call("key"):  # of values of any kind
            return
        case _:
            for part in children(node):
                yield from _expression_needs(part)


def _check_content(table: Table, column: Column, need: Need, example: str) -> None:
    """Raise where a column does not hold what is needed; one without values may hold anything."""
    holds = _content(column)
    if holds is None or suits(column, need):
        return
    such_as = f", such as {example}" if example else ""
    raise DataError(
        f"The rules need {HOLDS[need]} in column {column.name!r}{such_as}, but it holds {holds}.",
        where=table.source,
        fix="write the column as it was in the data that the rules were learned from",
    )


def suits(column: Column, need: Need) -> bool:
    """Whether a column holds what is needed of it."""
    if column.kind == "category":
        return need in {"categories", "dates", "text"} or (
            need == "digits" and any(_is_number(text) for text in column.categories)
        )
    if column.kind == "date":
        return need == "dates"
    if column.kind == "other" or need in {"categories", "dates", "text"}:
        return False
    return need != "truths" or bool(np.isin(column.values[~column.missing()], (0.0, 1.0)).all())


def _content(column: Column) -> str | None:
    """What a column holds, with an example; None where it has no value at all."""
    if column.kind == "other":
        return "neither numbers nor categories"
    missing = column.missing()
    first = int(missing.argmin()) if missing.size else 0
    if not missing.size or missing[first]:
        return None
    if column.kind == "category":
        return f"categories, such as {column.categories[int(column.values[first])]!r}"
    if column.kind == "date":
        return f"dates, such as {np.floor(column.values[first]).astype('datetime64[D]')}"
    return f"numbers, such as {to_text(Number(float(column.values[first])))}"


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
