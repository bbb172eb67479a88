"""Wheel and sdist, built, checked, and run from an empty environment; how large an install is.

    python benchmarks/packaged.py [-o FILE]

Everything happens in environments of its own in a temporary folder, with what pip's index offers.
Sizes are those of the files that packages list as theirs, before Python compiles them. Exits with
status 1 where a check fails.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from measure import HERE, Json, describe_commit, describe_machine

RESULTS = HERE / "results" / "packaged.json"
TOOLS = ("build", "twine", "check-wheel-contents")
BROUGHT = ("pip", "setuptools")  # by an environment, whatever is installed in it
MB = 1e6
# Runs inside the empty environment: nothing but Python itself.
MEASURE = """
import json
from importlib.metadata import distributions
sizes = {}
for one in distributions():
    files = (one.locate_file(file) for file in one.files or ())
    sizes[one.name] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""


def run(arguments: Sequence[str | Path], *, expect: int = 0, cwd: Path | None = None) -> Json:
    """The seconds, the output and the last line of a command; raises by its status."""
    # What the caller's Python looks at must not be seen by the environments.
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    start = time.perf_counter()
    done = subprocess.run(arguments, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    seconds = round(time.perf_counter() - start, 2)
    if done.returncode != expect:
        command = " ".join(map(str, arguments))
        sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return {"seconds": seconds, "out": done.stdout, "err": done.stderr}


def environment(folder: Path, *packages: str) -> Path:
    """The folder of commands of a new environment with these packages."""
    venv.create(folder, with_pip=True)
    install(folder / "bin", *packages)
    return folder / "bin"


def install(commands: Path, *packages: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run([commands / "python", "-m", "pip", "install", *quiet, *packages])


def sizes_of(commands: Path) -> dict[str, float]:
    """Megabytes of each package, the largest first."""
    found = json.loads(run([commands / "python", "-c", MEASURE])["out"])
    order = sorted(found, key=lambda name: (-found[name], name))
    return {name: round(found[name] / MB, 1) for name in order if name not in BROUGHT}


def write_people(path: Path, *, is_broken: bool) -> None:
    """Rows of people; broken ones have their heights in inches."""
    rng = random.Random(int(is_broken))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "height", "city"])
        for _ in range(2000):
            height = rng.gauss(170, 9) / (2.54 if is_broken else 1)
            writer.writerow([rng.randint(18, 90), f"{height:.1f}", rng.choice("ABC")])


def try_out(commands: Path, folder: Path) -> Json:
    """What a person types first, with its seconds: the demo, and three commands on a CSV."""
    write_people(folder / "train.csv", is_broken=False)
    write_people(folder / "new.csv", is_broken=True)
    sqrl = commands / "sqrl"
    typed: list[tuple[str, tuple[str, ...], int]] = [
        ("sqrl demo", ("demo",), 0),
        ("sqrl learn train.csv", ("learn", "train.csv"), 0),
        ("sqrl check rules.json train.csv", ("check", "rules.json", "train.csv"), 0),
        ("sqrl check rules.json new.csv", ("check", "rules.json", "new.csv"), 1),
    ]
    seconds = {}
    for name, arguments, status in typed:
        done = run([sqrl, *arguments], expect=status, cwd=folder)
        seconds[name] = done["seconds"]
    if "height" not in done["out"]:
        sys.exit(f"the fault was not named:\n{done['out']}")
    return seconds


def measure(folder: Path) -> Json:
    tools = environment(folder / "tools", *TOOLS)
    dist = folder / "dist"
    run([tools / "python", "-m", "build", "--outdir", dist, HERE.parent])
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    run([tools / "twine", "check", "--strict", wheel, sdist])
    run([tools / "check-wheel-contents", wheel])
    commands = environment(folder / "plain", str(wheel))
    plain = sizes_of(commands)
    first = try_out(commands, folder)
    install(commands, f"{wheel}[fast]")
    fast = sizes_of(commands)
    from_source = environment(folder / "sdist", str(sdist))
    run([from_source / "sqrl", "demo"], cwd=folder)
    return {
        "wheel_kb": round(wheel.stat().st_size / 1e3),
        "sdist_kb": round(sdist.stat().st_size / 1e3),
        "plain_mb": round(sum(plain.values())),
        "fast_mb": round(sum(fast.values())),
        "plain": plain,
        "added_by_fast": {name: size for name, size in fast.items() if name not in plain},
        "seconds": first,
        "checks": [
            "twine check --strict",
            "check-wheel-contents",
            "sqrl demo from wheel and sdist",
        ],
    }


def page(results: Json) -> str:
    """The table of sizes, as docs/release.md has it."""
    small = sum(size for size in results["plain"].values() if size < 1)
    lines = ["| package | MB |", "|---|---|"]
    lines += [f"| {name} | {size:g} |" for name, size in results["plain"].items() if size >= 1]
    lines += [f"| others, below 1 MB each | {small:.1f} |"]
    lines += [f"| **a plain install** | **{results['plain_mb']}** |"]
    added = ", ".join(f"{name} {size:g}" for name, size in results["added_by_fast"].items())
    lines += [f"| with `[fast]` ({added}) | {results['fast_mb']} |"]
    lines += [f"| the wheel itself | {results['wheel_kb'] / 1e3:.2f} |"]
    lines += [f"| the sdist | {results['sdist_kb'] / 1e3:.2f} |"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build, check and try out the package.")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": describe_commit(),
        "machine": describe_machine(),
        **found,
    }
    options.output.write_text(json.dumps(results, indent=2) + "\n")
    print(page(results))


if __name__ == "__main__":
    main()
