"""Writes docs/story.md, what all tasks say together, from the results of `sqrl bench TASK`.

python benchmarks/render_story.py [--results DIR] [--docs DIR]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from measure import HERE, Json
from render_tasks import ADDED, ADDITIONS, read_results
from sqrl_paper.table import markdown_table
from story_tables import ROWS, Named, Row, row_of
from story_text import OPENING, tell_practitioner, tell_tasks

PAGE = "story.md"


def render(results: dict[str, Json]) -> str:
    """The page."""
    rows = {task: row_of(task, results[task]) for task in ROWS if task in results}
    parts = [
        OPENING,
        "## Table 1: rules, and how many of them models break",
        _counts(rows),
        "Differs from the paper: the models that are named second, since weights of the paper's "
        "cannot be had; our own splits, and samples of our own size where the [tasks](tasks.md) "
        "say so. What true labels break is not in the paper.",
        "## Table 2: adaptation",
        "The metric, and in brackets by how many percent fewer rules are broken. *The paper's "
        "loss* is that of its text, or of its authors' released code where that is said; fewer "
        "violations are no merit by themselves: see below each task's.",
        _adapted(rows),
        "Differs from the paper: models and data as in Table 1; tuned methods had as many tries "
        "each, on data that are no one's test ([exceptions](tasks.md)), for it does not say how "
        "its own were tuned; our loss and simple baselines are not in the paper.",
        tell_tasks(results),
        tell_practitioner(results),
        _sources(results),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _counts(rows: dict[str, Row]) -> str:
    header = ("task", "model", "rules", "selected", "broken a sample", "by true labels")
    lines = markdown_table(
        header,
        [
            (
                task,
                row.model[1] if row.model[0] == row.model[1] else " / ".join(row.model),
                *(" / ".join(pair) for pair in (row.rules, row.selected, row.broken)),
                row.truly_broken,
            )
            for task, row in rows.items()
        ],
        n_words=2,
    )
    return "\n".join(lines)


def _adapted(rows: dict[str, Row]) -> str:
    header = (
        "task, metric",
        "paper: source",
        "its method",
        "here: source",
        "the paper's loss",
        "our loss",
        "simple baselines",
    )
    lines = markdown_table(
        header,
        [
            (
                f"{task}, {row.metric}",
                row.source[0],
                _with_reduced(*row.paper_method),
                row.source[1],
                _named(row.paper_loss) or "not run",
                _named([row.library]),
                _named(row.simple),
            )
            for task, row in rows.items()
        ],
    )
    return "\n".join(lines)


def _named(found: Sequence[Named]) -> str:
    return "; ".join(f"{name}: {_with_reduced(*figures)}" for name, *figures in found)


def _with_reduced(figure: str, reduced: str) -> str:
    return f"{figure} ({reduced} %)"


def _sources(results: dict[str, Json]) -> str:
    files = ", ".join(
        file
        for name, result in results.items()
        for file in (
            f"`bench_{name}.json`",
            *(f"`{one}`" for one in ADDITIONS.get(name, ()) if ADDED in result),
        )
    )
    return (
        f"Written by `benchmarks/render_story.py` from {files} in `benchmarks/results`, each of "
        "which says machine, commit and seeds; [task by task](tasks.md)."
    )


def main() -> None:
    """Read the results and write the page."""
    parser = argparse.ArgumentParser(description=f"Writes docs/{PAGE}.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    (given.docs / PAGE).write_text(render(read_results(given.results)))


if __name__ == "__main__":
    main()
