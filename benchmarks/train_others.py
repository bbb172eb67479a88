"""Training by rules on real tables that nothing here was built on.

    python benchmarks/train_others.py --data DIR  (DIR/others holds what other_tables.py writes)

The same division, networks and scores as `sqrl bench train`; fewer methods.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import torch

import sqrl
from datasets import data_folder
from measure import ADAPT_LIBRARIES, HERE, Json, describe_run
from other_tables import read_other
from sqrl_paper.train import methods as ways
from sqrl_paper.train.runs import FIRST_SEED, learn_rules, scores, split_rows
from sqrl_paper.train.tables import LABEL

RESULTS = HERE / "results" / "train_others.json"
SEEDS = 3
LOOKED_AT = ("compas", "law", "insurance", "work", "diamonds")  # while pairs of facts were built
UNSEEN = ("adult", "credit", "census", "admissions")  # measured once, afterwards
METHODS: Mapping[str, Callable[[ways.Split, sqrl.RuleSet, sqrl.RuleSet], ways.Floats]] = {
    "supervised network": lambda split, _rules, _alone: ways.by_labels(split, 1.0),
    "logistic regression": lambda split, _rules, _alone: ways.by_regression(split, 1.0),
    "boosted trees": lambda split, _rules, _alone: ways.by_trees(split, 1.0),
    "rules, additive": lambda split, rules, _alone: ways.by_rules(split, rules),
    "rules, network": lambda split, rules, _alone: ways.by_fit(split, rules),
    "rules without pairs, additive": lambda split, _rules, alone: ways.by_rules(split, alone),
    "private rules, additive": lambda split, _rules, _alone: _by_private(split),
}


def _by_private(split: ways.Split) -> ways.Floats:
    public = split.train.drop(columns=LABEL)
    noise = sqrl.Private(epsilon=1.0, public=public, noise_seed=split.seed)
    return ways.by_private(split, sqrl.learn(split.behind, label=LABEL, private=noise))


def read(name: str, folder: Path) -> pd.DataFrame:
    """A table with its label named as the bench has it."""
    table, label = read_other(name, folder)
    table = table.rename(columns={LABEL: f"{LABEL}_"}).rename(columns={label: LABEL})
    words = [one for one in table if not pd.api.types.is_numeric_dtype(table[one])]
    return table.astype(dict.fromkeys(words, object))


def measure(name: str, folder: Path) -> Json:
    """All methods on all splits of a table."""
    rows, runs = read(name, folder), []
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        split = split_rows(rows, seed)
        rules, alone = learn_rules(split.behind), learn_rules(split.behind, pairs=False)
        one: Json = {"rules": len(rules), "rules_without_pairs": len(alone)}
        for method, work in METHODS.items():
            start = time.process_time()
            one[method] = scores(split, work(split, rules, alone))
            seconds = time.process_time() - start
            one[method]["seconds"] = round(seconds, 2)
            print(f"{name} {seed} {method}: {100 * one[method]['auc']:.2f}, {seconds:.1f} s")
        runs.append(one)
    sizes = {"behind": len(split.behind), "test": len(split.test), "classes": len(split.classes)}
    return {**sizes, "columns": rows.shape[1] - 1, "looked_at": name in LOOKED_AT, "runs": runs}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = data_folder(given.data)
    tables = {name: measure(name, folder) for name in (*LOOKED_AT, *UNSEEN)}
    result = {**describe_run(ADAPT_LIBRARIES, FIRST_SEED), "tables": tables}
    given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
