"""Measures learning, end to end and part by part, and writes what it finds as JSON.

    python benchmarks/learn.py [--data DIR] [--quick] [--only SECTION ...] [-o FILE]

The data is looked for in `--data`, `$SQRL_DATA` or `./data` (cardio/cardio_train.csv and
imagenet_x/); where it is absent, data of the same shape is made up, and the JSON says so.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bounds import measure_bounds, measure_per_rule
from counts import measure_counts
from datasets import cardio_features, data_folder, read_cardio, read_imagenet_x
from growth import measure_growth
from measure import (
    HERE,
    LIBRARIES,
    Json,
    Settings,
    describe_commit,
    describe_machine,
    describe_versions,
    refuse_other_conditions,
    settings,
)
from processors import measure_processors
from rule_counts import measure_rule_counts
from search import measure_search
from startup import measure_startup

CONDITIONS = ("commit", "machine", "versions", "seed", "quick", "data")
RESULTS = HERE / "results" / "learn.json"


def measure(folder: Path, chosen: Settings, only: set[str]) -> Json:
    """All sections, or only some, with what is needed to judge and repeat them."""
    head: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "seed": chosen.seed,
        "quick": chosen.quick,
    }
    with tempfile.TemporaryDirectory() as scratch:
        data, sections = _sections(folder, chosen, Path(scratch))
        done = {}
        for name, work in sections.items():
            if not only or name in only:
                start = time.perf_counter()
                load = round(os.getloadavg()[0], 2)
                done[name] = work() | {"load_before": load}
                print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return head | {"data": data, "sections": done}


def _sections(
    folder: Path, chosen: Settings, scratch: Path
) -> tuple[Json, dict[str, Callable[[], Json]]]:
    """What the data is, and the work of each section."""
    cardio = read_cardio(folder, scratch, quick=chosen.quick, seed=chosen.seed)
    images, images_are_real = read_imagenet_x(folder, seed=chosen.seed)
    true, head = cardio_features(cardio.columns, np.arange(cardio.n_rows)), cardio.head
    data = {
        "cardio": "real" if cardio.is_real else "made",
        "cardio_rows": cardio.n_rows,
        "imagenet_x": "real" if images_are_real else "made",
        "imagenet_x_rows": len(images["metaclass"]),
    }
    return data, {
        "startup": lambda: measure_startup(chosen),
        "search": lambda: measure_search(cardio, chosen, scratch),
        "counts": lambda: measure_counts(true, head, chosen),
        "counts_other_processors": lambda: measure_processors(true, head, chosen),
        "bounds": lambda: measure_bounds(true, head, chosen),
        "per_rule": lambda: measure_per_rule(true, head, chosen),
        "growth": lambda: measure_growth(cardio, chosen, scratch),
        "rule_counts": lambda: measure_rule_counts(cardio, images, images_are_real, chosen),
    }


def write(result: Json, path: Path, *, keep: bool) -> None:
    """Write the result; with `keep`, sections of an earlier one under the same conditions stay."""
    if keep and path.exists():
        refuse_other_conditions(result, path, CONDITIONS)
        result["sections"] = json.loads(path.read_text())["sections"] | result["sections"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="SECTION", help="measure these anew, keep the rest"
    )
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    chosen = settings(quick=arguments.quick)
    result = measure(data_folder(arguments.data), chosen, set(arguments.only))
    write(result, arguments.output, keep=bool(arguments.only))
    missed = [
        bar["what"]
        for section in result["sections"].values()
        for bar in section.get("bars", [])
        if not bar["met"]
    ]
    for what in missed:
        print(f"bar not met: {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
