"""Other rules about sentences than those of the bench: other features, and rules that hold.

Two things are changed of the bench's rules, by themselves and together. Features are how near a
sentence is to descriptions, by a network, in the place of counted words. And rules are kept only if
held-out sentences show that they hold: for that half of the train and valid sentences is held out,
since 388 sentences, of which a rule speaks of three, show nothing.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from msgspec.structs import replace

from sqrl import RuleSet, Table, as_table, learn, load_schema
from sqrl_paper.place import Place
from sqrl_paper.sentiment.data import Learned, features_of, parts_of
from sqrl_paper.sentiment.made import made_encoder
from sqrl_paper.sentiment.minilm import load_minilm
from sqrl_paper.sentiment.phrasebank import PhraseParts
from sqrl_paper.sentiment.similarity_features import similarity_features
from sqrl_paper.sentiment.task import LABEL, SCHEMA, Features, learn_sentiment

HELD_OUT = 0.5  # of the sentences that are not for testing, where rules have to hold


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSource:
    """Which features rules speak of, and how often held-out sentences must show that they hold."""

    name: str
    features: Literal["words", "likeness"] = "words"
    holds: float | None = None
    is_adapted_by: bool = False  # else only counted


WORDS = RuleSource(name="words")
LIKENESS = RuleSource(name="likeness", features="likeness", is_adapted_by=True)
SOURCES = (
    WORDS,
    RuleSource(name="words, holds 0.8", holds=0.8, is_adapted_by=True),
    RuleSource(name="words, holds 0.95", holds=0.95),
    LIKENESS,
    RuleSource(name="likeness, holds 0.8", features="likeness", holds=0.8, is_adapted_by=True),
    RuleSource(name="likeness, holds 0.95", features="likeness", holds=0.95),
)


def source_of(name: str) -> RuleSource:
    """The rules of this name."""
    return next(source for source in SOURCES if source.name == name)


@cache
def learned_by(place: Place, name: str) -> Learned:
    """The parts, their features of a kind, and the rules that are learned of them."""
    source, parts = source_of(name), parts_of(place)
    features = _features(place, source.features)
    if source.holds is None:
        return Learned(parts, features, learn_sentiment(parts, features, seed=0))
    return Learned(parts, features, learn_valid(parts, features, source.holds))


def learn_valid(parts: PhraseParts, features: Features, holds: float) -> RuleSet:
    """Rules of which held-out sentences show that they hold so often; no test sentence is seen."""
    known = as_table(
        {
            **{name: _joined(features, name) for name in features.train.names},
            LABEL: np.array([*parts.train.sentiments, *parts.valid.sentiments]),
        },
        source="train and valid sentences",
    )
    schema = load_schema(SCHEMA)
    assert schema.validate
    validate = replace(schema.validate, share=HELD_OUT, holds=holds)
    return learn(known, replace(schema, validate=validate), seed=0)


def _joined(features: Features, name: str) -> np.ndarray:
    return np.concatenate([table[name].values for table in (features.train, features.valid)])


@cache
def _features(place: Place, kind: str) -> Features:
    parts = parts_of(place)
    if kind == "words":
        return features_of(place, parts)
    encoder = made_encoder(seed=0) if place.is_made else load_minilm()
    tables: list[Table] = [
        similarity_features(one.texts, encoder) for one in (parts.train, parts.valid, parts.test)
    ]
    return Features(*tables)
