"""How many violations chance alone explains, by a formula short enough to be exported.

`check` tests each rule exactly and all of them together. A database has no such test, and one that
fails whenever a row breaks a 98 % rule would be switched off. So what is exported allows a share of
the samples, and three standard deviations of a beta-binomial more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqrl._language.forms import Form
from sqrl._rules.ruleset import RuleSet

DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """The share of samples that chance puts outside, and how many samples that was learned from.

    Of n new samples as many as n p + 3 sqrt(n p (1 - p) (1 + n / learned_from)) are allowed.
    """

    share: float
    learned_from: float


def allowances(rules: RuleSet, forms: Sequence[Form]) -> list[Allowance]:
    """What chance explains of each rule; nothing for one that was not learned.

    >>> rules = RuleSet.from_texts(["0 <= x <= 9"], coverage=[0.98], support=[999])
    >>> allowances(rules, [rules.form(0)])
    [Allowance(share=0.02196, learned_from=1000.0)]
    """
    columns = zip(
        forms,
        rules.table["coverage"].to_pylist(),
        rules.table["support"].to_pylist(),
        rules.table["evidence"].to_pylist(),
        strict=True,
    )
    return [_allowance(*column) for column in columns]


def _allowance(
    form: Form, coverage: float | None, support: int | None, evidence: list[float] | None
) -> Allowance:
    if not form.has_bounds:
        rows, broken = evidence or (0.0, 0.0)
        share = (broken + 1.0) / (rows + 2.0) if rows else 0.0
        return Allowance(round(share, 12), rows + 1.0)
    if coverage is None or not support:
        return Allowance(0.0, 1.0)
    delta, sides = (
        1.0 - coverage,
        sum(bound is not None for piece in form.pieces for bound in (piece.lower, piece.upper)),
    )
    # Each end of an interval lies between two of the samples, which cuts off a gap beyond it.
    share = (delta * max(support - 1, 0) + sides) / (support + 1)
    return Allowance(min(round(share, 12), 1.0), support + 1.0)
