"""One rule over time, drawn with matplotlib."""

from typing import Any

import numpy as np

from sqrl._history.timeline import Timeline
from sqrl.report._plot import BROKEN, HELD, MOST_CHARACTERS, axes_or_new


def plot_history(timeline: Timeline, rule: str, ax: Any = None) -> Any:
    """The axes with the share that broke a rule in each window, its usual band, and the alarms.

    Windows that belong to an alarm and are not in the baseline are hollow.
    """
    ax = axes_or_new(ax)
    place = timeline.ids.index(rule)
    x = np.arange(len(timeline.at))
    share = 100 * timeline.share[place]
    low, high = 100 * timeline.low[place], 100 * timeline.high[place]
    ax.fill_between(x, low, high, color=HELD, alpha=0.15, linewidth=0, label="99 % of windows")
    ax.plot(x, share, color=HELD, linewidth=1)
    inside = timeline.in_baseline
    ax.scatter(x[inside], share[inside], s=14, color=HELD)
    ax.scatter(x[~inside], share[~inside], s=14, facecolors="white", edgecolors=BROKEN, zorder=3)
    for alarm in timeline.alarms:
        if rule in alarm.rules:
            ax.axvline(timeline.at.index(alarm.at), color=BROKEN, linestyle="--", linewidth=1)
    ticks = sorted({round(step * (len(x) - 1) / 4) for step in range(5)})
    ax.set_xticks(ticks, [timeline.at[tick] for tick in ticks], fontsize="small")
    ax.set_ylabel("% broken")
    text = timeline.texts[rule]
    # Dollar signs in a column's name would be read as mathematics.
    ax.set_title(text[:MOST_CHARACTERS].replace("$", r"\$"), fontsize="small", loc="left")
    return ax
