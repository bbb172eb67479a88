"""Blame: which column of a broken relation is the one that is wrong.

Where most of a column's other relations hold, it is hardly the one. An equation such as
total = price * quantity + shipping can be solved for each of its columns on the rows that break it:
for the wrong one the values that would mend it are spread as its values were in training.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sqrl._check.findings.cell_shares import CellShares, cell_shares
from sqrl._check.findings.groups import Decision, Group
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats
from sqrl._language.forms import Form
from sqrl._language.tree import Call, Name, Node, Number
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import axis_codes, count_codes

LEANS = 3.0  # mean of -log p, which is 1 where nothing has changed
FEWEST = 5  # rows that an equation is solved on


def order_by_blame(
    found: Violations, decision: Decision, groups: Sequence[Group], names: Sequence[str]
) -> list[str]:
    """The columns of broken relations, the one that most speaks against first."""
    solved = _solved(found, decision, groups[0])
    tested = [one for one in decision.groups if one.kind == "relation" and one.p_value >= 0]

    def weight(name: str) -> tuple[float, ...]:
        mine = [group for group in groups if name in group.columns]
        others = [group for group in tested if name in group.columns and group not in mine]
        leaning = _leaning(others)
        known = (1 if leaning > LEANS else -1) if others else 0
        return -len(mine), -known, solved.get(name, 1.0), -leaning

    return sorted(sorted(names), key=weight)


def _leaning(groups: Sequence[Group]) -> float:
    if not groups:
        return 1.0
    return -float(np.mean(np.log([max(group.p_value, 1e-300) for group in groups])))


def _solved(found: Violations, decision: Decision, group: Group) -> Mapping[str, float]:
    """How far from training the values are that would mend an equation, for each column."""
    for rule in group.rules:
        form = found.rules.form(rule)
        equation = _equation(form)
        if equation is None or not found.has_rows or form.given:
            continue
        rows = found.rows_of(rule)[0]
        if rows.size < FEWEST:
            continue
        shares = {name: _shares_of(found, decision, name) for name in group.columns}
        return {
            name: _distance(found, equation, name, one, rows)
            for name, one in shares.items()
            if one is not None
        }
    return {}


def _equation(form: Form) -> Node | None:
    """The expression that a rule says to be 0 but for rounding; None for other rules."""
    match form.subject:
        case Call("max", (Call("abs", (item,)), Number())) | Call("abs", (item,)):
            return item if len(form.pieces) == 1 and form.pieces[0].lower is None else None
    return None


def _shares_of(found: Violations, decision: Decision, name: str) -> CellShares | None:
    """The cells of a column by itself."""
    for group in decision.groups:
        if group.kind == "column" and group.columns == (name,):
            for rule in group.rules:
                shares = cell_shares(found, rule)
                if shares is not None and shares.given is None and shares.item == Name(name):
                    return shares
    return None


def _distance(
    found: Violations, equation: Node, name: str, shares: CellShares, rows: np.ndarray
) -> float:
    """The distance of the values that solve the equation from those of training."""
    table = found.table.take(rows)
    if table[name].kind not in {"number", "boolean"}:
        return 1.0

    def at(value: float) -> Floats:
        changed = table.with_columns({name: np.full(table.n_rows, value)}, replace=True)
        return Rows(changed, found.rules.statistics()).numbers(equation)

    start = at(0.0)
    with np.errstate(all="ignore"):
        needed = -start / (at(1.0) - start)
    needed = np.where(np.isfinite(needed), needed, np.nan)
    mended = table.with_columns({name: needed}, replace=True)
    codes = axis_codes(Rows(mended, found.rules.statistics()), shares.item, shares.axis)
    counts = count_codes(codes, shares.axis.n_cells)
    if not counts.sum():
        return 1.0
    before = shares.before[0] / shares.before[0].sum()
    known = float(counts.sum()) / table.n_rows
    return 1.0 - known + known * float(np.abs(counts / counts.sum() - before).sum() / 2)
