"""A draft of a default schema: templates for columns, for relations between them, for a label.

What people look at first stands first: what the label depends on, what columns say of each other,
ranges and sets of values; then what only a test sees, the shares of values and repeated rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqrl._data.table import Table
from sqrl._language.names import name_text
from sqrl._learn.relations.find import Item, Related, Relations
from sqrl._learn.roles import Watched

MOST_KEY = 30  # columns that tell whether a row is repeated
MOST_SET = 1_000  # values of a column whose values are learned
MOST_BY = 12  # pairs of which one is bounded given the other
MOST_VALUES_BY = 12  # of a category that a number is bounded by
STRONG = 0.1  # phi squared of a pair that is bounded, not only tested
MOST_LITERALS = 12  # columns that may imply a class
MOST_WORDS = 50  # values of such a column
MOST_INTERVALS = 60  # of numbers within classes
LOGIC, LOGIC_MANY = 5, 2  # rules for each class: of few classes, of many
BUCKETS = 10  # of a number, to compare its shares
COARSE = 4  # of each of two numbers, and of literals
FINE, FINE_ROWS = 6, 1_500  # of each of two numbers that are compared, where rows fill the cells
RARE = 0.998
RARE_ROWS = 2_500  # fewer cannot bound what is so rare
TEXT_FORM = ("length", "words", "digits", "letters", "blanks")
TEXT_SIZE = ("length", "words")  # of which the distribution is watched, too


@dataclass(slots=True, eq=False)
class Draft:
    """Templates and domains, gathered one by one, and made a mapping with a schema's keys."""

    table: Table
    watched: Sequence[Watched]
    label: Watched | None
    batch: int  # rows of a mini-batch; 0 where there are too few for any
    n_rows: int
    coverage: float  # of templates that have none of their own
    rules: list[Any] = field(default_factory=list)
    let: dict[str, Any] = field(default_factory=dict)

    def hole(self, letter: str, domain: str | Iterable[str]) -> str:
        """A name that no column and no other hole has, for a domain."""
        wanted = domain if isinstance(domain, str) else list(domain)
        for name, known in self.let.items():
            if known == wanted:
                return name
        number = 0
        while (name := f"{letter}{number or ''}") in self.table or name in self.let:
            number += 1
        self.let[name] = wanted
        return name

    def add(self, rule: str, coverage: float | None = None) -> None:
        """Another template, with a coverage of its own if need be."""
        is_plain = coverage is None or coverage == self.coverage
        self.rules.append(rule if is_plain else {"rule": rule, "coverage": coverage})

    def over(self) -> int:
        """Rows of the mini-batches that distributions are compared on."""
        return min(self.batch, 256)

    # What the label depends on.

    def add_logic(self, relations: Relations) -> str | None:
        """Few conjunctions of facts that imply a class; the hole for it, where there are any."""
        assert self.label is not None
        name = name_text(self.label.name)
        by = relations.of_label[:MOST_LITERALS] if self.batch else ()
        parts = [part for one in by for part in _literal(one.first)]
        if not parts:
            return None
        y = self.hole("Y", f"values({name})")
        literals = self.hole("L", f"literals({', '.join(parts)})")
        self.add(f"? <= precision({literals}{{1..2}} => {name} = {y}) <= ? over {self.batch}")
        return y

    def add_classes(self, relations: Relations, coverage: float) -> None:
        """The range of numbers within each class, where it differs between them."""
        assert self.label is not None
        name = name_text(self.label.name)
        strong = [one for one in relations.of_label if one.strength >= STRONG]
        numbers = [one.first.text for one in strong if one.first.is_measured]
        numbers = numbers[: max(1, MOST_INTERVALS // self.label.n_distinct)]
        if numbers:
            y = self.hole("Y", f"values({name})")
            hole = self.hole("A", numbers)
            self.add(f"{name} = {y} => ? <= {hole} <= ?", coverage)

    def top(self) -> int:
        """How many conjunctions a class may have."""
        assert self.label is not None
        return LOGIC if self.label.n_distinct <= 4 else LOGIC_MANY

    # What columns say of each other.

    def add_functions(self, relations: Relations) -> None:
        """`country = V => currency in ?`: a rule for each value of the column that decides."""
        for one in relations.functions:
            hole = self.hole("V", f"values({one.decides.text})")
            self.add(f"{one.decides.text} = {hole} => {one.decided.text} in ?")

    def add_narrow(self, relations: Relations) -> None:
        """Combinations of numbers that hardly vary, and numbers that are never above others."""
        for one in relations.narrow:
            if one.is_exact:  # but for rounding, which differs between machines and formats
                self.add(f"max(abs({one.text}), {one.tolerance:g}) <= ?", 1.0)
        if loose := [one.text for one in relations.narrow if not one.is_exact]:
            hole = self.hole("R", loose)
            self.add(f"? <= {hole} <= ?")
            self.add(f"? <= {hole} <= ?", 1.0)
        if always := [o for o in relations.orders if o.always]:
            hole = self.hole("O", [f"{o.high.text} - {o.low.text}" for o in always])
            self.add(f"? <= {hole}", 1.0)
        for order in relations.orders if self.batch else ():
            if not order.always:
                below = f"{order.low.text} <= {order.high.text}"
                self.add(f"? <= rate({below}) <= ? over {self.over()}")

    def add_bounded_pairs(self, relations: Relations, coverage: float) -> None:
        """The range of a number in each quarter of another, or for each value of a category."""
        done = 0
        for pair in relations.pairs:
            given, number = self._given(pair)
            if done == MOST_BY or pair.strength < STRONG:
                break
            if not number.is_measured or self._is_label(given):
                continue
            if given.is_measured:
                self.add(f"? <= {number.text} <= ? by {given.text}/{COARSE}", coverage)
            elif given.n_values <= MOST_VALUES_BY:
                hole = self.hole("V", f"values({given.text})")
                self.add(f"{given.text} = {hole} => ? <= {number.text} <= ?", coverage)
            else:
                continue
            done += 1

    def add_tested_pairs(self, relations: Relations) -> None:
        """How far the shares of one column, given another, may be from the usual."""
        for pair in relations.pairs if self.batch else ():
            told, given = self._told(pair)
            n_buckets = FINE if self.n_rows >= FINE_ROWS else COARSE
            axes = f"{_axis(told, n_buckets)} given {_axis(given, n_buckets)}"
            self.add(f"distance({axes}) <= ? over {self.over()}")

    def _told(self, pair: Related) -> tuple[Item, Item]:
        """Which of a pair is told by the other: the label, else a category, else the second column.

        Buckets of a number have as many rows each, so that most cells within them can be tested;
        rows of a rare class are too few for that.
        """
        one, other = pair.first, pair.second
        if self._is_label(one) or self._is_label(other):
            return (one, other) if self._is_label(one) else (other, one)
        return (one, other) if other.is_measured and not one.is_measured else (other, one)

    def _given(self, pair: Related) -> tuple[Item, Item]:
        """Which of a pair one is bounded by: a class label, else a category, else the first."""
        one, other = pair.first, pair.second
        if self._is_label(other) or self._is_label(one):
            label, rest = (one, other) if self._is_label(one) else (other, one)
            return (rest, label) if label.is_measured else (label, rest)
        return (other, one) if one.is_measured and not other.is_measured else (one, other)

    def _is_label(self, item: Item) -> bool:
        return self.label is not None and item.column == self.label.name

    # Every column by itself.

    def add_ranges(self) -> None:
        """The usual range of every number."""
        numbers = [*self._numbers(), *self._dates("days"), *self._texts(TEXT_SIZE)]
        if numbers:
            self.add(f"? <= {self.hole('N', numbers)} <= ?")

    def add_moves(self, moves: Sequence[Watched]) -> None:
        """How far numbers move from one row of an entity to the next, and how long that takes."""
        numbers = [name_text(one.name) for one in moves if one.role != "constant"]
        constant = [name_text(one.name) for one in moves if one.role == "constant"]
        if numbers:
            hole = self.hole("S", numbers)
            self.add(f"? <= {hole} <= ?")
            if self.n_rows >= RARE_ROWS:
                self.add(f"? <= {hole} <= ?", RARE)
            self.add(f"? <= {hole} <= ?", 1.0)
            if self.batch:
                self.add(f"distance({hole}/{BUCKETS}) <= ? over {self.over()}")
        if constant:
            self.add(f"{self.hole('T', constant)} in ?")

    def add_sets(self) -> None:
        """The values that a column may have."""
        sets = [
            name_text(one.name)
            for one in self.watched
            if one.role in {"category", "few", "constant"} and one.n_distinct <= MOST_SET
        ]
        if sets:
            self.add(f"{self.hole('C', sets)} in ?")

    def add_missing(self, lacking: frozenset[str]) -> None:
        """Columns that always have a value, and how often the others have one."""
        there = [one for one in self.watched if one.role != "none"]
        full = [name_text(one.name) for one in there if one.name not in lacking]
        sparse = [name_text(one.name) for one in there if one.name in lacking]
        if full:
            self.add(f"known({self.hole('K', full)})")
        if sparse and self.batch:
            self.add(f"? <= rate(known({self.hole('M', sparse)})) <= ? over {self.over()}")

    def add_extremes(self) -> None:
        """The range of rare values, and of all that were seen."""
        numbers = [*self._numbers(), *self._dates("days"), *self._texts(TEXT_FORM)]
        if not numbers:
            return
        hole = self.hole("E", numbers)
        if self.n_rows >= RARE_ROWS:
            self.add(f"? <= {hole} <= ?", RARE)
        self.add(f"? <= {hole} <= ?", 1.0)

    def add_shares(self, relations: Relations) -> None:
        """How far the distribution of each column may be from the usual."""
        if not self.batch:
            return
        loose = [one.text for one in relations.narrow if not one.is_exact]
        numbers = [*self._numbers(), *self._dates("days"), *self._texts(TEXT_SIZE), *loose]
        cells = [name_text(one.name) for one in self.watched if one.role in {"category", "few"}]
        cells += self._dates("weekday", "month")
        if numbers:
            self.add(f"distance({self.hole('D', numbers)}/{BUCKETS}) <= ? over {self.over()}")
        if cells:
            self.add(f"distance({self.hole('G', cells)}) <= ? over {self.over()}")

    def _numbers(self) -> list[str]:
        return [name_text(one.name) for one in self.watched if one.role == "number"]

    def _dates(self, *functions: str) -> list[str]:
        dates = [name_text(one.name) for one in self.watched if one.role == "date"]
        return [f"{function}({name})" for name in dates for function in functions]

    def _texts(self, functions: Sequence[str]) -> list[str]:
        texts = [
            name_text(one.name)
            for one in self.watched
            if one.role == "text" or (one.role == "key" and one.column.kind == "category")
        ]
        return [f"{function}({name})" for name in texts for function in functions]

    # The table.

    def add_repeats(self, units: Sequence[str]) -> None:
        """Keys that occur once, and rows that do, where rows hardly ever repeat.

        What tells rows apart is part of the key: two sensors may well show the same in one hour.
        """
        if not self.batch:
            return
        for one in self.watched:
            if one.role == "key":
                self.add(f"repeats(key({name_text(one.name)})) <= ? over {self.over()}")
        others = [one for one in self.watched if one.role not in {"key", "none", "constant"}]
        others.sort(key=lambda one: (one.role != "place", -one.n_distinct))
        chosen = {*units, *(one.name for one in others[:MOST_KEY])}
        if others:
            names = [name_text(one.name) for one in self.watched if one.name in chosen]
            self.add(f"repeats(key({', '.join(names)})) <= ? over {self.over()}")


def items_of(watched: Sequence[Watched], classes: Watched | None) -> list[Item]:
    """What relations are looked for among: numbers, categories, and the days of dates.

    `classes` is the label whose values are classes, whatever its role.
    """
    items = []
    for one in watched:
        name = name_text(one.name)
        is_number = one.role in {"number", "few"}
        if one.role == "date":
            items.append(Item(f"days({name})", one.name, True, True, one.n_distinct))
        elif is_number or one.role == "category":
            is_measured = one.role == "number" and one is not classes
            items.append(Item(name, one.name, is_number, is_measured, one.n_distinct))
    return items


def left_out(watched: Sequence[Watched]) -> dict[str, str]:
    """The columns that are watched less than others, and why."""
    return {one.name: one.left_out for one in watched if one.left_out is not None}


def _literal(item: Item) -> list[str]:
    """How a column stands in `literals(...)`; nothing where it has too many values for that."""
    if item.is_number and item.n_values > COARSE:
        return [f"{item.text}/{COARSE}"]
    return [item.text] if item.n_values <= MOST_WORDS else []


def _axis(item: Item, n_buckets: int) -> str:
    return f"{item.text}/{n_buckets}" if item.is_measured else item.text
