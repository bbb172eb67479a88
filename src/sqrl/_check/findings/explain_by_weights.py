"""Which changes another column explains: with that column as it was, would they be there?

Two answers. A rule about the shares of one column given the other that still holds says that only
the other has changed. And rows can be weighed by cell so that the column is spread as it was; a row
is kept with a probability of its weight, and rules are tested anew on the rows kept. Fewer rows are
no explanation: as many rows taken at random must still show the change.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sqrl._check.findings.cell_shares import CellShares, cell_shares
from sqrl._check.findings.changes import is_about_missing, measure, missing_before
from sqrl._check.findings.groups import Decision, Group, p_value_of
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Name, Node
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import axis_codes
from sqrl._rules.needed_columns import names_in

GREATEST = 5.0  # weight of a row: a cell that has all but vanished cannot be brought back
FEWEST = 50  # rows that a test is tried on
MOST = 50_000
LITTLE = 0.3  # of a column's move that may be left, given its cause
MOST_UNKNOWN = 0.5  # share of rows in cells of the cause that training did not have


def explained_groups(
    found: Violations, first: Group, others: Sequence[Group], decision: Decision
) -> list[Group]:
    """Those of the other groups that are no longer significant with the first one's column back."""
    name = first.columns[0]
    explained = [group for group in others if _still_given(found, group, name, decision)]
    left = [group for group in others if group not in explained]
    if not left or not found.has_rows:
        return explained
    weights = _weights(found, first)
    if weights is None:
        return explained
    rng = np.random.default_rng(0)
    some = np.arange(found.n_rows)
    if some.size > MOST:
        some = np.sort(rng.choice(some, MOST, replace=False))
    keeps = rng.random(some.size) < weights[some] / max(1.0, float(weights.max()))
    kept = some[keeps]
    if kept.size < FEWEST:
        return explained
    random = np.sort(rng.choice(some, kept.size, replace=False))
    back, as_is = (test_again(found, left, rows) for rows in (kept, random))
    return explained + [one for one in left if back[one] > decision.limit >= as_is[one]]


def _still_given(found: Violations, group: Group, cause: str, decision: Decision) -> bool:
    """Whether a column is spread as ever, or nearly so, given the cells of its cause.

    Only rows in cells of the cause that training had say anything of that.
    """
    (name,) = group.columns
    limit = max(found.level, decision.limit)
    for other in decision.groups:
        if other.kind != "relation" or set(other.columns) != {name, cause}:
            continue
        follows = []  # p-values of what follows from values of the cause that occur
        for rule in other.rules:
            if _says_what_follows(found.rules.form(rule), name, cause, found.rules.statistics()):
                follows += [found.p_value[rule]] if found.applicable[rule] else []
                continue
            told = _shares_given(found, rule, name, cause)
            if told is None:
                continue
            shares, p = told
            known = shares.after[shares.before.sum(axis=1) > 0].sum()
            if known < MOST_UNKNOWN * found.n_rows:
                continue
            moved = max(measure(found, one)[0] for one in group.rules)
            is_little = shares.moved() <= LITTLE * moved
            return bool(p > limit) or is_little
        if follows:
            return bool(min(follows) > limit)
    return False


def _says_what_follows(form: Form, name: str, cause: str, statistics: Mapping[str, Node]) -> bool:
    """Whether a rule says which values of a column follow from a value of another."""
    if not form.implies_class or form.head is None:
        return False
    says = names_in([form.head], statistics), names_in(form.given, statistics)
    return says == ({name}, {cause})


def _shares_given(
    found: Violations, rule: int, name: str, cause: str
) -> tuple[CellShares, float] | None:
    """How a column is spread given another, and the p-value, from a rule about the two.

    The rule may be about the other given the one: its table of counts is read both ways.
    """
    shares = None if found.rules.form(rule).given else cell_shares(found, rule)
    match shares:
        case CellShares(item=Name(item), given=Name(given)) if (item, given) == (name, cause):
            return shares, float(found.p_value[rule])
        case CellShares(item=Name(item), given=Name(given)) if (item, given) == (cause, name):
            return shares.turned(), shares.turned().p_value()
    return None


def _weights(found: Violations, group: Group) -> Floats | None:
    """The weight of each row that spreads a column as it was; None where that is not known."""
    for rule in group.rules:
        form, shares = found.rules.form(rule), cell_shares(found, rule)
        if shares is None or shares.given is not None or form.given:
            continue
        with np.errstate(all="ignore"):
            before, after = shares.before[0], shares.after[0]
            weight = (before / before.sum()) / (after / after.sum())
        weight = np.minimum(np.where(after > 0, weight, 0.0), GREATEST)
        rows = Rows(found.table, found.rules.statistics())
        codes = axis_codes(rows, shares.item, shares.axis)
        known, missing = _weights_of_missing(found, group, float((codes < 0).mean()))
        return np.append(weight * known, missing)[codes]
    return None


def _weights_of_missing(found: Violations, group: Group, share: float) -> tuple[float, float]:
    """The weights of rows with a value, and of rows without one."""
    if not share:
        return 1.0, 1.0
    for rule in group.rules:
        was = missing_before(found, rule) if is_about_missing(found.rules.form(rule)) else None
        if was is not None:
            return (1 - was) / max(1 - share, 1e-9), was / share
    return 1.0, 1.0


def test_again(found: Violations, groups: Sequence[Group], rows: Int64s) -> Mapping[Group, float]:
    """The p-value of each group on some of the rows."""
    from sqrl._check.check import check

    places = sorted({rule for group in groups for rule in group.rules})
    rules, table = found.rules[places], found.table.take(rows)
    here = check(rules, table, level=found.level, today=found.day or None)
    forms, now = here.rules.forms(), {rule: place for place, rule in enumerate(places)}
    tested = {
        group: p_value_of(here, forms, [now[rule] for rule in group.rules]) for group in groups
    }
    return {group: 1.0 if np.isnan(value) else value for group, value in tested.items()}
