"""Questions asked of rows with a prediction in the label's place."""

from dataclasses import dataclass
from typing import Any, Protocol

from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rules.label import put_prediction
from sqrl._scan.job import State


class Counted(Protocol):
    """A question whose answers for parts of the rows add up, and what they add up to."""

    @property
    def of(self) -> Of:
        """Which rows it is about."""

    def start(self) -> State:
        """Nothing counted."""

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""

    def finish(self, tally: State) -> Any:
        """The answer."""


@dataclass(frozen=True, slots=True)
class PredictedRows:
    """Asks a question of rows with a prediction in the label's place."""

    asked: Counted
    label: str
    prediction: str

    @property
    def of(self) -> Of:
        """Which rows it is about."""
        return self.asked.of

    def start(self) -> State:
        """Nothing counted."""
        return self.asked.start()

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        table = put_prediction(rows.table, self.label, self.prediction)
        return self.asked.add(Rows(table, rows.statistics), first, tally)

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return self.asked.merge(one, other)

    def finish(self, tally: State) -> Any:
        """The answer."""
        return self.asked.finish(tally)

    def answer(self, rows: Rows) -> Any:
        """The answer, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))
