"""The domains of a schema's holes, resolved on the train rows: values, names and literals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Column
from sqrl._kernels.arrays import Bools, Floats, Int32s
from sqrl._language import parse_formula, to_text
from sqrl._language.forms import bucket_formulas
from sqrl._language.names import base_of
from sqrl._language.parser import is_formula
from sqrl._language.tree import Binary, Call, Compare, Name, Node, Number, Truth, Word, walk
from sqrl._rows.quantiles import lerp, percentile_ranks
from sqrl._rows.rows import Rows
from sqrl._rules.schema import MOST_CUTS, Entry, Schema
from sqrl._rules.sequence_names import fill_name
from sqrl.errors import SchemaError, SqrlError, nearest

MOST_LITERALS = 50  # of a column in literals(...)


@dataclass(frozen=True, slots=True, eq=False)
class Literals:
    """Boolean features that conjunctions are made of.

    Features of one group exclude each other; in a complete group every row with a known value
    has exactly one of them, so that their negations contradict each other together.
    """

    features: tuple[Node, ...]
    group: Int32s
    complete: Bools


Domain = tuple[Node, ...] | Literals


Cut = Callable[[Node, list[float]], Floats]


def resolve_domains(schema: Schema, rows: Rows, cut: Cut | None = None) -> dict[str, Domain]:
    """What each name under `let` stands for on these rows.

    `cut` gives the cut points of an expression where rows are not in memory.
    """
    domains: dict[str, Domain] = {}
    for name, entry in schema.let.items():
        try:
            domains[name] = _resolve(entry, schema, rows, cut)
        except SqrlError as error:
            raise error.at(f"let.{name}") from None
    return domains


def _resolve(entry: str | list[Entry], schema: Schema, rows: Rows, cut: Cut | None) -> Domain:
    if isinstance(entry, list):
        if not entry:
            raise SchemaError("The list is empty.", fix="give at least one entry")
        return tuple(dict.fromkeys(map(_constant, entry)))
    tree = parse_formula(entry)
    if isinstance(tree, Call) and tree.function == "values" and len(tree.arguments) == 1:
        column = _column_of(tree.arguments[0], rows)
        found = values_of(column, most=MOST_VALUES)
        if not found:
            what = f"Column {column.name!r} has no value on any train row."
            raise SchemaError(what, fix="name another column, or list the values")
        return found
    if isinstance(tree, Call) and tree.function == "literals" and tree.arguments:
        return literals_of(tree.arguments, schema, rows, cut)
    known = ("values", "literals")
    hint = nearest(tree.function, known) if isinstance(tree, Call) else "write a list"
    raise SchemaError(
        f"'{entry}' is not a domain.",
        fix=f"{hint}; a domain is [a, b, c], values(column) or literals(age/8, smoke)",
    )


def _constant(item: Entry) -> Node:
    """A number, a boolean, or a word that its place in a rule makes a column or category."""
    if isinstance(item, bool):
        return Truth(item)
    if isinstance(item, int | float):
        return Number(float(item))
    return Word(item)


def as_expression(node: Node) -> Node:
    """A domain's entry where an expression is wanted: a word there is a column or a formula.

    >>> to_text(as_expression(Word("width / height")))
    'width / height'
    """
    return parse_formula(node.text) if isinstance(node, Word) else node


def values_of(column: Column, *, most: int) -> tuple[Node, ...]:
    """The column's distinct values as constants."""
    if column.kind in {"date", "other"}:
        is_date = column.kind == "date"
        raise SchemaError(
            f"Column {column.name!r} holds "
            f"{'dates' if is_date else 'neither numbers nor categories'}.",
            fix=f"compute a number of it, such as weekday({column.name})"
            if is_date
            else "use another",
        )
    distinct = column.distinct()
    if len(distinct) > most:
        many = f"{len(distinct):,}" if len(distinct) <= MOST_VALUES else f"over {MOST_VALUES:,}"
        raise SchemaError(
            f"Column {column.name!r} has {many} distinct values; at most {most} can be enumerated.",
            fix=f"cut it into buckets: {column.name}/8"
            if column.kind == "number"
            else "list the values you want",
        )
    return tuple(map(_constant, distinct))


def _column_of(node: Node, rows: Rows) -> Column:
    if not isinstance(node, Name):
        raise SchemaError(f"'{to_text(node)}' is not a column.", fix="name one column")
    return rows.table[node.name]


def literals_of(
    arguments: tuple[Node, ...], schema: Schema, rows: Rows, cut: Cut | None = None
) -> Literals:
    """The boolean features that `literals(...)` asks for.

    `age/8` gives a feature for each bucket, a plain column one for each value (a boolean column
    one), and a formula is a feature by itself. A constant column gives none: it tells rows apart
    by nothing.
    """
    features: list[Node] = []
    group: list[int] = []
    complete: list[bool] = []
    seen: set[Node] = set()
    for argument in _expanded(arguments, schema):
        subject, made, is_complete = _features(argument, schema, rows, cut)
        if subject in seen:
            raise SchemaError(
                f"'{to_text(subject)}' stands twice in literals(...).",
                fix="name each column once: conjunctions of its buckets would contradict",
            )
        seen.add(subject)
        if not made:
            continue
        group += [len(complete)] * len(made)
        complete.append(is_complete)
        features += made
    if not features:
        raise SchemaError(
            "literals(...) gives no literal: every column in it is constant.", fix="name others"
        )
    return Literals(tuple(features), np.array(group, np.int32), np.array(complete, np.bool_))


