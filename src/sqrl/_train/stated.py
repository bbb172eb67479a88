"""Stated: what rules say of a label, as rates of its classes (or means) where bodies hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, Name, Node, conjuncts
from sqrl._rows.rows import Rows, category_text
from sqrl._rules.label import known_label
from sqrl._rules.needed_columns import names_in
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError

NORMAL_98 = 2.326  # standard deviations from the centre to a bound that 98 % of samples keep
LEAST_SPREAD = 1e-6

# The share of rows in body and head that a statistic states, and how fast it changes with the
# statistic, from its value, the share of rows in the body and that of rows in the head.
Joint = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
JOINT: dict[str, Joint] = {
    "precision": lambda value, body, head: (value * body, body + 0 * head),
    "recall": lambda value, body, head: (value * head, head + 0 * body),
    "support": lambda value, body, head: (value + 0 * body, 1 + 0 * head),
    "f1": lambda value, body, head: (value * (body + head) / 2, (body + head) / 2),
    "f1_given": lambda value, body, head: (
        body * value / (2 - value),
        body * 2 / (2 - value) ** 2 + 0 * head,
    ),
    "lift": lambda value, body, head: (value * body * head, body * head),
    "accuracy": lambda value, body, head: ((value - 1 + body + head) / 2, 0.5 + 0 * body),
}


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """Rates that rules state, each of a class where a body holds; means, where the label has none.

    Shapes: place (the rule's), body, which_class, value and spread have a number for each rate;
    base and base_spread one for each class (of a number: one, its mean). `classes` is empty for a
    number.
    """

    label: str
    classes: tuple[str, ...]
    bodies: tuple[tuple[Node, ...], ...]
    place: Int64s
    body: Int64s
    which_class: Int64s
    statistic: tuple[str, ...]
    value: Floats
    spread: Floats
    base: Floats
    base_spread: Floats
    left_out: dict[str, str]

    @property
    def is_number(self) -> bool:
        """Whether the label is a number, of which means are stated."""
        return not self.classes

    def held(self, table: Table, statistics: dict[str, Node]) -> Floats:
        """Where each body holds: 1 or 0.

        Shapes: result (n_rows, n_bodies).
        """
        rows = Rows(table, statistics)
        made = np.zeros((table.n_rows, len(self.bodies)))
        for place, body in enumerate(self.bodies):
            made[:, place] = rows.all_true(body)
        return made

    def joint(self, share: Floats) -> tuple[Floats, Floats]:
        """The share of rows in body and class that each rate states, and its standard error.

        Of a number: the mean of (label - its mean) over all rows, where those outside of the body
        count as 0. `share` is that of the rows where each body holds.
        """
        body = share[self.body]
        if self.is_number:
            return body * (self.value - self.base[0]), body * self.spread
        head = self.base[self.which_class]
        value, error = np.empty(len(body)), np.empty(len(body))
        for name in set(self.statistic):
            at = np.array([one == name for one in self.statistic])
            value[at], slope = JOINT[name](self.value[at], body[at], head[at])
            error[at] = np.abs(slope) * self.spread[at]
        return value, error


def read_stated(rules: RuleSet, classes: Sequence[str] | None = None) -> Stated:
    """What the rules in force state of their label; raises where that is nothing.

    >>> texts = ["rate(y = 1) <= 0.6 over 9", "precision(x > 3 => y = 1) <= 0.9 over 9"]
    >>> stated = read_stated(RuleSet.from_texts(texts, centre=[0.5, 0.8], spread=[0.01, 0.02]))
    >>> stated.classes, stated.value.tolist(), stated.base.tolist()
    (('0', '1'), [0.8], [0.5, 0.5])
    """
    rules = rules.in_force()
    label = known_label(rules)
    found = [_read(rules, place, form, label) for place, form in enumerate(rules.forms())]
    left_out = {rules[i].text: why for i, why in enumerate(found) if isinstance(why, str)}
    said = [one for one in found if not isinstance(one, str)]
    means = [one for one in said if one.statistic == "mean"]
    rates = [one for one in said if one.statistic != "mean"]
    chosen = rates or means
    bodies = list(dict.fromkeys(one.body for one in chosen if one.body))
    if not bodies:
        why = next(iter(left_out.values()), "none is about a part of the rows")
        raise AdaptError(
            f"No rule states a rate or a mean of {label!r} to train by: {why}.",
            fix="learn some with the schema 'supervise', and label='...'",
        )
    names = _classes(rates, classes, label)
    base = [one for one in chosen if not one.body]
    of_facts = [one for one in chosen if one.body]
    places = {name: place for place, name in enumerate(names)}
    level, level_spread = _base(base, of_facts, names)
    return Stated(
        label=label,
        classes=names,
        bodies=tuple(bodies),
        place=np.array([one.place for one in of_facts], np.int64),
        body=np.array([bodies.index(one.body) for one in of_facts], np.int64),
        which_class=np.array([places.get(one.value_of, 0) for one in of_facts], np.int64),
        statistic=tuple(one.statistic for one in of_facts),
        value=np.array([one.centre for one in of_facts]),
        spread=np.maximum([one.spread for one in of_facts], LEAST_SPREAD),
        base=level,
        base_spread=level_spread,
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    place: int
    body: tuple[Node, ...]
    statistic: str
    value_of: str
    centre: float
    spread: float


def _read(rules: RuleSet, place: int, form: Form, label: str) -> _Said | str:  # noqa: PLR0911
    """What a rule states, or why it states nothing to train by."""
    known = centre_and_spread(rules, place)
    if known is None:
        return "it has bounds on one side only, and no centre"
    if form.evidence == "moments":
        if form.statistic != "mean" or form.subject != Name(label):
            return "it is not about the mean of the label"
        return _checked(rules, _Said(place, form.given, "mean", "", *known), label)
    if form.evidence != "counts" or form.given:
        return "it is not about how often the label has a value"
    if form.statistic == "rate":
        value = _class(form.body, label)
        return (
            "it is not about a value of the label"
            if value is None
            else _Said(place, (), "rate", value, *known)
        )
    if form.statistic not in JOINT:
        return f"what {form.statistic} states cannot be trained by"
    value = None if form.head is None else _class((form.head,), label)
    if value is None:
        return "it is not about a value of the label"
    return _checked(rules, _Said(place, form.body, str(form.statistic), value, *known), label)


def _checked(rules: RuleSet, said: _Said, label: str) -> _Said | str:
    if label in names_in(said.body, rules.statistics()):
        return "its condition names the label"
    return said


def centre_and_spread(rules: RuleSet, place: int) -> tuple[float, float] | None:
    """A rule's centre and its standard error; of a rule without, the middle of its bounds.

    Bounds of mini-batches lie further apart than all rows would need: such a rule weighs less.

    >>> rules = RuleSet.from_texts(["0.4 <= rate(y = 1) <= 0.6 over 9"])
    >>> [round(one, 3) for one in centre_and_spread(rules, 0)]
    [0.5, 0.043]
    """
    rule = rules[place]
    if rule.centre is not None and rule.learned is None:
        return rule.centre, rule.spread or 0.0
    if rule.lower is None or rule.upper is None:
        return None
    return (rule.lower + rule.upper) / 2, (rule.upper - rule.lower) / (2 * NORMAL_98)


def _class(nodes: tuple[Node, ...], label: str) -> str | None:
    """The value that the formulas say the label has, where they say nothing else."""
    parts = [part for node in nodes for part in conjuncts(node)]
    match parts:
        case [Compare(Name(name), "=", value)] if name == label:
            return category_text(value)
    return None


def _classes(rates: Sequence[_Said], given: Sequence[str] | None, label: str) -> tuple[str, ...]:
    """All classes, in order: those given, else those that rules speak of, and the rest of two."""
    spoken = sorted({one.value_of for one in rates}, key=_by_value)
    if given is not None:
        names = tuple(map(str, given))
        if unknown := [name for name in spoken if name not in names]:
            raise AdaptError(
                f"The rules speak of {label} = {unknown[0]}, which is not among the classes.",
                fix=f"name all classes, such as {spoken}",
            )
        return names
    return (_other(spoken[0]), spoken[0]) if len(spoken) == 1 else tuple(spoken)


def _other(name: str) -> str:
    """A name for the class beside the only one that rules speak of.

    >>> _other("1"), _other("true"), _other("sick")
    ('0', 'false', 'not sick')
    """
    if name in {"true", "false"}:
        return "false" if name == "true" else "true"
    is_word, number, _ = _by_value(name)
    return f"not {name}" if is_word else "0" if number else "1"


def _base(
    base: Sequence[_Said], facts: Sequence[_Said], names: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """The rate of each class in all rows (of a number: its mean), with its standard error."""
    if not names:
        if base:
            return np.array([base[0].centre]), np.array([base[0].spread])
        return np.array([np.mean([one.centre for one in facts])]), np.array([0.0])
    level, error = np.full(len(names), np.nan), np.zeros(len(names))
    for one in base:
        at = names.index(one.value_of)
        level[at], error[at] = one.centre, one.spread
    for at in np.flatnonzero(np.isnan(level)).tolist():
        rates = [one for one in facts if one.statistic == "precision"]
        rates = [one for one in rates if one.value_of == names[at]]
        if rates:
            level[at] = np.mean([one.centre for one in rates])
    unknown = np.isnan(level)
    level[unknown] = max(0.0, 1.0 - np.nansum(level)) / max(1, unknown.sum())
    level = np.clip(level, 1e-4, None)
    return level / level.sum(), error


def _by_value(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
