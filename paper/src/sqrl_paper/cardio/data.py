"""A seed's split of the cardio table, its model and its rules; and the rows after each drift."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl import Batch, Batches, RuleLoss, RuleSet, Table, learn
from sqrl_paper.cardio import task as cardio
from sqrl_paper.cardio.drift import Drift, Drifted, of_values, shift
from sqrl_paper.cardio.drifts import cardio_drifts
from sqrl_paper.cardio.ft_transformer import AfterStart, Size, start
from sqrl_paper.cardio.inputs import TableInputs, labels_of
from sqrl_paper.place import Place
from sqrl_paper.shared.training import Training

QUICK_ROWS = 2000
QUICK_SCHEMA: dict[str, Any] = {
    "label": cardio.LABEL,
    "let": {
        "Y": f"values({cardio.LABEL})",
        "L": "literals(age/4, ap_hi/8, ap_lo/4, weight/4, cholesterol)",
    },
    "rules": ["? <= f1(L{1..2} => cardio = Y) <= ? over 256"],
    "select": {"top": 20, "per": "Y", "by": "lower"},
}
QUICK_DRIFTS = ("ap_hi shifted, +1 sd", "class balance, 15% with cardio")
KINDS = (  # of drifts: one of each, for the sake of time; `cardio_drifts` has more
    "ap_hi shifted",
    "ap_hi stretched",
    "ap_hi in kilopascals",
    "column missing",
    "class balance",
)
CLEAN = "no drift"
TUNING = "ap_hi shifted, -1 sd"  # not among those of the test
STRONG = "ap_hi shifted, +1 sd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Rows in mini-batches: of steps under drifts, and of those that rules are about."""

    steps: int
    rules: int
    n_counted: int  # mini-batches on which violations are counted


FULL = Sizes(steps=1024, rules=4096, n_counted=67)
QUICK = Sizes(steps=128, rules=256, n_counted=2)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that runs with the same seed share."""

    parts: Mapping[str, Table]
    inputs: TableInputs
    model: nn.Module
    rest: AfterStart  # the same model, for what `Rows.started` gives
    rules: RuleSet
    drifts: Mapping[str, Drift]
    sizes: Sizes
    seed: int

    def loss(self, **options: Any) -> RuleLoss:
        """The loss of the rules."""
        return RuleLoss(self.rules, names, **options)

    def balance(self) -> Tensor:
        """The share of each class in the train rows."""
        labels = labels_of(self.parts["train"], cardio.LABEL)
        return torch.bincount(labels, minlength=2) / len(labels)

    def rows(self, part: str, drift: str) -> "Rows":
        """The rows of a part after a drift."""
        made = self.drifts[drift].make(self.parts[part], self.seed)
        return Rows(made, self.inputs(made.seen), self.model)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows as they are and as the model sees them."""

    made: Drifted
    inputs: tuple[Tensor, Tensor]
    model: nn.Module

    @property
    def labels(self) -> Tensor:
        """The true classes."""
        return labels_of(self.made.true, cardio.LABEL)

    def take(self, at: Tensor) -> "Rows":
        """Some of the rows."""
        made = Drifted(*(table.take(at.numpy()) for table in (self.made.seen, self.made.true)))
        numbers, categories = self.inputs
        return Rows(made, (numbers[at], categories[at]), self.model)

    def batches(
        self, *, size: int, seed: int, rules_see: str = "true", is_started: bool = False
    ) -> Batches:
        """Mini-batches without labels: the inputs, and the columns that rules see.

        The inputs of the model, or if `is_started` those of the rest of it, which are quicker.
        """
        table = self.made.seen if rules_see == "drifted" else self.made.true
        inputs = start(self.model, *self.inputs) if is_started else self.inputs
        return Batches(inputs, _without_label(table), size=size, seed=seed)

    def drawn(self, n_batches: int, size: int, *, seed: int) -> Iterator[Batch]:
        """Mini-batches with the true columns, for rules to be counted on: a bootstrap of the rows.

        Each is drawn without replacement, independently of the others.
        """
        return self.batches(size=size, seed=seed).draw(n_batches, seed=seed)


@cache
def prepared(place: Place, seed: int) -> Prepared:
    """The split, the model (trained once, then read from the cache) and the rules of a seed."""
    n_rows = None if place.quick or place.is_made else cardio.N_ROWS
    table = cardio.read_cardio(place.folder, n_rows=n_rows)
    if place.quick:
        table = table.take(np.arange(min(table.n_rows, QUICK_ROWS)))
    parts = cardio.split_cardio(table, seed=seed)
    inputs = cardio.fit_cardio_inputs(parts)
    size = Size(n_blocks=1, width=16, n_heads=2) if place.quick else None
    training = Training(epochs=3, lr=5e-3) if place.quick else None
    model = cardio.train_cardio(
        parts, inputs, seed=seed, size=size, training=training, cache=place.cache / "models"
    )
    if place.quick:
        rules = learn(parts.train, QUICK_SCHEMA, valid=parts.valid, seed=seed)
    else:
        rules = cardio.learn_cardio(parts, seed=seed)
    return Prepared(
        parts={"train": parts.train, "valid": parts.valid, "test": parts.test},
        inputs=inputs,
        model=model,
        rest=AfterStart(model).eval(),
        rules=rules,
        drifts=_drifts(parts.train, inputs),
        sizes=QUICK if place.quick else FULL,
        seed=seed,
    )


def names(batch: Batch, out: Tensor) -> dict[str, Any]:
    """What the rules see: the columns of the patients, and the predicted disease."""
    return {**batch.columns, cardio.LABEL: out.softmax(-1)}


def names_of_drifts(place: Place, known: Sequence[str]) -> list[str]:
    """The drifts of the test among those that are known; a few of them for a quick run."""
    return [name for name in known if name in QUICK_DRIFTS] if place.quick else list(known)


def _drifts(train: Table, inputs: TableInputs) -> dict[str, Drift]:
    nothing = of_values(CLEAN, "", lambda table: table)
    spread = inputs.spread("ap_hi")
    other = of_values("ap_hi shifted", "-1 sd", lambda table: shift(table, "ap_hi", -spread))
    test = {
        f"{one.name}, {one.strength}": one
        for one in cardio_drifts(train, inputs)
        if one.name in KINDS
    }
    return {CLEAN: nothing, TUNING: other, **test}


def _without_label(table: Table) -> dict[str, Any]:
    return {name: table[name].values for name in table if name != cardio.LABEL}
