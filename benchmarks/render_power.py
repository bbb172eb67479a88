"""Writes docs/power.md and its plot from power.json and what was measured beside it.

python benchmarks/render_power.py [--results FILE] [--rows FILE] [--others DIR] [--docs DIR]
"""

import argparse
import json
import textwrap
from collections.abc import Iterable, Sequence
from math import isnan
from pathlib import Path

from measure import HERE, Json, bar
from plots import Point, draw_power
from power_batches import CLEAN, HALVINGS
from power_results import Cell, Results, kind_of, read_results
from render_defaults import sections
from sqrl_paper.table import markdown_table

PAGE, PLOT = "power.md", "power.svg"
OF_ROWS = ("all kinds", "relations")
ENOUGH = 0.6  # of the batches with a fault: a tool catches it
NAMES_NO_COLUMN = ("two-sample classifier",)
OF_TWO_COLUMNS = ("numbers swapped", "dependency broken")
ABOUT = {
    "sqrl": "`sqrl learn` and `sqrl check` without any option: an alarm is a finding",
    "sqrl --label": "the same, learned with `--label`; the prediction where there is one",
    "KS / chi-square + BH": "a test of distribution and one of missing values for each column, "
    "Benjamini-Hochberg at 5 %",
    "two-sample classifier": "boosted trees that tell batch from reference: held-out AUC above a "
    "half at 5 %",
    "pandera": "`infer_schema`: types, ranges and missing values as in the reference",
    "Evidently": "`DataDriftPreset`: half of the columns drifted, as it decides by default",
    "Evidently, any column": "the same, an alarm where any column drifted",
    "alibi-detect": "`TabularDrift`: KS or chi-square for each column, Bonferroni at 5 %",
    "TFDV": "`infer_schema` and `validate_statistics`",
}


def render(results: Results, rows: Json, others: Sequence[str] = ()) -> str:
    """The page; `others` are sections about what was measured apart."""
    parts = [_opening(results), _totals(results), _bars(results)]
    parts += [_kinds(results, size) for size in results.sizes()]
    parts += [_clean(results), _rows(rows), *others, _batches(results)]
    return "\n\n".join(parts) + "\n"


def _rows(rows: Json) -> str:
    """Which rows are faulty: average precision beside detectors of outliers."""
    summary = rows["summary"]
    tools = list(summary["all kinds"])
    lines = [(f"**{name}**", *_precisions(summary[name], tools)) for name in OF_ROWS]
    lines += [(kind, *_precisions(line, tools)) for kind, line in summary["by_kind"].items()]
    about = f"""A fault is planted in {100 * rows["share"]:g} % of {rows["n_rows"]:,} clean rows and
        every row gets a score: `found.row_scores()`, or that of a detector of pyod
        {rows["versions"]["pyod"]} with its defaults, which sees numbers as they are and categories
        one by one. Average precision is 1 where all faulty rows come first, and about the share of
        faulty rows for scores that say nothing. Relations are faults that no column shows by
        itself. Measured by `benchmarks/power_rows.py`, {_code(rows)}, seed {rows["seed"]}."""
    return f"""## Rows

{_paragraph(about)}

{_table(("kind", *tools), lines)}"""


def _precisions(line: Json, tools: list[str]) -> list[str]:
    values = [line.get(tool) for tool in tools]
    return ["" if value is None or isnan(value) else f"{value:.2f}" for value in values]


def _tools(results: Results) -> list[str]:
    """The tools that were measured, ours first."""
    return [tool for tool in ABOUT if tool in results.tools]


def _opening(results: Results) -> str:
    about = f"""A table is halved at random. A tool learns from one half; batches of clean rows are
        drawn from the other, a fault is planted in them, and the tool is asked whether anything is
        wrong. Every tool decides as it does by default and sees the same batches. One that refuses
        a batch with an error has caught the fault. A repetition takes the next of {HALVINGS}
        halvings. Rows of the tables are exchangeable, so a clean batch that raises an alarm is a
        false alarm."""
    listed = "\n".join(f"- {tool}: {ABOUT[tool]}." for tool in _tools(results))
    missing = "".join(
        f"\n- {tool}: not measured; {reason}." for tool, reason in results.not_measured.items()
    )
    return f"""# Which faults are caught, and how often clean rows raise an alarm

Every figure here is written by `benchmarks/render_power.py` from `power.json`, `power_rows.json`,
`findings.json`, `prediction_checks.json`, `default_costs.json` and `first_use.json` in
`benchmarks/results`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding the real tables and `ENVS` a folder for other tools:

```
python benchmarks/power.py --make-envs ENVS
python benchmarks/power.py --envs ENVS --tools evidently alibi-detect tfdv --data DIR
python benchmarks/power.py --anew --data DIR
python benchmarks/power_rows.py --data DIR
python benchmarks/findings.py -o benchmarks/results/findings.json
python benchmarks/prediction_checks.py --data DIR
python benchmarks/default_costs.py
python benchmarks/first_use.py --data DIR
python benchmarks/render_power.py
```

{_paragraph(about)}

{listed}{missing}

{_conditions(results)}"""


