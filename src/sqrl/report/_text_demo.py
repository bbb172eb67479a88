"""What `sqrl demo` tells: data, a schema, and a rule from each of its sentences."""

from collections.abc import Iterator
from functools import reduce

from sqrl._data.table import Table
from sqrl._language.short import sentence_lines
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema, Select
from sqrl.report._text_rules import summary_lines

DEMO_SCHEMA = Schema(
    label="type",
    statistics={
        "width": "right - left",
        "height": "bottom - top",
        "aspect_ratio": "width / height",
    },
    let={
        "Y": "values(type)",
        "A": ["width", "height", "aspect_ratio"],
        "L": "literals(width/4, height/4, aspect_ratio/4, bottom/4)",
    },
    rules=(
        "type = Y => ? <= A <= ?",
        "type = Y => ? <= bottom <= ? by height/4",
        "? <= f1(L{1..2} => type = Y) <= ? over 512",
    ),
    select=Select(top=3, per="Y"),
)


def demo_lines(table: Table, rules: RuleSet, *, width: int = 80) -> Iterator[str]:
    """What rules are, on one screen: data, a schema, and a rule from each of its sentences."""
    yield f"Data: {table.n_rows:,} boxes around road users, as a camera on a car would see them."
    yield from _data_lines(table)
    yield ""
    yield "Schema: sentences with holes; ? is a bound to infer, Y, A and L are filled in."
    yield from (f"  {line}" for line in DEMO_SCHEMA.to_yaml().splitlines())
    yield ""
    first, *others = summary_lines(rules)
    yield f"Learned: {first.removeprefix('demo: ')}."
    yield from others
    yield ""
    yield "A rule of each form, and how to read it:"
    for words, meaning in _SHOWN:
        found = reduce(RuleSet.search, words, rules)
        for rule in sorted(found, key=lambda rule: len(rule.text))[:1]:
            yield from sentence_lines(rule.short_text, width, mark="  ")
            yield f"    -> {meaning}"
    yield ""
    yield "Now your own data: sqrl learn FILE --label COLUMN"


def _data_lines(table: Table, n_rows: int = 3) -> Iterator[str]:
    names = table.names
    yield f"  {names[0]:<10}" + "".join(f"{name:>9}" for name in names[1:])
    for row in range(n_rows):
        first = table[names[0]]
        cells = [f"{table[name].values[row]:>9.2f}" for name in names[1:]]
        yield f"  {first.categories[first.values[row]]:<10}" + "".join(cells)


# One rule of each form that says something people know to be true: words in it, and what it says.
_SHOWN = (
    (
        ("type = Pedestrian => ", " <= aspect_ratio <= "),
        "98 % of all pedestrians are about a third as wide as high",
    ),
    (
        ("type = Car => ", " <= bottom <= "),
        "the taller its box, the nearer a car, and the lower it stands",
    ),
    (
        ("f1(aspect_ratio <= ", " => type = Pedestrian)"),
        "how well a narrow box predicts a pedestrian (F1), in any 512 boxes",
    ),
)
