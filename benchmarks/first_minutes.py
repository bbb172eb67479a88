"""From `pip install` to a named fault in a CSV of one's own: three commands, and what they take.

    python benchmarks/first_minutes.py [--seed N] [--wheel FILE] [-o FILE]

The wheel is installed in an empty environment, as people do it; then `sqrl learn` and `sqrl check`
run there for the first time, on rows that nobody has prepared for them. Seconds on the clock depend
on what else the machine does, seconds of processors hardly do: both are kept with the machine's
load, and the bar is about the latter.
"""

import argparse
import csv
import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from environments import environment, install, run
from first_use import write_people
from measure import HERE, Json, bar, describe_commit, describe_machine

RESULTS = HERE / "results" / "first_minutes.json"
N_TRAIN, N_NEW = 10_000, 2_000
MOST = 5.0  # seconds of waiting in all, after installation
FAULT = "from one day on, hours a week were entered as hours a month"


def break_hours(path: Path) -> None:
    """Plant the fault: a tenth of the rows, the last ones, have 4.3 times their hours."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[-len(rows) // 10 :]:
        row["hours"] = str(round(float(row["hours"]) * 4.3))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def first_minutes(commands: Path, wheel: str, folder: Path, seed: int) -> Json:
    """What each of the three commands took, and what the last one found."""
    write_people(folder / "train.csv", N_TRAIN, seed)
    write_people(folder / "new.csv", N_NEW, seed + 1)
    break_hours(folder / "new.csv")
    sqrl = commands / "sqrl"
    installed = install(commands, wheel)
    learned = run([sqrl, "learn", "train.csv"], cwd=folder)
    checked = run([sqrl, "check", "rules.json", "new.csv"], cwd=folder, expect=1)
    typed = {
        "pip install sqrl-rules": installed,
        "sqrl learn train.csv": learned,
        "sqrl check rules.json new.csv": checked,
    }
    named = [line.strip() for line in checked.out.splitlines() if "hours" in line]
    return {
        "commands": {name: {"seconds": one.seconds, "cpu": one.cpu} for name, one in typed.items()},
        "waited": round(learned.seconds + checked.seconds, 2),
        "cpu": round(learned.cpu + checked.cpu, 2),
        "n_rows": {"train.csv": N_TRAIN, "new.csv": N_NEW},
        "fault": FAULT,
        "named": named[0] if named else None,
    }


def page(results: Json) -> str:
    """The table, as docs/benchmarks.md has it."""
    lines = ["| typed | seconds of CPU |", "|---|---:|"]
    for name, one in results["commands"].items():
        shown = "(what the network gives)" if name.startswith("pip") else f"{one['cpu']:.1f}"
        lines.append(f"| `{name}` | {shown} |")
    lines.append(f"| **in all, after installation** | **{results['cpu']:.1f}** |")
    machine = results["machine"]
    busy = f"at a load of {machine['load']} on {machine['cores']} cores"
    lines.append(f"| the same on the clock, {busy} | {results['waited']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wheel", type=Path, help="this wheel, else one is built")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    load, commit = os.getloadavg()[0], describe_commit()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        commands = environment(folder / "empty")
        wheel = given.wheel
        if wheel is None:
            options = ("--quiet", "--no-deps", "--wheel-dir", folder)
            run([commands / "python", "-m", "pip", "wheel", *options, HERE.parent])
            wheel = next(folder.glob("*.whl"))
        found = first_minutes(commands, str(wheel), folder, given.seed)
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "machine": {**describe_machine(), "load": round(load, 1)},
        "seed": given.seed,
        **found,
        "bars": [
            bar("CPU of learn and check in an empty environment", found["cpu"], "s", at_most=MOST)
        ],
    }
    given.output.write_text(json.dumps(results, indent=1) + "\n")
    print(page(results))
    print(f"{found['waited']} s on the clock at a load of {load:.1f}; named: {found['named']}")
    if found["named"] is None:
        raise SystemExit("the fault was not named")


if __name__ == "__main__":
    main()
