"""Rules about what came before, on real tracks and patients, and what they find of planted faults.

    python benchmarks/order_examples.py [--data DIR] [--seed N] [-o FILE]

The data is looked for in `--data`, `$SQRL_DATA` or `./data` (kitti_tracking, physionet2012). Rules
are learned from some drives, or patients, and others are checked: as they are, and with a fault.
"""

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import sqrl
from datasets import data_folder
from measure import HERE, LIBRARIES, Json, describe_commit, describe_machine, describe_versions
from order_data import (
    KITTI,
    PHYSIONET,
    Bools,
    Columns,
    Fault,
    drop_frames,
    freeze,
    ordered,
    read_kitti,
    read_physionet,
    rename_class,
    swap_patients,
    swap_tracks,
    take,
)

RESULTS = HERE / "results" / "order_examples.json"
MOST_RULES, MOST_FINDINGS = 12, 3
ORDERED = ("delta", "lag", "rolling_mean", "since_last", "step", "growth")
BOX = ("left", "top", "right", "bottom")
TRACKS: dict[str, Fault] = {
    "40 pairs of tracks swapped": swap_tracks,
    "boxes of a tenth of the tracks stand still for 10 frames": freeze("one", BOX, 0.1, 10),
    "every second frame lost": drop_frames,
    "1 % of boxes called by another class": rename_class,
}
PATIENTS: dict[str, Fault] = {
    "200 patients swapped on their second day": swap_patients,
    "heart rate of 5 % of patients frozen for 24 rows": freeze("patient", ("HR",), 0.05, 24),
    "heart rate of 20 % of patients frozen for 24 rows": freeze("patient", ("HR",), 0.2, 24),
}


def measure_one(train: Columns, test: Columns, schema: Json, faults: Any, seed: int) -> Json:
    """The rules, and what they find of the test rows, with and without a fault."""
    start = time.perf_counter()
    rules = sqrl.learn(train, schema, seed=seed)
    seconds = time.perf_counter() - start
    clean = _found(rules, test, np.ones(len(next(iter(test.values()))), np.bool_))
    rng = np.random.default_rng(seed)
    planted = {name: _found(rules, *fault(test, rng)) for name, fault in faults.items()}
    shown = [str(rule) for rule in rules if "distance" not in rule.text]
    return {
        "train_rows": len(next(iter(train.values()))),
        "test_rows": len(next(iter(test.values()))),
        "n_rules": len(rules),
        "learn_seconds": round(seconds, 2),
        "rules": shown[:: max(1, len(shown) // MOST_RULES)][:MOST_RULES],
        "clean": clean,
        "faults": planted,
    }


def _found(rules: sqrl.RuleSet, columns: Columns, marked: Bools) -> Json:
    """What a check finds, and how many of the rows that a person would point at break rules."""
    found = sqrl.check(rules, columns)
    breaks = {}
    for name, is_strict in (("outside_usual", False), ("beyond_all_seen", True)):
        places = [
            place
            for place, rule in enumerate(rules)
            if rule.form.is_single
            and is_strict == (rule.coverage == 1.0 or not rule.form.has_bounds)
            and any(word in rule.text for word in ORDERED)
        ]
        broken = np.zeros(found.n_rows, np.bool_)
        broken[found.pair_row[np.isin(found.pair_rule, places)]] = True
        breaks[name] = int(broken.sum())
        breaks[f"marked_{name}"] = int((broken & marked).sum())
    return {
        "rows": found.n_rows,
        "marked": int(marked.sum()),
        **breaks,
        "significant": int(found.n_significant),
        "findings": [one.text for one in found.findings()[:MOST_FINDINGS]],
    }


def _other_drives(boxes: Columns, seed: int) -> Json:
    """What is found where every second drive is checked by the rules of the others."""
    in_train = np.isin(boxes["seq"], np.unique(boxes["seq"])[1::2])
    rules = sqrl.learn(take(boxes, in_train), KITTI, seed=seed)
    test = take(boxes, ~in_train)
    found = _found(rules, test, np.ones(len(test["seq"]), np.bool_))
    return {**found, "n_rules": len(rules)}


def measure(folder: Path, seed: int) -> Json:
    """All figures, with what is needed to judge and repeat them."""
    boxes = ordered(read_kitti(folder), "seq", "track", "frame")
    boxes["one"] = 10_000 * boxes["seq"] + boxes["track"]  # a track by one number
    tracks = np.random.default_rng(seed).permutation(np.unique(boxes["one"]))
    in_train = np.isin(boxes["one"], tracks[: tracks.size // 2])
    visits = ordered(read_physionet(folder), "patient", "minute")
    patients = np.random.default_rng(seed).permutation(np.unique(visits["patient"]))
    learned = np.isin(visits["patient"], patients[: 3 * patients.size // 4])
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "seed": seed,
        "other_drives": _other_drives(boxes, seed),
        "kitti": measure_one(take(boxes, in_train), take(boxes, ~in_train), KITTI, TRACKS, seed),
        "physionet": measure_one(
            take(visits, learned), take(visits, ~learned), PHYSIONET, PATIENTS, seed
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    result = measure(data_folder(given.data), given.seed)
    given.output.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
