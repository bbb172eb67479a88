"""Rules that disclose little of any single row: rates and means under differential privacy.

Each category divides the rows into disjoint cells (value x class), so that a row that is added or
removed changes one count of each by one. Of numbers the values of the rows of a class are added up,
in whole steps from their middle: such a row changes the sums of one class, by LIMIT in all of them
together at most. A table of counts that is given a budget e gets discrete Laplace noise
exp(-e |x|), and the sums exp(-e |x| / LIMIT); the budgets of all tables, of the sums, of the
classes and of the number of rows add up to epsilon. Where cells and steps lie comes from rows that
are public (`private_plan`). All else is computed from the noisy numbers. The proof stands in
docs/decisions/0034-privacy.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from sqrl._data.table import as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language import name_text, parse, to_text
from sqrl._language.forms import Form, read_form
from sqrl._language.tree import Compare, Name, is_about_missing
from sqrl._learn.noise import Below, draw_noise, source_of
from sqrl._learn.private_plan import (
    DIGITS,
    Cells,
    Number,
    Plan,
    Sums,
    noise_variance,
    plan_tables,
)
from sqrl._learn.propose import is_class_label
from sqrl._learn.roles import check_label
from sqrl._rows.rows import Rows, constant_of
from sqrl._rules.label import class_codes
from sqrl._rules.ruleset import Provenance, RuleSet
from sqrl._rules.schema import Schema, as_schema
from sqrl._version import __version__
from sqrl.errors import DataError, SchemaError

FOR_SIZE = Fraction(1, 50)  # of the budget goes to the number of rows
FOR_CLASSES = Fraction(1, 20)  # of the budget goes to the number of rows of each class
STRENGTH = 0.03  # over the square root of the rows: what holds effects back without noise
LEAST_EFFECT = 0.01  # squared, of a number's standard deviation on the logits of a class
NORMAL_98 = 2.326
OVER = 256


class Private(Struct, frozen=True, kw_only=True):
    """How much one row may show: its presence changes the odds of any file by at most e^epsilon.

    `public` are rows, of anybody, from which buckets of numbers and values of categories are taken:
    the unlabelled rows that a model will be trained on, say. Noise comes from the system's secure
    source; with a `noise_seed` it can be drawn again by whoever knows the seed, who can then
    subtract it.
    """

    epsilon: float
    public: Any
    noise_seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise SchemaError(f"epsilon is {self.epsilon}.", fix="use a number above 0, such as 1")


def learn_private(
    train: Any, private: Private, *, label: str | None, min_support: int | None = None
) -> RuleSet:
    """Rates of the label within facts, with noise that hides any single row."""
    table = as_table(train)
    if label is None:
        raise DataError(
            "Private rules are about a label, and none is named.", fix="name it: label="
        )
    check_label(table, label)
    if not is_class_label(table[label]):
        raise DataError(
            f"The label {label!r} is a number; private rules state rates of classes.",
            where=table.source,
            fix="cut it into classes at limits that are public",
        )
    epsilon = Fraction(math.floor(private.epsilon * DIGITS), DIGITS)
    below = source_of(private.noise_seed)
    names, classes = class_codes(table[label])
    rows = Rows(table.take(np.flatnonzero(classes >= 0)), {})
    classes = classes[classes >= 0]
    for_size, for_classes = epsilon * FOR_SIZE, epsilon * FOR_CLASSES
    n_rows = max(1, rows.n + draw_noise(for_size, below))
    counted = np.bincount(classes, minlength=len(names))[None]
    per_class = np.maximum(add_noise(counted, for_classes, below)[0], 1.0)
    public = as_table(private.public)
    plan = plan_tables(public, label, table, n_rows, per_class, epsilon - for_size - for_classes)
    noisy = [
        add_noise(one.count(rows, classes, len(names)), one.budget, below) for one in plan.cells
    ]
    sums = add_noise(plan.sums.add_up(rows, classes, len(names)), plan.sums.noise, below)
    totals, unsure = _totals(plan.cells, noisy, per_class, for_classes)
    noisy = [_consistent(counts, totals) for counts in noisy]
    said = _base_rules(label, names, totals, unsure)
    for one, counts in zip(plan.cells, noisy, strict=True):
        said += _rules_of(one, counts, label, names, min_support)
    missing = {
        one.column: counts[0]
        for one, counts in zip(plan.cells, noisy, strict=True)
        if len(one.formulas) == 1 and is_about_missing(one.formulas[0])
    }
    for number, added in zip(plan.sums.numbers, sums, strict=True):
        there = np.maximum(totals - missing.get(number.column, 0.0), 1.0)
        said += _means_of(number, added, plan.sums.noise, there, label, names, min_support)
    strength = STRENGTH / math.sqrt(n_rows) + _against_noise(plan.sums, sums, totals)
    return _rule_set(said, table.source, label, n_rows, plan, private, strength)


def add_noise(counts: Int64s, budget: Fraction, below: Below) -> Floats:
    """Counts of disjoint cells, each with noise of its own."""
    noise = [draw_noise(budget, below) for _ in range(counts.size)]
    return counts + np.array(noise, np.float64).reshape(counts.shape)


def _totals(
    cells: Sequence[Cells], noisy: Sequence[Floats], per_class: Floats, budget: Fraction
) -> tuple[Floats, float]:
    """The number of rows of each class, and its variance by noise.

    Each table of counts says it too, by the sum over its cells: the surer counts more.
    """
    tables = [per_class[None], *noisy]
    variances = [noise_variance(budget), *(noise_variance(one.budget) for one in cells)]
    sure = [1.0 / (len(n) * one) for n, one in zip(tables, variances, strict=True)]
    sums = [weight * counts.sum(axis=0) for weight, counts in zip(sure, tables, strict=True)]
    return np.asarray(np.maximum(np.sum(sums, axis=0) / sum(sure), 1.0)), 1.0 / sum(sure)


def _consistent(counts: Floats, totals: Floats) -> Floats:
    """Counts that add up to the totals, as all columns' do: what is off is shared by the cells."""
    return np.asarray(np.maximum(counts + (totals - counts.sum(axis=0)) / len(counts), 0.0))


