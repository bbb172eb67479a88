"""False alarms on real data without a shift, power under planted shifts, and ImageNet-X's models.

    python benchmarks/real_checks.py [--data DIR] [--runs N] [-o FILE]

The data is looked for in `--data`, `$SQRL_DATA` or `./data` (kitti, cardio, imagenet_x). Each run
splits a table at random, learns rules from one part and checks the other. Without a shift, a run
with any significant rule is a false alarm.
"""

import argparse
import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sqrl
from boxes import read_boxes
from datasets import FACTORS, data_folder, read_imagenet_x
from measure import HERE, LIBRARIES, Json, describe_commit, describe_machine, describe_versions

RESULTS = HERE / "results" / "real_checks.json"
LEVEL = 0.05
Columns = dict[str, NDArray[Any]]
Shift = Callable[[Columns], Columns]


def false_alarms(columns: Columns, schema: str, share: float, runs: int, shift: Shift) -> Json:
    """How many of the runs find any rule broken beyond chance."""
    n_rows = len(next(iter(columns.values())))
    alarms, found, broken = 0, [], []
    for run in range(runs):
        order = np.random.default_rng(run).permutation(n_rows)
        cut = int(share * n_rows)
        train = {name: values[order[:cut]] for name, values in columns.items()}
        test = shift({name: values[order[cut:]] for name, values in columns.items()})
        rules = sqrl.learn(train, schema, seed=run)
        result = sqrl.check(rules, test, level=LEVEL, seed=run)
        alarms += result.n_significant > 0
        found.append(result.n_significant)
        broken.append(float(result.broken.sum() / max(result.applicable.sum(), 1)))
    return {
        "runs": runs,
        "runs_with_an_alarm": alarms,
        "share": alarms / runs,
        "level": LEVEL,
        "mean_significant_rules": float(np.mean(found)),
        "share_broken": {"mean": float(np.mean(broken)), "std": float(np.std(broken))},
    }


def wider_cars(boxes: Columns) -> Columns:
    """The same boxes with cars a tenth wider."""
    extra = np.where(boxes["type"] == "Car", 0.1 * (boxes["right"] - boxes["left"]), 0.0)
    return {**boxes, "right": boxes["right"] + extra}


def flipped_labels(patients: Columns) -> Columns:
    """The same patients with a tenth of the diagnoses turned round."""
    rng = np.random.default_rng(0)
    flip = rng.random(len(patients["cardio"])) < 0.1
    return {**patients, "cardio": np.where(flip, 1 - patients["cardio"], patients["cardio"])}


def unchanged(columns: Columns) -> Columns:
    """No shift."""
    return columns


def read_cardio(folder: Path) -> Columns:
    """The cardio table's columns."""
    table = sqrl.read_table(folder / "cardio" / "cardio_train.csv")
    return {name: table[name].values for name in table.names if name != "id"}


def imagenet_models(folder: Path) -> Json:
    """Rules from ImageNet-X's train annotations, checked on two models' predictions."""
    columns, _ = read_imagenet_x(folder, seed=0)
    rules = sqrl.learn(columns, "imagenet_x")
    root = folder / "imagenet_x"
    metaclass = dict(_rows(root / "class_to_17_metaclasses.csv"))
    with gzip.open(root / "annotations" / "imagenet_x_val_multi_factor.jsonl.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    val: dict[str, Any] = {name: [record[name] for record in records] for name in FACTORS}
    val["metaclass"] = [metaclass[str(record["class"])] for record in records]
    found: Json = {"rules": len(rules), "images": len(records), "results": {}}
    found["results"]["true labels"] = _described(sqrl.check(rules, val))
    for model in ("ResNet50", "DINO"):
        made = {row[0]: row[1] for row in _rows(root / "model_predictions" / f"{model}.csv.gz")}
        val["predicted"] = [metaclass[made[record["file_name"]]] for record in records]
        result = sqrl.check(rules, val, prediction="predicted")
        right = np.mean(np.array(val["predicted"]) == np.array(val["metaclass"]))
        found["results"][model] = {"accuracy": float(right), **_described(result)}
    return found


def _described(result: sqrl.Violations) -> Json:
    """Totals, and the significant rules of each metaclass."""
    heads = [rule.text.split("metaclass = ")[1].split(")")[0] for rule in result.rules]
    beyond = Counter(head for head, yes in zip(heads, result.significant, strict=True) if yes)
    return {
        "mini_batches": {str(size): len(rows) for size, rows in result.batches.items()},
        "violations": result.total,
        "violations_per_mini_batch": result.per_sample(),
        "tested": int(np.count_nonzero(~np.isnan(result.p_value))),
        "significant": result.n_significant,
        "significant_by_metaclass": dict(sorted(beyond.items())),
    }


def _rows(path: Path) -> list[list[str]]:
    """The first two cells of each line below the header."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [row[:2] for row in list(csv.reader(text.splitlines()))[1:]]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="False alarms, power, and real models.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    folder = data_folder(given.data)
    boxes, is_real = read_boxes(folder, seed=0)
    if not is_real:
        raise SystemExit("The real data is not there: give --data or set SQRL_DATA.")
    cardio = read_cardio(folder)
    powered = max(2, given.runs // 4)
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "seeds": [0, given.runs - 1],
        "imagenet_x": imagenet_models(folder),
        "kitti, no shift": false_alarms(boxes, "detection", 0.5, given.runs, unchanged),
        "kitti, cars 10 % wider": false_alarms(boxes, "detection", 0.5, powered, wider_cars),
        "cardio, no shift": false_alarms(cardio, "cardio", 0.8, given.runs, unchanged),
        "cardio, 10 % of labels flipped": false_alarms(
            cardio, "cardio", 0.8, powered, flipped_labels
        ),
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for name in ("imagenet_x", *[key for key in result if "shift" in key or "%" in key]):
        print(name, json.dumps(result[name]))


if __name__ == "__main__":
    main()
