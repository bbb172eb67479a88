"""The expected number of rows of each event: where a conjunction holds, times a set of classes.

Sums over the rows of a conjunction are a matrix product with a side of 0 and 1. A class set is
multiplied with the conjunctions that go with it alone; where many go with several sets, all with
all. Where all classes are meant, rows are only counted.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.program import Event

MOST_REPEATED = 1.25  # lines for each conjunction, up to which class sets have lines of their own


class Block(NamedTuple):
    """Some lines, and the class sets to multiply them with."""

    lines: slice
    sets: slice


class EventCounts:
    """Which class sets to sum over the rows of which conjunctions, for all events at once.

    `certain` says for each class set whether it is that of all classes.

    >>> events = [Event(conjunction=0, classes=1), Event(conjunction=0, classes=0)]
    >>> counts = EventCounts(events, [False, True], torch.device("cpu"))
    >>> held, probabilities = torch.tensor([[True, False, True]]), torch.tensor([[0.25, 1.0]] * 3)
    >>> counts.count(held, probabilities)[counts.places(events)].tolist()
    [2.0, 0.5]
    """

    def __init__(
        self, events: Sequence[Event], certain: Sequence[bool], device: torch.device
    ) -> None:
        self._certain = certain
        keys = sorted({self._key(event) for event in events})
        moving = [key for key in keys if key[0] >= 0]
        lines = [conjunction for _, conjunction in moving]
        distinct = sorted(set(lines))
        if len(lines) <= MOST_REPEATED * len(distinct):
            sizes = [(key, len(list(some))) for key, some in groupby(moving, lambda key: key[0])]
            ends = [sum(size for _, size in sizes[: place + 1]) for place in range(len(sizes))]
            self._blocks = [
                Block(slice(end - size, end), slice(classes, classes + 1))
                for (classes, size), end in zip(sizes, ends, strict=True)
            ]
        else:
            lines = distinct
            self._blocks = [Block(slice(0, len(lines)), slice(0, len(certain)))]
        lines += sorted({conjunction for _, conjunction in keys} - set(lines))
        self._lines = torch.tensor(lines, dtype=torch.int64, device=device)
        summed = [
            (classes, line)
            for some, sets in self._blocks
            for classes in range(sets.start, sets.stop)
            for line in lines[some]
        ]
        every = [*summed, *((-1, line) for line in lines)]
        self._places = {key: place for place, key in reversed(list(enumerate(every)))}

    def _key(self, event: Event) -> tuple[int, int]:
        """What tells counts apart: a class set, -1 where it is certain, and a conjunction."""
        return -1 if self._certain[event.classes] else event.classes, event.conjunction

    def places(self, events: Sequence[Event]) -> list[int]:
        """Where in the result of `count` the count of each event is."""
        return [self._places[self._key(event)] for event in events]

    def count(self, held: Tensor, probabilities: Tensor) -> Tensor:
        """All counts, from which a gradient flows to the probabilities.

        Shapes: held (conjunctions, rows), probabilities (rows, sets), result (counts,).
        """
        # As bytes: torch makes numbers of booleans four times as slowly.
        lines = held.index_select(0, self._lines).view(torch.uint8).to(probabilities.dtype)
        summed: Tensor = _SumWhere.apply(lines, probabilities, self._blocks)  # type: ignore[no-untyped-call]
        return torch.cat([summed, lines.sum(1)])


class _SumWhere(torch.autograd.Function):
    """Matrix products whose side of 0 and 1 needs no gradient.

    There are few class sets, and products in which they come first are several times as quick:
    (sets x rows) @ (rows x lines), and (sets x lines) @ (lines x rows) for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, lines: Tensor, probabilities: Tensor, blocks: list[Block]) -> Tensor:
        """The sum of each class set of a block over the rows of each of its lines."""
        ctx.save_for_backward(lines)
        ctx.blocks, ctx.n_sets = blocks, probabilities.shape[1]
        sets = probabilities.T.contiguous()
        sums = [(sets[block.sets] @ lines[block.lines].T).flatten() for block in blocks]
        return torch.cat([sets.new_zeros(0), *sums])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """The gradient of the probabilities."""
        (lines,) = ctx.saved_tensors
        made = lines.new_zeros((ctx.n_sets, lines.shape[1]))
        sizes = [(sets.stop - sets.start, some.stop - some.start) for some, sets in ctx.blocks]
        parts = torch.split(gradients[0], [n_sets * n_lines for n_sets, n_lines in sizes])
        for part, size, (some, sets) in zip(parts, sizes, ctx.blocks, strict=True):
            made[sets] += part.view(size) @ lines[some]
        return None, made.T, None
