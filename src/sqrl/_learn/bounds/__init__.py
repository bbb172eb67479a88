"""Bounds of all candidates at once: the inner loop of Algorithm 1, one file for each kind of rule.

A measure is made once, on the train rows: it fixes conditions, buckets and literals. It then gives
the bounds of every candidate on any rows, train or validation.
"""

from collections.abc import Callable, Mapping

from sqrl._data.table import Table
from sqrl._language.kinds import handler
from sqrl._learn.bounds.batch import BatchMeasure
from sqrl._learn.bounds.formula import FormulaMeasure
from sqrl._learn.bounds.implied_class import ClassMeasure
from sqrl._learn.bounds.logic import LogicMeasure
from sqrl._learn.bounds.measure import Bounds, Measure, Sampler
from sqrl._learn.bounds.sample import SampleMeasure
from sqrl._learn.bounds.shares import SharesMeasure
from sqrl._learn.candidates import Candidates
from sqrl._learn.conditions import make_grid
from sqrl._rows.cells import Grid
from sqrl._rows.quantiles import BoundMethod
from sqrl._rows.questions import Asking
from sqrl._rules.schema import Schema

__all__ = ["MEASURES", "Bounds", "FormulaMeasure", "Measure", "Sampler", "make_measure"]

MEASURES: Mapping[str, Callable[[Candidates, BoundMethod, Grid, Table], Measure]] = {
    "sample": lambda candidates, method, grid, _: SampleMeasure(candidates, method, grid),
    "batch": lambda candidates, method, grid, _: BatchMeasure(candidates, method, grid),
    "logic": lambda candidates, method, grid, table: LogicMeasure(
        candidates, method, grid, table.n_rows
    ),
    "class": lambda candidates, method, grid, table: (
        ClassMeasure(candidates, method, grid, table)
        if candidates.template.form.pieces
        else FormulaMeasure(candidates, method, grid)
    ),
    "shares": SharesMeasure,
}


def make_measure(candidates: Candidates, table: Table, schema: Schema) -> Asking[Measure]:
    """What bounds the candidates of one template; the table says which values columns have."""
    form = candidates.template.form
    sides = [(piece.lower is not None, piece.upper is not None) for piece in form.pieces[:1]]
    method = BoundMethod(candidates.template.delta, *(sides or [(True, True)])[0], schema.bounds)
    grid = yield from make_grid(candidates, schema)
    measure = handler(MEASURES, form.kind, "learn")(candidates, method, grid, table)
    if isinstance(measure, SharesMeasure):
        yield from measure.look(schema)
    return measure
