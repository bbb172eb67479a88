"""Which faults are caught, and how often clean rows raise an alarm: sqrl beside other tools.

    python benchmarks/power.py [--quick] [-o results.json]

Each table is halved. A tool learns from one half; batches of clean rows are drawn from the other,
faults planted in them, and the tool asked. Every tool decides as it does by default. A tool that
refuses a batch with an error (a column gone, text in a number) has caught the fault.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from datasets import data_folder
from measure import describe_commit, describe_machine, describe_versions
from power_faults import Clean, Fault, faults
from power_tables import Source, tables
from power_tools import TOOLS, Alarm, Json, Tool

SIZES = (500, 2000)


def main() -> None:
    arguments = _parse()
    warnings.filterwarnings("ignore")
    cases = [case for source in _chosen(arguments) for case in _measure(source, arguments)]
    result = {
        "machine": describe_machine(),
        "commit": describe_commit(),
        "versions": describe_versions(("sqrl-rules", "numpy", "scipy", "scikit-learn", "pandera")),
        "seed": arguments.seed,
        "quick": arguments.quick,
        "cases": cases,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(lines(cases)))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few batches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--tools", nargs="+", default=list(TOOLS))
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--clean", type=int, default=200, help="clean batches a table and size")
    parser.add_argument("--repeats", type=int, default=4, help="batches a fault, table and size")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.clean, arguments.repeats = 10, 1
    return arguments


def _chosen(arguments: argparse.Namespace) -> Iterator[Source]:
    for source in tables(data_folder(arguments.data)):
        if arguments.tables is None or source.name in arguments.tables:
            yield source


def _measure(source: Source, arguments: argparse.Namespace) -> Iterator[Json]:
    """Every batch of a table, and what each tool says of it."""
    rng = np.random.default_rng(arguments.seed)
    frame = source.frame.iloc[rng.permutation(len(source.frame))].reset_index(drop=True)
    half = len(frame) // 2
    reference, others = frame[:half], frame[half:].reset_index(drop=True)
    learned: dict[str, Tool] = {}
    for name in arguments.tools:
        if name == "sqrl --label" and source.label is None:
            continue
        learned[name] = TOOLS[name](reference, source.label)
    clean = Clean(reference, source.label)
    for size in arguments.sizes:
        if 2 * size > 3 * len(others):
            continue
        for kind, strength, batch, columns, must in _batches(clean, others, size, rng, arguments):
            for name, tool in learned.items():
                start = time.perf_counter()
                alarm = tool(batch)
                yield {
                    "table": source.name,
                    "size": size,
                    "kind": kind,
                    "strength": strength,
                    "tool": name,
                    "must_alarm": must,
                    "planted": list(columns),
                    **_said(alarm),
                    "seconds": round(time.perf_counter() - start, 4),
                }
        print(f"{source.name}, {size} rows", file=sys.stderr)


def _said(alarm: Alarm) -> Json:
    return {
        "raised": alarm.raised,
        "named": list(alarm.columns[:5]),
        "n_findings": alarm.n_findings,
        "by_error": alarm.by_error,
    }


def _batches(
    clean: Clean,
    others: pd.DataFrame,
    size: int,
    rng: np.random.Generator,
    arguments: argparse.Namespace,
) -> Iterator[tuple[str, float, pd.DataFrame, tuple[str, ...], bool]]:
    """Clean batches, then batches with every fault that the table has a place for."""

    def draw() -> pd.DataFrame:
        rows = rng.choice(len(others), min(size, len(others)), replace=False)
        return others.iloc[rows].reset_index(drop=True)

    wanted: list[Fault] = faults()
    for _ in range(arguments.clean):
        if not arguments.kinds or "clean" in arguments.kinds:
            yield "clean", 0.0, draw(), (), False
    for fault in wanted:
        if arguments.kinds and fault.kind not in arguments.kinds:
            continue
        for _ in range(arguments.repeats):
            planted = fault.plant(draw(), clean, rng, fault.strength)
            if planted is not None:
                yield fault.kind, fault.strength, planted.batch, planted.columns, fault.must_alarm


def lines(cases: list[Json]) -> Iterator[str]:
    """The results as a table: a line a kind, a column a tool."""
    frame = pd.DataFrame(cases)
    tools = list(dict.fromkeys(frame.tool))
    for tool in tools:
        yield from _naming(tool, [case for case in cases if case["tool"] == tool])
    for size, here in frame.groupby("size"):
        yield f"\n{size} rows{'':28}" + "".join(f"{tool[:14]:>16}" for tool in tools)
        for must, part in here.groupby("must_alarm", sort=True):
            shares = part.pivot_table(index="kind", columns="tool", values="raised", sort=False)
            for kind in shares.index:
                row = "".join(f"{100 * shares.loc[kind].get(tool, np.nan):16.0f}" for tool in tools)
                yield f"{'  ' if must else 'no alarm: '}{kind:36.36}{row}"
            if must:
                row = "".join(f"{100 * shares[tool].mean():16.1f}" for tool in tools)
                yield f"{'mean over kinds':38}{row}"


def _naming(tool: str, cases: list[Json]) -> Iterator[str]:
    """How often the column named first is one of those planted, and how many findings there are."""
    faults = [case for case in cases if case["must_alarm"] and case["planted"] and case["raised"]]
    named = [case for case in faults if case["named"]]
    if not named:
        return
    first = np.mean([case["named"][0] in case["planted"] for case in named])
    counts = np.array([case["n_findings"] for case in named])
    yield (
        f"{tool}: the column named first is the planted one in {100 * first:.1f} % of {len(named)}"
        f" faults; findings: median {np.median(counts):g}, most {counts.max()}"
    )


if __name__ == "__main__":
    main()
