"""Texts and images become columns: by functions and by pipelines; which folders are refused.

Real models are in test_models.py: to import transformers takes as long as all of this.
"""

import json
import re
import types

import numpy as np
import pytest

import sqrl
import sqrl.extract
from sqrl.errors import DataError, MissingExtraError, SchemaError, UnknownNameError
from sqrl.extract import _local_model

TEXTS = ["the film was good", "bad", None, "the bad film was the bad film", " ", "bad"]


def lengths(batch):
    """Numbers of letters and of words."""
    return [[len(text), len(text.split())] for text in batch]


# Functions


def test_a_function_gives_columns_and_what_is_missing_or_blank_has_none():
    """Names are those of the column and the label, which rules can write."""
    table = sqrl.extract.texts("said", lengths, labels=["Letters", "words, all"])({"said": TEXTS})

    assert table.names == ("said", "said_letters", "said_words_all")
    assert table["said_words_all"].values.tolist()[:2] == [4, 1]
    assert np.isnan(table["said_letters"].values).tolist() == [0, 0, 1, 0, 1, 0]


def test_each_text_is_computed_once_in_batches_and_progress_is_told():
    """Four texts, three of them distinct; a second time nothing is computed."""
    seen, told = [], []

    def score(batch):
        seen.append(list(batch))
        return {"n": np.arange(len(batch)), "unused": batch}

    extract = sqrl.extract.texts(
        "said", score, labels=["n"], prefix="", batch_size=2, track=lambda *one: told.append(one)
    )
    first = extract({"said": TEXTS})["n"].values
    second = extract({"said": TEXTS})["n"].values

    assert seen == [["bad", "the film was good"], ["the bad film was the bad film"]]
    assert told == [("extract", 2, 3), ("extract", 3, 3)]
    assert np.array_equal(first, [1, 0, np.nan, 0, np.nan, 0], equal_nan=True)
    assert np.array_equal(first, second, equal_nan=True)


def test_a_table_without_rows_or_texts_has_columns_too():
    """Nothing is computed, and nothing breaks."""
    extract = sqrl.extract.texts("said", lambda _: 1 / 0, labels=["n"])

    assert extract({"said": np.array([], str)})["said_n"].values.tolist() == []
    assert np.isnan(extract({"said": ["", None]})["said_n"].values).all()


def test_learning_and_checking_go_on_as_ever():
    """Rules name scores; a fault in the texts is found by them."""
    rng = np.random.default_rng(0)
    words = rng.integers(3, 9, 600)
    extract = sqrl.extract.texts("said", lengths, labels=["letters", "words"])
    table = {"said": [" ".join(["word"] * n) for n in words], "n": words}
    rules = sqrl.learn(table, {"rules": ["? <= said_words <= ?"]}, extractors=[extract])
    new = {"said": ["word"] * 100 + table["said"][:100], "n": words[:200]}
    found = sqrl.check(rules, new, extractors=[extract])

    assert rules.provenance.extractors == ["sqrl.extract.texts('said', ...)"]
    assert [one.columns for one in found.findings()] == [("said_words",)]
    with pytest.raises(
        UnknownNameError, match=re.escape("extractors=[sqrl.extract.texts('said', ...)]")
    ):
        sqrl.check(rules, new)


