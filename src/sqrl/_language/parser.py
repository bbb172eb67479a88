"""Text to tree: every sentence that is not refused prints and parses back as the same tree."""

import json
import math
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, __version__
from lark.exceptions import UnexpectedInput

from sqrl._language.names import (
    MOST_ROWS_BACK,
    SEQUENCE_FUNCTIONS,
    SequenceColumn,
    sequence_of,
)
from sqrl._language.printer import to_text
from sqrl._language.syntax_errors import unreadable
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
    Units,
    Word,
    children,
)
from sqrl.errors import ParseError

LONGEST_SENTENCE = 100_000  # characters
DEEPEST_SENTENCE = 100  # nodes within nodes, which Python's own stack bears many times over
MOST_PIECES = 256  # of a bucketed rule
KNOWN = "known"  # the one function that is a formula
MOST_BUCKETS = 1_000  # of an axis of shares
OF_AXES = frozenset(["distance"])  # statistics of shares: what they are of is divided into cells
LARGEST_COUNT = 1_000_000_000  # buckets, literals, rows in a mini-batch

_FORMULAS = (Compare, Between, In, Known, Each, Not, And, Or, Implies, Choice)
_EXPRESSIONS = (Number, Binary, Negative, Hole, Call, Given)


@lru_cache(maxsize=4096)
def parse(text: str) -> Sentence:
    """The sentence as a tree.

    >>> from sqrl._language.printer import to_text
    >>> to_text(parse("type=Car => ?<=width / height<=?"))
    'type = Car => ? <= width / height <= ?'
    """
    _check_length(text)
    try:
        sentence: Sentence = _lark().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise unreadable(text, error) from None
    except ParseError as error:
        raise error.at(_beginning(text)) from None
    if _is_deep(sentence):
        raise ParseError(
            f"The sentence is nested more than {DEEPEST_SENTENCE} levels deep.",
            where=_beginning(text),
            fix="split it into several rules, or give parts of it a name under 'statistics'",
        )
    return sentence


@lru_cache(maxsize=4096)
def parse_formula(text: str) -> Node:
    """A formula or expression as a tree: a sentence without `by` and `over`.

    >>> parse_formula("age > 50")
    Compare(left=Name(name='age'), op='>', right=Number(value=50.0))
    """
    sentence = parse(text)
    if sentence.by or sentence.over:
        raise ParseError(
            "A formula cannot have 'by' or 'over'.", where=text, fix="leave that part out"
        )
    return sentence.claim


def is_formula(node: Node) -> bool:
    """Whether the node can only be true or false; a name can be either."""
    return isinstance(node, _FORMULAS)


def is_expression(node: Node) -> bool:
    """Whether the node can only be a number; a name can be either."""
    return isinstance(node, _EXPRESSIONS)


@cache
def _lark() -> Lark:
    """The parser, from tables made before if they are of this grammar and this lark.

    Making them takes ten times as long as all sentences of a schema.
    """
    grammar, made = (
        files("sqrl._language").joinpath(name).read_text(encoding="utf-8")
        for name in ("grammar.lark", "grammar.json")
    )
    tables = json.loads(made, object_hook=_numbered)
    if (tables["lark"], tables["grammar"]) != (__version__, grammar):
        return Lark(grammar, parser="lalr", start="sentence", transformer=_Builder())
    load: Any = Lark._load_from_dict  # as lark's own standalone parsers do
    return load(tables["data"], tables["memo"], transformer=_Builder())  # type: ignore[no-any-return]


def _numbered(table: dict[str, Any]) -> dict[Any, Any]:
    """A table of lark's, whose numbers JSON keeps as text where they are keys."""
    return {int(key) if key.isdigit() else key: value for key, value in table.items()}


def as_axis(node: Node) -> Node:
    """The node as an axis of shares: `age/10` divides age into ten buckets.

    >>> as_axis(parse_formula("age/10"))
    Bucket(item=Name(name='age'), n_buckets=10)
    """
    match node:
        case Binary("/", item, Number(value)) if value.is_integer() and 2 <= value <= MOST_BUCKETS:
            return Bucket(item, int(value))
    return node


