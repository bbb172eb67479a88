"""Kills a writer of a history at random moments, and looks at what it leaves behind.

    python benchmarks/history_kills.py [--kills N] [--seed N] [-o FILE]

A process adds checks to a history, accepts windows and goes on from its memo, over and over, and
says of each when it is finished. It is killed (SIGKILL) after a random time. Then the history must
be readable, have every finished check with what it said, no half of one, and every decision; and
what is kept for speed must say what a replay of all windows says.
"""

import argparse
import json
import os
import signal
import tempfile
from datetime import date, timedelta
from pathlib import Path

import msgspec
import numpy as np

import sqrl
from killed import end, start
from measure import HERE, LIBRARIES, Json, bar, describe_run
from sqrl._data.unfinished import is_unfinished
from sqrl._history.detector import replay
from sqrl._history.memo import go_on

RESULTS = HERE / "results" / "history_kills.json"
N_WINDOWS = 30  # which are written again and again
MOST_ROWS = 400  # how many break the rule tells which check it was
LONGEST = 0.5  # seconds before a kill
RULES = sqrl.RuleSet.from_texts(
    ["x <= 1", *(f"x <= {bound}" for bound in range(2, 60))],
    coverage=[0.98] * 59,
    support=[5000] * 59,
)


def window(number: int) -> str:
    """The time of a window."""
    return (date(2026, 1, 1) + timedelta(number % N_WINDOWS)).isoformat()


def check(number: int) -> sqrl.Violations:
    """A check in which as many rows break the first rule as its number says."""
    n_broken = number % MOST_ROWS
    return sqrl.check(RULES, {"x": [1.5] * n_broken + [0.5] * (MOST_ROWS - n_broken)})


def write_on(path: Path, first: int, told: int) -> None:
    """Add checks, accept windows and go on for ever; a line for each that is finished."""
    history = sqrl.History(path)
    number = first
    while True:
        at = window(number)
        history.add(check(number), at=at)
        os.write(told, f"added {number}\n".encode())
        history.store.change(
            lambda now, at=at: msgspec.structs.replace(  # type: ignore[misc]
                now, accepted=tuple(sorted({*now.accepted, at}))
            )
        )
        os.write(told, f"accepted {number}\n".encode())
        go_on(history.store, history.settings, at)
        number += 1


def kill_one(path: Path, first: int, seconds: float) -> list[tuple[str, int]]:
    """What a writer says that it has finished before it is killed."""
    child = start(lambda told: write_on(path, first, told))
    said = end(*child, sent=signal.SIGKILL, after=seconds).said
    pairs = [line.split() for line in said.splitlines()]
    return [(what, int(number)) for what, number in pairs]


def look(path: Path, finished: dict[str, int], accepted: set[str]) -> Json:
    """What is wrong with a history, and what lies about in it."""
    history = sqrl.History(path)
    faults = []
    try:
        found = {record.at: record for record in history.records()}
        settings = history.settings
    except sqrl.SqrlError as error:
        return {"faults": [str(error)], "leftovers": 0}
    for at, number in finished.items():
        if at not in found:
            faults.append(f"{at} is gone")
            continue
        broken = int(found[at].broken[0])
        # The check that was being added may be there already.
        if broken not in {number % MOST_ROWS, (number + N_WINDOWS) % MOST_ROWS}:
            faults.append(f"{at} says {broken}, not {number % MOST_ROWS}")
    faults += [f"{at} is no longer accepted" for at in accepted - set(settings.accepted)]
    if found:
        replayed = replay(
            list(found.values()), settings.promise, accepted=settings.accepted, waived={}
        )
        if go_on(history.store, settings, max(found)).alarms != replayed.alarms:
            faults.append("the memo says something else than a replay")
    leftovers = sum(is_unfinished(file) for file in path.rglob("*")) if path.exists() else 0
    return {"faults": faults, "leftovers": leftovers}


def campaign(n_kills: int, seed: int) -> Json:
    """Kills one after the other, in one history; what was seen after each."""
    rng = np.random.default_rng(seed)
    faults: list[str] = []
    finished: dict[str, int] = {}
    accepted: set[str] = set()
    n_added = n_leftovers = first = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history")
        for _ in range(n_kills):
            told = kill_one(path, first, float(rng.uniform(0, LONGEST)))
            finished |= {window(number): number for what, number in told if what == "added"}
            accepted |= {window(number) for what, number in told if what == "accepted"}
            n_added += sum(what == "added" for what, _ in told)
            first += sum(what == "added" for what, _ in told)
            seen = look(path, finished, accepted)
            faults += seen["faults"]
            n_leftovers += seen["leftovers"]
        sqrl.History(path).add(check(first), at=window(first))
        left = sum(is_unfinished(file) for file in path.rglob("*"))
    return {
        "kills": n_kills,
        "checks_finished": n_added,
        "leftovers_seen": n_leftovers,
        "leftovers_after_the_next_writer": left,
        "faults": faults,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # What is imported once is there before the first writer starts.
        scratch = sqrl.History(Path(folder, "history"))
        for number in (0, 1, 2):
            scratch.add(check(number), at=window(number))
            go_on(scratch.store, scratch.settings, window(number))
    measured = campaign(given.kills, given.seed)
    result: Json = {
        **describe_run(LIBRARIES, given.seed),
        **measured,
        "bars": [
            bar("faults after kills", len(measured["faults"]), "", at_most=0),
            bar(
                "leftovers after the next writer",
                measured["leftovers_after_the_next_writer"],
                "",
                at_most=0,
            ),
        ],
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
