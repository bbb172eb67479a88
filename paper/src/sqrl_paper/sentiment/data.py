"""The parts of PhraseBank with their rules, and the model of each seed."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from sqrl import RuleLoss, RuleSet, shuffle_rows
from sqrl_paper.place import Place
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.made import made_lexicon, made_network
from sqrl_paper.sentiment.phrasebank import (
    CLASSES,
    FINBERT_SEED,
    PhraseParts,
    read_phrasebank,
    split_phrases,
)
from sqrl_paper.sentiment.task import (
    Features,
    learn_sentiment,
    make_minilm_network,
    names,
    train_sentiment,
)
from sqrl_paper.sentiment.text_features import lexicon_features
from sqrl_paper.sentiment.text_network import TextNetwork
from sqrl_paper.sentiment.text_training import TextTraining

CONDITIONS = (CLEAN, "misspelt")
QUICK_SENTENCES = 600
# Three epochs, for the time they take.
TRAINING = TextTraining(epochs=3)
QUICK_TRAINING = TextTraining(epochs=1)
MADE_TRAINING = TextTraining(epochs=3, lr=1e-2)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is the same for all seeds: FinBERT's parts, their features, and the rules."""

    parts: PhraseParts
    features: Features
    rules: RuleSet


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that runs with the same seed share."""

    seed: int
    known: Learned
    network: TextNetwork
    losses: tuple[float, ...]  # on the valid part, after each epoch of training

    @property
    def rules(self) -> RuleSet:
        """The rules."""
        return self.known.rules

    @property
    def heads(self) -> NDArray[np.int64]:
        """The place in CLASSES of the sentiment that each rule implies."""
        return np.array([CLASSES.index(text.rpartition("= ")[2]) for text in self.rules.texts()])

    @property
    def model(self) -> nn.Module:
        """The source model."""
        return self.network.model

    def loss(self, **options: Any) -> RuleLoss:
        """The loss of the rules."""
        return RuleLoss(self.rules, names, classes=CLASSES, **options)


@cache
def learned(place: Place) -> Learned:
    """The parts, and rules from the train and valid ones; nothing in them is drawn at random."""
    parts = parts_of(place)
    features = features_of(place, parts)
    return Learned(parts, features, learn_sentiment(parts, features, seed=0))


@cache
def parts_of(place: Place) -> PhraseParts:
    """FinBERT's three parts."""
    phrases = read_phrasebank(place.folder, is_complete=not place.is_made)
    if place.quick:
        phrases = phrases.take(shuffle_rows(len(phrases), seed=0)[:QUICK_SENTENCES])
    return split_phrases(phrases, seed=FINBERT_SEED)


def features_of(place: Place, parts: PhraseParts) -> Features:
    """The counted words of each part's sentences."""
    lexicon = made_lexicon() if place.is_made else None
    return Features(
        *(
            lexicon_features(one.texts, lexicon=lexicon)
            for one in (parts.train, parts.valid, parts.test)
        )
    )


@cache
def prepared(place: Place, seed: int) -> Prepared:
    """The rules, and the model that is fine-tuned with this seed."""
    known = learned(place)
    network = made_network(seed=seed) if place.is_made else make_minilm_network(seed=seed)
    training = QUICK_TRAINING if place.quick else TRAINING
    losses = train_sentiment(
        known.parts,
        network,
        seed=seed,
        training=MADE_TRAINING if place.is_made else training,
        cache=place.cache,
    )
    return Prepared(seed, known, network, tuple(losses))