def _conditions(results: Results) -> str:
    measured = {tool: results.tools[tool].conditions for tool in _tools(results)}
    machines = {
        f"{one['processor']}, {one['cores']} cores, {one['memory_gib']} GiB, {one['system']}"
        for one in (conditions["machine"] for conditions in measured.values())
    }
    loads = [conditions["load"] for conditions in measured.values()]
    versions: dict[str, str] = {}
    for conditions in measured.values():
        versions |= conditions.get("version", {})
    code = sorted({_code(measured[tool]) for tool in measured if tool.startswith("sqrl")})
    dates = sorted({conditions["date"][:10] for conditions in measured.values()})
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"""- Machine: {"; ".join(sorted(machines))}; load {min(loads)} to {max(loads)}.
- Versions: {libraries}.
- Code: {" and ".join(code) or "none of ours"}; {" and ".join(dates)}; seed {results.seed}."""


def _code(conditions: Json) -> str:
    commit = conditions["commit"]
    code = f"commit {commit['id'][:12]}" if commit["id"] else "no commit"
    return code + (" with changes" if commit["dirty"] else "")


def _totals(results: Results) -> str:
    sizes = results.sizes()
    header = (
        "tool",
        *(f"faults caught, {size:,} rows" for size in sizes),
        *(f"alarms on clean batches, {size:,} rows" for size in sizes),
        "named first",
        "findings",
        "a batch",
    )
    rows = [
        (
            tool,
            *(_percent(results.mean_power(tool, size)) for size in sizes),
            *(_interval(results.clean(tool, size)) for size in sizes),
            *_named_first(tool, _named(results, tool)),
            _seconds(results, tool),
        )
        for tool in _tools(results)
    ]
    about = """Faults caught: the share of batches with an alarm, as a mean over kinds of faults,
        whatever their number of batches. Brackets hold 95 % intervals (Clopper-Pearson) and the
        number of clean batches. Named first: of the alarms about a fault of one column, how many
        name that column first (or in a pair that comes first); tools that do not rank what they
        find are taken by the first of their list. Findings: the median of such an alarm, columns
        where a tool has no findings. Seconds are of a machine with other work."""
    return f"""## In short

{_table(header, rows)}

{_paragraph(about)}

![Faults caught against alarms on clean batches](images/{PLOT})"""


def _named(results: Results, tool: str) -> Cell:
    pooled = Cell()
    for kind in results.faults():
        if kind not in OF_TWO_COLUMNS:
            pooled.add(results.tools[tool].pooled(kind, results.sizes()))
    return pooled


def _named_first(tool: str, cell: Cell) -> tuple[str, str]:
    """How many alarms name the planted column first, and how many findings they have."""
    if tool in NAMES_NO_COLUMN or not cell.n_placed:
        return "-", "-"
    return f"{100 * cell.n_right / cell.n_placed:.0f} %", str(cell.median_findings())


def _seconds(results: Results, tool: str) -> str:
    places = results.tools[tool].places.values()
    n, seconds = sum(one.n_timed for one in places), sum(one.seconds for one in places)
    return f"{seconds / n:.2g} s" if n else ""


def _bars(results: Results) -> str:
    rows = []
    for tool in [tool for tool in _tools(results) if tool.startswith("sqrl")]:
        for one in _bars_of(results, tool):
            wanted = (
                f"at least {one['at_least']:g}"
                if one["at_most"] is None
                else f"at most {one['at_most']:g}"
            )
            met = "met" if one["met"] else "**not met**"
            unit = f" {one['unit']}" if one["unit"] else ""
            shown = f"{one['measured']:.3g}{unit}"
            rows.append((tool, one["what"], wanted + unit, shown, met))
    if not rows:
        return "## The bars\n\nNone of ours was measured."
    header = ("tool", "what", "bar", "measured", "")
    return f"## The bars\n\n{_table(header, rows, n_words=len(header))}{_missed(results)}"


