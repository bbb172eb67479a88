"""Sentiment analysis: what 4,846 sentences of financial news mean for an investor.

Financial PhraseBank in FinBERT's three parts. Rules speak of 26 features of a sentence, its
emotions and topics, where these belong to one sentiment alone. The model is MiniLM, fine-tuned on
the train part, or FinBERT where it is at hand.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from sqrl import Adapted, Batches, RuleLoss, RuleSet, Table, learn
from sqrl.errors import DataError
from sqrl_paper.sentiment.minilm import load_minilm
from sqrl_paper.sentiment.phrasebank import (
    CLASSES,
    FINBERT_SEED,
    Agreement,
    PhraseParts,
    Phrases,
    read_phrasebank,
    split_phrases,
)
from sqrl_paper.sentiment.sentence_scores import score_sentences
from sqrl_paper.sentiment.text_features import lexicon_features
from sqrl_paper.sentiment.text_network import TextNetwork, fingerprint, make_text_network
from sqrl_paper.sentiment.text_training import TextTraining, train_texts
from sqrl_paper.shared.checkpoints import load_or_train
from sqrl_paper.shared.training import Examples, predict

SCHEMA, LABEL = "sentiment", "sentiment"
BATCH = 64  # sentences in a mini-batch of adaptation
TRAINING = TextTraining()

Extract = Callable[[Sequence[str]], Table]
Track = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The 26 features of each part's sentences, without their sentiments."""

    train: Table
    valid: Table
    test: Table


@dataclass(frozen=True, slots=True, eq=False)
class Sentiment:
    """All that adapting a model of sentiment takes, and how well it did.

    `names` is for `RuleLoss`; `valid` and `test` are without labels. `sqrl.adapt` changes the
    LayerNorm layers of the model's copy unless told otherwise.
    """

    parts: PhraseParts
    features: Features
    rules: RuleSet
    network: TextNetwork
    valid: Batches
    test: Batches

    @property
    def model(self) -> nn.Module:
        """The source model."""
        return self.network.model

    @staticmethod
    def names(batch: Any, out: Tensor) -> dict[str, Any]:
        """What the rules see: the features of the sentences, and the predicted sentiment."""
        return {**batch.columns, LABEL: out.softmax(-1)}

    def loss(self, **options: Any) -> RuleLoss:
        """The loss of the rules, for outputs whose columns are the CLASSES."""
        return RuleLoss(self.rules, self.names, classes=CLASSES, **options)

    def evaluate(
        self, predicted: nn.Module | Tensor, *, on: Literal["valid", "test"] = "test"
    ) -> dict[str, float]:
        """How right predictions are, how certain, and how many rules they break.

        `score_sentences` says what each score means.
        """
        logits = self._outputs(predicted, on).double()
        labels = getattr(self.parts, on).labels
        return score_sentences(logits, labels, getattr(self.features, on), self.loss())

    def evaluate_truth(self, *, on: Literal["valid", "test"] = "test") -> dict[str, float]:
        """The same of the true sentiments: what even a perfect model breaks."""
        labels = torch.from_numpy(getattr(self.parts, on).labels)
        return self.evaluate(one_hot(labels, len(CLASSES)).double().log(), on=on)

    def _outputs(self, predicted: nn.Module | Tensor, on: str) -> Tensor:
        batches: Batches = getattr(self, on)
        if isinstance(predicted, Adapted):
            predicted = predicted.predict(batches)
        elif isinstance(predicted, nn.Module):
            predicted = predict(predicted, batches.inputs, batch=BATCH)
        shape = batches.n_rows, len(CLASSES)
        if not isinstance(predicted, Tensor) or tuple(predicted.shape) != shape:
            raise DataError(
                f"The outputs are not {shape[0]:,} sentences x {shape[1]} sentiments.",
                fix=f"give those of all {on} sentences, in their order, or the model itself",
            )
        return predicted.detach().cpu()


