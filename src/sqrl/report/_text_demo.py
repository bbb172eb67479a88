"""What `sqrl demo` tells: rules from good rows, faults in new ones and in predictions, a waiver."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from pathlib import Path

from sqrl._check.check import check
from sqrl._check.violations import Violations
from sqrl._data.demo import demo_people
from sqrl._data.table import Table
from sqrl._language.short import sentence_lines, wrapped
from sqrl._learn.learn import learn
from sqrl._progress import Track
from sqrl._rules.decisions import Decision, today
from sqrl._rules.ruleset import RuleSet
from sqrl.report._wording import counted

N_NEW = 2000
BY, WHY, DAYS = "Ann Lee", "Porto's form is mended by then", 30


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """Good rows, the rules learned from them, and what checks of other rows found.

    `good` is a check of rows without a fault, `typed` of rows in which one city writes Yes for
    yes, `waived` of the same rows once the rules behind that finding are waived, `slipped` of
    predictions that stand a row too low. `new` are the rows without a fault.
    """

    people: Table
    new: Table
    rules: RuleSet
    good: Violations
    typed: Violations
    waived: Violations
    slipped: Violations

    @property
    def waiver(self) -> Decision | None:
        """What was decided about the rules that are waived; None where no fault was found."""
        return next(iter(self.waived.rules.decisions), None)


def run_demo(*, seed: int = 0, track: Track | None = None) -> Demo:
    """The story, computed: a few seconds of work."""
    people = demo_people(seed=seed)
    rules = learn(people, label="repaid", prediction="predicted", seed=seed, track=track)
    new = demo_people(N_NEW, seed=seed + 1)
    city, owner, predicted = (_words(new, name) for name in ("city", "owner", "predicted"))
    words = ["Yes" if (a, b) == ("yes", "Porto") else a for a, b in zip(owner, city, strict=True)]
    slipped = predicted[-1:] + predicted[:-1]
    faulty = new.with_columns({"owner": words}, replace=True)
    typed = check(rules, faulty)
    behind = {place for finding in typed.findings() for place in finding.rules}
    return Demo(
        people=people,
        new=new,
        rules=rules,
        good=check(rules, new),
        typed=typed,
        waived=check(_waive(rules, sorted(behind)), faulty),
        slipped=check(
            rules,
            new.with_columns({"predicted": slipped}, replace=True),
            prediction="predicted",
        ),
    )


def _waive(rules: RuleSet, places: list[int]) -> RuleSet:
    """The rules with those at these places waived for a month."""
    until = date.fromisoformat(today()) + timedelta(DAYS)
    ids = [rules.ids()[place] for place in places]
    return rules.waive(ids, until=until, by=BY, why=WHY) if ids else rules


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
    if story.waiver is not None:
        n_waived = counted(len(story.waived.rules.decisions), "rule")
        yield f"4. Somebody knows about it, and waives the {n_waived} behind this finding:"
        yield f"     waived until {story.waiver.until} by {story.waiver.by}: {story.waiver.why}"
        yield "   In the same rows, sqrl then finds:"
        yield from _found_lines(story.waived, width)
        yield ""
    yield "5. A model's predictions, joined to these rows one row too low; every column by"
    yield "   itself looks as before. sqrl finds:"
    yield from _found_lines(story.slipped, width)
    yield f"   The page about it, with the rows: {report}"


def last_lines() -> Iterator[str]:
    """What to type next."""
    yield ""
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
