"""The methods that are compared under a drift, and what is tried of each on validation rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import Tensor
from torch.nn.functional import cross_entropy

import sqrl
from rule_losses import patients
from sqrl._adapt._objective import Context, Objective
from sqrl.methods import BN, CPL, RPL, Bias, Tent, Unadapted


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run; at temperature 1 CPL is Tent, and is run as such."""

    lr: float = 2e-2
    epochs: int = 30
    temperature: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method: what it minimises, whether rules judge it, and which rates are tried for it."""

    name: str
    objective: str
    about: str
    guard: bool = False
    uses_rules: bool = False
    rates: Sequence[float] = (1e-3, 5e-3, 2e-2)
    last: Literal["epochs", "temperature"] = "epochs"
    is_tuned: bool = True

    def first(self, *, quick: bool) -> list[Choice]:
        """The choices tried first: each rate for a few epochs."""
        rates = self.rates[-1:] if quick else self.rates
        return [Choice(lr=lr, epochs=2 if quick else 5) for lr in rates]

    def second(self, best: Choice) -> Choice:
        """The one tried last, with the best rate so far."""
        if self.last == "temperature":
            return replace(best, temperature=2.0)
        return replace(best, epochs=3 * best.epochs)


RATES_OF_A_BIAS = (2e-2, 1e-1, 5e-1)  # its one or two numbers have farther to go than 500 others
METHODS = (
    Method(name="none", objective="none", about="the source model", is_tuned=False),
    Method(
        name="BN",
        objective="BN",
        about="an FT-Transformer has no BatchNorm: nothing to do",
        is_tuned=False,
    ),
    Method(name="Tent", objective="Tent", about="entropy"),
    Method(name="RPL", objective="RPL", about="robust pseudo-labels, q = 0.8"),
    Method(
        name="CPL",
        objective="CPL",
        about="Tent at another temperature, which is tried in the place of more epochs",
        last="temperature",
    ),
    Method(
        name="one bias",
        objective="bias",
        about="`Bias(RuleLoss(rules))`: a number added to the logits of each class, and guarded",
        guard=True,
        uses_rules=True,
        rates=RATES_OF_A_BIAS,
    ),
    Method(
        name="paper's loss",
        objective="paper",
        about='`RuleLoss(rules, loss="paper")`, without a guard as in the paper',
        uses_rules=True,
    ),
    Method(
        name="ours, no guard",
        objective="expected",
        about="`RuleLoss(rules)` with `guard=False`",
        uses_rules=True,
    ),
    Method(
        name="ours, defaults",
        objective="expected",
        about="`RuleLoss(rules)` with the library's defaults, nothing tuned: what users get",
        guard=True,
        uses_rules=True,
        is_tuned=False,
    ),
    Method(
        name="with test labels",
        objective="labels",
        about="no method but a ceiling: the same LayerNorm parameters fitted to the test labels",
    ),
)


def make_objective(kind: str, choice: Choice, rules: sqrl.RuleSet, labels: Tensor) -> Objective:
    """The objective of a kind; only "labels", which is no method, looks at the labels."""
    loss = sqrl.RuleLoss(rules, patients, loss="paper" if kind == "paper" else "expected")
    made: dict[str, Objective] = {
        "none": Unadapted(),
        "BN": BN(),
        "Tent": Tent(),
        "RPL": RPL(),
        "CPL": CPL(temperature=choice.temperature),
        "bias": Bias(loss, n_classes=2),
        "paper": loss,
        "expected": loss,
    }
    return Labelled(labels) if kind == "labels" else made[kind]


class Labelled(Objective):
    """The cross-entropy of the true labels: what no method can know."""

    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        self.labels = labels

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The mean over rows."""
        return cross_entropy(out, self.labels[batch.rows])
