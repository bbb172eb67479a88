"""Text to tree, with errors that point at the column."""

import json
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from sqrl._language.printer import KEYWORDS, to_text
from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Bucket,
    Call,
    Choice,
    Compare,
    Each,
    Hole,
    Implies,
    In,
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
from sqrl.errors import ParseError, nearest

LONGEST_SENTENCE = 20_000
DEEPEST_SENTENCE = 60

# What people write from habit, and what it is called here.
_HABITS = {
    "&": "and",
    "&&": "and",
    "|": "or",
    "||": "or",
    "!": "not",
    "~": "not",
    "->": "=>",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "⇒": "=>",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "^": "**",
    "{": "[",
}
_SPOKEN = {
    "COMPARISON": "<=",
    "PLUS": "+",
    "TIMES_OVER": "*",
    "POWER": "**",
    "HOLE": "?",
    "NUMBER": "a number",
    "STRING": "a quoted value",
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "LBRACE": "{",
    "RBRACE": "}",
    "COMMA": ",",
    "MINUS": "-",
    "IMPLIES": "=>",
    "__ANON_0": "..",
    "$END": "the end",
}


def parse(text: str) -> Sentence:
    """The sentence as a tree.

    >>> from sqrl._language.printer import to_text
    >>> to_text(parse("type=Car => ?<=width / height<=?"))
    'type = Car => ? <= width / height <= ?'
    """
    sentence: Sentence = _parse(text, "sentence")
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
    return isinstance(node, Compare | Between | In | Each | Not | And | Or | Implies | Choice)


def is_expression(node: Node) -> bool:
    """Whether the node can only be a number; a name can be either."""
    return isinstance(node, Number | Binary | Negative | Hole | Call)


def _parse(text: str, start: str) -> Any:
    if len(text) > LONGEST_SENTENCE:
        raise ParseError(
            f"The sentence has {len(text)} characters; at most {LONGEST_SENTENCE} are read.",
            where=text[:60] + " ...",
            fix="split it into several rules",
        )
    if text.count("(") > DEEPEST_SENTENCE or text.count("not ") > 10 * DEEPEST_SENTENCE:
        raise ParseError(
            "The sentence is nested too deeply to be read.",
            where=text[:60] + " ...",
            fix="split it into several rules",
        )
    try:
        return _lark().parse(text, start=start)
    except UnexpectedInput as error:
        raise _explain(text, error) from None
    except ParseError as error:
        raise error.at(text) from None


