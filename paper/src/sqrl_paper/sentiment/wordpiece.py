"""WordPiece: text as the numbers of the pieces of words that BERT knows, in lower case.

The longest piece first, as in Devlin et al. (2019): no words are unknown but those with strange
characters.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from sqrl.errors import DataError

PAD, UNKNOWN, START, END, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
LONGEST_WORD = 100  # characters; longer ones are not looked at
MAX_BYTES = 64_000_000
CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
ASCII_MARKS = ((33, 47), (58, 64), (91, 96), (123, 126))  # with $, + and the like


@dataclass(frozen=True, slots=True, eq=False)
class WordPiece:
    """The pieces by their text; those that go on within a word begin with ##.

    >>> pieces = WordPiece({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "prof": 4, "##it": 5})
    >>> pieces.tokens("Profit £")
    ['prof', '##it', '[UNK]']
    >>> pieces.encode(["prof", "profit"], longest=8)[0].tolist()
    [[2, 4, 3, 0], [2, 4, 5, 3]]
    """

    ids: Mapping[str, int]

    def tokens(self, text: str) -> list[str]:
        """The pieces of a text, without those for its start and end."""
        return [piece for word in split_words(text) for piece in self._pieces(word)]

    def encode(self, texts: Sequence[str], *, longest: int) -> tuple[Tensor, Tensor]:
        """The numbers of the texts' pieces, and which of them are not there to fill up.

        A text of more than `longest` pieces, with those for start and end, is cut.
        Shapes: both (texts, places), with as many places as the longest of them needs.
        """
        rows = [[START, *self.tokens(text)[: longest - 2], END] for text in texts]
        n_places = max((len(row) for row in rows), default=0)
        ids = torch.full((len(rows), n_places), self.ids[PAD])
        mask = torch.zeros(len(rows), n_places, dtype=torch.bool)
        for row, pieces in enumerate(rows):
            ids[row, : len(pieces)] = torch.tensor([self.ids[piece] for piece in pieces])
            mask[row, : len(pieces)] = True
        return ids, mask

    def special(self) -> tuple[int, ...]:
        """The numbers that stand for no text: to fill up, start and end."""
        return tuple(self.ids[name] for name in (PAD, START, END))

    def _pieces(self, word: str) -> list[str]:
        """The longest pieces that make up a word, from left to right."""
        found: list[str] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = prefix + word[start:end]
                if piece in self.ids:
                    found.append(piece)
                    start = end
                    break
            else:
                return [UNKNOWN]
        return found or [UNKNOWN]


def load_wordpiece(path: str | Path) -> WordPiece:
    """The pieces in a `vocab.txt` of BERT's, a line each, numbered from 0."""
    path = Path(path).expanduser()
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise _unusable("There is no vocabulary of at most 64 MB.", path)
    try:
        lines = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError:
        raise _unusable("The vocabulary is not text in UTF-8.", path) from None
    pieces = [line.removesuffix("\r") for line in lines]
    ids = {piece: number for number, piece in enumerate(pieces) if piece}
    for name in (PAD, UNKNOWN, START, END, MASK):
        if name not in ids:
            raise _unusable(f"The vocabulary has no piece named {name}.", path)
    return WordPiece(ids)


def split_words(text: str) -> Iterator[str]:
    """Words and marks, in lower case and without accents.

    >>> list(split_words("Säästöpankki's profit rose 3.5%"))
    ['saastopankki', "'", 's', 'profit', 'rose', '3', '.', '5', '%']
    """
    spaced = "".join(_spaced(char) for char in text)
    plain = "".join(
        char for char in unicodedata.normalize("NFD", spaced) if unicodedata.category(char) != "Mn"
    )
    for word in plain.lower().split():
        start = 0
        for place, char in enumerate(word):
            if _is_mark(char):
                if start < place:
                    yield word[start:place]
                yield char
                start = place + 1
        if start < len(word):
            yield word[start:]


def _spaced(char: str) -> str:
    """A character as it is read: control characters not at all, Chinese ones as words."""
    code = ord(char)
    if char in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if code >= CHINESE[1][0] and any(low <= code <= high for low, high in CHINESE):
        return f" {char} "
    return char


def _is_mark(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return any(low <= code <= high for low, high in ASCII_MARKS)
    return unicodedata.category(char).startswith("P")


def _unusable(what: str, path: Path) -> DataError:
    fix = "give the folder of a BERT model in lower case, with its vocab.txt"
    return DataError(what, where=str(path), fix=fix)
