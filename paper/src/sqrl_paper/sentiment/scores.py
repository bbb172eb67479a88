"""How good predicted sentiments are, and how many rules they break, by ways to take a label."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sqrl_paper.sentiment.as_seen import Seen
from sqrl_paper.sentiment.phrasebank import CLASSES
from sqrl_paper.sentiment.sentence_scores import score_sentences

Json = dict[str, Any]
NEUTRAL = CLASSES.index("neutral")


def score(seen: Seen, logits: Tensor) -> Json:
    """Right, certain, rules broken, and in % how often each sentiment is predicted."""
    logits = logits.detach().double()
    found = score_sentences(logits, seen.phrases.labels, seen.features, seen.data.loss())
    return found | {"predicted": shares_of(logits.argmax(1).numpy())}


def shares_of(classes: np.ndarray) -> list[float]:
    """In % how often each of the CLASSES occurs.

    >>> shares_of(np.array([0, 1, 1, 1]))
    [25.0, 75.0, 0.0]
    """
    counts = np.bincount(classes, minlength=len(CLASSES))
    return [float(100 * n / len(classes)) for n in counts]


def score_ways(seen: Seen) -> Json:
    """The scores of the true labels, of four ways to take a prediction, and of a constant one.

    Sampled labels are drawn by the predicted probabilities; what is expected by them is told by
    the score of that name alone.
    """
    chances = seen.logits.double().softmax(-1)
    generator = torch.Generator().manual_seed(seen.data.seed)
    sampled = torch.multinomial(chances, 1, generator=generator)[:, 0]
    labels = torch.from_numpy(seen.phrases.labels)
    ways = {
        "true": _certain(labels),
        "likeliest": seen.logits,
        "sampled": _certain(sampled),
        "always neutral": _certain(torch.full_like(labels, NEUTRAL)),
    }
    return {name: score(seen, logits) for name, logits in ways.items()}


def count_heads(seen: Seen) -> Json:
    """By the sentiment that rules imply: rules, pairs with a sentence, those that truth breaks."""
    heads = seen.data.heads
    wrong = seen.bodies & (heads[:, None] != seen.phrases.labels)
    return {
        name: {
            "rules": int((heads == place).sum()),
            "judged": int(seen.bodies[heads == place].sum()),
            "broken": int(wrong[heads == place].sum()),
        }
        for place, name in enumerate(CLASSES)
    }


def _certain(labels: Tensor) -> Tensor:
    """Logits of labels that are certain."""
    return one_hot(labels, len(CLASSES)).double().log()
