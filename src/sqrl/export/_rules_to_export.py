"""The rules to export, and how many violations of each chance explains.

`check` tests each rule exactly and all of them together. A database has no such test, and one that
fails whenever a row breaks a 98 % rule would be switched off. So what is exported allows a share of
the samples, and three standard deviations of a beta-binomial more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqrl._language.forms import Form
from sqrl._language.kinds import single_kinds
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, LimitError, SchemaError

MOST_RULES = 1000
DEVIATIONS = 3.0
ONLY_ROWS = f"--where 'kind in [{', '.join(single_kinds())}]'"


def rules_as_forms(rules: RuleSet, limit: int) -> list[Form]:
    """The rules taken apart, of which there must be some and not too many."""
    if not len(rules):
        raise DataError("There are no rules to export.", fix="learn some, or filter fewer out")
    if len(rules) > limit:
        raise LimitError(
            f"There are {len(rules):,} rules; at most {limit:,} are written into one query.",
            fix="export the best, such as --where 'support > 1000', or raise --limit",
        )
    return rules.forms()


def refuse_batches(forms: Sequence[Form], batch_column: str | None) -> None:
    """Raise where rules are about mini-batches and nobody says what these are."""
    if batch_column is None and about_batches(forms):
        raise SchemaError(
            f"{about_batches(forms)} about mini-batches, and it is not known what these are.",
            fix="name the column that tells them apart: --batch-column batch; "
            f"or leave them out: {ONLY_ROWS}",
        )


def refuse_all_batches(forms: Sequence[Form]) -> None:
    """Raise where rules are about mini-batches and only rows are asked about."""
    if about_batches(forms):
        raise SchemaError(
            f"{about_batches(forms)} about mini-batches, which no single row breaks.",
            fix=f"leave them out: {ONLY_ROWS}",
        )


def about_batches(forms: Sequence[Form]) -> str:
    """How many rules are about mini-batches, in words; nothing where none is."""
    count = sum(not form.is_single for form in forms)
    return f"{count:,} {'rule is' if count == 1 else 'rules are'}" if count else ""


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
    columns = (rules.table[name].to_pylist() for name in ("coverage", "support", "evidence"))
    return [_allowance(*facts) for facts in zip(forms, *columns, strict=True)]


def _allowance(
    form: Form, coverage: float | None, support: int | None, evidence: list[float] | None
) -> Allowance:
    if not form.has_bounds:
        rows, broken = evidence or (0.0, 0.0)
        share = (broken + 1.0) / (rows + 2.0) if rows else 0.0
        return Allowance(round(share, 12), rows + 1.0)
    if coverage is None or not support:
        return Allowance(0.0, 1.0)
    ends = [end for piece in form.pieces for end in (piece.lower, piece.upper) if end is not None]
    # Each end of an interval lies between two of the samples, which cuts off a gap beyond it.
    share = ((1.0 - coverage) * (support - 1) + len(ends)) / (support + 1)
    return Allowance(min(round(share, 12), 1.0), support + 1.0)
