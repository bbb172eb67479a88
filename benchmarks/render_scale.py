"""Writes docs/scale-results.md from benchmarks/results/scale.json, and nothing else.

python benchmarks/render_scale.py [--results FILE] [--docs DIR]
"""

import argparse
import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from measure import HERE, Json
from sqrl_paper.table import markdown_table

PAGE = "scale-results.md"
ENGINES = {
    "local": "files, this process",
    "memory": "all rows in memory",
    "ray": "Ray",
    "spark": "Spark",
}
WAYS = {
    "duckdb": {
        "at once": "DuckDB, at once",
        "one by one": "DuckDB, one by one",
        "check": "DuckDB",
        "export": "exported to DuckDB",
    },
    "polars": {"learn": "polars", "check": "polars"},
}
NAMES = {"duckdb": "DuckDB", "polars": "polars"}


def render(result: Json) -> str:
    """The page; a section that was not measured is left out."""
    sections = result["sections"]
    parts = [_opening(result), _bars(sections)]
    if "learn" in sections and "check" in sections:
        parts.append(_growth(sections, result["memory"]))
        others = [library for library in WAYS if library in sections]
        if others:
            parts.append(_others(sections, others))
        if any(engine in sections for engine in ENGINES):
            parts.append(_engines(sections))
    return "\n\n".join(parts) + "\n"


def _opening(result: Json) -> str:
    machine, data = result["machine"], result["data"]
    commit = result["commit"]["id"]
    code = f"commit {commit[:12]}" if commit else "no commit"
    code += " with changes" if result["commit"]["dirty"] else ""
    millions = ",".join(f"{rows / 1e6:g}" for rows in result["rows"])
    libraries = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    about = f"""Up to {max(result["rows"]):,} boxes, made up by a camera like KITTI's: seven classes
        in KITTI's shares, boxes of float32 that depend on the class and the distance, in
        {data["files"]} Parquet files of {data["file_rows"]:,} rows,
        {data["bytes"] / 1e9:.2g} GB. The shipped schema `detection` gives 252 rules: 42 intervals
        of a statistic in a class, and 210 in which another statistic has four buckets. Each run is
        a process of its own that opens the files and loads compiled loops; memory is the peak of
        the whole process. Seconds depend on what else the machine does, CPU seconds less so."""
    return f"""# How learning and checking scale

Every figure here is written by `benchmarks/render_scale.py` from `benchmarks/results/scale.json`.
[What has changed since](measured.md).
To measure anew:

```
python benchmarks/scale.py --rows {millions} && python benchmarks/render_scale.py
```

{_paragraph(about)}

- Machine: {machine["processor"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB, \
{machine["system"]}; load {_loads(result)} before each run.
- Versions: {libraries}.
- Code: {code}; {result["date"][:10]}; seed {result["seed"]}."""


def _loads(result: Json) -> str:
    loads = [run["load_before"] for run in _runs(result["sections"]) if "load_before" in run]
    return f"{min(loads)} to {max(loads)}" if loads else "unknown"


def _runs(value: object) -> Iterable[Json]:
    """Every run in the sections."""
    if isinstance(value, dict):
        if "rows" in value:
            yield value
        for part in value.values():
            yield from _runs(part)
    elif isinstance(value, list):
        for part in value:
            yield from _runs(part)


def _bars(sections: Json) -> str:
    rows = [
        (
            one["what"],
            f"at most {one['at_most']:.3g} {one['unit']}",
            f"{one['measured']:.3g} {one['unit']}",
            "met" if one["met"] else "**not met**",
        )
        for section in sections.values()
        for one in section.get("bars", [])
    ]
    header = ("what", "bar", "measured", "")
    return "## The bars\n\n" + _table(header, rows, n_words=len(header))


def _growth(sections: Json, memory: int) -> str:
    rows = [
        (f"{name}, {run['rows']:,} rows", *_figures(run), str(run["passes"]))
        for name in ("learn", "check")
        for run in sections[name]["runs"]
    ]
    header = ("", "time", "CPU time", "rows a second", "peak", "passes")
    about = f"""`sqrl.learn(files, "detection")` and `sqrl.check(rules, files)` with about
        {memory / 2**30:.2g} GiB allowed beside the rows at hand. A pass reads the columns of all
        files once. Checks use the rules learned from the fewest rows."""
    return f"## As the rows get more\n\n{_paragraph(about)}\n\n{_table(header, rows)}"


def _others(sections: Json, libraries: Sequence[str]) -> str:
    """The same work by other libraries, beside ours at each size."""
    rows = []
    for name in ("learn", "check"):
        for ours in sections[name]["runs"]:
            beside = [
                (who, run)
                for library in libraries
                for task, who, run in _tasks(sections[library], library)
                if run["rows"] == ours["rows"] and (task == "learn") == (name == "learn")
            ]
            for who, run in [("sqrl", ours), *beside] if beside else []:
                what = f"{name}, {run['rows']:,} rows"
                ratio = "" if "failed" in run else f"{run['seconds'] / ours['seconds']:.2g} x"
                rows.append((what, who, *_figures(run), ratio))
    header = ("", "by", "time", "CPU time", "rows a second", "peak", "of sqrl's time")
    about = {"duckdb": _about_duckdb, "polars": _about_polars}
    told = [_paragraph(about[library](sections[library])) for library in libraries]
    after = [_shares(sections, libraries)]
    after += [_paragraph(_agreement(sections[library], library)) for library in libraries]
    title = " and ".join(NAMES[library] for library in libraries)
    table = _table(header, rows, n_words=2)
    return "\n\n".join([f"## Beside {title}", *told, table, *after])


