"""How good predictions are and how they stand to the rules, and what of a loss was recovered."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

import sqrl
from drift_data import Prepared
from drift_runs import Run, Setting
from measure import Json, bar
from rule_losses import patients

DRAWS = 4  # of all mini-batches of the part, from seeds of their own
FIRST_SEED = 1000
FIGURES = ("auc", "accuracy", "f1")
RULE_FIGURES = ("excess", "share_broken", "excess_hard", "share_broken_hard")
SOURCE, DRIFTED, CLEAN = "none", "ap_hi +1 sd", "no drift"
PROMISED = ("ours, defaults",)
LEAST_RECOVERED, MOST_CHANGED = 80.0, 0.2


def score(data: Prepared, setting: Setting, made: Run, *, quick: bool) -> Json:
    """AUC, accuracy and F1 by the true labels, and rules broken on the same mini-batches for all.

    The labels are looked at here and, but for the ceiling, nowhere else.
    """
    truth = data.labels(setting.part).numpy()
    margin = (made.logits[:, 1] - made.logits[:, 0]).numpy()
    found = {
        "auc": roc_auc_score(truth, margin),
        "accuracy": float(np.mean((margin > 0) == truth)),
        "f1": f1_score(truth, margin > 0),
    }
    return {name: float(value) for name, value in found.items()} | _broken(
        data, setting, made, draws=1 if quick else DRAWS
    )


def _broken(data: Prepared, setting: Setting, made: Run, *, draws: int) -> dict[str, float]:
    loss = sqrl.RuleLoss(data.rules, patients)
    found: dict[str, list[float]] = {name: [] for name in RULE_FIGURES}
    for draw in range(draws):
        batches = data.batches(
            setting.part,
            setting.drift,
            rules_see=setting.rules_see,
            seed=FIRST_SEED + draw,
            size=data.size_of_rules,
        )
        for batch in batches:
            out = made.logits[batch.rows]
            for hard, suffix in ((False, ""), (True, "_hard")):
                measured = loss.measure(batch, out, hard=hard)
                found["excess" + suffix].append(measured.mean_excess)
                found["share_broken" + suffix].append(measured.share)
    return {name: fmean(values) for name, values in found.items()}


def summarise(runs: dict[str, dict[str, Any]], settings: Sequence[str]) -> Json:
    """Mean and spread over seeds of every figure, the shares recovered, and the bars."""
    methods = list(next(iter(runs.values())))
    summary: Json = {
        setting: {
            method: {
                name: _spread([seed[method][setting][name] for seed in runs.values()])
                for name in (*FIGURES, *RULE_FIGURES, "seconds")
            }
            | _against_source(runs, setting, method)
            for method in methods
        }
        for setting in settings
    }
    return {"summary": summary, "bars": _bars(summary)}


def _against_source(runs: dict[str, dict[str, Any]], setting: str, method: str) -> Json:
    """How far figures moved, in points, and which share in percent of what the drift took."""
    found: Json = {}
    for name in ("auc", "accuracy"):
        moved, recovered = [], []
        for seed in runs.values():
            before, after = seed[SOURCE][setting][name], seed[method][setting][name]
            lost = seed[SOURCE][CLEAN][name] - before
            moved.append(100 * (after - before))
            if lost > 0:
                recovered.append(100 * (after - before) / lost)
        found[f"{name}_moved"] = _spread(moved)
        found[f"{name}_recovered"] = (
            _spread(recovered) if setting != CLEAN and len(recovered) == len(runs) else None
        )
    return found


def _spread(values: Sequence[float]) -> Json:
    """The mean, the standard deviation between seeds (0 for one), and the values themselves."""
    rounded = [float(f"{value:.6g}") for value in values]
    spread = stdev(values) if len(values) > 1 else 0.0
    return {"mean": fmean(values), "spread": spread, "seeds": rounded}


def _bars(summary: Json) -> list[Json]:
    """What was promised of the library's defaults, and how the tuned ones stand to it."""
    bars = []
    for method in PROMISED:
        for name in ("auc", "accuracy"):
            one = summary[DRIFTED][method][f"{name}_recovered"]
            value = one["mean"] if one else float("nan")
            what = f"{method}: share of the {name} lost to {DRIFTED} that is recovered, mean"
            bars.append(bar(what, value, "%", at_least=LEAST_RECOVERED))
        for name in ("auc", "accuracy"):
            moved = summary[CLEAN][method][f"{name}_moved"]["seeds"]
            what = f"{method}: {name} changed without drift, the most of any seed"
            bars.append(bar(what, max(map(abs, moved)), "points", at_most=MOST_CHANGED))
    return bars
