"""The example of the imputation bench: a patient's feature over two days, before and after."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl.methods import Clip
from sqrl_paper.imputation.data import prepared
from sqrl_paper.imputation.methods import BOTH, NONE, Choice
from sqrl_paper.imputation.parts import Part
from sqrl_paper.imputation.physionet import FEATURES
from sqrl_paper.imputation.physionet_files import PAGE, TITLE
from sqrl_paper.imputation.runs import UNTUNED, Run, impute, widths_away
from sqrl_paper.imputation.task import Imputation
from sqrl_paper.place import Place

Json = dict[str, Any]
BEFORE, AFTER, BAND, GIVEN = "#c8452d", "#4f7cac", "#d9e4ef", "#333333"
SIZE = (8.0, 4.0)  # inches
CREDIT = f"Data: {TITLE} ({PAGE}), ODC-BY 1.0."
LEAST = 3  # values given, and as many hidden: fewer tell nothing about the imputed ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """The seed of the example, and the choice of the method that is shown."""

    seed: int
    choice: Choice


def make_example(place: Place, job: Show) -> Json:
    """The series of a patient and feature in which imputed values are set right most.

    Among those with all true values within the bounds and some given and hidden. It is the
    clearest example, and so not a typical one.
    """
    task = prepared(place, job.seed)
    before, after = (
        impute(place, task, Run(seed=job.seed, method=name, choice=choice, on="test"))[0]
        for name, choice in ((NONE.name, UNTUNED), (BOTH.name, job.choice))
    )
    bounds = Clip(task.rules, FEATURES)
    patient, feature = set_right_most(task.parts.test, bounds, before, after)
    rule = _sentence(task, FEATURES[feature])
    return {
        "caption": caption(FEATURES[feature], rule),
        "patient": patient,
        "feature": FEATURES[feature],
        "rule": rule,
        "lower": float(bounds.lower[feature]),
        "upper": float(bounds.upper[feature]),
        **_series(task.parts.test, patient, feature),
        "before": before[patient, :, feature].tolist(),
        "after": after[patient, :, feature].tolist(),
    }


def set_right_most(part: Part, bounds: Clip, before: Tensor, after: Tensor) -> tuple[int, int]:
    """The patient and the feature whose distance outside the bounds, in widths, falls most."""
    imputed = torch.from_numpy(~part.given)
    away = [(widths_away(bounds, out) * imputed).sum(1) for out in (before, after)]
    observed = torch.from_numpy(part.values)
    is_true = ((observed == bounds.finish(None, observed)) | observed.isnan()).all(1)
    n_given, n_hidden = (torch.from_numpy(mask).sum(1) for mask in (part.given, part.hidden))
    is_told = (n_given >= LEAST) & (n_hidden >= LEAST) & is_true
    mended = torch.where(is_told, away[0] - away[1], -torch.inf)
    return divmod(int(mended.argmax()), len(FEATURES))


def draw_example(told: Json, path: Path) -> None:
    """Write the figure: the same hours before and after, the bounds, and what was measured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
    hours = np.arange(len(told["before"]))
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, way, colour in zip(panels, ("before", "after"), (BEFORE, AFTER), strict=True):
        given, hidden = _numbers(told["given"]), _numbers(told["hidden"])
        imputed = np.where(np.isnan(given), _numbers(told[way]), np.nan)
        is_out = (imputed < told["lower"]) | (imputed > told["upper"])
        axes.axhspan(told["lower"], told["upper"], color=BAND, label="bounds from train")
        axes.plot(hours, imputed, ".", color=colour, label="imputed")
        axes.plot(hours[is_out], imputed[is_out], "x", color=colour, label="outside the bounds")
        axes.plot(hours, given, "o", color=GIVEN, markersize=4, label="given")
        axes.plot(hours, hidden, "o", color=GIVEN, markerfacecolor="none", label="hidden truth")
        title = f"{way} adaptation: {is_out.sum()} of {(~np.isnan(imputed)).sum()} outside"
        axes.set_title(title, fontsize="small", loc="left")
        axes.set_xlabel("hour")
    panels[0].set_ylabel(told["feature"])
    figure.suptitle(f"rule: {told['rule']}\n{CREDIT}", fontsize="small", x=0.02, ha="left")
    lines = {label: line for line, label in zip(*_legend(panels), strict=True)}
    figure.legend(
        lines.values(), lines, fontsize="small", loc="outside lower center", ncols=5, frameon=False
    )
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else {"Date": None})


def caption(feature: str, rule: str) -> str:
    """What the figure shows, and whose data it is."""
    return (
        f"{feature} of a test patient over 48 hours, and the rule `{rule}`. Of all such "
        f"series the one set right most. {CREDIT}"
    )


def _legend(panels: Any) -> tuple[list[Any], list[str]]:
    """The lines of both panels: only one of them may have values outside."""
    found = [axes.get_legend_handles_labels() for axes in reversed(panels)]
    return [line for lines, _ in found for line in lines], [t for _, texts in found for t in texts]


def _series(part: Part, patient: int, feature: int) -> Json:
    values = part.values[patient, :, feature]
    masks = {"given": part.given, "hidden": part.hidden}
    return {
        name: [
            float(value) if is_in else None
            for value, is_in in zip(values, mask[patient, :, feature], strict=True)
        ]
        for name, mask in masks.items()
    }


def _sentence(task: Imputation, feature: str) -> str:
    """The rule about a feature, rounded."""
    return next(rule.short_text for rule in task.rules if f" {feature} " in f" {rule.text} ")


def _numbers(values: list[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values])