def _bars_of(results: Results, tool: str) -> list[Json]:
    listed = []
    for size, least in ((500, 90.0), (2000, 95.0)):
        if size in results.sizes():
            power, clean = results.mean_power(tool, size), results.clean(tool, size)
            listed.append(bar(f"faults caught, {size:,} rows", 100 * power, "%", at_least=least))
            alarms = 100 * clean.n_raised / max(clean.n, 1)
            listed.append(bar(f"alarms on clean batches, {size:,} rows", alarms, "%", at_most=2.0))
    named = _named(results, tool)
    right = 100 * named.n_right / max(named.n_placed, 1)
    findings = float(named.median_findings() or 0)
    n_missed = float(len(_missed_kinds(results, tool)))
    return [
        *listed,
        bar("planted column named first", right, "%", at_least=95.0),
        bar("findings of a fault, median", findings, "", at_most=1.0),
        bar("kinds missed that another tool catches", n_missed, "", at_most=0.0),
    ]


def _missed_kinds(results: Results, tool: str) -> list[str]:
    """Kinds that a tool catches in under 60 % of batches of a size, and another in 60 and more."""
    missed = []
    for kind in results.faults():
        for size in results.sizes():
            cells = {name: results.tools[name].pooled(kind, (size,)) for name in _tools(results)}
            shares = {name: cell.n_raised / cell.n for name, cell in cells.items() if cell.n}
            best = max((share for name, share in shares.items() if name != tool), default=0.0)
            if tool in shares and shares[tool] < ENOUGH <= best:
                missed.append(f"{kind} ({size:,} rows)")
    return missed


def _missed(results: Results) -> str:
    told = ""
    for tool in _tools(results):
        kinds = _missed_kinds(results, tool) if tool.startswith("sqrl") else []
        if kinds:
            text = f"""`{tool}` catches fewer than 60 % where another tool catches more:
                {", ".join(kinds)}."""
            told += f"\n\n{_paragraph(text)}"
    return told


def _kinds(results: Results, size: int) -> str:
    tools = _tools(results)
    strengths = _strengths(results)
    rows = [
        (
            kind,
            ", ".join(strengths[kind]),
            *(_rate(_pooled(results, tool, kind, size)) for tool in tools),
        )
        for kind in results.faults()
        if kind in strengths
    ]
    mean = (
        "**mean over kinds**",
        "",
        *(_percent(results.mean_power(tool, size)) for tool in tools),
    )
    about = """The share of batches with an alarm, over all tables that have a place for the fault
        and all strengths; (e): most of them by an error. A strength is the share of rows that is
        touched, in label shift the share of the second class that goes."""
    header = ("kind", "strengths", *tools)
    return f"""## Batches of {size:,} rows, by kind

{_paragraph(about)}

{_table(header, [*rows, mean], n_words=2)}"""


def _pooled(results: Results, tool: str, kind: str, size: int) -> Cell:
    return results.tools[tool].pooled(kind, (size,))


def _strengths(results: Results) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for measured in results.tools.values():
        for place in measured.places.values():
            for cell in place.cells:
                found.setdefault(kind_of(cell), set()).add(cell.rsplit(" ", 1)[1])
    return {kind: sorted(values, key=float) for kind, values in found.items()}


def _clean(results: Results) -> str:
    tools = _tools(results)
    tables = [name for name in results.tables if any(_has(results, name, t) for t in tools)]

    rows = []
    for table in tables:
        for size in results.sizes():
            if f"{table}/{size}" in results.digests:
                cells = [results.tools[t].pooled(CLEAN, (size,), tables=table) for t in tools]
                rows.append((f"clean, {table}, {size:,} rows", *map(_counted, cells)))
    for kind in [kind for kind, must in results.kinds.items() if not must and kind != CLEAN]:
        cells = [results.tools[tool].pooled(kind, results.sizes()) for tool in tools]
        rows.append((kind, *map(_counted, cells)))
    return f"""## What must not raise an alarm

Clean batches of each table, and changes that are no faults, all tables and sizes together.

{_table(("", *tools), rows)}"""


