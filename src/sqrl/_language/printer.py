"""A tree as the sentence that parses back to it."""

import json

from sqrl._language.names import is_bare, name_text
from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Bucket,
    Call,
    Choice,
    Compare,
    Each,
    Given,
    Hole,
    Implies,
    In,
    Known,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Or,
    Repeat,
    Sentence,
    Truth,
    Word,
)

# How tightly each node binds; a child that binds less tightly than its place asks for parentheses.
_IMPLIES, _CHOICE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGNED, _POWER, _PRIMARY = range(11)


def to_text(node: Node) -> str:
    """The sentence, formula or expression as text that parses back to an equal tree.

    >>> to_text(Not(And((Name("smoke"), Compare(Name("age"), ">", Number(50.0))))))
    'not (smoke and age > 50)'
    """
    return _print(node)[0]


def number_text(value: float) -> str:
    """The shortest text that reads back as the same float; whole numbers without a point.

    >>> number_text(4172.0), number_text(0.1), number_text(-1e-05)
    ('4172', '0.1', '-1e-05')
    """
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def word_text(word: str) -> str:
    """A category as it stands in a rule: quoted where it is not one plain word.

    >>> word_text("Car"), word_text("Person sitting"), word_text("1")
    ('Car', '"Person sitting"', '"1"')
    """
    if is_bare(word):
        return word
    return json.dumps(word, ensure_ascii=False)


def _print(node: Node) -> tuple[str, int]:  # noqa: PLR0911  (one case for each node)
    """The node's text and how tightly it binds."""
    match node:
        case Number(value):
            return number_text(value), _PRIMARY if value >= 0 else _SIGNED
        case Word() | Truth() | Name() | Hole():
            return _leaf(node), _PRIMARY
        case Call(function, arguments):
            return f"{name_text(function)}({', '.join(map(to_text, arguments))})", _PRIMARY
        case Known(item):
            return f"known({to_text(item)})", _PRIMARY
        case Repeat(name, low, high):
            span = str(low) if low == high else f"{low}..{high}"
            return f"{name_text(name)}{{{span}}}", _PRIMARY
        case Given(item, given):
            return f"{_axis(item)} given {_axis(given)}", _IMPLIES
        case Sentence() | Bucket():
            return _whole(node), _IMPLIES
        case Binary() | Negative():
            return _arithmetic(node)
        case _:
            return _formula(node)


def _axis(node: Node) -> str:
    return _whole(node) if isinstance(node, Bucket) else _inside(node, _SUM)


def _leaf(node: Word | Truth | Name | Hole) -> str:
    match node:
        case Word(text):
            return word_text(text)
        case Truth(value):
            return "true" if value else "false"
        case Name(name):
            return name_text(name)
        case Hole():
            return "?"


def _whole(node: Sentence | Bucket) -> str:
    """The text of a node that never stands inside another formula."""
    if isinstance(node, Bucket):
        return f"{_inside(node.item, _PRODUCT)}/{node.n_buckets}"
    by = f" by {', '.join(map(_whole, node.by))}" if node.by else ""
    over = f" over {node.over}" if node.over else ""
    return f"{to_text(node.claim)}{by}{over}"


def _arithmetic(node: Binary | Negative) -> tuple[str, int]:
    if isinstance(node, Negative):
        return f"-{_inside(node.item, _SIGNED)}", _SIGNED
    if node.op == "**":
        return f"{_inside(node.left, _PRIMARY)} ** {_inside(node.right, _SIGNED)}", _POWER
    place = _SUM if node.op in "+-" else _PRODUCT
    return f"{_inside(node.left, place)} {node.op} {_inside(node.right, place + 1)}", place


def _formula(node: Node) -> tuple[str, int]:  # noqa: PLR0911  (one case for each node)
    match node:
        case Compare(left, op, right):
            return f"{_inside(left, _SUM)} {op} {_inside(right, _SUM)}", _COMPARE
        case Between(lower, lower_op, item, upper_op, upper):
            low, high = _inside(lower, _SUM), _inside(upper, _SUM)
            return f"{low} {lower_op} {_inside(item, _SUM)} {upper_op} {high}", _COMPARE
        case In(item, values):
            listed = f"[{', '.join(map(to_text, values))}]" if values != (Hole(),) else "?"
            return f"{_inside(item, _SUM)} in {listed}", _COMPARE
        case Each(item, n_buckets):
            return f"{_inside(item, _SUM)} in each of {n_buckets}", _COMPARE
        case Not(item):
            return f"not {_inside(item, _NOT)}", _NOT
        case And(items):
            return " and ".join(_inside(item, _NOT) for item in items), _AND
        case Or(items):
            return " or ".join(_inside(item, _AND) for item in items), _OR
        case Choice():
            return _choice(node), _CHOICE
        case Implies(body, head):
            return f"{_inside(body, _OR)} => {_inside(head, _IMPLIES)}", _IMPLIES
    raise AssertionError(f"no printer for {type(node).__name__}")


def _choice(node: Node) -> str:
    """The pieces one after the other: a loop, as there can be hundreds."""
    pieces = []
    while isinstance(node, Choice):
        pieces.append(f"{_inside(node.then, _OR)} if {_inside(node.test, _OR)} else ")
        node = node.otherwise
    return "".join(pieces) + _inside(node, _OR)


def _inside(node: Node, place: int) -> str:
    """The node's text, in parentheses where it binds less tightly than its place."""
    text, binding = _print(node)
    return text if binding >= place else f"({text})"


def item_text(node: Node) -> str:
    """The text of a formula as one of several joined by `and`."""
    return _inside(node, _NOT)


def body_text(node: Node) -> str:
    """The text of a formula by itself on either side of `=>`."""
    return _inside(node, _OR)
