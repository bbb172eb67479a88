"""Work: all that a run of adaptation needs, put together from the user's model and objective."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import nn

from sqrl._adapt.anchor import Anchor
from sqrl._adapt.batch_norm import batch_norms
from sqrl._adapt.guard import Guard, guard_terms
from sqrl._adapt.model_copy import copy_model
from sqrl._adapt.objective import Context, Objective, Statistics
from sqrl._adapt.parameters import Chosen, check, collect, configured, default_parameters
from sqrl._adapt.runner import Forward, Runner, source_model
from sqrl._adapt.steps import Steps
from sqrl._adapt.trace import Diary
from sqrl._progress import Track
from sqrl.errors import AdaptError, nearest

MODES = ("offline", "online", "episodic")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may choose; see `adapt`."""

    mode: str
    parameters: str | Sequence[str] | None = None
    statistics: Statistics | None = None
    epochs: int | None = None
    lr: float | None = None
    guard: Any = True
    trust_rules: bool = False
    patience: int = 3
    anchor: float = 0.0
    seed: int = 0
    forward: Forward | None = None

    def __post_init__(self) -> None:
        _check_word("mode", self.mode, MODES)
        if self.statistics is not None:
            _check_word("statistics", self.statistics, get_args(Statistics))
        if self.epochs is not None:
            _check_number("epochs", self.epochs, self.epochs >= 1, "at least 1")
        _check_number("patience", self.patience, self.patience >= 1, "at least 1")
        if self.lr is not None:
            _check_number("lr", self.lr, 0 < self.lr < float("inf"), "above 0")
        _check_number("anchor", self.anchor, 0 <= self.anchor < float("inf"), "0 or above")


@dataclass(frozen=True, eq=False)
class Work:
    """A run of adaptation: the model that changes, how steps are made, and the guard."""

    options: Options
    objective: Objective
    statistics: Statistics
    runner: Runner
    chosen: Chosen
    steps: Steps
    guard: Guard | None
    diary: Diary

    @property
    def passes(self) -> int:
        """Passes over all mini-batches, or steps for each one of a stream."""
        if self.options.epochs is not None:
            return self.options.epochs
        return self.objective.epochs if self.options.mode == "offline" else 1

    @property
    def lr(self) -> float:
        """The first learning rate: the one chosen, or the objective's own."""
        return self.objective.lr if self.options.lr is None else self.options.lr


@contextmanager
def prepared(
    model: nn.Module, objective: Objective, options: Options, track: Track | None
) -> Iterator[Work]:
    """All that a run needs; meanwhile only what is adapted has gradients."""
    if not isinstance(objective, Objective):
        raise AdaptError(
            f"The objective is a {type(objective).__name__}.",
            fix="pass a sqrl.RuleLoss(rules, names=...), one of sqrl.methods, or a sum of these",
        )
    if options.anchor:
        objective = objective + options.anchor * Anchor()
    inner = copy_model(model)
    wrapped = objective.wrap(inner).eval()
    runner = Runner(wrapped, options.forward)
    objective.to(runner.device)
    chosen = _choose(wrapped, inner, objective, options)
    source = source_model(model, runner.forward)
    generator = torch.Generator(runner.device).manual_seed(options.seed)
    context = Context(run=runner.again, source=source, generator=generator)
    statistics = options.statistics or objective.statistics
    with configured(wrapped, chosen):
        lr = objective.lr if options.lr is None else options.lr
        steps = Steps(runner, objective, context, chosen, lr=lr, statistics=statistics)
        terms = guard_terms(objective, options.guard) if objective.has_steps else []
        guard = Guard(runner, terms) if terms else None
        work = Work(options, objective, statistics, runner, chosen, steps, guard, Diary(track))
        _write_notes(work)
        try:
            yield work
        finally:
            for _, term in (*objective.rule_terms(), *terms):
                if hasattr(term, "standing"):
                    term.standing = None  # rules stand again as they were given


def _choose(wrapped: nn.Module, inner: nn.Module, objective: Objective, options: Options) -> Chosen:
    if not objective.has_steps:
        return {}
    choice = default_parameters(objective) if options.parameters is None else options.parameters
    chosen = collect(wrapped, choice, inner=inner)
    check(wrapped, choice, chosen)
    return chosen


def _write_notes(work: Work) -> None:
    """What a reader of the trace should know beforehand."""
    if work.statistics != "frozen" and not batch_norms(work.runner.model):
        work.diary.note(
            f"statistics={work.statistics!r} had no effect: the model has no BatchNorm layers that"
            " keep running statistics."
        )
    if work.objective.has_steps and work.guard is None and work.options.guard not in (False, None):
        work.diary.note(
            "There was no guard, for the objective has no rules to go by; guard=RuleLoss(...)"
            " gives it some."
        )


def check_gradient(work: Work) -> None:
    """Raise where there were losses to follow and none of them depended on what may change."""
    if not work.steps.without_gradient or work.steps.made:
        return
    some = ", ".join(list(work.chosen)[:3])
    raise AdaptError(
        "The loss does not depend on the parameters chosen, so there is no gradient to follow.",
        where=f"{len(work.chosen)} parameters: {some}{', ...' if len(work.chosen) > 3 else ''}",
        fix="compute it from the model's output, without detach(), argmax() or numpy; or choose"
        " other parameters",
    )


def name_of(objective: Objective) -> str:
    """An objective's name, or those of its terms with their weights.

    >>> name_of(Anchor() + 0.5 * Anchor())
    'Anchor + 0.5 x Anchor'
    """
    parts = [
        type(term).__name__ if weight == 1 else f"{weight:g} x {type(term).__name__}"
        for weight, term in objective.terms()
    ]
    return " + ".join(parts)


def _check_word(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise AdaptError(
            f"There is no {name} {value!r}.", where=f"{name}=", fix=nearest(str(value), known)
        )


def _check_number(name: str, value: Any, is_right: bool, range_: str) -> None:
    if not is_right:
        raise AdaptError(f"{name} is {value}.", where=f"{name}=", fix=f"give a number {range_}")
