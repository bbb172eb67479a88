"""RuleLoss: how far a model's outputs break rules, as something to minimise (Eq. 4 and 5)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from sqrl._adapt.objective import Context, Objective
from sqrl._adapt.rule_loss.column_drift import known_bodies, share_of_drifted_bodies
from sqrl._adapt.rule_loss.gradient import (
    check_some_move,
    depends_on_model,
    of_one_logit,
    rules_without_gradient,
)
from sqrl._adapt.rule_loss.machine import Claims, Implications, Machine, Pieces
from sqrl._adapt.rule_loss.named_tensors import (
    Named,
    check_probabilities,
    class_constants,
    read_named,
)
from sqrl._adapt.rule_loss.penalties import EXPECTED, LOSSES, Penalty
from sqrl._adapt.rule_loss.program import Program
from sqrl._adapt.rule_loss.standing import Standing
from sqrl._adapt.rule_loss.tensor_rows import TensorRows, widest
from sqrl._check.p_values import Background
from sqrl._check.unit_evidence import usual_rows
from sqrl._language.tree import Node, Units, over_order
from sqrl._rules.crowded_batches import crowded_batches
from sqrl._rules.files import load_rules
from sqrl._rules.label import classes_of, label_of
from sqrl._rules.needed_columns import names_in, parts_of
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import AdaptError

Names = Callable[[Any, Any], Mapping[str, Any]]
Found = tuple[Claims, Pieces, Implications]
Costs = list[tuple[Tensor, Tensor]]  # rules, and a number for each
CONDITIONS = ("weighted", "hard")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """How a mini-batch stands to the rules.

    Shapes: each has a number for every rule: on how many samples it applies (a mini-batch is one),
    how many of them break it, and how far outside its bounds it is, in widths. With probabilities
    those are expected numbers.
    """

    applicable: Tensor
    broken: Tensor
    excess: Tensor
    weights: Tensor | None = None  # of the rules in the averages; None where all are alike

    @property
    def share(self) -> float:
        """The share of samples that break a rule, on average over the rules that apply."""
        there = self.applicable > 0
        if self.weights is not None:
            there = there & (self.weights > 0)
        if not bool(there.any()):
            return 0.0
        shares = self.broken[there] / self.applicable[there]
        return float(_mean(shares, None if self.weights is None else self.weights[there]))

    @property
    def mean_excess(self) -> float:
        """How far outside their bounds the rules are, in widths, on average over all rules."""
        return float(_mean(self.excess, self.weights)) if self.excess.numel() else 0.0


class RuleLoss(Objective):
    """How far a model's outputs break rules, averaged over the rules (or those of a file).

    `names(batch, out)` says which tensors carry the names that the rules speak of: (rows,) for
    numbers, (rows, classes) for the probabilities of the label's classes, `batch.columns` for what
    a table says of the rows. Rules are compiled once, and computed together.

    `loss="expected"`: statistics are computed with predicted probabilities in the label's place,
    and a violation counts in widths of the rule's interval. `loss="paper"`: Eq. 4 and Appendix B,
    with sigmoidF1 of the given slope and offset. `loss="released"`: as the authors' code has it,
    the distance to the nearer bound, averaged over the broken rules only. Conditions on the
    predicted class weigh rows by its probability (`weighted`), or take the likeliest class
    (`hard`). `classes` names the classes that the columns of probabilities stand for, where the
    rules do not say. Within `torch.compile` the loss is computed as it is.

    Cost for rules with c distinct conditions of at most k literals on n rows: O(n c k) time for
    rules about counts, and with a backward pass about seven bytes of memory for each condition and
    row; about sixty bytes for each row and piece of rules about single rows.

    >>> rules = RuleSet.from_texts(["0.125 <= rate(y = 1) <= 0.375 over 4"])
    >>> loss = RuleLoss(rules, names=lambda batch, out: {"y": out.softmax(-1)})
    >>> float(loss(None, torch.zeros(4, 2)))  # a half is 0.125 too much, half of the width
    0.5
    """

    def __init__(
        self,
        rules: RuleSet | str | Path,
        names: Names,
        *,
        loss: str = "expected",
        conditions: Literal["weighted", "hard"] = "weighted",
        classes: Sequence[Any] | None = None,
        slope: float = -100.0,
        offset: float = -0.5,
    ) -> None:
        super().__init__()
        rules = _rules(rules).in_force()
        if not len(rules):
            raise AdaptError("There are no rules.", fix="learn some, or load a file that has some")
        conditions = "weighted" if str(conditions) == "soft" else conditions  # its name once
        for given, known in ((loss, LOSSES), (conditions, CONDITIONS)):
            if given not in known:
                raise AdaptError(f"{given!r} is not known.", fix=f"use one of: {', '.join(known)}")
        self.rules, self.names = rules, names
        self.loss, self.conditions, self.classes = loss, conditions, classes
        self.slope, self.offset = slope, offset
        self._penalty = LOSSES[loss]
        self.forms = rules.forms()
        self.derived = rules.statistics()
        self.left_out: dict[str, str] = {}  # rules that have no part in the loss, and why
        self._notes = dict.fromkeys(crowded_batches(rules))  # in order, each once
        overs = {form.over for form in self.forms if form.over is not None}
        self._sizes = {over for over in overs if not isinstance(over, Units)}
        units = sorted((over for over in overs if isinstance(over, Units)), key=over_order)
        self._units = {over: usual_rows(rules, over) for over in units}
        nodes = [node for form in self.forms for part in parts_of(form) for node in part]
        self._needed = names_in(set(nodes), self.derived)
        self.standing: Standing | None = None  # while `adapt` uses the rules: how far each holds
        self._machines: dict[tuple[Any, ...], Machine] = {}
        self._looked_at: set[frozenset[str]] = set()

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The mean over the rules of how far each is broken."""
        if torch.compiler.is_compiling():  # in many small graphs it would be slower, not quicker
            made: Tensor = torch.compiler.disable(self._compute)(batch, out)  # type: ignore[no-untyped-call]
            return made
        return self._compute(batch, out)

    def _compute(self, batch: Any, out: Any) -> Tensor:
        named = read_named(self.names(batch, out), self._needed)
        machine = self._machine(named)
        if torch.is_grad_enabled() and depends_on_model(out):
            self._check_gradient(machine.program, named)
            self._note_size(named.n)
        found = self._found(machine, named, named.probabilities, self._penalty)
        parts = self._costs(machine, named, found, self._penalty)
        if self.standing is None and not self._penalty.only_broken:
            total = sum(costs.sum() for _, costs in parts[1:]) + parts[0][1].sum()
            return total / max(1, len(self.rules) - len(machine.program.left_out))
        costs = _by_rule(parts, len(self.rules), named.device)
        weights = torch.ones_like(costs)
        if self.standing is not None:
            weights = self.standing.weights.to(costs)
        if self._penalty.only_broken:
            weights = weights * (costs.detach() > 0)
        return _mean(costs, weights)

    def measure(self, batch: Any, out: Any, *, hard: bool = False) -> Measured:
        """How the mini-batch stands to the rules, without a gradient.

        With `hard` the likeliest class is taken as certain, as `check` does without probabilities.
        """
        with torch.no_grad():
            return self.measure_named(self.read(batch, out), hard=hard)

    def measure_named(self, named: Named, *, hard: bool = False) -> Measured:
        """How rows that are named already stand to the rules."""
        machine = self._machine(named)
        probabilities = _one_hot(named.probabilities) if hard else named.probabilities
        return self._measure(machine, named, probabilities)

    def read(self, batch: Any, out: Any, also: frozenset[str] = frozenset()) -> Named:
        """What the rules need to know of a mini-batch, and those of other names that are given."""
        values: Any = self.names(batch, out)
        others = {name for name in also if isinstance(values, Mapping) and name in values}
        return read_named(values, self._needed | others)

    def class_values(self, named: Named) -> list[Node]:
        """The value of the label that each column of probabilities stands for."""
        return list(self._machine(named).program.classes)

    def unmoved(self, named: Named, moving: frozenset[str]) -> list[int]:
        """The rules that nothing changes which the model says, or that cannot be computed."""
        program, is_weighted = self._machine(named).program, self.conditions == "weighted"
        still = rules_without_gradient(self.forms, program, moving, weighted=is_weighted)
        return sorted({*still, *program.left_out})

    def _machine(self, named: Named) -> Machine:
        """The rules compiled for this label and device, once."""
        n_classes = 0 if named.probabilities is None else named.probabilities.shape[1]
        key = named.label, n_classes, named.device, frozenset(named.categories)
        if key not in self._machines:
            check_probabilities(named)  # once: on other devices each look would wait for them
            program = self._compile(named, n_classes)
            self._machines[key] = Machine(program, named.device, named.categories)
        return self._machines[key]

    def _compile(self, named: Named, n_classes: int) -> Program:
        classes, label = [], named.label
        if label is not None:
            known = classes_of(self.rules, label)
            classes = class_constants(label, n_classes, known, self.classes)
        program = Program(self.derived, label, classes)
        coverages = self.rules.table["coverage"].to_pylist()
        for index, (form, coverage) in enumerate(zip(self.forms, coverages, strict=True)):
            program.add(index, form, coverage)
        self.left_out = {self.rules[i].text: why for i, why in program.left_out.items()}
        if len(program.left_out) == len(self.rules):
            text, why = next(iter(self.left_out.items()))
            what = f"No rule can be computed: {why}."
            raise AdaptError(what, where=text, fix=of_one_logit(named))
        return program

    def _check_gradient(self, program: Program, named: Named) -> None:
        """Raise where no rule can move the model; note which cannot."""
        moving = frozenset(named.with_gradient())
        if moving not in self._looked_at:
            weighted = self.conditions == "weighted"
            still = rules_without_gradient(self.forms, program, moving, weighted=weighted)
            texts = [self.rules[index].text for index in still]
            label = label_of(self.rules)
            check_some_move(texts, len(self.rules) - len(program.left_out), label, named)
            if texts:
                self._notes[f"{len(texts):,} rules have no gradient, such as {texts[0]}"] = None
            self._looked_at.add(moving)

    def _note_size(self, n: int) -> None:
        if self._sizes and n not in self._sizes:
            sizes = ", ".join(f"{size:,}" for size in sorted(self._sizes))
            effect = "smaller ones break rules more often by chance."
            if n > max(self._sizes):
                effect = "larger ones vary less, and break rules less often."
            self._notes[
                f"The rules are about mini-batches of {sizes} rows, those of steps have {n:,}:"
                f" {effect}"
            ] = None
        for over, rows in self._units.items():
            if n < rows:
                self._notes[
                    f"The rules are about mini-batches of {over:,}, about {rows:,} rows, those of"
                    f" steps have {n:,}: smaller ones break rules more often by chance."
                ] = None

    @property
    def notes(self) -> list[str]:
        """What a reader of results should know: rules without a gradient, other batch sizes."""
        return list(self._notes)

    def column_drift(self, batch: Any, out: Any) -> float:
        """The share of rules whose body holds far more or less often than in the train rows.

        Then not only the model's inputs have drifted, but the columns that rules rely on. 0 where
        the rules do not know the train rows.
        """
        with torch.no_grad():
            named = read_named(self.names(batch, out), self._needed)
            machine = self._machine(named)
            n_train = self.rules.provenance.train_rows if self.rules.provenance else 0
            bodies = known_bodies(self.rules, machine.program) if n_train else {}
            if not bodies or not named.n:
                return 0.0
            held = machine.held(TensorRows(named, self.derived))
            return share_of_drifted_bodies(held, bodies, n_train)

    @property
    def held_out_share(self) -> float:
        """The share of what rules about single rows apply to that held-out rows break.

        By their true labels: what even a perfect model would break. 0 where it is not known.
        """
        background = Background.of(self.rules)
        known = [
            background.fair_evidence(at, form)
            for at, form in enumerate(self.forms)
            if form.is_single
        ]
        applicable = sum(one[0] for one in known if one)
        return sum(one[1] for one in known if one) / applicable if applicable else 0.0

    @property
    def largest_size(self) -> int:
        """The rows of the largest mini-batches that rules are about; 1 where all are about rows.

        Of mini-batches of units it is about how many rows so many units have.
        """
        return max(self._sizes | set(self._units.values()), default=1)

    @property
    def tolerated_share(self) -> float:
        """The share of good data that breaks a rule: what is left of its coverage, on average."""
        coverages = self.rules.table["coverage"].to_pylist()
        weights = [1.0] * len(coverages) if self.standing is None else self.standing.weights
        both = zip(coverages, map(float, weights), strict=True)
        known = [(one, weight) for one, weight in both if one is not None and weight > 0]
        total = sum(weight for _, weight in known)
        return 1.0 - sum(one * weight for one, weight in known) / total if total else 0.0

    def _found(
        self, machine: Machine, named: Named, probabilities: Tensor | None, penalty: Penalty
    ) -> Found:
        """Everything that the rules bound or imply, on the mini-batch."""
        rows = TensorRows(named, self.derived)
        held = machine.held(rows)
        sets = machine.probabilities_of_sets(probabilities, named.n)
        conditions = sets
        if self.conditions == "hard":
            conditions = machine.probabilities_of_sets(_one_hot(probabilities), named.n)
        counted = penalty.counted(sets, self.slope, self.offset)
        claims = machine.claims(rows, held, counted, conditions)
        if self.standing is not None:
            claims = self.standing.moved(claims)
        return claims, machine.pieces(rows, held, conditions), machine.implications(held, sets)

    def _costs(self, machine: Machine, named: Named, found: Found, penalty: Penalty) -> Costs:
        """What each rule, or piece of one, costs."""
        claims, pieces, implied = found
        parts = [(claims.rule, penalty.outside(claims.value, claims.lower, claims.upper))]
        if len(pieces.rule):
            singles = penalty.outside(pieces.value, pieces.lower[:, None], pieces.upper[:, None])
            parts.append((pieces.rule, (pieces.weight * singles).sum(1) / max(1, named.n)))
        if len(implied.rule):
            parts.append(
                (implied.rule, penalty.implied(implied, partial(_is_kept, machine, named)))
            )
        return parts

    def _measure(self, machine: Machine, named: Named, probabilities: Tensor | None) -> Measured:
        claims, pieces, implied = found = self._found(machine, named, probabilities, EXPECTED)
        lower, upper = pieces.lower[:, None], pieces.upper[:, None]
        outside = (pieces.value < lower) | (pieces.value > upper)
        broken = (claims.value < claims.lower) | (claims.value > claims.upper)
        size = len(self.rules), named.device
        applicable = [
            (claims.rule, (~claims.value.isnan()).double()),
            (pieces.rule, pieces.weight.sum(1)),
            (implied.rule, implied.body),
        ]
        breaking = [
            (claims.rule, broken.double()),
            (pieces.rule, (pieces.weight * outside).sum(1)),
            (implied.rule, implied.body - implied.kept),
        ]
        costs = _by_rule(self._costs(machine, named, found, EXPECTED), *size)
        weights = None if self.standing is None else self.standing.weights.to(costs)
        return Measured(_by_rule(applicable, *size), _by_rule(breaking, *size), costs, weights)


