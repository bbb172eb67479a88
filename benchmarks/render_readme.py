"""Writes the table of tools in README.md from power.json, and nothing else.

python benchmarks/render_readme.py [--results FILE] [--readme FILE]
"""

import argparse
import textwrap
from pathlib import Path

from measure import HERE, put_between
from power_results import Results, read_results

BEGIN, END = "<!-- begin: benchmarks/render_readme.py -->", "<!-- end -->"
FEW = 20  # alarms about a fault of one column, below which a share says little
SHOWN = {
    "sqrl": "**sqrl**, `learn` and `check`",
    "pandera": "pandera, `infer_schema`",
    "Evidently": "Evidently, `DataDriftPreset`",
    "Evidently, any column": "the same, an alarm for any column",
    "KS / chi-square + BH": "a KS or chi-square test a column, corrected",
}


def table(results: Results) -> str:
    """What each tool catches, what it says of clean batches, and what it names first.

    Tools that were tried on some of the tables alone are left out.
    """
    small, large = min(results.sizes()), max(results.sizes())
    about = f"""Faults of {len(results.faults())} kinds (typos, pounds for kilograms, values gone
        missing, columns shuffled, predictions of a worse model, ...) are planted in rows of
        {len(results.tables)} tables, and every tool is asked as it comes, without settings, whether
        anything is wrong:"""
    lines = [
        *textwrap.wrap(" ".join(about.split()), 120),
        "",
        f"| by default | faults caught, {small} rows | {large:,} rows | alarms on clean rows "
        "| names the column first |",
        "|---|---:|---:|---:|---:|",
    ]
    for tool, name in SHOWN.items():
        if tool in results.tools and set(results.tools[tool].places) == set(results.digests):
            lines.append(f"| {name} | {' | '.join(_figures(results, tool, (small, large)))} |")
    return "\n".join(lines)


def _figures(results: Results, tool: str, sizes: tuple[int, int]) -> list[str]:
    """The cells of a tool's line after its name."""
    caught = [f"{100 * results.mean_power(tool, size):.1f} %" for size in sizes]
    clean = [results.clean(tool, size) for size in sizes]
    n_raised, n = (sum(getattr(cell, key) for cell in clean) for key in ("n_raised", "n"))
    placed = [results.tools[tool].pooled(kind, sizes) for kind in results.faults()]
    n_placed, n_right = (
        sum(getattr(cell, key) for cell in placed) for key in ("n_placed", "n_right")
    )
    right = f"{100 * n_right / n_placed:.1f} %" if n_placed >= FEW else "-"
    return [*caught, f"{100 * n_raised / n:.1f} % of {n:,}", right]


def replaced(readme: str, made: str) -> str:
    """The README with this table between its marks."""
    return put_between(readme, BEGIN, END, made)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of tools in README.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "power.json")
    parser.add_argument("--readme", type=Path, default=HERE.parent / "README.md")
    options = parser.parse_args()
    made = table(read_results(options.results))
    options.readme.write_text(replaced(options.readme.read_text(), made))


if __name__ == "__main__":
    main()
