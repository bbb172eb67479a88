"""Drifts of sentences: what a careless transcript makes of them before the model reads them."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from sqrl_paper.shared.augmentations import WordNoise

CLEAN = "no drift"
DROPPED, SWAPPED = 0.3, 0.3  # shares of words that are left out, or misspelt
SHORTEST = 4  # letters of a word that may be misspelt: its first and last stay

Drift = Callable[[Sequence[str], int], list[str]]


def drop_words(texts: Sequence[str], seed: int) -> list[str]:
    """The texts with a share of the words left out."""
    chance = torch.Generator().manual_seed(seed)
    return list(WordNoise(drop=DROPPED, swap=0.0)(list(texts), chance))


def misspell(texts: Sequence[str], seed: int) -> list[str]:
    """The texts with two neighbouring letters swapped within a share of the longer words.

    >>> misspell(["the profit of 2009"], 2)
    ['the porfit of 2009']
    """
    rng = np.random.default_rng(seed)
    return [" ".join(_misspelt(word, rng) for word in text.split()) for text in texts]


def _misspelt(word: str, rng: np.random.Generator) -> str:
    if len(word) < SHORTEST or not word.isalpha() or rng.random() >= SWAPPED:
        return word
    at = int(rng.integers(1, len(word) - 2))
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


DRIFTS: dict[str, Drift] = {
    CLEAN: lambda texts, _: list(texts),
    "words dropped": drop_words,
    "misspelt": misspell,
}
