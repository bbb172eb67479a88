"""similarity_features: how near a text is to descriptions of emotions and topics, by an encoder.

Between lists of words and networks trained for the purpose: a sentence encoder sees that a text is
about fashion without one of its words, and MiniLM comes with pip.

PAPER: features are those of two networks, trained on emotions and on topics of tweets.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sqrl import Table, as_table
from sqrl_paper.sentiment.bert import Bert, embed
from sqrl_paper.sentiment.text_features import EMOTIONS, FEATURES, TOPICS
from sqrl_paper.sentiment.text_network import LONGEST
from sqrl_paper.sentiment.wordpiece import WordPiece

TEMPERATURE = 0.05  # as all-MiniLM-L6-v2 was trained: similarities were multiplied by 20


def similarity_features(
    texts: Sequence[str], encoder: tuple[Bert, WordPiece], *, batch: int = 64
) -> Table:
    """The 26 columns of `FEATURES`, a row for each text: shares that add up to 1.

    Those of the emotions do, and those of the topics. An `encoder` is a network and its vocabulary:
    with `load_minilm()` some 10 ms a sentence on one core.
    """
    network, pieces = encoder
    likeness = _embed(network, pieces, texts, batch) @ _embed(network, pieces, descriptions()).T
    shares = [
        (part.double() / TEMPERATURE).softmax(-1)
        for part in (likeness[:, : len(EMOTIONS)], likeness[:, len(EMOTIONS) :])
    ]
    columns = torch.cat(shares, dim=1).numpy().T
    return as_table(dict(zip(FEATURES, columns, strict=True)), source="features of texts")


def descriptions() -> list[str]:
    """A sentence for each feature, in the order of `FEATURES`.

    >>> descriptions()[0], descriptions()[-1]
    ('This text expresses anger.', 'This text is about youth and student life.')
    """
    felt = [f"This text expresses {name}." for name in EMOTIONS]
    return [*felt, *(f"This text is about {name.replace('_', ' ')}." for name in TOPICS)]


def _embed(
    network: Bert, pieces: WordPiece, texts: Sequence[str], batch: int = len(FEATURES)
) -> Tensor:
    """The texts' vectors, made of texts of about the same length at a time: a third less work."""
    vectors = torch.empty(len(texts), network.size.width)
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        inputs = pieces.encode([texts[row] for row in rows], longest=LONGEST)
        vectors[rows] = embed(network, *inputs)
    return vectors