def prepare_sentiment(
    folder: str | Path | None = None,
    *,
    seed: int,
    agreement: Agreement = 50,
    is_complete: bool = True,
    **options: Any,
) -> Sentiment:
    """The task from raw files: read, split, features counted, rules learned, model fine-tuned.

    The options are those of `make_sentiment`. Without a `folder`, `SQRL_DATA` and `./data` are
    tried.
    """
    phrases = read_phrasebank(folder, agreement=agreement, is_complete=is_complete)
    return make_sentiment(phrases, seed=seed, **options)


def make_sentiment(
    phrases: Phrases,
    *,
    seed: int,
    split_seed: int = FINBERT_SEED,
    extract: Extract = lexicon_features,
    network: TextNetwork | None = None,
    training: TextTraining | None = TRAINING,
    batch: int = BATCH,
    cache: Path | None = None,
    track: Track | None = None,
) -> Sentiment:
    """The task of these sentences, as `prepare_sentiment` makes it of all of them.

    The parts are FinBERT's whatever the seed, which is for training and mini-batches; another
    `split_seed` makes others. `extract` gives the features, counted in lists of words unless given:
    `similarity_features` asks an encoder, `model_features` the paper's networks. `network` is
    MiniLM unless given, and is trained; with `training=None` it is taken as it is, as
    `load_finbert()` should be. The weights are kept in `cache`, by default a folder of the user's.
    """
    parts = split_phrases(phrases, seed=split_seed)
    features = Features(*(extract(part.texts) for part in (parts.train, parts.valid, parts.test)))
    rules = learn_sentiment(parts, features, seed=seed, track=track)
    chosen = network or make_minilm_network(seed=seed)
    if training is not None:
        train_sentiment(parts, chosen, seed=seed, training=training, cache=cache, track=track)
    valid, test = (
        Batches(chosen.encode(part.texts), table, size=batch, seed=seed)
        for part, table in ((parts.valid, features.valid), (parts.test, features.test))
    )
    return Sentiment(parts, features, rules, chosen, valid, test)


def learn_sentiment(
    parts: PhraseParts, features: Features, *, seed: int, track: Track | None = None
) -> RuleSet:
    """The paper's rules for the task, of 7,878 candidates those that agree on the valid part."""
    train, valid = (
        table.with_columns({LABEL: np.array(part.sentiments)})
        for part, table in ((parts.train, features.train), (parts.valid, features.valid))
    )
    return learn(train, SCHEMA, valid=valid, seed=seed, track=track)


def make_minilm_network(folder: str | Path | None = None, *, seed: int) -> TextNetwork:
    """MiniLM, from its package or a folder, with a new layer for the three sentiments."""
    # PAPER: the model is FinBERT, which is no package; `load_finbert` takes it where it is at hand.
    encoder, pieces = load_minilm(folder)
    return make_text_network(encoder, pieces, n_classes=len(CLASSES), seed=seed)


def train_sentiment(
    parts: PhraseParts,
    network: TextNetwork,
    *,
    seed: int,
    training: TextTraining = TRAINING,
    cache: Path | None = None,
    track: Track | None = None,
) -> list[float]:
    """The losses on the valid part after each epoch; the network's model is fine-tuned in place.

    It sees the train and valid parts alone. With weights that were kept, nothing is trained.
    """

    def train(model: nn.Module) -> dict[str, list[float]]:
        train, valid = (
            Examples(network.encode(part.texts), torch.from_numpy(part.labels))
            for part in (parts.train, parts.valid)
        )
        losses = train_texts(model, train, valid, training=training, seed=seed, track=track)
        return {"losses": losses}

    key = {
        "train": parts.train.fingerprint(),
        "valid": parts.valid.fingerprint(),
        "start": fingerprint(network.model),
        "training": asdict(training),
        "seed": seed,
    }
    told = load_or_train(network.model, train, name="sentiment", key=key, folder=cache)
    network.model.eval()
    return list(told["losses"])