@dataclass(frozen=True, slots=True)
class _Said:
    form: Form
    rows: int
    centre: float
    spread: float


def _base_rules(label: str, names: Sequence[str], totals: Floats, unsure: float) -> list[_Said]:
    """The rate of each class."""
    n_rows = float(totals.sum())
    made = []
    for place, name in enumerate(names):
        rate = float(totals[place]) / n_rows
        error = math.sqrt(rate * (1 - rate) / n_rows + 2.0 * unsure / n_rows**2)
        head = to_text(Compare(Name(label), "=", constant_of(name)))
        form = _form(f"rate({head})", rate, error, n_rows, n_rows)
        made.append(_Said(form, round(n_rows), rate, error))
    return made


def _rules_of(
    cells: Cells, counts: Floats, label: str, names: Sequence[str], min_support: int | None
) -> list[_Said]:
    """The rate of each class within each cell that has enough rows, by the noisy counts."""
    noise = noise_variance(cells.budget)
    fewest = max(min_support or 20, 2 * math.sqrt(noise * len(names)))
    wanted = range(1, 2) if len(names) == 2 else range(len(names))
    made = []
    for place, formula in enumerate(cells.formulas):
        n_rows = float(counts[place].sum())
        if n_rows < fewest:
            continue
        for which in wanted:
            rate = float(counts[place, which]) / n_rows
            smooth = (counts[place, which] + 0.5) / (n_rows + 1)
            from_noise = noise * ((1 - rate) ** 2 + (len(names) - 1) * rate**2) / n_rows**2
            error = math.sqrt(smooth * (1 - smooth) / n_rows + from_noise)
            head = to_text(Compare(Name(label), "=", constant_of(names[which])))
            claim = f"precision({to_text(formula)} => {head})"
            form = _form(claim, rate, error, n_rows, float(counts.sum()))
            made.append(_Said(form, round(n_rows), rate, error))
    return made