def _mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """The average, of rules that weigh alike or not."""
    if weights is None:
        return values.mean()
    return (values * weights.to(values)).sum() / weights.sum().clamp(min=1e-12)


def _rules(given: Any) -> RuleSet:
    """Rules as they are given, or those of a file."""
    if isinstance(given, RuleSet):
        return given
    if isinstance(given, str | Path):
        return load_rules(given)
    raise AdaptError(
        f"The rules are a {type(given).__name__}.",
        fix="give the rules of sqrl.learn(...), the path of a rules file, or"
        " sqrl.RuleSet.from_texts([...])",
    )


def _by_rule(parts: Costs, n_rules: int, device: torch.device) -> Tensor:
    """The numbers of each rule added up."""
    dtype = widest(*(values for _, values in parts))
    total = torch.zeros(n_rules, dtype=dtype, device=device)
    for rule, values in parts:
        total = total.index_add(0, rule, values.to(dtype))
    return total


def _is_kept(machine: Machine, named: Named) -> Tensor:
    """Where the likeliest class is one that the rule implies: (rules, rows)."""
    likeliest = machine.probabilities_of_sets(_one_hot(named.probabilities), named.n)
    return likeliest.T[machine.implied_classes] == 1


def _one_hot(probabilities: Tensor | None) -> Tensor | None:
    """The likeliest class as certain, the first of equals."""
    if probabilities is None:
        return None
    likeliest = probabilities.detach().argmax(dim=1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(1, likeliest, 1.0)
