"""Remembered passes: a run that goes on from a damaged one gives the same rules, or refuses."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from draw import Draw, arrow_table, as_bytes, as_text

import sqrl
from targets import expect
from targets.rules_files import some_rows

SCHEMA = {
    "let": {"Y": "values(kind)"},
    "rules": ["kind = Y => ? <= x <= ?", "? <= mean(y) <= ? over 8"],
    "coverage": 0.9,
}


def make(draw: Draw) -> dict[str, Any]:
    """Which of the passes is damaged, and how: by a seed, since passes know the times of files."""
    content = draw.one((None, b"", b"a", b"abc", b"sqrl pass 1\n", b"\0" * 100))
    whole = None if content is None else as_text(content)
    return {"seed": draw.randint(0, 2**31), "whole": whole}


def run(case: dict[str, Any], folder: Path) -> None:
    """Learn, damage a pass, and learn again from what is remembered."""
    draw = Draw(case["seed"])
    table = arrow_table(some_rows())
    for part in range(2):
        pq.write_table(table.slice(part * 100, 100), folder / f"p{part}.parquet")
    files, kept = str(folder / "p*.parquet"), folder / "kept"
    first = sqrl.learn(sqrl.scan(files, resume=kept), SCHEMA).texts()
    passes = sorted(kept.glob("*.pass"))
    expect(bool(passes), "nothing was remembered")
    path = draw.one(passes)
    damaged = draw.damaged_bytes(path.read_bytes())
    path.write_bytes(as_bytes(case["whole"]) if case["whole"] is not None else damaged)
    again = sqrl.learn(sqrl.scan(files, resume=kept), SCHEMA).texts()
    expect(first == again, "other rules from a damaged pass")
