"""What changed between two sets of rules: which appeared, which vanished, which moved."""

from dataclasses import dataclass
from html import escape

import numpy as np

from sqrl._rules.ruleset import RuleSet


@dataclass(frozen=True, slots=True)
class Moved:
    """A rule that both sets have, with other bounds."""

    before: str
    after: str
    by_widths: float  # how far the bounds moved, in widths of the old interval; nan if it is open
    id: str = ""


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

    Two rules are the same where their ids are: their sentences but for what was learned.
    """
    before = {one: index for index, one in enumerate(older.ids())}
    after = {one: index for index, one in enumerate(newer.ids())}
    moved = []
    for one, index in before.items():
        move = _moved(older, index, newer, after[one]) if one in after else None
        if move:
            moved.append(move)
    both = len(before.keys() & after.keys())
    return RuleDiff(
        newer.take(np.array([i for one, i in after.items() if one not in before], int)),
        older.take(np.array([i for one, i in before.items() if one not in after], int)),
        tuple(sorted(moved, key=lambda move: -np.nan_to_num(move.by_widths, nan=np.inf))),
        both - len(moved),
    )


def _moved(older: RuleSet, i: int, newer: RuleSet, j: int) -> Moved | None:
    old, new = older[i], newer[j]
    if old.text == new.text:
        return None
    shift = np.nan
    ends = (old.lower, old.upper, new.lower, new.upper)
    low, high, new_low, new_high = (np.nan if end is None else end for end in ends)
    if high > low:  # nan, as of a bound that was opened, is no distance
        shift = float(np.maximum(abs(new_low - low), abs(new_high - high))) / (high - low)
    return Moved(old.text, new.text, float(shift), old.id or "")
