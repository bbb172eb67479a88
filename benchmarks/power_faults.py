"""Faults of real life, planted in a batch of clean rows; and changes that are none.

A fault knows its kind, how strong it comes, and which columns it can be planted in. Planting gives
the batch back with the columns that a person would name as the cause.
"""

from dataclasses import dataclass

from numpy.random import Generator

from power_number_faults import number_faults
from power_other_faults import other_faults
from power_planting import Clean, Frame, Kinds, Plant, Planted


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault in one strength; planting gives None where the table has no place for it."""

    kind: str
    strength: float
    plant: Plant
    must_alarm: bool = True


def faults() -> list[Fault]:
    """Every kind in every strength, and the changes that are no faults."""
    return [
        Fault(kind, strength, plant, must_alarm)
        for kinds, must_alarm in ((number_faults() | other_faults(), True), (_no_faults(), False))
        for kind, (plant, strengths) in kinds.items()
        for strength in strengths
    ]


def _no_faults() -> Kinds:
    """The same rows, written in another way."""
    return {
        "columns in another order": (_column_order, (1.0,)),
        "whole numbers as floats": (_floats, (1.0,)),
        "rows in another order": (_row_order, (1.0,)),
        "text as categories": (_categorical, (1.0,)),
    }


def _column_order(batch: Frame, _clean: Clean, rng: Generator, _share: float) -> Planted:
    return Planted(batch[list(rng.permutation(batch.columns))], ())


def _floats(batch: Frame, _clean: Clean, _rng: Generator, _share: float) -> Planted:
    whole = batch.select_dtypes("integer").columns
    return Planted(batch.astype(dict.fromkeys(whole, float)), ())


def _row_order(batch: Frame, _clean: Clean, rng: Generator, _share: float) -> Planted:
    return Planted(batch.iloc[rng.permutation(len(batch))].reset_index(drop=True), ())


def _categorical(batch: Frame, _clean: Clean, _rng: Generator, _share: float) -> Planted:
    text = batch.select_dtypes(["object", "string"]).columns
    return Planted(batch.astype(dict.fromkeys(text, "category")), ())
