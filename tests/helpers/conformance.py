"""Every kind of rule and every statistic, run by every compiler and held against the definition.

`complaints` runs rules; `missing_entries` only looks at the tables. What a compiler does not take
must have a reason in `KINDS` or where the statistic is registered.
"""

import dataclasses
import types
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pandera.pandas
import pyarrow as pa
import pyarrow.compute as pc
import torch
from msgspec.structs import replace

import naive
import oracles
import sqrl
from made_exports import run, with_batches
from made_scans import scanned
from sqrl._adapt.batches import columns_of
from sqrl._adapt.rule_loss.program import TAKEN_UP
from sqrl._check.mini_batches import GIVEN_TO_STATISTIC, make_batches
from sqrl._check.row_outcomes import ROW_OUTCOMES
from sqrl._data.table import as_table
from sqrl._language import parse, parse_formula, to_text
from sqrl._language.forms import Piece, read_form, sentence_of
from sqrl._language.kinds import COMPILERS, KINDS
from sqrl._language.reference import CellAxis, Reference
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Call, Number, Units, walk
from sqrl._learn.bounds import MEASURES
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import Rows
from sqrl._rows.unit_batches import UnitSizes, disjoint_units
from sqrl._rows.units import unit_keys
from sqrl._rules.needed_columns import names_in, parts_of
from sqrl.errors import AdaptError, SqrlError
from sqrl.export import _batch_rules, _pandera, _row_rules, to_pandera, to_sql

SIZE = 8
UNITS = Units(3)
REPEATED = parse_formula("smoke + cardio")
CLASSES = ("negative", "neutral", "positive")
TABLES = {
    "learn": MEASURES,
    "rows": ROW_OUTCOMES,
    "batches": GIVEN_TO_STATISTIC,
    "torch": TAKEN_UP,
    "sql": {**_row_rules.CLAIMS, **_batch_rules.STATISTICS},
    "pandas": _pandera.CLAIMS,
}


def made_table(seed, n_rows=120):
    """The columns that the examples of `KINDS` name; in all but the classes some are missing."""
    rng = np.random.default_rng(seed)
    columns = {
        "type": rng.choice(["Car", "Car", "Van"], n_rows),
        "width": rng.normal(2.0, 1.0, n_rows),
        "age": rng.integers(30, 70, n_rows),
        "smoke": rng.random(n_rows) < 0.6,
        "cardio": rng.integers(0, 2, n_rows),
        "joy": rng.random(n_rows),
    }
    made = {
        name: pa.array(values.tolist(), mask=rng.random(n_rows) < 0.1)
        for name, values in columns.items()
    }
    start, hours = datetime(2024, 1, 1), rng.integers(0, 10_000, n_rows).tolist()
    moments = [start + timedelta(hours=hour) for hour in hours]
    texts = ["", "A1 b", "42", "Ångström 7", "x  y z", "2024-05-01T13:45"]
    more = {
        "born": pa.array([moment.date() for moment in moments]),
        "seen": pa.array(moments, pa.timestamp("us")),
        "when": pa.array([moment.isoformat() for moment in moments[1:]] + ["soon"]),
        "note": pa.array(rng.choice(texts, n_rows).tolist()),
    }
    lacks = rng.random(n_rows) < 0.1
    nothing = {name: pa.nulls(n_rows, values.type) for name, values in more.items()}
    made |= {name: pc.if_else(pa.array(~lacks), more[name], nothing[name]) for name in more}
    joy, noise = columns["joy"], rng.integers(0, 3, n_rows)
    at = np.where(rng.random(n_rows) < 0.8, (joy * 3).astype(int), noise)
    images = (np.arange(n_rows) ** 2 % 83) ** 2 // 160  # some have many more rows than others
    return pa.table(made | {"sentiment": np.array(CLASSES)[at], "image": images})


TABLE = made_table(1)
# No two joys are alike: what follows on one is the same in every program.
IN_ORDER = sqrl.Schema(
    order="joy", entity="type", statistics={"steep": "delta(width) / age"}, rules=("? <= width",)
)
FOLLOWED = {
    "lag(width)": ("lag", "width", 1),
    "delta(width)": ("delta", "width", 1),
    "delta(age, 3)": ("delta", "age", 3),
    "rolling_mean(age, 4)": ("rolling_mean", "age", 4),
    "since_last": ("delta", "joy", 1),
    "lag(sentiment)": ("lag", "sentiment", 1),
    "lag(smoke)": ("lag", "smoke", 1),
}


def with_followed(table):
    """The rows of a table with the columns that follow from the rows before, by a loop."""
    rows, columns = table.to_pylist(), table.to_pydict()
    entity, order = ([(key,) for key in columns[name]] for name in ("type", "joy"))
    for name, (function, of, n) in FOLLOWED.items():
        found = oracles.sequence(function, columns[of], entity, order, n)
        rows = [{**row, name: value} for row, value in zip(rows, found, strict=True)]
    moved, ages = [row["delta(width)"] for row in rows], columns["age"]
    pairs = zip(moved, ages, strict=True)
    columns["steep"] = [None if None in pair else pair[0] / pair[1] for pair in pairs]
    steeper = oracles.sequence("delta", columns["steep"], entity, order, 1)
    return [{**row, "delta(steep)": value} for row, value in zip(rows, steeper, strict=True)]


