"""The sentiment task: parts, features, rules, a model fine-tuned once, and scores by hand."""

import math
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import sqrl
from real_data import folder
from sqrl import as_table

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

from sqrl_paper.sentiment import task as sentiment  # noqa: E402
from sqrl_paper.sentiment.bert import BertSize, make_bert  # noqa: E402
from sqrl_paper.sentiment.phrasebank import (  # noqa: E402
    CLASSES,
    PhraseParts,
    Phrases,
    read_phrasebank,
    split_phrases,
)
from sqrl_paper.sentiment.sentence_scores import macro_f1, score_sentences  # noqa: E402
from sqrl_paper.sentiment.text_features import FEATURES, Lexicon, lexicon_features  # noqa: E402
from sqrl_paper.sentiment.text_network import TextNetwork, fingerprint, make_text_network  # noqa: E402
from sqrl_paper.sentiment.text_training import (  # noqa: E402
    TextTraining,
    draw_alike,
    rate,
    train_texts,
)
from sqrl_paper.sentiment.wordpiece import WordPiece  # noqa: E402
from sqrl_paper.shared.training import Examples, predict  # noqa: E402

USUAL = ["sales", "of", "the", "firm", "were", "said", "today", "in", "finland"]
TELLING = {"negative": ["loss", "fell"], "neutral": ["plan", "city"], "positive": ["gain", "rose"]}
QUICK = TextTraining(epochs=8, patience=8, batch=32, lr=1e-2)


def make_lines(n, *, seed=0):
    """Lines of the official format; a word or two of a sentence tells its sentiment."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        label = CLASSES[rng.integers(3)]
        words = [*rng.choice(USUAL, rng.integers(5, 9)), *rng.choice(TELLING[label], 2)]
        yield f"{' '.join(rng.permutation(words))} .@{label}"


def write(root, lines):
    path = root / "phrasebank" / "Sentences_50Agree.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("latin-1"))


def lexicon():
    """Losses are sad, gains a joy; whoever has plans is in business."""
    places = {name: n for n, name in enumerate(FEATURES)}
    felt = {"loss": "sadness", "fell": "sadness", "gain": "joy", "rose": "joy"}
    return Lexicon(
        {word: (places[name],) for word, name in felt.items()},
        {"plan": (places["business_and_entrepreneurs"],), "city": (places["music"],)},
    )


extract = partial(lexicon_features, lexicon=lexicon())


def tiny_network(seed=0):
    """A network of one layer that knows the words of the made sentences."""
    telling = [word for words in TELLING.values() for word in words]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *USUAL, *telling]
    size = BertSize(n_pieces=len(words), width=16, n_layers=1, n_heads=2, inner=16, n_places=32)
    pieces = WordPiece({word: n for n, word in enumerate(words)})
    return make_text_network(make_bert(size, seed=seed), pieces, n_classes=3, seed=seed)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The task on made files: where they are, and what is prepared of them."""
    root = tmp_path_factory.mktemp("sentiment")
    write(root, make_lines(600))
    parts = split_phrases(read_phrasebank(root, is_complete=False))
    features = features_of(parts, extract)
    rules, network = sentiment.learn_sentiment(parts, features, seed=0), tiny_network()
    sentiment.train_sentiment(parts, network, seed=0, training=QUICK, cache=root / "cache")
    return root, Task(parts, features, rules, network)


def features_of(parts, extract):
    return sentiment.Features(*(extract(p.texts) for p in (parts.train, parts.valid, parts.test)))


@dataclass(frozen=True)
class Task:
    """What was learned of the train sentences, and the scores of what is said of the test ones."""

    parts: PhraseParts
    features: sentiment.Features
    rules: sqrl.RuleSet
    network: TextNetwork

    @property
    def model(self):
        return self.network.model

    @property
    def inputs(self):
        return self.network.encode(self.parts.test.texts)

    def loss(self):
        return sqrl.RuleLoss(self.rules, sentiment.names, classes=CLASSES)

    def evaluate(self, logits):
        if not isinstance(logits, torch.Tensor):
            logits = predict(logits, self.inputs, batch=64)
        labels, features = self.parts.test.labels, self.features.test
        return score_sentences(logits.double(), labels, features, self.loss())

    def evaluate_truth(self):
        labels = torch.from_numpy(self.parts.test.labels)
        return self.evaluate(torch.nn.functional.one_hot(labels, len(CLASSES)).double().log())


