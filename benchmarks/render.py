"""Writes docs/benchmarks.md and its plots from benchmarks/results/learn.json, and nothing else.

python benchmarks/render.py [--results FILE] [--docs DIR]
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from measure import HERE, Json
from plots import draw_counts, draw_growth, draw_memory

CURVES = {
    "features": "features",
    "literals": "literals in a body, at most",
    "over": "rows of a mini-batch",
    "train": "mini-batches",
}


def render(result: Json) -> str:
    """The page."""
    sections = result["sections"]
    parts = [
        _opening(result),
        _bars(sections),
        _search(sections["search"]),
        _counts(sections["counts"]),
        _bounds(sections["bounds"], sections["per_rule"]),
        _growth(sections["growth"]),
        _startup(sections["startup"]),
        _rule_counts(sections["rule_counts"]),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(result: Json) -> str:
    machine, versions, data = result["machine"], result["versions"], result["data"]
    commit = result["commit"]["id"]
    code = f"commit {commit[:12]}" if commit else "no commit"
    code += " with changes" if result["commit"]["dirty"] else ""
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    table = f"{data['cardio_rows']:,} rows"
    table += "" if data["cardio"] == "real" else ", made up in the shape of the real data"
    return f"""# How fast learning is

Every figure here is written by `benchmarks/render.py` from `benchmarks/results/learn.json`.
To measure anew:

```
python benchmarks/learn.py --data DIR && python benchmarks/render.py
```

`DIR` holds `cardio/cardio_train.csv`; without it, data of the same shape is made up. Things that
are compared take turns within one run, and times are the least of several repetitions: the machine
is shared, so ratios say more than seconds.

