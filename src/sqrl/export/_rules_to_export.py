"""The rules to export: some, not too many, and of a kind that the export can speak of."""

from collections.abc import Sequence

from sqrl._language.forms import Form
from sqrl._language.kinds import single_kinds
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, LimitError, SchemaError

MOST_RULES = 1000
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
    return [rules.form(index) for index in range(len(rules))]


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
