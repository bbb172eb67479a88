"""The nodes of a parsed rule: small, frozen, comparable by value.

Expressions give a number for each row, formulas true, false or unknown. A `Sentence` is a rule, or
a template where it still has a `Hole` (a bound to infer) or names that a schema enumerates.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace


class Node(Struct, frozen=True):
    """What all nodes are; never made by itself."""


class Number(Node, frozen=True):
    """A plain number."""

    value: float


class Word(Node, frozen=True):
    """A category, such as `Car` in `type = Car`."""

    text: str


class Truth(Node, frozen=True):
    """`true` or `false`, the values of a boolean column."""

    value: bool


class Name(Node, frozen=True):
    """A column, a derived statistic, or a name that a schema enumerates."""

    name: str


class Hole(Node, frozen=True):
    """`?`, a bound to be inferred."""


class Binary(Node, frozen=True):
    """Arithmetic: `left op right` with op one of + - * / **."""

    op: str
    left: Node
    right: Node


class Negative(Node, frozen=True):
    """`-item`."""

    item: Node


class Call(Node, frozen=True):
    """A named statistic or function of expressions or a formula: `f1(body => head)`."""

    function: str
    arguments: tuple[Node, ...]


class Given(Node, frozen=True):
    """`item given other`: within each of the cells that the other is divided into."""

    item: Node
    given: Node


class Compare(Node, frozen=True):
    """`left op right` with op one of = != < <= > >=."""

    left: Node
    op: str
    right: Node


class Between(Node, frozen=True):
    """`lower <= item <= upper`; each sign may be strict."""

    lower: Node
    lower_op: str
    item: Node
    upper_op: str
    upper: Node


class In(Node, frozen=True):
    """`item in [a, b, c]`; in a template `item in ?`, whose values are one `Hole`."""

    item: Node
    values: tuple[Node, ...]


class Known(Node, frozen=True):
    """`known(item)`: a column or expression has a value, or a formula is true or false."""

    item: Node


class Each(Node, frozen=True):
    """`item in each of n`: one rule for each of n buckets of the item."""

    item: Node
    n_buckets: int


class Not(Node, frozen=True):
    """`not item`."""

    item: Node


class And(Node, frozen=True):
    """All of the items; never nested directly in another `And`."""

    items: tuple[Node, ...]


class Or(Node, frozen=True):
    """At least one of the items; never nested directly in another `Or`."""

    items: tuple[Node, ...]


class Implies(Node, frozen=True):
    """`body => head`."""

    body: Node
    head: Node


class Repeat(Node, frozen=True):
    """`L{low..high}`: every conjunction of low to high literals of the domain L."""

    name: str
    low: int
    high: int


class Choice(Node, frozen=True):
    """`then if test else otherwise`: the pieces of a bucketed rule."""

    then: Node
    test: Node
    otherwise: Node


class Bucket(Node, frozen=True):
    """`item/n` after `by`: n buckets of the item's values."""

    item: Node
    n_buckets: int


class Units(Struct, frozen=True):
    """`n units` after `over`: a mini-batch is all rows of so many units.

    >>> f"{Units(1000)}, {Units(1000):,}, {Units(1)}"
    '1000 units, 1,000 units, 1 unit'
    """

    n: int

    def __format__(self, spec: str) -> str:
        return f"{self.n:{spec}} unit{'' if self.n == 1 else 's'}"

    def __str__(self) -> str:
        return f"{self}"


Over = int | Units  # rows in a mini-batch, or units


def over_order(over: Over) -> tuple[bool, int]:
    """What mini-batches are sorted by: those of rows come first, each by their size.

    >>> sorted([Units(3), 9, Units(1), 4], key=over_order)
    [4, 9, Units(n=1), Units(n=3)]
    """
    return (True, over.n) if isinstance(over, Units) else (False, over)


class Sentence(Node, frozen=True):
    """A whole rule or template: what holds, bucketed by what, over mini-batches of how many."""

    claim: Node
    by: tuple[Bucket, ...] = ()
    over: Over | None = None


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below `node`, left to right."""
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from value


def is_about_missing(node: Node) -> bool:
    """Whether a formula says that a value is missing.

    >>> is_about_missing(Not(Known(Name("age"))))
    True
    """
    return isinstance(node, Not) and isinstance(node.item, Known)


def walk(node: Node) -> Iterator[Node]:
    """`node` and every node below it, parents first.

    >>> [type(part).__name__ for part in walk(Not(Name("smoke")))]
    ['Not', 'Name']
    """
    todo = [node]
    while todo:
        part = todo.pop()
        yield part
        todo += reversed(tuple(children(part)))


def rewrite(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The tree with every node for which `change` gives something replaced by that.

    >>> rewrite(Not(Name("A")), lambda node: Name("age") if node == Name("A") else None)
    Not(item=Name(name='age'))
    """
    changed = change(node)
    if changed is not None:
        return changed
    fields: dict[str, Node | tuple[Node, ...]] = {}
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if isinstance(value, Node):
            fields[field] = rewrite(value, change)
        elif isinstance(value, tuple):
            fields[field] = tuple(rewrite(item, change) for item in value)
    return replace(node, **fields) if fields else node


def conjuncts(formula: Node | None) -> tuple[Node, ...]:
    """The formulas that must all hold: the items of an `And`, else the formula alone.

    >>> conjuncts(And((Name("a"), Name("b"))))
    (Name(name='a'), Name(name='b'))
    >>> conjuncts(None)
    ()
    """
    if formula is None:
        return ()
    return formula.items if isinstance(formula, And) else (formula,)


def conjunction(items: tuple[Node, ...]) -> Node | None:
    """The formula that all items hold, flat; None where there are none.

    >>> conjunction((Name("a"),))
    Name(name='a')
    >>> len(conjunction((Name("a"), And((Name("b"), Name("c"))))).items)
    3
    """
    flat = tuple(part for item in items for part in conjuncts(item))
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else And(flat)
