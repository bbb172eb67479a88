"""Bounds of `? <= f1(body => head) <= ? over n`, a statistic of how often body and head hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqrl._kernels import (
    STATISTICS,
    Bodies,
    body_bounds,
    body_counts,
    body_hashes,
    pack,
    pack_table,
)
from sqrl._kernels.arrays import Bools, Floats, Int16s, Int32s, Int64s, Words64, distinct
from sqrl._language.forms import Form
from sqrl._language.statistics import BatchStatistic, batch_statistic, counts
from sqrl._language.tree import Compare, Name, Node, Repeat, conjunction, conjuncts
from sqrl._learn.bounds.batch import finished_piece
from sqrl._learn.bounds.measure import Bounds, Describe, Description, Sampler, Track, row_weights
from sqrl._learn.candidates import Candidates, Conjunctions
from sqrl._rows.cells import Grid
from sqrl._rows.packed_batches import count_bits, pack_rows
from sqrl._rows.quantiles import BoundMethod, grouped_bounds
from sqrl._rows.questions import Asking, Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State

MOST_VALUES_AT_ONCE = 20_000_000
BODIES_AT_ONCE = 1 << 14
MOST_FEATURES = 16_000  # the kernels number features in 16 bits
MOST_BYTES = 1 << 28  # of truths of formulas at once
# What the compiled loops call a statistic. By its function, as a user may have given its name to
# another one. The share of rows where a formula holds is the support of `formula => anything`.
IN_KERNEL = {getattr(counts, name): name for name in STATISTICS} | {counts.rate: "support"}


MeasureBlock = Callable[..., tuple[Floats, Floats, Int32s | Int64s]]  # of bodies: see below


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Bodies that the kernel takes at once, and where their candidates' columns point to them."""

    features: tuple[Node, ...]
    bodies: Bodies
    first: int