@pytest.mark.parametrize(
    ("make", "kind", "expected"),
    [
        (
            lambda: sqrl.extract.texts("a", lengths),
            SchemaError,
            "The scores of a function have no names.\n"
            "  where: labels\n"
            '  fix:   give labels=["...", ...]',
        ),
        (
            lambda: sqrl.extract.texts("a", lengths, labels=["x", "X "]),
            SchemaError,
            "The labels 'x' and 'X ' would both be the column 'a_x'.\n"
            "  where: labels\n"
            "  fix:   give labels that differ in letters or digits",
        ),
        (
            lambda: sqrl.extract.texts("a", lengths, labels=["one"])({"a": ["x"]}),
            SchemaError,
            "The function gave (1, 2) for 1 rows and 1 labels.\n"
            "  where: model\n"
            "  fix:   return an array with a line for each row and a column for each label",
        ),
        (
            lambda: sqrl.extract.texts("a", lambda _: {"on": [1]}, labels=["one"])({"a": ["x"]}),
            UnknownNameError,
            "Unknown label 'one'.\n  where: the function\n  fix:   did you mean 'on'?",
        ),
        (
            lambda: sqrl.extract.texts("a", lengths, labels=["b", "c"])({"a": [1, 2]}),
            DataError,
            "Column 'a' holds numbers.\n  where: a\n  fix:   name a column of texts",
        ),
        (
            lambda: sqrl.extract.texts("a", 3),
            DataError,
            "The model is a int.\n"
            "  where: model\n"
            "  fix:   give a folder, a pipeline of transformers, or a function",
        ),
        (
            lambda: sqrl.extract.texts("a", "some/model"),
            DataError,
            "There is no such folder, and nothing is downloaded.\n"
            "  where: some/model\n"
            "  fix:   fetch the model once, with hf download NAME --local-dir FOLDER, and give the"
            " folder; or pass a function",
        ),
    ],
)
def test_what_does_not_fit_is_explained(make, kind, expected):
    """Word for word."""
    with pytest.raises(kind) as raised:
        make()

    assert str(raised.value) == expected


# What a folder holds


def folder_with(tmp_path, settings, *files):
    """A folder with settings and files of nothing."""
    (tmp_path / "config.json").write_text(json.dumps(settings))
    for name in files:
        (tmp_path / name).write_bytes(b"")
    return tmp_path


CLASSIFIER = {
    "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "no", "1": "yes"},
}


@pytest.mark.parametrize(
    ("settings", "files", "what"),
    [
        (
            CLASSIFIER,
            ["pytorch_model.bin"],
            "The weights are a pickle, pytorch_model.bin, which can run code when it is read.",
        ),
        (CLASSIFIER, [], "The folder has no weights in safetensors."),
        (
            CLASSIFIER | {"auto_map": {"AutoModel": "own.Model"}},
            ["model.safetensors"],
            "The model comes with code of its own, which is not run.",
        ),
        (
            {"architectures": ["BertForQuestionAnswering"]},
            ["model.safetensors"],
            "The model is a BertForQuestionAnswering, which gives no scores of texts.",
        ),
        (
            {"architectures": 3},
            ["model.safetensors"],
            "Not settings of a model: Expected `array | null`, got `int` - at `$.architectures`.",
        ),
    ],
)
def test_a_folder_is_refused_before_anything_of_it_is_loaded(tmp_path, settings, files, what):
    """Pickled weights, code, and models that give no scores."""
    with pytest.raises(DataError) as raised:
        sqrl.extract.texts("a", folder_with(tmp_path, settings, *files))

    assert str(raised.value).splitlines()[0] == what


def test_a_folder_of_something_else_is_refused(tmp_path):
    """Nothing in it says that it is a model."""
    with pytest.raises(DataError, match=r"The folder has no config\.json"):
        sqrl.extract.texts("a", tmp_path)


def test_labels_that_a_classifier_does_not_have_are_answered_with_those_it_has(tmp_path):
    """And a model of embeddings needs some."""
    path = folder_with(tmp_path, CLASSIFIER, "model.safetensors")
    with pytest.raises(UnknownNameError) as raised:
        sqrl.extract.texts("a", path, labels=["yess"])

    assert str(raised.value).splitlines()[0] == "Unknown label 'yess'."
    assert "did you mean 'yes'?" in str(raised.value)
    assert sqrl.extract.texts("a", path).outputs == ("a_no", "a_yes")
    folder_with(tmp_path, {"architectures": ["BertModel"]})
    with pytest.raises(SchemaError, match="The scores of a model of embeddings have no names"):
        sqrl.extract.texts("a", path)


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch):
    """Word for word, when it is needed."""

    def nothing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(_local_model, "import_module", nothing)
    path = folder_with(tmp_path, CLASSIFIER, "model.safetensors")
    with pytest.raises(MissingExtraError) as raised:
        sqrl.extract.texts("a", path)({"a": ["x"]})

    assert str(raised.value) == (
        "sqrl.extract needs torch, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[extract]"'
    )


