"""Writes the table of methods compared in docs/methods.md from methods.json, and nothing else.

python benchmarks/render_methods.py [--results FILE] [--page FILE]
"""

import argparse
import json
import re
import textwrap
from pathlib import Path
from statistics import fmean

from measure import HERE, Json
from sqrl_paper.table import markdown_table

BEGIN, END = "<!-- begin: benchmarks/render_methods.py -->", "<!-- end -->"
SOURCE, NONE = "Unadapted", "none"
HARM = 0.5  # points of accuracy below the source
SHOWN = {
    "EATA": "`EATA(training)`",
    "MEMO": "`MEMO(TableNoise())`",
    "CoTTA": "`CoTTA(TableNoise())`",
    "Distil": "`Distil(classifier, training)`",
    "Distil without training data": "`Distil(classifier, None)`",
}


def gains(runs: list[Json], method: str, *, drifted: bool) -> list[float]:
    """The points of accuracy that a method gains over the source, run by run."""
    source = {_key(run): run["accuracy"] for run in runs if run["method"] == SOURCE}
    return [
        run["accuracy"] - source[_key(run)]
        for run in runs
        if run["method"] == method and (run["drift"] != NONE) == drifted
    ]


def _key(run: Json) -> tuple[str, int, str]:
    return run["table"], run["seed"], run["drift"]


def table(result: Json) -> str:
    """What each method gains and loses, without drift and with it."""
    runs: list[Json] = result["runs"]
    tables, drifts = (sorted({run[key] for run in runs}) for key in ("table", "drift"))
    drifts.remove(NONE)
    quick = ["**A quick run on few rows: its figures say nothing.**", ""] if result["quick"] else []
    about = f"""Points of accuracy over the source model, each method with its own defaults and
        without a guard, on {", ".join(tables[:-1])} and {tables[-1]} ({len(result["seeds"])} seeds;
        a network with two BatchNorm layers). Under drift a quarter of the columns that the model is
        fed, those that tell most, are {_listed(drifts)}; the table stays right. *Harm* counts
        the runs that end more than {HARM:g} points below the source."""
    rows = [
        _row(runs, method)
        for method in dict.fromkeys(run["method"] for run in runs)
        if method != SOURCE
    ]
    header = ["", "no drift, mean", "worst", "harm", "drift, mean", "worst", "harm"]
    return "\n".join(
        [
            *quick,
            *textwrap.wrap(" ".join(about.split()), 120),
            "",
            *markdown_table(header, rows),
            "",
            *textwrap.wrap(_source(result), 120),
        ]
    )


def _listed(drifts: list[str]) -> str:
    words = {
        "scale": "doubled about their mean",
        "shift": "shifted by a standard deviation",
        "stuck": "stuck at their mean",
    }
    return " or ".join(words[drift] for drift in drifts)


def _row(runs: list[Json], method: str) -> list[str]:
    cells = [SHOWN.get(method, f"`{method}()`")]
    for drifted in (False, True):
        found = gains(runs, method, drifted=drifted)
        harmed = sum(gain < -HARM for gain in found)
        cells += [f"{fmean(found):+.1f}", f"{min(found):+.1f}", f"{harmed} of {len(found)}"]
    return cells


def _source(result: Json) -> str:
    machine, commit, versions = result["machine"], result["commit"], result["versions"]
    seconds = sum(run["cpu_seconds"] for run in result["runs"])
    return (
        f"Measured by `benchmarks/methods.py`: {result['date'][:10]}, commit "
        f"{str(commit['id'])[:12]}{' with changes' if commit['dirty'] else ''}, "
        f"{machine['processor']}, {machine['torch_threads']} thread, torch {versions['torch']}, "
        f"cardio {result['data']['cardio']}, {seconds:,.0f} s of CPU time."
    )


def replaced(text: str, made: str) -> str:
    """The page with another table between the two marks."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    assert len(pattern.findall(text)) == 1, f"the page has no single {BEGIN}"
    return pattern.sub(lambda _: f"{BEGIN}\n{made}\n{END}", text)


def main() -> None:
    """Read the results and write the table."""
    parser = argparse.ArgumentParser(description="Write the table in docs/methods.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "methods.json")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "methods.md")
    given = parser.parse_args()
    made = table(json.loads(given.results.read_text()))
    given.page.write_text(replaced(given.page.read_text(), made))


if __name__ == "__main__":
    main()
