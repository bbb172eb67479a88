"""A rule set as index arrays: which literals, conjunctions, classes and bounds each rule needs.

Every condition, body and head is a conjunction of formulas about columns and of formulas about the
label. The first kind is true or false on a row whatever the model says; the second is a set of
classes, with a probability. So a rule set needs each distinct literal once, each distinct
conjunction of literals once and each distinct set of classes once; a rule is a few places in those.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sqrl._adapt.rule_loss.tensor_statistics import tensor_form, why_no_tensor_form
from sqrl._check.row_outcomes import interval_ends
from sqrl._data.table import as_table
from sqrl._language.forms import Form
from sqrl._language.kinds import KINDS, handler
from sqrl._language.printer import to_text
from sqrl._language.tree import Known, Name, Node, Not, Number, Truth, conjunction, conjuncts, walk
from sqrl._rows.rows import Rows, category_text
from sqrl._rules.needed_columns import names_in

Item = TypeVar("Item", bound=Hashable)


class NoTensorFormError(Exception):
    """A rule that cannot be computed from tensors; the message is the reason."""


class Distinct(dict[Item, int]):
    """Things that can be compared, each held once and known by its place."""

    def place(self, item: Item) -> int:
        """The place of an item, a new one if it was not there."""
        return self.setdefault(item, len(self))


@dataclass(frozen=True, slots=True)
class Event:
    """A conjunction: where its literals hold, and the classes for which it does."""

    conjunction: int
    classes: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A rule about counts: rows in the body, in the head, in both and in all."""

    rule: int
    statistic: str
    body: Event
    head: Event
    both: Event
    all: Event
    lower: float
    upper: float
    less: Event | None = None  # rows of all that do not count


@dataclass(frozen=True, slots=True)
class Bounded:
    """A rule, or a piece of one, about an expression's values where an event holds."""

    rule: int
    statistic: str | None
    event: Event
    subject: int
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Implied:
    """A rule that implies some classes where its body holds."""

    rule: int
    body: Event
    kept: Event
    coverage: float