def _means_of(
    number: Number,
    added: Floats,
    budget: Fraction,
    there: Floats,
    label: str,
    names: Sequence[str],
    min_support: int | None,
) -> list[_Said]:
    """The mean of a number within each class that has enough rows, by the noisy sums and counts.

    The variance of rows is that among public ones. A mean lies within the limits of the number.
    """
    noise = noise_variance(budget) * number.step**2
    made = []
    for place, name in enumerate(names):
        n_rows = float(there[place])
        if n_rows < (min_support or 20):
            continue
        mean = number.middle + number.step * float(added[place]) / n_rows
        mean = min(max(mean, number.low), number.high)
        error = math.sqrt(number.deviation**2 / n_rows + noise / n_rows**2)
        in_batch = max(1.0, OVER * n_rows / max(float(there.sum()), 1.0))
        width = NORMAL_98 * math.sqrt(error**2 + number.deviation**2 / in_batch)
        low, high = max(number.low, mean - width), min(number.high, mean + width)
        given = to_text(Compare(Name(label), "=", constant_of(name)))
        claim = f"mean({to_text(number.expression)})"
        text = f"{given} => {low:.6g} <= {claim} <= {high:.6g} over {OVER}"
        made.append(_Said(read_form(parse(text)), round(n_rows), mean, error))
    return made


def _against_noise(sums: Sums, added: Floats, totals: Floats) -> float:
    """How strongly a model should hold effects back for the noise: noise over signal.

    Near no effect at all a number with effect w on a class of rate p has p (1 - p) w as its mean
    with the class. So the squared means, less the variance of their noise, tell how large effects
    are, and the strength at which noise of that variance does least harm is its part of those.
    """
    if not sums.numbers:
        return 0.0
    n_rows = float(totals.sum())
    base = totals / n_rows
    likely = np.maximum(base * (1 - base), 1e-3)
    noise, signal = [], []
    for one, sum_of in zip(sums.numbers, added, strict=True):
        centred = sum_of - base * sum_of.sum()
        unit = n_rows * one.deviation / one.step
        variance = noise_variance(sums.noise) / unit**2
        noise.append(variance / likely)
        signal.append(((centred / unit) ** 2 - variance) / likely**2)
    return float(np.mean(noise) / max(np.mean(signal), LEAST_EFFECT))


def _form(claim: str, rate: float, error: float, n_body: float, n_rows: float) -> Form:
    """A rule whose bounds are where 98 % of mini-batches with this rate lie, were it normal."""
    in_batch = max(1.0, OVER * n_body / max(n_rows, 1.0))
    width = NORMAL_98 * math.sqrt(error**2 + rate * (1 - rate) / in_batch)
    low, high = max(0.0, rate - width), min(1.0, rate + width)
    return read_form(parse(f"{low:.4f} <= {claim} <= {high:.4f} over {OVER}"))


def _rule_set(
    said: Sequence[_Said],
    source: str,
    label: str,
    n_rows: int,
    plan: Plan,
    private: Private,
    strength: float,
) -> RuleSet:
    columns: Mapping[str, list[Any]] = {
        "coverage": [0.98] * len(said),
        "rows": [one.rows for one in said],
        "centre": [one.centre for one in said],
        "spread": [one.spread for one in said],
        "status": ["selected"] * len(said),
    }
    rules = RuleSet.from_forms([one.form for one in said], **columns)
    seeded = "" if private.noise_seed is None else "; noise from a seed: who knows it can undo it"
    provenance = Provenance(
        sqrl=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        rows=n_rows,
        train_rows=n_rows,
        valid_rows=0,
        seed=0,
        fingerprint="",
        counts={"selected": len(said)},
        private=f"epsilon={private.epsilon:g} for a row added or removed, by discrete Laplace noise"
        f" on {len(plan.cells)} tables of counts and sums of {len(plan.sums.numbers)} numbers;"
        f" values and limits from public rows{seeded}",
    )
    schema: Schema = as_schema(
        {
            "label": label,
            "rules": [f"? <= rate({name_text(label)} = Y) <= ? over {OVER}"],
            "let": {"Y": f"values({name_text(label)})"},
            "train": {"strength": float(f"{strength:.3g}")},
        }
    )
    return replace(rules, schema=schema, provenance=provenance).with_ids()
