"""The plots of the benchmark, as SVG that is the same for the same results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

from measure import Json

OURS, THEIRS = "#0b6e4f", "#9aa5b1"
PLAIN = FuncFormatter(lambda value, _: f"{value:,g}")
mpl.use("svg")
mpl.rcParams |= {
    "svg.fonttype": "none",
    "svg.hashsalt": "sqrl",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e7eb",
}


def draw_counts(section: Json, path: Path) -> None:
    """The time of each way of counting, on a logarithmic axis."""
    times = {name: float(one.get("scaled", one["min"])) for name, one in section["timed"].items()}
    names = sorted(times, key=lambda name: -times[name])
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(names) + 1.1), layout="constrained")
    colours = [OURS if name.startswith("sqrl") else THEIRS for name in names]
    bars = axes.barh(names, [times[name] for name in names], color=colours, log=True)
    axes.bar_label(bars, [f"{times[name]:.3g} s" for name in names], padding=4)
    axes.margins(x=0.2)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_xlabel(f"seconds to count {section['bodies']:,} bodies on {section['rows']:,} rows")
    _save(figure, path)


def draw_growth(section: Json, labels: Mapping[str, str], path: Path) -> None:
    """Time by each of the things that vary, both axes logarithmic."""
    figure, grid = plt.subplots(2, 2, figsize=(9, 6), sharey=True, layout="constrained")
    for axes, (name, label) in zip(grid.flat, labels.items(), strict=True):
        points = section["curves"][name]
        values = [point["value"] for point in points]
        axes.loglog(values, [point["min"] for point in points], "o-", color=OURS)
        varies = len({point["candidates"] for point in points}) > 1
        for point in points if varies else points[:1]:
            axes.annotate(
                f"{point['candidates']:,} rules",
                (point["value"], point["min"]),
                textcoords="offset points",
                xytext=(0, 9),
                ha="right" if varies else "center",
                fontsize=8,
            )
        axes.margins(x=0.25, y=0.2)
        if name == "literals":
            axes.set_xscale("linear")
        axes.set_xticks(values, [f"{value:,}" for value in values])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(PLAIN)
        axes.set_xlabel(label)
    for axes in grid[:, 0]:
        axes.set_ylabel("seconds")
    _save(figure, path)


def draw_memory(section: Json, labels: Mapping[str, str], path: Path) -> None:
    """Peak memory by the memory stated beforehand; below the line less was taken than stated."""
    figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
    ends: list[float] = []
    for name, marker in zip(labels, "osD^", strict=True):
        points = section["curves"][name]
        ends += _scatter(axes, points, marker, f"varying {labels[name].split(',')[0]}")
    ends += _scatter(axes, [section["longest"]], "*", "cardio, longest bodies")
    low, high = min(ends), max(ends)
    axes.plot([low, high], [low, high], "--", color=THEIRS, label="as stated")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PLAIN)
    axes.set_xlabel("memory stated before learning, MiB")
    axes.set_ylabel("peak above the memory before, MiB")
    axes.legend(frameon=False, fontsize=9)
    _save(figure, path)


@dataclass(frozen=True, slots=True)
class Point:
    """A tool on batches of a size: alarms on clean batches and faults caught, in percent."""

    tool: str
    size: int
    alarms: float
    power: float


def draw_power(points: Sequence[Point], path: Path) -> None:
    """Faults caught against alarms on clean batches: up and to the left is better."""
    figure, axes = plt.subplots(figsize=(9, 5.5), layout="constrained")
    sizes = sorted({point.size for point in points})
    for tool in dict.fromkeys(point.tool for point in points):
        own = sorted((point for point in points if point.tool == tool), key=lambda one: one.size)
        colour = OURS if tool.startswith("sqrl") else THEIRS
        axes.plot([one.alarms for one in own], [one.power for one in own], color=colour, lw=1)
        for point in own:
            area = 20 + 60 * sizes.index(point.size)
            axes.scatter(point.alarms, point.power, s=area, color=colour, zorder=3)
        last = own[-1]
        axes.annotate(
            tool,
            (last.alarms, last.power),
            textcoords="offset points",
            xytext=(8, 4),
            fontsize=9,
            color=OURS if tool.startswith("sqrl") else "black",
        )
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xlim(-0.15, 250)
    axes.set_ylim(0, 104)
    axes.set_xticks([0, 1, 2, 5, 10, 20, 50, 100])
    axes.xaxis.set_major_formatter(PLAIN)
    axes.xaxis.set_minor_formatter(NullFormatter())
    shown = " and ".join(f"{size:,}" for size in sizes)
    axes.set_xlabel(f"alarms on clean batches, % (small and large points: {shown} rows)")
    axes.set_ylabel("faults caught, %, mean over kinds")
    _save(figure, path)


def _scatter(axes: Any, points: list[Json], marker: str, label: str) -> list[float]:
    stated = [point["memory_stated"] / 2**20 for point in points]
    peak = [point["memory_above"] / 2**20 for point in points]
    size = 120 if marker == "*" else 36
    axes.scatter(stated, peak, marker=marker, s=size, alpha=0.8, label=label)
    return stated + peak


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
