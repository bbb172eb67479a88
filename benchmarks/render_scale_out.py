"""Writes the forecast in docs/scale.md from scale.json and scale_out.json, and nothing else there.

python benchmarks/render_scale_out.py [--page FILE]
"""

import argparse
import json
import textwrap
from dataclasses import replace
from pathlib import Path

from measure import HERE, Json, put_between
from scale_model import Cluster, forecast
from sqrl_paper.table import markdown_table

BEGIN, END = "<!-- forecast: begin -->", "<!-- forecast: end -->"
ROWS = 10_000_000_000
CLUSTER = Cluster(nodes=64, cores=16)
PART_ROWS = (1_000_000, 10_000_000)
TROUBLES = {
    "": CLUSTER,
    "two nodes three times slower": replace(CLUSTER, slow_nodes=2, times_slower=3.0),
    "a node lost in every pass": replace(CLUSTER, lost_nodes=1),
}


def render(scale: Json, out: Json) -> str:
    """The section's text."""
    return "\n\n".join([_about(out), _forecasts(scale, out), _checked(scale, out)])


def _about(out: Json) -> str:
    learn = out["constants"]["learn"]["passes"]
    largest = max(one["state_bytes"] for one in learn) / 1e6
    return _wrapped(f"""Nobody here has such a cluster, so this is a calculation:
        `benchmarks/scale_model.py` simulates every task of a pass, with constants that were
        measured on one machine. Passes, processor time a row and bytes a row are those of the
        [largest runs](scale-results.md); `benchmarks/scale_out.py` measured the rest: a state of
        a part has up to {largest:.0f} MB in a pass of `learn`
        ({1000 * max(one["merge_seconds"] for one in learn):.1f} ms to merge), a part costs
        {1000 * out["constants"]["learn"]["part_seconds"]:.1f} ms beside its rows, and a task costs
        Ray's driver {1000 * out["driver"]["seconds_a_task"]:.2f} ms, one after the other.
        Assumed are {CLUSTER.nodes} nodes of {CLUSTER.cores} cores like those measured, a network
        of {8 * CLUSTER.bytes_a_second / 1e9:.0f} Gbit a second for each, and storage that
        keeps up.""")


def _forecasts(scale: Json, out: Json) -> str:
    lines = []
    for task in ("learn", "check"):
        for part_rows in PART_ROWS:
            for trouble, cluster in TROUBLES.items():
                one = forecast(scale, out, task, ROWS, part_rows, cluster)
                lines.append(_line(one, part_rows, trouble))
    head = ["", "rows a part", "passes", "read", "moved", "time", "most of it is"]
    return "\n".join(markdown_table(head, lines))


def _line(one: Json, part_rows: int, trouble: str) -> list[str]:
    return [
        one["task"] + (f", {trouble}" if trouble else ""),
        f"{part_rows:,}",
        str(one["passes"]),
        f"{one['read_bytes'] / 1e9:,.0f} GB",
        f"{one['moved_bytes'] / 1e9:,.0f} GB",
        f"{one['seconds']:,.0f} s",
        one["limit"],
    ]


def _checked(scale: Json, out: Json) -> str:
    spark, ray = (scale["sections"][name]["learn"]["seconds"] for name in ("spark", "ray"))
    many, runs = out["many"], out["disturbed"]
    equal = all(run["is_equal"] for some in runs.values() for run in some)
    assert equal, "a disturbed scan gave another result: that is a fault, not a figure"
    worst = max(abs(one["foretold_cpu_seconds"] / one["cpu_seconds"] - 1) for one in many.values())
    return (
        _wrapped(f"""Parts of a million rows keep the driver busy with tasks; with fewer and
        larger ones the cores count, up to the point where some have no part. The size of states was
        measured with parts of {out["constants"]["learn"]["part_rows"]:,} rows and is taken to be
        the same for larger ones, which was not tried. Spark has the same passes and states; on one
        machine it took {spark / ray:.1f} times as long as Ray to learn.""")
        + "\n\n"
        + _wrapped(f"""Checked on one machine: {many["check"]["parts"]:,} parts
        of {many["check"]["part_rows"]:,} rows took {many["check"]["cpu_seconds"]:.0f} s of
        processor time to check where the constants say
        {many["check"]["foretold_cpu_seconds"]:.0f} s, and
        {many["learn"]["parts"]:,} parts {many["learn"]["cpu_seconds"]:.0f} s to learn from where
        they say {many["learn"]["foretold_cpu_seconds"]:.0f} s: off by {100 * worst:.0f} % at most.
        With slow parts in between, and on Ray with slow parts and workers that are killed, rules
        and counts stay the same to the last bit
        ({_times(runs["learn"])} to learn, {_times(runs["check"])} to check; a killed worker costs
        a new process).""")
    )


def _times(runs: list[Json]) -> str:
    ray = [run["seconds"] for run in runs if run["engine"] == "ray"]
    return f"{ray[0]:.0f} s on Ray undisturbed, {ray[1]:.0f} s disturbed"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False)


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description="Writes the forecast in docs/scale.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "scale.md")
    given = parser.parse_args()
    scale, out = (
        json.loads((given.results / name).read_text()) for name in ("scale.json", "scale_out.json")
    )
    page = put_between(given.page.read_text(), BEGIN, END, render(scale, out))
    given.page.write_text(page)


if __name__ == "__main__":
    main()
