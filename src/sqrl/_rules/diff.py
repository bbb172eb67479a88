"""What changed between two sets of rules: which appeared, which vanished, which moved."""

from dataclasses import dataclass
from html import escape

import numpy as np

from sqrl._language import to_text
from sqrl._language.forms import Form, sentence_of
from sqrl._language.tree import Compare, Hole, In, Node, Number, rewrite
from sqrl._rules.ruleset import RuleSet


@dataclass(frozen=True, slots=True)
class Moved:
    """A rule that both sets have, with other bounds."""

    before: str
    after: str
    by_widths: float  # how far the bounds moved, in widths of the old interval; nan if it is open


@dataclass(frozen=True, slots=True, eq=False)
class RuleDiff:
    """The difference of two rule sets.

    >>> old = RuleSet.from_texts(["3 <= GCS <= 15", "0 <= HR <= 200"])
    >>> new = RuleSet.from_texts(["3 <= GCS <= 14", "0 <= K <= 9"])
    >>> print(old.diff(new))
    1 appeared, 1 vanished, 1 moved, 0 unchanged
    + 0 <= K <= 9
    - 0 <= HR <= 200
    ~ 3 <= GCS <= 15  ->  3 <= GCS <= 14  (0.0833 widths)
    """

    appeared: RuleSet
    vanished: RuleSet
    moved: tuple[Moved, ...]
    n_unchanged: int

    def __bool__(self) -> bool:
        return bool(self.appeared) or bool(self.vanished) or bool(self.moved)

    def summary(self) -> str:
        """The counts in one line."""
        return (
            f"{len(self.appeared):,} appeared, {len(self.vanished):,} vanished, "
            f"{len(self.moved):,} moved, {self.n_unchanged:,} unchanged"
        )

    def lines(self) -> list[str]:
        """A line for each difference: + appeared, - vanished, ~ moved."""
        lines = [f"+ {text}" for text in self.appeared.texts()]
        lines += [f"- {text}" for text in self.vanished.texts()]
        for move in self.moved:
            far = "" if np.isnan(move.by_widths) else f"  ({move.by_widths:.3g} widths)"
            lines.append(f"~ {move.before}  ->  {move.after}{far}")
        return lines

    def __str__(self) -> str:
        return "\n".join([self.summary(), *self.lines()])

    def _repr_html_(self) -> str:
        items = "".join(f"<li><code>{escape(line)}</code></li>" for line in self.lines()[:50])
        return f"<p>{self.summary()}</p><ul>{items}</ul>"


def diff_rules(older: RuleSet, newer: RuleSet) -> RuleDiff:
    """Which rules appeared, vanished or moved from the older set to the newer.

    Two rules are the same where their sentences are the same but for the bounds.
    """
    before = {_claim(older.form(index)): index for index in range(len(older))}
    after = {_claim(newer.form(index)): index for index in range(len(newer))}
    moved = []
    for claim, index in before.items():
        move = _moved(older, index, newer, after[claim]) if claim in after else None
        if move:
            moved.append(move)
    both = len(before.keys() & after.keys())
    return RuleDiff(
        newer.take(np.array([i for claim, i in after.items() if claim not in before], int)),
        older.take(np.array([i for claim, i in before.items() if claim not in after], int)),
        tuple(sorted(moved, key=lambda move: -np.nan_to_num(move.by_widths, nan=np.inf))),
        both - len(moved),
    )


def _claim(form: Form) -> str:
    """The rule's sentence with ? for every number that was inferred."""

    def open_bound(node: Node) -> Node | None:
        if isinstance(node, In) or (isinstance(node, Compare) and node.op in {"=", "!="}):
            return node  # a value of a column, not a bound
        return Hole() if isinstance(node, Number) else None

    sentence = sentence_of(form)
    if form.implies_class and not form.given:
        return to_text(sentence)
    if form.implies_class:  # the interval is the last condition
        last = rewrite(form.given[-1], open_bound)
        return f"{[to_text(part) for part in form.given[:-1]]} {to_text(last)} => {form.head}"
    if len(form.pieces) != 1:
        return to_text(rewrite(sentence, open_bound))
    given = " and ".join(to_text(part) for part in form.given)
    bounds = {id(form.pieces[0].lower), id(form.pieces[0].upper)}
    subject = rewrite(sentence.claim, lambda node: Hole() if id(node) in bounds else None)
    return f"{given} {to_text(subject)} over {form.over}"


def _moved(older: RuleSet, i: int, newer: RuleSet, j: int) -> Moved | None:
    old, new = older[i], newer[j]
    if old.text == new.text:
        return None
    shift = np.nan
    if old.lower is not None and old.upper is not None and old.upper > old.lower:
        moves = [abs((new.lower or 0) - old.lower), abs((new.upper or 0) - old.upper)]
        shift = max(moves) / (old.upper - old.lower)
    return Moved(old.text, new.text, float(shift))
