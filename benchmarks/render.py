"""Writes docs/benchmarks.md and its plots from benchmarks/results/learn.json, and nothing else.

python benchmarks/render.py [--results FILE] [--docs DIR]
"""

import argparse
import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from measure import HERE, Json
from plots import draw_counts, draw_growth, draw_memory
from sqrl_paper.table import markdown_table

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
        *_processors(sections.get("counts_other_processors")),
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
    quick = " **A quick run: small sizes, few repetitions.**" if result["quick"] else ""
    return f"""# How fast learning is

Every figure here is written by `benchmarks/render.py` from `benchmarks/results/learn.json`.
[What has changed since](measured.md).
To measure anew:

```
python benchmarks/learn.py --data DIR && python benchmarks/render.py
```

`DIR` holds `cardio/cardio_train.csv` and `imagenet_x/`; without them, data of the same shape is
made up. Things that are compared take turns within one run, and times are the least of several
repetitions: the machine is shared, so ratios say more than seconds.{quick}

- Machine: {machine["processor"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB, \
{machine["system"]}; load {_loads(result)} before each section.
- Versions: {libraries}.
- Code: {code}; {result["date"][:10]}; seed {result["seed"]}. Cardio table: {table}."""


def _loads(result: Json) -> str:
    loads = [section["load_before"] for section in result["sections"].values()]
    return f"{min(loads)} to {max(loads)}"


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
    command, first = section["command"], section["first_run"]
    after = f"""`sqrl learn cardio_train.csv --schema cardio -o rules.json`, the whole command:
        {_seconds(command["min"])} ({_seconds(command["median"])} median). The first call of `learn`
        ever compiles the loops and takes {_seconds(first["min"])}; they are kept on disk."""
    return f"""## The paper's tabular search

From a loaded table to the best rules of each class: bounds over mini-batches, again over held-out
ones, validation, redundancy, selection, with the shipped cardio schema; then with the same numbers
of mini-batches but booleans that do not exclude each other. Compiled loops are loaded before.
Memory is that of the whole process.

{_table(header, rows)}

{_paragraph(after)}"""


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
    before = f"""Every conjunction of at most 3 of {section["features"]} booleans, each plain or
        negated, over {section["rows"]:,} rows: {section["bodies"]:,} bodies, for each the rows in
        it and those of them that are ill. PyFIM and mlxtend know no head; they count the ill and
        the others one after the other, which is less work than counting all and then the ill. Their
        input (lists of items, data frames) is made before the clock starts, ours (bits) after it.
        Our loops are the compiled ones (SQRL_KERNELS=compiled): unless asked for, the first
        half second of such work in a process is done by numpy, which takes longer.
        Where a library would take over {section["time_limit"]:.0f} s, it gets fewer features, and
        its time is scaled by the number of bodies. The quickest of PyFIM's algorithms is
        "{section["quickest_eclat"].removeprefix("PyFIM eclat, ")}"."""
    return f"""## Counting

{_paragraph(before)}

![Time to count all bodies](images/learn_counts.svg)

{_table(header, rows)}

Are the counts equal? PyFIM leaves out item sets that hold on all rows, and only sqrl and numpy list
bodies without rows, so the bodies that both have are compared; PyFIM's are those that it names
among the ill and among the others.

{_table(check_header, checks)}"""


def _processors(section: Json | None) -> Iterable[str]:
    """The same counting as other processors would do it; nothing where it was not measured."""
    if section is None:
        return
    rows = []
    for name, one in section["processors"].items():
        ours, theirs = one["timed"]["sqrl"]["min"], one["timed"]["PyFIM"]["min"]
        check = one["check"]
        equal = f"{check['equal']:,} of {check['shared']:,}"
        rows.append((name, _seconds(ours), _seconds(theirs), _times(theirs, ours), equal))
    header = ("processor", "sqrl", "PyFIM, bit vectors", "of sqrl's time", "equal counts")
    named = ", ".join(f"`{one['processor']}`" for one in section["processors"].values())
    about = f"""The same {section["features"]} booleans over {section["rows"]:,} rows on this
        machine, packing and counting as above, with loops compiled for lesser processors (as LLVM
        names them, {named}): no instruction that those lack is used. PyFIM is the same for all."""
    yield f"""### On other processors

{_paragraph(about)}

{_table(header, rows)}"""


