"""lexicon_features: 26 numbers a text, its emotions and topics, counted in lists of words.

Each is the share of a text's words that belong to an emotion or a topic. Quick, the same on every
machine, and without a network; the paper asks neural networks instead.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sqrl import Table, as_table
from sqrl.errors import DataError
from sqrl_paper.sentiment.lexicons import Words, read_empath, read_nrc

NEUTRALITY = "neutrality"
EMOTIONS = ("anger", "disgust", "fear", "joy", NEUTRALITY, "sadness", "surprise")
# PAPER: the topics are those of a network trained on tweets. These are the categories of Empath
# whose words come nearest to each; it has none for films, celebrities or hobbies as such.
TOPICS = {
    "arts_and_culture": ("art", "dance", "philosophy"),
    "business_and_entrepreneurs": (
        *("business", "banking", "economics", "money", "negotiate", "white_collar_job"),
    ),
    "celebrity_and_pop_culture": ("hipster", "royalty", "superhero", "wealthy"),
    "diaries_and_daily_life": ("domestic_work", "home", "hygiene", "morning", "sleep"),
    "family": ("children", "family", "wedding"),
    "fashion_and_style": ("appearance", "beauty", "clothing", "fashion"),
    "film_tv_and_video": ("fun", "musical"),
    "fitness_and_health": ("exercise", "healing", "health", "medical_emergency"),
    "food_and_dining": ("alcohol", "cooking", "eating", "restaurant"),
    "gaming": ("play", "toy"),
    "learning_and_educational": ("reading", "school", "writing"),
    "music": ("listen", "music", "sound"),
    "news_and_social_concern": (
        *("crime", "government", "journalism", "law", "politics", "terrorism", "war"),
    ),
    "other_hobbies": ("farming", "leisure", "pet", "tool"),
    "relationships": ("affection", "friends", "love", "sexual"),
    "science_and_technology": ("computer", "internet", "programming", "science", "technology"),
    "sports": ("competing", "sports"),
    "travel_and_adventure": (
        *("air_travel", "hiking", "sailing", "tourism", "traveling", "vacation"),
    ),
    "youth_and_student_life": ("childish", "college", "party", "youth"),
}
FEATURES = (*EMOTIONS, *TOPICS)

WORD = re.compile(r"[^\W\d_]+")  # letters of any alphabet
PLURALS = (("ies", "y"), ("es", ""), ("s", ""))


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Words by emotion and by topic, each with the place of its columns in `FEATURES`."""

    emotions: dict[str, tuple[int, ...]]
    topics: dict[str, tuple[int, ...]]

    def count(self, text: str) -> list[int]:
        """How many words of a text belong to each feature, and last how many words it has.

        Words of no emotion are neutral.
        """
        counts = [0] * (len(FEATURES) + 1)
        for word in WORD.findall(text.lower()):
            counts[-1] += 1
            for place in (
                *self._of(word, self.emotions, neutral=True),
                *self._of(word, self.topics),
            ):
                counts[place] += 1
        return counts

    @staticmethod
    def _of(
        word: str, places: dict[str, tuple[int, ...]], *, neutral: bool = False
    ) -> tuple[int, ...]:
        for form in forms_of(word):
            if form in places:
                return places[form]
        return (FEATURES.index(NEUTRALITY),) if neutral else ()


def lexicon_features(texts: Sequence[str], *, lexicon: Lexicon | None = None) -> Table:
    """The 26 columns of `FEATURES`, a row for each text: shares of its words, from 0 to 1.

    A text without words has nan in all of them, so that no rule applies to it. Plurals count as
    their singulars. The lists of words are those of NRCLex and empath unless a `lexicon` is given.

    >>> lexicon = Lexicon({"loss": (0, 5)}, {"profit": (8,)})
    >>> table = lexicon_features(["Losses followed a profit ."], lexicon=lexicon)
    >>> [float(table[name].values[0]) for name in ("anger", "neutrality", "fear")]
    [0.25, 0.75, 0.0]
    """
    known = lexicon or load_lexicon()
    counts = np.array([known.count(text) for text in texts], np.float64)
    counts = counts.reshape(len(texts), len(FEATURES) + 1)
    n_words = counts[:, -1:]
    shares = np.divide(
        counts[:, :-1], n_words, out=np.full((len(texts), len(FEATURES)), np.nan), where=n_words > 0
    )
    return as_table(dict(zip(FEATURES, shares.T, strict=True)), source="features of texts")


@cache
def load_lexicon() -> Lexicon:
    """The words of the NRC's emotions and of Empath's categories, from the installed packages."""
    nrc, empath = read_nrc(), read_empath()
    felt = {name: _words(nrc, [name]) for name in EMOTIONS if name != NEUTRALITY}
    spoken_of = {topic: _words(empath, categories) for topic, categories in TOPICS.items()}
    return Lexicon(_places(felt), _places(spoken_of))


def forms_of(word: str) -> Iterator[str]:
    """The word, then what it may be the plural of.

    >>> list(forms_of("losses"))
    ['losses', 'loss', 'losse']
    """
    yield word
    for ending, instead in PLURALS:
        if word.endswith(ending):
            yield word.removesuffix(ending) + instead


def _words(known: Words, names: Sequence[str]) -> frozenset[str]:
    absent = [name for name in names if name not in known]
    if absent:
        raise DataError(
            f"The lexicon has no words for {absent[0]!r}.",
            fix="install the versions that sqrl-paper asks for",
        )
    return frozenset().union(*(known[name] for name in names))


def _places(words: dict[str, frozenset[str]]) -> dict[str, tuple[int, ...]]:
    """The features of each word, as places in `FEATURES`."""
    found: dict[str, tuple[int, ...]] = {}
    for name, listed in words.items():
        for word in listed:
            found[word] = (*found.get(word, ()), FEATURES.index(name))
    return found