ROWS = with_followed(TABLE)
BATCHES = make_batches(len(ROWS), SIZE, None, seed=0, where="")
KEYS = unit_keys(Rows(as_table(TABLE), {}), ["image"]).tolist()
UNIT_BATCHES = [
    [row for row, key in enumerate(KEYS) if key in units]
    for units in disjoint_units(
        UnitSizes(*np.unique(KEYS, return_counts=True)), ("image",), UNITS.n, seed=0, where=""
    ).units.tolist()
]
MORE = (
    "width <= 2.5",
    "age > 40 and not smoke => 1 <= width / joy",
    "0.5 <= width <= 2 if age <= 50 else 1 <= width <= 3 if smoke else width <= 2",
    "smoke or width > 2 => sentiment in [positive, neutral]",
    "sentiment in [positive, neutral]",
    "not known(age) or known(smoke and width > 2) => sentiment in [positive, neutral]",
    "known(width / joy) and not known(smoke) => 1 <= width <= 3",
    "smoke => known(width)",
    "known(born) and not known(smoke) => width <= 2",
    "days(born) > 19800 => days(seen) <= 20000",
    "weekday(seen) <= 5 => month(when) <= 9",
    "6 <= hour(when) <= 20",
    "2 <= length(note) <= 8",
    "digits(note) > 0 => letters(note) + blanks(note) <= 0.7",
    "words(note) <= 2",
    "not known(type) or type = Car",
    "-1 <= delta(width) <= 1",
    "delta(age, 3) > 0 and lag(smoke) => 1 <= lag(width) <= 3",
    "lag(sentiment) = positive => 45 <= rolling_mean(age, 4) <= 55",
    "known(lag(sentiment)) => since_last <= 0.02",
    "-0.02 <= delta(steep) <= 0.02",
)


def missing_entries(kinds=KINDS):
    """What compilers have neither an entry nor a reason for, and what they have both for."""
    found = []
    for name, kind in kinds.items():
        for compiler in COMPILERS:
            has_entry, has_reason = name in TABLES[compiler], compiler in kind.refused
            if has_entry == has_reason:
                both = "an entry and a reason" if has_entry else "neither an entry nor a reason"
                found.append(f"{compiler} has {both} for rules of kind {name!r}")
    return found


def batches_of(form):
    """The rows of the mini-batches that a rule is checked on."""
    return UNIT_BATCHES if form.over == UNITS else BATCHES


def rule_set(form):
    """The rule as a set, whose schema says what rows come after, and what a unit is."""
    rules = sqrl.RuleSet.from_forms([form])
    schema = replace(IN_ORDER, unit="image") if form.over == UNITS else IN_ORDER
    return dataclasses.replace(rules, schema=schema)


def forms_of(sentence, statistics, over=SIZE):
    """The rule with each of these statistics that its kind is of; itself where it has none."""
    form = read_form(parse(sentence))
    if form.over is None:
        return [form]
    form, made = replace(form, over=over), []
    for name in statistics:
        of = batch_statistic(name).of
        suits = form.subject is not None if of == "values" else bool(form.body)
        if of == "cells" and form.axes:
            made.append(replace(form, statistic=name, reference=made_reference(form)))
        elif of != "cells" and suits:
            subject = REPEATED if name == "repeats" else form.subject  # widths never repeat
            head = None if of == "share" else form.head
            made.append(replace(form, statistic=name, subject=subject, head=head))
    return made


def made_reference(form):
    """The shares of another table, in cells of `width` and of `type`."""
    axes = CellAxis(cuts=(1.4, 2.0, 2.6)), CellAxis(words=("Car",))
    empty = replace(form, reference=Reference(axes=axes, counts=(1,) * 8))
    counts = naive.cell_counts(empty, made_table(7, 400).to_pylist())
    return Reference(axes=axes, counts=tuple(counts))


def rules_to_run(statistics, over=SIZE):
    """A rule for every kind and statistic, with bounds that some mini-batches break."""
    sentences = [*(kind.example for kind in KINDS.values()), *MORE]
    made = [form for sentence in sentences for form in forms_of(sentence, statistics, over)]
    return [with_breakable_bounds(form) if form.over else form for form in made]


