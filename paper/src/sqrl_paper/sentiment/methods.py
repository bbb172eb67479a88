"""The methods that are compared on sentences, and what is tried of each beforehand."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sqrl.methods import BN, CPL, MEMO, RPL, Bias, Mask, Objective, Tent, Unadapted
from sqrl_paper.sentiment.as_seen import Reads
from sqrl_paper.sentiment.data import Prepared
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.phrasebank import CLASSES
from sqrl_paper.sentiment.task import names
from sqrl_paper.shared.augmentations import TokenNoise

COPIES = 2  # augmentations of MEMO; with its authors' eight and more it would take an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run that are tried beforehand."""

    lr: float = 2e-2
    weight: float = 1.0  # of the rules beside the entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method: what it reads, what it changes, what is tried of it, and where it is run.

    - reads: "all" sentences; "judged", those that rules speak of, for no others have a part in the
      loss of rules; "logits", what the model has predicted of these, for what does not change the
      network.
    - n_batches: how many mini-batches what is read is cut into, of few valid sentences as of many
      test ones, so that as many steps are made.
    - guard: whether rules guard each epoch, by mini-batches not used for its steps, and an average
      over steps is kept; else the last step's result is.
    - trust_rules: whether the guard believes rules that true labels of held-out sentences break.
    - epochs: the library's default where none are given.
    """

    name: str
    about: str
    reads: Reads = "all"
    n_batches: int = 30
    parameters: Literal["norm", "all"] | None = "norm"
    guard: bool = False
    trust_rules: bool = False
    epochs: int | None = 1
    choices: tuple[Choice, ...] = ()  # as many for each method that has any
    is_on_clean_alone: bool = True

    def is_run(self, condition: str) -> bool:
        """Whether the method is run on sentences after this drift."""
        return condition == CLEAN or not self.is_on_clean_alone


RATES = tuple(Choice(lr=lr) for lr in (1e-5, 3e-5, 1e-4, 3e-4))
SLOWER = tuple(Choice(lr=lr) for lr in (1e-6, 3e-6, 1e-5, 3e-5))  # for all weights of a network
FASTER = tuple(Choice(lr=lr) for lr in (1e-2, 3e-2, 1e-1, 3e-1))  # for three numbers
WEIGHED = tuple(Choice(lr=lr, weight=weight) for lr in (3e-5, 1e-4) for weight in (1.0, 10.0))
OF_FEW = 5  # mini-batches of the sentences that rules speak of
FEW, MORE = 6, 10  # epochs
NONE = Method(name="none", about="the source model", reads="logits", is_on_clean_alone=False)
BATCH_NORM = Method(name="BN", about="MiniLM has no BatchNorm: nothing to do", reads="logits")
TENT = Method(name="Tent", about="entropy alone", choices=RATES, is_on_clean_alone=False)
ROBUST = Method(name="RPL", about="robust pseudo-labels, q = 0.8", choices=RATES)
CONJUGATE = Method(name="CPL", about="conjugate pseudo-labels at temperature 2", choices=RATES)
MARGINAL = Method(
    name="MEMO",
    about=f"entropy of the mean over {COPIES} copies of each sentence, with a tenth of the pieces "
    "of words masked and a tenth of neighbours swapped",
    choices=RATES,
)
ONE_BIAS = Method(
    name="one bias",
    about="`Bias(RuleLoss(rules))`: a number added to the logits of each class, under the guard",
    reads="logits",
    n_batches=OF_FEW,
    parameters=None,
    guard=True,
    trust_rules=True,
    epochs=MORE,
    choices=FASTER,
)
MASK = Method(
    name="mask",
    about="`Mask(rules)`: classes that a rule excludes are not predicted where it speaks; where "
    "rules exclude all classes the prediction stays",
    reads="logits",
    is_on_clean_alone=False,
)
PAPER = Method(
    name="paper's loss",
    about='rules alone: `RuleLoss(rules, loss="paper")`, without a guard',
    reads="judged",
    n_batches=OF_FEW,
    epochs=FEW,
    choices=RATES,
    is_on_clean_alone=False,
)
LOSS = Method(
    name="our loss",
    about="rules alone: `RuleLoss(rules)`, without a guard",
    reads="judged",
    n_batches=OF_FEW,
    epochs=FEW,
    choices=RATES,
)
BOTH = Method(
    name="rules + entropy",
    about="`Tent() + weight * RuleLoss(rules)`, without a guard: the authors mix the two as well",
    choices=WEIGHED,
    is_on_clean_alone=False,
)
OURS = Method(
    name="ours",
    about="`RuleLoss(rules)` with the library's defaults, under the guard, nothing tuned: what "
    "users get, which is nothing where true labels of held-out sentences break the rules",
    reads="judged",
    n_batches=OF_FEW,
    guard=True,
    epochs=None,
    is_on_clean_alone=False,
)
TRUSTED = replace(
    OURS,
    name="ours, trusted",
    about="the same for one who trusts such rules: `trust_rules=True`",
    trust_rules=True,
    is_on_clean_alone=True,
)
WHOLE = Method(
    name="paper's loss, all parameters",
    about="the ablation: the steps of the paper's loss for all parameters of the model",
    reads="judged",
    n_batches=OF_FEW,
    parameters="all",
    epochs=FEW,
    choices=SLOWER,
)
METHODS = (
    *(NONE, BATCH_NORM, TENT, ROBUST, CONJUGATE, MARGINAL, ONE_BIAS, MASK),
    *(PAPER, LOSS, BOTH, OURS, TRUSTED),
)


def method_of(name: str) -> Method:
    """The method of this name.

    >>> method_of("Tent").about
    'entropy alone'
    """
    return next(method for method in (*METHODS, WHOLE) if method.name == name)


def make_objective(method: Method, data: Prepared, choice: Choice) -> Objective:
    """What the method minimises."""
    made: dict[str, Callable[[], Objective]] = {
        NONE.name: Unadapted,
        BATCH_NORM.name: BN,
        TENT.name: Tent,
        ROBUST.name: RPL,
        CONJUGATE.name: lambda: CPL(temperature=2.0),
        MARGINAL.name: lambda: MEMO(_noise(data), n=COPIES),
        ONE_BIAS.name: lambda: Bias(data.loss(), n_classes=len(CLASSES)),
        MASK.name: lambda: Mask(data.rules, names, classes=CLASSES),
        PAPER.name: lambda: data.loss(loss="paper"),
        WHOLE.name: lambda: data.loss(loss="paper"),
        LOSS.name: data.loss,
        OURS.name: data.loss,
        TRUSTED.name: data.loss,
        BOTH.name: lambda: Tent() + choice.weight * data.loss(),
    }
    return made[method.name]()


def _noise(data: Prepared) -> TokenNoise:
    return TokenNoise(mask_token=data.network.mask_token, special=data.network.special)
