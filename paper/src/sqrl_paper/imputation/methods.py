"""The methods that are compared on imputation, and what is tried of each beforehand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqrl import RuleLoss
from sqrl.methods import BN, Objective, Unadapted
from sqrl_paper.imputation.losses import NegativeNorm, paper_loss
from sqrl_paper.imputation.parts import HIDDEN
from sqrl_paper.imputation.task import Imputation

WEIGHT = 100.0  # of rules beside reconstruction: a mean over all values is small where few break
WITHHELD = 0.3
STEPS = 80  # in tuning as in tests, where patients are more
QUICK_STEPS = 8

Parameters = Literal["norm", "all"]
KINDS: tuple[Parameters, ...] = ("norm", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run: which parameters move, and how fast."""

    parameters: Parameters
    lr: float


def _grid(*, norm: tuple[float, float], whole: tuple[float, float]) -> tuple[Choice, ...]:
    """Four choices: two rates for normalisation layers, two for all parameters."""
    kinds = zip(KINDS, (norm, whole), strict=True)
    return tuple(Choice(parameters=kind, lr=lr) for kind, rates in kinds for lr in rates)


# As many for every method that is tuned. All parameters move by smaller steps, and so does what
# nothing holds back: rules alone, and more so a norm, which has no bound.
CHOICES = _grid(norm=(3e-3, 1e-3), whole=(1e-4, 3e-5))
SMALL_CHOICES = _grid(norm=(1e-3, 1e-4), whole=(3e-5, 3e-6))
TINY_CHOICES = _grid(norm=(1e-4, 1e-5), whole=(3e-6, 3e-7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method: what it is told by, and whose patients it learns from."""

    name: str
    about: str
    choices: tuple[Choice, ...] = CHOICES
    learns_from: Literal["same", "train"] = "same"

    @property
    def is_tuned(self) -> bool:
        """Whether there is anything to choose."""
        return bool(self.choices)


NONE = Method(name="none", about="the source model", choices=())
BATCH_NORM = Method(name="BN", about="SAITS has no BatchNorm: nothing to do", choices=())
NORM = Method(
    name="Tent, as a norm",
    about="minus the mean square of imputed values in standard deviations: what Tent and CPL "
    "become for a squared error",
    choices=TINY_CHOICES,
)
PAPER = Method(
    name="rules, paper's loss",
    about='`RuleLoss(rules, loss="paper")` on values in shares of the range',
    choices=SMALL_CHOICES,
)
RULES = Method(name="rules", about="`RuleLoss(rules)`", choices=SMALL_CHOICES)
RECONSTRUCTION = Method(
    name="reconstruction",
    about=f"the error on {WITHHELD:.0%} of the given values, withheld: the task of training",
)
BOTH = Method(
    name="rules + reconstruction", about=f"`Reconstruction(...) + {WEIGHT:g} * RuleLoss(rules)`"
)
TRAIN_ON = Method(
    name="training goes on",
    about="reconstruction of as many train patients: what is gained without any of the test's",
    learns_from="train",
)
METHODS = (NONE, BATCH_NORM, NORM, PAPER, RULES, RECONSTRUCTION, BOTH, TRAIN_ON)
ABLATED = (RULES, RECONSTRUCTION, BOTH)  # tested with each kind of parameters


def epochs_for(n_batches: int, *, quick: bool) -> int:
    """Passes over so many mini-batches that come nearest to the number of steps, at least one.

    >>> epochs_for(8, quick=False), epochs_for(16, quick=False)
    (10, 5)
    """
    return max(1, round((QUICK_STEPS if quick else STEPS) / max(1, n_batches)))


def method_of(name: str) -> Method:
    """The method of this name."""
    return next(method for method in METHODS if method.name == name)


def make_objective(method: Method, task: Imputation) -> Objective:
    """What the method minimises; none sees a hidden value."""
    return OBJECTIVES[method.name](task)


def _rules(task: Imputation) -> Objective:
    return RuleLoss(task.rules, names=task.names)


def _reconstruction(task: Imputation) -> Objective:
    return task.reconstruction(share=WITHHELD)


OBJECTIVES: dict[str, Callable[[Imputation], Objective]] = {
    NONE.name: lambda _: Unadapted(),
    BATCH_NORM.name: lambda _: BN(),
    NORM.name: NegativeNorm,
    PAPER.name: paper_loss,
    RULES.name: _rules,
    RECONSTRUCTION.name: _reconstruction,
    BOTH.name: lambda task: _reconstruction(task) + WEIGHT * _rules(task),
    # As much as is hidden in use, for all that was observed of these patients is given.
    TRAIN_ON.name: lambda task: task.reconstruction(share=HIDDEN),
}
