"""Conditions: what rules remember of the rows they were learned from, and where it holds now.

A learned rule knows in how many rows its body held, and by held-out labels how often it held within
each class. So do the cells of a rule about shares. Columns that have drifted, and another balance
of classes, both show in how often conditions hold, without a label or a prediction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._check.p_values import Background
from sqrl._language.forms import Form
from sqrl._language.kinds import KINDS
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Name, Node
from sqrl._rows.rows import category_text
from sqrl._rows.share_cells import axis_item
from sqrl._rules.label import class_of
from sqrl._rules.needed_columns import names_in
from sqrl._rules.ruleset import RuleSet

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Body:
    """A condition that formulas make: all of them hold."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A condition that an axis of shares makes: a row is in its cell number `place`."""

    item: Node
    axis: CellAxis
    place: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """How often a condition held: in `count` of `n` rows, and in a class against the rest.

    `by_class` has, for some classes, [rows of the class in the condition, rows of the class, rows
    in the condition, all rows], by true labels.
    """

    columns: frozenset[str]
    count: float
    n: float
    by_class: Mapping[int, tuple[float, float, float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Conditions in a fixed order, what is remembered of each, and which rule has which."""

    conditions: tuple[Body | Cell, ...]
    remembered: tuple[Remembered, ...]
    of_rule: Mapping[int, int]
    n_classes: int

    def __len__(self) -> int:
        return len(self.conditions)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that conditions name."""
        return frozenset(name for one in self.remembered for name in one.columns)

    def without(self, columns: frozenset[str]) -> "Conditions":
        """The conditions that name none of these columns."""
        places = [at for at, one in enumerate(self.remembered) if not one.columns & columns]
        order = {place: at for at, place in enumerate(places)}
        return Conditions(
            tuple(self.conditions[place] for place in places),
            tuple(self.remembered[place] for place in places),
            {rule: order[at] for rule, at in self.of_rule.items() if at in order},
            self.n_classes,
        )

    def truths(self, rows: TensorRows) -> Bools:
        """Where each condition holds. Shapes: (conditions, rows)."""
        n = rows.named.n
        made = np.zeros((len(self), n), np.bool_)
        codes: dict[tuple[Node, CellAxis], NDArray[np.int64]] = {}
        for place, condition in enumerate(self.conditions):
            if isinstance(condition, Body):
                true = torch.ones(n, dtype=torch.bool, device=rows.named.device)
                for node in condition.nodes:
                    true = true & rows.truths(node).true
                made[place] = true.cpu().numpy()
            else:
                key = condition.item, condition.axis
                if key not in codes:
                    codes[key] = _cells(rows, *key)
                made[place] = codes[key] == condition.place
        return made


def remembered_conditions(
    rules: RuleSet, *, label: str | None, classes: Sequence[Node], moving: Iterable[str]
) -> Conditions:
    """The conditions of rules that decide by columns alone which rows are in them.

    Not those of columns that a model's outputs change, `moving`; nor cells without classes of a
    column that other conditions tell by class: a change of balance would seem a drift of it.
    """
    statistics, background = rules.statistics(), Background.of(rules)
    places = {category_text(value): place for place, value in enumerate(classes)}
    never = {*moving, *([label] if label else [])}
    made: dict[Body | Cell, Remembered] = {}
    of_rule: dict[int, Body | Cell] = {}
    n_train = rules.provenance.train_rows if rules.provenance else 0
    rows = rules.table["rows"].to_pylist()
    for index, form in enumerate(rules.forms()):
        if (
            KINDS[form.kind].evidence == "counts"
            and form.body
            and rows[index] is not None
            and n_train
        ):
            names = frozenset(names_in({*form.body, *form.given}, statistics))
            if names & never or form.given:
                continue
            evidence = background.fair_evidence(index, form)
            body = Body(form.body)
            found = _of_body(names, rows[index], n_train, evidence)
            _put(made, body, _told(found, form, evidence, label, places))
            of_rule[index] = body
        elif form.reference is not None and not form.given:
            for cell, one in _of_cells(form, label, places, statistics, len(classes)):
                if not one.columns & never:
                    _put(made, cell, one)
    told = {name for one in made.values() if one.by_class for name in one.columns}
    kept = {key: one for key, one in made.items() if one.by_class or not one.columns & told}
    order = {key: place for place, key in enumerate(kept)}
    return Conditions(
        tuple(kept),
        tuple(kept.values()),
        {rule: order[key] for rule, key in of_rule.items() if key in order},
        len(classes),
    )


def _of_body(
    names: frozenset[str], count: float, n_train: int, evidence: list[float] | None
) -> Remembered:
    if evidence is None:
        return Remembered(names, count, n_train, {})
    body, _, _, n = evidence  # held-out rows are as good
    return Remembered(names, count + body, n_train + n, {})


def _told(
    found: Remembered,
    form: Form,
    evidence: list[float] | None,
    label: str | None,
    places: Mapping[str, int],
) -> Remembered:
    """What is remembered, with what held-out labels say of the rule's class."""
    head = class_of((form.head,), label) if form.head is not None and label else None
    if evidence is None or head is None or head not in places:
        return found
    body, in_head, both, n = evidence
    by_class = {places[head]: (both, in_head, body, n)}
    if len(places) == 2:
        by_class[1 - places[head]] = (body - both, n - in_head, body, n)
    return Remembered(found.columns, found.count, found.n, by_class)


def _of_cells(
    form: Form,
    label: str | None,
    places: Mapping[str, int],
    statistics: Mapping[str, Node],
    n_classes: int,
) -> Iterable[tuple[Cell, Remembered]]:
    """The cells of one column, by class where the shares are those of the label within them."""
    assert form.reference is not None
    table, axes = form.reference.table, form.reference.axes
    items = [axis_item(axis) for axis in form.axes]
    n = float(table.sum())
    if len(axes) == 1:
        names = frozenset(names_in({items[0]}, statistics))
        for place, count in enumerate(table[0]):
            yield Cell(items[0], axes[0], place), Remembered(names, float(count), n, {})
        return
    if label is None or items[0] != Name(label):
        return
    values = axes[0].words or [_text(number) for number in axes[0].numbers or ()]
    known = [places.get(value) for value in values]
    if None in known or len(known) != n_classes:
        return
    names = frozenset(names_in({items[1]}, statistics))
    totals = table.sum(0)
    for place, counts in enumerate(table):
        inside = float(counts.sum())
        by_class = {
            at: (float(counts[column]), float(totals[column]), inside, n)
            for column, at in enumerate(known)
            if at is not None
        }
        yield Cell(items[1], axes[1], place), Remembered(names, inside, n, by_class)


def _text(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _put(made: dict[Body | Cell, Remembered], key: Body | Cell, one: Remembered) -> None:
    """Keep what is remembered, the classes of both where another rule has the condition too."""
    before = made.get(key)
    by_class = {**before.by_class, **one.by_class} if before else one.by_class
    made[key] = Remembered(one.columns, one.count, one.n, by_class)


def _cells(rows: TensorRows, item: Node, axis: CellAxis) -> NDArray[np.int64]:
    """The cell of an axis that each row is in, -1 where its value is missing."""
    named = rows.named
    if axis.words is not None:
        assert isinstance(item, Name)
        if item.name not in named.categories:
            return np.full(named.n, -1)
        column = named.categories[item.name]
        known = {word: place for place, word in enumerate(axis.words)}
        cells = np.array([*(known.get(one, len(axis.words)) for one in column.names), -1])
        return np.asarray(cells[column.codes.cpu().numpy()])
    numbers = rows.numbers(item)
    values = numbers.values.detach().double().cpu().numpy()
    if axis.cuts is not None:
        code = np.searchsorted(np.array(axis.cuts), values, side="left")
    else:
        wanted = np.array(axis.numbers)
        code = np.minimum(np.searchsorted(wanted, values), max(wanted.size - 1, 0))
        code = np.where(wanted[code] == values, code, wanted.size) if wanted.size else code
    return np.where(numbers.known.cpu().numpy(), code, -1)


def names_needed(rules: RuleSet) -> frozenset[str]:
    """The columns that the conditions speak of, cells of shares too."""
    nodes: set[Node] = set()
    for form in rules.forms():
        nodes |= {*form.body, *(axis_item(axis) for axis in form.axes)}
    return frozenset(names_in(nodes, rules.statistics()))


def joined(parts: Sequence[Named]) -> Named:
    """The named rows of several mini-batches as one."""
    from sqrl._adapt.batches import Categories

    first = parts[0]
    categories = {}
    for name in first.categories:
        words = tuple(dict.fromkeys(word for one in parts for word in one.categories[name].names))
        place = {word: at for at, word in enumerate(words)}
        codes = []
        for one in parts:
            column = one.categories[name]
            known = torch.tensor([*(place[word] for word in column.names), -1])
            codes.append(known.to(column.codes.device)[column.codes])
        categories[name] = Categories(torch.cat(codes), words)
    probabilities = None
    if first.probabilities is not None:
        found = [one.probabilities for one in parts if one.probabilities is not None]
        probabilities = torch.cat(found)
    return Named(
        n=sum(one.n for one in parts),
        device=first.device,
        numbers={name: torch.cat([one.numbers[name] for one in parts]) for name in first.numbers},
        categories=categories,
        label=first.label,
        probabilities=probabilities,
    )
