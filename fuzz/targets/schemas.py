"""Schemas: YAML, whole or damaged; what is read is written and read again, planned and learned."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from draw import ODD_VALUES, Draw, arrow_table

import sqrl
from sqrl._rules.schema import parse_schema
from sqrl._rules.schema_yaml import dump_yaml
from targets import expect

LET = {
    "Y": "values(kind)",
    "F": "values(flag)",
    "A": ["x", "y", "x - y", "log(x)"],
    "L": "literals(x/3, n, flag, kind, y > 2)",
    "T": [1, 2.5],
}
TEMPLATES = (
    "kind = Y => ? <= A <= ?",
    "? <= A <= ? by y/3",
    "? <= f1(L{1..2} => flag) <= ? over 8",
    "x > T => ? <= y",
    "distance(A/4) <= ? over 8",
    "repeats(key(x, kind)) <= ? over 4",
    "kind = Y => n in ?",
)


def make(draw: Draw) -> dict[str, Any]:
    """The text of a schema, and a table."""
    rules = [
        draw.one(TEMPLATES) if draw.chance(0.6) else draw.sentence(hole=True)
        for _ in range(draw.randint(1, 3))
    ]
    let = {hole: domain for hole, domain in LET.items() if any(hole in rule for rule in rules)}
    schema: dict[str, Any] = {"let": deepcopy(let), "rules": rules}
    options: dict[str, Any] = {
        "coverage": draw.one((0.98, 0.5, 1, 0.9999999999999, 1e-9, 0)),
        "validate": draw.one((False, {"epsilon": 0.5, "share": 0.3}, {"share": 1.5})),
        "bounds": draw.one(({"method": "tolerance"}, {"min_support": 1}, {"confidence": 2})),
        "batches": draw.one(({"train": 5, "valid": 3}, {"train": 0}, {"train": 10**18})),
        "select": draw.one(({"top": 2, "by": "lower"}, {"top": 0}, {"by": "informative"})),
        "limit": draw.one((10, 10**6, 0, -1)),
        "label": draw.one(("kind", "flag", "none")),
        "statistics": {"s": draw.expression(), "t": draw.one(("s + 1", "t", "x / s"))},
        "cuts": {3: [10, 90]},
        "unit": draw.one(("kind", "n", ["kind", "n"])),
        "order": draw.one(("day", "x", ["n", "x"])),
    }
    schema |= {name: options[name] for name in options if draw.chance(0.25)}
    if draw.chance(0.25):
        schema = draw.damaged_json(schema)
    if draw.chance(0.1):
        schema[draw.one(("rule", "covrage", "let"))] = deepcopy(draw.one(ODD_VALUES))
    text = dump_yaml(schema) if isinstance(schema, dict) else str(schema)
    if draw.chance(0.25):
        text = draw.damaged_text(text)
    return {"text": text, "table": draw.table(least=1) if draw.chance(0.7) else None}


def run(case: dict[str, Any], folder: Path) -> None:  # noqa: ARG001
    """Read, write and read again; plan and learn."""
    schema = parse_schema(case["text"], where="schema")
    expect(parse_schema(schema.to_yaml(), where="again") == schema, "another schema after writing")
    if case["table"] is None:
        return
    table = arrow_table(case["table"])
    planned = sqrl.plan(table, schema)
    if planned.n_candidates > 20_000:
        return
    rules = sqrl.learn(table, schema)
    sqrl.check(rules, table)
