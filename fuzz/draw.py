"""Random things that look like what sqrl is given: names, numbers, sentences, tables, damage."""

import json
import math
import random
from copy import deepcopy
from typing import Any

COLUMNS = ("x", "y", "n", "flag", "kind", "note", "day")
NUMBERS = ("x", "y", "n")
WORDS = ("a", "b", "Person sitting", "1", "true", "größe", "", "a'b", 'q"t', "NA", "x\ty", "{{ x")
ODD_NAMES = ("select", "my column", "größe", "a`b", "x'y", 'q"t', "{{ x }}", "%s", "-1", "lag(x)")
ODD_NUMBERS = (
    "0",
    "1",
    "-1",
    "2.5",
    "1e308",
    "1e-308",
    "0.1",
    "999999999999999999999",
    "-0",
    "1e9",
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.5, 1e308, -1e308, 10**30, -(10**30), 2**63, 2**53),
    *("", "x", "null", "NaN", "\ud7ff", "\u0000", "a" * 300, [], {}, [None], [[]], {"x": 1}),
    *([1.0], [1.0, 2.0], [1, 2, 3, 4], ["a"], {"a": {"b": []}}, "0 <= x <= 1", "2026-02-30"),
)
STATISTICS = ("mean", "std", "min", "max", "median", "repeats")
COUNTED = ("f1", "f1_given", "precision", "recall", "accuracy", "support", "lift")
MARKS = [*"()[]{}<>=!?,;:'\"`\\/*+-.&|%$#@~^ \t\n\r\0", "=>", "<=", "and", "by", "over", "in"]


