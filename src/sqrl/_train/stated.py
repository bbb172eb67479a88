"""Stated: what rules say of a label.

Rates of its classes where bodies hold (of a number label: its mean there), and means of expressions
within its classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.printer import to_text
from sqrl._language.tree import Compare, Name, Node, conjunction, conjuncts
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
class Means:
    """Means that rules state of expressions within classes: `type = Car => mean(width)`.

    Shapes: place (the rule's), subject (of `expressions`), which_class, value and spread have a
    number for each mean.
    """

    expressions: tuple[Node, ...]
    place: Int64s
    subject: Int64s
    which_class: Int64s
    value: Floats
    spread: Floats

    def by_class(self, values: Floats, n_classes: int) -> Floats:
        """Numbers of the means as a table, nan where nothing is stated.

        Shapes: values (n_means,), result (n_expressions, n_classes).
        """
        made = np.full((len(self.expressions), n_classes), np.nan)
        made[self.subject, self.which_class] = values
        return made


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """Rates that rules state, each of a class where a body holds; means, where the label has none.

    What a model adds up are *terms*: the bodies, 1 or 0 on a row, then the expressions of `means`.

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
    means: Means
    left_out: dict[str, str]

    @property
    def n_terms(self) -> int:
        """How many bodies and expressions there are."""
        return len(self.bodies) + len(self.means.expressions)

    def term_texts(self) -> list[str]:
        """The terms as people read them."""
        formulas = [conjunction(body) for body in self.bodies]
        texts = ["" if one is None else to_text(one) for one in formulas]
        return texts + [to_text(one) for one in self.means.expressions]

    @property
    def is_number(self) -> bool:
        """Whether the label is a number, of which means are stated."""
        return not self.classes

    def held(self, table: Table, statistics: dict[str, Node]) -> Floats:
        """The terms of each row: 1 or 0 for a body, a number or nan for an expression.

        Shapes: result (n_rows, n_terms).
        """
        rows = Rows(table, statistics)
        made = np.zeros((table.n_rows, self.n_terms))
        for place, body in enumerate(self.bodies):
            made[:, place] = rows.all_true(body)
        for place, expression in enumerate(self.means.expressions, start=len(self.bodies)):
            made[:, place] = rows.numbers(expression)
        return made

    def joint(self, share: Floats) -> tuple[Floats, Floats]:
        """The share of rows in body and class that each rate states, and its standard error.

        Of a number: the mean of (label - its mean) over all rows, where those outside of the body
        count as 0. `share` is that of the rows where each body holds.
        """
        if not len(self.body):
            return np.zeros(0), np.zeros(0)
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
    within = [one for one in said if one.subject is not None]
    rates = [one for one in said if one.subject is None and one.statistic != "mean"]
    of_label = [one for one in said if one.subject is None and one.statistic == "mean"]
    chosen = rates if rates or within else of_label
    bodies = list(dict.fromkeys(one.body for one in chosen if one.body))
    if not bodies and not within:
        why = next(iter(left_out.values()), "none is about a part of the rows")
        raise AdaptError(
            f"No rule states a rate or a mean of {label!r} to train by: {why}.",
            fix="learn some with the schema 'supervise', and label='...'",
        )
    names = _classes([*rates, *within], classes, label)
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
        means=_means(within, places),
        left_out=left_out,
    )


def _means(within: "Sequence[_Said]", places: Mapping[str, int]) -> Means:
    expressions = list(dict.fromkeys(one.subject for one in within if one.subject is not None))
    at = {one: place for place, one in enumerate(expressions)}
    return Means(
        expressions=tuple(expressions),
        place=np.array([one.place for one in within], np.int64),
        subject=np.array([at[one.subject] for one in within if one.subject], np.int64),
        which_class=np.array([places[one.value_of] for one in within], np.int64),
        value=np.array([one.centre for one in within], np.float64),
        spread=np.array([one.spread for one in within], np.float64),
    )


@dataclass(frozen=True, slots=True)
class _Said:
    place: int
    body: tuple[Node, ...]
    statistic: str
    value_of: str
    centre: float
    spread: float
    subject: Node | None = None  # the expression whose mean is stated within the class


def _read(rules: RuleSet, place: int, form: Form, label: str) -> _Said | str:  # noqa: PLR0911
    """What a rule states, or why it states nothing to train by."""
    known = centre_and_spread(rules, place)
    if known is None:
        return "it has bounds on one side only, and no centre"
    if form.evidence == "moments":
        if form.statistic == "mean" and form.subject != Name(label):
            return _read_mean(rules, place, form, label, known)
        if form.statistic != "mean":
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


def _read_mean(
    rules: RuleSet, place: int, form: Form, label: str, known: tuple[float, float]
) -> _Said | str:
    """What the mean of an expression within a class states, or why it states nothing."""
    assert form.subject is not None
    value = _class(form.given, label)
    if value is None:
        return "it is not about a mean of the label, nor about one within a value of the label"
    if label in names_in((form.subject,), rules.statistics()):
        return "its expression names the label"
    return _Said(place, (), "mean", value, *known, form.subject)


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