# Pipelines


class Pipeline:
    """As much of a pipeline of transformers as matters here; the best label comes first."""

    def __init__(self, task, labels=()):
        self.task = task
        config = types.SimpleNamespace(id2label=dict(enumerate(labels)))
        self.model = types.SimpleNamespace(config=config)
        self.asked = []

    def __call__(self, items, **how):
        self.asked.append(how)
        if self.task == "zero-shot-classification":
            made = [{"sequence": i, "labels": ["b", "a"], "scores": [0.75, 0.25]} for i in items]
            return made if len(made) > 1 else made[0]
        return [[{"label": "b", "score": 0.75}, {"label": "a", "score": 0.25}] for _ in items]


@pytest.mark.parametrize(
    ("task", "labels", "asked"),
    [
        ("text-classification", None, {"top_k": None, "truncation": True}),
        ("sentiment-analysis", ["a", "b"], {"top_k": None, "truncation": True}),
        ("zero-shot-classification", ["a", "b"], {"candidate_labels": ["a", "b"]}),
    ],
)
@pytest.mark.parametrize("n", [1, 2])
def test_scores_of_pipelines_are_put_in_the_order_of_labels(task, labels, asked, n):
    """Whatever a pipeline puts first, for one text and for several."""
    pipeline = Pipeline(task, ["a", "b"])
    extract = sqrl.extract.texts("said", pipeline, labels=labels)
    table = extract({"said": ["x", "y"][:n]})

    assert table["said_a"].values.tolist() == [0.25] * n
    assert table["said_b"].values.tolist() == [0.75] * n
    assert pipeline.asked == [asked | {"batch_size": n}]


def test_a_pipeline_for_something_else_is_refused():
    """Word for word."""
    with pytest.raises(UnknownNameError) as raised:
        sqrl.extract.texts("said", Pipeline("text-generation"))

    assert str(raised.value).splitlines()[:2] == [
        "Unknown task 'text-generation'.",
        "  where: the pipeline for text-generation",
    ]


# Files of images


def test_a_function_gets_images_in_rgb(tmp_path):
    """Whatever they are in."""
    image_of = pytest.importorskip("PIL.Image")
    image_of.new("L", (2, 2), 7).save(tmp_path / "grey.png")
    seen = []

    def score(batch):
        seen.extend((one.mode, one.getpixel((0, 0))) for one in batch)
        return [[np.mean(one)] for one in batch]

    extract = sqrl.extract.images("file", score, labels=["mean"], folder=tmp_path)

    assert extract({"file": ["grey.png"]})["file_mean"].values.tolist() == [7]
    assert seen == [("RGB", (7, 7, 7))]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("none.png", "There is no such image."),
        ("../other.png", "The image lies outside of the folder."),
        ("text.png", "The file is not an image that can be read."),
        ("huge.png", "The image is too large to be safe."),
        ("/etc/hostname", "The image lies outside of the folder."),
    ],
)
def test_files_that_are_no_images_are_refused_with_their_path(tmp_path, monkeypatch, name, what):
    """Also those that lie elsewhere, or would fill the memory."""
    image_of = pytest.importorskip("PIL.Image")
    (tmp_path / "text.png").write_text("not an image")
    image_of.new("L", (20, 20)).save(tmp_path / "huge.png")
    monkeypatch.setattr(image_of, "MAX_IMAGE_PIXELS", 300)
    extract = sqrl.extract.images("file", lengths, labels=["a"], folder=tmp_path)
    with pytest.raises(DataError) as raised:
        extract({"file": [name]})

    assert str(raised.value).splitlines()[0] == what
    assert name.rpartition("/")[2] in str(raised.value)