@dataclass(slots=True, eq=False)
class LogicMeasure:
    """Bounds of a statistic of formulas.

    Cost: see `body_bounds`; conditions and heads that are not values of one column are measured
    one after the other.
    """

    candidates: Candidates
    method: BoundMethod
    grid: Grid
    n_rows: int
    blocks: list[Block] = field(init=False)
    which_body: Int64s = field(init=False)
    heads: Sequence[Node | None] = field(init=False)  # of a statistic without one: None
    which_head: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.blocks, self.which_body = _make_blocks(self.candidates, self.n_rows)
        head = self.candidates.template.form.head
        self.heads, self.which_head = [None], np.zeros(self.candidates.n, np.int64)
        if head is not None:
            self.heads, self.which_head = self.candidates.filled(head)

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bounds of every candidate on mini-batches of the sampler."""
        form = self.candidates.template.form
        assert form.over is not None
        assert form.statistic is not None
        rows, batches = yield from sampler.draw(form.over)
        statistic = batch_statistic(form.statistic)
        measure: MeasureBlock = _kernel_bounds if statistic.function in IN_KERNEL else _slow_bounds
        if statistic.of == "share":
            measure = _share_bounds
        lower, upper = np.full(self.candidates.n, np.nan), np.full(self.candidates.n, np.nan)
        support = np.zeros(self.candidates.n, np.int64)
        for block, parts, wanted, mine in self._work(rows):
            columns = measure(rows, block, parts, batches, wanted, statistic, method, track=track)
            body = self.which_body[mine] - block.first
            head = np.searchsorted(wanted, parts.of_head[self.which_head[mine]])
            lower[mine] = columns[0][body, head]
            upper[mine] = columns[1][body, head]
            support[mine] = columns[2][body, head]
        return Bounds(lower[:, None], upper[:, None], support[:, None])

    def described(self, of: Of) -> Asking[Description | None]:
        """Which rows each body holds on."""
        counts, hashes = (yield [Describe(of, self)])[0]
        claimed = self.grid.which * len(self.heads) + self.which_head
        if self.candidates.template.says_shares:  # all or no rows are in many a formula
            claimed = np.arange(self.candidates.n)
        return counts, hashes, claimed

    def describe(self, rows: Rows, first: int) -> tuple[Int64s, Words64]:
        """How many of these rows each body holds on, and the sum of their weights."""
        n_rows = np.zeros(self.candidates.n, np.int64)
        same = np.zeros(self.candidates.n, np.uint64)
        weights = row_weights(rows.n, first)
        for block, parts, _, mine in self._work(rows):
            true, false = _truths(rows, block.features)
            packed = pack_table(true, false, parts.code, n_parts=parts.n)
            counts = body_counts(block.bodies, packed).sum(axis=1)
            hashes = body_hashes(block.bodies, packed, weights, parts.code)
            body = self.which_body[mine] - block.first
            n_rows[mine], same[mine] = counts[body], hashes[body]
        return n_rows, same

    def count(self, rows: Rows) -> State:
        """How many of these rows the body of each candidate has, its head, both, and all."""
        names = ("body", "head", "both", "rows")
        found = {name: np.zeros(self.candidates.n, np.int64) for name in names}
        for block, parts, _, mine in self._work(rows):
            true, false = _truths(rows, block.features)
            packed = pack_table(true, false, parts.code, n_parts=parts.n)
            counts = body_counts(block.bodies, packed).astype(np.int64)
            body = self.which_body[mine] - block.first
            part = parts.of_head[self.which_head[mine]]
            in_part = np.bincount(parts.code[parts.code >= 0], minlength=parts.n)
            found["body"][mine], found["both"][mine] = counts[body].sum(1), counts[body, part]
            found["head"][mine], found["rows"][mine] = in_part[part], in_part.sum()
        return found

    def shared_rows(self, rows: Rows, chosen: Int64s) -> Int64s:
        """How many of these rows the bodies of two candidates share, for all pairs of the chosen.

        Shapes: result (chosen, chosen). Cost: an AND and a popcount of all rows for each pair.
        """
        found = self.literals(chosen)
        assert found is not None
        family, literals = found
        true, false = _truths(rows, family.literals.features)
        n_words = -(-rows.n // 64)
        bits = np.zeros((chosen.size, n_words), np.uint64)
        for index in range(chosen.size):
            mask = _masks(true, false, literals[index : index + 1])[0]
            packed = np.packbits(mask, bitorder="little")
            bits[index].view(np.uint8)[: packed.size] = packed
        shared = np.zeros((chosen.size, chosen.size), np.int64)
        for index in range(chosen.size):
            both = np.bitwise_count(bits[index] & bits[index:]).sum(axis=1, dtype=np.int64)
            shared[index, index:] = shared[index:, index] = both
        return shared

    def _work(self, rows: Rows) -> "Iterator[tuple[Block, Parts, Int32s, Int64s]]":
        """For each condition, head family and block of bodies: the candidates they measure."""
        for condition in range(len(self.grid.conditions)):
            selected = np.zeros(rows.n, np.bool_)
            selected[self.grid.cells(rows, condition)[0]] = True
            for parts in _partitions(rows, self.heads, selected):
                in_parts = parts.of_head[self.which_head] >= 0
                for block in self.blocks:
                    in_block = (self.which_body >= block.first) & (
                        self.which_body < block.first + block.bodies.n
                    )
                    mine = np.flatnonzero((self.grid.which == condition) & in_parts & in_block)
                    if mine.size:
                        wanted = distinct(parts.of_head[self.which_head[mine]])
                        yield block, parts, wanted.astype(np.int32), mine

    def literals(self, chosen: Int64s) -> tuple[Conjunctions, Int16s] | None:
        """The family and the literals of the chosen bodies; None where bodies are formulas."""
        form = self.candidates.template.form
        if len(form.body) != 1 or not isinstance(form.body[0], Repeat):
            return None
        name = form.body[0].name
        family = self.candidates.template.families[name]
        return family, self.candidates.bodies[name].literals(self.which_body[chosen])

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        form = self.candidates.template.form
        return Form(
            kind="logic",
            given=self.grid.conditions[int(self.grid.which[candidate])],
            statistic=form.statistic,
            body=self.body(int(self.which_body[candidate])),
            head=self.heads[int(self.which_head[candidate])],
            pieces=(finished_piece(bounds, candidate, self.method),),
            over=form.over,
        )

    def body(self, body: int) -> tuple[Node, ...]:
        """The formulas that a body joins."""
        block = next(b for b in reversed(self.blocks) if b.first <= body)
        for name, family in self.candidates.template.families.items():
            if block.features is family.literals.features:
                return tuple(self.candidates.literals(name, body))
        return conjuncts(block.features[body - block.first])


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The rows divided by heads: each row's part (-1 left out), each head's part (-1 not here)."""

    code: Int32s
    n: int
    of_head: Int64s


