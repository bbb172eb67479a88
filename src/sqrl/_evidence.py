"""What held-out rows say of a rule, in a few numbers: enough to test new rows against them later.

Bounds of a mini-batch rule come from mini-batches that share rows, and the rules kept are those
that looked best on the train rows. Neither can say what chance alone would do. Held-out rows can:
they were not learned from. For each rule we keep, of those rows,

    logic    [body, head, both, rows]   how many rows are in the body, the head, both, and in all
    batch    [rows, mean, variance]     of the subject's values
    class    [applicable, broken]       how many rows are in the body, and how many break the rule
    sample   [applicable, broken]       how many rows the rule applies to, and how many break it
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._evaluate import Rows
from sqrl._forms import Form
from sqrl._outcomes import judge_rows
from sqrl._rules import COLUMNS, RuleSet

N_NUMBERS = {"logic": 4, "batch": 3, "class": 2, "sample": 2}


def evidence_of(form: Form, rows: Rows) -> list[float]:
    """The numbers for one rule on these rows.

    >>> from sqrl._data import as_table
    >>> from sqrl._forms import read_form
    >>> from sqrl._language import parse
    >>> rows = Rows(as_table({"a": [1, 1, 0, 0], "y": [1, 0, 1, None]}), {})
    >>> evidence_of(read_form(parse("f1(a = 1 => y = 1) <= 0.9 over 2")), rows)
    [2.0, 2.0, 1.0, 3.0]
    """
    if form.kind in {"sample", "class"}:
        return _single_evidence([form], rows)[0]
    here = rows.all_true(form.given)
    if form.kind == "batch":
        assert form.subject is not None
        values = rows.numbers(form.subject)[here]
        values = values[~np.isnan(values)]
        if not values.size:
            return [0.0, 0.0, 0.0]
        with np.errstate(invalid="ignore", over="ignore"):  # of infinite values neither is defined
            return [float(values.size), float(values.mean()), float(values.var())]
    body = rows.all_true(form.body)
    if form.head is None:
        inside = float(np.count_nonzero(here & body))
        return [inside, inside, inside, float(np.count_nonzero(here))]
    head = rows.truths(form.head)
    here &= head.true | head.false
    counts = [here & body, here & head.true, here & body & head.true, here]
    return [float(np.count_nonzero(mask)) for mask in counts]


def _single_evidence(forms: Sequence[Form], rows: Rows) -> list[list[float]]:
    """The numbers for each rule about single rows."""
    outcomes = judge_rows(forms, rows)
    applicable = np.bincount(outcomes.piece_of, outcomes.applicable, len(forms))
    broken = np.bincount(outcomes.piece_of, outcomes.broken, len(forms))
    return np.stack([applicable, broken], axis=1).tolist()  # type: ignore[no-any-return]


def add_evidence(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """The numbers for the rows of both.

    >>> add_evidence([2.0, 1.0, 0.0], [2.0, 3.0, 0.0])
    [4.0, 2.0, 1.0]
    """
    if len(first) != N_NUMBERS["batch"]:
        return [one + other for one, other in zip(first, second, strict=True)]
    (n, mean, variance), (m, new_mean, new_variance) = first, second
    rows = n + m
    if not rows:
        return [0.0, 0.0, 0.0]
    apart = (new_mean - mean) ** 2 * n * m / rows
    return [
        rows,
        (n * mean + m * new_mean) / rows,
        (n * variance + m * new_variance + apart) / rows,
    ]


def with_evidence(rules: RuleSet, rows: Rows) -> RuleSet:
    """The rules with what these rows say of each of them; candidates not selected have none."""
    status = rules.table["status"].to_pylist()
    forms = {i: rules.form(i) for i in range(len(rules)) if status[i] in {None, "selected"}}
    single = [i for i, form in forms.items() if form.kind in {"sample", "class"}]
    found: list[Any] = [None] * len(rules)
    for index, counts in zip(
        single, _single_evidence([forms[i] for i in single], rows), strict=True
    ):
        found[index] = counts
    for index in forms.keys() - set(single):
        found[index] = evidence_of(forms[index], rows)
    column = pa.array(found, COLUMNS.field("evidence").type)
    place = COLUMNS.get_field_index("evidence")
    table = rules.table.set_column(place, COLUMNS.field("evidence"), column)
    return RuleSet(table, rules.nodes, rules.schema, rules.provenance)
