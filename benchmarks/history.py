"""False alarms a year and days to find a change, of histories and of what is commonly done.

python benchmarks/history.py [--years 1000]
"""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from history_detectors import SIDES, Bonferroni, Cusum, Day, Ours
from history_years import A_DAY, MEANS, N_RULES, SHARES, Change, Years
from measure import HERE, LIBRARIES, Json, describe_commit, describe_machine, describe_versions
from sqrl._history.detector import replay
from sqrl._history.promise import Promise
from sqrl._history.record import CheckRecord, Numbers

Bools = NDArray[np.bool_]
RESULTS = HERE / "results" / "history.json"
PROMISE = Promise(false_alarms="1/year", every="day")
N_DAYS, GOOD_DAYS, LATER = 365, 100, 100
OURS, DAILY, CUSUM, KNOWN = (
    "history",
    "daily tests, Bonferroni",
    "CUSUM, limit by simulation",
    "CUSUM told the true values, limit by simulation",
)
CHANGES = {
    "a category's share from 10 to 12 %": Change(SHARES.start, 0.12),
    "a mean shifted by 0.1 sd": Change(MEANS.start, 0.1),
    "a broken unit in 2 % of rows": Change(0, 0.02 + 0.98 * 0.02),
}
REFERENCES = (20_000, 2_000)


class Detects(Protocol):
    """What raises alarms over days."""

    def start(self, held_out: Day) -> None:
        """Take in what held-out rows say."""

    def alarms(self, day: Day) -> Bools:
        """In which years there is an alarm on a day."""


def run(detectors: Sequence[Detects], years: Years, n_days: int) -> Bools:
    """On which days each detector raises an alarm; shape (detectors, years, days)."""
    drawn = years.draw(n_days)
    held_out = next(drawn)
    for detector in detectors:
        detector.start(held_out)
    found = np.zeros((len(detectors), years.n_years, n_days), np.bool_)
    for number, day in enumerate(drawn):
        for place, detector in enumerate(detectors):
            found[place, :, number] = detector.alarms(day)
    return found


def cusum_limit(years: Years, *, is_known: bool) -> float:
    """The least limit with at most one alarm a year, in other years."""
    low, high = 2.0, 4000.0
    for _ in range(16):
        middle = (low + high) / 2
        cusum = Cusum(middle, years.held_out, is_known=is_known)
        too_many = run([cusum], years, N_DAYS).sum() > years.n_years
        low, high = (middle, high) if too_many else (low, middle)
    return high


def detectors_of(rows: int, limits: Json) -> dict[str, Detects]:
    """All that are compared, for so many held-out rows."""
    return {
        OURS: Ours(PROMISE.n_checks, rows),
        DAILY: Bonferroni(PROMISE.n_checks, rows),
        CUSUM: Cusum(limits[CUSUM], rows),
        KNOWN: Cusum(limits[KNOWN], rows, is_known=True),
    }


def clean_years(n_years: int, rows: int, limits: Json) -> Json:
    """False alarms a year, and in how many years there is any."""
    detectors = detectors_of(rows, limits)
    found = run(list(detectors.values()), Years(n_years, 1, rows), N_DAYS)
    return {
        name: {
            "a_year": float(one.sum() / n_years),
            "error": float(one.sum(axis=1).std() / np.sqrt(n_years)),
            "years_with_any": float(one.any(axis=1).mean()),
        }
        for name, one in zip(detectors, found, strict=True)
    }


def days_to_find(n_years: int, change: Change, limits: Json) -> Json:
    """Days from the change to the alarm, where there was none in the good days before."""
    detectors = detectors_of(REFERENCES[0], limits)
    years = Years(n_years, 2, REFERENCES[0], change)
    found = run(list(detectors.values()), years, GOOD_DAYS + LATER)
    result: Json = {}
    for name, one in zip(detectors, found, strict=True):
        after = one[~one[:, :GOOD_DAYS].any(axis=1), GOOD_DAYS:]
        days = np.where(after.any(axis=1), after.argmax(axis=1) + 1, np.inf)
        result[name] = {
            "median": _days(np.median(days)),
            "nine_in_ten": _days(np.quantile(days, 0.9, method="higher")),
            "never": float(np.isinf(days).mean()),
            "years": len(days),
        }
    return result


def _days(days: np.float64) -> float | None:
    """The number of days; None where it is beyond those that were drawn."""
    return None if np.isinf(days) else float(days)


def records_of(years: Years, n_days: int) -> list[list[CheckRecord]]:
    """The days of each year as records, for the detector itself."""
    (held_out, variance), *days = years.draw(n_days)
    made = []
    for year in range(years.n_years):
        reference = _numbers(years.held_out, held_out[year], variance[year])
        made.append(
            [
                _record(f"{2000 + number:04}-01-01", _numbers(A_DAY, *_of(day, year)), reference)
                for number, day in enumerate(days)
            ]
        )
    return made


def _of(day: Day, year: int) -> Day:
    return day[0][year], day[1][year]


