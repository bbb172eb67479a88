"""A seed's patients, model and rules; and the mini-batches that each method learns from."""

from functools import cache

from sqrl import Batches
from sqrl_paper.imputation.physionet import N_RECORDS, Series, read_physionet
from sqrl_paper.imputation.saits import SaitsSize
from sqrl_paper.imputation.saits_training import SaitsTraining
from sqrl_paper.imputation.task import BATCH, Imputation, make_imputation
from sqrl_paper.place import Place

QUICK_PATIENTS = 200
QUICK_BATCH = 10
QUICK_SIZE = SaitsSize(n_layers=1, width=32, n_heads=2, inner=32)
QUICK_TRAINING = SaitsTraining(epochs=20, batch=8, lr=5e-3)


@cache
def prepared(place: Place, seed: int) -> Imputation:
    """The split, the model (trained once, then read from the cache) and the rules of a seed."""
    series = read_physionet(place.folder, n_records=None if place.quick else N_RECORDS)
    if place.quick:
        series = Series(series.records[:QUICK_PATIENTS], series.values[:QUICK_PATIENTS])
    return make_imputation(
        series,
        seed=seed,
        size=QUICK_SIZE if place.quick else None,
        training=QUICK_TRAINING if place.quick else None,
        batch=QUICK_BATCH if place.quick else BATCH,
        cache=place.cache / "models",
    )


def batches_of(task: Imputation, part: str, *, seed: int, of: str = "same") -> Batches:
    """The mini-batches of a part, as if never gone through before.

    With `of="train"` those of as many train patients: as many steps, but none of the part's own.
    """
    chosen: Batches = getattr(task, part)
    values, given = getattr(task.parts, part if of == "same" else of).inputs()
    inputs = values[: chosen.n_rows], given[: chosen.n_rows]
    return Batches(inputs, size=chosen.size, seed=seed)
