"""Financial PhraseBank: its official format, its damages, and FinBERT's three parts."""

from collections import Counter

import numpy as np
import pytest

from real_data import folder
from sqrl.errors import DataError
from sqrl_paper.sentiment.phrasebank import (
    CLASSES,
    MAX_BYTES,
    N_SENTENCES,
    Phrases,
    read_phrasebank,
    split_phrases,
)

PAGE = "https://www.researchgate.net/publication/251231364_FinancialPhraseBank-v10"
AGAIN = f"  fix:   fetch it again from {PAGE}"


def write(root, content, *, name="Sentences_50Agree.txt"):
    """A data folder with this content in a file of the data set."""
    path = root / "phrasebank" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def numbered(n):
    """Sentences that say which they are."""
    return Phrases(tuple(str(row) for row in range(n)), np.arange(n) % 3)


def test_the_official_file_is_read_line_by_line(tmp_path):
    """Latin-1, carriage returns, and the last @ before the sentiment."""
    write(
        tmp_path,
        b"Sales rose to \xa3 5 mn .@positive\r\nWrite to a@b.fi .@neutral\r\nLoss .@negative\r\n",
    )
    phrases = read_phrasebank(tmp_path, is_complete=False)

    assert phrases.texts == ("Sales rose to £ 5 mn .", "Write to a@b.fi .", "Loss .")
    assert phrases.sentiments == ["positive", "neutral", "negative"]
    assert phrases.labels.tolist() == [2, 1, 0]
    assert len(phrases) == 3


def test_only_line_feeds_end_a_line(tmp_path):
    """Byte 85 is a line separator of Unicode's; the last line need not end at all."""
    write(tmp_path, b"Up \x85 and up@positive\nDown@negative")
    phrases = read_phrasebank(tmp_path, is_complete=False)

    assert phrases.texts == ("Up \x85 and up", "Down")


def test_another_agreement_is_another_file(tmp_path):
    """Sentences on which all annotators agree lie in a file of their own."""
    write(tmp_path, b"All@neutral\r\n", name="Sentences_AllAgree.txt")
    write(tmp_path, b"Most@neutral\r\n", name="Sentences_75Agree.txt")
    found = [read_phrasebank(tmp_path, agreement=n, is_complete=False).texts for n in (100, 75)]

    assert found == [("All",), ("Most",)]


def test_a_missing_file_is_answered_with_the_official_page(tmp_path):
    """The message says where the file is expected and where it comes from."""
    with pytest.raises(DataError) as caught:
        read_phrasebank(tmp_path)

    assert str(caught.value) == (
        "The data set 'Financial PhraseBank' is not there.\n"
        f"  where: {tmp_path / 'phrasebank' / 'Sentences_50Agree.txt'}\n"
        f"  fix:   download it from {PAGE} and put the file there, or say with --data DIR or "
        "SQRL_DATA=DIR which folder holds it"
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"No sentiment", "There is no @ between a sentence and its sentiment."),
        (b"", "There is no @ between a sentence and its sentiment."),
        (b"Down .@bad", "The sentiment is 'bad' instead of negative, neutral, positive."),
        (b" @neutral", "There is a sentiment without a sentence."),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, what):
    """What is wrong with it, and which line of the file it is."""
    path = write(tmp_path, b"Sales rose .@positive\r\n" + line + b"\r\nFine .@neutral\r\n")
    with pytest.raises(DataError) as caught:
        read_phrasebank(tmp_path, is_complete=False)

    assert str(caught.value) == f"{what}\n  where: {path}, line 2\n{AGAIN}"


def test_a_file_cut_short_is_not_taken_for_the_data(tmp_path):
    """A download that stopped early would otherwise give other parts."""
    path = write(tmp_path, b"Sales rose .@positive\r\n" * 3)
    with pytest.raises(DataError) as caught:
        read_phrasebank(tmp_path)

    assert str(caught.value) == (
        f"There are 3 sentences instead of 4,846.\n  where: {path}\n{AGAIN}"
    )


def test_a_file_far_too_large_is_not_read(tmp_path):
    """Something else lies under the name."""
    path = write(tmp_path, b"")
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError) as caught:
        read_phrasebank(tmp_path)

    assert str(caught.value) == (
        f"The file has more than 16,000,000 bytes.\n  where: {path}\n{AGAIN}"
    )


def test_the_parts_share_no_sentence_and_lose_none():
    """3,488 to learn from, 388 to choose by and 970 to test on, by the seed alone."""
    parts = split_phrases(numbered(4846))
    again, other = split_phrases(numbered(4846)), split_phrases(numbered(4846), seed=1)
    found = [*parts.train.texts, *parts.valid.texts, *parts.test.texts]

    assert (len(parts.train), len(parts.valid), len(parts.test)) == (3488, 388, 970)
    assert sorted(map(int, found)) == list(range(4846))
    assert again.test.texts == parts.test.texts
    assert set(other.test.texts) != set(parts.test.texts)
    assert all(
        int(text) % 3 == label for text, label in zip(found[:9], parts.train.labels, strict=False)
    )


@pytest.mark.parametrize(("n", "seed"), [(4846, 0), (4846, 3), (11, 0)])
def test_the_parts_are_those_of_scikit_learn(n, seed):
    """FinBERT's authors draw a fifth for testing, and of the rest a tenth for choosing."""
    selection = pytest.importorskip("sklearn.model_selection")
    rest, test = selection.train_test_split(range(n), test_size=0.2, random_state=seed)
    train, valid = selection.train_test_split(rest, test_size=0.1, random_state=seed)
    parts = split_phrases(numbered(n), seed=seed)
    found = [[int(text) for text in part.texts] for part in (parts.train, parts.valid, parts.test)]

    assert found == [train, valid, test]


def test_a_fingerprint_changes_with_texts_labels_and_order():
    """And with nothing else."""
    one = Phrases(("a", "b"), np.array([0, 1]))
    others = [
        Phrases(("ab", ""), np.array([0, 1])),
        Phrases(("a", "b"), np.array([0, 2])),
        one.take(np.array([1, 0])),
    ]

    assert Phrases(("a", "b"), np.array([0, 1])).fingerprint() == one.fingerprint()
    assert len({one.fingerprint(), *(other.fingerprint() for other in others)}) == 4


@pytest.mark.parametrize("agreement", list(N_SENTENCES))
def test_real_files_have_as_many_sentences_as_published(agreement):
    """And each of the three sentiments."""
    phrases = read_phrasebank(folder("phrasebank").parent, agreement=agreement)

    assert len(phrases) == N_SENTENCES[agreement]
    assert set(phrases.sentiments) == set(CLASSES)


def test_real_parts_are_finberts():
    """Its authors' notebook shows how each part begins, and the sentiments to test on."""
    parts = split_phrases(read_phrasebank(folder("phrasebank").parent))
    first = [part.texts[0].split()[:3] for part in (parts.train, parts.valid, parts.test)]

    assert [" ".join(words) for words in first] == [
        "After the reporting",
        "Our in-depth expertise",
        "The Bristol Port",
    ]
    assert Counter(parts.test.sentiments) == {"neutral": 575, "positive": 267, "negative": 128}
