"""Batches of the data that a model was trained on, for methods that compare with them."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from sqrl._adapt.batches import Batches, to_device
from sqrl.errors import AdaptError


def training_batches(training: Iterable[Any], device: torch.device) -> Iterator[Any]:
    """The batches on a device, at least one; those of `sqrl.Batches` shuffled as the first time.

    >>> [len(batch) for batch in training_batches([torch.zeros(2, 3)], torch.device("cpu"))]
    [2]
    """
    n_batches = 0
    for batch in training.from_start() if isinstance(training, Batches) else training:
        n_batches += 1
        yield to_device(batch, device)
    if not n_batches:
        raise AdaptError(
            "The batches of training data are empty.",
            where="training=",
            fix="give a list of batches, a DataLoader or sqrl.Batches, which can be read again",
        )
