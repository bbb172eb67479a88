"""Rows to learn from that are scanned, never all in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats
from sqrl._language.forms import sentence_of
from sqrl._language.parser import parse_formula
from sqrl._language.tree import Name, Node, walk
from sqrl._learn.domains import Cut, buckets_of
from sqrl._learn.roles import check_label
from sqrl._learn.rows_in_memory import LookedAt
from sqrl._learn.schema_checks import (
    Used,
    check_known,
    check_unit,
    hide_column,
    needed_sequences,
    no_rows,
    nowhere_known,
    refuse_held_out,
    too_few_rows,
)
from sqrl._progress import Track
from sqrl._rows.cells import Grid
from sqrl._rows.order_statistics import ForCuts, OrderStatistics
from sqrl._rows.questions import Asking, Draw
from sqrl._rows.rows import Rows, infinite_values
from sqrl._rules.needed_columns import names_in
from sqrl._rules.schema import Schema
from sqrl._rules.sequence_names import row_order_of, sequence_names
from sqrl._scan.answers import ScanAnswers
from sqrl._scan.facts import Facts, Scanned, look_at
from sqrl._scan.job import Engine
from sqrl._scan.look import Look
from sqrl._scan.sample import sample_every
from sqrl._scan.sequences import add_sequences
from sqrl._scan.split import AnySplit, make_split
from sqrl._scan.unit_split import make_unit_split
from sqrl.errors import DataError, ParseError, SqrlError

EVERYWHERE = Grid(((),), ((),), (), (), np.zeros(1, np.int64))  # no condition


@dataclass(frozen=True, slots=True, eq=False)
class RowsScanned:
    """Rows to learn from that are scanned, and held-out rows if such are given."""

    train: Engine
    valid: Engine | None
    memory: int

    def propose(
        self,
        label: str | None,
        in_order: Mapping[str, Any],
        *,
        seed: int,
        prediction: str | None = None,
        unit: tuple[str, ...] = (),
        supervise: bool = False,
        min_support: int | None = None,
    ) -> Schema:
        """A schema proposed from some of the rows, which are fetched into memory."""
        from sqrl._learn.propose import PROPOSED_FROM, propose_schema
        from sqrl._learn.watched_sequences import moves_of, row_order_given

        n_rows = _count_rows(self.train)
        valid = self.valid
        held_out = None if valid is None else Table({}, _count_rows(valid), valid.name)
        scanned = look_at(self.train, Look(frozenset(self.train.names)))
        if in_order:
            moves = moves_of(hide_column(scanned.facts.whole, prediction), **in_order)
            row_order = row_order_given(**in_order)
            wider = add_sequences(self.train, moves, row_order, {}, memory=self.memory)
            scanned = look_at(wider, Look(frozenset(wider.names)))
        whole = scanned.facts.whole
        check_unit(unit, whole)
        names = frozenset(name for name in whole.names if whole[name].kind != "other")
        answers = ScanAnswers(scanned, None, None, {}, names, self.memory)
        drawn, _ = answers.answers([Draw("train", min(PROPOSED_FROM, n_rows), 1, seed)])[0]
        # In the order of the data, with what cannot be used: their names are taken.
        columns = {name: drawn.table[name] if name in names else whole[name] for name in whole}
        table = hide_column(Table(columns, drawn.n, whole.source), prediction)
        if supervise:
            from sqrl._learn.supervise import propose_supervision

            return propose_supervision(
                table, label=label, valid=held_out, unit=unit, min_support=min_support
            )
        plain = names & set(self.train.names)
        lacking = frozenset(name for name in plain if scanned.facts.missing.get(name))
        return propose_schema(
            table, label=label, valid=held_out, seed=seed, lacking=lacking, unit=unit, **in_order
        )

    def look(
        self,
        schema: Schema,
        *,
        seed: int,
        track: Track | None,
        prediction: str | None = None,
    ) -> LookedAt:
        """What a pass over all columns finds out."""
        split = self._split(schema, seed, track)
        also = set() if prediction is None else {prediction}
        named = frozenset(_names_in_schema(schema) | sequence_names(schema) | also)
        statistics = schema.expressions()
        every = self._sample_every(self.train, named)
        look = Look(named, split, statistics=statistics, every=every)
        train, valid = self._look(self.train, schema, look, track), None
        if self.valid is not None:
            every = self._sample_every(self.valid, named)
            look = Look(named, statistics=statistics, every=every)
            valid = self._look(self.valid, schema, look, track)
        for scanned in (train, valid):
            if scanned is not None:
                check_unit(schema.units, scanned.facts.whole)
        facts, whole = train.facts, train.facts.whole
        if schema.label is not None:
            present = whole.n_rows - facts.missing.get(schema.label, 0)
            check_label(whole, schema.label, n_present=present)
        names = named & set(whole.names)
        answers = ScanAnswers(train, valid, split, dict(statistics), names, self.memory, track)
        nowhere = Rows(facts.no_rows(), statistics)
        sizes = [(whole.source, answers.n("train"))]
        if schema.validate:
            held_out = f"{whole.source} (held-out rows)"
            name = held_out if valid is None else valid.facts.source
            sizes.append((name, answers.n("valid")))

        def check_used(used: Used) -> None:
            for scanned in (train, valid):
                if scanned is not None:
                    _check_facts(scanned.facts, used, statistics)

        return LookedAt(
            whole=whole,
            valid=None if valid is None else valid.facts.whole,
            rows=Rows(facts.train, statistics),
            sizes=sizes,
            cut_literals=lambda: answers.ask([_cut_literals(schema, nowhere)])[0],
            check_used=check_used,
            answers=lambda used: replace(
                answers, names=frozenset(names_in(map(Name, used), statistics))
            ),
            fingerprint=lambda: facts.fingerprint,
        )

    def _sample_every(self, engine: Engine, named: frozenset[str]) -> int:
        n_columns = len(named & set(engine.names))
        return sample_every(_count_rows(engine), n_columns, self.memory)

    def _look(self, engine: Engine, schema: Schema, look: Look, track: Track | None) -> Scanned:
        """The data with its facts, and the columns that follow from the rows before."""
        names, statistics = needed_sequences(schema, engine.names), schema.expressions()
        row_order = row_order_of(schema)
        wider = add_sequences(
            *(engine, names, row_order, statistics), memory=self.memory, track=track
        )
        computed = frozenset(wider.names) - frozenset(engine.names)
        return look_at(wider, look, computed=computed, track=track)

    def _split(self, schema: Schema, seed: int, track: Track | None) -> AnySplit | None:
        """Which rows are held out, where none are given; raises where there are too few."""
        n_rows = _count_rows(self.train)
        if self.valid is not None:
            _count_rows(self.valid)
            refuse_held_out(schema, self.valid.name)
        if self.valid is not None or not schema.validate:
            return None
        share = schema.validate.share
        split: AnySplit
        if schema.units:
            check_known(schema.units, self.train.names, f"unit, {self.train.name}")
            split = make_unit_split(self.train, schema.units, share, seed=seed, track=track)
        else:
            split = make_split(n_rows, share, seed=seed)
        if not split.n_train or not split.n_valid:
            raise too_few_rows(n_rows, self.train.name)
        return split


def _count_rows(engine: Engine) -> int:
    """How many rows there are; raises where there are none."""
    n_rows = sum(engine.counts())
    if n_rows == 0:
        raise no_rows(engine.name)
    return n_rows


def _names_in_schema(schema: Schema) -> set[str]:
    """Every name that may be a column's: in rules, domains and statistics."""
    found = {*schema.units, *([] if schema.label is None else [schema.label])}
    texts = [*schema.sentences, *(e for e in schema.let.values() if isinstance(e, str))]
    texts += [str(e) for entry in schema.let.values() if isinstance(entry, list) for e in entry]
    trees = [*schema.expressions().values(), *map(sentence_of, schema.forms())]
    trees += [tree for text in texts if (tree := _parsed(text)) is not None]
    for tree in trees:
        found |= {node.name for node in walk(tree) if isinstance(node, Name)}
    return found | set(texts)


