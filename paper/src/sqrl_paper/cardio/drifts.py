"""What may happen to the cardio data after training: seven drifts, each in two strengths."""

from functools import partial

import numpy as np

from sqrl import Table
from sqrl_paper.cardio.drift import (
    Drift,
    fill,
    of_balance,
    of_some_values,
    of_values,
    rescale,
    shift,
)
from sqrl_paper.cardio.inputs import TableInputs
from sqrl_paper.cardio.task import LABEL

KILOPASCAL = 0.133322  # of a millimetre of mercury
INCH = 1 / 2.54  # of a centimetre
HALF_AND_ALL = (0.5, 1.0)


def cardio_drifts(train: Table, inputs: TableInputs) -> tuple[Drift, ...]:
    """The drifts, with spreads, means and fillings taken from the train rows alone."""
    centre = dict(zip(inputs.numbers, inputs.centres.tolist(), strict=True))
    return (
        *_shifts(inputs, "ap_hi", (0.5, 1.0)),
        *_shifts(inputs, "age", (-1.0, 1.0)),
        *(
            of_values(
                "ap_hi stretched",
                f"x {factor:g}",
                partial(rescale, name="ap_hi", factor=factor, about=centre["ap_hi"]),
            )
            for factor in (0.5, 2.0)
        ),
        *_units("ap_hi in kilopascals", "ap_hi", KILOPASCAL),
        *_units("height in inches", "height", INCH),
        *(_missing(train, name) for name in ("cholesterol", "ap_hi")),
        *(of_balance(LABEL, share) for share in (0.3, 0.15)),
    )


def _shifts(inputs: TableInputs, name: str, strengths: tuple[float, ...]) -> list[Drift]:
    return [
        of_values(
            f"{name} shifted",
            f"{strength:+g} sd",
            partial(shift, name=name, by=strength * inputs.spread(name)),
        )
        for strength in strengths
    ]


def _units(title: str, name: str, factor: float) -> list[Drift]:
    convert = partial(rescale, name=name, factor=factor)
    return [of_some_values(title, share, convert) for share in HALF_AND_ALL]


def _missing(train: Table, name: str) -> Drift:
    """A column that is not delivered; its median is put there instead."""
    value = float(np.median(train[name].values))
    return of_values("column missing", name, partial(fill, name=name, value=value))
