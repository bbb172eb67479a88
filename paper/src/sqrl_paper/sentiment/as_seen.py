"""Seen: sentences as the model reads them, perhaps after a drift, and what it makes of them."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sqrl import Batches, Table
from sqrl_paper.place import Place
from sqrl_paper.sentiment.batches import AlikeBatches
from sqrl_paper.sentiment.data import Prepared, prepared
from sqrl_paper.sentiment.drifts import DRIFTS
from sqrl_paper.sentiment.phrasebank import Phrases
from sqrl_paper.shared.training import predict

AT_ONCE = 64  # sentences

Part = Literal["valid", "test"]
Reads = Literal["logits", "judged", "all"]


@dataclass(frozen=True, eq=False)
class Seen:
    """Sentences from the shortest to the longest, as the source model reads them.

    Features are those of the sentences as they were before any drift.
    """

    data: Prepared
    phrases: Phrases
    features: Table
    inputs: tuple[Tensor, Tensor]

    @cached_property
    def logits(self) -> Tensor:
        """What the source model predicts."""
        return predict(self.data.model, self.inputs, batch=AT_ONCE)

    @cached_property
    def bodies(self) -> NDArray[np.bool_]:
        """Of which sentences each rule speaks: (rules, sentences)."""
        rules = self.data.rules
        return np.array([rules.condition_holds(at, self.features) for at in range(len(rules))])

    def model(self, reads: Reads) -> nn.Module:
        """What is adapted: the network, or nothing on top of what it has predicted."""
        return nn.Identity() if reads == "logits" else self.data.model

    def batches(self, reads: Reads, n_batches: int) -> Batches:
        """So many mini-batches for steps, without labels.

        Unless "all" is read, sentences that no rule speaks of are left out.
        """
        whole = self.whole(reads)
        rows = np.arange(whole.n_rows) if reads == "all" else np.flatnonzero(self.bodies.any(0))
        inputs = whole.inputs[rows] if reads == "logits" else tuple(p[rows] for p in whole.inputs)
        size = max(1, len(rows) // n_batches)
        return AlikeBatches(inputs, self.features.take(rows), size=size, seed=self.data.seed)

    def whole(self, reads: Reads) -> Batches:
        """All sentences: what is predicted in the end."""
        inputs = self.logits if reads == "logits" else self.inputs
        return Batches(inputs, self.features, size=AT_ONCE)


@cache
def see(place: Place, seed: int, on: Part, condition: str) -> Seen:
    """The sentences of a part after a drift of what the model reads."""
    return see_by(prepared(place, seed), on, condition)


def see_by(data: Prepared, on: Part, condition: str) -> Seen:
    """The sentences of a part, with these rules and this model."""
    phrases: Phrases = getattr(data.known.parts, on)
    features: Table = getattr(data.known.features, on)
    ids, mask = data.network.encode(DRIFTS[condition](phrases.texts, data.seed))
    order = mask.sum(1).argsort(stable=True)
    rows = order.numpy()
    return Seen(data, phrases.take(rows), features.take(rows), (ids[order], mask[order]))
