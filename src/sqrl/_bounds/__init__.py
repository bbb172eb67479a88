"""Bounds of all candidates at once: the inner loop of Algorithm 1, one file for each kind of rule.

A measure is made once, on the train rows: it fixes conditions, buckets and literals. It then gives
the bounds of every candidate on any table, train or validation.
"""

from collections.abc import Callable

from sqrl._bounds._batch import BatchMeasure
from sqrl._bounds._class import ClassMeasure
from sqrl._bounds._logic import LogicMeasure
from sqrl._bounds._measure import Bounds, Measure, Sampler
from sqrl._bounds._sample import SampleMeasure
from sqrl._candidates import Candidates
from sqrl._evaluate import Rows
from sqrl._quantiles import BoundMethod
from sqrl._schema import Schema

__all__ = ["Bounds", "Measure", "Sampler", "make_measure"]

_KINDS: dict[str, Callable[[Candidates, Rows, Schema, BoundMethod], Measure]] = {
    "sample": SampleMeasure,
    "batch": BatchMeasure,
    "logic": LogicMeasure,
    "class": ClassMeasure,
}


def make_measure(candidates: Candidates, train: Rows, schema: Schema) -> Measure:
    """What bounds the candidates of one template."""
    piece = candidates.template.form.pieces[0]
    method = BoundMethod(
        schema.delta, piece.lower is not None, piece.upper is not None, schema.bounds
    )
    return _KINDS[candidates.template.form.kind](candidates, train, schema, method)
