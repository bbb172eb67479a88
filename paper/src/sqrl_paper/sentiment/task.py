"""Sentiment analysis: what 4,846 sentences of financial news mean for an investor.

Financial PhraseBank in FinBERT's three parts. Rules speak of 26 features of a sentence, its
emotions and topics, where these belong to one sentiment alone. The model is MiniLM, fine-tuned on
the train part.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl import Batch, RuleSet, Table, learn
from sqrl_paper.sentiment.minilm import load_minilm
from sqrl_paper.sentiment.phrasebank import (
    CLASSES,
    PhraseParts,
)
from sqrl_paper.sentiment.text_network import TextNetwork, fingerprint, make_text_network
from sqrl_paper.sentiment.text_training import TextTraining, train_texts
from sqrl_paper.shared.checkpoints import load_or_train
from sqrl_paper.shared.training import Examples

SCHEMA, LABEL = "sentiment", "sentiment"
TRAINING = TextTraining()

Track = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The 26 features of each part's sentences, without their sentiments."""

    train: Table
    valid: Table
    test: Table


def names(batch: Batch, out: Tensor) -> dict[str, Any]:
    """What the rules see: the features of the sentences, and the predicted sentiment."""
    return {**batch.columns, LABEL: out.softmax(-1)}


def learn_sentiment(
    parts: PhraseParts, features: Features, *, seed: int, track: Track | None = None
) -> RuleSet:
    """The paper's rules for the task, of 7,878 candidates those that agree on the valid part."""
    train, valid = (
        table.with_columns({LABEL: np.array(part.sentiments)})
        for part, table in ((parts.train, features.train), (parts.valid, features.valid))
    )
    return learn(train, SCHEMA, valid=valid, seed=seed, track=track)


def make_minilm_network(folder: str | Path | None = None, *, seed: int) -> TextNetwork:
    """MiniLM, from its package or a folder, with a new layer for the three sentiments."""
    # PAPER: the model is FinBERT, whose weights no package holds.
    encoder, pieces = load_minilm(folder)
    return make_text_network(encoder, pieces, n_classes=len(CLASSES), seed=seed)


def train_sentiment(
    parts: PhraseParts,
    network: TextNetwork,
    *,
    seed: int,
    training: TextTraining = TRAINING,
    cache: Path | None = None,
    track: Track | None = None,
) -> list[float]:
    """The losses on the valid part after each epoch; the network's model is fine-tuned in place.

    It sees the train and valid parts alone. With weights that were kept, nothing is trained.
    """

    def train(model: nn.Module) -> dict[str, list[float]]:
        train, valid = (
            Examples(network.encode(part.texts), torch.from_numpy(part.labels))
            for part in (parts.train, parts.valid)
        )
        losses = train_texts(model, train, valid, training=training, seed=seed, track=track)
        return {"losses": losses}

    key = {
        "train": parts.train.fingerprint(),
        "valid": parts.valid.fingerprint(),
        "start": fingerprint(network.model),
        "training": asdict(training),
        "seed": seed,
    }
    told = load_or_train(network.model, train, name="sentiment", key=key, folder=cache)
    network.model.eval()
    return list(told["losses"])
