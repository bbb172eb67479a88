"""Rule and RuleSet: what learning gives, held as columns, rules as objects only at the edge."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from datetime import date
from functools import cached_property
from html import escape
from typing import Annotated, Any, overload

import numpy as np
import pyarrow as pa
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from sqrl._data.arrow_arrays import from_numpy, from_values, to_numpy
from sqrl._data.html_table import html_table
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Array, Bools
from sqrl._language import name_text, number_text, parse, parse_formula, to_text
from sqrl._language.forms import Form, learned_values, read_form, sentence_of
from sqrl._language.kinds import KINDS
from sqrl._language.printer import body_text, item_text
from sqrl._language.reference import LARGEST, Reference
from sqrl._language.short import short_text
from sqrl._language.tree import Hole, Node, Number
from sqrl._rows.sequences import columns_behind, with_sequences
from sqrl._rules import ids
from sqrl._rules.decisions import Decision, decide, in_order, withdraw
from sqrl._rules.held_out import HeldOutScores
from sqrl._rules.rule_columns import (
    COLUMNS,
    LEARN_AGAIN,
    OF_FORM,
    OF_RULE,
    STRUCTURE,
    Pool,
    form_of,
    over_of,
    reference_of,
    renumber,
    row_of,
)
from sqrl._rules.schema import Schema
from sqrl._rules.sequence_names import row_order_of
from sqrl.errors import SchemaError, SqrlError, unknown

MEASURED = (
    *("lower", "upper", "learned", "status", "evidence", "tail"),
    *("prediction_evidence", "unit_evidence", "prediction_unit_evidence", "centre", "spread"),
)
# What a file may hold; a float counts rows exactly up to the largest.
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Share = Annotated[float, Meta(ge=0, le=1)]
SHOWN = ("coverage", "support", "rows", "jaccard")


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rule as a person reads it.

    >>> rule = Rule(text="type = Car => 0.07 <= aspect_ratio <= 2.77", lower=0.07, upper=2.77)
    >>> rule.form.kind
    'sample'
    """

    text: str
    id: str | None = None  # the same when it is learned again: see `RuleSet.ids`
    lower: float | None
    upper: float | None
    centre: float | None = None  # the statistic of all rows behind the rule
    spread: float | None = None  # the standard error of the centre
    learned: str | None = None  # the sentence as it was learned, where a person edited its bounds
    coverage: Share | None = None
    support: Count | None = None
    rows: Count | None = None
    jaccard: Share | None = None
    status: str | None = None
    supports: list[Count] | None = None
    evidence: list[float] | None = None
    reference: Reference | None = None
    tail: list[Count] | None = None
    prediction_evidence: list[float] | None = None
    unit_evidence: list[float] | None = None
    prediction_unit_evidence: list[float] | None = None

    def __str__(self) -> str:
        return self.short_text

    @property
    def form(self) -> Form:
        """The rule taken apart."""
        return replace(read_form(parse(self.text)), reference=self.reference)

    @property
    def short_text(self) -> str:
        """The sentence with its numbers rounded for the eye, to what its samples justify.

        >>> Rule(text="0.07321 <= aspect_ratio <= 2.77129", lower=0.07, upper=2.77).short_text
        '0.07321 <= aspect_ratio <= 2.771'
        """
        return short_text(self.text, support=self.support)


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a rule set comes from."""

    sqrl: str
    created: str
    source: str
    rows: int
    train_rows: int
    valid_rows: int
    seed: int
    fingerprint: str
    valid_source: str | None = None
    extractors: list[str] = []
    counts: dict[str, int] = {}
    private: str | UnsetType = UNSET  # what was done for privacy, where anything was
    unproven: list[str] | UnsetType = UNSET  # rules that were left out by `holds`, and why: some


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules as columns: `table` has a row for each, with ids into `nodes` for its formulas.

    >>> rules = RuleSet.from_texts(["3 <= GCS <= 15", "type = Car => width <= 9"])
    >>> len(rules), str(rules[0]), rules[1].upper
    (2, '3 <= GCS <= 15', 9.0)
    """

    table: pa.Table
    nodes: tuple[Node, ...]
    schema: Schema | None = None
    provenance: Provenance | None = None
    held_out: HeldOutScores | None = None
    decisions: tuple[Decision, ...] = ()  # of people, by id; some may be about rules that are gone

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], *, schema: Schema | None = None, **columns: Sequence[Any]
    ) -> "RuleSet":
        """Rules from sentences; `columns` gives their coverage, support, jaccard and so on.

        The `schema` has what sentences refer to: statistics, the label, the order of rows.
        """
        supports, references = columns.pop("supports", ()), columns.pop("reference", ())
        forms = []
        for index, text in enumerate(texts):
            try:
                form = read_form(parse(text))
                form = check_rule(
                    replace(form, reference=references[index] if references else None)
                )
            except SqrlError as error:
                raise error.at(f"rules[{index}]") from None
            forms.append(_with_supports(form, supports[index] if supports else None))
        return replace_fields(cls.from_forms(forms, **columns), schema=schema)

    @classmethod
    def from_forms(cls, forms: Sequence[Form], **columns: Sequence[Any]) -> "RuleSet":
        """Rules from sentences taken apart."""
        pool = Pool()
        data: dict[str, list[Any]] = {name: [] for name in OF_FORM}
        for form in forms:
            for name, value in row_of(form, pool).items():
                data[name].append(value)
        for name in OF_RULE:
            data[name] = list(columns.get(name, [None] * len(forms)))
        arrays = [from_values(data[field.name], field.type) for field in COLUMNS]
        return cls(pa.Table.from_arrays(arrays, schema=COLUMNS), pool.nodes())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Rule]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Rule: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | Array) -> "RuleSet": ...
    def __getitem__(self, key: Any) -> "Rule | RuleSet":
        if isinstance(key, int | np.integer):
            return self._rule(range(len(self))[int(key)])
        if isinstance(key, slice):
            return self.take(np.arange(len(self))[key])
        chosen = np.asarray(key)
        return self.take(np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen)

    def __add__(self, other: "RuleSet") -> "RuleSet":
        return concat_rules([self, other])

    def take(self, rows: Array) -> "RuleSet":
        """The rules at these places, in this order."""
        indices = from_numpy(np.asarray(rows, np.int64))
        # Rows break fewer rules of a part: its p-values are then no smaller than they should be.
        return replace_fields(self, table=self.table.take(indices))

    def filter(self, where: str) -> "RuleSet":
        """The rules for which a formula over their columns holds.

        >>> rules = RuleSet.from_texts(["3 <= GCS <= 15", "type = Car => width <= 9"])
        >>> len(rules.filter("upper > 9"))
        1
        """
        from sqrl._rows.rows import Rows

        flat = self.to_arrow().drop_columns(["text"]) if len(self) else self.to_arrow()
        rows = Rows(as_table(flat, source="rules"), {})
        return self.take(np.flatnonzero(rows.truths(parse_formula(where)).true))

    def search(self, word: str) -> "RuleSet":
        """The rules whose sentence contains a word, in any case."""
        folded = word.casefold()
        return self.take(
            np.array([i for i, text in enumerate(self.texts()) if folded in text.casefold()], int)
        )

    def sort(self, by: str, *, descending: bool = True) -> "RuleSet":
        """The rules ordered by a column or by `width`; rules without a value come last."""
        import pyarrow.compute as pc

        known = [*(name for name in COLUMNS.names if name not in STRUCTURE), "width", "text"]
        if by not in known:
            raise unknown("column of rules", by, known)
        if by == "width":
            values = pc.subtract(self.table["upper"], self.table["lower"])
        elif by == "text":
            values = from_values(self.texts(), pa.string())
        else:
            values = self.table[by]
        order = pc.sort_indices(
            pa.table({"key": values, "place": from_numpy(np.arange(len(self)))}),
            sort_keys=[
                ("key", "descending" if descending else "ascending"),
                ("place", "ascending"),
            ],
        )
        return self.take(to_numpy(order, np.uint64, 0))

    def head(self, n: int) -> "RuleSet":
        """The first n rules."""
        return self[:n]

    def texts(self) -> list[str]:
        """The sentence of each rule; it parses back to the same rule."""
        return [self._text(index) for index in range(len(self))]

    def ids(self) -> list[str]:
        """The id of each rule: of what it is about, the same when it is learned again.

        >>> older, newer = (RuleSet.from_texts([f"3 <= GCS <= {most}"]) for most in (14, 15))
        >>> older.ids() == newer.ids()
        True
        """
        return self._ids

    def with_ids(self) -> "RuleSet":
        """The rules with their ids as a column, so that parts of the set keep them."""
        place, field = COLUMNS.get_field_index("id"), COLUMNS.field("id")
        table = self.table.set_column(place, field, from_values(self.ids(), field.type))
        return replace_fields(self, table=table)

    def accept(self, ids: str | Iterable[str], *, by: str, why: str) -> "RuleSet":
        """The rules with some of them accepted: somebody has looked at their bounds.

        >>> rules = RuleSet.from_texts(["3 <= GCS <= 15"])
        >>> rules.accept(rules.ids(), by="Ann", why="the scale's own ends").decisions[0].verdict
        'accepted'
        """
        return self._decided(decide(self.ids(), self.decisions, ids, "accepted", by=by, why=why))

    def reject(self, ids: str | Iterable[str], *, by: str, why: str) -> "RuleSet":
        """The rules with some of them rejected: `check` leaves these out."""
        return self._decided(decide(self.ids(), self.decisions, ids, "rejected", by=by, why=why))

    def waive(self, ids: str | Iterable[str], *, until: str | date, by: str, why: str) -> "RuleSet":
        """The rules with some of them waived until a day: counted, but no finding and no failure.

        >>> rules = RuleSet.from_texts(["3 <= GCS <= 15"])
        >>> waived = rules.waive(rules.ids(), until="2999-12-31", by="Ann", why="new form")
        >>> waived.decisions[0].until
        '2999-12-31'
        """
        known = self.ids()
        made = decide(known, self.decisions, ids, "waived", by=by, why=why, until=until)
        return self._decided(made)

    def withdraw(self, ids: str | Iterable[str]) -> "RuleSet":
        """The rules without the decisions about some of them."""
        return self._decided(withdraw(self.decisions, ids))

    def in_force(self) -> "RuleSet":
        """The rules that nobody has rejected."""
        gone = {one.id for one in self.decisions if one.verdict == "rejected"}
        left = [place for place, one in enumerate(self.ids()) if one not in gone] if gone else []
        is_whole = not gone or len(left) == len(self)
        return self if is_whole else self.with_ids().take(np.array(left, np.int64))

    def _decided(self, decisions: tuple[Decision, ...]) -> "RuleSet":
        """The rules with these decisions, and with ids that no part of the set will change."""
        return replace_fields(self.with_ids(), decisions=decisions)

    def form(self, index: int) -> Form:
        """The rule at a place, taken apart."""
        row = {name: self._columns[name][index] for name in OF_FORM}
        return form_of(row, self.nodes)

    def forms(self) -> list[Form]:
        """All the rules, taken apart."""
        return [self.form(index) for index in range(len(self))]

    def columns(self) -> tuple[str, ...]:
        """The columns that data must have for these rules, the label's too, in order of name.

        >>> RuleSet.from_texts(["3 <= GCS <= 15", "type = Car => width <= 9"]).columns()
        ('GCS', 'type', 'width')
        """
        from sqrl._rules.needed_columns import column_needs

        statistics = self.statistics()
        named = column_needs(self.forms(), statistics)[0]
        return tuple(sorted(columns_behind(named, row_order_of(self.schema), statistics)))

    def condition_holds(self, index: int, data: Any) -> Bools:
        """On which rows of any table a rule's condition is true; of a logic rule, its body.

        >>> rules = RuleSet.from_texts(["type = Car => width <= 9"])
        >>> rules.condition_holds(0, {"type": ["Car", "Van"]}).tolist()
        [True, False]
        """
        from sqrl._rows.rows import Rows

        form, table = self.form(index), self.with_sequences(data)
        return Rows(table, self.statistics()).all_true((*form.given, *form.body))

    def with_sequences(self, data: Any) -> Table:
        """The table with the columns of the rules that follow from the rows before: `lag(x)`.

        `check` adds them by itself; what sees a part of the rows at a time, such as a model's
        mini-batches, has to be given them.

        >>> schema = Schema(order="day", rules=("? <= delta(x) <= ?",))
        >>> rules = RuleSet.from_texts(["-5 <= delta(x) <= 5"], schema=schema)
        >>> rules.with_sequences({"day": [2, 1], "x": [9.0, 3.0]})["delta(x)"].values.tolist()
        [6.0, nan]
        """
        from sqrl._rules.needed_columns import columns_of

        statistics = self.statistics()
        names = columns_of(self.forms(), statistics)
        return with_sequences(as_table(data), names, row_order_of(self.schema), statistics)

    @property
    def smallest_group(self) -> int | None:
        """The fewest rows behind any number of the rules; None where that is not known.

        A bound that is a value of some row rests on one row: who it is of may be recognised.

        >>> RuleSet.from_texts(["3 <= GCS <= 15"], support=[4000]).smallest_group
        1
        """
        from sqrl._rules.groups import group_sizes

        sizes = group_sizes(self)
        known = sizes[sizes > 0]
        return int(known.min()) if known.size else None

    def statistics(self) -> dict[str, Node]:
        """The derived statistics that the rules may name."""
        return self.schema.expressions() if self.schema else {}

    def to_arrow(self) -> pa.Table:
        """The rules as a plain Arrow table: the sentence, the bounds, and what is known of them."""
        known = self.with_ids().table
        plain = known.select([name for name in COLUMNS.names if name not in STRUCTURE])
        return plain.add_column(0, "text", from_values(self.texts(), pa.string()))

    def to_pandas(self) -> Any:
        """The rules as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rules as a polars DataFrame."""
        import narwhals as nw

        return nw.from_arrow(self.to_arrow(), backend="polars").to_native()

    def save(self, path: Any) -> None:
        """Write the rules to a .json or .parquet file."""
        from sqrl._rules.files import save_rules

        save_rules(self, path)

    def diff(self, newer: "RuleSet") -> Any:
        """Which rules appeared, vanished or moved from this set to a newer one."""
        from sqrl._rules.diff import diff_rules

        return diff_rules(self, newer)

    def __repr__(self) -> str:
        lines = [f"RuleSet of {len(self):,} rules"]
        lines += [f"  {self._text(index)}" for index in range(min(len(self), 5))]
        if len(self) > 5:
            lines.append(f"  ... and {len(self) - 5:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = [name for name in SHOWN if self.table[name].null_count < len(self)]
        rows = [
            [f"<code>{escape(rule.text)}</code>", *(_cell(getattr(rule, name)) for name in names)]
            for rule in self.head(20)
        ]
        more = f"<p>{len(self):,} rules, the first {min(20, len(self))} shown</p>"
        return html_table(["rule", *names], rows) + more

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return {name: self.table[name].to_pylist() for name in COLUMNS.names}

    @cached_property
    def _ids(self) -> list[str]:
        known = self._columns["id"]
        if None not in known:
            return known
        coverage = self._columns["coverage"]
        texts, cuts = [], []
        opened = [(item_text(ids.opened(node)), ids.cuts_in(node)) for node in self.nodes]
        for index in range(len(self)):
            if self._is_plain_logic(index):
                text, found = self._about_logic(index, opened)
            else:
                form = self.form(index)
                text, found = ids.about(form, coverage[index]), ids.cuts_of(form)
            texts.append(ids.digest(text))
            cuts.append(found)
        made = ids.numbered(texts, cuts)
        return [one if before is None else before for one, before in zip(made, known, strict=True)]

    def _about_logic(
        self, index: int, opened: list[tuple[str, list[float]]]
    ) -> tuple[str, tuple[float, ...]]:
        """What a logic rule is about and its cuts, from its parts': there can be many."""
        columns = self._columns
        body, head = columns["body"][index], columns["head"][index]
        text = " and ".join([opened[node][0] for node in body])
        text += "" if head is None else f" => {opened[head][0]}"
        low, high = ("" if columns[side][index] is None else "?" for side in ("lower", "upper"))
        cuts = [cut for node in body for cut in opened[node][1]]
        units = ids.of_units(over_of(columns["over"][index], columns["over_units"][index]))
        return f"{low} {columns['statistic'][index]}({text}) {high}{units}", (
            *cuts,
            columns["over"][index],
        )

    def _is_plain_logic(self, index: int) -> bool:
        columns = self._columns
        return KINDS[columns["kind"][index]].evidence == "counts" and not columns["given"][index]

    @cached_property
    def _item_texts(self) -> list[str]:
        return [item_text(node) for node in self.nodes]

    @cached_property
    def _body_texts(self) -> list[str]:
        return [body_text(node) for node in self.nodes]

    def _rule(self, index: int) -> Rule:
        get = {name: self._columns[name][index] for name in (*MEASURED, *SHOWN)}
        pieces = self._columns["pieces"][index] or []
        supports = [piece["support"] for piece in pieces if piece["support"] is not None]
        known = self._columns["id"][index] or self.ids()[index]
        reference = reference_of(self._columns["reference"][index])
        return Rule(
            text=self._text(index),
            id=known,
            supports=supports or None,
            reference=reference,
            **get,
        )

    def _text(self, index: int) -> str:
        if self._is_plain_logic(index):
            return self._logic_text(index)
        return to_text(sentence_of(self._with_holes(index)))

    def _with_holes(self, index: int) -> Form:
        """The rule's form; a candidate without bounds has those of its template as holes."""
        form = self.form(index)
        if not form.pieces or any(piece.lower or piece.upper for piece in form.pieces):
            return form
        lower, upper = (Hole() if there else None for there in self._sides_of(index))
        pieces = tuple(replace(piece, lower=lower, upper=upper) for piece in form.pieces)
        return replace(form, pieces=pieces)

    def _sides_of(self, index: int) -> tuple[bool, bool]:
        """Whether a rule's template bounds it below, and above."""
        template = self._columns["template"][index]
        known = template is not None and template < len(self._sides)
        return self._sides[template] if known else (True, True)

    @cached_property
    def _sides(self) -> list[tuple[bool, bool]]:
        """Of each template of the schema, whether it has a bound below, and above."""
        pieces = [form.pieces for form in self.schema.forms()] if self.schema else []
        return [
            (some[0].lower is not None, some[0].upper is not None) if some else (True, True)
            for some in pieces
        ]

    def _logic_text(self, index: int) -> str:
        """A logic rule's sentence from its parts' texts: there can be hundreds of thousands."""
        columns = self._columns
        body = columns["body"][index]
        if len(body) == 1:
            text = self._body_texts[body[0]]
        else:
            text = " and ".join([self._item_texts[node] for node in body])
        head = columns["head"][index]
        if head is not None:
            text = f"{text} => {self._body_texts[head]}"
        elif len(body) == 1:
            text = to_text(self.nodes[body[0]])
        lower, upper = columns["lower"][index], columns["upper"][index]
        low = "" if lower is None else f"{number_text(lower)} <= "
        high = "" if upper is None else f" <= {number_text(upper)}"
        if lower is None and upper is None:
            below, above = self._sides_of(index)
            low, high = "? <= " if below else "", " <= ?" if above else ""
        call = f"{name_text(columns['statistic'][index])}({text})"
        over = over_of(columns["over"][index], columns["over_units"][index])
        return f"{low}{call}{high} over {over}"


def concat_rules(sets: Sequence[RuleSet]) -> RuleSet:
    """All the rules of several sets, each sentence once, where it stood first.

    Of those that say the same the one with the highest coverage is kept, which claims the most:
    what 98 % of the rows keep may be what all of them do.
    """
    pool = Pool()
    tables = []
    for rules in sets:
        ids = from_values([pool.add(node) for node in rules.nodes], pa.int32())
        tables.append(renumber(rules.table, ids))
    first = sets[0] if sets else None
    joined = RuleSet(
        pa.concat_tables(tables) if tables else COLUMNS.empty_table(),
        pool.nodes(),
        first.schema if first else None,
        first.provenance if first else None,
        first.held_out if first and len(first) == sum(map(len, sets)) else None,
        in_order({one.id: one for rules in reversed(sets) for one in rules.decisions}.values()),
    )
    coverages = joined.table["coverage"].to_pylist()
    best: dict[str, int] = {}
    for index, text in enumerate(joined.texts()):
        other = best.setdefault(text, index)
        if (coverages[index] or 0.0) > (coverages[other] or 0.0):
            best[text] = index
    return joined if len(best) == len(joined) else joined.take(np.array(list(best.values())))


def check_rule(form: Form) -> Form:
    """The form, if it is a rule and not a template."""
    bounds = [bound for piece in form.pieces for bound in (piece.lower, piece.upper)]
    is_open = any(bound is not None and not isinstance(bound, Number) for bound in bounds)
    if form.by or is_open or learned_values(form.head) is not None:
        raise SchemaError(
            "A template is not a rule: its bounds are not known yet."
            if form.head is None or form.pieces
            else "A template is not a rule: its values are not known yet.",
            where=to_text(sentence_of(form)),
            fix="learn it from data, or write numbers for its bounds"
            if form.head is None or form.pieces
            else "learn it from data, or write the values: in [a, b]",
        )
    n_axes = len(form.reference.axes) if form.reference else 0
    if n_axes != len(form.axes):
        what = "has none" if not n_axes else f"has one of {n_axes} axes, not {len(form.axes)}"
        if not form.axes:
            what = "is compared with none"
        raise SchemaError(
            f"A rule about shares needs a reference to compare them with, and this {what}.",
            where=to_text(sentence_of(form)),
            fix=LEARN_AGAIN,
        )
    return form


def _with_supports(form: Form, supports: Sequence[int] | None) -> Form:
    """The form with the number of samples behind each of its pieces, where these are known."""
    if not supports or len(supports) != len(form.pieces):
        return form
    pieces = [
        replace(piece, support=support)
        for piece, support in zip(form.pieces, supports, strict=True)
    ]
    return replace(form, pieces=tuple(pieces))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"
