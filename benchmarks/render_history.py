"""Writes docs/history-results.md from history.json and history_real.json, and nothing else.

python benchmarks/render_history.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json

OPENING = """\
# Alarms over time: how often for nothing, and how soon

Every figure here is written by `benchmarks/render_history.py` from `history.json` and
`history_real.json` in `benchmarks/results`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding the data:

```
python benchmarks/history.py && python benchmarks/history_real.py --data DIR
python benchmarks/render_history.py
```

Fifty rules are checked on 1,000 rows a day: 20 about rows, which 2 % break, 15 about a share of
10 %, 15 about means; rules in a block of ten are correlated at 0.6. Counts and means are drawn, not
rows. What held-out rows say is drawn anew for each year. The promise is `{false_alarms}` false
alarm, checked every {every}.

- **history**: the detector of `sqrl history` and `sqrl.Monitor`
  ([why it holds](decisions/0025-evidence-over-time.md)).
- **daily tests, Bonferroni**: every rule tested every day against the held-out rows, as in
  `sqrl check`, at the level that makes one false alarm a year.
- **CUSUM**: sums of each rule's daily value in standard errors from that of held-out rows, less
  half a one. Its limit was set by simulation of other years so that there is one false alarm a
  year; who has only data cannot do that. A second one is even told the true values, in the place
  of held-out ones."""


def render(result: Json, real: Json) -> str:
    """The page."""
    promise = result["promise"]
    opening = OPENING.format(false_alarms=promise["false_alarms"], every=promise["every"])
    parts = [opening, _clean(result), _found(result), _lasting(result), _real(real)]
    sources = [_source("history.json", result), _source("history_real.json", real)]
    return "\n\n".join([*parts, "\n".join(sources)]) + "\n"


def _clean(result: Json) -> str:
    references = list(result["clean"])
    head = " | ".join(f"{int(rows):,} held-out rows" for rows in references)
    lines = [
        f"## False alarms a year, in {result['n_years']:,} years without a change",
        "",
        f"| | {head} |",
        "|---|" + "--:|" * len(references),
    ]
    for name in result["clean"][references[0]]:
        cells = [_alarms(result["clean"][rows][name]) for rows in references]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    own = result["by_detector"]
    lines += [
        "",
        "In brackets: years with any. The detector itself, with all it does about alarms that are "
        f"open, raised {own['a_year']:.2f} a year in {own['n_years']} years; up to the first alarm "
        "of a year it differs from the computation of many years at once by "
        f"{result['difference']:.0e} at most, in logs.",
    ]
    return "\n".join(lines)


def _alarms(one: Json) -> str:
    return f"{one['a_year']:.2f} ± {one['error']:.2f} ({one['years_with_any']:.0%})"


def _found(result: Json) -> str:
    changes = result["changes"]
    lines = [
        "## Days to find a change",
        "",
        "After 100 good days, with 20,000 held-out rows; 1 is the first day of the change. The "
        "median, and in brackets the day by which nine of ten are found; years with a false alarm "
        "in the good days are left out.",
        "",
        f"| | {' | '.join(changes)} |",
        "|---|" + "--:|" * len(changes),
    ]
    for name in next(iter(changes.values())):
        cells = [
            f"{_days(one[name]['median'])} ({_days(one[name]['nine_in_ten'])})"
            for one in changes.values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _days(days: float | None) -> str:
    return "over 100" if days is None else f"{days:g}"


def _lasting(result: Json) -> str:
    lines = [
        "## One alarm for one lasting change",
        "",
        "The same changes by the detector itself, for 100 days that nobody looks.",
        "",
        "| | years | alarmed twice | interval of the start holds the true one | days off, median |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {one['years']} | {one['alarmed_twice']:.0%} | {one['start_held']:.0%} "
        f"| {one['days_off']:g} |"
        for name, one in result["lasting"].items()
    ]
    return "\n".join(lines)


def _real(real: Json) -> str:
    tables = {name: one for name, one in real.items() if name.startswith("cardio")}
    promises = list(next(iter(tables.values()))["promises"])
    lines = [
        "## Real rows",
        "",
        f"Default rules of 10,000 rows, then windows of {real['a_window']} rows, one a day. Where "
        "rows are shuffled, every alarm is a false one. Alarms, and in brackets how many false "
        "ones the promise allows:",
        "",
        f"| | windows | {' | '.join(promises)} |",
        "|---|--:|" + "--:|" * len(promises),
    ]
    for name, one in tables.items():
        cells = [f"{own['alarms']} ({own['allowed']:.1f})" for own in one["promises"].values()]
        lines.append(f"| {name} | {one['windows']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _source(name: str, result: Json) -> str:
    machine, commit = result["machine"], result["commit"]
    changed = " with changes" if commit["dirty"] else ""
    return (
        f"- `{name}`: {result['date'][:10]}, commit {str(commit['id'])[:12]}{changed}, "
        f"{machine['processor']}, {machine['cores']} cores"
    )


def main() -> None:
    """Read the results and write the page."""
    parser = argparse.ArgumentParser(description="Writes docs/history-results.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    names = ("history.json", "history_real.json")
    page = render(*(json.loads((given.results / name).read_text()) for name in names))
    (given.docs / "history-results.md").write_text(page)


if __name__ == "__main__":
    main()
