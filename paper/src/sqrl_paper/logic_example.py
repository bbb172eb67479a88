"""An example for a figure: the rule that adaptation mends most, on mini-batches, before and after.

For logic rules: the F1 of `body => head`, with predicted probabilities.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Batch, RuleLoss, RuleSet, Table

Json = dict[str, Any]
Floats = NDArray[np.float64]
BEFORE, AFTER, BAND = "#c8452d", "#4f7cac", "#d9e4ef"
SIZE = (8.0, 3.6)  # inches


def mended_most(
    loss: RuleLoss, drawn: Sequence[Batch], before: Tensor, after: Tensor, *, avoid: set[int]
) -> int:
    """The place of the rule whose distance from its bounds falls most, in widths."""
    fallen = np.zeros(len(loss.rules))
    for batch in drawn:
        for logits, sign in ((before, 1.0), (after, -1.0)):
            fallen += sign * loss.measure(batch, logits[batch.rows]).excess.numpy()
    fallen[list(avoid)] = -np.inf
    return int(fallen.argmax())


def expected_f1(rules: RuleSet, rule: int, table: Table, chances: Floats) -> float:
    """The F1 of a rule where its head has these probabilities on the table's rows.

    >>> from sqrl import as_table
    >>> rules = RuleSet.from_texts(["0 <= f1(x > 1 => y = 1) <= 1 over 2"])
    >>> expected_f1(rules, 0, as_table({"x": [1, 2]}), np.array([0.5, 0.5]))
    0.5
    """
    body = rules.condition_holds(rule, table)
    return float(2 * chances[body].sum() / (body.sum() + chances.sum()))


def tell_rule(
    rules: RuleSet, rule: int, tables: Sequence[Table], chances: dict[str, Sequence[Floats]]
) -> Json:
    """The rule in words, its bounds and its F1 on each mini-batch for each of the probabilities."""
    return {
        "rule": rules[rule].short_text,
        "lower": rules[rule].lower,
        "upper": rules[rule].upper,
        "values": {
            title: [expected_f1(rules, rule, *pair) for pair in zip(tables, parts, strict=True)]
            for title, parts in chances.items()
        },
    }


def draw_example(told: Json, lines: Sequence[str], path: Path) -> None:
    """Write the figure: dots for mini-batches before and after, the bounds, and lines below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
    axes, below = figure.subplots(2, 1, height_ratios=(7, max(1, len(lines))))
    axes.axhspan(told["lower"], told["upper"], color=BAND, label="bounds from train")
    for title, colour in zip(told["values"], (BEFORE, AFTER), strict=True):
        values = told["values"][title]
        axes.plot(range(1, len(values) + 1), values, "o", color=colour, label=title, markersize=4)
    axes.set_xlabel("mini-batch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("F1")
    axes.set_title(plain(told["rule"]), fontsize="small", loc="left")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    below.axis("off")
    text = "\n".join(plain(line) for line in lines)
    below.text(0, 1, text, fontsize="small", va="top", transform=below.transAxes)
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else {"Date": None})


def plain(text: str) -> str:
    """The text for matplotlib, to which a dollar sign begins mathematics."""
    return text.replace("$", r"\$")
