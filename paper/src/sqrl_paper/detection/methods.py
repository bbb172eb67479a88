"""The methods that are compared on boxes, and what is tried of each beforehand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from sqrl.methods import BN, CPL, RPL, Objective, Statistics, Tent, Unadapted
from sqrl_paper.detection.box_losses import OnFound, make_box_loss
from sqrl_paper.detection.data import Prepared
from sqrl_paper.detection.road_images import RoadImages

IntervalOutcome = Literal["all", "single"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The options of a run that are tried beforehand."""

    lr: float = 1e-3
    statistics: Statistics = "frozen"  # of BatchNorm layers, during the steps
    is_certain: bool = True  # whether rules take a box for what it most likely is
    weight: float = 10.0  # of the rules beside the entropy
    n_broken: int = 1  # rules that a box has to break to be dropped
    judged_by: IntervalOutcome = "all"  # rules, or those about a single statistic alone
    factor: float = 0.5  # of a box's score for each rule that it breaks


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method: what it does, what it changes, and what is tried of it.

    - kind: "adapt" changes the model; "drop" and "rescore" change what the source model found.
    - guard: whether rules guard each epoch, by mini-batches not used for its steps, and an average
      over steps is kept; else the last step's result is.
    """

    name: str
    about: str
    kind: Literal["adapt", "drop", "rescore"] = "adapt"
    parameters: Literal["norm", "all"] = "norm"
    guard: bool = False
    choices: tuple[Choice, ...] = ()  # as many for each method that has any


SPEEDS = tuple(Choice(lr=lr) for lr in (1e-4, 3e-4, 1e-3))
SLOWER = tuple(Choice(lr=lr) for lr in (1e-5, 3e-5, 1e-4))  # for all weights of a network
STATISTICS = tuple(Choice(statistics=one) for one in get_args(Statistics))
WEIGHTS = tuple(Choice(is_certain=False, weight=weight) for weight in (3.0, 10.0, 30.0))
FORMS = (
    Choice(lr=3e-4),
    Choice(lr=3e-4, is_certain=False),
    Choice(lr=3e-4, is_certain=False, statistics="recomputed"),
)
NONE = Method(name="none", about="the source model")
BATCH_NORM = Method(name="BN", about="BatchNorm statistics from the test images")
TENT = Method(name="Tent", about="the entropy of the boxes' classes", choices=STATISTICS)
ROBUST = Method(name="RPL", about="robust pseudo-labels, q = 0.8", choices=STATISTICS)
CONJUGATE = Method(name="CPL", about="conjugate pseudo-labels at temperature 2", choices=STATISTICS)
DROP = Method(
    name="drop",
    about="no adaptation: boxes that break rules are left out",
    kind="drop",
    choices=(
        Choice(n_broken=1),
        Choice(n_broken=1, judged_by="single"),
        Choice(n_broken=10),
    ),
)
RESCORE = Method(
    name="re-score",
    about="no adaptation: the score of a box is multiplied by a factor for each rule that it "
    "breaks",
    kind="rescore",
    choices=tuple(Choice(factor=factor) for factor in (0.8, 0.9, 0.97)),
)
PAPER = Method(
    name="rules, paper's loss",
    about="the paper's quadratic, with statistics in shares of the train boxes' range",
    choices=SPEEDS,
)
RULES = Method(
    name="rules",
    about="violations in widths of the interval, under the guard; sides of boxes follow the rules, "
    "in two of three tries also how likely boxes are, in one with statistics of the test images",
    guard=True,
    choices=FORMS,
)
BOTH = Method(
    name="rules + Tent",
    about="the entropy and the rules, weighed, under the guard",
    guard=True,
    choices=WEIGHTS,
)
WHOLE = Method(
    name="rules, all parameters",
    about="the ablation: the paper's loss for all parameters of the model",
    parameters="all",
    choices=SLOWER,
)
METHODS = (NONE, BATCH_NORM, TENT, ROBUST, CONJUGATE, DROP, RESCORE, PAPER, RULES, BOTH)


def method_of(name: str) -> Method:
    """The method of this name.

    >>> method_of("drop").kind
    'drop'
    """
    return next(method for method in (*METHODS, WHOLE) if method.name == name)


def make_objective(method: Method, data: Prepared, images: RoadImages, choice: Choice) -> Objective:
    """What the method minimises on images like these."""
    rules = make_box_loss(data.rules, images, is_certain=choice.is_certain)
    made: dict[str, Callable[[], Objective]] = {
        NONE.name: Unadapted,
        BATCH_NORM.name: BN,
        TENT.name: lambda: OnFound(Tent()),
        ROBUST.name: lambda: OnFound(RPL()),
        CONJUGATE.name: lambda: OnFound(CPL(temperature=2.0)),
        PAPER.name: lambda: make_box_loss(data.scaled, images, loss="paper"),
        WHOLE.name: lambda: make_box_loss(data.scaled, images, loss="paper"),
        RULES.name: lambda: rules,
        BOTH.name: lambda: OnFound(Tent()) + choice.weight * rules,
    }
    return made[method.name]()
