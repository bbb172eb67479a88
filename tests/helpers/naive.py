"""The language by definition: one row at a time, plain Python, `None` for unknown.

Slow, obvious and independent of the numpy evaluator, so that what is learned, checked and exported
can be held against it. A row is a dict from column to a number, a bool, a str or None; `statistics`
is a dict from the name of a derived statistic to its tree.
"""

import math
import operator
from datetime import UTC, datetime

from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Bucket,
    Call,
    Choice,
    Compare,
    Implies,
    In,
    Known,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Truth,
    Word,
)

ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
FUNCTIONS = {
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
}
ORDER = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _moment(content):
    """A date or moment of a table, or of text that says one as ISO 8601 does; else None."""
    if isinstance(content, str):
        try:
            content = datetime.fromisoformat(content)
        except ValueError:
            return None
    if not isinstance(content, datetime):
        content = datetime(content.year, content.month, content.day)
    return content.replace(tzinfo=UTC) if content.tzinfo is None else content.astimezone(UTC)


def _of_moment(part):
    def compute(content):
        moment = _moment(content)
        return None if moment is None else part(moment)

    return compute


def _share(is_one):
    return lambda text: len([c for c in text if is_one(c)]) / len(text) if text else None


OF_COLUMNS = {
    "days": _of_moment(lambda m: (m - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86400),
    "weekday": _of_moment(lambda m: m.isoweekday()),
    "month": _of_moment(lambda m: m.month),
    "hour": _of_moment(lambda m: m.hour),
    "length": len,
    "digits": _share(str.isdecimal),
    "letters": _share(str.isalpha),
    "blanks": _share(str.isspace),
    "words": lambda text: len(text.split()),
}
FORMULAS = (Not, And, Or, Implies, Choice, Compare, Between, In, Known)


def value(node, row, statistics=None):  # noqa: PLR0911  (one case for each expression)
    """The expression's value on the row; None where it is missing or undefined."""
    match node:
        case Number(number):
            return number
        case Name(name) if name in (statistics or {}):
            return value(statistics[name], row, statistics)
        case Name(name):
            return _cell(row[name])
        case Negative(item):
            number = value(item, row, statistics)
            return None if number is None else -number
        case Binary(op, left, right):
            return _apply(ARITHMETIC[op], [left, right], row, statistics)
        case Call(function, (Name(name),)) if function in OF_COLUMNS:
            found = None if _is_missing(row[name]) else OF_COLUMNS[function](row[name])
            return None if found is None else float(found)
        case Call(function, arguments):
            return _apply(FUNCTIONS[function], arguments, row, statistics)
    raise TypeError(f"{node} is not an expression")


def truth(node, row, statistics=None):  # noqa: C901, PLR0911, PLR0912  (one case for each formula)
    """True, False, or None where it is unknown whether the formula holds on the row."""
    match node:
        case Not(item):
            known = truth(item, row, statistics)
            return None if known is None else not known
        case And(items):
            return _all([truth(item, row, statistics) for item in items])
        case Or(items):
            return _any([truth(item, row, statistics) for item in items])
        case Implies(body, head):
            return _any([truth(Not(body), row, statistics), truth(head, row, statistics)])
        case Choice(then, test, otherwise):
            turn = truth(test, row, statistics)
            return None if turn is None else truth(then if turn else otherwise, row, statistics)
        case Name():
            return {None: None, 0.0: False, 1.0: True}[value(node, row, statistics)]
        case Known(Name(name)) if name not in (statistics or {}):
            return not _is_missing(row[name])
        case Known(item) if isinstance(item, FORMULAS):
            return truth(item, row, statistics) is not None
        case Known(item):
            return value(item, row, statistics) is not None
        case Compare(left, op, Word() | Truth() | Number() as right) if op in {"=", "!="}:
            equal = _is_one_of(left, [right], row, statistics)
            return None if equal is None else equal == (op == "=")
        case Compare(left, op, right):
            return _ordered(left, op, right, row, statistics)
        case Between(lower, lower_op, item, upper_op, upper):
            above = _ordered(lower, lower_op, item, row, statistics)
            return _all([above, _ordered(item, upper_op, upper, row, statistics)])
        case In(item, constants):
            return _is_one_of(item, constants, row, statistics)
    raise TypeError(f"{node} is not a formula")


def outcome(form, row, statistics=None):
    """Whether a finished sample or class rule is "held" or "broken" on the row, or "n/a"."""
    if conjunction(form.given, row, statistics) is not True:
        return "n/a"
    number = value(form.subject, row, statistics) if form.subject is not None else None
    if form.kind == "class":
        if form.subject is not None and (number is None or not _inside(form.pieces[0], number)):
            return "n/a"
        return {None: "n/a", True: "held", False: "broken"}[truth(form.head, row, statistics)]
    assert form.kind == "sample"
    for piece in form.pieces:
        turn = True if piece.test is None else truth(piece.test, row, statistics)
        if turn is None or number is None:
            return "n/a"
        if turn:
            return "held" if _inside(piece, number) else "broken"
    return "n/a"


def batch_outcome(form, rows, statistics=None):
    """Whether a finished batch or logic rule is "held" or "broken" on a mini-batch, or "n/a"."""
    number = batch_value(form, rows, statistics)
    if number is None:
        return "n/a"
    return "held" if _inside(form.pieces[0], number) else "broken"


def batch_value(form, rows, statistics=None):
    """The statistic that a batch or logic rule bounds, of these rows; None where undefined.

    Rows outside the condition do not count, nor do rows whose value or head is unknown, nor for
    `rate` those whose formula is. A row whose body is unknown is not in the body.
    """
    given = [conjunction(form.given, row, statistics) for row in rows]
    rows = [row for row, holds in zip(rows, given, strict=True) if holds is True]
    if form.kind == "batch":
        numbers = [value(form.subject, row, statistics) for row in rows]
        return value_statistic(form.statistic, [n for n in numbers if n is not None])
    if form.kind == "shares":
        return distance(form, rows, statistics)
    assert form.kind == "logic"
    if form.head is not None:
        rows = [row for row in rows if truth(form.head, row, statistics) is not None]
    body = [conjunction(form.body, row, statistics) is True for row in rows]
    if form.head is None:
        assert form.statistic == "rate"
        known = [conjunction(form.body, row, statistics) for row in rows]
        known = [holds for holds in known if holds is not None]
        return sum(known) / len(known) if known else None
    head = [truth(form.head, row, statistics) for row in rows]
    both = sum(a and b for a, b in zip(body, head, strict=True))
    return count_statistic(form.statistic, sum(body), sum(head), both, len(rows))


def distance(form, rows, statistics=None):
    """How far the shares of these rows are from the reference, stratum by stratum."""
    counts = cell_counts(form, rows, statistics)
    n_cells = form.reference.axes[0].n_cells
    known = list(form.reference.counts)
    moved, total = 0.0, 0
    for first in range(0, len(counts), n_cells):
        here, there = counts[first : first + n_cells], known[first : first + n_cells]
        if sum(here) and sum(there):
            apart = [a / sum(here) - b / sum(there) for a, b in zip(here, there, strict=True)]
            moved += sum(here) * sum(map(abs, apart)) / 2
            total += sum(here)
    return moved / total if total else None


def cell_counts(form, rows, statistics=None):
    """How many of the rows are in each cell of the reference; those of a missing value in none."""
    axes = form.reference.axes
    counts = [0] * len(form.reference.counts)
    for row in rows:
        cells = [
            cell_of(axis, item.item if isinstance(item, Bucket) else item, row, statistics)
            for axis, item in zip(axes, form.axes, strict=True)
        ]
        if None not in cells:
            stratum = cells[1] if len(cells) > 1 else 0
            counts[stratum * axes[0].n_cells + cells[0]] += 1
    return counts


def cell_of(axis, item, row, statistics=None):
    """The cell of an axis that a row is in; None where its value is missing."""
    if axis.words is not None:
        word = row[item.name]
        if word is None:
            return None
        return axis.words.index(word) if word in axis.words else len(axis.words)
    number = value(item, row, statistics)
    if number is None:
        return None
    if axis.cuts is not None:
        return sum(number > cut for cut in axis.cuts)
    return axis.numbers.index(number) if number in axis.numbers else len(axis.numbers)


def value_statistic(name, numbers):
    """A statistic of plain numbers; None where there are none."""
    return OF_VALUES[name](sorted(numbers)) if numbers else None


def _mean(numbers):
    return math.fsum(numbers) / len(numbers)


def _std(numbers):
    return math.sqrt(_mean([(number - _mean(numbers)) ** 2 for number in numbers]))


OF_VALUES = {  # of sorted numbers, of which there are some
    "mean": _mean,
    "std": _std,
    "min": lambda numbers: numbers[0],
    "max": lambda numbers: numbers[-1],
    "repeats": lambda numbers: 1 - len(set(numbers)) / len(numbers),
    "median": lambda numbers: (numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2,
}
OF_COUNTS = {  # above and below the line of a fraction
    "f1": lambda body, head, both, _rows: (2 * both, body + head),
    "f1_given": lambda body, _head, both, _rows: (2 * both, body + both if body else 0),
    "precision": lambda body, _head, both, _rows: (both, body),
    "recall": lambda _body, head, both, _rows: (both, head),
    "accuracy": lambda body, head, both, rows: (both + (rows - body - head + both), rows),
    "support": lambda _body, _head, both, rows: (both, rows),
    "lift": lambda body, head, both, rows: (both * rows, body * head),
    "rate": lambda body, _head, _both, rows: (body, rows),
}


def count_statistic(name, body, head, both, rows):
    """A statistic of how many rows are in the body, the head, both and in all; None: undefined."""
    top, bottom = OF_COUNTS[name](body, head, both, rows)
    return top / bottom if bottom else None


def _cell(content):
    """A number or boolean of a table as a float; None for what is missing."""
    if _is_missing(content):
        return None
    assert not isinstance(content, str), f"{content!r} is a category where a number is needed"
    return float(content)


def _is_missing(content):
    return content is None or (isinstance(content, float) and math.isnan(content))


def _apply(function, arguments, row, statistics):
    """The function of the arguments' values; None where one is unknown or it is not finite."""
    numbers = [value(argument, row, statistics) for argument in arguments]
    if None in numbers:
        return None
    try:
        result = function(*numbers)
    except (ArithmeticError, ValueError):
        return None
    return None if isinstance(result, complex) or not math.isfinite(result) else result


def _ordered(left, op, right, row, statistics):
    numbers = [value(side, row, statistics) for side in (left, right)]
    return None if None in numbers else ORDER[op](*numbers)


def _is_one_of(item, constants, row, statistics):
    """Whether the item is one of the constants, as a category or as a number."""
    if isinstance(item, Name) and item.name not in (statistics or {}):
        content = row[item.name]
        if isinstance(content, str):
            return content in [_as_category(constant) for constant in constants]
    number = value(item, row, statistics)
    return None if number is None else number in [_as_number(constant) for constant in constants]


def _as_category(constant):
    match constant:
        case Word(text):
            return text
        case Truth(is_true):
            return "true" if is_true else "false"
        case Number(number):
            return str(int(number)) if number == int(number) else repr(number)


def _as_number(constant):
    """The number that a constant stands for; nan, which no number is, for any other word."""
    if not isinstance(constant, Word):
        return float(constant.value)
    try:
        return float(constant.text)
    except ValueError:
        return math.nan


def _inside(piece, number):
    above = piece.lower is None or piece.lower.value <= number
    return above and (piece.upper is None or number <= piece.upper.value)


def conjunction(parts, row, statistics=None):
    """Whether all the formulas are true on the row; None where that is unknown."""
    return _all([truth(part, row, statistics) for part in parts])


def _all(truths):
    """Kleene's and: false if one is, else unknown if one is."""
    return False if False in truths else None if None in truths else True


def _any(truths):
    """Kleene's or: true if one is, else unknown if one is."""
    return True if True in truths else None if None in truths else False


def values_seen(item, given, rows, statistics=None):
    """The values that an item has on the rows where all conditions are true: plain, each once."""
    found = set()
    for row in rows:
        if conjunction(given, row, statistics) is True:
            content = row.get(item.name) if isinstance(item, Name) else None
            if not isinstance(content, str):
                content = value(item, row, statistics)
            found |= set() if content is None else {content}
    return found


def constants(head):
    """The values that a finished head allows, plain."""
    nodes = head.values if isinstance(head, In) else (head.right,)
    return {node.text if isinstance(node, Word) else float(node.value) for node in nodes}