def _check_length(text: str) -> None:
    if not text.strip():
        raise ParseError("The sentence is empty.", fix="write a rule, such as '0 <= age <= 120'")
    if len(text) > LONGEST_SENTENCE:
        raise ParseError(
            f"The sentence has {len(text):,} characters; at most {LONGEST_SENTENCE:,} are read.",
            where=_beginning(text),
            fix="split it into several rules",
        )


def _is_deep(node: Node) -> bool:
    """Whether nodes are nested too deeply to walk; the pieces of a choice lie side by side."""
    todo = [(node, 1)]
    while todo:
        part, depth = todo.pop()
        if depth > DEEPEST_SENTENCE:
            return True
        last = part.otherwise if isinstance(part, Choice) else None
        todo += [(child, depth + (child is not last)) for child in children(part)]
    return False


class _Builder(Transformer[Token, Node]):
    """One method for each line of the grammar that makes a node."""

    def sentence(self, parts: list[Any]) -> Sentence:
        claim, *rest = parts
        by = tuple(part for part in rest if isinstance(part, Bucket))
        _check_pieces(math.prod(bucket.n_buckets for bucket in by))
        tokens = [part for part in rest if isinstance(part, Token)]
        if not tokens:
            return Sentence(_argument(claim), by)
        size = _whole(tokens[0], "over", example="over 256")
        return Sentence(_argument(claim), by, Units(size) if len(tokens) > 1 else size)

    def implies(self, parts: list[Node]) -> Node:
        return Implies(_formula(parts[0]), _formula(parts[1]))

    def choice(self, parts: list[Node]) -> Node:
        _check_pieces(len(parts) // 2 + 1)
        *firsts, last = map(_formula, parts)
        for then, test in zip(firsts[-2::-2], firsts[::-2], strict=True):
            last = Choice(then, test, last)
        return last

    def disjunction(self, parts: list[Node]) -> Node:
        return Or(_flat(Or, parts))

    def conjunction(self, parts: list[Node]) -> Node:
        return And(_flat(And, parts))

    def negation(self, parts: list[Node]) -> Node:
        return Not(_formula(parts[0]))

    def compare(self, parts: list[Any]) -> Node:
        left, op, right = parts
        op = "=" if op == "==" else str(op)
        if op not in {"=", "!="}:
            return Compare(_operand(left), op, _operand(right))
        if isinstance(left, Number | Word | Truth | Hole) and isinstance(right, Name):
            left, right = right, left  # `1 = smoke` says what `smoke = 1` says
        right = _constant(right)
        category = _is_category(right) and not isinstance(left, Number | Hole)
        return Compare(_operand(left), op, right if category else _operand(right))

    def between(self, parts: list[Any]) -> Node:
        lower, lower_op, item, upper_op, upper = parts
        signs = {str(lower_op), str(upper_op)}
        if signs <= {">", ">="}:
            flipped = {">": "<", ">=": "<="}
            lower, upper = upper, lower
            lower_op, upper_op = flipped[upper_op], flipped[lower_op]
        elif not signs <= {"<", "<="}:
            raise ParseError(
                f"A chain of comparisons cannot join '{lower_op!s}' and '{upper_op!s}'.",
                fix="write lower <= item <= upper, or join two comparisons with 'and'",
            )
        return Between(
            _operand(lower), str(lower_op), _operand(item), str(upper_op), _operand(upper)
        )

    def member(self, parts: list[Node]) -> Node:
        item, *values = parts
        return In(_operand(item), tuple(map(_constant, values)))

    def member_of_seen(self, parts: list[Node]) -> Node:
        return In(_operand(parts[0]), (Hole(),))

    def each(self, parts: list[Any]) -> Node:
        item, *sizes = parts
        n_buckets = _whole(sizes[-1], "of", example="in each of 4")
        if len(sizes) == 2 and sizes[0] != "1":
            raise ParseError(
                f"'in {sizes[0]} of {sizes[1]}' would pick one bucket.",
                fix=f"write 'in each of {sizes[1]}' for one rule in each bucket",
            )
        if n_buckets < 2:
            raise ParseError("'in each of' needs 2 buckets or more.", fix="write 'in each of 4'")
        return Each(_operand(item), n_buckets)

    def binary(self, parts: list[Any]) -> Node:
        left, op, right = parts
        return Binary(str(op), _operand(left), _operand(right))

    def negative(self, parts: list[Node]) -> Node:
        item = _operand(parts[0])
        return Number(-item.value) if isinstance(item, Number) else Negative(item)

    def negative_number(self, parts: list[Token]) -> Node:
        return Number(-_float(parts[0]))

    def repeat(self, parts: list[Any]) -> Node:
        name, *bounds = parts
        example = f"{name}{{1..3}}"
        low, high = (_whole(bounds[end], "{", example=example) for end in (0, -1))
        if low > high:
            raise ParseError(
                f"{name}{{{low}..{high}}} asks for no literals.", fix=f"write {example}"
            )
        return Repeat(name, low, high)

    def call(self, parts: list[Any]) -> Node:
        function, *arguments = parts
        made = tuple(map(_argument, arguments))
        if function in SEQUENCE_FUNCTIONS:
            return Name(_sequence(function, made))
        if function != KNOWN:
            return Call(function, tuple(map(as_axis, made)) if function in OF_AXES else made)
        if len(made) != 1:
            raise ParseError(
                f"known(...) takes one column, expression or formula, not {len(made)}.",
                fix="write known(age), and join several with 'and'",
            )
        return Known(made[0])

    def call_given(self, parts: list[Any]) -> Node:
        function, item, given = parts
        return Call(function, (Given(as_axis(_operand(item)), as_axis(_operand(given))),))

    def bucket(self, parts: list[Node]) -> Bucket:
        item = parts[0]
        if isinstance(item, Binary) and item.op == "/" and isinstance(item.right, Number):
            n_buckets = item.right.value
            if n_buckets.is_integer() and n_buckets >= 2:
                return Bucket(item.left, int(n_buckets))
        raise ParseError(
            f"'by {_short(item)}' does not say how many buckets.",
            fix="write 'by area/4' for four buckets of equal frequency",
        )

    def number(self, parts: list[Token]) -> Node:
        return Number(_float(parts[0]))

    def string(self, parts: list[Token]) -> Node:
        return Word(_unquote(str(parts[0])))

    def true(self, _parts: list[Token]) -> Node:
        return Truth(True)

    def false(self, _parts: list[Token]) -> Node:
        return Truth(False)

    def hole(self, _parts: list[Token]) -> Node:
        return Hole()

    def name(self, parts: list[Any]) -> Any:
        part = parts[0]
        if isinstance(part, Token):  # the inner `name`: the text alone
            text = str(part)
            return text[1:-1].replace("``", "`") if text.startswith("`") else text
        return Name(part)


def _sequence(function: str, arguments: tuple[Node, ...]) -> str:
    """The name of the column that `lag(x, 3)` or one of its kind stands for."""
    example = f"write {function}(x{', 24' if function == 'rolling_mean' else ''})"
    if len(arguments) not in ({2} if function == "rolling_mean" else {1, 2}):
        takes = "a column and a number of rows"
        takes += "" if function == "rolling_mean" else ", which is 1 where it is left out"
        raise ParseError(f"{function}(...) takes {takes}.", fix=example)
    item, *counted = arguments
    if not isinstance(item, Name):
        raise ParseError(
            f"{function}(...) takes a column or a statistic by its name, not '{_short(item)}'.",
            fix="give it a name under 'statistics' and write that",
        )
    rows = counted[0] if counted else Number(1.0)
    if not isinstance(rows, Number) or rows.value not in range(1, MOST_ROWS_BACK + 1):
        raise ParseError(
            f"'{_short(rows)}' in {function}(...) is not a whole number of rows "
            f"from 1 to {MOST_ROWS_BACK:,}.",
            fix=f"write {function}(x, 24)",
        )
    name = SequenceColumn(function, item.name, int(rows.value)).name
    if sequence_of(name) is None:
        fix = "give the inner part a name under 'statistics'"
        raise ParseError(f"{_cut(name, 60)} is nested too deeply.", fix=fix)
    return name


def _flat(kind: type[And] | type[Or], parts: list[Node]) -> tuple[Node, ...]:
    """The items, those of directly nested nodes of the same kind lifted."""
    items: list[Node] = []
    for part in map(_formula, parts):
        items.extend(part.items if isinstance(part, kind) else [part])
    return tuple(items)


def _formula(node: Node) -> Node:
    """The node, if it can be true or false."""
    if is_expression(node) or _is_category(node):
        raise ParseError(
            f"'{_short(node)}' is a value where something true or false is needed.",
            fix="compare it with something, such as 'age > 50'; 'at least' is written '>='",
        )
    return node


def _operand(node: Node) -> Node:
    """The node, if it can be a number."""
    if is_formula(node) or isinstance(node, Repeat):
        raise ParseError(
            f"'{_short(node)}' is true or false where a number is needed.",
            fix="join comparisons with 'and' or 'or'",
        )
    if _is_category(node):
        raise ParseError(
            f"'{_short(node)}' is a category where a number is needed.",
            fix="put categories after '=' or '!=', such as 'type = Car'",
        )
    return node


def _argument(node: Node) -> Node:
    """The node, if it can be a number, or true or false."""
    if _is_category(node):
        raise ParseError(
            f"'{_short(node)}' is a category where a formula or a number is needed.",
            fix="compare a column with it, such as 'type = Car'; odd names go in `backticks`",
        )
    return node


def _constant(node: Node) -> Node:
    """The node where a value is meant: in `type = Car` a name is a category, not a column.

    In `status = lag(status)` it says itself that it is no category.
    """
    if isinstance(node, Name) and sequence_of(node.name) is None:
        return Word(node.name)
    return node


def _is_category(node: Node) -> bool:
    return isinstance(node, Word | Truth)


def _float(token: Token) -> float:
    value = float(token)
    if math.isinf(value):
        raise ParseError(f"{_cut(token, 40)} is too large a number.", fix="write it in other units")
    return value


def _whole(token: Token, place: str, *, example: str) -> int:
    """The count that follows a keyword."""
    value = float(token)
    if not (value.is_integer() and 1 <= value <= LARGEST_COUNT):
        raise ParseError(
            f"{_cut(token, 40)} after '{place}' is not a whole number from 1 to {LARGEST_COUNT:,}.",
            fix=f"write '{example}'",
        )
    return int(value)


def _check_pieces(n_pieces: int) -> None:
    if n_pieces > MOST_PIECES:
        raise ParseError(
            f"The rule has {n_pieces:,} pieces; at most {MOST_PIECES} are read.",
            fix="use fewer buckets",
        )


def _unquote(text: str) -> str:
    """What a quoted value says; both kinds of quotes know the escapes of JSON."""
    plain = text
    if text[0] == "'":
        inner = re.sub(r'\\.|"', _double, text[1:-1], flags=re.DOTALL)
        plain = f'"{inner}"'
    try:
        value = str(json.loads(plain, strict=False))
        value.encode()  # half of a surrogate pair is no text
    except (json.JSONDecodeError, UnicodeEncodeError):
        raise ParseError(
            f"{_cut(text, 40)} is not a well-formed quoted value.",
            fix=r"write a backslash as two: \\",
        ) from None
    return value


def _double(sign: re.Match[str]) -> str:
    """A quote or an escape of a single-quoted value as it stands in double quotes."""
    return {"\\'": "'", '"': '\\"'}.get(sign[0], sign[0])


def _short(node: Node) -> str:
    """The node's text for a message."""
    return "..." if _is_deep(node) else _cut(to_text(node), 60)


def _beginning(text: str) -> str:
    return _cut(" ".join(text.split()), 100)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
