"""CheckRecord: what one check said of each rule, all that a history keeps of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._check.decided import waivers_on
from sqrl._check.null_tests import outside_spacings
from sqrl._check.p_values import Background
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.value_tests import MOMENTS, value_test_of
from sqrl._check.violations import Violations
from sqrl._history.window_times import day_of
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._rows.quantiles import BoundMethod
from sqrl._rules.held_out import digest_of

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CheckRecord:
    """What one check said of each rule, in columns over rules: all that a history keeps of it.

    `at` is the ISO 8601 date or UTC datetime of the window, the key of a history: it has one record
    for each. `rules` is the digest of the rule set, `ids` are those of `RuleSet.ids()`. `expected`
    is nan where it is not known, `p_value`, of this check alone against held-out rows, where there
    is no test.

    `evidence` is what the rows checked say of a rule, `reference` what rows that it was not fitted
    to say of it, None where there are none; both are numbers in one layout:

        outcomes   applicable, broken: rows
        counts     body, head, both, rows
        moments    rows, mean, variance, and what the test of the statistic adds
        cells      rows in each cell; `shape` is strata, cells, ordered or not, with others or not
        units      what units say, where rows belong to such; `shape` is how they are tested
        p          nothing that adds up over checks: the p-value is all there is

    `sides` says which moves of the statistic break the rule: "up", "down" or "both". `shape` is
    None but for cells and units. `finding_rules` are the ids of the rules behind each finding; the
    first `n_facts` findings are facts that need no test, such as a column that is gone. `waived`
    are the ids of the rules that the rules file waives on the day of the window.
    """

    at: str
    source: str
    rules: str
    n_rows: int
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    applicable: Int64s
    broken: Int64s
    expected: Floats
    p_value: Floats
    evidence: tuple[Numbers | None, ...]
    reference: tuple[Numbers | None, ...]
    layout: tuple[str, ...]
    sides: tuple[str, ...]
    shape: tuple[tuple[int, ...] | None, ...]
    statistic: tuple[str | None, ...]
    findings: tuple[str, ...]
    finding_rules: tuple[tuple[str, ...], ...]
    n_facts: int = 0
    waived: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.applicable, self.broken, self.expected, self.p_value):
            array.flags.writeable = False


def record_of(found: Violations, *, at: str) -> CheckRecord:
    """What a history keeps of a check.

    >>> from sqrl._check.check import check
    >>> from sqrl._rules.ruleset import RuleSet
    >>> rules = RuleSet.from_texts(["x <= 9"], coverage=[0.98], support=[999])
    >>> record = record_of(check(rules, {"x": [3.0, 12.0]}), at="2026-11-17")
    >>> record.layout, record.evidence, record.reference
    (('outcomes',), ((2.0, 1.0),), ((999.0, 20.0),))
    """
    label = found.label if found.prediction is not None else None
    background, forms = Background.of(found.rules, predicted_label=label), found.rules.forms()
    parts = [_part(found, background, place, form) for place, form in enumerate(forms)]
    findings, ids = found.findings(), tuple(found.rules.ids())
    waivers = waivers_on(found.rules, day_of(at))
    return CheckRecord(
        at=at,
        source=found.source,
        rules=digest_of(found.rules.texts()),
        n_rows=found.n_rows,
        ids=ids,
        texts=tuple(found.rules.texts()),
        applicable=found.applicable.copy(),
        broken=found.broken.copy(),
        expected=found.expected.copy(),
        p_value=found.shown_p_value,
        evidence=tuple(part.evidence for part in parts),
        reference=tuple(part.reference for part in parts),
        layout=tuple(part.layout for part in parts),
        sides=tuple(_sides(form) for form in forms),
        shape=tuple(part.shape for part in parts),
        statistic=tuple(form.statistic for form in forms),
        findings=tuple(finding.text for finding in findings),
        finding_rules=tuple(tuple(ids[place] for place in finding.rules) for finding in findings),
        n_facts=sum(finding.p_value is None for finding in findings),
        waived=tuple(one for one in ids if one in waivers),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    layout: str
    evidence: Numbers | None
    reference: Numbers | None
    shape: tuple[int, ...] | None = None


_ALONE = _Part("p", None, None)


def _part(found: Violations, background: Background, place: int, form: Form) -> _Part:
    """What the rows checked and those of the reference say of one rule."""
    if place in found.unit_evidence and background.units is not None:
        said, before = found.unit_evidence[place], background.units.evidence[place]
        sides = background.units.sides(place, form)
        shape = int(sides.both), int(sides.moves), int(sides.hits), sides.scored
        return _Part("units", tuple(said), None if before is None else tuple(before), shape)
    if form.is_single:
        outcomes = float(found.applicable[place]), float(found.broken[place])
        return _Part("outcomes", outcomes, _outcomes_before(background, place, form))
    new = tuple(found.evidence[place])
    if form.reference is not None:
        case = background.shares_case(place, form, list(new))
        shape = (*case.new.shape, int(case.is_ordered), int(case.has_other))
        return _Part("cells", new, tuple(case.reference.ravel().tolist()), shape)
    before = background.fair_evidence(place, form)
    reference = None if before is None or len(before) != len(new) else tuple(before)
    if form.evidence == "moments":
        test = value_test_of(form)
        if test is None or test.has_keys or len(new) != MOMENTS + test.n_marks + test.n_more:
            return _ALONE
    return _Part(form.evidence, new, reference)


def _outcomes_before(background: Background, place: int, form: Form) -> Numbers | None:
    """Rows and broken rows that speak of a rule about rows before any check; None without any.

    A bound at an order statistic of n rows leaves w of the n + 1 gaps between them outside: for new
    rows that is as good as n rows of which w - 1 break the rule (decision 25).
    """
    held_out = background.fair_evidence(place, form)
    by_bounds = None
    if form.bounds_rows and not background.competed and place not in background.predicted:
        by_bounds = _gaps_outside(background, place, form)
    if by_bounds is None or (held_out is not None and len(form.pieces) > 1):
        return None if held_out is None else (held_out[0], held_out[1])
    rows, outside = by_bounds
    n, k = (0.0, 0.0) if held_out is None else (held_out[0], held_out[1])
    return rows + n, max(outside - 1.0, 0.0) + k


def _gaps_outside(background: Background, place: int, form: Form) -> tuple[float, float] | None:
    """The rows behind the bounds, and how many gaps between them are outside; None if unknown."""
    coverage = background.coverage[place]
    whole: Sequence[int | None] = [part.support for part in form.pieces]
    supports = [background.support[place]] if len(form.pieces) == 1 else whole
    rows = outside = 0.0
    for support, lower, upper in zip(supports, *interval_ends(form), strict=True):
        if coverage is None or support is None:
            return None
        sides = bool(np.isfinite(lower)), bool(np.isfinite(upper))
        method = BoundMethod(round(1.0 - coverage, 12), *sides, background.options)
        gaps = float(outside_spacings(np.array([support]), method)[1][0])
        if np.isnan(gaps):
            return None
        rows, outside = rows + support, outside + min(gaps, support + 1.0)
    return rows, outside


def _sides(form: Form) -> str:
    """Which moves break a rule: of rows more that break it, of a statistic those beyond a bound."""
    if form.is_single or form.reference is not None:
        return "up"
    (lower,), (upper,) = interval_ends(form)
    return "both" if np.isfinite(lower) == np.isfinite(upper) else _one_side(float(upper))


def _one_side(upper: float) -> str:
    return "up" if np.isfinite(upper) else "down"
