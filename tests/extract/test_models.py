"""Texts and images become columns by models of transformers in folders, as computed by hand.

Models are tiny, made from their settings, and saved by transformers.
"""

import socket

import numpy as np
import pytest

import sqrl
import sqrl.extract

pytestmark = [
    pytest.mark.usefixtures("_slowly", "_offline"),  # to import transformers takes seconds
    pytest.mark.filterwarnings("ignore"),
]
TEXTS = ["the film was good", "bad", None, "the bad film was the bad film", " ", "bad"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "was", "good", "bad", "this"]
WORDS += ["example", "is", "."]
SMALL = {
    "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of a classifier, of a model of entailment and of an encoder, as they are saved."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("models")
    vocabulary = {word: at for at, word in enumerate(WORDS)}
    torch.manual_seed(0)
    made = {}
    for name, kind, labels in (
        ("sentiment", "BertForSequenceClassification", ("NEGATIVE", "POSITIVE")),
        ("entailment", "BertForSequenceClassification", ("contradiction", "neutral", "entailment")),
        ("encoder", "BertModel", ("unused",)),
    ):
        settings = transformers.BertConfig(
            vocab_size=len(WORDS), max_position_embeddings=24, initializer_range=1.0,
            id2label=dict(enumerate(labels)), label2id={one: at for at, one in enumerate(labels)},
            **SMALL,
        )  # fmt: skip
        model = getattr(transformers, kind)(settings).eval()
        tokenizer = transformers.BertTokenizer(vocab=vocabulary)
        model.save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
        made[name] = root / name, model, tokenizer
    return made


@pytest.fixture
def _offline(monkeypatch):
    """Any attempt to reach another machine fails the test."""

    def refuse(*_, **__):
        raise AssertionError("something was to be fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def by_hand(model, tokenizer, text, *more):
    """The model's outputs for one text, without filling."""
    import torch

    with torch.inference_mode():
        return model(**tokenizer(text, *more, return_tensors="pt"))


def test_a_classifier_gives_the_probabilities_that_the_model_gives(models):
    """From its folder and as a pipeline; one label alone, and none that is missing."""
    transformers = pytest.importorskip("transformers")
    folder, model, tokenizer = models["sentiment"]
    table = sqrl.extract.texts("said", folder, batch_size=2)({"said": TEXTS})
    parts = {"model": model, "tokenizer": tokenizer, "device": -1}
    pipeline = transformers.pipeline("text-classification", **parts)
    same = sqrl.extract.texts("said", pipeline, labels=["POSITIVE"])({"said": TEXTS})

    assert table.names == ("said", "said_negative", "said_positive")
    assert same.names == ("said", "said_positive")
    for at, text in enumerate(TEXTS):
        got = [table[name].values[at] for name in ("said_negative", "said_positive")]
        if text is None or not text.strip():
            assert np.isnan(got).all()
            continue
        expected = by_hand(model, tokenizer, text).logits.softmax(-1)[0].tolist()
        assert got == pytest.approx(expected, abs=2e-6)
        assert same["said_positive"].values[at] == pytest.approx(expected[1], abs=2e-6)
    spread = table["said_positive"].values
    assert np.nanmax(spread) - np.nanmin(spread) > 0.01  # the model tells the texts apart


def test_labels_of_ones_own_are_compared_by_entailment(models):
    """How much each follows from the text, among the labels."""
    import torch

    folder, model, tokenizer = models["entailment"]
    table = sqrl.extract.texts("said", folder, labels=["good", "bad"])({"said": TEXTS})
    for at in (0, 1, 3):
        follows = [
            by_hand(model, tokenizer, TEXTS[at], f"This example is {label}.").logits[0, 2]
            for label in ("good", "bad")
        ]
        expected = torch.stack(follows).softmax(-1).tolist()
        got = [table[name].values[at] for name in ("said_good", "said_bad")]
        assert got == pytest.approx(expected, abs=2e-6)
    own = sqrl.extract.texts("said", folder)

    assert own.outputs == ("said_contradiction", "said_neutral", "said_entailment")


def test_an_encoder_gives_cosines_of_mean_embeddings(models):
    """Filled up or not, and cut where a text is longer than the model takes."""
    import torch

    folder, model, tokenizer = models["encoder"]
    texts = [*TEXTS, "good " * 100]
    table = sqrl.extract.texts("said", folder, labels=["good film", "bad"])({"said": texts})

    def unit(text):
        made = by_hand(model, tokenizer, text).last_hidden_state[0].double().mean(0)
        return made / made.norm()

    for at in (0, 1, 3):
        expected = [float(unit(texts[at]) @ unit(label)) for label in ("good film", "bad")]
        got = [table[name].values[at] for name in ("said_good_film", "said_bad")]
        assert got == pytest.approx(expected, abs=2e-6)
    assert table["said_bad"].values[1] == 1
    assert np.isfinite(table["said_bad"].values[-1])
    assert torch.is_tensor(unit("bad"))


def test_images_are_classified_from_files(tmp_path):
    """Probabilities as by hand; a missing name has none."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    image_of = pytest.importorskip("PIL.Image")
    torch.manual_seed(0)
    settings = transformers.ViTConfig(
        image_size=16, patch_size=8, initializer_range=1.0, id2label={0: "dark", 1: "light"},
        label2id={"dark": 0, "light": 1}, **SMALL,
    )  # fmt: skip
    model = transformers.ViTForImageClassification(settings).eval()
    model.save_pretrained(tmp_path / "model")
    size = {"height": 16, "width": 16}
    processor = transformers.ViTImageProcessor(size=size)
    processor.save_pretrained(tmp_path / "model")
    names = []
    for at, colour in enumerate([(0, 0, 0), (250, 250, 250), (250, 0, 0)]):
        names.append(f"{at}.png")
        image_of.new("RGB", (20, 24), colour).save(tmp_path / names[-1])
    extract = sqrl.extract.images("file", tmp_path / "model", folder=tmp_path, batch_size=2)
    table = extract({"file": [*names, None]})
    with torch.inference_mode():
        pixels = [image_of.open(tmp_path / name) for name in names]
        expected = model(**processor(pixels, return_tensors="pt")).logits.softmax(-1)

    got = np.column_stack([table["file_dark"].values, table["file_light"].values])
    assert np.allclose(got[:3], expected.numpy(), atol=2e-6)
    assert np.isnan(got[3]).all()
    assert np.ptp(got[:3, 0]) > 0.01


def test_images_are_compared_with_texts_by_clip(tmp_path):
    """The probabilities of labels that the model was never told of."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    image_of = pytest.importorskip("PIL.Image")
    torch.manual_seed(0)
    letters = list("abcdefghijklmnopqrstuvwxyz.")
    pieces = [*letters, *(f"{one}</w>" for one in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = transformers.CLIPTokenizer(
        vocab={one: at for at, one in enumerate(pieces)}, merges=[]
    )
    last = len(pieces) - 1
    special = {"bos_token_id": last - 1, "eos_token_id": last, "pad_token_id": last}
    words = {"vocab_size": len(pieces), "max_position_embeddings": 40, **special, **SMALL}
    settings = transformers.CLIPConfig(
        text_config=words, vision_config={"image_size": 16, "patch_size": 8, **SMALL},
        projection_dim=8,
    )  # fmt: skip
    model = transformers.CLIPModel(settings).eval()
    processor = transformers.CLIPImageProcessor(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    )
    for part in (model, tokenizer, processor):
        part.save_pretrained(tmp_path / "clip")
    image_of.new("RGB", (20, 24), (250, 0, 50)).save(tmp_path / "red.png")
    labels = ["a road", "the sea"]
    extract = sqrl.extract.images("file", tmp_path / "clip", labels=labels, folder=tmp_path)
    table = extract({"file": ["red.png"]})
    with torch.inference_mode():
        said = tokenizer(
            [f"This is a photo of {one}." for one in labels], return_tensors="pt", padding=True
        )
        seen = processor(image_of.open(tmp_path / "red.png"), return_tensors="pt")
        expected = model(**said, **seen).logits_per_image.softmax(-1)[0].tolist()

    got = [table[name].values[0] for name in ("file_a_road", "file_the_sea")]
    assert got == pytest.approx(expected, abs=2e-6)
