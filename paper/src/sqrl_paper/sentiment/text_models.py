"""Networks of others that classify texts: the paper's emotions, topics and sentiments.

For those who have the weights, in a folder or by their name on the Hugging Face hub. transformers
reads them, and is imported only when it is asked to.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sqrl import Table, as_table
from sqrl.errors import DataError, MissingExtraError
from sqrl_paper.sentiment.phrasebank import CLASSES
from sqrl_paper.sentiment.text_features import EMOTIONS, NEUTRALITY, TOPICS
from sqrl_paper.sentiment.text_network import TextNetwork

EMOTION_MODEL = "j-hartmann/emotion-english-distilroberta-base"
TOPIC_MODEL = "cardiffnlp/tweet-topic-21-multi"
FINBERT = "ProsusAI/finbert"
LONGEST = 128  # pieces of words


class InOrder(nn.Module):
    """A network of transformers whose logits come in the order that was asked for.

    Shapes: ids and mask (rows, places), result (rows, classes).
    """

    def __init__(self, network: nn.Module, order: Sequence[int]) -> None:
        super().__init__()
        self.network = network
        self.order: Tensor
        self.register_buffer("order", torch.tensor(order))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The logits of each text."""
        out: Any = self.network(input_ids=ids, attention_mask=mask.long())
        logits: Tensor = out.logits[:, self.order]
        return logits


def load_finbert(place: str | Path = FINBERT) -> TextNetwork:
    """The paper's source model, which has been trained on the train part already."""
    return load_text_network(place, CLASSES)


def load_text_network(place: str | Path, classes: Sequence[str]) -> TextNetwork:
    """The network in a folder, or of this name on the hub, with logits in the order of `classes`.

    Its configuration has to name the classes. No code that comes with it is run.
    """
    library = _transformers()
    with _quiet(library):
        try:
            network = library.AutoModelForSequenceClassification.from_pretrained(str(place))
            tokenizer = library.AutoTokenizer.from_pretrained(str(place))
        except (OSError, ValueError) as error:
            reason = str(error).strip().split("\n")[0].rstrip(".")
            raise DataError(
                f"The network cannot be loaded: {reason}.",
                where=str(place),
                fix="give the folder that holds it, or a name on huggingface.co while online",
            ) from None
    order = _order(network.config.id2label, classes, place)

    def encode(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        made = tokenizer(
            list(texts), padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        return made["input_ids"], made["attention_mask"].bool()

    return TextNetwork(
        model=InOrder(network, order).eval(),
        encode=encode,
        mask_token=tokenizer.mask_token_id,
        special=tuple(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}),
    )


def model_features(
    texts: Sequence[str],
    *,
    emotions: str | Path = EMOTION_MODEL,
    topics: str | Path = TOPIC_MODEL,
    batch: int = 32,
) -> Table:
    """The 26 features of each text as in the paper: how likely each emotion and topic is.

    `emotions` and `topics` are folders, or names on the hub. A text has one emotion, so their
    likelihoods add up to 1, and any number of topics.
    """
    felt = load_text_network(emotions, EMOTIONS)
    spoken_of = load_text_network(topics, tuple(TOPICS))
    columns = torch.cat(
        [
            _logits(felt, texts, batch).softmax(-1),
            _logits(spoken_of, texts, batch).sigmoid(),
        ],
        dim=1,
    )
    named = zip((*EMOTIONS, *TOPICS), columns.double().numpy().T, strict=True)
    return as_table(dict(named), source="features of texts")


def class_name(label: str) -> str:
    """A network's own name of a class as it is called here.

    >>> class_name("fitness_&_health"), class_name("Neutral"), class_name("Joy")
    ('fitness_and_health', 'neutral', 'joy')
    """
    return label.strip().lower().replace("&", "and")


def _order(labels: dict[int, str], classes: Sequence[str], place: str | Path) -> list[int]:
    """Which of the network's logits belongs to each of the classes."""
    known = {class_name(label): int(index) for index, label in labels.items()}
    if NEUTRALITY in classes and NEUTRALITY not in known and "neutral" in known:
        known[NEUTRALITY] = known.pop("neutral")
    if set(known) != set(classes):
        absent = [name for name in classes if name not in known]
        what = f"has no class named {absent[0]!r}" if absent else "has other classes as well"
        raise DataError(
            f"The network {what}.",
            where=str(place),
            fix=f"give one whose configuration names these classes: {', '.join(classes)}",
        )
    return [known[name] for name in classes]


@torch.no_grad()
def _logits(network: TextNetwork, texts: Sequence[str], batch: int) -> Tensor:
    pieces = [texts[first : first + batch] for first in range(0, len(texts), batch)]
    return torch.cat([network.model(*network.encode(piece)) for piece in pieces])


@contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Meanwhile transformers draws no bars of progress."""
    logging = library.utils.logging
    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


def _transformers() -> Any:
    try:
        return import_module("transformers")
    except ImportError:
        raise MissingExtraError(
            "Networks of the Hugging Face hub need transformers, which is not installed.",
            fix='pip install "sqrl-rules[text]"',
        ) from None
