"""Random schemas on random tables: what is learned is what the pages define, also by a scan.

The definition is `tests/helpers/naive_learn.py`, written from docs/language.md and docs/schema.md:
intervals with one bound or two, percentiles and tolerance bounds, conditions, agreement on held-out
rows, intervals of classes, and statistics of conjunctions with redundancy and selection.
"""

import math
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from draw import COUNTED, Draw

import sqrl
from sqrl._data.draws import draw_batches
from sqrl._language import parse
from sqrl._language.forms import read_form
from targets import expect

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))

import naive
import naive_learn

CLOSE = 1e-9
SIDES = {"two": (True, True), "below": (True, False), "above": (False, True)}
FACTS = ("flag", "n > 2", "y <= 1", "kind = a", "x > 0")
CLASSES = ("a", "b", "c")
TYPES = {"x": pa.float64(), "y": pa.float64(), "n": pa.int64(), "flag": pa.bool_()}


def make(draw: Draw) -> dict[str, Any]:
    """A template, the options of a schema, and train and held-out rows."""
    kind = draw.one(("interval", "interval", "class", "logic"))
    how = {
        "coverage": draw.one((0.8, 0.9, 0.5)),
        "method": draw.one(("percentile", "percentile", "tolerance"))
        if kind != "logic"
        else "percentile",
        "confidence": draw.one((0.95, 0.6)),
        "min_support": draw.one((None, 3, 6)),
        "epsilon": None
        if kind == "class" or draw.chance(0.4)
        else draw.one((0.47, 0.83, 0.21)),  # no quotient of few rows
    }
    case = {
        "kind": kind,
        "how": how,
        "train": _rows(draw, draw.randint(20, 60)),
        "valid": _rows(draw, draw.randint(10, 40)),
        "sides": draw.one(tuple(SIDES)) if kind != "class" else "two",
        "subject": draw.one(("x", "y", "n", "x + y", "x / n", "abs(x)", "max(x, y)")),
    }
    if kind == "interval":
        case["given"] = draw.one(("", "flag", "kind = b", "n > 1 and not flag", "y <= x", "x > 99"))
    if kind == "logic":
        n_facts = draw.randint(1, 3)
        case["facts"] = draw.sample(FACTS, n_facts)
        case["most"] = min(draw.randint(1, 2), n_facts)
        case["statistic"] = draw.one(COUNTED)
        case["head"] = draw.one(("kind = b", "flag", "y > 0"))
        case["top"] = draw.one((None, 1, 3))
        case["over"] = draw.one((4, 8))
        case["seed"] = draw.randint(0, 5)
    return case


def _rows(draw: Draw, n_rows: int) -> dict[str, list[Any]]:
    """Few different values, so that there are ties; some are missing."""
    lacks = draw.one((0.0, 0.1, 0.3))
    digits = draw.one((0, 1, 6))

    def column(one: Any) -> list[Any]:
        return [None if draw.chance(lacks) else one() for _ in range(n_rows)]

    return {
        "x": column(lambda: round(draw.gauss(0, 2), digits)),
        "y": column(lambda: round(draw.expovariate(1), digits)),
        "n": column(lambda: draw.randint(0, 4)),
        "flag": column(lambda: draw.chance(0.4)),
        "kind": column(lambda: draw.one(CLASSES)),
    }


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    made = {name: pa.array(values, TYPES.get(name)) for name, values in columns.items()}
    return pa.table(made)


def run(case: dict[str, Any], folder: Path) -> None:
    """Learn in memory and by a scan, and by the definition."""
    train, valid = _table(case["train"]), _table(case["valid"])
    schema, form = _schema(case)
    how = naive_learn.How(**case["how"])
    options: dict[str, Any] = {"seed": case.get("seed", 0), "keep": "all"}
    held_out = None if how.epsilon is None else valid
    rules = sqrl.learn(train, schema, valid=held_out, **options)
    _compare(case, form, how, rules, train.to_pylist(), valid.to_pylist())
    for name, table in (("train", train), ("valid", valid)):
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=7)
    scanned = sqrl.learn(
        sqrl.scan(str(folder / "train.parquet")),
        schema,
        valid=None if held_out is None else sqrl.scan(str(folder / "valid.parquet")),
        **options,
    )
    same = (scanned.texts(), scanned.table["status"]) == (rules.texts(), rules.table["status"])
    expect(same, f"{schema['rules']}: a scan learns {scanned.texts()}, memory {rules.texts()}")