def by_hand():
    """A task of four sentences, of which one has no words, and of two rules."""
    texts, labels = ("joy", "sad", "both", "5"), np.array([2, 0, 1, 1])
    phrases = Phrases(texts, labels)
    columns = {name: np.zeros(4) for name in FEATURES}
    columns["joy"] = np.array([0.5, 0.0, 0.5, np.nan])
    columns["sadness"] = np.array([0.0, 0.5, 0.5, np.nan])
    table = as_table(columns)
    rules = [
        "0.25 < joy <= 1 => sentiment = positive",
        "0.25 < sadness <= 1 => sentiment = negative",
    ]
    return Task(
        parts=PhraseParts(phrases, phrases, phrases),
        features=sentiment.Features(table, table, table),
        rules=sqrl.RuleSet.from_texts(rules),
        network=tiny_network(),
    )


def test_the_task_is_made_of_files_in_finberts_shares(made):
    """Of 600 sentences 120 are for testing, 48 for choosing, and 432 are learned from."""
    root, task = made
    parts = split_phrases(read_phrasebank(root, is_complete=False))

    assert [len(part) for part in (task.parts.train, task.parts.valid, task.parts.test)] == [
        432, 48, 120,
    ]  # fmt: skip
    assert task.parts.test.texts == parts.test.texts
    assert task.features.test.names == FEATURES


def test_rules_are_what_7878_candidates_leave(made):
    """3 sentiments x (26 features + 650 ordered pairs x 4 buckets), as in the paper."""
    _, task = made
    counts = task.rules.provenance.counts
    texts = task.rules.texts()

    assert counts["candidates"] == 7878
    assert 0 < len(texts) <= counts["selected"]
    assert any("joy" in text and text.endswith("sentiment = positive") for text in texts)
    assert any("sadness" in text and text.endswith("sentiment = negative") for text in texts)


def test_the_model_learns_the_sentiments(made):
    """Far above chance on sentences it has not seen, and breaking few rules."""
    _, task = made
    scores = task.evaluate(task.model)
    untrained = task.evaluate(tiny_network().model)

    assert untrained["accuracy"] < 0.6
    assert scores["accuracy"] > 0.9
    assert scores["macro_f1"] > 0.9
    assert scores["violations"] < untrained["violations"]
    assert scores["judged"] == untrained["judged"] > 0
    assert not task.model.training


def test_the_true_sentiments_are_scored_as_a_perfect_model(made):
    """Certain and right; what they break is what rules are wrong about."""
    _, task = made
    truth = task.evaluate_truth()

    assert (truth["accuracy"], truth["macro_f1"], truth["entropy"]) == (1, 1, 0)
    assert truth["violations"] == pytest.approx(truth["expected"])


def test_scores_are_what_one_counts_by_hand():
    """Of rules and sentences four pairs are judged; two are broken by what is likeliest."""
    chances = [[0.1, 0.1, 0.8], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]]
    task = by_hand()
    scores = task.evaluate(torch.tensor(chances).log())

    # Likeliest: positive, neutral, positive, neutral; the truth: positive, negative, neutral twice.
    assert scores["accuracy"] == 0.5
    # F1 of negative 0 (once missed), of neutral 2 / (2 + 2), of positive 2 / (1 + 2).
    assert scores["macro_f1"] == pytest.approx((0 + 0.5 + 2 / 3) / 3)
    # Joy: sentences 1 and 3, both positive. Sadness: 2 and 3, neither negative.
    assert (scores["judged"], scores["violations"]) == (4, 2)
    assert scores["per_sample"] == 0.5
    assert scores["expected"] == pytest.approx(0.2 + 0.2 + 0.8 + 0.9)
    entropy = -sum(p * math.log(p) for row in chances for p in row) / 4
    assert scores["entropy"] == pytest.approx(entropy)


