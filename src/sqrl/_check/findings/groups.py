"""Groups: rules that name the same columns, tested together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqrl._check.null_tests import benjamini_hochberg, share_test
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, Name, Node
from sqrl._rules.needed_columns import axes_of, names_in, parts_of

GroupKind = Literal["column", "relation", "repeats"]
REPEATS = "repeats"  # the statistic that is about rows which equal earlier ones


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that name the same columns: one, several, or those whose values must not repeat."""

    kind: GroupKind
    columns: tuple[str, ...]
    rules: tuple[int, ...]
    p_value: float  # nan where none of the rules has one


@dataclass(frozen=True, slots=True)
class Decision:
    """All groups, those of them that are significant, and the limit that p-values had to keep."""

    groups: tuple[Group, ...]
    significant: tuple[Group, ...]
    limit: float

    def chosen(self, kind: GroupKind) -> list[Group]:
        """The significant groups of a kind, the least p-value first."""
        return [group for group in self.significant if group.kind == kind]


def make_groups(found: Violations) -> list[Group]:
    """The groups of the rules that were checked, by the columns they name, each with a p-value."""
    forms = found.rules.forms()
    places: dict[tuple[GroupKind, frozenset[str]], list[int]] = {}
    for place, (form, names) in enumerate(zip(forms, _columns_of(found, forms), strict=True)):
        if form.statistic == REPEATS:
            places.setdefault(("repeats", names), []).append(place)
        elif names:
            kind: GroupKind = "column" if len(names) == 1 else "relation"
            places.setdefault((kind, names), []).append(place)
    return [
        Group(kind, tuple(sorted(names)), tuple(mine), p_value_of(found, forms, mine))
        for (kind, names), mine in places.items()
    ]


def p_value_of(found: Violations, forms: Sequence[Form], rules: Sequence[int]) -> float:
    """Simes' over the families of some rules, of each family Simes' over its rules.

    Rules that differ only in the values they name, as `type = V => ? <= width <= ?`, are a family:
    ten of them do not outweigh a rule that says all by itself. Rules that say what follows from
    each value of a column, which no row is counted by twice, are tested together too.
    """
    coverage = found.rules.table["coverage"]
    families: dict[tuple[object, ...], list[float]] = {}
    for rule in rules:
        form = forms[rule]
        family = form.kind, form.statistic, form.axes, coverage[rule].as_py()
        families.setdefault(family, []).append(float(found.p_value[rule]))
    return simes([*map(simes, families.values()), *_pooled(found, forms, rules)])


def rules_by_column(found: Violations) -> dict[str, list[int]]:
    """The places of the rules that name each column."""
    places: dict[str, list[int]] = {}
    for place, names in enumerate(_columns_of(found, found.rules.forms())):
        for name in names:
            places.setdefault(name, []).append(place)
    return places


def _columns_of(found: Violations, forms: Sequence[Form]) -> Iterator[frozenset[str]]:
    """The columns that each rule names; each formula is looked at once."""
    statistics = found.rules.statistics()
    known: dict[Node, frozenset[str]] = {}
    for form in forms:
        nodes = [node for part in (*parts_of(form), axes_of(form)) for node in part]
        for node in nodes:
            if node not in known:
                known[node] = frozenset(names_in([node], statistics))
        yield frozenset().union(*(known[node] for node in nodes))


def _pooled(found: Violations, forms: Sequence[Form], rules: Sequence[int]) -> Iterator[float]:
    """A p-value for all rules together that say what follows from the values of one column.

    None where rows belong to units: it is a test of rows.
    """
    if found.unit:
        return
    by_column: dict[str, dict[Node, int]] = {}
    for rule in (one for one in rules if one not in found.waived):
        match forms[rule].given:
            case (Compare(Name(name), "=", value),) if forms[rule].implies_class:
                by_column.setdefault(name, {})[value] = rule
    for mine in (list(one.values()) for one in by_column.values()):
        evidence = [found.rules.table["evidence"][rule].as_py() for rule in mine]
        if len(mine) > 1 and all(evidence) and not np.isnan(found.p_value[mine]).any():
            old = np.sum(evidence, axis=0)
            new = float(found.applicable[mine].sum()), float(found.broken[mine].sum())
            yield share_test((float(old[0]), float(old[1])), new)[1]


def simes(p: Sequence[float] | Floats) -> float:
    """One p-value for "none of these hypotheses is false"; nan values are left out.

    >>> simes([0.03, 0.9, 0.02]), simes([float("nan")])
    (0.045, nan)
    """
    known = np.sort(np.asarray(p, np.float64))
    known = known[~np.isnan(known)]
    if not known.size:
        return float("nan")
    return float(min(1.0, (known * known.size / np.arange(1, known.size + 1)).min()))


def decide(groups: Sequence[Group], level: float, among: Sequence[Group]) -> Decision:
    """Which of some groups have changed: Benjamini-Hochberg over those that can be tested.

    >>> one, two = (Group("column", (name,), (i,), p) for i, (name, p) in enumerate(
    ...     [("a", 1e-9), ("b", 0.4)]))
    >>> [group.columns for group in decide([one, two], 0.01, [one, two]).significant]
    [('a',)]
    """
    p = np.array([group.p_value for group in among], np.float64)
    rejected = np.flatnonzero(benjamini_hochberg(p, level)).tolist()
    chosen = sorted((among[place] for place in rejected), key=lambda group: group.p_value)
    n_tested = int(np.count_nonzero(~np.isnan(p)))
    limit = level * max(len(chosen), 1) / max(n_tested, 1)
    return Decision(tuple(groups), tuple(chosen), limit)