def _schema(case: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    how = case["how"]
    below, above = ("? <= " if SIDES[case["sides"]][0] else ""), ""
    above = " <= ?" if SIDES[case["sides"]][1] else ""
    bounds = {"method": how["method"], "confidence": how["confidence"]}
    if how["min_support"] is not None:
        bounds["min_support"] = how["min_support"]
    schema: dict[str, Any] = {"coverage": how["coverage"], "bounds": bounds}
    schema["validate"] = False if how["epsilon"] is None else {"epsilon": how["epsilon"]}
    if case["kind"] == "interval":
        given = f"{case['given']} => " if case["given"] else ""
        text = f"{given}{below}{case['subject']}{above}"
        form = read_form(parse(text))
    elif case["kind"] == "class":
        text = f"? <= {case['subject']} <= ? => kind = Y"
        schema["let"] = {"Y": "values(kind)"}
        form = read_form(parse(f"0 <= {case['subject']} <= 1"))
    else:
        call = f"{case['statistic']}(L{{1..{case['most']}}} => {case['head']})"
        text = f"{below}{call}{above} over {case['over']}"
        schema["let"] = {"L": f"literals({', '.join(case['facts'])})"}
        schema["batches"] = {"train": 12, "valid": 9}
        if case["top"] is not None:
            schema["select"] = {"top": case["top"], "by": "lower"}
        form = read_form(parse(text.replace(f"L{{1..{case['most']}}}", "x > 0")))
    schema["rules"] = [text]
    return schema, form


def _compare(
    case: dict[str, Any], form: Any, how: Any, rules: sqrl.RuleSet, train: Any, valid: Any
) -> None:
    counts = rules.provenance.counts if rules.provenance else {}
    counts = {name: count for name, count in counts.items() if count and name != "candidates"}
    about = f"{case['kind']} {rules.schema.sentences if rules.schema else ''} {asdict(how)}"
    sides = SIDES[case["sides"]]
    if case["kind"] == "interval":
        one = naive_learn.interval(form, train, valid, how, sides)
        expect(counts == {one.status: 1}, f"{about}: {counts}, not {one.status}")
        if one.status in {naive_learn.SELECTED, naive_learn.UNSTABLE}:
            _same(about, (rules[0].lower, rules[0].upper), (one.lower, one.upper))
    elif case["kind"] == "class":
        _compare_classes(about, form.subject, how, rules, train)
    else:
        _compare_logic(about, case, form, how, rules, train, valid)


def _compare_classes(about: str, subject: Any, how: Any, rules: sqrl.RuleSet, train: Any) -> None:
    """Each learned body holds on just the rows that the definition says."""
    classes = sorted({row["kind"] for row in train if row["kind"] is not None})
    bodies = naive_learn.class_bodies(subject, "kind", classes, train, how)
    learned = {}
    for index, rule in enumerate(rules):
        if rule.status == naive_learn.SELECTED:
            made = rules.form(index)
            learned[made.head.right.text] = made
    for name, body in bodies.items():
        for row in train:
            number = naive.value(subject, row)
            expected = naive_learn.is_in_body(number, body)
            found = (
                name in learned and naive.outcome(learned[name], {**row, "kind": name}) == "held"
            )
            expect(found == expected, f"{about}: {name} at {number}: {found}, not {expected}")


def _compare_logic(
    about: str, case: dict[str, Any], form: Any, how: Any, rules: Any, train: Any, valid: Any
) -> None:
    facts = [read_form(parse(f"{fact} => x <= 1")).given[0] for fact in case["facts"]]
    batches = [
        draw_batches(len(rows), case["over"], n, seed=case["seed"] + place, where="").tolist()
        for place, (rows, n) in enumerate(((train, 12), (valid, 9)))
    ]
    sides = SIDES[case["sides"]]
    statuses, bounds, tied = naive_learn.logic(
        form, facts, case["most"], (train, valid), batches, how, sides, case["top"]
    )
    expected = Counter(statuses)
    found = Counter({name: n for name, n in rules.provenance.counts.items() if n})
    del found["candidates"]
    near = any(  # where rounding decides
        one is not None and not math.isfinite(sum(one)) for one in bounds
    )
    if not near:
        expect(found == expected, f"{about}: {dict(found)}, not {dict(expected)}")
    if tied or near:
        return
    mine = sorted(
        (status, tuple(end for end, there in zip(one, sides, strict=True) if there))
        for status, one in zip(statuses, bounds, strict=True)
        if one is not None
    )
    theirs = sorted(
        (rule.status, tuple(end for end in (rule.lower, rule.upper) if end is not None))
        for rule in rules
        if rule.status != naive_learn.EMPTY and (rule.lower is not None or rule.upper is not None)
    )
    expect(len(mine) == len(theirs), f"{about}: {len(theirs)} have bounds, not {len(mine)}")
    for (status, ends), (other, others) in zip(mine, theirs, strict=True):
        expect(status == other, f"{about}: {other}, not {status}")
        _same(about, others, ends)


def _same(about: str, found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        both_open = one is None and other is None
        close = (
            not both_open
            and None not in (one, other)
            and math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
        )
        expect(both_open or close, f"{about}: bounds {found}, not {expected}")