def test_macro_f1_is_that_of_scikit_learn():
    """Also where a class is never guessed, or does not occur."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for n_true, n_guessed in ((3, 3), (3, 2), (2, 3), (1, 1)):
        true, guessed = rng.integers(0, n_true, 40), rng.integers(0, n_guessed, 40)
        expected = metrics.f1_score(true, guessed, average="macro")
        assert macro_f1(true, guessed) == pytest.approx(expected)


def test_the_model_is_fine_tuned_once_and_then_loaded(made):
    """A second call makes no epoch; other settings, seeds or starts do."""
    root, task = made
    epochs = []

    def get(network, *, seed=0, training=QUICK):
        losses = sentiment.train_sentiment(
            task.parts, network, seed=seed, training=training, cache=root / "cache",
            track=lambda *step: epochs.append(step),
        )  # fmt: skip
        return network.model, losses

    model, losses = get(tiny_network())
    assert epochs == []
    assert fingerprint(model) == fingerprint(task.model)
    assert len(losses) == 8
    assert losses[-1] < losses[0]
    get(tiny_network(), seed=1)
    get(tiny_network(), training=TextTraining(epochs=1, batch=32, lr=1e-2))
    get(tiny_network(seed=1), training=TextTraining(epochs=1, batch=32, lr=1e-2))
    assert epochs == [("training", n, 8) for n in range(1, 9)] + [("training", 1, 1)] * 2


def test_mini_batches_are_of_alike_lengths_and_leave_no_row_out():
    """Each row once; within a mini-batch of 4 lengths differ less than at random."""
    lengths = torch.arange(100) % 20
    torch.manual_seed(0)
    drawn = list(draw_alike(lengths, 4))
    again = list(draw_alike(lengths, 4))
    spread = sum(int(lengths[rows].max() - lengths[rows].min()) for rows in drawn) / 25

    assert sorted(torch.cat(drawn).tolist()) == list(range(100))
    assert [len(rows) for rows in drawn] == [4] * 25
    assert spread < 5  # of 4 numbers below 20, drawn at random, 12
    assert [rows.tolist() for rows in again] != [rows.tolist() for rows in drawn]


def test_the_learning_rate_rises_and_falls():
    """By hand, with one step of ten and with none to rise in."""
    assert [rate(step, 10, 0.1) for step in (0, 1, 10)] == [1.0, 1.0, 0.0]
    assert [rate(step, 4, 0.0) for step in range(5)] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_fine_tuning_leaves_embeddings_and_the_random_state_alone(made):
    """All else is trained, and embeddings may be trained again afterwards."""
    _, task = made
    network = tiny_network()
    before = {name: value.clone() for name, value in network.model.state_dict().items()}
    examples = Examples(
        network.encode(task.parts.valid.texts), torch.from_numpy(task.parts.valid.labels)
    )
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    train_texts(network.model, examples, examples, training=QUICK, seed=0)
    embeddings = {"encoder.words.weight", "encoder.positions.weight", "encoder.token_types.weight"}
    kept = {n for n, value in network.model.state_dict().items() if torch.equal(value, before[n])}

    assert torch.rand(1) == expected
    assert embeddings <= kept <= {*embeddings, "encoder.layers.0.key.bias"}  # no gradient either
    assert all(parameter.requires_grad for parameter in network.model.parameters())


def test_nothing_of_the_test_part_reaches_rules_and_model(made):
    """Other sentences and sentiments there leave both as they are."""
    root, task = made
    wild = Phrases(("loss " * 9,) * 5, np.array([2] * 5))
    parts = PhraseParts(task.parts.train, task.parts.valid, wild)
    features = sentiment.Features(task.features.train, task.features.valid, extract(wild.texts))
    rules = sentiment.learn_sentiment(parts, features, seed=0)
    epochs = []
    sentiment.train_sentiment(
        parts, tiny_network(), seed=0, training=QUICK, cache=root / "cache", track=epochs.append
    )

    assert rules.texts() == task.rules.texts()
    assert epochs == []


def test_adapting_norm_layers_breaks_fewer_rules(made):
    """By what is likeliest and by probabilities; the source is left alone."""
    _, task = made
    before, kept = task.evaluate(task.model), fingerprint(task.model)
    batches = sqrl.Batches(task.inputs, task.features.test, size=16)
    adapted = sqrl.adapt(
        task.model,
        batches,
        task.loss(),
        epochs=5,
        lr=3e-3,
        trust_rules=True,  # few are held out
    )
    after = task.evaluate(adapted.predict(batches))

    assert after["expected"] < before["expected"]
    assert after["violations"] < before["violations"]
    assert after["accuracy"] >= before["accuracy"]
    assert fingerprint(task.model) == kept


def test_the_batch_size_of_predictions_does_not_matter(made):
    """Places that fill up are not seen."""
    _, task = made
    one, many = (predict(task.model, task.inputs, batch=n) for n in (1, 120))

    assert torch.allclose(one, many, atol=1e-4)


def test_real_sentences_give_rules_from_lists_of_words():
    """FinBERT's parts, 7,878 candidates, and rules that hold for most true sentiments."""
    if any(find_spec(name) is None for name in ("nrclex", "empath")):
        pytest.skip("the packages with the lists of words are not installed")
    parts = split_phrases(read_phrasebank(folder("phrasebank").parent))
    features = features_of(parts, lexicon_features)
    rules = sentiment.learn_sentiment(parts, features, seed=0)
    truth = Task(parts, features, rules, tiny_network()).evaluate_truth()

    assert rules.provenance.counts["candidates"] == 7878
    assert len(rules) > 50
    assert truth["judged"] > 500
    assert truth["violations"] < truth["judged"] / 2