def _parsed(text: str) -> Node | None:
    try:
        return parse_formula(text)
    except ParseError:
        return None  # a word that is no formula, or a whole rule


def _cut_literals(schema: Schema, nowhere: Rows) -> Asking[Cut]:
    """The cut points of the buckets in `literals(...)`, on all train rows.

    An expression that fails even on no rows, `nowhere`, does so where its cut points are used: the
    error then says in which domain.
    """
    by_percentiles: dict[tuple[float, ...], list[Node]] = {}
    for item, wanted in buckets_of(schema):
        if _can_compute(item, nowhere):
            by_percentiles.setdefault(tuple(wanted), []).append(item)
    known: dict[tuple[Node, tuple[float, ...]], Floats] = {}
    if by_percentiles:
        answers = yield [
            OrderStatistics("train", EVERYWHERE, (0,), tuple(items), ForCuts(percentiles))
            for percentiles, items in by_percentiles.items()
        ]
        for (percentiles, items), found in zip(by_percentiles.items(), answers, strict=True):
            for item, ordered in zip(items, found, strict=True):
                with np.errstate(invalid="ignore"):  # infinite values are reported later
                    cuts = ForCuts(percentiles).cuts(ordered)[0]
                known[item, percentiles] = cuts[~np.isnan(cuts)]

    def cut(item: Node, percentiles: list[float]) -> Floats:
        nowhere.numbers(item)
        return known[item, tuple(percentiles)]

    return cut


def _can_compute(item: Node, nowhere: Rows) -> bool:
    try:
        nowhere.numbers(item)
    except SqrlError:
        return False
    return True


def _check_facts(facts: Facts, used: Used, statistics: Mapping[str, Node]) -> None:
    """Raise where a column is unknown, holds infinite values, or is missing on every row."""
    check_known(used.names, [*facts.whole.names, *statistics], facts.source)
    nowhere = Rows(facts.no_rows(), statistics)
    for name in sorted(used.names):
        if name in facts.too_many & used.by_value:
            raise DataError(
                f"Column {name!r} holds too many different words, or too long ones, to be scanned.",
                where=facts.source,
                fix="leave it out of the schema: it names rows rather than groups",
            )
        is_derived = name in statistics
        if is_derived:
            nowhere.numbers(Name(name))  # raises where it cannot be computed
        is_known = facts.known[name] if is_derived else facts.missing[name] < facts.n_rows
        if not is_known and (is_derived or facts.whole[name].kind != "other"):
            raise nowhere_known(name, facts.source)
    for name in sorted(used.names & set(facts.infinite)):
        raise infinite_values(name, *facts.infinite[name], facts.source)
