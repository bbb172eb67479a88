"""ImageScores: how right and how certain predictions are, and how many rules they break."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sqrl import Batch, Batches, RuleLoss
from sqrl_paper.imagenet_x.annotations import METACLASSES
from sqrl_paper.imagenet_x.crops import Crops

SIZE = 256  # images in a mini-batch
N_BATCHES = 9  # as in the paper


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageScores:
    """What predictions of the metaclass are worth.

    Few broken rules alone mean little: a model that finds everything equally likely breaks few in
    expectation. So look at `entropy` (in nats, log(17) = 2.83 at most) beside them.

    - accuracy: the share of images whose likeliest metaclass is right.
    - entropy: of the predicted probabilities, on average over the images.
    - expected, likeliest: of the pairs of a rule and a mini-batch where the rule applies, the share
      that are broken, with predicted probabilities and with the likeliest metaclass.
    - n_expected, n_likeliest: how many rules an average mini-batch breaks, in either way.
    - excess: how far rules are outside their bounds in expectation, in widths, on average.
    """

    accuracy: float
    entropy: float
    expected: float
    likeliest: float
    n_expected: float
    n_likeliest: float
    excess: float


def score(
    logits: Tensor, crops: Crops, loss: RuleLoss, *, seed: int, n_batches: int = N_BATCHES
) -> ImageScores:
    """The scores of the logits of all crops, rules being counted on mini-batches of 256.

    The mini-batches are drawn by the seed, each without replacement: the same for all methods.
    Fewer crops than 256 make a single mini-batch. Shapes: logits (n, 17).
    """
    expected, likeliest = _Pairs(), _Pairs()
    for batch in draw_scored(crops, seed=seed, n_batches=n_batches):
        expected.add(loss, batch, logits[batch.rows])
        likeliest.add(loss, batch, logits[batch.rows], hard=True)
    return ImageScores(
        accuracy=float((logits.argmax(1) == crops.labels).double().mean()),
        entropy=float(torch.special.entr(logits.double().softmax(-1)).sum(1).mean()),
        expected=expected.share,
        likeliest=likeliest.share,
        n_expected=expected.per_batch,
        n_likeliest=likeliest.per_batch,
        excess=expected.excess,
    )


def score_truth(
    crops: Crops, loss: RuleLoss, *, seed: int, n_batches: int = N_BATCHES
) -> ImageScores:
    """The scores of the true labels: what even a perfect model breaks."""
    certain = one_hot(crops.labels, len(METACLASSES)).double().log()
    return score(certain, crops, loss, seed=seed, n_batches=n_batches)


def draw_scored(crops: Crops, *, seed: int, n_batches: int = N_BATCHES) -> Iterator[Batch]:
    """The mini-batches that rules are counted on: factors and rows, without images."""
    without_images = torch.empty(len(crops), 0)
    n = n_batches if len(crops) >= SIZE else 1
    return Batches(without_images, crops.factors, size=SIZE).draw(n, seed=seed)


class _Pairs:
    """Pairs of a rule and a mini-batch, counted as they come."""

    def __init__(self) -> None:
        self._broken, self._applicable, self._excesses = 0.0, 0.0, list[float]()

    def add(self, loss: RuleLoss, batch: Batch, logits: Tensor, *, hard: bool = False) -> None:
        measured = loss.measure(batch, logits, hard=hard)
        self._broken += float(measured.broken.sum())
        self._applicable += float(measured.applicable.sum())
        self._excesses.append(measured.mean_excess)

    @property
    def share(self) -> float:
        return self._broken / max(1.0, self._applicable)

    @property
    def per_batch(self) -> float:
        return self._broken / max(1, len(self._excesses))

    @property
    def excess(self) -> float:
        return sum(self._excesses) / max(1, len(self._excesses))
