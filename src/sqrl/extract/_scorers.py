"""Scorers: texts or images in, a number for each label out; from pipelines or from a function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sqrl._kernels.arrays import Floats
from sqrl.errors import DataError, SchemaError, unknown
from sqrl.extract._local_model import Of, imported, open_model

ENTAILS = "entailment"
CLASSIFIERS = ("text-classification", "sentiment-analysis", "image-classification")
ZERO_SHOT = ("zero-shot-classification", "zero-shot-image-classification")
TASKS = (*CLASSIFIERS, *ZERO_SHOT, "feature-extraction")


class Scorer(Protocol):
    """Gives a list of texts or images an array (items, labels)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the columns of scores are for."""

    def __call__(self, items: list[Any]) -> Floats:
        """The scores."""


def scorer_of(model: Any, labels: Sequence[str] | None, of: Of) -> Scorer:
    """The scorer that a folder, a pipeline or a function makes."""
    named = None if labels is None else tuple(map(str, labels))
    if named is not None and not named:
        raise SchemaError("There are no labels.", where="labels", fix="name one at least")
    if isinstance(model, str | Path):
        opened = open_model(model, of)
        return _scorer(opened.task, opened.labels, named, lambda: opened.pipeline, str(model))
    task = getattr(model, "task", None)
    if task is not None:
        config = model.model.config
        own = tuple(config.id2label[key] for key in sorted(config.id2label))
        return _scorer(task, own, named, lambda: model, f"the pipeline for {task}")
    if not callable(model):
        raise DataError(
            f"The model is a {type(model).__name__}.",
            where="model",
            fix="give a folder, a pipeline of transformers, or a function",
        )
    return Function(model, _needed(named, "a function"))


def _scorer(
    task: str,
    own: tuple[str, ...],
    named: tuple[str, ...] | None,
    load: Callable[[], Any],
    where: str,
) -> Scorer:
    """The scorer of a model for a task, whose own labels are these."""
    if task in ZERO_SHOT:
        return ZeroShot(load, _needed(named, "a model of any labels"))
    if task == "feature-extraction":
        return Similarity(load, _needed(named, "a model of embeddings"))
    if task not in CLASSIFIERS:
        raise unknown("task", task, TASKS, where=where)
    if named is None or set(named) <= set(own):
        return Classifier(load, named or own)
    if ENTAILS in {label.lower() for label in own}:
        return ZeroShot(lambda: _by_entailment(load()), named)
    wrong = next(label for label in named if label not in own)
    raise unknown("label", wrong, own, where=where)


def _needed(named: tuple[str, ...] | None, what: str) -> tuple[str, ...]:
    if named is None:
        raise SchemaError(
            f"The scores of {what} have no names.", where="labels", fix='give labels=["...", ...]'
        )
    return named


def _by_entailment(pipeline: Any) -> Any:
    """A classifier of pairs of texts as a pipeline for labels of one's own."""
    parts = {"model": pipeline.model, "tokenizer": pipeline.tokenizer}
    return imported().pipeline("zero-shot-classification", **parts, device=pipeline.device)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """The scores of a function of one's own."""

    function: Callable[[list[Any]], Any]
    labels: tuple[str, ...]

    def __call__(self, items: list[Any]) -> Floats:
        """What the function gives, an array or columns by label, checked."""
        made = self.function(items)
        if isinstance(made, Mapping):
            absent = [label for label in self.labels if label not in made]
            if absent:
                raise unknown("label", absent[0], list(map(str, made)), where="the function")
            made = np.column_stack([np.asarray(made[label], np.float64) for label in self.labels])
        scores = np.asarray(made, np.float64)
        if scores.ndim == 1 and len(self.labels) == 1:
            scores = scores[:, None]
        if scores.shape != (len(items), len(self.labels)):
            raise SchemaError(
                f"The function gave {scores.shape} for {len(items)} rows and"
                f" {len(self.labels)} labels.",
                where="model",
                fix="return an array with a line for each row and a column for each label",
            )
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """The probabilities of a classifier's own labels, or of some of them."""

    load: Callable[[], Any]
    labels: tuple[str, ...]

    def __call__(self, items: list[Any]) -> Floats:
        """A line of probabilities for each item."""
        pipeline = self.load()
        how: dict[str, Any] = {} if pipeline.task.startswith("image") else {"truncation": True}
        return _lines(pipeline(items, top_k=None, batch_size=len(items), **how), self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class ZeroShot:
    """The probabilities of labels that the model was not trained with."""

    load: Callable[[], Any]
    labels: tuple[str, ...]

    def __call__(self, items: list[Any]) -> Floats:
        """A line of probabilities for each item, which add up to one."""
        made = self.load()(items, candidate_labels=list(self.labels), batch_size=len(items))
        if isinstance(made, Mapping):
            made = [made]
        if isinstance(made[0], Mapping):  # of texts: labels and scores, each a list
            pairs = [zip(one["labels"], one["scores"], strict=True) for one in made]
            made = [[{"label": label, "score": score} for label, score in one] for one in pairs]
        return _lines(made, self.labels)


@dataclass(frozen=True, eq=False)
class Similarity:
    """How near texts are to labels: the cosine of their mean embeddings, from -1 to 1."""

    load: Callable[[], Any]
    labels: tuple[str, ...]

    def __call__(self, items: list[Any]) -> Floats:
        """A line of cosines for each text."""
        return self._embed(items) @ self._embedded_labels.T

    @cached_property
    def _embedded_labels(self) -> Floats:
        return self._embed(list(self.labels))

    def _embed(self, texts: list[str]) -> Floats:
        """Unit vectors: embeddings of tokens, without those that fill up, on average."""
        import torch

        pipeline = self.load()
        tokens = pipeline.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        tokens = tokens.to(pipeline.model.device)
        with torch.inference_mode():
            hidden = pipeline.model(**tokens)[0].double()
        mask = tokens["attention_mask"][..., None].double()
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
        unit = torch.nn.functional.normalize(mean, dim=1)
        return np.asarray(unit.cpu().numpy())


def _lines(results: Sequence[Sequence[Mapping[str, Any]]], labels: Sequence[str]) -> Floats:
    """Scores in the order of the labels, from those of pipelines, which put the best first.

    >>> _lines([[{"label": "b", "score": 0.75}, {"label": "a", "score": 0.25}]], "ab").tolist()
    [[0.25, 0.75]]
    """
    found = [{one["label"]: one["score"] for one in line} for line in results]
    return np.array([[line[label] for label in labels] for line in found], np.float64)