class Draw(random.Random):
    """A seeded source of random things."""

    def one(self, options: Any) -> Any:
        """One of them."""
        return self.choice(list(options))

    def chance(self, share: float) -> bool:
        """True in so many cases."""
        return self.random() < share

    def number(self) -> str:
        """A number as text, mostly a plain one."""
        return str(self.randint(-3, 9)) if self.chance(0.7) else self.one(ODD_NUMBERS)

    def name(self, names: Any = NUMBERS) -> str:
        """A column, sometimes a strange or unknown one, as a sentence writes it."""
        if self.chance(0.9):
            return self.one(names)
        name = self.one(ODD_NAMES)
        return f"`{name.replace('`', '``')}`" if self.chance(0.8) else name

    def word(self) -> str:
        """A constant as a sentence writes it."""
        kind = self.random()
        if kind < 0.4:
            return self.one(("a", "b", "1", "true", "false"))
        if kind < 0.6:
            return self.number()
        return json.dumps(self.one(WORDS), ensure_ascii=False)

    def expression(self, depth: int = 0) -> str:
        """An expression."""
        kind = self.random()
        if depth > 3 or kind < 0.5:
            return self.name()
        if kind < 0.6:
            return self.number()
        if kind < 0.85:
            parts = [self.expression(depth + 1), self.one("+-*/"), self.expression(depth + 1)]
            text = " ".join(parts)
            return f"({text})" if self.chance(0.5) else text
        if kind < 0.9:
            return f"-{self.expression(depth + 1)}"
        if kind < 0.93:
            return f"{self.expression(depth + 1)} ** {self.one(('2', '0.5', '-1', '1000'))}"
        if kind < 0.97:
            function = self.one(("abs", "exp", "log", "sqrt", "min", "max"))
            return f"{function}({self.expression(depth + 1)})"
        of = {"length": "note", "words": "note", "digits": "kind", "weekday": "day", "days": "day"}
        function = self.one(of)
        return f"{function}({self.one((of[function], 'x', 'kind'))})"

    def formula(self, depth: int = 0) -> str:
        """A formula."""
        kind = self.random()
        if depth > 3 or kind < 0.45:
            sign = self.one(("<=", "<", ">", ">=", "=", "!="))
            return f"{self.expression(2)} {sign} {self.number()}"
        if kind < 0.55:
            return (
                f"{self.name(('kind', 'note', 'flag', 'n'))} {self.one(('=', '!='))} {self.word()}"
            )
        if kind < 0.62:
            words = ", ".join(self.word() for _ in range(self.randint(1, 3)))
            return f"{self.name(('kind', 'note', 'n'))} in [{words}]"
        if kind < 0.68:
            return self.one(("flag", "not flag", "known(x)", "known(kind)", "known(x / y)"))
        if kind < 0.76:
            low, high = sorted((self.randint(-3, 9), self.randint(-3, 9)))
            return f"{low} {self.one(('<', '<='))} {self.expression(2)} <= {high}"
        if kind < 0.8:
            return f"not ({self.formula(depth + 1)})"
        if kind < 0.97:
            return (
                f"({self.formula(depth + 1)} {self.one(('and', 'or'))} {self.formula(depth + 1)})"
            )
        return f"({self.expression(2)} = {self.expression(2)})"

    def bounded(self, subject: str, hole: bool) -> str:
        """A subject between bounds, or above or below one."""
        low, high = sorted((self.randint(-3, 9), self.randint(-3, 9)))
        lower, upper = ("?", "?") if hole else (str(low), str(high))
        kind = self.random()
        if kind < 0.7:
            return f"{lower} <= {subject} <= {upper}"
        return f"{lower} <= {subject}" if kind < 0.85 else f"{subject} <= {upper}"

    def sentence(self, *, hole: bool = False) -> str:
        """A rule, or with a hole a template, of any kind."""
        kind = self.random()
        given = f"{self.formula(2)} => " if self.chance(0.4) else ""
        if kind < 0.35:
            claim = self.bounded(self.expression(), hole)
            by = f" by {self.name()}/{self.one((2, 3, 4))}" if hole and self.chance(0.2) else ""
            return f"{given}{claim}{by}"
        if kind < 0.45 and not hole:
            pieces = [self.bounded("x", hole) for _ in range(self.randint(2, 3))]
            tests = [self.formula(2) for _ in pieces[1:]]
            parts = [f"{piece} if {test} else" for piece, test in zip(pieces, tests, strict=False)]
            return f"{given}{' '.join(parts)} {pieces[-1]}"
        if kind < 0.6:
            call = f"{self.one(STATISTICS)}({self.expression(2)})"
            return f"{given}{self.bounded(call, hole)} over {self.one((2, 4, 8))}"
        if kind < 0.75:
            call = f"{self.one(COUNTED)}({self.formula(2)} => {self.formula(2)})"
            return f"{given}{self.bounded(call, hole)} over {self.one((2, 4, 8))}"
        if kind < 0.8:
            return f"{given}{self.bounded(f'rate({self.formula(2)})', hole)} over 4"
        if kind < 0.85 and hole:
            axis = self.one(("x", "kind", "x/4", "x given kind", "kind given y/3"))
            return f"{given}distance({axis}) <= ? over {self.one((4, 8))}"
        if hole:
            return self.one(
                ("kind in ?", "known(x)", "flag => n in ?", "x in each of 3 => ? <= y <= ?")
            )
        return f"{self.formula(1)} => {self.formula(1)}"

    def damaged_text(self, text: str) -> str:
        """The text with some letters or words changed, doubled or gone."""
        letters = list(text)
        for _ in range(self.randint(1, 4)):
            at = self.randint(0, len(letters))
            kind = self.random()
            if kind < 0.35:
                letters.insert(at, self.one(MARKS))
            elif kind < 0.6 and letters:
                del letters[min(at, len(letters) - 1)]
            elif kind < 0.8 and letters:
                end = self.randint(at, min(len(letters), at + 12))
                letters[at:at] = letters[at:end]
            else:
                letters.insert(at, self.one((*COLUMNS, *ODD_NUMBERS, "not", "=>", "over", "é")))
        return "".join(letters)

    def damaged_bytes(self, content: bytes) -> bytes:
        """The bytes with some of them flipped, doubled, gone or cut off."""
        made = bytearray(content)
        for _ in range(self.randint(1, 6)):
            at = self.randint(0, max(0, len(made) - 1))
            kind = self.random()
            if kind < 0.4 and made:
                made[at] ^= 1 << self.randint(0, 7)
            elif kind < 0.55:
                made[at:at] = bytes(self.randint(0, 255) for _ in range(self.randint(1, 8)))
            elif kind < 0.7:
                del made[at : at + self.randint(1, 16)]
            elif kind < 0.8:
                made = made[:at]
            elif kind < 0.9:
                made[at:at] = made[at : at + self.randint(1, 64)]
            else:
                made[at : at + 4] = self.one(
                    (b"\0" * 4, b"\xff" * 4, b"null", b"\n\n\r\n", b"[[[[")
                )
        return bytes(made)

    def damaged_json(self, value: Any) -> Any:
        """The value with one or two places in it changed, doubled or gone."""
        for _ in range(self.randint(1, 2)):
            places = list(_places(value))
            if not places:
                return deepcopy(self.one(ODD_VALUES))
            within, key = self.one(places)
            kind = self.random()
            if kind < 0.6:
                within[key] = deepcopy(self.one(ODD_VALUES))
            elif kind < 0.75:
                del within[key]
            elif isinstance(within, list):
                within.append(deepcopy(within[key]))
            else:
                within[self.one(("more", "text", "kind", "lower", "over"))] = deepcopy(within[key])
        return value

    def column(self, name: str, n_rows: int) -> list[Any]:
        """Values of a column, some of them missing."""
        gaps = self.one((0.0, 0.1, 0.5, 1.0)) if self.chance(0.5) else 0.0
        values = [None if self.chance(gaps) else self._value(name) for _ in range(n_rows)]
        if self.chance(0.1):
            values = [values[0]] * n_rows if values else values
        return values

    def _value(self, name: str) -> Any:
        if name in {"x", "y"}:
            return (
                self.randint(-3, 9) + self.one((0, 0.5, 0.25)) if self.chance(0.9) else self._odd()
            )
        if name == "n":
            return self.randint(0, 4)
        if name == "flag":
            return self.chance(0.5)
        if name == "day":
            return f"2024-0{self.randint(1, 9)}-1{self.randint(0, 9)}"
        return self.one(WORDS[:6]) if self.chance(0.9) else self.one(WORDS)

    def _odd(self) -> float:
        return self.one((0.0, -0.0, 1e300, -1e300, 1e-300, 123456789.0, 2.0**53, math.pi))

    def table(self, *, least: int = 0) -> dict[str, list[Any]]:
        """A table of the columns that sentences name."""
        n_rows = max(least, self.one((0, 1, 2, 5, 9, 30, 30, 60)))
        return {name: self.column(name, n_rows) for name in COLUMNS}


def _places(value: Any) -> Any:
    """Every place in a JSON value: what it is in, and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def arrow_table(columns: dict[str, list[Any]]) -> Any:
    """The table of some columns, each with the type that its values should have."""
    import pyarrow as pa

    kinds = {"x": pa.float64(), "y": pa.float64(), "n": pa.int64(), "flag": pa.bool_()}
    return pa.table(
        {
            name: pa.array(values, kinds.get(name) or (pa.string() if name in COLUMNS else None))
            for name, values in columns.items()
        }
    )


def as_text(content: bytes) -> str:
    """Bytes as JSON can hold them."""
    return content.decode("latin-1")


def as_bytes(text: str) -> bytes:
    """The bytes that `as_text` made the text of."""
    return text.encode("latin-1")
