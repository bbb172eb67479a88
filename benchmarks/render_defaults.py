"""Sections of docs/power.md about what was measured apart: predictions, findings, costs."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

from measure import Json
from sqrl_paper.table import markdown_table

FIRST_USE = "learn, first"


def sections(folder: Path) -> list[str]:
    """The sections, from the results in a folder."""
    names = ("prediction_checks", "findings", "default_costs", "first_use")
    read = {name: json.loads((folder / f"{name}.json").read_text()) for name in names}
    return [
        predictions(read["prediction_checks"]),
        false_findings(read["findings"]),
        costs(read["default_costs"], read["first_use"]),
    ]


def predictions(result: Json) -> str:
    """How often a good model's predictions raise an alarm, and how often bad ones do."""
    measured = result["tables"]
    kinds = list(next(iter(measured.values()))["alarms"])
    rows = [
        (
            name,
            f"{100 * one['accuracy']:.1f} %",
            f"{100 * one['accuracy_of_worse']:.1f} %",
            *(f"{one['alarms'][kind]['raised']} of {one['alarms'][kind]['of']}" for kind in kinds),
        )
        for name, one in measured.items()
    ]
    about = f"""Rules of the true labels, learned with a model's predictions beside them
        (`learn --label --prediction`), and batches of {result["rows"]:,} rows checked with
        `--prediction`. The model is boosted trees that saw at most
        {result["rows_seen"]["most"]:,} other rows, the worse one saw {result["rows_seen"]["worse"]}
        of them; one is made blind by a column that has the same value everywhere. Batches with a
        finding, over {result["halvings"]} halvings of each table. Measured by
        `benchmarks/prediction_checks.py`, {_source(result)}."""
    header = ("table", "accuracy", "of the worse", *kinds)
    return f"""## Checks of predictions

{_paragraph(about)}

{_table(header, rows)}

{_bars(result["bars"])}"""


def false_findings(result: Json) -> str:
    """How many findings are false where it is known which columns have changed."""
    rows = [
        (
            one["dependence"],
            str(one["changed"]),
            f"{one['runs']:,}",
            f"{100 * one['false_discovery_rate']:.2f} %",
            f"{100 * one['standard_error']:.2f} %",
            f"{100 * one['columns_found']:.0f} %" if one["changed"] else "",
        )
        for one in result["summary"]
    ]
    n_runs = sum(one["runs"] for one in result["summary"])
    false = sum(one["false_discovery_rate"] * one["runs"] for one in result["summary"]) / n_runs
    about = f"""Made-up tables of twelve columns, of which none, two or six have changed in batches
        of {result["rows"]} rows. A finding that names no column that has changed is false; none
        counts as no false one. Over all {n_runs:,} batches {100 * false:.2f} % of findings are
        false, at a level of {100 * result["level"]:g} %. Measured by `benchmarks/findings.py`,
        {_source(result)}."""
    header = ("columns", "changed", "batches", "false findings", "standard error", "columns found")
    return f"""## False findings

{_paragraph(about)}

{_table(header, rows)}"""


def costs(result: Json, first_use: Json) -> str:
    """What learning costs without any option."""
    rows = [
        (
            f"{one['rows']:,} x {one['columns']:,}",
            f"{one['rules']:,}",
            f"{one['seconds']:.1f} s",
            f"{one['cpu_seconds']:.1f} s",
            f"{one['peak_gib']:.2f} GiB",
        )
        for one in result["tables"].values()
    ]
    of_first = [one for one in first_use["bars"] if one["what"] == FIRST_USE]
    about = f"""`sqrl learn FILE`, from Parquet to a rules file, in a process of its own; medians,
        with a load of {result["load"]} on the machine. CPU time is what an idle machine takes at
        most, and what bars are about. Measured by `benchmarks/default_costs.py`,
        {_source(result)}. A first `learn` ever, of 30,000 rows and 15 columns, beside
        `python -c "import numpy, pyarrow.parquet"`, is measured by `benchmarks/first_use.py`,
        {_source(first_use)}."""
    listed = [bar for one in result["tables"].values() for bar in one["bars"]]
    named = [one | {"what": "30,000 rows x 15 columns, first use"} for one in of_first]
    header = ("rows x columns", "rules", "time", "CPU time", "peak")
    return f"""## What learning costs

{_paragraph(about)}

{_table(header, rows)}

{_bars([*listed, *named])}"""


def _bars(bars: list[Json]) -> str:
    rows = []
    for one in bars:
        is_most = one["at_least"] is None
        limit = f"at most {one['at_most']:g}" if is_most else f"at least {one['at_least']:g}"
        shown = f"{one['measured']:.3g} {one['unit']}"
        met = "met" if one["met"] else "**not met**"
        rows.append((one["what"], f"{limit} {one['unit']}", shown, met))
    return _table(("what", "bar", "measured", ""), rows, n_words=4)


def _source(result: Json) -> str:
    commit = result["commit"]
    code = f"commit {commit['id'][:12]}" if commit["id"] else "no commit"
    return code + (" with changes" if commit["dirty"] else "")


def _paragraph(text: str) -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, 100, break_on_hyphens=False, break_long_words=False)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, n_words: int = 1) -> str:
    return "\n".join(markdown_table(header, rows, n_words=n_words))
