"""Rules that disclose little of any single row: rates under differential privacy.

Each column divides the rows into disjoint cells (bucket x class), so that a row that is added or
removed changes one count of each column by one. A column that is given a budget e gets discrete
Laplace noise exp(-e |x|) on all its counts; the budgets of the columns, and of the number of rows,
add up to epsilon. Where the cells lie comes from rows that are public. All else is computed from
the noisy counts. The proof stands in docs/decisions/0034-privacy.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language import name_text, parse, to_text
from sqrl._language.forms import Form, read_form
from sqrl._language.tree import Compare, Name, Node
from sqrl._learn.noise import Below, draw_noise, source_of
from sqrl._learn.propose import is_class_label
from sqrl._learn.roles import check_label, watch
from sqrl._learn.supervise import facts_of
from sqrl._rows.rows import Rows, constant_of
from sqrl._rules.label import class_codes
from sqrl._rules.ruleset import Provenance, RuleSet
from sqrl._rules.schema import Schema, as_schema
from sqrl._version import __version__
from sqrl.errors import DataError, SchemaError

FOR_SIZE = Fraction(1, 50)  # of the budget goes to the number of rows
DIGITS = 10**6  # budgets are rounded down to so many parts of one
TOLERATED = 0.04  # error of a rate from noise: where there would be more, cells are made larger
BUCKETS = (8, 6, 5, 4, 3, 2)
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


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A column's facts, with one more cell for rows on which none of them holds."""

    column: str
    formulas: tuple[Node, ...]
    budget: Fraction = Fraction(0)

    def codes(self, rows: Rows) -> Int64s:
        """The cell of each row: exactly one."""
        made = np.full(rows.n, len(self.formulas), np.int64)
        for place, formula in reversed(list(enumerate(self.formulas))):
            made[rows.all_true((formula,))] = place
        return made

    def count(self, rows: Rows, classes: Int64s, n_classes: int) -> Int64s:
        """How many rows of each class are in each cell: each row is counted once.

        Shapes: result (n_formulas + 1, n_classes).
        """
        n_cells = len(self.formulas) + 1
        flat = self.codes(rows) * n_classes + classes
        return np.bincount(flat, minlength=n_cells * n_classes).reshape(n_cells, n_classes)


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
    for_size = epsilon * FOR_SIZE
    n_rows = max(1, rows.n + draw_noise(for_size, below))
    cells = plan_cells(as_table(private.public), label, table, n_rows, epsilon - for_size)
    noisy = [add_noise(one.count(rows, classes, len(names)), one.budget, below) for one in cells]
    totals = _totals(cells, noisy)
    noisy = [_consistent(counts, totals) for counts in noisy]
    said = _base_rules(label, names, totals, cells)
    for one, counts in zip(cells, noisy, strict=True):
        said += _rules_of(one, counts, label, names, min_support)
    return _rule_set(said, table.source, label, n_rows, cells, private)


def plan_cells(
    public: Table, label: str, table: Table, n_rows: int, epsilon: Fraction
) -> list[Cells]:
    """Where the cells of each column lie, and its budget: from public rows, and a noisy size.

    Columns with many cells get more: cell sizes fall as 1 / cells, and with budgets that grow as
    cells^(2/3) the errors of all rates together are least.
    """
    watched = [one for one in watch(public) if one.name != label and one.name in table]
    seen = Rows(public, {})
    every = np.arange(public.n_rows)
    for n_buckets in BUCKETS:
        facts = facts_of(seen, watched, every, n_buckets, max(2.0, 0.01 * public.n_rows))
        if not facts:
            raise DataError(
                "The public rows have no column that facts can be made of.",
                where=public.source,
                fix="give public rows with the columns of the private ones",
            )
        usual = math.sqrt(2) * len(facts) / float(epsilon)
        largest = max(len(one.formulas) for one in facts)
        if 0.7 * usual * min(largest, n_buckets) / n_rows <= TOLERATED:
            break
    weights = [(len(one.formulas) + 1) ** (2 / 3) for one in facts]
    parts = [Fraction(math.floor(DIGITS * w / sum(weights)), DIGITS) for w in weights]
    return [
        Cells(one.column, one.formulas, epsilon * part)
        for one, part in zip(facts, parts, strict=True)
    ]


def add_noise(counts: Int64s, budget: Fraction, below: Below) -> Floats:
    """Counts of disjoint cells, each with noise of its own."""
    noise = [draw_noise(budget, below) for _ in range(counts.size)]
    return counts + np.array(noise, np.float64).reshape(counts.shape)


def noise_variance(budget: Fraction) -> float:
    """The variance of noise with this budget: 2 q / (1 - q)^2 with q = exp(-budget)."""
    q = math.exp(-float(budget))
    return 2 * q / (1 - q) ** 2


def _totals(cells: Sequence[Cells], noisy: Sequence[Floats]) -> Floats:
    """The number of rows of each class: the sum over the cells of each column, averaged."""
    sure = [
        1.0 / (len(n) * noise_variance(one.budget)) for one, n in zip(cells, noisy, strict=True)
    ]
    sums = [weight * counts.sum(axis=0) for weight, counts in zip(sure, noisy, strict=True)]
    return np.asarray(np.maximum(np.sum(sums, axis=0) / sum(sure), 1.0))


def _consistent(counts: Floats, totals: Floats) -> Floats:
    """Counts that add up to the totals, as all columns' do: what is off is shared by the cells."""
    return np.asarray(np.maximum(counts + (totals - counts.sum(axis=0)) / len(counts), 0.0))


@dataclass(frozen=True, slots=True)
class _Said:
    form: Form
    rows: int
    centre: float
    spread: float


def _base_rules(
    label: str, names: Sequence[str], totals: Floats, cells: Sequence[Cells]
) -> list[_Said]:
    """The rate of each class."""
    sure = sum(1.0 / ((len(one.formulas) + 1) * noise_variance(one.budget)) for one in cells)
    n_rows = float(totals.sum())
    made = []
    for place, name in enumerate(names):
        rate = float(totals[place]) / n_rows
        error = math.sqrt(rate * (1 - rate) / n_rows + 2.0 / sure / n_rows**2)
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
    cells: Sequence[Cells],
    private: Private,
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
        f" on {len(cells)} columns; buckets and values from public rows{seeded}",
    )
    schema: Schema = as_schema(
        {
            "label": label,
            "rules": [f"? <= rate({name_text(label)} = Y) <= ? over {OVER}"],
            "let": {"Y": f"values({name_text(label)})"},
        }
    )
    return replace(rules, schema=schema, provenance=provenance).with_ids()
