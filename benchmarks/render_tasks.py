"""Writes docs/tasks.md and its figures from the results of `sqrl bench TASK -o FILE`.

python benchmarks/render_tasks.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json
from sqrl_paper.bench import TASKS, load_task
from sqrl_paper.terminal import tell_aim

PAGE = "tasks.md"
OPENING = """\
# The paper's tasks on real data

What `sqrl bench TASK` prints, beside what the paper reports. Written by
`benchmarks/render_tasks.py` from `bench_*.json` in `benchmarks/results`, never by hand. To measure
anew, with `DIR` holding the data as its publishers pack it:

```
sqrl bench cardio --data DIR -o benchmarks/results/bench_cardio.json
python benchmarks/render_tasks.py
```

Nothing that is learned, tuned, stopped or selected sees a test label. `--quick` shows in a minute
what is run, on made-up data where there is none."""


def render(results: dict[str, Json]) -> str:
    """The page."""
    parts = [OPENING, *(_task(name, result) for name, result in results.items())]
    return "\n\n".join(parts) + "\n"


def _task(name: str, result: Json) -> str:
    task = load_task(name)
    quick = ["**A quick run: its figures say nothing.**"] if result["quick"] else []
    sheets = ["\n".join(sheet.markdown()) for sheet in task.sheets(result)]
    aims = "\n".join(f"- {tell_aim(one)}" for one in result.get("aims", []))
    parts = [
        f"## {name}",
        *quick,
        task.ABOUT,
        task.protocol(result),
        *sheets,
        f"![A rule before and after adaptation](images/{figure_name(name)})",
        *([f"**Aims**\n\n{aims}"] if aims else []),
        _source(name, result),
    ]
    return "\n\n".join(parts)


def figure_name(task: str) -> str:
    """The file of a task's figure."""
    return f"bench-{task}.png"


def _source(name: str, result: Json) -> str:
    machine, commit, versions = result["machine"], result["commit"], result["versions"]
    changed = " with changes" if commit["dirty"] else ""
    seconds = result["seconds"]
    libraries = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"`bench_{name}.json`: {result['date'][:10]}, commit {str(commit['id'])[:12]}{changed}, "
        f"seeds {result['seeds']}, {machine['processor']}, {machine['cores']} cores; "
        f"{seconds['this_time'] / 60:.0f} minutes in {machine['processes']} processes "
        f"({result['runs']['remembered']} of "
        f"{result['runs']['remembered'] + result['runs']['done']} runs remembered), "
        f"{seconds['of_all_runs'] / 60:.0f} minutes of one core for all runs; "
        f"{result['data']} data; {libraries}."
    )


def read_results(folder: Path) -> dict[str, Json]:
    """The results that are there, by task."""
    found = {name: folder / f"bench_{name}.json" for name in TASKS}
    return {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}


def main() -> None:
    """Read the results, write the page and draw the figures."""
    parser = argparse.ArgumentParser(description=f"Writes docs/{PAGE}.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    results = read_results(given.results)
    (given.docs / PAGE).write_text(render(results))
    (given.docs / "images").mkdir(exist_ok=True)
    for name, result in results.items():
        load_task(name).draw(result, given.docs / "images" / figure_name(name))


if __name__ == "__main__":
    main()