def _expanded(arguments: tuple[Node, ...], schema: Schema) -> list[Node]:
    """The arguments with names of list domains replaced by their entries: literals(A/8)."""
    expanded: list[Node] = []
    for argument in arguments:
        named = [n.name for n in walk(argument) if isinstance(n, Name)]
        names = [name for name in named if base_of(name) in schema.let]
        hole = base_of(names[0]) if names else ""
        entries = schema.let.get(hole)
        if not isinstance(entries, list):
            expanded.append(argument)
            continue
        for entry in entries:
            item = as_expression(_constant(entry))
            item = item if names[0] == hole else fill_name(names[0], item, hole)
            bucketed = isinstance(argument, Binary) and argument.op == "/"
            expanded.append(Binary("/", item, argument.right) if bucketed else item)  # type: ignore[attr-defined]
    return expanded


def buckets_of(schema: Schema) -> list[tuple[Node, list[float]]]:
    """The expressions that literals cut into buckets, and at which percentiles.

    >>> schema = Schema(rules=("? <= f1(L => y) <= ? over 9",), let={"L": "literals(age/2, smoke)"})
    >>> buckets_of(schema)
    [(Name(name='age'), [50.0])]
    """
    found = []
    for entry in schema.let.values():
        tree = parse_formula(entry) if isinstance(entry, str) else None
        if isinstance(tree, Call) and tree.function == "literals":
            for argument in _expanded(tree.arguments, schema):
                if (bucketed := _bucketed(argument)) is not None:
                    found.append((bucketed[0], percentiles_of(bucketed[1], schema)))
    return found


def _bucketed(argument: Node) -> tuple[Node, int] | None:
    """The expression and the number of buckets of `age/8`; None for another argument."""
    if isinstance(argument, Binary) and argument.op == "/" and isinstance(argument.right, Number):
        return argument.left, _whole_buckets(argument.right.value, argument)
    return None


def _whole_buckets(n_buckets: float, argument: Node) -> int:
    if not (n_buckets.is_integer() and 2 <= n_buckets <= MOST_CUTS):
        raise SchemaError(
            f"'{to_text(argument)}' is not cut into a whole number of buckets from 2 to"
            f" {MOST_CUTS:,}.",
            fix="write literals(age/8)",
        )
    return int(n_buckets)


def _features(
    argument: Node, schema: Schema, rows: Rows, cut: Cut | None
) -> tuple[Node, list[Node], bool]:
    """The expression an argument is about, its features, and whether they are complete."""
    if (bucketed := _bucketed(argument)) is not None:
        item, n_buckets = bucketed
        percentiles = percentiles_of(n_buckets, schema)
        if cut is None:
            cuts = cut_points(rows.numbers(item), percentiles)
        else:
            cuts = cut(item, percentiles)
        return item, bucket_formulas(item, cuts) if cuts.size else [], True
    if is_formula(argument):
        return argument, [argument], False
    column = _column_of(argument, rows)
    if column.kind == "boolean":
        return argument, [argument] if len(column.distinct()) > 1 else [], False
    values = values_of(column, most=MOST_LITERALS)
    made: list[Node] = [Compare(argument, "=", value) for value in values]
    return argument, made if len(made) > 1 else [], True


def percentiles_of(n_buckets: int, schema: Schema) -> list[float]:
    """The percentiles at which a column is cut into n buckets: as given, else evenly.

    >>> percentiles_of(4, Schema(rules=("? <= age",)))
    [25.0, 50.0, 75.0]
    """
    if n_buckets in schema.cuts:
        return [float(cut) for cut in schema.cuts[n_buckets]]
    return [100.0 * cut / n_buckets for cut in range(1, n_buckets)]


def cut_points(values: Floats, percentiles: list[float]) -> Floats:
    """The values at which to cut, without those that would leave a bucket empty.

    Buckets are (-inf, c1], (c1, c2], ... (cn, inf). Where many values are equal, percentiles
    coincide: a blood pressure is 120 for a third of all people.

    >>> cut_points(np.array([1.0, 2.0, 2.0, 2.0, 3.0]), [25.0, 50.0, 75.0]).tolist()
    [2.0]
    """
    present = np.sort(values[~np.isnan(values)] + 0.0)  # one zero
    if not present.size:
        return np.empty(0)
    shares = np.array(percentiles) / 100  # np.percentile would import numpy.ma
    rank, fraction = percentile_ranks(np.full(shares.size, present.size), shares)
    cuts = lerp(present[rank], present[np.minimum(rank + 1, present.size - 1)], fraction)
    below = np.searchsorted(present, cuts, side="right")
    first = np.concatenate([[True], below[1:] != below[:-1]])
    return np.asarray(cuts[first & (below < present.size)])
