"""The methods that are compared on images, and what is tried of each beforehand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from sqrl.methods import BN, CPL, MEMO, RPL, Objective, Statistics, Tent, Unadapted
from sqrl_paper.imagenet_x.data import Prepared
from sqrl_paper.shared.augmentations import ImageNoise

COPIES = 2  # augmentations of MEMO; with its authors' eight and more it would take an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run that are tried beforehand."""

    lr: float = 1e-3
    weight: float = 10.0  # of the rules beside the entropy
    statistics: Statistics = "frozen"  # of BatchNorm layers, during the steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method: how it starts, what it changes, what is tried of it, and where it is run.

    - start: "source", "first half" (BatchNorm statistics of the first half of the layers from the
      test images), or "least", whichever of the two has the lower objective.
    - guard: whether rules guard each epoch, by mini-batches not used for its steps, and an average
      over steps is kept; else the last step's result is.
    """

    name: str
    about: str
    start: Literal["source", "first half", "least"] = "source"
    parameters: Literal["norm", "all"] = "norm"
    guard: bool = False
    epochs: int = 1
    choices: tuple[Choice, ...] = ()  # as many for each method that has any
    is_on_clean_alone: bool = False


SPEEDS = tuple(Choice(lr=lr) for lr in (3e-4, 1e-3, 3e-3))
SLOWER = tuple(Choice(lr=lr) for lr in (1e-5, 3e-5, 1e-4))  # for all weights of a network
STATISTICS = tuple(Choice(statistics=one) for one in get_args(Statistics))
WEIGHTS = tuple(Choice(weight=weight) for weight in (3.0, 10.0, 30.0))
NONE = Method(name="none", about="the source model")
BATCH_NORM = Method(name="BN", about="BatchNorm statistics from the test images, in all layers")
FIRST_HALF = Method(
    name="BN, first half",
    about="BatchNorm statistics from the test images, in the first half of the layers",
    start="first half",
)
TENT = Method(name="Tent", about="entropy", choices=STATISTICS)
ROBUST = Method(name="RPL", about="robust pseudo-labels, q = 0.8", choices=STATISTICS)
CONJUGATE = Method(name="CPL", about="conjugate pseudo-labels at temperature 2", choices=STATISTICS)
MARGINAL = Method(
    name="MEMO",
    about=f"entropy of the mean over {COPIES} augmented copies; not run under corruptions, for "
    "the time it takes",
    choices=SPEEDS,
    is_on_clean_alone=True,
)
RATES = Method(
    name="class rates",
    about="rules that bound how often each metaclass occurs, and say nothing of factors",
    choices=SPEEDS,
)
RULES = Method(name="rules", about="the rules alone", choices=SPEEDS)
NO_RULES = Method(
    name="ours, no rules",
    about="what rules add to ours: the same with the entropy alone, which has no guard",
    start="least",
)
OURS = Method(
    name="ours",
    about="entropy + rules, weighed: from the source or from statistics as in 'BN, first half', "
    "wherever that is least; from there steps under the guard, none from the source",
    start="least",
    guard=True,
    epochs=2,
    choices=WEIGHTS,
)
WHOLE = Method(
    name="rules, all parameters",
    about="the ablation: the rules' steps for all parameters of the model",
    parameters="all",
    choices=SLOWER,
)
METHODS = (
    *(NONE, BATCH_NORM, FIRST_HALF, TENT, ROBUST, CONJUGATE, MARGINAL),
    *(RATES, RULES, NO_RULES, OURS),
)


def method_of(name: str) -> Method:
    """The method of this name.

    >>> method_of("Tent").about
    'entropy'
    """
    return next(method for method in (*METHODS, WHOLE) if method.name == name)


def make_objective(method: Method, data: Prepared, choice: Choice) -> Objective:
    """What the method minimises."""
    made: dict[str, Callable[[], Objective]] = {
        NONE.name: Unadapted,
        FIRST_HALF.name: Unadapted,
        BATCH_NORM.name: BN,
        TENT.name: Tent,
        NO_RULES.name: Tent,
        ROBUST.name: RPL,
        CONJUGATE.name: lambda: CPL(temperature=2.0),
        MARGINAL.name: lambda: MEMO(ImageNoise(), n=COPIES),
        RATES.name: lambda: data.rates,
        RULES.name: lambda: data.loss,
        WHOLE.name: lambda: data.loss,
        OURS.name: lambda: Tent() + choice.weight * data.loss,
    }
    return made[method.name]()
