"""What held-out rows say of a rule, in a few numbers: enough to test new rows against them later.

Bounds of a mini-batch rule come from mini-batches that share rows, and the rules kept are those that
looked best on the train rows. Neither can say what chance alone would do. Held-out rows can: they
were not learned from. For each rule we keep, of those rows,

    logic   [body, head, both, rows]   how many rows are in the body, the head, both, and in all
    batch   [rows, mean, variance]     of the subject's values
    class   [body, broken]             how many rows are in the body, and how many break the rule
"""

from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._evaluate import Rows
from sqrl._forms import Form
from sqrl._rules import COLUMNS, RuleSet


def evidence_of(form: Form, rows: Rows) -> list[float] | None:
    """The numbers for one rule on these rows; None for a rule about single rows.

    >>> from sqrl._data import as_table
    >>> from sqrl._forms import read_form
    >>> from sqrl._language import parse
    >>> rows = Rows(as_table({"a": [1, 1, 0, 0], "y": [1, 0, 1, None]}), {})
    >>> evidence_of(read_form(parse("f1(a = 1 => y = 1) <= 0.9 over 2")), rows)
    [2.0, 2.0, 1.0, 3.0]
    """
    if form.kind == "sample":
        return None
    here = rows.all_true(form.given)
    if form.kind == "batch":
        assert form.subject is not None
        values = rows.numbers(form.subject)[here]
        values = values[~np.isnan(values)]
        if not values.size:
            return [0.0, 0.0, 0.0]
        return [float(values.size), float(values.mean()), float(values.var())]
    if form.kind == "class":
        assert form.head is not None
        head = rows.truths(form.head)
        return [float((here & (head.true | head.false)).sum()), float((here & head.false).sum())]
    body = rows.all_true(form.body)
    if form.head is None:
        inside = float((here & body).sum())
        return [inside, float(here.sum()), inside, float(here.sum())]
    head = rows.truths(form.head)
    here &= head.true | head.false
    counts = [here & body, here & head.true, here & body & head.true, here]
    return [float(mask.sum()) for mask in counts]


def with_evidence(rules: RuleSet, rows: Rows) -> RuleSet:
    """The rules with what these rows say of each of them."""
    found: list[Any] = [evidence_of(rules.form(index), rows) for index in range(len(rules))]
    column = pa.array(found, COLUMNS.field("evidence").type)
    place = COLUMNS.get_field_index("evidence")
    table = rules.table.set_column(place, COLUMNS.field("evidence"), column)
    return RuleSet(table, rules.nodes, rules.schema, rules.provenance)
