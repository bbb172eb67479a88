"""Session: rules while people decide about them; what is of a file is saved at every step."""

from dataclasses import replace
from threading import Lock
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats
from sqrl._review.saved_rules import SavedRules
from sqrl._review.sketch import make_sketch
from sqrl._rows.rows import Rows
from sqrl._rows.sequences import with_possible_sequences
from sqrl._rules.decisions import decide, ids_of, ids_redecided, today, withdraw
from sqrl._rules.edited import with_bounds
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.sequence_names import row_order_of
from sqrl.errors import RulesFileError, SqrlError
from sqrl.report._drawing import piece_values
from sqrl.report._wording import plain, short_sentence

MOST_UNDONE = 1000
VERDICTS = {"accept": "accepted", "reject": "rejected", "waive": "waived"}


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person asks for on the page."""

    do: Literal["accept", "reject", "waive", "withdraw", "edit", "undo"]
    ids: list[str] = []
    why: str = ""
    until: str | None = None
    lower: float | None = None
    upper: float | None = None


class Session:
    """Rules, of a file or not, rows to look at them by, and the steps that can be undone."""

    def __init__(self, rules: RuleSet | SavedRules, table: Table, *, by: str) -> None:
        self.by = by
        self._file = rules if isinstance(rules, SavedRules) else None
        self.rules = (rules.loaded if isinstance(rules, SavedRules) else rules).with_ids()
        self.table = _with_sequences(self.rules, table)
        self.n_taken = 0
        self._before: list[tuple[RuleSet, tuple[str, ...]]] = []  # rules, and what was edited since
        self._lock, self._is_over = Lock(), False
        self._texts = [short_sentence(form) for form in self.rules.forms()]
        self._places = {one: place for place, one in enumerate(self.rules.ids())}

    def page_data(self) -> dict[str, Any]:
        """All that the page shows first: rules as columns, and what was decided about them."""
        with self._lock:
            return {
                "source": self._file.path.name if self._file else "rules",
                "is_saved": self._file is not None,
                "rows": self.table.source,
                "n_rows": self.table.n_rows,
                "by": self.by,
                "today": today(),
                "can_undo": len(self._before),
                "rules": {"id": list(self._places), "text": self._texts},
                "decisions": list(self.rules.decisions),
            }

    def rule(self, one: str) -> dict[str, Any]:
        """What the page shows of one rule: its bounds, its facts, and a sketch of its values."""
        with self._lock:
            ids_of(list(self._places), one)
            return self._rule(one)

    def step(self, step: Step) -> dict[str, Any]:
        """Do what was asked for, save it where there is a file, and say what is different now."""
        with self._lock:
            before = self.rules
            if step.do == "undo":
                changed = self._undo()
            else:
                changed = tuple(ids_of(list(self._places), step.ids))
                made = self._made(step, changed)
                edited = changed if step.do == "edit" else ()
                self._keep(made, edited)
                # A copy, without what was computed of the rules and is kept with them.
                self._before = [*self._before, (replace(before), edited)][-MOST_UNDONE:]
            return {
                "changed": list(changed),
                "can_undo": len(self._before),
                "decisions": list(self.rules.decisions),
                "texts": {one: self._texts[self._places[one]] for one in changed},
            }

    def finish(self) -> None:
        """Wait for a step that is being saved; none is taken any more."""
        with self._lock:
            self._is_over = True

    def _made(self, step: Step, ids: tuple[str, ...]) -> RuleSet:
        """The rules as a step leaves them."""
        rules = self.rules
        if step.do == "edit":
            for one in ids:
                counted = self._counted(one, step.lower, step.upper)
                ends = {"lower": step.lower, "upper": step.upper}
                rules = with_bounds(rules, one, counted=counted, **ends)
            return rules
        if step.do == "withdraw":
            return replace(rules, decisions=withdraw(rules.decisions, ids))
        verdict: Any = VERDICTS[step.do]
        until = step.until if step.do == "waive" else None
        known, old = list(self._places), rules.decisions
        made = decide(known, old, ids, verdict, by=self.by, why=step.why, until=until)
        return replace(rules, decisions=made)

    def _undo(self) -> tuple[str, ...]:
        if not self._before:
            return ()
        rules, edited = self._before[-1]
        changed = ids_redecided(self.rules.decisions, rules.decisions)
        self._keep(rules, edited)
        self._before.pop()
        there = [one for one in changed if one in self._places]
        return tuple(dict.fromkeys([*edited, *there]))

    def _keep(self, rules: RuleSet, edited: tuple[str, ...]) -> None:
        """Go on with these rules; the file, where there is one, has them first."""
        if self._is_over:
            raise RulesFileError("The review has ended.", fix="start sqrl review again")
        if self._file:
            self._file.save(rules, edited)
        self.rules = rules
        self.n_taken += 1
        for one in edited:
            place = self._places[one]
            self._texts[place] = short_sentence(rules.form(place))

    def _counted(
        self, one: str, lower: float | None, upper: float | None
    ) -> tuple[int, int] | None:
        """How many rows a rule about rows applies to, and how many lie beyond new bounds."""
        values = self._values(one)
        if values is None:
            return None
        low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
        return values.size, int(np.count_nonzero((values < low) | (values > high)))

    def _values(self, one: str) -> Floats | None:
        """The values that a rule with two bounds is about; None where it has not two."""
        form = self.rules.form(self._places[one])
        if not form.bounds_rows or len(form.pieces) != 1:
            return None
        return next(piece_values(form, Rows(self.table, self.rules.statistics())))

    def _rule(self, one: str) -> dict[str, Any]:
        place = self._places[one]
        rule, form = self.rules[place], self.rules.form(place)
        facts: dict[str, Any] = {
            "id": one,
            "text": rule.text,
            "learned": rule.learned,
            "lower": rule.lower,
            "upper": rule.upper,
            "can_edit": len(form.pieces) == 1,
            "coverage": plain(rule.coverage),
            "support": rule.support,
            "jaccard": plain(rule.jaccard),
            "over": form.over,
        }
        try:
            values = self._values(one)
        except SqrlError as error:
            return facts | {"note": error.what}
        if values is None:
            return facts
        sketch = make_sketch(values)
        points = {"n": sketch.n, "values": sketch.values.tolist(), "ranks": sketch.ranks.tolist()}
        return facts | {"sketch": points}


def _with_sequences(rules: RuleSet, table: Table) -> Table:
    """The table with the columns that follow from the rows before, as far as it has what they need.

    A rule about one that cannot be had is shown without its values.
    """
    statistics = rules.statistics()
    names = columns_of(rules.forms(), statistics)
    return with_possible_sequences(table, names, row_order_of(rules.schema), statistics)[0]
