"""fit(): a model and unlabelled batches in, a copy out that was trained by rules."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl._adapt.adapt import _check_batches, _from_start, _own_random
from sqrl._adapt.batches import Batches, join
from sqrl._adapt.model_copy import copy_model, evaluating
from sqrl._adapt.rule_loss.loss import Names
from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._adapt.runner import Forward, Loaded, Runner
from sqrl._data.table import as_table
from sqrl._kernels.arrays import Floats
from sqrl._progress import Track
from sqrl._rules.files import load_rules
from sqrl._rules.label import class_codes
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import TrainBy
from sqrl._train.additive import Additive, fit_additive
from sqrl._train.centre_loss import CentreLoss, Facts, as_label, names_of
from sqrl._train.misfit import Misfit, misfit_of
from sqrl._train.stated import Stated, read_stated
from sqrl.errors import AdaptError, AdaptWarning

HELD_OUT = 6  # of so many mini-batches one is held out
EPOCHS, STEPS = 60, 1000  # at most: the larger of these, unless told otherwise
LEAST_STEPS = 60  # without a better epoch, before training ends: few rows make few steps an epoch
WEIGHT = 0.0  # of the rates in a mini-batch: the additive model's probabilities have them already
LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch led to: the mean loss of its steps, and of the mini-batches held out."""

    number: int
    loss: float
    held_out: float
    is_best: bool


class Fitted(nn.Module):
    """A trained copy of a model: call it like the model, or `predict` whole loaders.

    `model` is the copy, in evaluation mode; `epochs` what happened; `additive` the additive model
    that the rules' rates made; `misfit` which facts and rates do not fit the rows.
    """

    def __init__(
        self,
        model: nn.Module,
        stated: Stated,
        additive: Additive,
        misfit: Misfit,
        epochs: Sequence[Epoch],
        forward: Forward | None,
    ) -> None:
        super().__init__()
        self.model = model
        self.classes = stated.classes
        self.additive, self.misfit, self.epochs = additive, misfit, tuple(epochs)
        self._stated, self._forward = stated, forward
        self.eval()

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """What the trained model gives for these inputs."""
        return self.model(*arguments, **named)

    def predict(self, batches: Any) -> Tensor:
        """Probabilities of the classes, or expected numbers, for all mini-batches in one tensor.

        Those of `sqrl.Batches` are in the order of its table.
        """
        runner = Runner(self.model, self._forward)
        each = batches.in_order() if isinstance(batches, Batches) else batches
        each = [each] if isinstance(each, Tensor) else each
        found = []
        for loaded in runner.load(each):
            out = runner.predict(loaded)
            out = out if isinstance(out, Tensor) else out.logits
            found.append(as_label(out, self._stated))
        made: Tensor = join(found)
        return made

    def __repr__(self) -> str:
        best = [epoch.number for epoch in self.epochs if epoch.is_best]
        kind = type(self.model).__name__
        return f"<Fitted {kind}: epoch {best[-1] if best else 0} of {len(self.epochs)} kept>"


