"""Whether to adapt at all: there is something to mend, and the rules can be relied on.

Rules of 98 % are broken by 2 % of good data. A model that breaks them no more often has nothing to
be mended, and steps that follow such breaks would only follow chance. Rules whose own columns have
drifted, or that the truth breaks, are no guide: a model bent to them gets worse.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from sqrl._adapt.batches import Batch, join, join_batches
from sqrl._adapt.rule_loss.column_drift import MANY
from sqrl._adapt.setup import Work

MANY_BROKEN = 0.1  # of what rules apply to on held-out rows, by true labels
MOST_ROWS = 4096  # that rules about single rows are measured on


def is_open(work: Work, batches: Iterable[Any]) -> bool:
    """Whether rules are broken beyond chance, by columns that can be trusted.

    Measured on mini-batches of the size that the rules are about: smaller ones are joined. True
    where that is not known: no rules with a size and a coverage, batches that cannot be joined
    or can be gone through only once.
    """
    terms = [] if work.guard is None else [term for _, term in work.guard.terms]
    are_known = terms and all(hasattr(term, "tolerated_share") for term in terms)
    if not are_known or iter(batches) is batches:
        return True
    found = _joined(work, batches, max(term.largest_size for term in terms))
    return found is None or (
        _are_broken_beyond_chance(work, terms, *found)
        and _are_true(work, terms)
        and _are_columns_right(work, terms, *found)
    )


def _are_broken_beyond_chance(work: Work, terms: list[Any], batch: Batch, out: Any) -> bool:
    shares = [(term.measure(batch, out).share, term.tolerated_share) for term in terms]
    if any(share > tolerated for share, tolerated in shares):
        return True
    share, tolerated = shares[0]
    work.diary.ending = (
        f"Nothing was done: {share:.1%} of what rules apply to break them, no more than the"
        f" {tolerated:.1%} that chance would break."
    )
    return False


def _are_true(work: Work, terms: list[Any]) -> bool:
    broken = max(term.held_out_share for term in terms)
    if broken <= MANY_BROKEN:
        return True
    return _is_trusted(
        work,
        f"True labels of held-out rows break the rules in {broken:.0%} of the cases that they apply"
        " to. A model adapted to such rules gets worse; leave those out that held-out rows break",
        "the rules are broken by true labels",
    )


def _are_columns_right(work: Work, terms: list[Any], batch: Batch, out: Any) -> bool:
    drifted = max(term.column_drift(batch, out) for term in terms)
    if drifted <= MANY:
        return True
    return _is_trusted(
        work,
        f"The columns that the rules rely on have drifted: {drifted:.0%} of their conditions"
        " hold far more or less often than in the data they were learned from. A model adapted"
        " to rules about wrong columns gets worse; give the rules columns that are right",
        "the columns that the rules rely on have drifted",
    )


def _is_trusted(work: Work, alarm: str, ending: str) -> bool:
    """Whether to go on all the same; either way it is said why one should not."""
    is_trusted = work.options.trust_rules
    what_else = "." if is_trusted else ", or pass trust_rules=True to adapt all the same."
    work.diary.alarms.append(alarm + what_else)
    if not is_trusted:
        work.diary.ending = f"Nothing was done: {ending}."
    return is_trusted


def _joined(work: Work, batches: Iterable[Any], size: int) -> tuple[Batch, Any] | None:
    """The first mini-batches that have `size` rows together, and the source's outputs on them.

    For rules about single rows any number of rows will do: the more, the less is left to chance.
    """
    parts, outputs, n_rows = [], list[Any](), 0
    wanted = size if size > 1 else MOST_ROWS
    for loaded in work.runner.load(batches):
        out = work.runner.probe(loaded)
        if not isinstance(loaded.batch, Batch) or not isinstance(out, Tensor) or not out.ndim:
            return None
        parts.append(loaded.batch)
        outputs.append(out)
        n_rows += len(out)
        if n_rows >= wanted:
            break
    if n_rows < size:
        return None
    joined = join(outputs)
    return (join_batches(parts), joined) if isinstance(joined, Tensor) else None
