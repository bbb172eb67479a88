"""Random rules on random tables: the definition, `check` in memory, by a scan, and SQL agree.

The definition is `tests/helpers/naive.py`: plain Python, a row at a time, None for unknown.
"""

import math
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from draw import Draw, arrow_table

import sqrl
from sqrl._check.mini_batches import make_batches
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl.errors import SqrlError
from sqrl.export import to_sql
from targets import expect
from targets.exports import _query

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))

import naive

CLOSE = 1e-9
OF_TEXT = re.compile(
    r"(length|words|digits|letters|blanks)\(x\)|days?\((x|kind)\)|weekday\((x|kind)\)"
)

OF_BOOLEANS = re.compile(r"(flag|n) !?= \"|\bn in \[[^\]]*(true|false)")
# Where a rule needs numbers, words are read as numbers, and what is none is missing.
OF_WORDS = re.compile(r"\b(kind|note) (!?= -?[\d.]|in \[[^\]]*\d)")


def make(draw: Draw) -> dict[str, Any]:
    """A rule that can be read, and a table; or a template to be learned."""
    if draw.chance(0.25):
        expression, given = draw.expression(2), draw.formula(2)
        return {"learn": expression, "given": given, "table": draw.table(least=30)}
    while True:
        text = draw.sentence()
        try:
            read_form(parse(text))
            return {"text": text, "table": draw.table(least=2), "cut": draw.randint(0, 30)}
        except SqrlError:
            continue


def run(case: dict[str, Any], folder: Path) -> None:
    """Count by each, and compare."""
    table = arrow_table(case["table"])
    if "learn" in case:
        _learn(case, table)
        return
    rules = sqrl.RuleSet.from_texts([case["text"]])
    found = sqrl.check(rules, table)  # which refuses what the definition knows nothing of
    counted = (int(found.applicable[0]), int(found.broken[0]))
    form, rows = rules.form(0), table.to_pylist()
    if any(one.search(case["text"]) for one in (OF_TEXT, OF_BOOLEANS, OF_WORDS)):
        return  # of text functions of numbers, and words that booleans are, it says nothing
    if form.over is not None:
        _batches(form, rows, found, counted)
    else:
        outcomes = [naive.outcome(form, row) for row in rows]
        expected = (len(rows) - outcomes.count("n/a"), outcomes.count("broken"))
        expect(counted == expected, f"{case['text']!r}: check counts {counted}, not {expected}")
        _by_sql(rules, table, counted, case["text"])
    cut = min(case["cut"], table.num_rows)
    for number, part in enumerate((table.slice(0, cut), table.slice(cut))):
        pq.write_table(part, folder / f"p{number}.parquet", row_group_size=7)
    scanned = sqrl.check(rules, sqrl.scan(str(folder / "p*.parquet")))
    again = (int(scanned.applicable[0]), int(scanned.broken[0]))
    expect(counted == again, f"{case['text']!r}: memory counts {counted}, a scan {again}")


def _batches(form: Any, rows: list[Any], found: Any, counted: tuple[int, int]) -> None:
    """Mini-batches by the definition; where a value is on a bound but for rounding, no verdict."""
    if form.kind == "shares" or not isinstance(form.over, int):
        return
    batches = make_batches(len(rows), form.over, None, seed=0, where="")
    try:
        values = [naive.batch_value(form, [rows[row] for row in batch]) for batch in batches]
    except OverflowError:  # of the definition's own arithmetic, such as the square of 1e300
        return
    piece = form.pieces[0]
    ends = [bound.value for bound in (piece.lower, piece.upper) if bound is not None]
    scale = max([1.0, *(abs(value) for value in values if value is not None)])
    for value in values:
        if value is not None and any(abs(value - end) <= CLOSE * scale for end in ends):
            return
    outcomes = [naive.batch_outcome(form, [rows[row] for row in batch]) for batch in batches]
    expected = (len(outcomes) - outcomes.count("n/a"), outcomes.count("broken"))
    if any(value is not None and not math.isfinite(value) for value in values) or scale > 1e100:
        return  # sums of huge numbers depend on their order
    expect(counted == expected, f"{found.rules.texts()}: check counts {counted}, not {expected}")


def _by_sql(rules: sqrl.RuleSet, table: pa.Table, counted: tuple[int, int], text: str) -> None:
    try:
        sql = to_sql(rules, rows=["n"], like=table)
    except SqrlError:
        return
    n_broken = len(_query(sql, table))
    expect(n_broken == counted[1], f"{text!r}: SQL finds {n_broken}, check {counted[1]}")


def _learn(case: dict[str, Any], table: pa.Table) -> None:
    """The quantiles of a learned interval are those of the sorted values."""
    template = f"{case['given']} => ? <= {case['learn']} <= ?"
    schema = {"rules": [template], "coverage": 0.8, "validate": False, "bounds": {"min_support": 3}}
    rules = sqrl.learn(table, schema)
    form = read_form(parse(template))
    rows = [
        row
        for row in table.to_pylist()
        if all(naive.truth(part, row) is True for part in form.given)
    ]
    values = [naive.value(form.subject, row) for row in rows]
    known = sorted(value for value in values if value is not None)
    if len(known) < 3:
        expect(not len(rules), f"{template!r} was learned from {len(known)} rows")
        return
    expect(len(rules) == 1, f"{template!r} was not learned from {len(known)} rows")
    for share, found in ((0.1, rules[0].lower), (0.9, rules[0].upper)):
        place = share * (len(known) - 1)
        low, high = known[math.floor(place)], known[math.ceil(place)]
        expected = low + (high - low) * (place - math.floor(place))
        scale = max(1.0, abs(low), abs(high))
        expect(abs(expected - found) <= CLOSE * scale, f"{template!r}: {found}, not {expected}")