@dataclass(slots=True, eq=False)
class Program:
    """What to compute for a rule set, given the label's name and its classes.

    `literals` are formulas about columns, `conjunctions` tuples of places in them, `class_sets`
    tuples of booleans, one for each class, `subjects` expressions.
    """

    statistics: Mapping[str, Node]
    label: str | None
    classes: Sequence[Node]
    literals: Distinct[Node] = field(default_factory=Distinct)
    conjunctions: Distinct[tuple[int, ...]] = field(default_factory=Distinct)
    class_sets: Distinct[tuple[bool, ...]] = field(default_factory=Distinct)
    subjects: Distinct[Node] = field(default_factory=Distinct)
    counted: list[Counted] = field(default_factory=list)
    bounded: list[Bounded] = field(default_factory=list)
    implied: list[Implied] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)
    _known_sets: dict[tuple[Node, ...], tuple[bool, ...]] = field(default_factory=dict)

    def add(self, rule: int, form: Form, coverage: float | None) -> None:
        """Take a rule up, or note why it cannot be."""
        if "torch" in KINDS[form.kind].refused:
            self.left_out[rule] = KINDS[form.kind].refused["torch"]
            return
        try:
            handler(TAKEN_UP, form.kind, "torch")(self, rule, form, coverage)
        except NoTensorFormError as reason:
            self.left_out[rule] = str(reason)

    def event(self, nodes: Sequence[Node]) -> Event:
        """The places of a conjunction."""
        literals: list[Node] = []
        about: list[Node] = []
        for node in nodes:
            for part in conjuncts(node):
                (about if self._names_label(part) else literals).append(part)
        places = sorted({self.literals.place(literal) for literal in literals})
        classes = self.class_sets.place(self._class_set(tuple(about)))
        return Event(self.conjunctions.place(tuple(places)), classes)

    def is_about_label(self, event: Event) -> bool:
        """Whether the event's probability depends on that of the classes."""
        return not all(list(self.class_sets)[event.classes])

    def _names_label(self, node: Node) -> bool:
        names = names_in((node,), self.statistics)
        if self.label is None or self.label not in names:
            return False
        if names != {self.label}:
            raise NoTensorFormError(
                f"'{to_text(node)}' mixes the label with other columns in one formula"
            )
        return True

    def _class_set(self, nodes: tuple[Node, ...]) -> tuple[bool, ...]:
        """For which classes formulas about the label alone hold."""
        if not nodes:
            return (True,) * max(1, len(self.classes))
        if nodes not in self._known_sets:  # rules by the hundred are about a few classes
            assert self.label is not None
            table = as_table({self.label: [_plain(value) for value in self.classes]})
            holds = Rows(table, self.statistics).all_true(nodes).tolist()
            self._known_sets[nodes] = tuple(holds)
        return self._known_sets[nodes]

    def count(self, rule: int, form: Form, coverage: float | None) -> None:  # noqa: ARG002
        """Take up a rule about counts of a mini-batch."""
        assert form.statistic is not None
        lower, upper = (ends[0].item() for ends in interval_ends(form))
        _check_statistic(form.statistic)
        less = None
        if form.head is None:
            inside = self.event((*form.given, *form.body))
            events = inside, inside, inside, self.event(form.given)
            less = self._unknown(form)
        else:
            # Rows where it is unknown whether the head holds do not count.
            known = () if self._names_label(form.head) else (Known(form.head),)
            here = (*form.given, *known)
            both = self.event((*here, *form.body, form.head))
            body, head = self.event((*here, *form.body)), self.event((*here, form.head))
            events = body, head, both, self.event(here)
        self.counted.append(Counted(rule, form.statistic, *events, lower, upper, less))

    def _unknown(self, form: Form) -> Event | None:
        """Where it is unknown whether a formula holds, if that can be.

        What it says of columns is unknown, and what it says of the label, which is true or false,
        holds.
        """
        parts = [part for node in form.body for part in conjuncts(node)]
        about = [part for part in parts if self._names_label(part)]
        columns = conjunction(tuple(part for part in parts if part not in about))
        if columns is None or not any(isinstance(part, Name) for part in walk(columns)):
            return None
        return self.event((*form.given, Not(Known(columns)), *about))

    def imply(self, rule: int, form: Form, coverage: float | None) -> None:
        """Take up a rule that implies a class."""
        assert form.head is not None
        if not self._names_label(form.head):
            raise NoTensorFormError(
                f"nothing can change whether '{to_text(form.head)}' holds: it is not about "
                "probabilities"
            )
        body = self.event(form.given)
        if self.is_about_label(body):
            raise NoTensorFormError("its condition is about the label that it implies")
        kept = self.event((*form.given, form.head))
        self.implied.append(Implied(rule, body, kept, 1.0 if coverage is None else coverage))

    def bound(self, rule: int, form: Form, coverage: float | None) -> None:  # noqa: ARG002
        """Take up a rule about values, of single rows or of a mini-batch."""
        assert form.subject is not None
        if self.label is not None and self.label in names_in((form.subject,), self.statistics):
            raise NoTensorFormError(
                "it bounds the label as if that were a number; bound rate(label = value) instead"
            )
        if form.statistic is not None:
            _check_statistic(form.statistic)
        subject = self.subjects.place(form.subject)
        made, before = [], form.given
        for piece, lower, upper in zip(form.pieces, *interval_ends(form), strict=True):
            event = self.event(before if piece.test is None else (*before, piece.test))
            made.append(Bounded(rule, form.statistic, event, subject, lower.item(), upper.item()))
            if piece.test is not None:  # the next piece takes the rows where this test is false
                before = (*before, Not(piece.test))
        self.bounded += made  # all pieces of a rule, or none


TAKEN_UP: Mapping[str, Callable[[Program, int, Form, float | None], None]] = {
    "sample": Program.bound,
    "batch": Program.bound,
    "logic": Program.count,
    "class": Program.imply,
}


def _check_statistic(name: str) -> None:
    if tensor_form(name) is None:
        raise NoTensorFormError(why_no_tensor_form(name))


def _plain(value: Node) -> float | bool | str:
    return value.value if isinstance(value, Number | Truth) else category_text(value)
