"""Ids of rules: what a rule is about, without what was learned, so that learning again keeps them.

Of a sentence bounds, cut points and learned values are left out, and the size of mini-batches,
though not whether they are of units; the rest is hashed. Rules of a set that agree in that, such as
those of several buckets, are told apart by the order of their cut points.
"""

from collections.abc import Sequence
from hashlib import blake2s

from msgspec.structs import replace

from sqrl._language.forms import Form, Piece, sentence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import (
    Between,
    Compare,
    Hole,
    In,
    Node,
    Number,
    Over,
    Units,
    conjuncts,
    over_order,
    rewrite,
    walk,
)

BYTES = 4
_ORDER = frozenset(["<", "<=", ">", ">="])


def about(form: Form, coverage: float | None) -> str:
    """What a rule is about: its sentence with ? for all that was learned.

    >>> from sqrl._language import parse
    >>> from sqrl._language.forms import read_form
    >>> about(read_form(parse("20 <= y <= 51 if area <= 4172 else 34 <= y <= 52")), 0.98)
    '? <= y <= ? by area'
    >>> about(read_form(parse("country = NO => currency in [NOK, EUR]")), 0.98)
    'country = NO => currency in ?'
    """
    given = tuple(opened(node) for node in form.given)
    made = replace(form, given=given, body=tuple(map(opened, form.body)), over=None)
    if form.implies_class:
        return to_text(sentence_of(replace(made, head=_open_head(form))))
    sides = [any(getattr(piece, side) for piece in form.pieces) for side in ("lower", "upper")]
    lower, upper = (Hole() if there else None for there in sides)
    by = dict.fromkeys(to_text(item) for piece in form.pieces for item in _cut_items(piece))
    bounded = to_text(sentence_of(replace(made, pieces=(Piece(lower, upper),), by=())))
    # What all rows have and what most rows have are two rules about the same.
    whole = " of all" if coverage == 1 and form.is_single else ""
    return f"{bounded}{' by ' if by else ''}{', '.join(by)}{whole}{of_units(form.over)}"


def of_units(over: Over | None) -> str:
    """What is added to what a rule is about, where its mini-batches are of units."""
    return " over units" if isinstance(over, Units) else ""


def cuts_of(form: Form) -> tuple[float, ...]:
    """The cut points in the conditions of a rule, in its order, and the size of its mini-batches.

    >>> from sqrl._language import parse
    >>> from sqrl._language.forms import read_form
    >>> cuts_of(read_form(parse("3 < a <= 5 and b = 2 => x <= 1")))
    (3.0, 5.0)
    """
    cuts = [cut for node in (*form.given, *form.body) for cut in cuts_in(node)]
    return (*cuts, *([] if form.over is None else [float(over_order(form.over)[1])]))


def cuts_in(node: Node) -> list[float]:
    """The numbers that a formula compares something with by order."""
    found: list[float] = []
    for part in walk(node):
        match part:
            case Compare(left, op, right) if op in _ORDER:
                found += [side.value for side in (left, right) if isinstance(side, Number)]
            case Between(lower, _, _, _, upper):
                found += [side.value for side in (lower, upper) if isinstance(side, Number)]
    return found


def opened(node: Node) -> Node:
    """The formula with ? for its cut points; values of columns stay."""

    def change(part: Node) -> Node | None:
        match part:
            case Compare(left, op, right) if op in _ORDER:
                return Compare(_open(left), op, _open(right))
            case Between(lower, lower_op, item, upper_op, upper):
                return Between(_open(lower), lower_op, item, upper_op, _open(upper))
        return None

    return rewrite(node, change)


def digest(text: str) -> str:
    """A short hexadecimal digest of a text.

    >>> digest("? <= age <= ?")
    'd9434650'
    """
    return blake2s(text.encode(), digest_size=BYTES).hexdigest()


def numbered(digests: Sequence[str], cuts: Sequence[tuple[float, ...]]) -> list[str]:
    """The digests, those that stand twice with a number in the order of their cut points.

    >>> numbered(["a", "b", "a"], [(2.0,), (), (1.0,)])
    ['a-2', 'b', 'a']
    """
    made = list(digests)
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(digests):
        groups.setdefault(one, []).append(place)
    for one, places in groups.items():
        if len(places) > 1:
            for number, place in enumerate(sorted(places, key=lambda p: (cuts[p], p)), start=1):
                made[place] = one if number == 1 else f"{one}-{number}"
    return made


def _open(node: Node) -> Node:
    return Hole() if isinstance(node, Number) else node


def _open_head(form: Form) -> Node | None:
    """The head with ? for values that may have been learned: those of no interval's class."""
    match form.head:
        case In(item, _):
            return In(item, (Hole(),))
        case Compare(item, "=", _) if not any(cuts_in(node) for node in form.given):
            return In(item, (Hole(),))
    return form.head


def _cut_items(piece: Piece) -> list[Node]:
    return [part.left for part in conjuncts(piece.test) if isinstance(part, Compare)]