@dataclass(slots=True, eq=False)
class _Work:
    runner: Runner
    facts: Facts
    loss: CentreLoss
    additive: Additive | None = None
    labels: Callable[[Any], Tensor | None] = field(default=lambda batch: None)  # noqa: ARG005
    weight: float = WEIGHT
    known: Tensor | None = None  # what the additive model says of rows, by their number
    is_known: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))

    def cost(self, loaded: Loaded) -> Tensor:
        """The loss of a mini-batch: additive probabilities, rates, and labels where known."""
        out = self.runner(loaded)
        named = self.facts.named(loaded.batch, out)
        target = self.target(loaded.batch, named)
        predicted = named.probabilities
        if predicted is None:
            predicted = named.numbers[self.facts.stated.label][:, None]
        known = self.labels(loaded.batch)
        if known is not None:
            is_known = ~known[:, 0].isnan()
            target = torch.where(is_known[:, None], known.to(target), target)
        total = self.distance(predicted, target)
        if self.weight:
            total = total + self.weight * self.loss(loaded.batch, out)
        return total

    def target(self, batch: Any, named: Named) -> Tensor:
        """What the additive model says of the rows, looked up where they are known by number."""
        assert self.additive is not None
        rows = getattr(batch, "rows", None)
        if rows is not None and self.known is not None and bool(self.is_known[rows].all()):
            return self.known[rows].to(named.device)
        held = self.facts.held(named)
        made = torch.from_numpy(self.additive.predict(held.cpu().double().numpy()))
        made = made.to(torch.float32).to(held.device)
        if rows is not None and self.known is not None:
            self.known[rows], self.is_known[rows] = made.cpu(), True
        return made

    def remember(self, n_rows: int) -> None:
        """Make room for what the additive model says of so many rows."""
        n_columns = max(1, len(self.facts.stated.classes))
        self.known = torch.zeros((n_rows, n_columns))
        self.is_known = torch.zeros(n_rows, dtype=torch.bool)

    def distance(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy less the entropy of the target; of numbers squares over the variance."""
        if self.facts.stated.is_number:
            scale = target.var() + LEAST if len(target) > 1 else torch.ones(())
            squares: Tensor = ((predicted - target) ** 2).mean() / scale
            return squares
        logs = predicted.clamp(min=LEAST).log()
        own = torch.special.entr(target).sum(1)
        apart: Tensor = (-(target * logs).sum(1) - own).mean()
        return apart


def fit(  # noqa: PLR0913  (each is a choice of its own)
    model: nn.Module,
    batches: Iterable[Any],
    rules: RuleSet | str,
    labels: Any = None,
    *,
    names: Names | None = None,
    classes: Sequence[str] | None = None,
    epochs: int | None = None,
    lr: float = 3e-3,
    patience: int = 5,
    weight: float = WEIGHT,
    weight_decay: float = 1e-4,
    seed: int = 0,
    forward: Forward | None = None,
    track: Track | None = None,
) -> Fitted:
    """A copy of the model, trained on unlabelled batches by the rates that rules state.

    First the additive model is found that has the stated rates on these rows (see
    `RuleClassifier`); then the copy learns its probabilities. With a `weight` the likelihood of
    each mini-batch's own rates around the rules' centres is added. One of six mini-batches is held
    out, and the epoch with the lowest loss on those is kept; training ends after `patience` epochs,
    and at least 60 steps, without a lower one, or after 60 epochs, and at least 1,000 steps. No
    label is needed. The model itself stays as it is.

    - batches: `sqrl.Batches` with the table that rules speak of, or any loader whose batches
      `names` can tell the columns of.
    - labels: known labels of the rows of a `sqrl.Batches` table, None or nan where unknown, or a
      function of a batch that gives them; they count in place of the additive model's
      probabilities, and their rates beside those of the rules.
    - names: a function (batch, out) -> {name: tensor}, as `RuleLoss` takes it; by default the
      model's output is logits of the classes (or the number), and columns are the batch's.
    - classes: the classes that the outputs stand for, where the rules do not name them all.

    >>> people = {"age": [float(age) for age in range(1, 101)]}
    >>> texts = ["0.1 <= precision(age <= 50 => sick = 1) <= 0.3 over 9",
    ...          "0.7 <= precision(age > 50 => sick = 1) <= 0.9 over 9"]
    >>> rules = RuleSet.from_texts(texts, centre=[0.2, 0.8], spread=[0.01, 0.01])
    >>> inputs = (torch.tensor(people["age"])[:, None] - 50) / 30
    >>> fitted = fit(nn.Linear(1, 2), Batches(inputs, people, size=20), rules, lr=0.1)
    >>> bool(fitted.predict(inputs)[90, 1] > 0.7)
    True
    """
    _check_batches(batches)
    rules = rules if isinstance(rules, RuleSet) else load_rules(rules)
    stated = read_stated(rules, classes)
    names = names or names_of(rules, stated)
    trained = copy_model(model)
    runner = Runner(trained, forward)
    work = _Work(
        runner,
        Facts(rules, names, classes),
        CentreLoss(rules, names, classes=stated.classes or None),
        labels=_labels_of(labels, batches, stated),
        weight=weight,
    )
    with _own_random(seed):
        steps, held_out = _divide(_from_start(batches))
        held, known = _all_rows(work, steps)
        by = rules.schema.train if rules.schema else None
        work.additive = _additive(stated, held, known, by, seed)
        if isinstance(batches, Batches):
            work.remember(batches.n_rows)
        done = _train(work, steps, held_out, epochs, lr, patience, weight_decay, seed, track)
        misfit = misfit_of(rules, stated, *_predicted(work, steps))
    if misfit.warning:
        warnings.warn(misfit.warning, AdaptWarning, stacklevel=2)
    return Fitted(trained, stated, work.additive, misfit, done, forward)


def _divide(batches: Iterable[Any]) -> tuple[Iterable[Any], list[Any]]:
    """Mini-batches for steps, and others held out; of few rows all are both."""
    if isinstance(batches, Batches):
        order = torch.randperm(batches.n_rows)
        n_out = batches.n_rows // HELD_OUT
        if n_out < 1:
            return [batches.take(order)], [batches.take(order)]
        out = [batches.take(rows) for rows in torch.split(order[:n_out], batches.size)]
        return _Part(batches, order[n_out:]), out
    listed = list(batches)
    if len(listed) < HELD_OUT:
        return listed, listed[-1:]
    out = listed[HELD_OUT - 1 :: HELD_OUT]
    return [one for place, one in enumerate(listed) if place % HELD_OUT != HELD_OUT - 1], out


class _Part:
    """Some rows of `Batches`, in mini-batches, shuffled each time they are gone through."""

    def __init__(self, batches: Batches, rows: Tensor) -> None:
        self.batches, self.rows = batches, rows

    def __iter__(self) -> Any:
        order = self.rows[torch.randperm(len(self.rows))]
        size = self.batches.size
        whole = max(1, len(order) // size)
        for place in range(whole):
            yield self.batches.take(order[place * size : (place + 1) * size])


def _all_rows(work: _Work, batches: Iterable[Any]) -> tuple[Floats, Floats | None]:
    """The terms of all rows, and the labels that are known."""
    held, known = [], []
    for loaded in work.runner.load(batches, probed=True):
        named = work.facts.named(loaded.batch, work.runner.predict(loaded))
        with torch.no_grad():
            held.append(work.facts.held(named).cpu().double().numpy())
        labels = work.labels(loaded.batch)
        known.append(None if labels is None else labels.cpu().double().numpy())
    labelled = [one for one in known if one is not None]
    return np.concatenate(held), np.concatenate(labelled) if len(labelled) == len(held) else None


def _additive(
    stated: Stated, held: Floats, known: Floats | None, by: TrainBy | None, seed: int
) -> Additive:
    if known is None:
        return fit_additive(stated, held, by=by, seed=seed)
    if stated.is_number:
        return fit_additive(stated, held, numbers=known[:, 0], by=by, seed=seed)
    there = ~np.isnan(known[:, 0])
    codes = np.where(there, np.nan_to_num(known).argmax(axis=1), -1)
    return fit_additive(stated, held, codes=codes, by=by, seed=seed)


def _train(
    work: _Work,
    steps: Iterable[Any],
    held_out: list[Any],
    epochs: int | None,
    lr: float,
    patience: int,
    weight_decay: float,
    seed: int,
    track: Track | None,
) -> list[Epoch]:
    """The epochs; the model is left in the state of the best one."""
    model = work.runner.model
    torch.manual_seed(seed)
    parameters = [one for one in model.parameters() if one.requires_grad]
    if not parameters:
        raise AdaptError("No parameter of the model can be trained.", fix="unfreeze some")
    optimiser = torch.optim.AdamW(parameters, lr, weight_decay=weight_decay)
    done: list[Epoch] = []
    best, kept, since = float("inf"), None, 0
    most = EPOCHS if epochs is None else epochs
    number = 0
    while number < most:
        number += 1
        model.train()
        losses = []
        for loaded in work.runner.load(steps):
            optimiser.zero_grad()
            loss = work.cost(loaded)
            if not bool(loss.isfinite()):
                continue
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(parameters, 5.0)
            optimiser.step()
            losses.append(loss.detach())
        if epochs is None:  # few rows make few steps an epoch
            most = max(EPOCHS, -(-STEPS // max(1, len(losses))))
        model.eval()
        with evaluating(model):
            costs = [float(work.cost(loaded)) for loaded in work.runner.load(held_out)]
        now = float(np.mean(costs))
        is_best = now < best
        mean = float(torch.stack(losses).mean()) if losses else float("nan")
        done.append(Epoch(number, mean, now, is_best))
        if is_best:
            best, since = now, 0
            kept = {name: value.detach().clone() for name, value in model.state_dict().items()}
        else:
            since += 1
        if track is not None:
            track("train", number, most)
        if since >= patience and since * len(losses) >= LEAST_STEPS:
            break
    if kept is None:
        raise AdaptError(
            "The loss was never a finite number.", fix="look at the model's inputs, or lower lr"
        )
    model.load_state_dict(kept)
    model.eval()
    return done


def _predicted(work: _Work, batches: Iterable[Any]) -> tuple[Floats, ...]:
    """The terms of the rows that the model was trained on, and what it says of them."""
    held, predicted = [], []
    for loaded in work.runner.load(batches):
        named = work.facts.named(loaded.batch, work.runner.predict(loaded))
        made = named.probabilities
        made = named.numbers[work.facts.stated.label][:, None] if made is None else made
        held.append(work.facts.held(named))
        predicted.append(made)
    return tuple(torch.cat(some).detach().cpu().double().numpy() for some in (held, predicted))


def _labels_of(
    labels: Any, batches: Iterable[Any], stated: Stated
) -> Callable[[Any], Tensor | None]:
    """A function of a batch that gives its labels, a column for each class, nan where unknown."""
    if labels is None:
        return lambda batch: None  # noqa: ARG005
    if callable(labels):
        return lambda batch: _label_columns(labels(batch), stated)
    if not isinstance(batches, Batches):
        raise AdaptError(
            "Which rows the labels belong to is not known: the batches are not sqrl.Batches.",
            fix="give a function, labels=lambda batch: ..., or make sqrl.Batches",
        )
    columns = _label_columns(labels, stated)
    if len(columns) != batches.n_rows:
        raise AdaptError(
            f"There are {len(columns):,} labels for {batches.n_rows:,} rows.",
            fix="give one for each row, None where it is not known",
        )
    return lambda batch: columns[batch.rows]


def _label_columns(labels: Any, stated: Stated) -> Tensor:
    plain = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    column = as_table({stated.label: plain}, source="labels")[stated.label]
    if stated.is_number:
        return torch.from_numpy(column.values.astype(np.float64))[:, None]
    names, codes = class_codes(column)
    made = torch.full((len(codes), len(stated.classes)), float("nan"), dtype=torch.float64)
    for code, name in enumerate(names):
        rows = torch.from_numpy(np.flatnonzero(codes == code))
        if not len(rows):
            continue
        if name not in stated.classes:
            raise AdaptError(
                f"The labels have the class {name!r}, of which the rules do not speak.",
                fix=f"name all classes: classes={[*stated.classes, name]}",
            )
        made[rows] = torch.eye(len(stated.classes), dtype=torch.float64)[stated.classes.index(name)]
    return made
