"""LocalModel: a folder of transformers that was looked at before anything in it is loaded.

Weights are taken from safetensors alone. Older files of weights are pickles, which run whatever
they say when they are read; and a folder can ask for Python files of its own to be run.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from sqrl.errors import DataError, MissingExtraError

Of = Literal["text", "image"]
SETTINGS = (
    "config.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
    "processor_config.json",
)
LARGEST_SETTINGS = 16_000_000  # bytes
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")
IMAGES_AND_TEXTS = ("CLIPModel", "SiglipModel")
LONGEST = 512  # tokens, where neither model nor tokenizer says
NOT_LIMITED = 1_000_000  # a tokenizer that knows no limit says a very large number


class _Settings(msgspec.Struct):
    """What a `config.json` says, as far as it matters here."""

    architectures: list[str] | None = None
    id2label: dict[str, str] | None = None
    auto_map: Any = None


@dataclass(slots=False, eq=False)
class LocalModel:
    """A folder of a model, what is in it by its settings, and the pipeline that it makes."""

    folder: Path
    of: Of
    settings: _Settings

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a classifier, in the order of its outputs."""
        found = self.settings.id2label or {}
        return tuple(found[key] for key in sorted(found, key=int))

    @property
    def task(self) -> str:
        """What the model is for, in the words of transformers."""
        head = (self.settings.architectures or [""])[0]
        if self.of == "image":
            known = {"ForImageClassification": "image-classification"}
            known |= dict.fromkeys(IMAGES_AND_TEXTS, "zero-shot-image-classification")
        else:
            known = {"ForSequenceClassification": "text-classification"}
            known |= {"Model": "feature-extraction", "ForMaskedLM": "feature-extraction"}
        for ending, task in known.items():
            if head.endswith(ending) and (self.of == "image" or head not in IMAGES_AND_TEXTS):
                return task
        raise DataError(
            f"The model is a {head or 'model of no known kind'}, which gives no scores of"
            f" {self.of}s.",
            where=str(self.folder / "config.json"),
            fix="use a classifier, a model of embeddings or CLIP; or pass a function",
        )

    @cached_property
    def pipeline(self) -> Any:
        """The model as a pipeline, on the processor and in single precision."""
        transformers = imported()
        safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        parts: dict[str, Any] = {}
        auto = {
            "text-classification": "AutoModelForSequenceClassification",
            "image-classification": "AutoModelForImageClassification",
        }.get(self.task, "AutoModel")
        bars = transformers.utils.logging
        shows_bars = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()  # of a moment's work
        try:
            model = getattr(transformers, auto).from_pretrained(
                self.folder, use_safetensors=True, **safe
            )
            if self.of == "image":
                parts["image_processor"] = transformers.AutoImageProcessor.from_pretrained(
                    self.folder, **safe
                )
            if self.task != "image-classification":
                parts["tokenizer"] = _tokenizer(transformers, self.folder, model.config, safe)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            first = " ".join(str(error).split())[:300]
            raise DataError(
                f"The model cannot be loaded: {first}",
                where=str(self.folder),
                fix="save it anew with model.save_pretrained(folder) and, for texts,"
                " tokenizer.save_pretrained(folder)",
            ) from None
        finally:
            if shows_bars:
                bars.enable_progress_bar()
        model = model.float().eval()
        return transformers.pipeline(self.task, model=model, device=-1, **parts)


def open_model(path: str | Path, of: Of) -> LocalModel:
    """The model in a folder, refused where loading it could run code or fetch something."""
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DataError(
            "There is no such folder, and nothing is downloaded.",
            where=str(path),
            fix="fetch the model once, with hf download NAME --local-dir FOLDER, and give the"
            " folder; or pass a function",
        )
    settings = {name: _read(folder / name) for name in SETTINGS if (folder / name).is_file()}
    if "config.json" not in settings:
        raise DataError(
            "The folder has no config.json, so it is not a model of transformers.",
            where=str(folder),
            fix="give the folder that model.save_pretrained(folder) wrote; or pass a function",
        )
    for name, one in settings.items():
        if one.auto_map:
            raise DataError(
                "The model comes with code of its own, which is not run.",
                where=str(folder / name),
                fix="load it yourself, if you trust it, and pass a pipeline or a function",
            )
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(path.name for kind in PICKLES for path in folder.glob(kind))
        what = "The folder has no weights in safetensors."
        if pickled:
            what = f"The weights are a pickle, {pickled[0]}, which can run code when it is read."
        raise DataError(
            what,
            where=str(folder),
            fix="write them as safetensors where you trust them: model.save_pretrained(folder)",
        )
    return LocalModel(folder, of, settings["config.json"])


def imported() -> Any:
    """The library transformers."""
    try:
        import_module("torch")
        return import_module("transformers")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"sqrl.extract needs {error.name}, which is not installed.",
            fix='pip install "sqrl-rules[extract]"',
        ) from None


def _tokenizer(transformers: Any, folder: Path, config: Any, safe: dict[str, Any]) -> Any:
    """The tokenizer, which cuts texts that are too long for the model."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
    if tokenizer.model_max_length > NOT_LIMITED:
        places = getattr(config, "max_position_embeddings", None) or LONGEST
        tokenizer.model_max_length = max(
            1, places - 2
        )  # some models keep two places for themselves
    return tokenizer


def _read(path: Path) -> _Settings:
    if path.stat().st_size > LARGEST_SETTINGS:
        raise DataError("The settings are too large.", where=str(path), fix="check the file")
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Settings)
    except msgspec.DecodeError as error:
        fix = "give the folder that model.save_pretrained(folder) wrote"
        raise DataError(f"Not settings of a model: {error}.", where=str(path), fix=fix) from None
