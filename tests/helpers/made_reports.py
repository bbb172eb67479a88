"""Results made up for the tests of reports: a detector's boxes, many rules, hostile names."""

import numpy as np

import sqrl
from sqrl._language.forms import Form, Piece
from sqrl._language.tree import Compare, Name, Number, Word
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema, Select

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
CLASSES = ("Car", "Pedestrian", "Cyclist", "Truck")
RAN = "window.hasRun = true"
HOSTILE = (
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"</style><img src=x onerror='{RAN}'>",
    f"javascript:{RAN}",
    f"\"'><svg onload={RAN}>",
    "=cmd()|' /C calc'!A0",
    f"<!--<script>{RAN}",
    "\u2028\u2029&lt;{{data}}{{script}}",
)


def plain_columns(table):
    """The table's columns as lists and arrays that can be changed."""
    return {
        name: np.array(column.categories)[column.values]
        if column.kind == "category"
        else column.values.copy()
        for name, column in table.columns.items()
    }


def demo_rules():
    """Rules of every kind: intervals, pieces, mini-batches and a class; two have no support.

    They know how a good detector's classes break them.
    """
    rng = np.random.default_rng(0)
    columns = plain_columns(sqrl.demo_table(6000))
    is_wrong = rng.random(6000) < 0.01
    columns["detector"] = np.where(is_wrong, rng.permutation(columns["type"]), columns["type"])
    table = sqrl.as_table(columns, source="demo")
    learned = sqrl.learn(table, DEMO_SCHEMA, prediction="detector")
    written = [
        "right - left <= 60 and bottom > 250 => type = Pedestrian",
        "type = Car => top <= 300",
    ]
    return learned + RuleSet.from_texts(written)


def demo_detections(n_rows=4096, seed=7):
    """Boxes as a poor detector would give them: some too low, too wide, or of another class."""
    rng = np.random.default_rng(seed)
    columns = plain_columns(sqrl.demo_table(n_rows, seed=seed))
    columns["bottom"] += np.where(rng.random(n_rows) < 0.06, 60.0, 0.0)
    columns["right"] += np.where(rng.random(n_rows) < 0.04, 80.0, 0.0)
    columns["detector"] = np.where(
        rng.random(n_rows) < 0.06, rng.permutation(columns["type"]), columns["type"]
    )
    for name in CLASSES:
        columns[f"p_{name}"] = np.where(columns["detector"] == name, 0.91, 0.03)
    return sqrl.as_table(columns, source="detector.csv")


def check_detections(rules, table, *, with_probabilities=False):
    """The detector's boxes checked, its classes standing in for the true ones."""
    chances = {name: f"p_{name}" for name in CLASSES} if with_probabilities else None
    return sqrl.check(rules, table, prediction="detector", probabilities=chances)


def many_rules(n_rules=10_000, n_rows=4000):
    """The result of checking very many rules, a tenth of them broken beyond chance."""
    rng = np.random.default_rng(0)
    names = [f"measurement_{number}" for number in range(100)]
    kinds = [f"kind_{number}" for number in range(10)]
    forms, support = [], []
    for index in range(n_rules):
        half_width = 1.9 if index % 10 == 0 else 2.6 + 0.01 * (index % 7)
        piece = Piece(Number(-half_width - 1e-5 * index), Number(half_width + 1.123456e-5 * index))
        given = (Compare(Name("kind"), "=", Word(kinds[index // 100 % 10])),)
        subject = Name(names[index % 100])
        forms.append(Form(kind="sample", given=given, subject=subject, pieces=(piece,)))
        support.append(20_000)
    rules = RuleSet.from_forms(forms, coverage=[0.98] * n_rules, support=support)
    columns = {name: rng.normal(size=n_rows) for name in names}
    columns["kind"] = rng.choice(kinds, n_rows).tolist()
    return sqrl.check(rules, sqrl.as_table(columns, source="many.csv"))


def hostile_result():
    """A result with markup and scripts in every place that comes from the data."""
    names = [f"column {text}" for text in HOSTILE]
    columns = {name: np.array([1.0, 2.0, 3.0, 99.0]) for name in names}
    columns["label <b>"] = [HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[1]]
    columns["note"] = list(HOSTILE[:4])
    forms = []
    for name in names:
        for value in HOSTILE[:3]:
            given = (Compare(Name("label <b>"), "=", Word(value)),)
            piece = Piece(Number(0.0), Number(1.5))
            forms.append(Form(kind="sample", given=given, subject=Name(name), pieces=(piece,)))
    head = Compare(Name("label <b>"), "=", Word(HOSTILE[4]))
    forms.append(Form(kind="class", given=(Compare(Name(names[0]), ">", Number(0.0)),), head=head))
    table = sqrl.as_table(columns, source=HOSTILE[1])
    return sqrl.check(RuleSet.from_forms(forms), table)