def _tasks(section: Json, library: str) -> Iterable[tuple[str, str, Json]]:
    """Each run of a library, with its task and the name of its way of doing it."""
    for task in ("learn", "check", "export"):
        for run in section.get(task, []):
            yield task, WAYS[library][run.get("way", task)], run


def _about_duckdb(section: Json) -> str:
    return f"""DuckDB reads the same files with as many threads and a memory limit of
        {section["memory"] / 2**30:.2g} GiB. Learning is `quantile_cont` within each class, then
        within each bucket of each class: of all statistics at once, and where that takes too much
        memory, one by one. Checking joins each box with the bounds of its class and bucket, the
        quickest of the ways that were tried; the exported query is what `sqrl export --to sql`
        writes."""


def _about_polars(section: Json) -> str:
    return f"""polars reads the same files lazily, by its streaming engine and with as many threads.
        It can be given no limit of memory; over {section["memory"] / 2**30:.3g} GiB, three quarters
        of the machine's, it is ended. The streaming engine has no quantiles of its own, so learning
        holds one class after the other in memory, and takes the quantiles of all its rows, then
        within each bucket. Checking is a streaming query for each class: sums of what lies outside
        the bounds of its bucket. Both are the quickest of the ways that were tried."""


def _shares(sections: Json, libraries: Sequence[str]) -> str:
    """What sqrl takes of their time and memory, where they finish."""
    rows = [
        (f"{name}, {ours['rows']:,} rows", *figures)
        for name in ("learn", "check")
        for ours in sections[name]["runs"]
        if any(figures := [_share(ours, sections[library][name]) for library in libraries])
    ]
    about = """What sqrl takes of their time where they finish; in brackets, of their peak memory.
        Over 1, it takes more than they do."""
    header = ("", *(f"of {NAMES[library]}" for library in libraries))
    return f"{_paragraph(about)}\n\n{_table(header, rows)}"


def _share(ours: Json, runs: Iterable[Json]) -> str:
    done = [run for run in runs if run["rows"] == ours["rows"] and "failed" not in run]
    if not done:
        return ""
    theirs = min(done, key=lambda run: float(run["seconds"]))
    seconds, peak = (ours[key] / theirs[key] for key in ("seconds", "peak"))
    return f"{seconds:.2g} ({peak:.2g})"


def _agreement(section: Json, library: str) -> str:
    """Whether another library finds the same, and what it could not do."""
    runs = list(_tasks(section, library))
    checks = [run for task, _, run in runs if task != "learn" and "is_equal" in run]
    equal = sum(run["is_equal"] for run in checks)
    told = f"""{NAMES[library]}: counts of all 252 rules equal ours exactly in {equal} of
        {len(checks)} runs. """
    learned = [run for task, _, run in runs if task == "learn" and "failed" not in run]
    if learned:
        largest = max(run["largest_difference"] for run in learned)
        same, values = (sum(run[key] for run in learned) for key in ("equal", "values"))
        told += f"Of {values:,} bounds and cut points, {same:,} equal ours to the last bit"
        told += (
            f"""; the largest relative difference is {largest:.2g}, from how two neighbours are
            interpolated. """
            if largest
            else ". "
        )
    for task, who, run in runs:
        if "failed" in run:
            told += f"""{who}, {task} of {run["rows"]:,} rows: {run["failed"]}. """
    return told


def _engines(sections: Json) -> str:
    local = {name: sections[name]["runs"][0] for name in ("learn", "check")}
    known = {"local": local, **{name: sections[name] for name in ENGINES if name in sections}}
    rows = [
        (
            ENGINES[engine],
            task,
            *_figures(runs[task]),
            f"{runs[task]['seconds'] / local[task]['seconds']:.2g} x",
            _equality(engine, runs[task]),
        )
        for engine, runs in known.items()
        for task in ("learn", "check")
        if task in runs
    ]
    header = ("", "", "time", "CPU time", "rows a second", "peak", "of the files' time", "result")
    about = f"""The first {local["learn"]["rows"]:,} rows, on this one machine. Equal means to the
        last bit: of every bound, support and evidence of all rules; of every count, chance and
        effect of the check. Of Ray and Spark the peak is that of all their processes together,
        shared memory counted once, looked at four times a second; starting them is not part of the
        time."""
    table = _table(header, rows, n_words=2)
    return f"## The same rules and counts on every engine\n\n{_paragraph(about)}\n\n{table}"


def _equality(engine: str, run: Json) -> str:
    if engine == "local":
        return ""
    return "equal" if run["is_equal"] else "**not equal**"


def _figures(run: Json) -> tuple[str, str, str, str]:
    """Time, CPU time, rows a second and peak."""
    if "failed" in run:
        peak = f"{run['peak'] / 2**30:.2f} GiB" if "peak" in run else ""
        return "failed", "", "", peak
    cpu = run.get("cpu_seconds")
    return (
        f"{run['seconds']:.1f} s",
        "" if cpu is None else f"{cpu:.1f} s",
        f"{run['rows'] / run['seconds']:,.0f}",
        f"{run['peak'] / 2**30:.2f} GiB",
    )


def _paragraph(text: str) -> str:
    """The text on lines of at most 100 characters."""
    words = " ".join(text.split())
    return textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int = 1) -> str:
    return "\n".join(markdown_table(header, rows, n_words=n_words))


def main() -> None:
    """Parse the command line and write the page."""
    parser = argparse.ArgumentParser(description="Write the page from the results.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "scale.json")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = parser.parse_args()
    result: Json = json.loads(arguments.results.read_text())
    arguments.docs.mkdir(parents=True, exist_ok=True)
    (arguments.docs / PAGE).write_text(render(result))


if __name__ == "__main__":
    main()
