"""How good predictions are, and how many rules they break, by four ways to take a label."""

from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sqrl import Batch
from sqrl_paper.cardio.data import Prepared, Rows

Json = dict[str, Any]
FIRST_SEED = 1000  # mini-batches that are counted on are not those of any step


def score(labels: Tensor, logits: Tensor) -> Json:
    """AUC, accuracy and F1 by the true labels, and the share predicted to have the disease."""
    from sklearn.metrics import f1_score, roc_auc_score

    truth, margin = labels.numpy(), (logits[:, 1] - logits[:, 0]).numpy()
    return {
        "auc": float(roc_auc_score(truth, margin)),
        "accuracy": float(np.mean((margin > 0) == truth)),
        "f1": float(f1_score(truth, margin > 0)),
        "predicted": float(np.mean(margin > 0)),
    }


def count_broken(data: Prepared, rows: Rows, logits: Tensor, *, seed: int, n_batches: int) -> Json:
    """Rules broken on an average mini-batch, by likeliest labels and by probabilities.

    The same mini-batches for all methods.
    """
    loss = data.loss()
    drawn = list(rows.drawn(n_batches, data.sizes.rules, seed=FIRST_SEED + seed))
    found = {}
    for title, hard in (("likeliest", True), ("expected", False)):
        measured = [loss.measure(batch, logits[batch.rows], hard=hard) for batch in drawn]
        found[title] = {
            "broken": fmean(float(one.broken.sum()) for one in measured),
            "share": fmean(one.share for one in measured),
            "excess": fmean(one.mean_excess for one in measured),
        }
    return found


def violations_of(data: Prepared, rows: Rows, logits: Tensor, *, seed: int) -> Json:
    """Rules that are broken on an average mini-batch, by the true labels and by predictions.

    A prediction is taken as its likeliest label, as probabilities, or as a label drawn by them:
    sampled labels are as likely as they are predicted, and likeliest ones are not.
    """
    generator = torch.Generator().manual_seed(seed)
    chances = logits.double().softmax(-1)
    sampled = torch.multinomial(chances, 1, generator=generator)[:, 0]
    certain: dict[str, Callable[[Tensor], Tensor]] = {
        "true": lambda r: _certain(rows.labels[r]),
        "likeliest": lambda r: _certain(logits[r].argmax(1)),
        "expected": lambda r: logits[r],
        "sampled": lambda r: _certain(sampled[r]),
    }
    drawn = list(rows.drawn(data.sizes.n_counted, data.sizes.rules, seed=FIRST_SEED + seed))
    return {title: _share(data, drawn, outputs) for title, outputs in certain.items()}


def _share(data: Prepared, drawn: Iterable[Batch], outputs: Callable[[Any], Tensor]) -> float:
    loss = data.loss()
    return fmean(loss.measure(batch, outputs(batch.rows)).share for batch in drawn)


def _certain(labels: Tensor) -> Tensor:
    """Logits of labels that are certain."""
    return one_hot(labels, 2).double().log()
