"""TextNetwork: a classifier of texts beside what turns texts into its inputs."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor, nn

from sqrl_paper.sentiment.bert import Bert, TextClassifier
from sqrl_paper.sentiment.wordpiece import MASK, WordPiece

LONGEST = 96  # pieces of words that are read of a text: all, but of 4 of the 4,846 sentences


@dataclass(frozen=True, slots=True, eq=False)
class TextNetwork:
    """A network that gives a logit for each class, and what it is given of texts.

    `encode` makes the model's two arguments of texts: numbers of pieces of words, and which of them
    are not there to fill up. `mask_token` stands for any piece and `special` for none, as
    `TokenNoise` wants to know.

    Shapes: both arguments (texts, places), what the model gives (texts, classes).
    """

    model: nn.Module
    encode: Callable[[Sequence[str]], tuple[Tensor, Tensor]]
    mask_token: int
    special: tuple[int, ...]


def make_text_network(
    encoder: Bert, pieces: WordPiece, *, n_classes: int, seed: int, longest: int = LONGEST
) -> TextNetwork:
    """An encoder below a layer with random weights, which is to be trained."""
    return TextNetwork(
        model=TextClassifier(encoder, n_classes, seed=seed).eval(),
        encode=partial(pieces.encode, longest=longest),
        mask_token=pieces.ids[MASK],
        special=pieces.special(),
    )


def fingerprint(model: nn.Module) -> str:
    """Sixteen hex digits that change with any weight of a model, or its name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
