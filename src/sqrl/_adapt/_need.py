"""Whether there is anything to mend: does the model as it came break rules beyond chance?

Rules of 98 % are broken by 2 % of good data. A model that breaks them no more often has nothing to
be mended, and steps that follow such breaks would only follow chance.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from sqrl._adapt._adapted import join
from sqrl._adapt._batches import Batch, Categories
from sqrl._adapt._columns import MANY
from sqrl._adapt._run import Loaded
from sqrl._adapt._work import Work


def is_broken_beyond_chance(work: Work, batches: Iterable[Any]) -> bool:
    """Whether some judge's rules are broken by more than the share that their coverage leaves.

    Measured on mini-batches of the size that the rules are about: smaller ones are joined. True
    where that cannot be told: no rules with a size and a coverage, batches that cannot be joined
    or can be gone through only once.
    """
    judges = [] if work.guard is None else [judge for _, judge in work.guard.judges]
    if not judges or not all(hasattr(judge, "tolerated_share") for judge in judges):
        return True
    if iter(batches) is batches:
        return True
    size = max(judge.largest_size for judge in judges)
    found = _joined(work, batches, size)
    if found is None:
        return True
    batch, out = found
    drifted = max(judge.column_drift(batch, out) for judge in judges)
    if drifted > MANY:
        work.diary.alarms.append(
            f"The columns that the rules judge by have drifted: {drifted:.0%} of their conditions"
            " hold far more or less often than in the data they were learned from. A model adapted"
            " to rules about wrong columns gets worse; give the rules columns that are right."
        )
    shares = [(judge.measure(batch, out).share, judge.tolerated_share) for judge in judges]
    if any(share > tolerated for share, tolerated in shares):
        return True
    share, tolerated = shares[0]
    work.diary.ending = (
        f"Nothing was done: {share:.1%} of what rules apply to break them, no more than the"
        f" {tolerated:.1%} that chance would break."
    )
    return False


def _joined(work: Work, batches: Iterable[Any], size: int) -> tuple[Batch, Any] | None:
    """The first mini-batches that have `size` rows together, or all of them, and their outputs."""
    parts, outputs, n_rows = [], [], 0
    for loaded in work.runner.load(batches):
        out = _predicted(work, loaded)
        if not isinstance(loaded.batch, Batch) or out is None:
            return None
        parts.append(loaded.batch)
        outputs.append(out)
        n_rows += len(out)
        if n_rows >= size:
            break
    out = join(outputs) if outputs else None
    if out is None or isinstance(out, list) or n_rows < size:
        return None
    return _join(parts), out


def _predicted(work: Work, loaded: Loaded) -> Any:
    """The source's output, where it is of a kind that can be joined."""
    work.runner.probe(loaded)
    out = work.runner.predict(loaded)
    return out if isinstance(out, torch.Tensor) and out.ndim else None


def _join(parts: Sequence[Batch]) -> Batch:
    columns: dict[str, torch.Tensor | Categories] = {}
    for name, first in parts[0].columns.items():
        values = [part.columns[name] for part in parts]
        if isinstance(first, Categories):
            codes = [value.codes for value in values if isinstance(value, Categories)]
            columns[name] = Categories(torch.cat(codes), first.names)
        else:
            columns[name] = torch.cat(
                [value for value in values if isinstance(value, torch.Tensor)]
            )
    return Batch(_join_inputs([part.inputs for part in parts]), columns)


def _join_inputs(inputs: Sequence[Any]) -> Any:
    """The model's inputs row after row: names may be made of them."""
    first = inputs[0]
    if isinstance(first, torch.Tensor):
        return torch.cat(list(inputs))
    if isinstance(first, Mapping):
        return {name: _join_inputs([one[name] for one in inputs]) for name in first}
    if isinstance(first, tuple):
        return tuple(_join_inputs(part) for part in zip(*inputs, strict=True))
    return first  # what all mini-batches have in common, such as None
