"""Models trained by rules: without a label, with few and with all, beside what one would do else.

python benchmarks/train.py --data DIR [-o benchmarks/results/train.json] [--tables cardio,wine]
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import sqrl
import train_methods as ways
from measure import ADAPT_LIBRARIES, Json, describe_commit, describe_machine, describe_versions
from sqrl._data.table import as_table
from sqrl._learn.supervise import propose_supervision
from train_tables import LABEL, READERS, read_cardio, read_cityscapes, read_kitti

MOST = 12_000  # rows behind the rules, and to train on
MOST_TEST = 10_000
SHARES = (0.01, 0.05, 1.0)  # of the labels of the rows to train on
NUMBERS_OF_RULES = (10, 30, 100, 300)
SEEDS = (20, 21, 22)  # others than those on which it was built
CURVES = ("cardio", "physionet")


def split_rows(rows: pd.DataFrame, seed: int, most: int = MOST) -> ways.Split:
    """Two fifths behind the rules, two fifths to train on, the rest to test."""
    rows = rows.sample(frac=1, random_state=seed).reset_index(drop=True)
    part = min(most, int(0.4 * len(rows)))
    classes = tuple(sqrl_names(rows))
    test = rows[2 * part : 2 * part + MOST_TEST]
    return ways.Split(rows[:part], rows[part : 2 * part], test, classes, seed)


def sqrl_names(rows: pd.DataFrame) -> list[str]:
    """The classes as rules name them, in the order of rules."""
    return [str(value) for value in sorted(rows[LABEL].unique())]


def scores(split: ways.Split, found: np.ndarray) -> Json:
    """AUC (of several classes the mean, each against the rest), accuracy, calibration error."""
    from sklearn.metrics import roc_auc_score

    codes = split.codes(split.test)
    there = [c for c in range(len(split.classes)) if 0 < (codes == c).sum() < len(codes)]
    one = [1] if len(split.classes) == 2 else there
    auc = np.mean([roc_auc_score(codes == c, found[:, c]) for c in one])
    sure, right = found.max(axis=1), found.argmax(axis=1) == codes
    bins = np.minimum((15 * sure).astype(int), 14)
    gaps = [
        (bins == b).mean() * abs(sure[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    ]
    return {"auc": float(auc), "accuracy": float(right.mean()), "ece": float(np.sum(gaps))}


def learn_rules(rows: pd.DataFrame, **options: Any) -> sqrl.RuleSet:
    """Rules for supervision; with `most` or `pairs` by a schema of its own."""
    if not options:
        return sqrl.learn(rows, "supervise", label=LABEL)
    return sqrl.learn(rows, propose_supervision(as_table(rows), label=LABEL, **options))


def bench_table(split: ways.Split, *, curves: bool) -> Json:
    """All methods on one split."""
    found: Json = {}

    def run(name: str, labels: float, work: Any, **about: Any) -> None:
        start = time.process_time()
        made = work()
        seconds = round(time.process_time() - start, 2)
        found[f"{name}|{labels:g}"] = {**scores(split, made), "seconds": seconds, **about}

    rules = learn_rules(split.behind)
    n = {"rules": len(rules), "smallest_group": rules.smallest_group}
    run("rules, additive", 0, lambda: ways.by_rules(split, rules), **n)
    run("rules, network", 0, lambda: ways.by_fit(split, rules), **n)
    pairs = learn_rules(split.behind, pairs=True, most=1000)
    more = {"rules": len(pairs)}
    run("rules and pairs, additive", 0, lambda: ways.by_rules(split, pairs), **more)
    own = learn_rules(split.train)
    run("rules of the same rows, additive", 0, lambda: ways.by_rules(split, own), rules=len(own))
    for epsilon in (1.0,):
        public = split.train.drop(columns=LABEL)
        private = sqrl.learn(
            split.behind,
            label=LABEL,
            private=sqrl.Private(epsilon=epsilon, public=public, noise_seed=split.seed),
        )
        about = {"rules": len(private), "epsilon": epsilon}
        run("private rules, additive", 0, lambda p=private: ways.by_rules(split, p), **about)
    run("hinge at bounds, network", 0, lambda: ways.by_hinge(split, rules))
    run("label proportions, network", 0, lambda: ways.by_proportions(split, rules))
    run("generalised expectation", 0, lambda: ways.by_expectations(split, rules))
    run("label model, network", 0, lambda: ways.by_votes(split, rules))
    for share in SHARES:
        run("supervised network", share, lambda s=share: ways.by_labels(split, s))
        run("logistic regression", share, lambda s=share: ways.by_regression(split, s))
        run("rules and labels, additive", share, lambda s=share: ways.by_rules(split, rules, s))
        if share < 1:
            run("pseudo-labels", share, lambda s=share: ways.by_pseudo_labels(split, s))
    run("boosted trees", 1, lambda: ways.by_trees(split, 1.0))
    if curves:
        for most in NUMBERS_OF_RULES:
            few = learn_rules(split.behind, most=most)
            about = {"rules": len(few)}
            run(f"at most {most} rules", 0, lambda r=few: ways.by_rules(split, r), **about)
        for share in (0.002, 0.02, 0.2):
            run("supervised network", share, lambda s=share: ways.by_labels(split, s))
    return found


def bench_sites(folder: Path, seed: int) -> Json:
    """Rules from one site, rows to train on and to test from another; beside the site's own."""
    found: Json = {}
    cardio = read_cardio(folder)
    young = cardio["age"] <= cardio["age"].median()
    kitti = read_kitti(folder)
    kitti = kitti[kitti[LABEL].isin(["Car", "Pedestrian", "Truck"])]
    sites = {
        "cardio, younger to older": (cardio[young], cardio[~young]),
        "cardio, women to men": tuple(
            cardio[cardio.gender == one].drop(columns="gender") for one in (1, 2)
        ),
        "KITTI to Cityscapes": (kitti, read_cityscapes(folder)),
    }
    for name, (there, here) in sites.items():
        split = split_rows(here, seed)
        away = split_rows(there, seed).behind
        rules = learn_rules(away)
        model = sqrl.RuleClassifier(rules, classes=split.classes)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(split.train.drop(columns=LABEL))
        found[name] = {
            "other site": scores(split, model.predict_proba(split.test.drop(columns=LABEL))),
            "same site": scores(split, ways.by_rules(split, learn_rules(split.behind))),
            "supervised": scores(split, ways.by_labels(split, 1.0)),
            "warned": bool(told),
            "moved": len(model.misfit_.moved) / max(1, model.misfit_.n_facts),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SQRL_DATA", "data"))
    parser.add_argument("--tables", default=",".join(READERS))
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--no-sites", action="store_true")
    parser.add_argument("--append", action="store_true", help="keep tables that are there already")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/train.json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    result: Json = {
        "date": pd.Timestamp.now("UTC").isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(ADAPT_LIBRARIES),
        "seeds": list(given.seeds),
        "tables": {},
        "sites": {},
    }
    if given.append:
        result["tables"] = json.loads(given.output.read_text())["tables"]
    for name in given.tables.split(","):
        rows = READERS[name](Path(given.data))
        runs = []
        for seed in given.seeds:
            split = split_rows(rows, seed)
            runs.append(bench_table(split, curves=name in CURVES))
            print(
                name, seed, {k: round(100 * v["auc"], 2) for k, v in runs[-1].items()}, flush=True
            )
        result["tables"][name] = {
            "rows": len(rows),
            "behind": len(split.behind),
            "train": len(split.train),
            "test": len(split.test),
            "columns": rows.shape[1] - 1,
            "classes": len(split.classes),
            "runs": runs,
        }
        given.output.write_text(json.dumps(result, indent=1) + "\n")
    if not given.no_sites:
        result["sites"] = [bench_sites(Path(given.data), seed) for seed in given.seeds]
    given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
