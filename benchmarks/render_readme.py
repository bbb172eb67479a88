"""Writes the table of tools in README.md from power.json, and nothing else.

python benchmarks/render_readme.py [--results FILE] [--readme FILE]
"""

import argparse
import re
import textwrap
from pathlib import Path

from measure import HERE
from power_results import Results, read_results

BEGIN, END = "<!-- begin: benchmarks/render_readme.py -->", "<!-- end -->"
SHOWN = {
    "sqrl": "**sqrl**, `learn` and `check`",
    "pandera": "pandera, `infer_schema`",
    "Evidently": "Evidently, `DataDriftPreset`",
    "Evidently, any column": "the same, an alarm for any column",
    "KS / chi-square + BH": "a KS or chi-square test a column, corrected",
}


def table(results: Results) -> str:
    """What each tool catches, what it says of clean batches, and what it names first."""
    small, large = min(results.sizes()), max(results.sizes())
    about = f"""Faults of {len(results.faults())} kinds (typos, other units, values gone missing,
        columns shuffled, predictions of a worse model, ...) are planted in rows of
        {len(results.tables)} tables, or of as many as a tool was tried on, and every tool is asked
        as it comes, without settings, whether anything is wrong:"""
    lines = [
        *textwrap.wrap(" ".join(about.split()), 120),
        "",
        f"| by default | faults caught, {small} rows | {large:,} rows | alarms on clean rows "
        "| names the column first | tables |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for tool, name in SHOWN.items():
        if tool not in results.tools:
            continue
        caught = [f"{100 * results.mean_power(tool, size):.1f} %" for size in (small, large)]
        clean = [results.clean(tool, size) for size in (small, large)]
        n_raised, n = (sum(getattr(cell, key) for cell in clean) for key in ("n_raised", "n"))
        placed = [results.tools[tool].pooled(kind, (small, large)) for kind in results.faults()]
        right = sum(cell.n_right for cell in placed) / sum(cell.n_placed for cell in placed)
        n_tables = len({place.split("/")[0] for place in results.tools[tool].places})
        alarms = f"{100 * n_raised / n:.1f} % of {n:,}"
        lines.append(
            f"| {name} | {' | '.join(caught)} | {alarms} | {100 * right:.1f} % | {n_tables} |"
        )
    return "\n".join(lines)


def replaced(readme: str, made: str) -> str:
    """The README with this table between its marks."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{made}\n\n{END}", readme, count=1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of tools in README.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "power.json")
    parser.add_argument("--readme", type=Path, default=HERE.parent / "README.md")
    options = parser.parse_args()
    made = table(read_results(options.results))
    options.readme.write_text(replaced(options.readme.read_text(), made))


if __name__ == "__main__":
    main()
