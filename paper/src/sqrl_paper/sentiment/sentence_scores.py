"""score_sentences: how right and how certain predicted classes are, and the rules they break."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Batches, RuleLoss, Table


def score_sentences(
    logits: Tensor, labels: NDArray[np.int64], features: Table, loss: RuleLoss
) -> dict[str, float]:
    """The scores of all sentences' logits.

    - accuracy, macro_f1: by the likeliest classes.
    - entropy: of the predicted probabilities, in nats, on average over the sentences.
    - violations, judged: of the pairs of a rule and a sentence it speaks of, how many are broken by
      the likeliest class, of how many.
    - per_sample: violations for each sentence, whether a rule speaks of it or not.
    - expected: violations by the predicted probabilities.

    Shapes: logits (n, classes), labels (n,).
    """
    guessed = logits.argmax(1).numpy()
    (batch,) = Batches(logits, features, size=len(logits)).in_order()
    certain, likely = (loss.measure(batch, logits, hard=hard) for hard in (True, False))
    n_broken = round(float(certain.broken.sum()))
    return {
        "accuracy": float(np.mean(guessed == labels)),
        "macro_f1": macro_f1(labels, guessed),
        "entropy": float(torch.special.entr(logits.softmax(-1)).sum(1).mean()),
        "violations": n_broken,
        "judged": round(float(certain.applicable.sum())),
        "per_sample": n_broken / max(1, len(labels)),
        "expected": float(likely.broken.sum()),
    }


def macro_f1(labels: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    """The mean over classes of F1, with a class that neither occurs nor is guessed left out.

    >>> macro_f1(np.array([0, 0, 2]), np.array([0, 2, 2]))  # twice 2 / (2 + 1)
    0.6666666666666666
    """
    found = np.union1d(labels, guessed)
    both = [int(((labels == one) & (guessed == one)).sum()) for one in found]
    either = [int((labels == one).sum() + (guessed == one).sum()) for one in found]
    return float(np.mean([2 * n / total for n, total in zip(both, either, strict=True)]))