def _numbers(n: int, found: NDArray[np.float64], variance: NDArray[np.float64]) -> list[Numbers]:
    hits, means = found.tolist(), zip(found[MEANS].tolist(), variance.tolist(), strict=True)
    rows = [(float(n), hit) for hit in hits[: SHARES.start]]
    shares = [(hit, 0.0, 0.0, float(n)) for hit in hits[SHARES]]
    return [*rows, *shares, *((float(n), mean, spread) for mean, spread in means)]


def _record(at: str, evidence: list[Numbers], reference: list[Numbers]) -> CheckRecord:
    layouts = ("outcomes",) * 20 + ("counts",) * 15 + ("moments",) * 15
    counts = np.array([one[:2] for one in evidence[: SHARES.start]], np.int64)
    none = np.zeros(N_RULES - SHARES.start, np.int64)
    return CheckRecord(
        at=at,
        source=at,
        rules="",
        n_rows=A_DAY,
        ids=tuple(map(str, range(N_RULES))),
        texts=tuple(map(str, range(N_RULES))),
        applicable=np.append(counts[:, 0], none),
        broken=np.append(counts[:, 1], none),
        expected=np.full(N_RULES, np.nan),
        p_value=np.full(N_RULES, np.nan),
        evidence=tuple(evidence),
        reference=tuple(reference),
        layout=layouts,
        sides=tuple(SIDES),
        shape=(None,) * N_RULES,
        statistic=(None,) * 20 + ("rate",) * 15 + ("mean",) * 15,
        findings=(),
        finding_rules=(),
    )


def largest_difference(n_years: int, n_days: int) -> float:
    """How far the log evidence of many years at once is from that of the detector, at most.

    Up to the first alarm of a year: what is done with it differs.
    """
    years, ours = Years(n_years, 3), Ours(PROMISE.n_checks)
    drawn = years.draw(n_days)
    ours.start(next(drawn))
    found = np.array([(ours.alarms(day), ours.log_mean)[1] for day in drawn])
    apart = 0.0
    for year, records in enumerate(records_of(Years(n_years, 3), n_days)):
        timeline = replay(records, PROMISE)
        stop = timeline.at.index(timeline.alarms[0].at) + 1 if timeline.alarms else n_days
        together = np.logaddexp.reduce(timeline.log_evidence, axis=0)[:stop]
        apart = max(apart, float(np.abs(together - found[:stop, year]).max()))
    return apart


def alarms_of_the_detector(n_years: int) -> float:
    """Alarms a year by the detector itself, with its bookkeeping of alarms that are open."""
    records = records_of(Years(n_years, 4), N_DAYS)
    return sum(len(replay(one, PROMISE).alarms) for one in records) / n_years


def lasting_change(n_years: int, change: Change) -> Json:
    """How many alarms one lasting change raises by the detector itself, and where it says it began.

    Of years without an alarm in the good days before.
    """
    twice, held, off = [], [], []
    for records in records_of(Years(n_years, 6, change=change), GOOD_DAYS + LATER):
        timeline = replay(records, PROMISE)
        began = timeline.at[change.day]
        if not timeline.alarms or timeline.alarms[0].at < began:
            continue
        first = timeline.alarms[0]
        twice.append(sum(str(change.rule) in alarm.rules for alarm in timeline.alarms) > 1)
        held.append(first.started_low <= began <= first.started_high)
        off.append(abs(timeline.at.index(first.started) - change.day))
    return {
        "years": len(twice),
        "alarmed_twice": float(np.mean(twice)),
        "start_held": float(np.mean(held)),
        "days_off": float(np.median(off)),
    }


def measure(n_years: int, n_by_detector: int) -> Json:
    """All sections."""
    others = max(n_years // 2, 2)
    limits = {
        rows: {
            CUSUM: cusum_limit(Years(others, 5, rows), is_known=False),
            KNOWN: cusum_limit(Years(others, 5, rows), is_known=True),
        }
        for rows in REFERENCES
    }
    return {
        "promise": {"false_alarms": PROMISE.false_alarms, "every": PROMISE.every},
        "n_years": n_years,
        "cusum_limits": {str(rows): one for rows, one in limits.items()},
        "clean": {str(rows): clean_years(n_years, rows, limits[rows]) for rows in REFERENCES},
        "changes": {
            name: days_to_find(n_years, change, limits[REFERENCES[0]])
            for name, change in CHANGES.items()
        },
        "lasting": {
            name: lasting_change(n_by_detector, change) for name, change in CHANGES.items()
        },
        "difference": largest_difference(3, 100),
        "by_detector": {"n_years": n_by_detector, "a_year": alarms_of_the_detector(n_by_detector)},
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="False alarms a year, and days to find changes.")
    parser.add_argument("--years", type=int, default=1000)
    parser.add_argument("--by-detector", type=int, default=50)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        **measure(given.years, given.by_detector),
    }
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(
        json.dumps({name: result[name] for name in ("clean", "changes", "lasting", "by_detector")})
    )


if __name__ == "__main__":
    main()
