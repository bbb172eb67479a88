"""Financial PhraseBank: sentences of financial news, and what they mean for an investor.

Malo et al. (2014). Each file holds the sentences on whose sentiment a share of annotators agree, a
line each: the sentence, an @, and the sentiment, in Latin-1.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sqrl.errors import DataError
from sqrl_paper.shared.data_files import find_file

TITLE = "Financial PhraseBank"
PAGE = "https://www.researchgate.net/publication/251231364_FinancialPhraseBank-v10"
FOLDER = "phrasebank"
CLASSES = ("negative", "neutral", "positive")
Agreement = Literal[50, 66, 75, 100]
FILES: dict[Agreement, str] = {
    50: "Sentences_50Agree.txt",
    66: "Sentences_66Agree.txt",
    75: "Sentences_75Agree.txt",
    100: "Sentences_AllAgree.txt",
}
N_SENTENCES: dict[Agreement, int] = {50: 4846, 66: 4217, 75: 3453, 100: 2264}
MAX_BYTES = 16_000_000  # the largest file has 0.7 million
TEST_SHARE, VALID_SHARE = 0.2, 0.1  # of all sentences, and of those that are not for testing
FINBERT_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Sentences and the place of each one's sentiment in `CLASSES`."""

    texts: tuple[str, ...]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def sentiments(self) -> list[str]:
        """The sentiment of each sentence, by name."""
        return [CLASSES[label] for label in self.labels]

    def take(self, rows: NDArray[np.int64]) -> "Phrases":
        """Only these sentences, in this order."""
        return Phrases(tuple(self.texts[row] for row in rows), self.labels[rows])

    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any sentence, sentiment or their order."""
        digest = hashlib.sha256(np.ascontiguousarray(self.labels).tobytes())
        for text in self.texts:
            digest.update(b"\0" + text.encode())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class PhraseParts:
    """The sentences to learn from, those to choose by, and those to test on."""

    train: Phrases
    valid: Phrases
    test: Phrases


def read_phrasebank(
    folder: str | Path | None = None, *, agreement: Agreement = 50, is_complete: bool = True
) -> Phrases:
    """The sentences of `phrasebank/Sentences_50Agree.txt` in the data folder, or of another file.

    `agreement` is the share of annotators, in percent, that agree at least. Without a `folder`,
    `SQRL_DATA` and `./data` are tried. A file with another number of sentences than published is
    taken for damaged, unless it need not be complete.
    """
    path = find_phrasebank(folder, agreement=agreement)
    if path.stat().st_size > MAX_BYTES:
        raise _damaged(f"The file has more than {MAX_BYTES:,} bytes.", str(path))
    pairs = list(_pairs(path))
    n_published = N_SENTENCES[agreement]
    if is_complete and len(pairs) != n_published:
        what = f"There are {len(pairs):,} sentences instead of {n_published:,}."
        raise _damaged(what, str(path))
    labels = np.array([label for _, label in pairs], np.int64)
    return Phrases(tuple(text for text, _ in pairs), labels)


def find_phrasebank(folder: str | Path | None = None, *, agreement: Agreement = 50) -> Path:
    """The file that is read; a DataError that says where it comes from if it is not there."""
    return find_file(folder, f"{FOLDER}/{FILES[agreement]}", title=TITLE, page=PAGE)


def split_phrases(phrases: Phrases, *, seed: int = FINBERT_SEED) -> PhraseParts:
    """The sentences in three parts: of 4,846, 3,488 and 388 and 970.

    With seed 0 these are FinBERT's, sentence by sentence: its authors call scikit-learn's
    `train_test_split` twice with that seed. What it does is done here, so that no version of
    scikit-learn can change it. Eight sentences occur twice in the file: five of those to test on
    are among those to learn from as well, as in FinBERT's.

    >>> parts = split_phrases(Phrases(("a",) * 100, np.zeros(100, np.int64)))
    >>> len(parts.train), len(parts.valid), len(parts.test)
    (72, 8, 20)
    """
    # PAPER: its appendix counts 3,487, 387 and 969 sentences, one less each, as if the first line
    # of each part were a header. FinBERT also cuts the last character off each sentence, the full
    # stop of most; here they are whole.
    rest, test = _draw(len(phrases), TEST_SHARE, seed)
    train, valid = _draw(len(rest), VALID_SHARE, seed)
    return PhraseParts(phrases.take(rest[train]), phrases.take(rest[valid]), phrases.take(test))


def _draw(n: int, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to keep and rows to hold out, as by scikit-learn's `train_test_split`."""
    order = np.random.RandomState(seed).permutation(n)
    n_held_out = math.ceil(n * share)
    return order[n_held_out:], order[:n_held_out]


def _pairs(path: Path) -> Iterator[tuple[str, int]]:
    """Each sentence and its class; a DataError that names the line where there is none."""
    # Not splitlines(): in Latin-1 a byte within a sentence may be a line separator of Unicode's.
    lines = path.read_bytes().decode("latin-1").split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        text, separator, label = line.removesuffix("\r").rpartition("@")
        where = f"{path}, line {number}"
        if not separator:
            raise _damaged("There is no @ between a sentence and its sentiment.", where)
        if label not in CLASSES:
            raise _damaged(f"The sentiment is {label!r} instead of {', '.join(CLASSES)}.", where)
        if not text.strip():
            raise _damaged("There is a sentiment without a sentence.", where)
        yield text, CLASSES.index(label)


def _damaged(what: str, where: str) -> DataError:
    return DataError(what, where=where, fix=f"fetch it again from {PAGE}")
