"""Learns and checks up to 100 million rows beside DuckDB and polars, and on every engine.

    python benchmarks/scale.py [--data DIR] [--rows 10,25,50,100] [--only learn,check] [-o FILE]

The rows are made up, boxes like KITTI's, and written to `--data` unless they are there; without it,
to a temporary folder. Every run is a process of its own. What is measured is saved after each run.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from measure import (
    HERE,
    Json,
    bar,
    describe_commit,
    describe_machine,
    describe_versions,
    refuse_other_conditions,
)
from scale_bench import GIB, MEMORIES, MEMORY, MOST_MEMORY, SEED, Bench, warm_up
from scale_data import Sizes, write_files

RESULTS = HERE / "results" / "scale.json"
CONDITIONS = ("commit", "machine", "versions", "seed", "rows", "data")
LIBRARIES = ("sqrl-rules", "numpy", "numba", "pyarrow", "duckdb", "polars", "ray", "pyspark")
ROWS = (10.0, 25.0, 50.0, 100.0)  # millions
FLAT, LINEAR = 1.3, 1.3  # peak, and time a row, at the most rows over those at the fewest
SHARE = 0.6  # of DuckDB's time, that sqrl may take
TIME_LIMIT = 1200.0  # seconds of a run of another library, which then gets no larger data


def measure_learn(bench: Bench) -> None:
    """Learning, as the rows get more."""
    _measure_growth(bench, "learn", bench.learn)


def measure_check(bench: Bench) -> None:
    """Checking, as the rows get more."""
    _measure_growth(bench, "check", bench.check)


def _measure_growth(bench: Bench, name: str, work: Callable[[int], Json]) -> None:
    runs: list[Json] = []
    for n_rows in bench.rows:
        runs.append(work(n_rows))
        bench.save(name, {"runs": runs, "bars": growth_bars(name, runs)})


def growth_bars(name: str, runs: list[Json]) -> list[Json]:
    """Peak memory within bounds and flat, time linear."""
    first, last = runs[0], runs[-1]
    made = [
        bar(
            f"{name}: peak memory of {last['rows']:,} rows",
            max(run["peak"] for run in runs) / GIB,
            "GiB",
            at_most=MOST_MEMORY / GIB,
        )
    ]
    if last is first:
        return made
    times = last["rows"] / first["rows"]
    grown = f"{last['rows']:,} rows over {first['rows']:,}"
    peak, seconds = last["peak"] / first["peak"], last["seconds"] / first["seconds"]
    return [
        *made,
        bar(f"{name}: peak memory, {grown}", peak, "x", at_most=FLAT),
        bar(f"{name}: time, {grown}", seconds, "x", at_most=LINEAR * times),
    ]


def measure_duckdb(bench: Bench) -> None:
    """The same work by DuckDB, until it takes too long or too much memory."""
    section: Json = {"memory": MEMORIES["duckdb"], "learn": [], "check": [], "export": []}
    alive = {"at once", "one by one", "check"}
    for n_rows in bench.rows:
        for way in ("at once", "one by one"):
            # One statistic a query is slower, and only asked where memory is short.
            if way in alive and (way == "at once" or "at once" not in alive):
                run = _learn_by(bench, "duckdb", n_rows, at_once=way == "at once")
                _keep(bench, "duckdb", section, "learn", {"way": way, **run})
                if "failed" in run:
                    alive.discard(way)
        # The query that we export is slow: the fewest rows are enough of it.
        for task in ("check", "export") if n_rows == bench.rows[0] else ("check",):
            if task == "export" or task in alive:
                run = _check_by(bench, "duckdb", n_rows, task=task)
                _keep(bench, "duckdb", section, task, run)
                if "failed" in run:
                    alive.discard(task)


def measure_polars(bench: Bench) -> None:
    """The same work by polars, until it takes too long or too much memory."""
    section: Json = {"memory": MEMORIES["polars"], "learn": [], "check": []}
    works = {"learn": _learn_by, "check": _check_by}
    for n_rows in bench.rows:
        for task, work in list(works.items()):
            run = work(bench, "polars", n_rows)
            _keep(bench, "polars", section, task, run)
            if "failed" in run:
                del works[task]


def _learn_by(bench: Bench, library: str, n_rows: int, **options: object) -> Json:
    """The bounds by another library, beside those of the rules that sqrl learns."""
    bench.learn(n_rows)
    rules = bench.rules(n_rows)
    return bench.run("learn", library, n_rows, limit=TIME_LIMIT, rules=rules, **options)


def _check_by(bench: Bench, library: str, n_rows: int, *, task: str = "check") -> Json:
    """The counts by another library, beside those that sqrl finds."""
    ours, rules = bench.check(n_rows), bench.rules(bench.rows[0])
    run = bench.run(task, library, n_rows, limit=TIME_LIMIT, rules=rules)
    return run if "failed" in run else run | {"is_equal": run["counts"] == ours["counts"]}


def _keep(bench: Bench, library: str, section: Json, task: str, run: Json) -> None:
    """Save the run, and the bars as they stand with it."""
    section[task].append(run)
    if library == "duckdb":
        section["bars"] = share_bars(section, {"learn": bench.learned, "check": bench.checked})
    bench.save(library, section)


def share_bars(section: Json, ours: dict[str, dict[int, Json]]) -> list[Json]:
    """The share of DuckDB's time that sqrl takes, at each size that DuckDB finishes."""
    made = []
    for task, runs in ours.items():
        for n_rows, run in sorted(runs.items()):
            done = [
                one["seconds"]
                for one in section[task]
                if one["rows"] == n_rows and "failed" not in one
            ]
            if done:
                what = f"{task}: time of {n_rows:,} rows over DuckDB's"
                made.append(bar(what, run["seconds"] / min(done), "x", at_most=SHARE))
    return made


