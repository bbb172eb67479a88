"""Exports: SQL run in DuckDB, tests of dbt rendered and run, pandera schemas executed.

Each must find what `check` finds, whatever columns and categories are called.
"""

from pathlib import Path
from typing import Any

from draw import ODD_NAMES, Draw, arrow_table

import sqrl
from sqrl._language import parse, to_text
from sqrl._language.forms import read_form
from sqrl._language.tree import Name, Word, rewrite
from sqrl.errors import SqrlError
from sqrl.export import to_dbt, to_pandera, to_sql
from targets import expect

HOSTILE = (
    *("it's; DROP TABLE data; --", 'ß"🚗`\\\n{% raw %}', "a\rb", "a\r\nb", "{{ x }}", "%s", "$1"),
    *("'; import os; '", '"""', "\\", "\\n", "${x}", "#{x}", ":x", "?", "a\tb", "\u2028", "\x0b"),
)


def make(draw: Draw) -> dict[str, Any]:
    """Rules about rows, a table, and what names stand for."""
    texts = []
    while len(texts) < draw.randint(1, 2):
        text = draw.sentence()
        try:
            form = read_form(parse(text))
        except SqrlError:
            continue
        if form.over is None:
            texts.append(text)
    names = {"x": draw.one((*HOSTILE, *ODD_NAMES, "x")), "kind": draw.one((*HOSTILE, "kind"))}
    words = {"a": draw.one(HOSTILE), "b": draw.one((*HOSTILE, "b"))}
    table = draw.table(least=1)
    return {"texts": texts, "names": names, "words": words, "table": table}


def _renamed(text: str, names: dict[str, str], words: dict[str, str]) -> str:
    def change(node: Any) -> Any:
        if isinstance(node, Name):
            return Name(names.get(node.name, node.name))
        return Word(words.get(node.text, node.text)) if isinstance(node, Word) else None

    return to_text(rewrite(parse(text), change))


def run(case: dict[str, Any], folder: Path) -> None:  # noqa: ARG001
    """Export, run what was exported, and compare."""
    names, words = case["names"], case["words"]
    if names["x"] == names["kind"]:
        return
    texts = [_renamed(text, names, words) for text in case["texts"]]
    columns = {names.get(name, name): values for name, values in case["table"].items()}
    for name in (names["kind"], "note"):
        columns[name] = [words.get(value, value) for value in columns[name]]
    kinds = dict(zip(case["table"], columns, strict=True))
    table = arrow_table(case["table"]).rename_columns(list(kinds.values()))
    for name in (names["kind"], "note"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, [columns[name]])
    rules = sqrl.RuleSet.from_texts(texts)
    found = sqrl.check(rules, table)
    broken = found.broken.tolist()
    expected = {number: count for number, count in enumerate(broken, start=1) if count}
    _sql(rules, table, expected)
    _dbt(rules, table, broken)
    _pandera(rules, table, broken)


def _sql(rules: sqrl.RuleSet, table: Any, expected: dict[int, int]) -> None:
    counted: dict[int, int] = {}
    for row in _query(to_sql(rules, rows=["n"], like=table), table):
        for number in str(row["broken_rules"]).split():
            counted[int(number)] = counted.get(int(number), 0) + 1
    expect(counted == expected, f"SQL counts {counted}, check {expected}")


def _dbt(rules: sqrl.RuleSet, table: Any, broken: list[int]) -> None:
    try:
        import jinja2
    except ImportError:
        return
    for number, text in enumerate(to_dbt(rules, like=table).values()):
        template = jinja2.Environment(autoescape=False).from_string(text)
        rows = _query(template.render(ref=lambda name: name), table)
        counted = [int(row["violations"]) for row in rows]
        # A test gives a line where a rule is broken beyond what chance allows.
        is_all = all(count == broken[number] for count in counted)
        expect(is_all, f"dbt counts {counted}, check {broken[number]}")


def _pandera(rules: sqrl.RuleSet, table: Any, broken: list[int]) -> None:
    import pandera.errors

    text = to_pandera(rules, like=table)
    made: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), made)
    frame = table.to_pandas(types_mapper={}.get)
    schema = next(
        v for k, v in made.items() if k == "schema" or type(v).__name__ == "DataFrameSchema"
    )
    try:
        schema.validate(frame, lazy=True)
        is_clean = True
    except (pandera.errors.SchemaErrors, pandera.errors.SchemaError):
        is_clean = False
    expect(is_clean == (not any(broken)), f"pandera says clean={is_clean}, check counts {broken}")


def _query(sql: str, table: Any) -> list[dict[str, Any]]:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("data", table)
        rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
        return rows