@cache
def _lark() -> Lark:
    grammar = files("sqrl._language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start=["sentence"], transformer=_Builder())


class _Builder(Transformer[Token, Node]):
    """One method for each line of the grammar that makes a node."""

    def sentence(self, parts: list[Any]) -> Sentence:
        claim, *rest = parts
        by = tuple(part for part in rest if isinstance(part, Bucket))
        sizes = [_whole(part, "over") for part in rest if isinstance(part, Token)]
        return Sentence(claim, by, sizes[0] if sizes else None)

    def implies(self, parts: list[Node]) -> Node:
        return Implies(_formula(parts[0]), _formula(parts[1]))

    def choice(self, parts: list[Node]) -> Node:
        return Choice(_formula(parts[0]), _formula(parts[1]), _formula(parts[2]))

    def disjunction(self, parts: list[Node]) -> Node:
        return Or(_flat(Or, parts))

    def conjunction(self, parts: list[Node]) -> Node:
        return And(_flat(And, parts))

    def negation(self, parts: list[Node]) -> Node:
        return Not(_formula(parts[0]))

    def compare(self, parts: list[Any]) -> Node:
        left, op, right = parts
        op = "=" if op == "==" else str(op)
        if op in {"=", "!="} and isinstance(right, Name):
            right = Word(right.name)  # `type = Car`: a category, not a column
        return Compare(_operand(left), op, _operand(right))

    def between(self, parts: list[Any]) -> Node:
        lower, lower_op, item, upper_op, upper = parts
        signs = {str(lower_op), str(upper_op)}
        if signs <= {">", ">="}:
            flipped = {">": "<", ">=": "<="}
            lower, upper = upper, lower
            lower_op, upper_op = flipped[upper_op], flipped[lower_op]
        elif not signs <= {"<", "<="}:
            raise ParseError(
                f"A chain of comparisons cannot mix {lower_op!s} and {upper_op!s}.",
                fix="write lower <= item <= upper, or join two comparisons with 'and'",
            )
        return Between(
            _operand(lower), str(lower_op), _operand(item), str(upper_op), _operand(upper)
        )

    def member(self, parts: list[Node]) -> Node:
        item, *values = parts
        words = [Word(value.name) if isinstance(value, Name) else value for value in values]
        return In(_operand(item), tuple(words))

    def each(self, parts: list[Any]) -> Node:
        item, *sizes = parts
        if len(sizes) == 2 and sizes[0] != "1":
            raise ParseError(
                f"'in {sizes[0]} of {sizes[1]}' would pick one bucket.",
                fix=f"write 'in each of {sizes[1]}' for one rule in each bucket",
            )
        n_buckets = _whole(sizes[-1], "each of")
        if n_buckets < 2:
            raise ParseError("'in each of' needs 2 buckets or more.", fix="write 'in each of 4'")
        return Each(_operand(item), n_buckets)

    def binary(self, parts: list[Any]) -> Node:
        left, op, right = parts
        return Binary(str(op), _operand(left), _operand(right))

    def negative(self, parts: list[Node]) -> Node:
        item = _operand(parts[0])
        return Number(-item.value) if isinstance(item, Number) else Negative(item)

    def negative_number(self, parts: list[Any]) -> Node:
        return Number(-float(parts[0]))

    def repeat(self, parts: list[Any]) -> Node:
        name, *bounds = parts
        low, high = _whole(bounds[0], "{}"), _whole(bounds[-1], "{}")
        if not 1 <= low <= high:
            raise ParseError(
                f"{name}{{{low}..{high}}} asks for no literals.", fix=f"write {name}{{1..3}}"
            )
        return Repeat(name, low, high)

    def call(self, parts: list[Any]) -> Node:
        return Call(parts[0], tuple(parts[1:]))

    def bucket(self, parts: list[Node]) -> Bucket:
        item = parts[0]
        if isinstance(item, Binary) and item.op == "/" and isinstance(item.right, Number):
            n_buckets = item.right.value
            if n_buckets == int(n_buckets) and n_buckets >= 2:
                return Bucket(item.left, int(n_buckets))
        raise ParseError(
            f"'by {to_text(item)}' does not say how many buckets.",
            fix="write 'by area/4' for four buckets of equal frequency",
        )

    def number(self, parts: list[Token]) -> Node:
        return Number(float(parts[0]))

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


def _flat(kind: type[And] | type[Or], parts: list[Node]) -> tuple[Node, ...]:
    """The items, those of directly nested nodes of the same kind lifted."""
    items: list[Node] = []
    for part in map(_formula, parts):
        items.extend(part.items if isinstance(part, kind) else [part])
    return tuple(items)


def _formula(node: Node) -> Node:
    if is_expression(node) or isinstance(node, Word | Truth):
        raise ParseError(
            f"'{to_text(node)}' is a value where something true or false is needed.",
            fix="compare it with something, such as 'age > 50'",
        )
    return node


def _operand(node: Node) -> Node:
    if is_formula(node):
        raise ParseError(
            f"'{to_text(node)}' is true or false where a number is needed.",
            fix="join comparisons with 'and' or 'or'",
        )
    return node


def _whole(token: Token, place: str) -> int:
    value = float(token)
    if value != int(value) or value < 1:
        raise ParseError(f"{token} after '{place}' must be a whole number of 1 or more.")
    return int(value)


def _unquote(text: str) -> str:
    if text[0] == '"':
        try:
            return str(json.loads(text))
        except json.JSONDecodeError:
            raise ParseError(f"{text} is not a well-formed quoted value.") from None
    return text[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _explain(text: str, error: UnexpectedInput) -> ParseError:
    """The error for text outside the grammar, pointing at the column."""
    if isinstance(error, UnexpectedEOF) or _at_end(error):
        column, seen = len(text) + 1, "the end of the text"
    elif isinstance(error, UnexpectedCharacters):
        column, seen = error.column, repr(text[error.pos_in_stream])
    else:
        assert isinstance(error, UnexpectedToken)
        column, seen = error.column, repr(str(error.token))
    fix = _habit(text, column) or _misspelt(error) or _expected(error)
    pointer = f"{text}\n         {' ' * (column - 1)}^"
    return ParseError(f"Cannot read column {column}: {seen} is unexpected.", where=pointer, fix=fix)


def _at_end(error: UnexpectedInput) -> bool:
    return isinstance(error, UnexpectedToken) and error.token.type == "$END"


def _habit(text: str, column: int) -> str | None:
    rest = text[column - 1 :]
    for habit in sorted(_HABITS, key=len, reverse=True):
        if rest.startswith(habit):
            return f"write '{_HABITS[habit]}' instead of '{habit}'"
    if rest.startswith(">") and text[column - 2 : column - 1] == "-":
        return "write '=>' instead of '->'"
    return None


def _misspelt(error: UnexpectedInput) -> str | None:
    """A hint where a keyword in another case or misspelt is the likely cause."""
    if not isinstance(error, UnexpectedToken) or error.token.type != "NAME":
        return None
    expected = {name.lower() for name in error.accepts or error.expected}
    words = sorted(KEYWORDS & expected)
    if str(error.token).lower() in words:
        return f"write '{str(error.token).lower()}' in small letters"
    hint = nearest(str(error.token), words)
    return hint if hint.startswith("did you mean") else None


def _expected(error: UnexpectedInput) -> str | None:
    names = getattr(error, "accepts", None) or getattr(error, "expected", None) or ()
    spoken = {_SPOKEN.get(name, name.lower()) for name in names}
    return f"expected {', '.join(sorted(spoken))}" if spoken else None
