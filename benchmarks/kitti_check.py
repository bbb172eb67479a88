"""Rules from KITTI's labels against a real detector's boxes: which are wrong, and do rules tell?

    python benchmarks/kitti_check.py [--data DIR] [-o FILE]

The data is looked for in `--data`, `$SQRL_DATA` or `./data` (kitti/). Rules are learned from the
boxes labelled in the train frames; the boxes labelled in the val frames, and those that an RGB
detector found there, are checked. A detection is right where it takes a labelled box of its frame
and class at an intersection over union of 0.5, the surest detection choosing first.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sqrl
from datasets import data_folder
from measure import HERE, LIBRARIES, Json, describe_commit, describe_machine, describe_versions
from sqrl import Explanation, explain
from sqrl._explain.explanation import RuleErrors
from sqrl.boxes import KITTI_ALIKE, evaluate_boxes

sys.path.append(str(HERE.parent / "tests" / "helpers"))
from kitti_matching import (  # type: ignore[import-not-found]
    CLASSES,
    detected_boxes,
    labelled_boxes,
)

RESULTS = HERE / "results" / "kitti_check.json"
BINS = (0.0, 0.02, 0.05, 0.1, 0.3, 0.7, 0.9, 0.99, 1.0)
FEWEST = 30  # rows that break a rule, for its precision to be compared with others'
SCORES = 50  # groups of detections with about the same score
SEED = 0
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def measure(folder: Path) -> Json:
    """All figures, with what is needed to judge and repeat them."""
    rules = sqrl.learn(labelled_boxes(folder, "train").table, "detection", seed=SEED)
    truth, detections = labelled_boxes(folder, "val"), detected_boxes(folder)
    wrong, forgiven = evaluate_boxes(detections, truth, alike=KITTI_ALIKE)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES) | {"scipy": version("scipy")},
        "seed": SEED,
        "rules": len(rules),
        "violations": {
            "val_labels": _violations(sqrl.check(rules, truth.table), CLASSES),
            "detections": _violations(sqrl.check(rules, detections, prediction="type"), CLASSES),
        },
        "all": _explained(rules, detections, wrong),
        "without_what_kitti_forgives": {
            "forgiven": int(forgiven.sum()),
            **_explained(rules, detections.take(~forgiven), wrong[~forgiven]),
        },
    }


def _violations(found: sqrl.Violations, classes: tuple[str, ...]) -> Json:
    """Shares of applicable rows that break a rule, over the rules of the detector's classes."""
    spoken = [
        any(rule.text.startswith(f"type = {name} ") for name in classes) for rule in found.rules
    ]
    chosen = np.array(spoken) & (found.applicable > 0)
    share = found.broken[chosen] / found.applicable[chosen]
    return {
        "rows": found.n_rows,
        "rules_of_the_classes": int(chosen.sum()),
        "share_broken_a_rule": {
            "median": _short(np.median(share)),
            "mean": _short(share.mean()),
            "least": _short(share.min()),
            "most": _short(share.max()),
        },
        "broken_beyond_chance": int(found.significant[chosen].sum()),
    }


def _explained(rules: sqrl.RuleSet, detections: sqrl.Table, wrong: Bools) -> Json:
    found = explain(rules, detections, prediction="type", error=wrong, score="score", seed=SEED)
    score = np.asarray(detections["score"].values, np.float64)
    breaks = found.violations.row_counts() > 0
    told = {one.name: _spread(one.by_fold) for one in found.error_prediction}
    kind = detections["type"].values.astype(np.int64)
    surest = [one for one in found.rules if one.significant and one.broken >= FEWEST]
    return {
        "detections": detections.n_rows,
        "wrong": found.n_wrong,
        "share_wrong": _short(found.base_rate),
        "share_breaking_a_rule": _short(breaks.mean()),
        "share_wrong_breaking": _short(wrong[breaks].mean()),
        "share_wrong_others": _short(wrong[~breaks].mean()),
        "at_equal_scores": _at_equal_scores(score, wrong, breaks),
        "odds_ratio_at_equal_scores": _short(
            _mantel_haenszel(score, np.zeros_like(kind), wrong, breaks)
        ),
        "odds_ratio_at_equal_scores_and_class": _short(
            _mantel_haenszel(score, kind, wrong, breaks)
        ),
        "auc": told,
        "auc_that_rules_add": {
            "to the score": _gain(found, "broken rules and score", "score alone"),
            "to class and score": _gain(
                found, "broken rules, class and score", "predicted class and score"
            ),
        },
        "rules_broken": len(found.rules),
        "rules_that_foretell_errors": found.n_significant,
        "highest_precision": _rule(max(surest, key=lambda one: one.precision)),
        "first_rule": _rule(found.rules[0]),
        "greatest_lift": _rule(max(surest, key=lambda one: one.lift)),
        "right_yet_breaking": found.n_doubtful,
        "right_yet_breaking_worst": _worst(found),
        "slices": _slices(found),
    }


