"""Expected violations and p-values of each rule, by the test that suits its kind and its history.

    sample   beta-binomial in the samples behind the bound and the new ones; where rules competed
             for their place, Fisher's exact test against held-out rows
    class    Fisher's exact test against held-out rows
    logic    an exact test of the share that the statistic stands for, against held-out rows
    batch    the test of the statistic in `value_tests.py`, against held-out rows; of a user's none
    shares   two samples in cells, all rows of the reference against new ones

Rules that name the label are tested against predictions of held-out rows where predictions stand in
its place, whatever their kind: rules about single rows by Fisher's exact test.

A rule that was chosen for how it looked on some rows cannot be tested against those rows: where
none were held out, such rules have no p-value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._check.null_tests import (
    counts_test,
    outside_of_batches,
    outside_test,
    share_test,
    worst_piece,
)
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.unit_evidence import UnitTests
from sqrl._check.value_tests import MOMENTS, value_test_of
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.forms import Form, sentence_of
from sqrl._language.kinds import EVIDENCE, Layout
from sqrl._language.statistics import batch_statistic
from sqrl._language.statistics.values import mean
from sqrl._language.tree import Name, Repeat, Units, walk
from sqrl._rows.quantiles import BoundMethod, BoundOptions
from sqrl._rows.unit_batches import rows_in_batch
from sqrl._rules.label import names_label
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema

MANY_BATCHES = 50  # of which none breaks a rule: then a change that is sure is too small to matter


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """What is known of where each rule comes from."""

    coverage: list[float | None]
    support: list[int | None]
    evidence: list[list[float] | None]
    options: BoundOptions
    is_held_out: bool  # whether the evidence is of rows that the rules were not learned from
    was_chosen: bool  # whether some rules were kept because they were the best of many
    competed: bool  # whether rules about single rows were among those
    predicted: frozenset[int] = frozenset()  # rules of the label, where predictions stand for it
    units: UnitTests | None = None  # where rows belong to units, which are what is compared
    edited: frozenset[int] = frozenset()  # rules whose bounds are a person's, and no quantiles

    @classmethod
    def of(cls, rules: RuleSet, *, predicted_label: str | None = None) -> "Background":
        """The background that a rule set carries.

        Where predictions stand in the label's place, `predicted_label`, the rules that name it are
        tested against predictions of held-out rows, or not at all: even a good model's predictions
        are not distributed as labels are.
        """
        made = rules.provenance
        evidence = rules.table["evidence"].to_pylist()
        predicted = frozenset[int]()
        if predicted_label is not None:
            said = rules.table["prediction_evidence"].to_pylist()
            places = range(len(rules))
            predicted = frozenset(i for i in places if names_label(rules, i, predicted_label))
            evidence = [said[i] if i in predicted else evidence[i] for i in places]
        units = None
        if rules.schema is not None and rules.schema.units:
            by_unit = rules.table["unit_evidence"].to_pylist()
            said = rules.table["prediction_unit_evidence"].to_pylist()
            mixed = [said[i] if i in predicted else one for i, one in enumerate(by_unit)]
            units = UnitTests(mixed, rules.table["coverage"].to_pylist(), predicted)
        return cls(
            coverage=rules.table["coverage"].to_pylist(),
            support=rules.table["support"].to_pylist(),
            evidence=evidence,
            options=rules.schema.bounds if rules.schema else BoundOptions(),
            is_held_out=made is None or made.valid_rows > 0,
            was_chosen=rules.schema is None or rules.schema.select.top is not None,
            competed=rules.schema is not None and has_competition(rules.schema),
            predicted=predicted,
            units=units,
            edited=frozenset(_edited(rules)),
        )

    def fair_evidence(self, place: int, form: Form) -> list[float] | None:
        """What rows say of a rule that was not fitted to them; None where there are none."""
        fitted = (form.is_single or self.was_chosen) and place not in self.edited
        return None if fitted and not self.is_held_out else self.evidence[place]

    def is_predicted(self, places: Sequence[int]) -> Bools:
        """Which of some rules are tested against predictions: a move either way then counts."""
        return np.array([place in self.predicted for place in places], np.bool_)

    def shares_case(self, place: int, form: Form, new: list[float]) -> SharesCase:
        """What a rule about shares compares; nothing where predictions are not known."""
        assert form.reference is not None
        reference, axis = form.reference.table, form.reference.axes[0]
        counts = np.array(new).reshape(reference.shape)
        if place in self.predicted:
            said = self.evidence[place]
            reference = np.zeros_like(reference) if said is None else np.array(said)
        return SharesCase(reference.reshape(counts.shape), counts, axis.is_ordered, axis.has_other)


def _edited(rules: RuleSet) -> list[int]:
    """Rules about rows whose bounds were edited, but for those that were only made wider.

    Of these the learned bounds' test still holds: chance breaks them no more often than it says.
    """
    learned, coverage = (rules.table[name].to_pylist() for name in ("learned", "coverage"))
    places = [i for i, text in enumerate(learned) if text is not None and coverage[i] is None]
    return [place for place in places if rules.form(place).bounds_rows]


def has_competition(schema: Schema) -> bool:
    """Whether rules about single rows were kept because they were the best of many."""
    literals = {hole for hole, domain in schema.let.items() if str(domain).startswith("literals(")}
    return schema.select.top is not None and any(
        (isinstance(node, Repeat | Name)) and node.name in literals
        for form in schema.forms()
        if form.bounds_rows
        for node in walk(sentence_of(form))
    )


def row_tests(
    forms: Sequence[Form],
    places: Int64s,
    background: Background,
    applicable: Int64s,
    broken: Int64s,
    piece_of: Int64s,
    by_unit: Mapping[int, float] | None = None,
) -> tuple[Floats, Floats]:
    """Expected violations of rules about single rows, and their p-values.

    Those of `by_unit`, by place, take the place of what rows say.

    Shapes: applicable, broken and piece_of for each piece; results for each rule.
    """
    by_piece = _outside_pieces(forms, places, background, applicable, broken, piece_of)
    expected = np.bincount(piece_of, by_piece[0], len(forms)).astype(np.float64)
    p = worst_piece(by_piece[1], piece_of, len(forms))
    rows = np.bincount(piece_of, applicable, len(forms))
    outside = np.bincount(piece_of, broken, len(forms))
    for index, form in enumerate(forms):
        place = int(places[index])
        others = background.predicted | background.edited
        if not form.has_bounds or background.competed or place in others:
            held_out = background.fair_evidence(place, form) or (0.0, 0.0)
            new = float(rows[index]), float(outside[index])
            expected[index], p[index] = share_test((held_out[0], held_out[1]), new)
        if by_unit is not None:
            p[index] = by_unit.get(place, np.nan)
    return expected, p


def _outside_pieces(
    forms: Sequence[Form],
    places: Int64s,
    background: Background,
    applicable: Int64s,
    broken: Int64s,
    piece_of: Int64s,
) -> tuple[Floats, Floats]:
    """Expected counts and p-values by the beta-binomial, for all pieces of all rules at once."""
    support = np.zeros(piece_of.size, np.int64)
    methods: dict[tuple[float, bool, bool], list[int]] = {}
    piece = 0
    for form, place in zip(forms, places.tolist(), strict=True):
        n_pieces = max(len(form.pieces), 1)
        coverage, whole = background.coverage[place], background.support[place]
        supports = [whole] if n_pieces == 1 else [part.support for part in form.pieces]
        if form.bounds_rows and coverage is not None:
            for index, (count, lower, upper) in enumerate(
                zip(supports, *interval_ends(form), strict=True)
            ):
                sides = bool(np.isfinite(lower)), bool(np.isfinite(upper))
                if count is not None:
                    support[piece + index] = count
                    key = (round(1.0 - coverage, 12), *sides)
                    methods.setdefault(key, []).append(piece + index)
        piece += n_pieces
    expected, p = np.full(piece_of.size, np.nan), np.full(piece_of.size, np.nan)
    for (delta, has_lower, has_upper), mine in methods.items():
        method = BoundMethod(delta, has_lower, has_upper, background.options)
        expected[mine], p[mine] = outside_test(
            broken[mine], applicable[mine], support[mine], method
        )
    return expected, p


def batch_tests(
    forms: Sequence[Form],
    places: Sequence[int],
    background: Background,
    counts: Int64s,
    new: Sequence[list[float]],
    n_rows: int,
    n_units: int = 0,
    by_unit: Mapping[int, float] | None = None,
) -> tuple[Floats, Floats]:
    """How many mini-batches are expected to break each rule, and the p-values.

    Those of `by_unit`, by place, take the place of what rows say.

    `new` is what all the rows checked say of a rule, however few they are. Where many mini-batches
    were measured and none breaks it, or the statistic has moved further inside the bounds, the
    p-value is 1, however sure the move is. Where mini-batches are of units, rows of which are
    alike, rows do not say how many are expected outside the bounds: as many as the coverage says.

    Shapes: counts (n, 2): on how many mini-batches a rule applied, and how many broke it.
    """
    coverage = np.array([background.coverage[place] or np.nan for place in places], np.float64)
    expected, p = counts[:, 0] * (1.0 - coverage), np.full(len(forms), np.nan)
    groups: dict[tuple[str, Layout], list[int]] = {}
    shares = [index for index, form in enumerate(forms) if form.reference is not None]
    if shares:
        cases = [background.shares_case(places[i], forms[i], new[i]) for i in shares]
        sure = shares_tests(cases)
        if by_unit is not None:
            sure = np.array([by_unit.get(places[i], np.nan) for i in shares])
        of_label = background.is_predicted([places[i] for i in shares])
        p[shares] = np.where(np.isnan(sure) | of_label | ~_held(counts[shares]), sure, 1.0)
    for index, (form, place) in enumerate(zip(forms, places, strict=True)):
        if _has_test(form, background.fair_evidence(place, form), new[index]):
            groups.setdefault((form.statistic or "", form.evidence), []).append(index)
    for (statistic, layout), mine in groups.items():
        held_out = np.array([background.evidence[places[index]] for index in mine])
        found = np.array([new[index] for index in mine])
        lower, upper = np.array([interval_ends(forms[index]) for index in mine])[:, :, 0].T
        over = np.array([_rows_in(forms[index], n_rows, n_units) for index in mine])
        size = found[:, EVIDENCE[layout].index("rows")] * over / max(n_rows, 1)
        of_values = value_test_of(forms[mine[0]])
        if of_values is None or batch_statistic(statistic).function is mean:
            share = outside_of_batches(statistic, held_out, lower, upper, size)
            # Where it is not known whether it moved, as of few rows, it may have.
            moved = ~(outside_of_batches(statistic, found, lower, upper, size) <= share)
            of_rows = np.array([not isinstance(forms[index].over, Units) for index in mine])
            expected[mine] = np.where(of_rows, counts[mine, 0] * share, expected[mine])
        else:
            with np.errstate(all="ignore"):
                is_higher = of_values.rises(held_out, found)
            moved = np.where(is_higher, np.isfinite(upper), np.isfinite(lower))
        sure = (of_values.test if of_values else partial(counts_test, statistic))(held_out, found)
        if by_unit is not None and not (of_values and of_values.has_keys):
            sure = np.array([by_unit.get(places[index], np.nan) for index in mine])
        of_label = background.is_predicted([places[index] for index in mine])
        told = np.isnan(sure) | of_label | (moved & ~_held(counts[mine]))
        p[mine] = np.where(told, sure, 1.0)
    return expected, p


def _rows_in(form: Form, n_rows: int, n_units: int) -> float:
    """How many rows a rule's mini-batches have, of units on average."""
    assert form.over is not None
    return rows_in_batch(form.over, n_rows, n_units)


def _held(counts: Int64s) -> Bools:
    """Where many mini-batches kept the rule and none broke it."""
    return np.asarray((counts[:, 0] >= MANY_BATCHES) & (counts[:, 1] == 0))


def _has_test(form: Form, held_out: list[float] | None, new: list[float]) -> bool:
    """Whether evidence tests the rule: both sides have the same numbers, and these have a test."""
    if not held_out or len(held_out) != len(new):
        return False
    if form.evidence == "counts":
        return True
    test = value_test_of(form)
    return test is not None and len(new) == MOMENTS + test.n_marks + test.n_more