def _make_blocks(candidates: Candidates, n_rows: int) -> tuple[list[Block], Int64s]:
    """The bodies in blocks for the kernel, and each candidate's body."""
    template = candidates.template
    body = template.form.body
    if len(body) == 1 and isinstance(body[0], Repeat):
        name = body[0].name
        features = template.families[name].literals.features
        which = candidates.columns[name].astype(np.int64)
        return [Block(features, candidates.bodies[name], 0)], which
    choices, which = candidates.distinct(*body)
    formulas: list[Node] = []
    for choice in choices:
        parts: list[Node] = []
        for part in body:
            if isinstance(part, Repeat):
                parts += candidates.literals(part.name, choice[part.name])
            else:
                parts.append(template.fill(part, choice))
        formula = conjunction(tuple(parts))
        assert formula is not None
        formulas.append(formula)
    at_once = min(MOST_FEATURES, max(1, MOST_BYTES // (2 * max(n_rows, 1))))
    return _formula_blocks(formulas, at_once), which


def _formula_blocks(formulas: list[Node], at_once: int) -> list[Block]:
    """Each formula as a feature by itself, never negated."""
    blocks = []
    for first in range(0, len(formulas), at_once):
        some = tuple(formulas[first : first + at_once])
        bodies = Bodies(
            n_features=len(some),
            low=1,
            high=1,
            subsets=np.arange(len(some), dtype=np.int16)[:, None],
            valid=np.ones(len(some), np.uint32),
            offset=np.arange(len(some) + 1, dtype=np.int64),
        )
        blocks.append(Block(some, bodies, first))
    return blocks


def _partitions(rows: Rows, heads: Sequence[Node | None], selected: Bools) -> Iterator[Parts]:
    """The rows divided by the heads: at once where they are values of one column, else one by one.

    Part 0 is every row in no head, if there is any; a row whose head is unknown is left out.
    """
    of_what = {
        head.left if isinstance(head, Compare) and head.op == "=" else None for head in heads
    }
    is_one_column = len(of_what) == 1 and isinstance(of_what.pop(), Name)
    everyone = range(len(heads))
    for together in [everyone] if is_one_column else [[index] for index in everyone]:
        code = np.where(selected, 0, -1).astype(np.int32)
        of_head = np.full(len(heads), -1, np.int64)
        for part, index in enumerate(together, start=1):
            of_head[index], head = part, heads[index]
            if head is None:
                code[selected] = part
                continue
            truths = rows.truths(head)
            code[selected & truths.true] = part
            code[~(truths.true | truths.false)] = -1
        is_empty = not (code == 0).any()  # then part 0 is not worth counting
        if is_empty:
            code, of_head = np.maximum(code - 1, -1), np.maximum(of_head - 1, -1)
        yield Parts(code, len(together) + 1 - is_empty, of_head)


def _truths(rows: Rows, features: tuple[Node, ...]) -> tuple[Bools, Bools]:
    true = np.empty((len(features), rows.n), np.bool_)
    false = np.empty((len(features), rows.n), np.bool_)
    for index, feature in enumerate(features):
        truths = rows.truths(feature)
        true[index], false[index] = truths.true, truths.false
    return true, false


def _kernel_bounds(
    rows: Rows,
    block: Block,
    parts: Parts,
    batches: Int64s,
    wanted: Int32s,
    statistic: BatchStatistic,
    method: BoundMethod,
    *,
    track: Track | None,
) -> tuple[Floats, Floats, Int32s]:
    """Lower, upper and support of each body and wanted part, by the compiled loops."""
    true, false = _truths(rows, block.features)
    packed = pack(true, false, parts.code, batches, n_parts=parts.n)
    found = body_bounds(
        block.bodies,
        packed,
        statistic=IN_KERNEL[statistic.function],
        ranks=method.ranks(len(batches)),
        heads=wanted,
        track=track,
    )
    return found.lower, found.upper, found.support


def _share_bounds(
    rows: Rows,
    block: Block,
    parts: Parts,
    batches: Int64s,
    wanted: Int32s,
    statistic: BatchStatistic,
    method: BoundMethod,
    *,
    track: Track | None,
) -> tuple[Floats, Floats, Int32s | Int64s]:
    """Lower, upper and support of shares, of which rows with an unknown formula are no part.

    Where all are known, the compiled loops count; else each body is counted by itself.
    """
    true, false = _truths(rows, block.features)
    if bool((true | false)[:, parts.code >= 0].all()) and statistic.function in IN_KERNEL:
        given = rows, block, parts, batches, wanted, statistic, method
        return _kernel_bounds(*given, track=track)
    here = pack_rows((parts.code >= 0)[batches] & (batches >= 0))
    holds, fails = ([pack_rows(one[batches]) for one in truths] for truths in (true, false))
    values = np.empty((block.bodies.n, len(batches)))
    for first in range(0, block.bodies.n, BODIES_AT_ONCE):
        some = np.arange(first, min(first + BODIES_AT_ONCE, block.bodies.n))
        for body, literals in zip(some, block.bodies.literals(some).tolist(), strict=True):
            inside, outside = here, np.zeros_like(here)
            for literal in (one for one in literals if one >= 0):
                signs = (fails, holds) if literal % 2 else (holds, fails)
                inside = inside & signs[0][literal // 2]
                outside = outside | signs[1][literal // 2]
            count, others = count_bits(inside), count_bits(here & outside)
            values[body] = statistic(count, count, count, count + others)
        if track:
            track(int(some[-1]) + 1, block.bodies.n)
    group = np.repeat(np.arange(block.bodies.n), len(batches))
    lower, upper, support = grouped_bounds(values.ravel(), group, block.bodies.n, method)
    shape = (block.bodies.n, len(wanted))
    return (
        np.broadcast_to(lower[:, None], shape),
        np.broadcast_to(upper[:, None], shape),
        np.broadcast_to(support[:, None], shape),
    )


def _slow_bounds(
    rows: Rows,
    block: Block,
    parts: Parts,
    batches: Int64s,
    wanted: Int32s,
    statistic: BatchStatistic,
    method: BoundMethod,
    *,
    track: Track | None,
) -> tuple[Floats, Floats, Int64s]:
    """Lower, upper and support by any statistic: counts as matrix products, some bodies at once."""
    shape = (block.bodies.n, len(wanted))
    lower, upper, support = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    true, false = _truths(rows, block.features)
    is_row = batches >= 0
    code = np.where(is_row, parts.code[batches], -1)
    heads = (code[:, None, :] == wanted[:, None]).astype(np.float32)
    in_head, in_all = heads.sum(axis=2), (code >= 0).sum(axis=1)
    step = max(1, MOST_VALUES_AT_ONCE // max(1, batches.size))
    for first in range(0, block.bodies.n, step):
        literals = block.bodies.literals(np.arange(first, min(first + step, block.bodies.n)))
        masks = _masks(true, false, literals) & (parts.code >= 0)
        inside = (masks[:, batches] & is_row).astype(np.float32)  # bodies, mini-batches, rows
        both = np.einsum("bmr,mhr->bhm", inside, heads, optimize=True).astype(np.float64)
        body = inside.sum(axis=2)[:, None, :].astype(np.float64)
        values = statistic(
            np.broadcast_to(body, both.shape),
            np.broadcast_to(in_head.T[None].astype(np.float64), both.shape),
            both,
            np.broadcast_to(in_all.astype(np.float64), both.shape),
        )
        group = np.repeat(np.arange(both.shape[0] * both.shape[1]), len(batches))
        found = grouped_bounds(values.ravel(), group, both.shape[0] * both.shape[1], method)
        for target, column in zip((lower, upper, support), found, strict=True):
            target[first : first + len(literals)] = column.reshape(both.shape[:2])
        if track:
            track(first + len(literals), block.bodies.n)
    return lower, upper, support


def _masks(true: Bools, false: Bools, literals: Int16s) -> Bools:
    """Where each body holds: all its literals true, the negated ones false."""
    masks = np.ones((len(literals), true.shape[1]), np.bool_)
    for index, body in enumerate(literals.tolist()):
        for literal in body:
            if literal >= 0:
                masks[index] &= (false if literal % 2 else true)[literal // 2]
    return masks
