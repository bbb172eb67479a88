"""What `prepare` finds out about rows in memory, found out about rows that are scanned."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._data.table import Table
from sqrl._language.parser import parse_formula
from sqrl._language.tree import Name, Node, walk
from sqrl._learn.candidates import make_templates
from sqrl._learn.domains import Cut, buckets_of
from sqrl._learn.prepare import Prepared
from sqrl._learn.propose import check_label, propose_schema
from sqrl._learn.schema_checks import (
    check_batches,
    check_kinds,
    check_known,
    check_names,
    check_undeclared,
    choose_schema,
    in_file,
    names_used,
    no_rows,
    nowhere_known,
    refuse_held_out,
    too_few_rows,
)
from sqrl._progress import Track
from sqrl._rows.cells import Grid
from sqrl._rows.draw import Draw
from sqrl._rows.order_statistics import ForCuts, Order
from sqrl._rows.questions import Asking
from sqrl._rows.rows import Floats, Rows, infinite_values
from sqrl._rules.needed_columns import names_in
from sqrl._rules.schema import Schema
from sqrl._scan.answers import ScanAnswers
from sqrl._scan.facts import Facts, Scanned, look_at
from sqrl._scan.job import Engine
from sqrl._scan.look import Look
from sqrl._scan.scan import Scan
from sqrl._scan.split import Split, make_split
from sqrl.errors import DataError, ParseError, SqrlError

PROPOSED_FROM = 100_000  # rows that a schema is proposed from
EVERYWHERE = Grid(((),), ((),), (), (), np.zeros(1, np.int64))  # no condition


def prepare_scan(
    scanned: Scan,
    schema: Schema | Mapping[str, Any] | str | Path | None,
    *,
    valid: Engine | None = None,
    label: str | None = None,
    seed: int = 0,
    track: Track | None = None,
) -> Prepared:
    """The data and the schema, checked against each other.

    Cost: a pass over all columns, and a few more for the cut points of literals.
    """
    train, memory = scanned.engine, scanned.memory
    if schema is None:
        chosen = propose_for(train, label, valid=valid, seed=seed, memory=memory)
    else:
        chosen = choose_schema(schema, label)
    source = _look_at(train, valid, chosen, seed=seed, track=track)
    scan = source.scan(chosen, memory, track)
    whole = source.train.facts.whole
    if chosen.label is not None:
        present = whole.n_rows - source.train.facts.missing.get(chosen.label, 0)
        check_label(whole, chosen.label, n_present=present)
    with in_file(schema):
        check_names(scan.statistics, chosen, whole)
        check_undeclared(chosen, whole)
        rows = Rows(source.train.facts.train, scan.statistics)
        nowhere = Rows(source.train.facts.no_rows(), scan.statistics)
        templates = make_templates(chosen, rows, scan.ask([_cut_literals(chosen, nowhere)])[0])
    used = names_used(templates, scan.statistics)
    for scanned_too in (source.train, source.valid):
        if scanned_too is not None:
            _check_facts(scanned_too.facts, used, scan.statistics)
    if source.valid is not None:
        check_kinds(whole, source.valid.facts.whole, used)
    sizes = {whole.source: scan.n("train")}
    if chosen.validate:
        held_out = f"{whole.source} (held-out rows)"
        name = held_out if source.valid is None else source.valid.facts.source
        sizes[name] = scan.n("valid")
    check_batches(templates, sizes)
    scan.names = frozenset(names_in(map(Name, used), scan.statistics))
    return Prepared(
        schema=chosen,
        templates=templates,
        rows=scan,
        table=source.train.facts.train,
        train_rows=scan.n("train"),
        valid_rows=scan.n("valid") if chosen.validate else 0,
        extractors=(),
        source=whole.source,
        valid_source=None if source.valid is None else source.valid.facts.source,
        n_rows=whole.n_rows,
        fingerprint=source.train.facts.fingerprint,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """Where the rows are."""

    train: Scanned
    valid: Scanned | None
    split: Split | None

    def scan(self, schema: Schema, memory: int, track: Track | None) -> ScanAnswers:
        """Who answers for them."""
        names = _names_in_schema(schema) & set(self.train.facts.whole.names)
        statistics = dict(schema.expressions())
        return ScanAnswers(
            self.train, self.valid, self.split, statistics, frozenset(names), memory, track
        )


def _look_at(
    train: Engine, valid: Engine | None, schema: Schema, *, seed: int, track: Track | None
) -> _Source:
    """The facts of the rows to learn from and of those held out: given, or split off."""
    n_rows = _count_rows(train)
    if valid is not None:
        _count_rows(valid)
        refuse_held_out(schema, valid.name)
    of_interest = frozenset(_names_in_schema(schema))
    split = None
    if valid is None and schema.validate:
        split = make_split(n_rows, schema.validate.share, seed=seed)
        if not split.n_train or not split.n_valid:
            raise too_few_rows(n_rows, train.name)
    statistics = schema.expressions()
    here = look_at(train, Look(of_interest, split, statistics=statistics), track=track)
    there = None
    if valid is not None:
        there = look_at(valid, Look(of_interest, statistics=statistics), track=track)
    return _Source(here, there, split)


def _count_rows(engine: Engine) -> int:
    """How many rows there are; raises where there are none."""
    n_rows = sum(engine.counts())
    if n_rows == 0:
        raise no_rows(engine.name)
    return n_rows


def _names_in_schema(schema: Schema) -> set[str]:
    """Every name that may be a column's: in rules, domains and statistics."""
    found = {schema.label} if schema.label is not None else set()
    texts = [*schema.rules, *(e for e in schema.let.values() if isinstance(e, str))]
    texts += [str(e) for entry in schema.let.values() if isinstance(entry, list) for e in entry]
    trees = [*schema.expressions().values(), *map(_sentence, schema.forms())]
    trees += [tree for text in texts if (tree := _parsed(text)) is not None]
    for tree in trees:
        found |= {node.name for node in walk(tree) if isinstance(node, Name)}
    return found | set(texts)