def _counted(cell: Cell) -> str:
    return f"{cell.n_raised} of {cell.n}" if cell.n else ""


def _has(results: Results, table: str, tool: str) -> bool:
    return any(place.split("/")[0] == table for place in results.tools[tool].places)


def _batches(results: Results) -> str:
    rows = [
        (
            name,
            "real" if one["is_real"] else "made up",
            f"{one['rows']:,}",
            str(one["columns"]),
            one["label"] or "",
        )
        for name, one in results.tables.items()
    ]
    counts = [
        (
            tool,
            *(
                f"{sum(_n(results, tool, kind, size) for kind in results.faults()):,}"
                for size in sizes
            ),
            *(f"{results.clean(tool, size).n:,}" for size in sizes),
        )
        for sizes in [results.sizes()]
        for tool in _tools(results)
    ]
    header = (
        "tool",
        *(f"with a fault, {size:,} rows" for size in results.sizes()),
        *(f"clean, {size:,} rows" for size in results.sizes()),
    )
    about = """Real tables: cardio and PhysioNet 2012 patients, boxes of KITTI's labels,
        scikit-learn's digits. Made-up ones have what tables have: ids, dates with a season, columns
        that depend on each other, missing values, free text, a country that says the currency. In a
        table called predicted, the label is a model's prediction, boosted trees that learned from
        other rows; a worse model has seen 60. Faults that nobody could see are not planted: missing
        values where many are missing, zeros where zeros are common, values swapped that are equally
        frequent."""
    return f"""## Tables and batches

{_paragraph(about)}

{_table(("table", "", "rows", "columns", "label"), rows, n_words=2)}

How many batches each tool was asked about; slow ones about fewer.

{_table(header, counts)}{_not_asked(results)}"""


def _not_asked(results: Results) -> str:
    """Which tools were not asked about all tables: their means are over fewer."""
    told = []
    for tool in _tools(results):
        lacking = [place for place in results.digests if place not in results.tools[tool].places]
        if tool == "sqrl --label":
            lacking = [one for one in lacking if results.tables[one.split("/")[0]]["label"]]
        if lacking:
            told.append(f"{tool} was not asked about {', '.join(lacking)}.")
    return f"\n\n{_paragraph(' '.join(told))}" if told else ""


def _n(results: Results, tool: str, kind: str, size: int) -> int:
    return results.tools[tool].pooled(kind, (size,)).n


def _rate(cell: Cell) -> str:
    if not cell.n:
        return ""
    by_error = " (e)" if 2 * cell.n_errors > cell.n_raised > 0 else ""
    return f"{100 * cell.n_raised / cell.n:.0f}{by_error}"


def _percent(share: float) -> str:
    return "" if isnan(share) else f"{100 * share:.1f} %"


def _interval(cell: Cell) -> str:
    from scipy.stats import binomtest

    if not cell.n:
        return ""
    low, high = binomtest(cell.n_raised, cell.n).proportion_ci(0.95, method="exact")
    share = 100 * cell.n_raised / cell.n
    return f"{share:.1f} % [{100 * low:.1f}, {100 * high:.1f}] ({cell.n:,})"


def points(results: Results) -> list[Point]:
    """What the plot shows: a point for each tool and size."""
    found = []
    for tool in _tools(results):
        for size in results.sizes():
            clean, power = results.clean(tool, size), results.mean_power(tool, size)
            if clean.n and not isnan(power):
                found.append(Point(tool, size, 100 * clean.n_raised / clean.n, 100 * power))
    return found


def _paragraph(text: str) -> str:
    """The text on lines of at most 100 characters."""
    words = " ".join(text.split())
    return textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int = 1) -> str:
    return "\n".join(markdown_table(header, rows, n_words=n_words))


def main() -> None:
    """Parse the command line, write the page and the plot."""
    parser = argparse.ArgumentParser(description="Write the page and plot from the results.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "power.json")
    parser.add_argument("--rows", type=Path, default=HERE / "results" / "power_rows.json")
    parser.add_argument("--others", type=Path, default=HERE / "results", metavar="DIR")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = parser.parse_args()
    results = read_results(arguments.results)
    images = arguments.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    rows = json.loads(arguments.rows.read_text())
    (arguments.docs / PAGE).write_text(render(results, rows, sections(arguments.others)))
    draw_power(points(results), images / PLOT)


if __name__ == "__main__":
    main()
