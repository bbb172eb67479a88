"""What is wrong with a text outside the grammar: where it stops making sense, and the way out."""

import re
from typing import Any

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sqrl._language.names import KEYWORDS
from sqrl.errors import ParseError, nearest

WIDEST_EXCERPT = 72

# What people write from habit, and how it is written here; some as escapes, as they look like
# other characters.
_HABITS = {
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "!": "not",
    "~": "not",
    "->": "=>",
    "→": "=>",
    "⇒": "=>",
    "=<": "<=",
    "<>": "!=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∧": "and",
    "\N{LOGICAL OR}": "or",
    "¬": "not",
    "^": "**",
    "\N{MULTIPLICATION SIGN}": "*",
    "÷": "/",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "“": '"',
    "”": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}
_SPOKEN = {
    "COMPARISON": "'<='",
    "IMPLIES": "'=>'",
    "COMMA": "','",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "__ANON_0": "'..'",
    "NUMBER": "a number",
    "NAME": "a name",
    "$END": "the end",
}
# Never named among what could stand somewhere: something else in the list stands for them.
_IMPLIED = frozenset(
    {
        *("QUOTED_NAME", "STRING", "HOLE", "LPAR", "LBRACE", "_NOT", "_TRUE", "_FALSE"),
        *("PLUS", "MINUS", "TIMES_OVER", "POWER", "_GIVEN"),
    }
)
_WORD_BEFORE = re.compile(r"([^\W\d]\w*)\s*\Z")
_NAME_BEFORE = re.compile(r"([^\W\d]\w*)\Z")
_REST_OF_NAME = re.compile(r"\S\w+|\w")


def unreadable(text: str, error: UnexpectedInput) -> ParseError:
    """The error for a text outside the grammar, which points at the place."""
    place = _place(text, error)
    if place == len(text.rstrip()):
        seen = "the end of the text"
    elif isinstance(error, UnexpectedToken):
        seen = repr(str(error.token))
    else:
        seen = repr(text[place])
    fix = (
        _habit(text, place, error)
        or _keyword(text, place, error)
        or _name(text, place, error)
        or _otherwise(text, place, error)
    )
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    where = f"column {column}" if "\n" not in text.strip() else f"line {line}, column {column}"
    excerpt = _excerpt(text, place)
    return ParseError(f"Cannot read {where}: {seen} is unexpected.\n{excerpt}", fix=fix)


def _place(text: str, error: UnexpectedInput) -> int:
    """The index of the first character that makes no sense; the text's length at its end."""
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return len(text.rstrip())
    place: Any = error.pos_in_stream
    return int(place)


def _excerpt(text: str, place: int) -> str:
    """The line, or what of it stands around the place, and below it a pointer."""
    start = text.rfind("\n", 0, place) + 1
    line = text[start:].split("\n", 1)[0].rstrip()
    column = place - start
    first = 0 if len(line) <= WIDEST_EXCERPT else max(0, column - WIDEST_EXCERPT // 2)
    shown = line[first : first + WIDEST_EXCERPT]
    before = "..." if first else ""
    after = "..." if first + WIDEST_EXCERPT < len(line) else ""
    plain = "".join(" " if character.isspace() else character for character in shown)
    pointer = " " * (len(before) + column - first)
    return f"    {before}{plain}{after}\n    {pointer}^"


def _habit(text: str, place: int, error: UnexpectedInput) -> str | None:
    """A hint where a sign of another language stands at the place, or ends there."""
    if "LSQB" in _accepted(error) and text[place : place + 1] in {"(", "{"}:
        return f"write '[' instead of '{text[place]}'"
    for habit, ours in _HABITS.items():
        for start in {place, place - len(habit) + 1}:
            if start >= 0 and text.startswith(habit, start):
                return f"write {_quoted(ours)} instead of {_quoted(habit)}"
    return None


def _quoted(sign: str) -> str:
    return f'"{sign}"' if sign == "'" else f"'{sign}'"


def _keyword(text: str, place: int, error: UnexpectedInput) -> str | None:
    """A hint where a keyword is in capitals, misspelt or out of place."""
    before = _WORD_BEFORE.search(text[:place])
    if before and before[1] not in KEYWORDS and before[1].lower() in KEYWORDS:
        return f"write '{before[1].lower()}' in small letters"
    if not isinstance(error, UnexpectedToken):
        return None
    token, accepted = str(error.token), _accepted(error)
    if token in KEYWORDS and "NAME" in accepted:
        return f"put something before '{token}', or write `{token}` in backticks if it is a name"
    keywords = sorted(KEYWORDS & {name.lower().lstrip("_") for name in accepted})
    if token.lower() in keywords:
        return f"write '{token.lower()}' in small letters"
    hint = nearest(token, keywords)
    return hint if len(token) > 1 and hint.startswith("did you mean") else None


def _name(text: str, place: int, error: UnexpectedInput) -> str | None:
    """A hint where a name seems to have a space in it."""
    before = _WORD_BEFORE.search(text[:place])
    is_name = isinstance(error, UnexpectedToken) and error.token.type == "NAME"
    if not is_name or not before or before[1] in KEYWORDS:
        return None
    whole = _REST_OF_NAME.match(text, place)
    assert whole is not None
    return f"write a name of several words in backticks: `{before[1]} {whole[0]}`"


def _otherwise(text: str, place: int, error: UnexpectedInput) -> str | None:
    """What could stand at the place, or what a character outside the grammar can mean."""
    if not isinstance(error, UnexpectedCharacters):
        accepted = _accepted(error) - _IMPLIED
        spoken = sorted(_SPOKEN.get(name) or _spoken(name) for name in accepted)
        *most, last = spoken
        return f"expected {', '.join(most)} or {last}" if most else f"expected {last}"
    if text[place] in "\"'`":
        return f"close what {text[place]} opens with another {text[place]}"
    name = _NAME_BEFORE.search(text[:place])
    rest = _REST_OF_NAME.match(text, place)
    if name and rest:
        return f"write a name with such a character in backticks: `{name[1]}{rest[0]}`"
    return 'leave it out; odd names are written in `backticks`, odd values in "quotes"'


def _spoken(terminal: str) -> str:
    """A keyword as it is written."""
    return f"'{terminal.lower().lstrip('_')}'"


def _accepted(error: UnexpectedInput) -> set[str]:
    return set(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
