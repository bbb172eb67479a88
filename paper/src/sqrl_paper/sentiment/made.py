"""Financial PhraseBank made up in the published format, with words and a network for it.

For a look without data, weights or lists of words: a word or two of a sentence tell its sentiment.
Some sentences have no such word, and few have another sentiment than they tell.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sqrl_paper.sentiment.bert import Bert, BertSize, make_bert
from sqrl_paper.sentiment.phrasebank import CLASSES, FILES, FOLDER
from sqrl_paper.sentiment.text_features import FEATURES, Lexicon
from sqrl_paper.sentiment.text_network import TextNetwork, make_text_network
from sqrl_paper.sentiment.wordpiece import END, MASK, PAD, START, UNKNOWN, WordPiece, split_words

N_SENTENCES = 600
USUAL = ("sales", "of", "the", "yhtiö", "were", "said", "today", "in", "Finland")
TELLING = {
    "negative": {"loss": "sadness", "fell": "sadness"},
    "neutral": {"plan": "business_and_entrepreneurs", "city": "music"},
    "positive": {"gain": "joy", "rose": "joy"},
}
SILENT = 0.15  # the share of sentences without a telling word
STRAYING = 0.02  # the share of sentences whose sentiment is not what their words tell
SIZE = {"width": 16, "n_layers": 1, "n_heads": 2, "inner": 16, "n_places": 32}


def write_phrasebank(folder: Path, *, n: int = N_SENTENCES, seed: int = 0) -> Path:
    r"""The file, written where the reader looks for it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_phrasebank(Path(folder), n=9).read_bytes().count(b"\r\n")
    9
    """
    path = folder / FOLDER / FILES[50]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\r\n" for line in make_lines(n, seed=seed)).encode("latin-1"))
    return path


def make_lines(n: int, *, seed: int) -> Iterator[str]:
    """A sentence, an @ and its sentiment."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        told, other = (CLASSES[place] for place in rng.integers(len(CLASSES), size=2))
        n_telling = 0 if rng.random() < SILENT else rng.integers(1, 3)
        words = [
            *rng.choice(USUAL, rng.integers(5, 9)),
            *rng.choice(list(TELLING[told]), n_telling),
        ]
        label = other if rng.random() < STRAYING else told
        yield f"{' '.join(rng.permutation(words))} .@{label}"


def made_lexicon() -> Lexicon:
    """The emotions and topics of the telling words."""
    felt: dict[str, tuple[int, ...]] = {}
    spoken_of: dict[str, tuple[int, ...]] = {}
    for sentiment, words in TELLING.items():
        known = spoken_of if sentiment == "neutral" else felt
        known |= {word: (FEATURES.index(name),) for word, name in words.items()}
    return Lexicon(felt, spoken_of)


def made_network(*, seed: int) -> TextNetwork:
    """A network of one layer, to be trained, that knows the made sentences' words."""
    encoder, pieces = made_encoder(seed=seed)
    return make_text_network(encoder, pieces, n_classes=len(CLASSES), seed=seed, longest=32)


def made_encoder(*, seed: int) -> tuple[Bert, WordPiece]:
    """An encoder of one layer with random weights, and the words that it knows."""
    telling = [word for words in TELLING.values() for word in words]
    known = [word for text in (*USUAL, *telling, ".") for word in split_words(text)]
    pieces = WordPiece({n: at for at, n in enumerate((PAD, UNKNOWN, START, END, MASK, *known))})
    size = BertSize(n_pieces=len(pieces.ids), **SIZE)
    return make_bert(size, seed=seed), pieces
