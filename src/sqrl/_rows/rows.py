"""A tree over a table's rows, in numpy: numbers for expressions, true / false for formulas.

A missing value makes a comparison unknown, and unknown spreads as in SQL (see `_truths`). A rule
whose condition is unknown does not apply.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sqrl._data.column import words_of
from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Bools, Floats, Int32s, Int64s
from sqrl._kernels.plain.keys import mix
from sqrl._language.names import SEQUENCE_FUNCTIONS, name_text
from sqrl._language.parser import is_formula
from sqrl._language.printer import number_text, to_text, word_text
from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Call,
    Compare,
    Implies,
    In,
    Known,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Or,
    Truth,
    Word,
)
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.truths import Truths, connect
from sqrl.errors import DataError, SchemaError, unknown

FEW = 16  # values that are looked for one by one
MOST_KEPT = 1 << 28  # bytes of truths that a table's rows keep, and of sorted values

RowTruths = Truths[Bools]


def _power(base: Floats, exponent: Floats) -> Floats:
    """The power, missing where either is: numpy's nan ** 0 and 1 ** nan are 1."""
    missing = np.isnan(base) | np.isnan(exponent)
    return np.where(missing, np.nan, np.power(base, exponent))


_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": _power,
}
FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "min": lambda *values: np.minimum.reduce(values),
    "max": lambda *values: np.maximum.reduce(values),
}
KEY = "key"  # of any columns, not only numbers: computed by rows themselves
MISSING = np.uint64(0x6D697373696E6721)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ALL_FUNCTIONS = (*FUNCTIONS, *COLUMN_FUNCTIONS, KEY)
_TAKES_ANY_NUMBER = frozenset(["min", "max"])  # of arguments; the other functions take one
_ORDER: dict[str, Callable[[Floats, Floats], Bools]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(slots=True, eq=False)
class Rows:
    """A table's rows, the statistics derived from its columns, and what was computed of them.

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language import parse_formula
    >>> rows = Rows(as_table({"w": [1.0, 2.0, None], "h": [2.0, 0.0, 1.0]}), {})
    >>> rows.numbers(parse_formula("w / h")).tolist()
    [0.5, nan, nan]
    >>> rows.truths(parse_formula("not w > 1")).true.tolist()
    [True, False, False]
    """

    table: Table
    statistics: Mapping[str, Node]
    _numbers: dict[Node, Floats] = field(default_factory=dict)
    _truths: dict[Node, RowTruths] = field(default_factory=dict)
    _ascending: dict[Node, Floats] = field(default_factory=dict)
    _places: dict[tuple[str, tuple[str, ...]], Int64s] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.table.n_rows

    def numbers(self, node: Node) -> Floats:
        """The expression's value on each row; nan where it is missing or undefined."""
        if node not in self._numbers:
            values = np.asarray(self._compute(node), dtype=np.float64)
            values = np.broadcast_to(values, (self.n,))
            values.flags.writeable = False
            self._numbers[node] = values
        return self._numbers[node]

    def ascending(self, node: Node) -> Floats:
        """The expression's values that are not missing, sorted, with one zero.

        They are kept: bounds of several coverages, and buckets, are asked for of the same values.

        >>> from sqrl._data.table import as_table
        >>> Rows(as_table({"w": [2.0, -0.0, None, 1.0]}), {}).ascending(Name("w")).tolist()
        [0.0, 1.0, 2.0]
        """
        if node not in self._ascending:
            if 8 * self.n * len(self._ascending) > MOST_KEPT:
                self._ascending.clear()
            values = self.numbers(node)
            values = values[~np.isnan(values)] + 0.0
            values.sort()
            values.flags.writeable = False
            self._ascending[node] = values
        return self._ascending[node]

    def truths(self, node: Node) -> RowTruths:
        """Where the formula is true and where it is false."""
        if isinstance(node, Not | And | Or | Implies):  # quickly made of parts that are kept
            return self._decide(node)
        if node not in self._truths:
            if 2 * self.n * len(self._truths) > MOST_KEPT:
                self._truths.clear()
            self._truths[node] = self._decide(node)
        return self._truths[node]

    def is_category(self, name: str) -> bool:
        """Whether a name is that of a column of words."""
        return name not in self.statistics and self._column(name).kind == "category"

    def places_of(self, name: str, words: tuple[str, ...]) -> Int64s:
        """Which of the words a category is, on each row; -1 where it is none of them.

        It is kept: rows are divided by the same words, and then by many expressions.

        >>> from sqrl._data.table import as_table
        >>> Rows(as_table({"pet": ["cat", "dog", None]}), {}).places_of("pet", ("dog",)).tolist()
        [-1, 0, -1]
        """
        if (name, words) not in self._places:
            column = self.table[name]
            places = np.full(len(column.categories) + 1, -1, np.int64)  # the last: missing
            known = {category: code for code, category in enumerate(column.categories)}
            for place, word in enumerate(words):
                if word in known:
                    places[known[word]] = place
            found = places[column.values]
            found.flags.writeable = False
            self._places[name, words] = found
        return self._places[name, words]

    def rows_of(self, name: str, words: tuple[str, ...]) -> list[Int32s]:
        """The rows on which a category is each of the words, ascending.

        Cost: one sort of small numbers, however many words there are.

        >>> from sqrl._data.table import as_table
        >>> rows = Rows(as_table({"pet": ["cat", "dog", None, "cat"]}), {})
        >>> [some.tolist() for some in rows.rows_of("pet", ("dog", "cat"))]
        [[1], [0, 3]]
        """
        places = self.places_of(name, words)
        small = places.astype(np.min_scalar_type(-len(words) - 1))  # numpy counts, up to 16 bits
        order = np.argsort(small, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(places + 1, minlength=len(words) + 1))
        return [order[begin:end] for begin, end in pairwise(ends.tolist())]

    def all_true(self, nodes: tuple[Node, ...]) -> Bools:
        """Where all the formulas are true."""
        mask = np.ones(self.n, dtype=np.bool_)
        for node in nodes:
            mask &= self.truths(node).true
        return mask

    def _compute(self, node: Node) -> Floats:
        match node:
            case Number(value):
                return np.array(value)
            case Name(name):
                return self._named(name)
            case Negative(item):
                return -self.numbers(item)
            case Binary(op, left, right):
                with np.errstate(all="ignore"):
                    return _finite(_ARITHMETIC[op](self.numbers(left), self.numbers(right)))
            case Call():
                return self._call(node)
        raise SchemaError(
            f"'{to_text(node)}' does not give a number.", fix="use columns, numbers and + - * / **"
        )

    def _call(self, node: Call) -> Floats:
        if node.function == KEY:
            return self._key(node)
        check_call(node)
        if node.function in COLUMN_FUNCTIONS:
            return self._of_column(node)
        values = [self.numbers(argument) for argument in node.arguments]
        with np.errstate(all="ignore"):
            return _finite(FUNCTIONS[node.function](*values))

    def _of_column(self, node: Call) -> Floats:
        """A function of a column of dates or of text: of each word once."""
        function, (item,) = COLUMN_FUNCTIONS[node.function], node.arguments
        if not isinstance(item, Name) or item.name in self.statistics:
            raise SchemaError(
                f"{node.function}(...) takes the name of a column, not '{to_text(item)}'.",
                where=to_text(node),
                fix=f"write {node.function}({'born' if function.of == 'dates' else 'city'})",
            )
        column = self._column(item.name)
        if column.kind == "category":
            used = np.zeros(len(column.categories) + 1, np.bool_)
            used[column.values] = True
            found = np.full(used.size, np.nan)  # the last stands for missing
            codes = np.flatnonzero(used[:-1])
            found[codes] = function.of_words([column.categories[code] for code in codes.tolist()])
            return np.asarray(found[column.values])
        if column.kind == "date" and function.of == "dates":
            return function.of_days(column.values)
        if column.kind != "other" and bool(column.missing().all()):
            return np.full(self.n, np.nan)  # nobody can say what it would hold
        raise SchemaError(
            f"Column {item.name!r} holds {_holds(column)}, not {function.of}.",
            where=self.table.source,
            fix=_example(column)
            if column.kind in {"date", "other"}
            else f"use it as it is: {name_text(item.name)}",
        )

    def _key(self, node: Call) -> Floats:
        """A hash of the values of each row, missing ones too: a whole number below 2**53."""
        if not node.arguments:
            raise SchemaError(
                "key(...) takes one column or more.", where=to_text(node), fix="write key(id)"
            )
        key = np.zeros(self.n, np.uint64)
        for argument in node.arguments:
            is_column = isinstance(argument, Name) and argument.name not in self.statistics
            column = self._column(argument.name) if is_column else None  # type: ignore[attr-defined]
            if column is None or column.kind == "other":
                column = Column("", "number", self.numbers(argument))
            words = np.where(column.missing(), MISSING, words_of(column))
            key = mix((key + words) * GOLDEN + np.uint64(1))
        return (key >> np.uint64(11)).astype(np.float64)

    def _named(self, name: str) -> Floats:
        if name in self.statistics:
            return self.numbers(self.statistics[name])
        column = self._column(name)
        if column.kind in {"number", "boolean"}:
            return column.values
        if column.kind == "category" and not column.categories:
            return np.full(self.n, np.nan)  # all missing: nobody can say what it would hold
        raise SchemaError(
            f"Column {name!r} holds {_holds(column)}, not numbers.",
            where=self.table.source,
            fix=_example(column),
        )

    def _column(self, name: str) -> Column:
        if name not in self.table and self.statistics:
            raise unknown(
                "column or statistic",
                name,
                [*self.table.names, *self.statistics],
                where=self.table.source,
            )
        return self.table[name]

    def _decide(self, node: Node) -> RowTruths:
        made = connect(node, self.truths)
        if made is not None:
            return made
        if isinstance(node, Known):
            known = self._known(node.item)
            return Truths(known, ~known)
        return self._boolean(node.name) if isinstance(node, Name) else self._compare(node)

    def _known(self, item: Node) -> Bools:
        """Where a column or expression has a value, or a formula is true or false."""
        if is_formula(item):
            truths = self.truths(item)
            return truths.true | truths.false
        if isinstance(item, Name) and item.name not in self.statistics:
            column = self._column(item.name)
            if column.kind in {"category", "date"}:
                return ~column.missing()
        return ~np.isnan(self.numbers(item))

    def _compare(self, node: Node) -> RowTruths:
        match node:
            case In(item, values):
                return self._member(item, values)
            case Compare(left, op, Word() | Truth() | Number() as right) if op in {"=", "!="}:
                equal = self._member(left, (right,))
                return equal if op == "=" else ~equal
            case Compare(left, op, right):
                return self._ordered(self.numbers(left), op, self.numbers(right))
            case Between(lower, lower_op, middle, upper_op, upper):
                between = self.numbers(middle)
                above = self._ordered(self.numbers(lower), lower_op, between)
                return above & self._ordered(between, upper_op, self.numbers(upper))
        raise SchemaError(
            f"'{to_text(node)}' is neither true nor false.",
            fix="compare it with something, such as 'age > 50'",
        )

    def _ordered(self, left: Floats, op: str, right: Floats) -> RowTruths:
        known = ~(np.isnan(left) | np.isnan(right))
        true = _ORDER[op](left, right) & known
        return Truths(true, known & ~true)

    def _boolean(self, name: str) -> RowTruths:
        values = self._named(name)
        true, false = values == 1.0, values == 0.0
        if not bool(np.all(true | false | np.isnan(values))):
            raise SchemaError(
                f"{name!r} holds numbers other than 0 and 1, so it is neither true nor false.",
                where=self.table.source,
                fix=f"compare it with a number, such as {name_text(name)} > 1",
            )
        return Truths(true, false)

    def _member(self, item: Node, values: tuple[Node, ...]) -> RowTruths:
        if isinstance(item, Name) and item.name not in self.statistics:
            column = self._column(item.name)
            if column.kind == "category":
                return _in_categories(column, values)
            if column.kind in {"date", "other"}:
                self._named(item.name)  # raises: neither numbers nor categories
        numbers = self.numbers(item)
        known = ~np.isnan(numbers)
        true = np.zeros(self.n, dtype=np.bool_)
        if not known.any():
            return Truths(true, known)  # an all-missing column may well be one of categories
        wanted = [self._as_number(item, value) for value in values]
        if len(wanted) > FEW:
            ordered = np.sort(np.array(wanted))  # np.isin would import numpy.ma
            place = np.minimum(np.searchsorted(ordered, numbers), ordered.size - 1)
            true = ordered[place] == numbers
        else:
            for number in wanted:
                true |= numbers == number
        return Truths(true & known, known & ~true)

    def _as_number(self, item: Node, value: Node) -> float:
        match value:
            case Number(number):
                return number
            case Truth(truth):
                return float(truth)
            case Word(text):
                return self._word_as_number(item, text)
        raise SchemaError(f"'{to_text(value)}' is not a value.")

    def _word_as_number(self, item: Node, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        truth = text.casefold() in {"true", "false"}
        raise SchemaError(
            f"'{to_text(item)}' holds numbers and {text!r} is not one.",
            where=self.table.source,
            fix=f"write {text.casefold()} in small letters"
            if truth
            else f"compare it with a number; another column is subtracted: {to_text(item)} - x = 0",
        )


def check_call(node: Call) -> None:
    """Raise where there is no such function, or it takes another number of arguments."""
    name, n_arguments = node.function, len(node.arguments)
    if name == KEY:
        raise SchemaError(
            "key(...) is computed on rows alone: nothing else has its hash.",
            where=to_text(node),
            fix="leave such rules out: --where 'statistic != repeats'",
        )
    if name not in ALL_FUNCTIONS:
        known = (*ALL_FUNCTIONS, *SEQUENCE_FUNCTIONS)
        raise unknown("function", name, known, where=to_text(node))
    if n_arguments != 1 and (name not in _TAKES_ANY_NUMBER or not n_arguments):
        takes = "one argument or more" if name in _TAKES_ANY_NUMBER else "one argument"
        raise SchemaError(
            f"{name}(...) takes {takes}, not {n_arguments}.",
            where=to_text(node),
            fix=f"write {name}(age)",
        )


def constant_of(value: Any) -> Node:
    """The constant that a plain value, or its text, is in a rule; the inverse of `category_text`.

    >>> constant_of("1"), constant_of(True), constant_of("nan")
    (Number(value=1.0), Truth(value=True), Word(text='nan'))
    """
    if isinstance(value, bool) or value in {"true", "false"}:
        return Truth(value is True or value == "true")
    try:
        number = float(value)
    except ValueError:
        return Word(str(value))
    return Number(number) if math.isfinite(number) else Word(str(value))


def category_of(condition: tuple[Node, ...]) -> tuple[str, str] | None:
    """The column and the word of a condition such as `kind = Car`; None for any other.

    >>> category_of((Compare(Name("kind"), "=", Word("Car")),))
    ('kind', 'Car')
    """
    match condition:
        case (Compare(Name(name), "=", Word() | Number() | Truth() as value),):
            return name, category_text(value)
    return None


def category_text(value: Node) -> str:
    """The category that a constant in a rule stands for.

    >>> category_text(Number(1.0)), category_text(Word("Car"))
    ('1', 'Car')
    """
    match value:
        case Number(number):
            return number_text(number)
        case Truth(truth):
            return "true" if truth else "false"
        case Word(text):
            return text
    raise AssertionError(f"{type(value).__name__} is not a constant")


def _in_categories(column: Column, values: tuple[Node, ...]) -> RowTruths:
    """Membership by code. A category that the column never shows is in no row."""
    wanted = {category_text(value) for value in values}
    hit = np.array([category in wanted for category in column.categories] + [False])
    known = column.values >= 0
    true: Bools = hit[column.values] & known  # code -1 picks the False at the end
    return Truths(true, known & ~true)


def _finite(values: Floats) -> Floats:
    """The values with what is not finite undefined: x / 0 bounds nothing."""
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.nan)


def _holds(column: Column) -> str:
    of_kind = {"category": "categories", "date": "dates", "other": "neither numbers nor categories"}
    return of_kind.get(column.kind, "numbers")


def _example(column: Column) -> str:
    """What to do with a column that holds no numbers."""
    if column.kind == "other":
        return "use another column, or make it one of numbers or text"
    if column.kind == "date":
        name = name_text(column.name)
        return f"write days({name}), weekday({name}), month({name}) or hour({name})"
    value = word_text(column.categories[0])
    return f"compare it with a value, such as {name_text(column.name)} = {value}"


def check_finite(rows: Rows, names: set[str]) -> None:
    """Raise where a column holds infinite values: no quantile of those means anything."""
    for name in sorted(names & set(rows.table.names)):
        column = rows.table[name]
        if column.kind != "number":
            continue
        infinite = np.isinf(column.values)
        if infinite.any():
            counted = int(infinite.sum()), int(infinite.argmax())
            raise infinite_values(name, *counted, rows.table.source)


def infinite_values(name: str, count: int, first: int, source: str) -> DataError:
    """The error for a column with so many infinite values, and the first of them."""
    return DataError(
        f"Column {name!r} has infinite values ({count:,} of them), the first in row {first + 1:,}.",
        where=source,
        fix="make them missing, or replace them by a number",
    )
