"""Baselines that change no score: other thresholds, or labels drawn by the probabilities.

The AUC looks at scores alone, so that whatever these mend is mended at the source's AUC.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sqrl import Batch, RuleLoss
from sqrl_paper.cardio.data import CLEAN, Prepared, Rows, prepared
from sqrl_paper.cardio.runs import predict
from sqrl_paper.cardio.scores import FIRST_SEED
from sqrl_paper.jobs import Look
from sqrl_paper.place import Place

Json = dict[str, Any]
NAMES = ("likeliest", "one threshold", "thresholds by ap_hi", "drawn")
TRIED = tuple(round(0.30 + 0.05 * place, 2) for place in range(9))  # of the probability
PERCENTILES = (5, 20, 35, 50, 65, 80, 95)  # of ap_hi in train rows: the buckets of the schema
FITTED_ON = 6  # mini-batches, none of which is counted on
SWEEPS = 2
FITTING_SEED = 5000


def measure_thresholds(place: Place, job: Look) -> Json:
    """Accuracy and rules broken by each way to make a label of the same probabilities.

    Thresholds are those that break the fewest rules on other mini-batches of the test rows, without
    labels.
    """
    data = prepared(place, job.seed)
    rows = data.rows("test", CLEAN)
    chances = predict(data, rows).double().softmax(-1)[:, 1]
    loss = data.loss()
    fitted_on = list(rows.drawn(FITTED_ON, data.sizes.rules, seed=FITTING_SEED + job.seed))
    everywhere = torch.zeros(len(chances), dtype=torch.int64)
    one = fit_thresholds(loss, fitted_on, chances, everywhere, tried=TRIED)
    groups = ap_hi_groups(data, rows)
    several = fit_thresholds(loss, fitted_on, chances, groups, tried=TRIED)
    generator = torch.Generator().manual_seed(job.seed)
    labels = {
        "likeliest": (chances > 0.5).long(),
        "one threshold": decide(chances, one, everywhere),
        "thresholds by ap_hi": decide(chances, several, groups),
        "drawn": torch.bernoulli(chances, generator=generator).long(),
    }
    counted_on = list(
        rows.drawn(data.sizes.n_counted, data.sizes.rules, seed=FIRST_SEED + job.seed)
    )
    return {
        "thresholds": {"one threshold": one, "thresholds by ap_hi": several},
        "ways": {
            name: {
                "broken": count_labels(loss, counted_on, found),
                "accuracy": float((found == rows.labels).double().mean()),
                "predicted": float(found.double().mean()),
            }
            for name, found in labels.items()
        },
    }


def ap_hi_groups(data: Prepared, rows: Rows) -> Tensor:
    """The bucket of each row's ap_hi, by cut points of the train rows."""
    cuts = np.unique(np.percentile(data.parts["train"]["ap_hi"].values, PERCENTILES))
    return torch.from_numpy(np.searchsorted(cuts, rows.made.true["ap_hi"].values, side="left"))


def fit_thresholds(
    loss: RuleLoss,
    batches: Sequence[Batch],
    chances: Tensor,
    groups: Tensor,
    *,
    tried: Sequence[float],
) -> list[float]:
    """A threshold for each group, one after the other: the one that breaks the fewest rules.

    Of equals the one nearest to a half.
    """
    n_groups = int(groups.max()) + 1
    chosen = [0.5] * n_groups
    for _ in range(SWEEPS if n_groups > 1 else 1):
        for group in range(n_groups):

            def broken(threshold: float, group: int = group) -> tuple[float, float]:
                thresholds = [*chosen[:group], threshold, *chosen[group + 1 :]]
                labels = decide(chances, thresholds, groups)
                return count_labels(loss, batches, labels), abs(threshold - 0.5)

            chosen[group] = min(tried, key=broken)
    return chosen


def decide(chances: Tensor, thresholds: Sequence[float], groups: Tensor) -> Tensor:
    """The label of each row by the threshold of its group.

    >>> decide(torch.tensor([0.4, 0.4]), [0.5, 0.3], torch.tensor([0, 1])).tolist()
    [0, 1]
    """
    return (chances > torch.tensor(thresholds, dtype=chances.dtype)[groups]).long()


def count_labels(loss: RuleLoss, batches: Sequence[Batch], labels: Tensor) -> float:
    """Rules broken on an average mini-batch by labels taken as certain."""
    certain = one_hot(labels, 2).double().log()
    return fmean(float(loss.measure(batch, certain[batch.rows]).broken.sum()) for batch in batches)