- Machine: {machine["processor"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB, \
{machine["system"]}; load {machine["load_before"]} before.
- Versions: {libraries}.
- Code: {code}; {result["date"][:10]}; seed {result["seed"]}. Cardio table: {table}."""


def _bars(sections: Json) -> str:
    rows = []
    for name, section in sections.items():
        for bar in section.get("bars", []):
            unit = bar["unit"]
            wanted = (
                f"at most {_figure(bar['at_most'], unit)}"
                if bar["at_least"] is None
                else f"at least {_figure(bar['at_least'], unit)}"
            )
            met = "met" if bar["met"] else "**not met**"
            rows.append((name, bar["what"], wanted, _figure(bar["measured"], unit), met))
    header = ("section", "what", "bar", "measured", "")
    return "## The bars\n\n" + _table(header, rows)


def _search(section: Json) -> str:
    rows = []
    for name, label in (("cardio", "cardio schema"), ("free", "52 free booleans")):
        one = section[name]
        rows.append(
            (
                label,
                f"{one['candidates']:,}",
                f"{one['selected']:,}",
                _seconds(one["min"]),
                _seconds(one["median"]),
                _mib(one["memory_before"]),
                _mib(one["memory_peak"]),
            )
        )
    header = ("search", "candidates", "selected", "least", "median", "memory before", "peak")
    return f"""## The paper's tabular search

From a loaded table to the best rules of each class: bounds over 67 mini-batches of 4,096 rows,
again over 22 held-out ones, validation, redundancy, selection. Compiled loops are loaded before.
Memory is that of the whole process.

{_table(header, rows)}

`sqrl learn cardio_train.csv --schema cardio -o rules.json`, the whole command:
{_seconds(section["command"]["min"])} ({_seconds(section["command"]["median"])} median). The first
call of `learn` ever compiles the loops and takes {_seconds(section["first_run"]["min"])}; they are
kept on disk."""


def _counts(section: Json) -> str:
    ours = section["timed"]["sqrl, packing and counting"]["min"]
    rows = []
    for name, one in sorted(section["timed"].items(), key=lambda item: _whole(item[1])):
        whole = _whole(one)
        measured_on = one.get("features", section["features"])
        scaled = "" if measured_on == section["features"] else " (scaled)"
        rows.append(
            (
                name,
                str(measured_on),
                _seconds(one["min"]),
                _seconds(whole) + scaled,
                _times(whole, ours),
            )
        )
    header = ("way of counting", "features", "least", "for all bodies", "of sqrl's time")
    checks = [
        (
            name,
            f"{check['ours']:,}",
            f"{check['theirs']:,}",
            f"{check['shared']:,}",
            f"{check['equal']:,}",
            f"{check['not_shared_not_empty']:,}",
        )
        for name, check in section["checks"].items()
    ]
    check_header = ("beside", "our bodies", "theirs", "shared", "equal", "with rows, not shared")
    return f"""## Counting

Every conjunction of at most 3 of {section["features"]} booleans, each plain or negated, over
{section["rows"]:,} rows: {section["bodies"]:,} bodies, for each the rows in it and those of them
that are ill. PyFIM and mlxtend know no head; they count the ill and the others one after the other.
Their input (lists of items, data frames) is made before the clock starts, ours (bits) after it.
Where a library would take over a minute, it gets fewer features, and its time is scaled by the
number of bodies. The quickest of PyFIM's algorithms is "{section["quickest_eclat"]}".

![Time to count all bodies](images/learn_counts.svg)

{_table(header, rows)}

Are the counts equal? PyFIM leaves out item sets that hold on all rows, and nobody but us and numpy
lists bodies without rows, so only the bodies that both have can be compared; PyFIM's are those that
it names among the ill and among the others.

{_table(check_header, checks)}"""


def _bounds(section: Json, per_rule: Json) -> str:
    timed = section["timed"]
    rows = []
    for heads in ("one head", "both heads"):
        ours, theirs = timed[f"sqrl, {heads}"]["min"], timed[f"numpy, {heads}"]["min"]
        rows.append((heads, _seconds(ours), _seconds(theirs), _times(theirs, ours)))
    each, their_each = per_rule["nanoseconds_each"], per_rule["their_nanoseconds_each"]
    agree = "equal to within 1e-12" if per_rule["equal"] else "**not equal**"
    return f"""## Bounds

The 1st and 99th percentile of F1 over {section["batches"]:,} mini-batches of
{section["batch_rows"]} rows, for each of the {section["bodies"]:,} bodies; packing included.
numpy: popcount, then `np.percentile` for some thousand bodies at a time. The largest difference
between the two is {section["largest_difference"]:.1g}.

{_table(("", "sqrl", "numpy", "of sqrl's time"), rows)}

Beside a loop as in the paper's code, a pandas mask and scikit-learn's `f1_score` for each rule and
mini-batch ({per_rule["batches"]} of {per_rule["batch_rows"]:,} rows): {_nanoseconds(their_each)} in
the loop, {_nanoseconds(each)} here, {_times(their_each, each)}. The loop ran on
{per_rule["sampled_rules"]} of {per_rule["rules"]:,} rules drawn at random,
{per_rule["sampled_pairs"]:,} pairs; the bounds are {agree}."""


def _growth(section: Json) -> str:
    start, longest = section["start"], section["longest"]
    tables = []
    for name, label in CURVES.items():
        rows = [
            (
                f"{point['value']:,}",
                f"{point['candidates']:,}",
                _seconds(point["min"]),
                _mib(point["memory_above"]),
                _mib(point["memory_stated"]),
            )
            for point in section["curves"][name]
        ]
        tables.append(_table((label, "candidates", "time", "peak", "stated"), rows))
    joined = "\n\n".join(tables)
    return f"""## Growth

One thing at a time changes from {start["features"]} free booleans, {start["literals"]} literals and
{start["train"]} mini-batches of {start["over"]:,} rows (a third as many held out), on
{section["rows"]:,} made-up rows. Peak memory is what `learn` takes above what the process held
before; stated is `sqrl.plan(...).nbytes`, known before anything is enumerated.

![Time by features, literals, rows and mini-batches](images/learn_growth.svg)

![Peak memory beside the memory stated](images/learn_memory.svg)

{joined}

The cardio table with up to {longest["literals"]} literals: {longest["candidates"]:,} candidates in
{_seconds(longest["min"])}, {_mib(longest["memory_above"])} at the peak, stated
{_mib(longest["memory_stated"])}."""


def _startup(section: Json) -> str:
    rows = [
        (f"`{name}`", _seconds(one["min"]), _seconds(one["median"]))
        for name, one in section["timed"].items()
    ]
    loaded = ", ".join(section["loaded"]) or "none"
    return f"""## Start

{_table(("process", "least", "median"), rows)}

Of {", ".join(section["looked_for"])}, `import sqrl` loads: {loaded}."""


def _rule_counts(section: Json) -> str:
    rows = [
        (f"`{name}`", one["data"], f"{one['candidates']:,}", f"{one['paper']:,}")
        for name, one in section["schemas"].items()
    ]
    cardio, images = section["cardio"], section["imagenet_x"]
    drawn, drawn_images = cardio["rules_not_empty"], images["times_classes"]
    schemas = section["schemas"]
    return f"""## How many rules

{_table(("schema", "data", "candidates", "the paper's number"), rows)}

Three of the numbers are the paper's. The other two differ because the paper counts the rules that
hold on some row, which depends on the rows that it drew, and we count what is consistent, before
looking at any row. For cardio the paper has {cardio["features"]} features, of which
{cardio["features_never_true"]} are never true because percentiles coincide (a third of all people
have the same blood pressure); we do not make those, nor bodies that contradict themselves, and
have {cardio["candidates"]:,} candidates, {cardio["candidates_not_empty"]:,} of them with a row.
Counted the paper's way, {cardio["all_rows"]["rules_not_empty"]:,} pairs of a body and a class have
a row among all rows, and {_range(drawn)} among {cardio["draws"]} random draws of the
{_percent(cardio["train_share"])} that the paper learns from (paper:
{schemas["cardio"]["paper"]:,}). For ImageNet-X, {images["all_rows"]["bodies_not_empty"]:,} of
{images["bodies"]:,} bodies have a row in the train annotations, times {images["classes"]} classes
{images["all_rows"]["times_classes"]:,}, and {_range(drawn_images)} among {images["draws"]} draws
of {_percent(images["train_share"])} (paper: {schemas["imagenet_x"]["paper"]:,}); we list all
{schemas["imagenet_x"]["candidates"]:,}, and a body without rows is reported as empty."""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _whole(one: Json) -> float:
    """The time for all bodies: measured, or scaled from fewer."""
    return float(one["scaled"] if "scaled" in one else one["min"])


def _figure(value: float, unit: str) -> str:
    if unit == "s":
        return _seconds(value)
    if unit == "x":
        return f"{value:,.0f} x" if value >= 10 else f"{value:.2g} x"
    return f"{value:.3g} {unit}".strip()


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 0.1 else f"{value:.3g} s"


def _nanoseconds(value: float) -> str:
    return f"{value:.2g} ns" if value < 1e3 else f"{value / 1e6:.2g} ms"


def _mib(value: float) -> str:
    return f"{value / 2**20:,.0f} MiB"


def _times(value: float, base: float) -> str:
    ratio = value / base
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2g} x"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _range(ends: Json) -> str:
    return f"{ends['least']:,} to {ends['most']:,}"


def main() -> None:
    """Parse the command line, write the page and the plots."""
    parser = argparse.ArgumentParser(description="Write the page and plots from the results.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "learn.json")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = parser.parse_args()
    result: Any = json.loads(arguments.results.read_text())
    images = arguments.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    (arguments.docs / "benchmarks.md").write_text(render(result))
    draw_counts(result["sections"]["counts"], images / "learn_counts.svg")
    draw_growth(result["sections"]["growth"], CURVES, images / "learn_growth.svg")
    draw_memory(result["sections"]["growth"], CURVES, images / "learn_memory.svg")


if __name__ == "__main__":
    main()
