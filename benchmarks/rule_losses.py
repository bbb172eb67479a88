"""Rule losses to be measured: of logic rules on patients, of interval rules on boxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sqrl
from boxes import boxes_like, read_boxes
from datasets import read_cardio
from sqrl import load_schema

PER_CONDITION, PER_PIECE = 7, 60  # bytes a row, as RuleLoss says
QUICK_LITERALS = "literals(age/4, ap_hi/8, ap_lo/4, weight/4, cholesterol)"


@dataclass(frozen=True, slots=True, eq=False)
class Timed:
    """A loss, the columns its rules speak of, and the outputs of a model that is not there."""

    loss: sqrl.RuleLoss
    rules: sqrl.RuleSet
    columns: Mapping[str, Tensor]
    logits: Tensor
    moving: Mapping[str, Tensor] = field(default_factory=dict)  # outputs other than logits

    def run(self, *, rows: int | None = None) -> float:
        """The loss, after a forward and a backward pass as far as the outputs."""
        logits = self.logits[:rows].detach().requires_grad_()
        columns = {name: values[:rows] for name, values in self.columns.items()}
        outputs = {name: v[:rows].detach().requires_grad_() for name, v in self.moving.items()}
        value = self.loss(sqrl.Batch(None, columns), {"logits": logits, **outputs})
        value.backward()
        return float(value.detach())

    def stated_bytes(self) -> int:
        """What the docstring of RuleLoss says of memory, for these rules and rows."""
        n = len(self.logits)
        forms = [self.rules.form(index) for index in range(len(self.rules))]
        pieces = sum(len(form.pieces) for form in forms if not form.body)
        conditions = len({form.body for form in forms if form.body})
        return n * (PER_CONDITION * conditions + PER_PIECE * pieces)


def cardio_loss(
    folder: Path, scratch: Path, *, rows: int, n_rules: int, quick: bool, seed: int
) -> Timed:
    """A loss of so many logic rules, half of them for each class, on so many patients."""
    table, rules, _ = cardio_rules(folder, scratch, n_rules=n_rules, quick=quick, seed=seed)
    rng = np.random.default_rng(seed)
    drawn = table.take(rng.integers(0, table.n_rows, rows))
    columns = {
        name: torch.from_numpy(np.array(drawn[name].values, np.float64))
        for name in drawn.names
        if name != "cardio"
    }
    # Logits that lean towards the truth, so that some rules hold and others do not.
    truth = torch.from_numpy(np.array(drawn["cardio"].values, np.float32))
    logits = torch.randn(rows, 2, generator=torch.Generator().manual_seed(seed))
    logits[:, 1] += 2 * truth - 1
    return Timed(sqrl.RuleLoss(rules, patients), rules, columns, logits)


def patients(batch: Any, out: Any) -> dict[str, Any]:
    """The names of the cardio rules; `out` are logits, or holds them."""
    logits = out["logits"] if isinstance(out, Mapping) else out
    return {**batch.columns, "cardio": logits.softmax(-1)}


def cardio_rules(
    folder: Path, scratch: Path, *, n_rules: int, quick: bool, seed: int
) -> tuple[sqrl.Table, sqrl.RuleSet, bool]:
    """The table of patients, so many rules learned from it, and whether it is the real one."""
    cardio = read_cardio(folder, scratch, quick=quick, seed=seed)
    table = sqrl.read_table(cardio.path)
    schema: dict[str, Any] = {
        "label": "cardio",
        "let": {"Y": "values(cardio)", "L": load_schema("cardio").let["L"]},
        "cuts": {8: [5, 20, 35, 50, 65, 80, 95]},
        "rules": ["? <= f1(L{1..3} => cardio = Y) <= ? over 4096"],
        "batches": {"train": 67, "valid": 22},
        "select": {"top": n_rules // 2, "per": "Y", "by": "lower"},
    }
    if quick:
        schema["let"]["L"] = QUICK_LITERALS
        schema["rules"] = ["? <= f1(L{1..2} => cardio = Y) <= ? over 256"]
    return table, sqrl.learn(table, schema, seed=seed), cardio.is_real


def detection_loss(folder: Path, rows: int, *, seed: int) -> Timed:
    """A loss of the 252 detection rules on boxes that a detector of seven classes has found."""
    boxes, _ = read_boxes(folder, seed=seed)
    rules = sqrl.learn(boxes, "detection")
    some = boxes_like(boxes, rows, seed=seed)
    kinds = [str(kind) for kind in load_schema("detection").let["Y"]]
    moving = {
        name: torch.from_numpy(np.array(values, np.float32))
        for name, values in some.items()
        if name != "type"
    }
    logits = torch.randn(rows, len(kinds), generator=torch.Generator().manual_seed(seed))
    for place, kind in enumerate(kinds):
        logits[:, place] += 2 * torch.from_numpy(np.asarray(some["type"] == kind, np.float32))
    loss = sqrl.RuleLoss(rules, _detections, classes=kinds)
    return Timed(loss, rules, {}, logits, moving)


def _detections(batch: Any, out: Any) -> dict[str, Any]:  # noqa: ARG001
    return {"type": out["logits"].softmax(-1), **{n: v for n, v in out.items() if n != "logits"}}
