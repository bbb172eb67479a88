"""Drawings of results with matplotlib: one rule, or all of them against chance."""

from typing import Any

import numpy as np

from sqrl._check.violations import Violations
from sqrl._rows.rows import Rows
from sqrl.errors import MissingExtraError, UnknownNameError
from sqrl.report._drawing import Dots, Histogram, RightWrong, draw_rule
from sqrl.report._wording import short_sentence

HELD, BROKEN = "#4f7cac", "#c8452d"
MOST_CHARACTERS = 90  # of a sentence above a drawing


def plot_rule(violations: Violations, rule: int, ax: Any = None) -> Any:
    """The axes with the values that a rule speaks of and its bounds; what is outside is red.

    A bucketed rule has a histogram for each piece, one above the other; a mini-batch rule a dot
    for each mini-batch; a rule about a class a bar.
    """
    if not 0 <= rule < len(violations):
        raise UnknownNameError(
            f"There is no rule {rule}.", fix=f"give a number from 0 to {len(violations) - 1}"
        )
    ax = axes_or_new(ax)
    drawn = draw_rule(violations, rule, Rows(violations.table, violations.rules.statistics()))
    if isinstance(drawn, RightWrong):
        ax.barh(["as the rule says", "otherwise"], [drawn.right, drawn.wrong], color=[HELD, BROKEN])
    elif isinstance(drawn, Dots):
        _draw_dots(ax, drawn)
    else:
        _draw_bins(ax, drawn)
    text = short_sentence(violations.rules.form(rule))
    # Dollar signs in a column's name would be read as mathematics.
    ax.set_title(text[:MOST_CHARACTERS].replace("$", r"\$"), fontsize="small", loc="left")
    return ax


def plot_summary(violations: Violations, ax: Any = None) -> Any:
    """The axes with a dot for each rule: how often it is broken, against how often by chance.

    Rules for which chance is not known are left out.
    """
    ax = axes_or_new(ax)
    known = ~np.isnan(violations.expected)
    beyond = violations.significant
    for which, colour, name in (
        (known & ~beyond, HELD, "within chance"),
        (known & beyond, BROKEN, "beyond chance"),
    ):
        ax.scatter(violations.expected[which], violations.broken[which], s=18, c=colour, label=name)
    most = max(1.0, float(np.nanmax([*violations.expected[known], *violations.broken[known], 1])))
    ax.plot([0, most], [0, most], linestyle="--", color="grey", linewidth=1)
    # Linear near zero, so that rules that were never broken are seen too.
    ax.set_xscale("symlog", linthresh=1)
    ax.set_yscale("symlog", linthresh=1)
    ax.set_xlabel("broken by chance alone")
    ax.set_ylabel("broken")
    ax.legend(frameon=False)
    return ax


def axes_or_new(ax: Any) -> Any:
    """The axes that are given, or those of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "Plots need matplotlib.", fix='pip install "sqrl-rules[plot]"'
        ) from None
    return pyplot.subplots()[1] if ax is None else ax


def _draw_bins(ax: Any, pieces: list[Histogram]) -> None:
    """Each piece's histogram on a floor of its own, the first at the top."""
    for floor, bins in enumerate(reversed(pieces)):
        edges = bins.first + bins.width * np.arange(bins.counts.size + 1)
        if bins.is_log:
            edges = 10.0**edges
        heights = 0.8 * bins.counts / max(1, int(bins.counts.max(initial=0)))
        place = np.arange(bins.counts.size)
        is_held = (place >= bins.n_below) & (place < bins.n_below + bins.n_inside)
        colours = np.where(is_held, HELD, BROKEN).tolist()
        ax.bar(edges[:-1], heights, np.diff(edges), floor, align="edge", color=colours)
        _draw_bounds(ax, bins.lower, bins.upper, floor, floor + 0.9)
    if pieces[0].is_log:
        ax.set_xscale("log")
    names = [(bins.test or "").replace("$", r"\$") for bins in reversed(pieces)]
    ax.set_yticks(range(len(pieces)), names)


def _draw_dots(ax: Any, drawn: Dots) -> None:
    outside = np.zeros(drawn.values.size, np.bool_)
    if drawn.lower is not None:
        outside |= drawn.values < drawn.lower
    if drawn.upper is not None:
        outside |= drawn.values > drawn.upper
    height = 0.1 + 0.8 * (np.arange(drawn.values.size) % 5) / 4
    ax.scatter(drawn.values, height, s=24, c=np.where(outside, BROKEN, HELD).tolist())
    _draw_bounds(ax, drawn.lower, drawn.upper, 0.0, 1.0)
    ax.set_yticks([])


def _draw_bounds(
    ax: Any, lower: float | None, upper: float | None, low: float, high: float
) -> None:
    ax.vlines([end for end in (lower, upper) if end is not None], low, high, color="black")
