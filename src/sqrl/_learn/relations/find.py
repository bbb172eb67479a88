"""Relations: all that columns say of each other, found on a sample of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._data.draws import shuffle_rows, split_rows
from sqrl._data.table import Column, Table
from sqrl._language.parser import parse_formula
from sqrl._learn.relations.combinations import find_combinations
from sqrl._learn.relations.dependence import Pair, dependent_pairs, n_cells, spread_out
from sqrl._learn.relations.features import Feature, as_cells
from sqrl._learn.relations.functional import find_dependencies
from sqrl._learn.relations.orders import find_orders
from sqrl._rows.rows import Rows

MOST_ROWS = 24_000  # looked at, a fifth of them held out
SHARE = 0.2
CONSIDERED = 500  # pairs that are dependent
MOST_EACH = 6  # pairs with the same column
MOST_COMBINATIONS = 10
MOST_ORDERS = 10


@dataclass(frozen=True, slots=True)
class Item:
    """What a relation is about: an expression of one column, as the language says it."""

    text: str
    column: str
    is_number: bool
    is_measured: bool  # a number with so many values that it is cut into buckets
    n_values: int


@dataclass(frozen=True, slots=True)
class Related:
    """Two things that depend on each other, and how much."""

    first: Item
    second: Item
    strength: float


@dataclass(frozen=True, slots=True)
class Function:
    """The value of one column decides the other's."""

    decides: Item
    decided: Item


@dataclass(frozen=True, slots=True)
class Narrow:
    """A combination of numbers that varies far less than they do, if at all (`is_exact`)."""

    text: str
    columns: frozenset[str]
    is_exact: bool
    tolerance: float


@dataclass(frozen=True, slots=True)
class Ordered:
    """The first is never above the second, or hardly ever."""

    low: Item
    high: Item
    always: bool


@dataclass(frozen=True, slots=True)
class Relations:
    """What columns say of each other, the strongest first."""

    pairs: tuple[Related, ...] = ()
    functions: tuple[Function, ...] = ()
    narrow: tuple[Narrow, ...] = ()
    orders: tuple[Ordered, ...] = ()
    of_label: tuple[Related, ...] = ()  # all pairs with the label, which is their second


def find_relations(
    table: Table, items: Sequence[Item], *, label: str | None, most_pairs: int, seed: int
) -> Relations:
    """What these items say of each other on rows to learn from and on rows held out.

    Cost: about a second at the most, whatever the size of the table: see `dependent_pairs`.
    """
    features = _features(table, items, seed)
    cells = [as_cells(f, n_cells(f.train.size, len(features))) for f in features]
    pairs = dependent_pairs(cells, most=CONSIDERED)
    functions = find_dependencies(features, pairs)
    # What another column decides, and that decides it, would say everything twice.
    twins = {f.decided for f in functions if f.both_ways}
    told = {(f.decides, f.decided) for f in functions} | {(f.decided, f.decides) for f in functions}
    single = [
        p for p in pairs if not twins & {p.first, p.second} and (p.first, p.second) not in told
    ]
    is_label = np.array([item.column == label for item in items], np.bool_)
    single = [p for p in single if items[p.first].column != items[p.second].column]
    numbers = [i for i, item in enumerate(items) if item.is_number and item.column != label]
    measured = [features[i] for i in numbers]
    narrow = find_combinations(measured, most=MOST_COMBINATIONS)
    texts = [features[i].text for i in numbers]
    made = [
        Narrow(
            one.text(texts),
            frozenset(measured[place].column for place in one.places),
            one.is_exact,
            one.tolerance,
        )
        for one in narrow
    ]
    # What is exact says all there is to say of its columns together, a narrow line of two too.
    exact = [one.columns for one in made if one.is_exact or len(one.columns) == 2]
    single = [
        p
        for p in single
        if not any({items[p.first].column, items[p.second].column} <= columns for columns in exact)
    ]
    kept = spread_out(single, most=most_pairs, most_each=MOST_EACH, first=is_label)
    differences = [one.places for one in narrow if len(one.places) == 2 or one.is_exact]
    orders = [
        Ordered(items[numbers[order.low]], items[numbers[order.high]], order.always)
        for order in find_orders(measured)
        if not any({order.low, order.high} <= places for places in differences)
    ]
    return Relations(
        tuple(_related(pair, items) for pair in kept),
        tuple(Function(items[f.decides], items[f.decided]) for f in functions),
        tuple(made),
        tuple(orders[:MOST_ORDERS]),
        tuple(
            _with_label(pair, items, is_label)
            for pair in pairs
            if is_label[[pair.first, pair.second]].any()
        ),
    )


def _related(pair: Pair, items: Sequence[Item]) -> Related:
    return Related(items[pair.first], items[pair.second], pair.strength)


def _with_label(pair: Pair, items: Sequence[Item], is_label: np.ndarray) -> Related:
    first, second = (pair.second, pair.first) if is_label[pair.first] else (pair.first, pair.second)
    return Related(items[first], items[second], pair.strength)


def _features(table: Table, items: Sequence[Item], seed: int) -> list[Feature]:
    """The items' values on some rows, in an order that the seed decides."""
    chosen = shuffle_rows(table.n_rows, seed=seed)[:MOST_ROWS]
    rows = Rows(table.take(chosen), {})
    train, valid = split_rows(chosen.size, SHARE, seed=seed)
    features = []
    for item in items:
        if item.is_number:
            values = rows.numbers(parse_formula(item.text))
            values = np.where(np.isfinite(values), values, np.nan)
        else:
            values = _codes(rows.table[item.column])
        features.append(
            Feature(item.text, item.column, item.is_number, values[train], values[valid])
        )
    return features


def _codes(column: Column) -> np.ndarray:
    if column.kind == "category":
        return column.values.astype(np.int64)
    return np.where(column.missing(), -1, np.nan_to_num(column.values)).astype(np.int64)
