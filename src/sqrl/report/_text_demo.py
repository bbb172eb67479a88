"""What `sqrl demo` tells: rules from good rows, a fault in new ones, a fault in predictions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from sqrl._check.check import check
from sqrl._check.violations import Violations
from sqrl._data.demo import demo_people
from sqrl._data.table import Table
from sqrl._language.short import sentence_lines, wrapped
from sqrl._learn.learn import learn
from sqrl._progress import Track
from sqrl._rules.ruleset import RuleSet

N_NEW = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """Good rows, the rules learned from them, and what checks of other rows found.

    `good` is a check of rows without a fault, `typed` of rows in which one city writes Yes for
    yes, `slipped` of predictions that stand a row too low.
    """

    people: Table
    rules: RuleSet
    good: Violations
    typed: Violations
    slipped: Violations


def run_demo(*, seed: int = 0, track: Track | None = None) -> Demo:
    """The story, computed: a few seconds of work."""
    people = demo_people(seed=seed)
    rules = learn(people, label="repaid", prediction="predicted", seed=seed, track=track)
    new = demo_people(N_NEW, seed=seed + 1)
    city, owner, predicted = (_words(new, name) for name in ("city", "owner", "predicted"))
    typed = ["Yes" if (a, b) == ("yes", "Porto") else a for a, b in zip(owner, city, strict=True)]
    slipped = predicted[-1:] + predicted[:-1]
    return Demo(
        people=people,
        rules=rules,
        good=check(rules, new),
        typed=check(rules, new.with_columns({"owner": typed}, replace=True)),
        slipped=check(
            rules,
            new.with_columns({"predicted": slipped}, replace=True),
            prediction="predicted",
        ),
    )


def demo_lines(story: Demo, report: Path, *, width: int = 80) -> Iterator[str]:
    """The story on one screen."""
    people, rules = story.people, story.rules
    yield f"1. {people.n_rows:,} good rows about people and their loans:"
    yield from _data_lines(people)
    yield f"   sqrl learns {len(rules)} rules from them, with the numbers in them. Some:"
    for words in _SHOWN:
        found: RuleSet = reduce(RuleSet.search, words, rules)
        for rule in list(found)[:1]:
            yield from sentence_lines(rule.short_text, width, mark="     ")
    yield ""
    yield f"2. {N_NEW:,} new rows without a fault. sqrl finds:"
    yield from _found_lines(story.good, width)
    yield ""
    yield "3. The same rows, but one city writes Yes where others write yes. sqrl finds:"
    yield from _found_lines(story.typed, width)
    yield ""
    yield "4. A model's predictions, joined to these rows one row too low; every column by"
    yield "   itself looks as before. sqrl finds:"
    yield from _found_lines(story.slipped, width)
    yield ""
    yield f"The page about it, with the rows: {report}"
    yield "Your own data:  sqrl learn train.csv"
    yield "                sqrl check rules.json new.csv --report page.html"


# A rule of a column, of two columns, and of the label: words in it.
_SHOWN = (
    ("owner in [",),
    ("owner = yes => ", " <= income <= "),
    ("precision(owner = yes => repaid = yes)",),
)


def _found_lines(found: Violations, width: int) -> Iterator[str]:
    sentences = [finding.text for finding in found.findings()] or ["nothing"]
    for sentence in sentences:
        for place, line in enumerate(wrapped(sentence, width - 5)):
            yield f"   {'  ' if place else '> '}{line.strip()}"


def _data_lines(table: Table, n_rows: int = 1) -> Iterator[str]:
    names = table.names
    rows = [list(names), *([_cell(table, name, row) for name in names] for row in range(n_rows))]
    widths = [max(len(row[place]) for row in rows) for place in range(len(names))]
    for row in rows:
        cells = (f"{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True))
        yield "     " + "  ".join(cells)


def _cell(table: Table, name: str, row: int) -> str:
    column = table[name]
    value = column.values[row]
    return column.categories[value] if column.kind == "category" else f"{value:,.0f}"


def _words(table: Table, name: str) -> list[str]:
    column = table[name]
    return [column.categories[code] for code in column.values.tolist()]
