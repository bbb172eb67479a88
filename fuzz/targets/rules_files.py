"""What targets of rules files share: sets of rules to damage, and what is done with what loads."""

from functools import cache
from pathlib import Path

from draw import Draw, arrow_table

import sqrl
from targets import expect

TEMPLATES = [
    "? <= x <= ?",
    "? <= y <= ? by x/3",
    "kind = Y => ? <= x <= ?",
    "? <= mean(x) <= ? over 4",
    "? <= f1(x > 2 => flag) <= ? over 8",
    "? <= rate(flag) <= ? over 4",
    "distance(kind) <= ? over 8",
    "kind in ?",
    "known(flag)",
    "? <= x <= ? => kind = Y",
]


@cache
def some_rows() -> dict[str, list[object]]:
    """Rows to learn from and to check."""
    draw = Draw(7)
    columns = {
        "x": [draw.randint(0, 40) / 4 for _ in range(200)],
        "y": [draw.randint(0, 9) for _ in range(200)],
        "flag": [draw.chance(0.6) for _ in range(200)],
        "kind": [draw.one("abc") for _ in range(200)],
    }
    columns["n"] = [number % 5 for number in range(200)]
    columns["note"] = columns["kind"]
    columns["day"] = ["2024-05-01"] * 200
    return columns


@cache
def some_rules(number: int) -> sqrl.RuleSet:
    """One of a few rule sets: learned ones with all that is kept beside, and written ones."""
    if number == 0:
        schema = {"let": {"Y": "values(kind)"}, "rules": TEMPLATES, "coverage": 0.9}
        return sqrl.learn(arrow_table(some_rows()), schema)
    if number == 1:
        schema = {
            "let": {"Y": "values(kind)"},
            "rules": TEMPLATES[:5],
            "coverage": 0.9,
            "unit": "n",
        }
        return sqrl.learn(arrow_table(some_rows()), schema)
    texts = ["0 <= x <= 5", "kind = a => y <= 3", "mean(x) <= 3 over 4"]
    rules = sqrl.RuleSet.from_texts(texts, coverage=[0.98] * 3, support=[100] * 3)
    rules = rules.accept(rules.ids()[0], by="Ann", why="as agreed")
    return rules.waive(rules.ids()[1], until="2999-01-01", by="Ann", why="being mended")


def use(path: Path, folder: Path) -> None:
    """Load the rules, and do with them what everybody does."""
    rules = sqrl.load_rules(path)
    texts = rules.texts()
    for suffix in (".json", ".parquet"):
        if any("?" in text for text in texts):
            break  # a candidate of which no bounds are known is in Parquet only
        again = folder / f"again{suffix}"
        rules.save(again)
        loaded = sqrl.load_rules(again).texts()
        expect(loaded == texts, f"{suffix} gives {loaded}, not {texts}")
    rules.diff(rules)
    for source in (
        arrow_table(some_rows()),
        arrow_table({k: v[:9] for k, v in some_rows().items()}),
    ):
        found = sqrl.check(rules, source)
        found.findings()
        found.to_dict()
