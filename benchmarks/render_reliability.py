"""Writes the counts in docs/reliability.md from fuzz.json, kills.json and history_kills.json.

python benchmarks/render_reliability.py [--results FOLDER] [--page FILE]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json, put_between

BEGIN, END = "<!-- begin: benchmarks/render_reliability.py -->", "<!-- end -->"
SHOWN = {
    "language": "sentences: read, printed, read again; rules checked, templates learned",
    "schemas": "schemas: YAML, planned and learned",
    "rules_json": "rules files in JSON",
    "rules_parquet": "rules files in Parquet",
    "tables": "CSV, TSV, JSON Lines, Parquet, Arrow, packed or not; memory beside scan",
    "boxes": "labels of KITTI, YOLO, Pascal VOC, and COCO",
    "resume": "remembered passes of a scan",
    "history": "folders of histories, and monitors",
    "exports": "SQL run in DuckDB, dbt tests rendered and run, pandera schemas executed",
    "command_line": "command lines",
    "differential": "the definition, memory, scan and SQL on the same rules and rows",
    "learning": "schemas learned: by the definition, in memory and by a scan",
    "adapted": "saved states of adapted models",
}


def fuzz_table(fuzz: Json) -> list[str]:
    """A line for each target."""
    limits = fuzz["limits"]
    lines = [
        f"{fuzz['cases']:,} cases, with {limits['cpu_seconds']} s of processor and"
        f" {limits['bytes'] >> 30} GiB of memory for each (seed {fuzz['seed']}, commit"
        f" {fuzz['commit']['id'][:7]}, {fuzz['made']}):",
        "",
        "| cases are | run | refused in words | most memory | findings left | in the corpus |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, what in SHOWN.items():
        one = fuzz["targets"][name]
        lines.append(
            f"| {what} | {one['cases']:,} | {one['refused']:,} | {one['peak_bytes'] >> 20} MiB"
            f" | {len(one['findings'])} | {one['corpus']} |"
        )
    return lines


def kills_table(kills: Json, history: Json) -> list[str]:
    """How often commands were disturbed, and in which ways."""
    ways = ", ".join(f"{how} {count}" for how, count in kills["by"].items())
    return [
        f"{kills['runs']:,} disturbed runs of {len(kills['jobs'])} commands ({ways}; seed"
        f" {kills['seed']}, commit {kills['commit']['id'][:7]}, {kills['made']}) and a run after"
        f" each: {len(kills['faults'])} faults. Besides, a writer of a history was killed"
        f" {history['kills']} times: {len(history['faults'])} faults.",
    ]


def made(folder: Path) -> str:
    """The part of the page that has figures."""
    names = ("fuzz", "kills", "history_kills")
    fuzz, kills, history = (json.loads((folder / f"{name}.json").read_text()) for name in names)
    return "\n".join([*fuzz_table(fuzz), "", *kills_table(kills, history)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "reliability.md")
    given = parser.parse_args()
    page = put_between(given.page.read_text(), BEGIN, END, made(given.results))
    given.page.write_text(page)


if __name__ == "__main__":
    main()
