"""Expected: how good predictions are if labels are drawn by an opinion; Gain: what a change brings.

An expected gain is not enough. On some thousand rows, and of a rare class on some dozens, chance
moves accuracy and AUC by half a point and more. So of two predictions it is also asked how their
accuracies and AUCs may differ on these very rows: both are sums over rows of what each row adds if
it is of a class, and so have a mean and a variance.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

Floats = NDArray[np.float64]
LESS = 0.002  # of an accuracy or an AUC: a lesser fall does not matter
WORTH, WORTH_LOSS = 0.005, 0.05  # the least gain of accuracy or AUC, and of log loss
MOST_LOST = 0.005  # of accuracy or AUC, that may be lost
ERRORS = 1.645  # standard errors: one time in twenty it is more than that


@dataclass(frozen=True, slots=True)
class Expected:
    """How good predictions are if labels are drawn by an opinion: log loss, accuracy, AUC."""

    loss: float
    accuracy: float
    ranking: float

    @classmethod
    def of(cls, probabilities: Tensor, truth: Tensor) -> "Expected":
        """Of predicted probabilities and those of the opinion. Shapes: both (rows, classes).

        >>> half = torch.full((1, 2), 0.5)
        >>> round(Expected.of(half, half).loss, 4)
        0.6931
        """
        logs = probabilities.clamp(min=1e-12).log()
        likeliest = probabilities.argmax(1, keepdim=True)
        return cls(
            float(-(truth * logs).sum(1).mean()),
            float(truth.gather(1, likeliest).mean()),
            expected_auc(probabilities, truth),
        )

    def is_worse_than(self, other: "Expected") -> bool:
        """Whether the log loss has risen, or accuracy or ranking have fallen so that it matters."""
        return (
            self.loss >= other.loss
            or self.accuracy < other.accuracy - LESS
            or self.ranking < other.ranking - LESS
        )


@dataclass(frozen=True, slots=True)
class Gain:
    """Predictions before and after by one opinion, and changes that are hardly ever undercut."""

    before: Expected
    after: Expected
    lowest_accuracy: float
    lowest_ranking: float

    @classmethod
    def of(cls, before: Tensor, after: Tensor, truth: Tensor) -> "Gain":
        """Of predicted probabilities. Shapes: all (rows, classes)."""
        lowest = lowest_changes(before, after, truth)
        return cls(Expected.of(before, truth), Expected.of(after, truth), *lowest)

    @property
    def is_sure(self) -> bool:
        """Whether neither accuracy nor AUC is likely to fall so that it matters."""
        return self.keeps_ranking and self.lowest_accuracy >= -MOST_LOST

    @property
    def keeps_ranking(self) -> bool:
        """Whether the AUC is unlikely to fall so that it matters."""
        return self.lowest_ranking >= -MOST_LOST

    @property
    def raises_score(self) -> bool:
        """Whether accuracy or AUC is higher so that it matters, and beyond chance."""
        before, after = self.before, self.after
        return (after.accuracy >= before.accuracy + WORTH and self.lowest_accuracy > 0) or (
            after.ranking >= before.ranking + WORTH and self.lowest_ranking > 0
        )

    @property
    def is_worth_it(self) -> bool:
        """Whether log loss falls, and far, or with a gain of accuracy or AUC beyond chance."""
        fallen = self.before.loss - self.after.loss
        return fallen >= WORTH_LOSS or (fallen > 0 and self.raises_score)

    @property
    def value(self) -> float:
        """What is gained of accuracy and AUC together, nearly surely."""
        return self.lowest_accuracy + self.lowest_ranking


def lowest_changes(before: Tensor, after: Tensor, truth: Tensor) -> tuple[float, float]:
    """The changes of accuracy and of AUC that are undercut one time in twenty.

    Labels are drawn by `truth`, and both predictions scored by them. Shapes: all (rows, classes).

    >>> sure = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    >>> lowest_changes(sure, sure, sure)
    (0.0, 0.0)
    """
    said = truth.double().numpy()
    accuracy = _lowest(_accuracy_parts(before, after), said)
    return accuracy, _lowest(_auc_parts(before, after, said), said)


def _lowest(parts: Floats, said: Floats) -> float:
    """Of a sum of what each row adds if it is of a class, drawn as said: (rows, classes) both."""
    mean = (said * parts).sum(1)
    variance = ((said * parts**2).sum(1) - mean**2).sum()
    return float(mean.sum() - ERRORS * np.sqrt(max(variance, 0.0)))


def _accuracy_parts(before: Tensor, after: Tensor) -> Floats:
    """What each row adds to the difference of accuracies if it is of a class."""
    made = np.zeros(tuple(before.shape))
    every = np.arange(len(before))
    made[every, after.argmax(1).numpy()] += 1
    made[every, before.argmax(1).numpy()] -= 1
    return np.asarray(made / max(len(before), 1))


def _auc_parts(before: Tensor, after: Tensor, truth: Floats) -> Floats:
    """What each row adds to the difference of AUCs if it is of a class.

    An AUC is the sum of the positives' ranks, less what only depends on how many there are, over
    the number of pairs; their number is taken to be the expected one.
    """
    made = np.zeros_like(truth)
    chosen = _compared(truth.shape[1])
    for one in chosen:
        n_inside = truth[:, one].sum()
        pairs = n_inside * (len(truth) - n_inside)
        if pairs > 0:
            moved = rankdata(after[:, one].numpy()) - rankdata(before[:, one].numpy())
            made[:, one] = moved / pairs / len(chosen)
    return made


def expected_auc(scores: Tensor, truth: Tensor) -> float:
    """The AUC that scores would have if labels were drawn by `truth`, averaged over classes.

    Shapes: both (rows, classes). Equal scores count half.

    >>> truth = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> expected_auc(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), truth)
    1.0
    """
    chosen = _compared(truth.shape[1])
    found = [_auc(scores[:, one].double(), truth[:, one].double()) for one in chosen]
    return float(np.mean(found))


def _compared(n_classes: int) -> list[int]:
    """The classes that are ranked against the rest; of two one will do."""
    return [1] if n_classes == 2 else list(range(n_classes))


def _auc(score: Tensor, positive: Tensor) -> float:
    values, place = torch.unique(score, return_inverse=True)
    inside = torch.zeros(len(values), dtype=torch.float64).index_add(0, place, positive)
    outside = torch.zeros(len(values), dtype=torch.float64).index_add(0, place, 1 - positive)
    below = outside.cumsum(0) - outside
    total = inside.sum() * outside.sum()
    return float((inside * (below + outside / 2)).sum() / total) if total > 0 else 0.5