def _parsed(text: str) -> Node | None:
    try:
        return parse_formula(text)
    except ParseError:
        return None  # a word that is no formula, or a whole rule


def _sentence(form: Any) -> Node:
    from sqrl._language.forms import sentence_of

    return sentence_of(form)


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
            Order("train", EVERYWHERE, (0,), tuple(items), ForCuts(percentiles))
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


def _check_facts(facts: Facts, used: set[str], statistics: Mapping[str, Node]) -> None:
    """Raise where a column is unknown, holds infinite values, or is missing on every row."""
    check_known(used, [*facts.whole.names, *statistics], facts.source)
    nowhere = Rows(facts.no_rows(), statistics)
    for name in sorted(used):
        if name in facts.too_many:
            raise DataError(
                f"Column {name!r} holds too many different words, or too long ones, to be scanned.",
                where=facts.source,
                fix="leave it out of the schema: it names rows rather than groups",
            )
        is_derived = name in statistics
        if is_derived:
            nowhere.numbers(Name(name))  # raises where it cannot be computed
        n_known = facts.known[name] if is_derived else facts.n_rows - facts.missing[name]
        if not n_known and (is_derived or facts.whole[name].kind != "other"):
            raise nowhere_known(name, facts.source)
    for name in sorted(used & set(facts.infinite)):
        raise infinite_values(name, *facts.infinite[name], facts.source)


def propose_for(
    train: Engine, label: str | None, *, valid: Engine | None = None, seed: int, memory: int
) -> Schema:
    """A schema proposed from some of the rows, which are fetched into memory."""
    n_rows = _count_rows(train)
    held_out = None if valid is None else Table({}, _count_rows(valid), valid.name)
    scanned = look_at(train, Look(frozenset(train.names)))
    whole = scanned.facts.whole
    names = frozenset(name for name in whole.names if whole[name].kind != "other")
    scan = ScanAnswers(scanned, None, None, {}, names, memory)
    drawn, _ = scan.answers([Draw("train", min(PROPOSED_FROM, n_rows), 1, seed)])[0]
    # In the order of the data, with what cannot be used: their names are taken.
    columns = {name: drawn.table[name] if name in names else whole[name] for name in whole.names}
    table = Table(columns, drawn.n, whole.source)
    return propose_schema(table, label=label, valid=held_out)