def _at_equal_scores(score: Floats, wrong: Bools, breaks: Bools) -> list[Json]:
    """Shares of wrong detections among those that break a rule and the others, by score."""
    rows = []
    for low, high in pairwise(BINS):
        here = (score >= low) & ((score < high) | (high == BINS[-1]))
        rows.append(
            {
                "score": [low, high],
                "breaking": int((here & breaks).sum()),
                "others": int((here & ~breaks).sum()),
                "wrong_breaking": _short(wrong[here & breaks].mean()),
                "wrong_others": _short(wrong[here & ~breaks].mean()),
            }
        )
    return rows


def _mantel_haenszel(score: Floats, kind: Ints, wrong: Bools, breaks: Bools) -> float:
    """The odds of being wrong when breaking a rule over those when not, pooled over scores."""
    bins = np.searchsorted(np.quantile(score, np.arange(1, SCORES) / SCORES), score)
    bins = bins + SCORES * kind
    n_bins = int(bins.max()) + 1
    totals = np.maximum(np.bincount(bins, minlength=n_bins), 1)
    cells = {
        (a, b): np.bincount(bins[(breaks == a) & (wrong == b)], minlength=n_bins)
        for a in (True, False)
        for b in (True, False)
    }
    up = (cells[True, True] * cells[False, False] / totals).sum()
    down = (cells[True, False] * cells[False, True] / totals).sum()
    return float(up / down)


def _rule(one: RuleErrors) -> Json:
    return {
        "text": one.text,
        "broken": one.broken,
        "wrong": one.wrong,
        "precision": _short(one.precision),
        "interval": [_short(one.low), _short(one.high)],
        "base_rate": _short(one.base_rate),
        "lift": _short(one.lift),
        "weight": _short(one.weight),
    }


def _worst(found: Explanation) -> list[str]:
    return [doubt.sentence for doubt in found.doubts[:5]]


def _slices(found: Explanation) -> list[Json]:
    names = ("condition", "rows", "share", "share_outside", "significant")
    return [
        {
            name: row[name] if isinstance(row[name], int | str) else _short(row[name])
            for name in names
        }
        for row in found.violations.slices(most=8).to_pylist()
    ]


def _gain(found: Explanation, name: str, without: str) -> Json:
    """The difference of two AUCs, fold by fold."""
    folds = {one.name: np.array(one.by_fold) for one in found.error_prediction}
    return _spread(tuple((folds[name] - folds[without]).tolist()))


def _spread(by_fold: tuple[float, ...]) -> Json:
    return {"auc": _short(np.mean(by_fold)), "spread": _short(np.std(by_fold, ddof=1))}


def _short(value: Any) -> float:
    return float(f"{float(value):.4g}")


def show(part: Json) -> None:
    """The main figures on the terminal."""
    print(f"{part['wrong']:,} of {part['detections']:,} detections are wrong")
    print("score          wrong if breaking  otherwise")
    for row in part["at_equal_scores"]:
        low, high = row["score"]
        print(f"{low:4} to {high:<4} {row['wrong_breaking']:>18.1%} {row['wrong_others']:>10.1%}")
    print(
        f"odds ratio at equal scores: {part['odds_ratio_at_equal_scores']:.2f}, "
        f"and class: {part['odds_ratio_at_equal_scores_and_class']:.2f}"
    )
    for name, told in part["auc"].items():
        print(f"AUC of {name}: {told['auc']:.3f} ± {told['spread']:.3f}")
    for name, gain in part["auc_that_rules_add"].items():
        print(f"rules add {name}: {gain['auc']:.4f} ± {gain['spread']:.4f}")
    best = part["highest_precision"]
    print(f"{best['wrong']} of the {best['broken']} detections that break this rule are wrong:")
    print(f"  {best['text']}")


def main() -> None:
    """Parse the command line, measure, show and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data) / "kitti"
    if not folder.is_dir():
        sys.exit(f"no folder 'kitti' in {folder.parent}: give --data DIR")
    result = measure(folder)
    show(result["all"])
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
