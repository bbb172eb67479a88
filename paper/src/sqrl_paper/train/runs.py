"""What each job of `sqrl bench train` does: all methods on one split of a table; other sites."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sqrl
from sqrl_paper.place import Place
from sqrl_paper.train import methods as ways
from sqrl_paper.train.tables import LABEL, READERS, read_cardio, read_cityscapes, read_kitti

Json = dict[str, Any]
MOST = 12_000  # rows behind the rules, and to train on
MOST_TEST = 10_000
QUICK = 400  # rows of each, for a look
SHARES = (0.01, 0.05, 1.0)  # of the labels of the rows to train on
NUMBERS_OF_RULES = (10, 30, 100, 300)
FIRST_SEED = 40  # of the splits: others than those on which it was built
CURVES = ("cardio", "physionet")
DRAWS = 200  # of labels, for the calibration error that chance alone gives


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A table and the seed by which it is divided."""

    seed: int
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """The seed by which the rows of sites are divided."""

    seed: int


def measure_table(place: Place, job: Divided) -> Json:
    """All methods on one split of a table, and the sizes of its parts."""
    rows = READERS[job.table](place.folder)
    most = QUICK if place.quick else MOST
    first = 0 if place.quick else FIRST_SEED  # a look is at splits that were looked at before
    split = split_rows(rows, first + job.seed, most)
    return {
        "rows": len(rows),
        "behind": len(split.behind),
        "train": len(split.train),
        "test": len(split.test),
        "columns": rows.shape[1] - 1,
        "classes": len(split.classes),
        "run": bench_table(split, curves=job.table in CURVES and not place.quick),
    }


def measure_sites(place: Place, job: Sites) -> Json:
    """What the rules of one site are worth at another."""
    return bench_sites(place.folder, FIRST_SEED + job.seed)


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


def scores(split: ways.Split, found: NDArray[np.float64]) -> Json:
    """AUC (of several classes the mean, each against the rest), accuracy, calibration error.

    Beside the last is what chance alone would give: a perfect model has it too.
    """
    from sklearn.metrics import roc_auc_score

    codes = split.codes(split.test)
    there = [c for c in range(len(split.classes)) if 0 < (codes == c).sum() < len(codes)]
    one = [1] if len(split.classes) == 2 else there
    auc = np.mean([roc_auc_score(codes == c, found[:, c]) for c in one])
    sure, right = found.max(axis=1), found.argmax(axis=1) == codes
    return {
        "auc": float(auc),
        "accuracy": float(right.mean()),
        "ece": calibration_error(sure, right),
        "ece_by_chance": error_by_chance(sure),
    }


def calibration_error(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """How far probabilities are from the shares that are right, in 15 bins of their own."""
    bins = np.minimum((15 * sure).astype(int), 14)
    apart = np.bincount(bins, sure - right)
    return float(np.abs(apart).sum() / len(sure))


def error_by_chance(sure: NDArray[np.float64]) -> float:
    """The calibration error of a model whose probabilities are perfect, on so many rows.

    In each bin as many are right as chance has it: with few rows seldom the share expected. A
    label drawn from the probabilities is the likeliest class with the probability of that.
    """
    rng = np.random.default_rng(0)
    drawn = [calibration_error(sure, rng.random(len(sure)) < sure) for _ in range(DRAWS)]
    return float(np.mean(drawn))


def learn_rules(rows: pd.DataFrame, **options: Any) -> sqrl.RuleSet:
    """Rules for supervision; with options by a schema of its own."""
    if not options:
        return sqrl.learn(rows, "supervise", label=LABEL)
    return sqrl.learn(rows, sqrl.propose_supervision(rows, label=LABEL, **options))


def bench_table(split: ways.Split, *, curves: bool) -> Json:
    """All methods on one split."""
    found: Json = {}

    def run(
        name: str, labels: float, work: Callable[[], NDArray[np.float64]], **about: Any
    ) -> None:
        start = time.process_time()
        made = work()
        seconds = round(time.process_time() - start, 2)
        found[f"{name}|{labels:g}"] = {**scores(split, made), "seconds": seconds, **about}

    start = time.process_time()
    rules = learn_rules(split.behind)
    about = {
        "rules": len(rules),
        "smallest_group": rules.smallest_group,
        "learned": round(time.process_time() - start, 2),
    }
    run("rules, additive", 0, lambda: ways.by_rules(split, rules), **about)
    run("rules, network", 0, lambda: ways.by_fit(split, rules), **about)
    rates = learn_rules(split.behind, means=False)
    run("rates alone, additive", 0, lambda: ways.by_rules(split, rates), rules=len(rates))
    own = learn_rules(split.train)
    run("rules of the same rows, additive", 0, lambda: ways.by_rules(split, own), rules=len(own))
    public = split.train.drop(columns=LABEL)
    noise = sqrl.Private(epsilon=1.0, public=public, noise_seed=split.seed)
    private = sqrl.learn(split.behind, label=LABEL, private=noise)
    n_private = {"rules": len(private), "epsilon": 1.0}
    run("private rules, additive", 0, lambda: ways.by_private(split, private), **n_private)
    bags = ways.read_bags(split, rates)
    run("hinge at bounds, network", 0, lambda: ways.by_hinge(split, rates))
    run("label proportions, network", 0, lambda: ways.by_proportions(split, bags))
    run("generalised expectation", 0, lambda: ways.by_expectations(split, bags))
    run("label model, network", 0, lambda: ways.by_votes(split, bags))
    for share in SHARES:
        run("supervised network", share, lambda s=share: ways.by_labels(split, s))  # type: ignore[misc]
        run("logistic regression", share, lambda s=share: ways.by_regression(split, s))  # type: ignore[misc]
        run("rules and labels, additive", share, lambda s=share: ways.by_rules(split, rules, s))  # type: ignore[misc]
        if share < 1:
            run("pseudo-labels", share, lambda s=share: ways.by_pseudo_labels(split, s))  # type: ignore[misc]
    run("boosted trees", 1, lambda: ways.by_trees(split, 1.0))
    run("FT-Transformer", 1, lambda: ways.by_transformer(split))
    if curves:
        for most in NUMBERS_OF_RULES:
            few = learn_rules(split.behind, most=most)
            run(f"at most {most} rules", 0, lambda r=few: ways.by_rules(split, r), rules=len(few))  # type: ignore[misc]
        for share in (0.002, 0.02, 0.2):
            run("supervised network", share, lambda s=share: ways.by_labels(split, s))  # type: ignore[misc]
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
