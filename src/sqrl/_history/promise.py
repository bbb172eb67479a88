"""Promise: how often a false alarm may be raised, and how often rows are checked."""

from math import isfinite

from msgspec import Struct

from sqrl.errors import DataError

HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.5, "year": 8766.0}
_FIX = "give such as 1/year, 2/month or 0.5/year"


class Promise(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most so many false alarms on average, where rows are checked every so often.

    >>> Promise(false_alarms="1/year", every="day").n_checks
    365.25
    """

    false_alarms: str = "1/year"
    every: str = "day"

    def __post_init__(self) -> None:
        if self.every not in HOURS:
            raise DataError(
                f"Rows are checked every {self.every!r}.", fix=f"give one of: {', '.join(HOURS)}"
            )
        if not self.n_checks > 1:
            raise DataError(
                f"{self.false_alarms} allows a false alarm in every check, of which there is one a"
                f" {self.every}.",
                fix="allow fewer false alarms, such as 1/year",
            )

    @property
    def n_checks(self) -> float:
        """The average number of checks between false alarms, at least."""
        number, slash, unit = self.false_alarms.partition("/")
        try:
            count = float(number)
        except ValueError:
            count = float("nan")
        if not slash or not isfinite(count) or count <= 0:
            what = f"{self.false_alarms!r} does not say how many false alarms there may be."
            raise DataError(what, fix=_FIX)
        if unit.strip() not in HOURS:
            what = f"{self.false_alarms!r} counts false alarms in an unknown unit of time."
            raise DataError(what, fix=f"give one of: {', '.join(HOURS)}")
        return HOURS[unit.strip()] / HOURS[self.every] / count