def with_breakable_bounds(form):
    """The rule with bounds between values of the mini-batches, so that rounding decides nothing."""
    values = [naive.batch_value(form, [ROWS[row] for row in rows]) for rows in batches_of(form)]
    known = sorted({round(value, 9) for value in values if value is not None})
    lower, upper = (
        (known[at] + known[at + 1]) / 2 for at in (len(known) // 4, len(known) * 3 // 4 - 1)
    )
    return replace(form, pieces=(Piece(Number(lower), Number(upper)),))


def by_definition(form):
    """On how many samples a rule applies, and on how many it is broken."""
    if form.over:
        some = [[ROWS[row] for row in rows] for rows in batches_of(form)]
        outcomes = [naive.batch_outcome(form, rows) for rows in some]
    else:
        outcomes = [naive.outcome(form, row) for row in ROWS]
    return len(outcomes) - outcomes.count("n/a"), outcomes.count("broken")


def in_memory(rules, _form):
    """What `check` counts in a table."""
    found = sqrl.check(rules, TABLE)
    return int(found.applicable[0]), int(found.broken[0])


def in_parts(rules, _form):
    """What `check` counts in three parts that are read a few rows at a time."""
    found = sqrl.check(rules, scanned(TABLE, ends=(40, 41)))
    return int(found.applicable[0]), int(found.broken[0])


def one_by_one(rules, form):
    """How many rows the guard stops; it leaves out rules about mini-batches, and says so."""
    accept = sqrl.guard(rules)
    applicable, broken = by_definition(form)
    if form.over:
        return (applicable, broken) if accept.n_left_out else None
    return applicable, sum(bool(accept.broken(row)) for row in ROWS)


def on_tensors(rules, form):
    """What the rule loss counts with the classes as certain probabilities; or why it cannot."""

    of_loss = TABLE
    for name in rules.with_sequences(TABLE).names[TABLE.num_columns :]:  # which no mini-batch can
        of_loss = of_loss.append_column(name, pa.array([row[name] for row in ROWS]))

    def names(rows, _out):
        some = of_loss.take(rows)
        said = [CLASSES.index(word) for word in some["sentiment"].to_pylist()]
        chances = torch.eye(len(CLASSES), dtype=torch.float64)[said]
        return columns_of(some) | {"sentiment": chances}

    loss = sqrl.RuleLoss(rules, names, classes=CLASSES)
    parts = batches_of(form) if form.over else [np.arange(len(ROWS))]
    measured = [loss.measure(rows, None, hard=True) for rows in parts]
    return tuple(
        int(sum(getattr(one, count)[0].item() for one in measured))
        for count in ("applicable", "broken")
    )


def in_sql(rules, form):
    """What DuckDB counts."""
    batched = with_batches(TABLE, batches_of(form))
    (line,) = run(to_sql(rules, like=TABLE, batch_column="batch"), batched)
    return line["applicable"], line["violations"]


def in_pandas(rules, form):
    """How many rows the exported schema names; it does not count those that the rule applies to."""
    module = types.ModuleType("exported")
    exec(compile(to_pandera(rules, like=TABLE), "exported.py", "exec"), module.__dict__)
    frame = TABLE.to_pandas(types_mapper=pd.ArrowDtype)
    try:
        module.schema.validate(frame, lazy=True)
    except pandera.errors.SchemaErrors as error:
        return by_definition(form)[0], len(set(error.failure_cases["index"]))
    return by_definition(form)[0], 0


COMPILED = {
    "check": in_memory,
    "scan": in_parts,
    "guard": one_by_one,
    "torch": on_tensors,
    "sql": in_sql,
    "pandas": in_pandas,
}


def stated_reason(form, compiler):
    """Why the compiler does not take the rule, if somebody said so."""
    is_fixed = form.kind == "class" and "sentiment" not in names_in((form.head,), {})
    if compiler == "torch" and is_fixed:
        return "nothing can change whether"
    of_kind = KINDS[form.kind].refused.get(compiler)
    for node in (part for whole in parts_of(form) for one in whole for part in walk(one)):
        reasons = COLUMN_FUNCTIONS[node.function].refused if is_of_column(node) else {}
        of_kind = of_kind or reasons.get(compiler)
    if of_kind is None and form.statistic is not None:
        return batch_statistic(form.statistic).reasons.get(compiler)
    return of_kind


def is_of_column(node):
    """Whether a node is a function of a column of dates or text."""
    return isinstance(node, Call) and node.function in COLUMN_FUNCTIONS


def complaint(form, compiler):
    """What is wrong with a compiler's answer; None where nothing is."""
    rules = rule_set(form)
    reason, said = stated_reason(form, compiler), None
    try:
        found = COMPILED[compiler](rules, form)
    except (SqrlError, AdaptError) as error:
        found, said = None, str(error)
    if said is not None and reason is None:
        return f"gives no reason and says: {said}"
    if said is None and reason is not None:
        return f"computes what it should not be able to: {reason}"
    if said is not None and form.statistic is not None and compiler != "pandas":
        return None if reason in said else f"says {said} and not: {reason}"
    expected = by_definition(form)
    return None if said or found == expected else f"counts {found} and not {expected}"


def complaints(forms):
    """What is wrong with any compiler's answer to any of the rules, in words."""
    found = []
    for form in forms:
        for compiler in COMPILED:
            wrong = complaint(form, compiler)
            if wrong is not None:
                found.append(f"{compiler} {wrong} [{to_text(sentence_of(form))}]")
    return found
