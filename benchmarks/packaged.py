"""Wheel and sdist, built, checked, and run from an empty environment; how large an install is.

    python benchmarks/packaged.py [-o FILE]

Everything happens in environments of its own in a temporary folder, with what pip's index offers,
dependencies in the versions of constraints.txt. Sizes are those of the files that packages list as
theirs, before Python compiles them. Exits with status 1 where a check fails.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

from environments import environment, install, run
from measure import HERE, Json, describe_commit, describe_machine

RESULTS = HERE / "results" / "packaged.json"
TOOLS = ("build", "twine", "check-wheel-contents")
OURS = "sqrl-rules"
# What people install; all but the first are read off one environment that has everything.
EXTRAS = (
    "",
    "fast",
    "frames",
    "explain",
    "plot",
    "export",
    "adapt",
    "training",
    "extract",
    "notebook",
    "ray",
    "spark",
    "all",
)
MB = 1e6
# Runs inside the empty environment: nothing but Python itself.
MEASURE = """
import json
from importlib.metadata import distributions
found = {}
for one in distributions():
    files = (one.locate_file(file) for file in one.files or ())
    files = (file for file in files if file.suffix != ".pyc")
    size = sum(file.stat().st_size for file in files if file.is_file())
    found[one.name] = {"bytes": size, "needs": one.requires or []}
print(json.dumps(found))
"""


def packages_in(commands: Path) -> Json:
    """The packages of an environment by normalised name: their megabytes and what they need."""
    found = json.loads(run([commands / "python", "-c", MEASURE]).out)
    return {normal(name): {"name": name, **one} for name, one in found.items()}


def normal(name: str) -> str:
    """A package's name as indexes compare names: scikit-learn, not Scikit_Learn."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(packages: Json, extra: str) -> set[str]:
    """What pip installs for our package with an extra: all that it needs, and so on."""
    open_, seen = [(OURS, frozenset({extra}))], set()
    while open_:
        name, extras = open_.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for line in packages[name]["needs"]:
            need = read_need(line)
            if applies(need, extras | {""}):
                open_.append((normal(need.name), frozenset(need.extras)))
    return {name for name, _ in seen}


@cache
def read_need(line: str) -> Requirement:
    """A line of what a package needs, read once."""
    return Requirement(line)


def applies(need: Requirement, extras: Iterable[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": one}) for one in extras)


def sizes_of(packages: Json, names: Iterable[str]) -> dict[str, float]:
    """Megabytes of packages, the largest first."""
    sizes = {packages[name]["name"]: packages[name]["bytes"] for name in names}
    order = sorted(sizes, key=lambda name: (-sizes[name], name))
    return {name: round(sizes[name] / MB, 1) for name in order}


def measure(folder: Path) -> Json:
    tools = environment(folder / "tools", *TOOLS)
    dist = folder / "dist"
    run([tools / "python", "-m", "build", "--outdir", dist, HERE.parent])
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    run([tools / "twine", "check", "--strict", wheel, sdist])
    run([tools / "check-wheel-contents", wheel])
    demos = {}
    for name, package in {
        "wheel": f"{wheel}",
        "sdist": f"{sdist}",
        "everything": f"{wheel}[all,training,extract]",
    }.items():
        commands = environment(folder / name)
        install(commands, package, constrained=True)
        done = run([commands / "sqrl", "demo"], cwd=folder)
        demos[name] = {"seconds": done.seconds, "cpu": done.cpu, "said": done.out.splitlines()}
        packages = packages_in(commands)
        if name == "wheel":
            plain = sizes_of(packages, set(packages) - {"pip", "setuptools"})
    whole = {extra: sizes_of(packages, needed(packages, extra)) for extra in EXTRAS}
    if set(whole[""]) != set(plain):
        sys.exit(f"a plain install has {sorted(plain)}, and needs {sorted(whole[''])}")
    return {
        "wheel_kb": round(wheel.stat().st_size / 1e3),
        "sdist_kb": round(sdist.stat().st_size / 1e3),
        "plain_mb": round(sum(plain.values())),
        "plain": plain,
        "installs": {
            extra: {
                "mb": round(sum(sizes.values())),
                "adds": {name: size for name, size in sizes.items() if name not in plain},
            }
            for extra, sizes in whole.items()
        },
        "demos": demos,
        "checks": [
            "twine check --strict",
            "check-wheel-contents",
            "sqrl demo from wheel, sdist, and with all extras",
        ],
    }


def page(results: Json) -> str:
    """The tables of sizes, as docs/release.md has them."""
    small = sum(size for size in results["plain"].values() if size < 1)
    lines = ["| package | MB |", "|---|---:|"]
    lines += [f"| {name} | {size:g} |" for name, size in results["plain"].items() if size >= 1]
    lines += [f"| others, below 1 MB each | {small:.1f} |"]
    lines += [f"| **a plain install** | **{results['plain_mb']}** |"]
    lines += [f"| the wheel itself | {results['wheel_kb'] / 1e3:.2f} |"]
    lines += [f"| the sdist | {results['sdist_kb'] / 1e3:.2f} |"]
    lines += ["", "| install | MB | adds most |", "|---|---:|---|"]
    for extra, one in results["installs"].items():
        most = ", ".join(f"{name} {size:g}" for name, size in [*one["adds"].items()][:3])
        name = f"sqrl-rules[{extra}]" if extra else "sqrl-rules"
        lines.append(f"| `{name}` | {one['mb']:,} | {most} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build, check and try out the package.")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    commit = describe_commit()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "machine": describe_machine(),
        **found,
    }
    options.output.write_text(json.dumps(results, indent=2) + "\n")
    print(page(results))
    for name, done in found["demos"].items():
        print(f"demo from {name}: {done['seconds']} s, {done['cpu']} s of CPU")


if __name__ == "__main__":
    main()