def _bounds(section: Json, per_rule: Json) -> str:
    timed = section["timed"]
    rows = []
    for heads in ("one head", "both heads"):
        ours, theirs = timed[f"sqrl, {heads}"]["min"], timed[f"numpy, {heads}"]["min"]
        rows.append((heads, _seconds(ours), _seconds(theirs), _times(theirs, ours)))
    each, their_each = per_rule["nanoseconds_each"], per_rule["their_nanoseconds_each"]
    agree = "equal to within 1e-12" if per_rule["equal"] else "**not equal**"
    before = f"""The 1st and 99th percentile of F1 over {section["batches"]:,} mini-batches of
        {section["batch_rows"]} rows, for each of the {section["bodies"]:,} bodies; packing
        included. numpy: popcount, then `np.percentile` for some thousand bodies at a time. The
        largest difference between the two is {section["largest_difference"]:.1g}."""
    after = f"""Beside the plain way to write it, a pandas mask and scikit-learn's `f1_score` for
        each rule and mini-batch ({per_rule["batches"]} of {per_rule["batch_rows"]:,} rows):
        {_nanoseconds(their_each)} in that loop, {_nanoseconds(each)} here,
        {_times(their_each, each)}. The loop ran on {per_rule["sampled_rules"]} of
        {per_rule["rules"]:,} rules drawn at random, {per_rule["sampled_pairs"]:,} pairs; the bounds
        are {agree}."""
    return f"""## Bounds

{_paragraph(before)}

{_table(("", "sqrl", "numpy", "of sqrl's time"), rows)}

{_paragraph(after)}"""


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
    before = f"""One thing at a time changes from {start["features"]} free booleans,
        {start["literals"]} literals and {start["train"]} mini-batches of {start["over"]:,} rows (a
        third as many held out), on {section["rows"]:,} made-up rows. Peak memory is what `learn`
        takes above what the process held before. Stated is `sqrl.plan(...).nbytes`, known before
        anything is enumerated; it leaves out the table and the copies of its rows."""
    after = f"""The cardio table with up to {longest["literals"]} literals:
        {longest["candidates"]:,} candidates in {_seconds(longest["min"])},
        {_mib(longest["memory_above"])} at the peak, stated {_mib(longest["memory_stated"])}."""
    return f"""## Growth

{_paragraph(before)}

![Time by features, literals, rows and mini-batches](images/learn_growth.svg)

![Peak memory beside the memory stated](images/learn_memory.svg)

{joined}

{_paragraph(after)}"""


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
    return f"""## How many rules

{_table(("schema", "data", "candidates", "the paper's number"), rows)}

{_paragraph(_why_they_differ(section))}"""


def _why_they_differ(section: Json) -> str:
    """Why the number of candidates is not always the paper's number of rules."""
    schemas, cardio, images = section["schemas"], section["cardio"], section["imagenet_x"]
    same = [f"`{name}`" for name, one in schemas.items() if one["candidates"] == one["paper"]]
    all_rows, all_images = cardio["all_rows"], images["all_rows"]
    return f"""The numbers of {", ".join(same)} are the paper's. The paper does not say how it
        counted the others. Ours are the rules that do not contradict themselves, known before any
        row is looked at; rules that hold on some row come close to the paper's numbers, and depend
        on the rows drawn. For cardio the paper has {cardio["features"]} features, of which
        {cardio["features_never_true"]} are never true because percentiles coincide. We make
        neither those nor bodies that contradict themselves: {cardio["candidates"]:,} candidates,
        {cardio["candidates_not_empty"]:,} of them with a row. With all {cardio["features"]}
        features, {all_rows["rules_not_empty"]:,} pairs of a body and a class have a row in the
        whole table, and {_range(cardio["rules_not_empty"])} in {cardio["draws"]} random draws of
        the {_percent(cardio["train_share"])} that the paper learns from (paper:
        {schemas["cardio"]["paper"]:,}). For ImageNet-X, {all_images["bodies_not_empty"]:,} of
        {images["bodies"]:,} bodies have a row in the train annotations, times {images["classes"]}
        classes {all_images["times_classes"]:,}; in {images["draws"]} draws of
        {_percent(images["train_share"])} it is {_range(images["times_classes"])} (paper:
        {schemas["imagenet_x"]["paper"]:,}). We list all {schemas["imagenet_x"]["candidates"]:,};
        one without rows gets the status `empty`."""


def _paragraph(text: str) -> str:
    """The text on lines of at most 100 characters."""
    words = " ".join(text.split())
    return textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(markdown_table(header, rows, n_words=len(header)))


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