def measure_engine(engine: str) -> Callable[[Bench], None]:
    """The work that learns and checks the fewest rows on another engine."""

    def measure(bench: Bench) -> None:
        n_rows = bench.rows[0]
        ours = {"learn": bench.learn(n_rows), "check": bench.check(n_rows)}
        section: Json = {}
        for task in ours:
            rules = bench.rules(n_rows) if task == "check" else None
            run = bench.run(task, engine, n_rows, rules=rules)
            section[task] = run | {"is_equal": run["digest"] == ours[task]["digest"]}
            bench.save(engine, section)

    return measure


SECTIONS: dict[str, Callable[[Bench], None]] = {
    "learn": measure_learn,
    "check": measure_check,
    "memory": measure_engine("memory"),
    "duckdb": measure_duckdb,
    "polars": measure_polars,
    "ray": measure_engine("ray"),
    "spark": measure_engine("spark"),
}


def measure(folder: Path, output: Path, rows: list[int], sizes: Sizes, only: list[str]) -> Json:
    """All sections, or only some; saved whenever there is something new."""
    files = write_files(folder, max(rows), sizes, seed=SEED)
    n_bytes = sum(path.stat().st_size for path in files)
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "seed": SEED,
        "rows": rows,
        "memory": MEMORY,
        "data": {"files": len(files), "file_rows": sizes.file_rows, "bytes": n_bytes},
        "sections": _earlier(output, only),
    }
    if only and output.exists():
        refuse_other_conditions(result, output, CONDITIONS)

    def save(name: str, section: Json) -> None:
        result["sections"][name] = section
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(files, rows, sizes, Path(scratch), save)
        warm_up(bench)
        undone = [name for name in only or SECTIONS if not _is_done(name, bench)]
    if undone:
        raise SystemExit(f"not measured to the end: {', '.join(undone)}")
    return result


def _is_done(name: str, bench: Bench) -> bool:
    """Measure a section; one that fails, as where Ray does not start, leaves the others be."""
    try:
        SECTIONS[name](bench)
    except RuntimeError as error:  # with the last words of the process
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def _earlier(output: Path, only: list[str]) -> Json:
    if not only or not output.exists():
        return {}
    kept: Json = json.loads(output.read_text())["sections"]
    return kept


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the made rows; kept for another run")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="in millions")
    parser.add_argument("--only", default="", help=f"some of {','.join(SECTIONS)}")
    parser.add_argument("--file-rows", type=int, default=Sizes().file_rows)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    rows = sorted(round(float(word) * 1e6) for word in arguments.rows.split(","))
    sizes = Sizes(arguments.file_rows, min(Sizes().group_rows, arguments.file_rows))
    for name in set(only) - set(SECTIONS):
        raise SystemExit(f"There is no section {name!r}: {', '.join(SECTIONS)}.")
    if any(n_rows % sizes.file_rows for n_rows in rows):
        raise SystemExit(f"Rows come in files of {sizes.file_rows:,}: give multiples of that.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = measure(folder, arguments.output, rows, sizes, only)
    for section in result["sections"].values():
        for one in section.get("bars", []):
            if not one["met"]:
                print(f"bar not met: {one['what']}", file=sys.stderr)


if __name__ == "__main__":
    main()
