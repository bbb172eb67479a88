"""A seed's split of the cardio table, its trained model, its rules, and the drifts of the test."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

import sqrl
from rule_losses import QUICK_LITERALS
from sqrl._data import Table
from sqrl.tasks import cardio
from sqrl.tasks._ft_transformer import Size
from sqrl.tasks._inputs import TableInputs, labels_of
from sqrl.tasks._training import Training
from sqrl.tasks.drift import shift

QUICK_ROWS = 6000
QUICK_SCHEMA = {
    "label": "cardio",
    "let": {"Y": "values(cardio)", "L": QUICK_LITERALS},
    "rules": ["? <= f1(L{1..2} => cardio = Y) <= ? over 256"],
    "select": {"top": 20, "per": "Y", "by": "lower"},
}
DRIFTS = {
    "none": "nothing has changed",
    "ap_hi +1 sd": "1 standard deviation added to ap_hi in the model's inputs",
    "ap_hi -1 sd": "1 standard deviation taken from ap_hi in the model's inputs",
}


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """All that runs with the same seed share."""

    parts: Mapping[str, Table]
    inputs: TableInputs
    model: nn.Module
    rules: sqrl.RuleSet
    size: int  # of the mini-batches of steps
    size_of_rules: int  # of those that rules are about

    def labels(self, part: str) -> Tensor:
        """The true classes of a part's rows."""
        return labels_of(self.parts[part], cardio.LABEL)

    def batches(
        self, part: str, drift: str, *, rules_see: str, seed: int, size: int | None = None
    ) -> sqrl.Batches:
        """The mini-batches of a part: drifted inputs, and the columns that rules see; no labels."""
        seen = self.drifted(part, drift)
        columns = seen if rules_see == "drifted" else self.parts[part]
        without = {name: columns[name].values for name in columns if name != cardio.LABEL}
        return sqrl.Batches(self.inputs(seen), without, size=size or self.size, seed=seed)

    def drifted(self, part: str, drift: str) -> Table:
        """A part's table after one of the drifts."""
        table = self.parts[part]
        spread = self.inputs.spread("ap_hi")
        match drift:
            case "none":
                return table
            case "ap_hi +1 sd":
                return shift(table, "ap_hi", spread)
            case "ap_hi -1 sd":
                return shift(table, "ap_hi", -spread)
        raise AssertionError(drift)


def prepare(path: Path, *, seed: int, quick: bool, cache: Path) -> Prepared:
    """The split, the model (trained once, then read from the cache) and the rules of a seed."""
    table = sqrl.read_table(path)
    if quick:
        table = table.take(torch.arange(min(table.n_rows, QUICK_ROWS)).numpy())
    parts = cardio.split_cardio(table, seed=seed)
    inputs = cardio.fit_cardio_inputs(parts)
    size = Size(n_blocks=1, width=16, n_heads=2) if quick else None
    training = Training(epochs=3, lr=5e-3) if quick else None
    model = cardio.train_cardio(parts, inputs, seed=seed, size=size, training=training, cache=cache)
    if quick:
        rules = sqrl.learn(parts.train, QUICK_SCHEMA, valid=parts.valid, seed=seed)
    else:
        rules = cardio.learn_cardio(parts, seed=seed)
    named = {"train": parts.train, "valid": parts.valid, "test": parts.test}
    sizes = (64, 256) if quick else (1024, 4096)
    return Prepared(named, inputs, model, rules, *sizes)
