"""The columns that rules are held in, and how a rule taken apart goes into them and comes back."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import ValidationError, convert

from sqrl._data.arrow_arrays import from_numpy, to_numpy
from sqrl._language.forms import Form, Piece
from sqrl._language.kinds import KINDS, Kind
from sqrl._language.parser import as_axis
from sqrl._language.reference import Reference
from sqrl._language.tree import Node, Number, Over, Units
from sqrl.errors import SchemaError

PIECE = pa.struct(
    [
        ("test", pa.int32()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("support", pa.int64()),
    ]
)
CELL_AXIS = pa.struct(
    [
        ("cuts", pa.list_(pa.float64())),
        ("numbers", pa.list_(pa.float64())),
        ("words", pa.list_(pa.string())),
    ]
)
REFERENCE = pa.struct([("axes", pa.list_(CELL_AXIS)), ("counts", pa.list_(pa.int64()))])
COLUMNS = pa.schema(
    [
        ("kind", pa.string()),  # sample, batch, logic, class or shares
        ("given", pa.list_(pa.int32())),  # the conditions, as nodes
        ("statistic", pa.string()),  # of a mini-batch
        ("subject", pa.int32()),  # the expression bounded, as a node
        ("body", pa.list_(pa.int32())),
        ("head", pa.int32()),
        ("over", pa.int32()),  # rows in a mini-batch
        ("pieces", pa.list_(PIECE)),  # of a bucketed rule
        ("lower", pa.float64()),  # null = open; of a bucketed rule the least
        ("upper", pa.float64()),
        ("axes", pa.list_(pa.int32())),  # what shares are of, as nodes
        ("reference", REFERENCE),  # what shares are compared with
        ("over_units", pa.bool_()),  # true where a mini-batch is of so many units, not rows
        ("coverage", pa.float64()),
        ("support", pa.int64()),  # samples, or mini-batches, behind the bounds
        ("rows", pa.int64()),  # train rows in the body, for logic rules
        ("evidence", pa.list_(pa.float64())),  # of mini-batch rules on held-out rows: see _evidence
        ("jaccard", pa.float64()),
        ("status", pa.string()),
        ("template", pa.int32()),  # which of the schema's sentences it comes from
        ("tail", pa.list_(pa.int64())),  # train rows, and those that break it, by how far
        ("prediction_evidence", pa.list_(pa.float64())),  # as evidence, with predictions as label
        ("unit_evidence", pa.list_(pa.float64())),  # of units: see `unit_lines`
        ("prediction_unit_evidence", pa.list_(pa.float64())),
        ("id", pa.string()),  # null where it was never asked for: see `ids`
        ("learned", pa.string()),  # the sentence as it was learned, where a person edited it
        ("centre", pa.float64()),  # the statistic of all rows behind the rule: see `centres`
        ("spread", pa.float64()),  # the standard error of the centre
    ]
)
OF_FORM = COLUMNS.names[: COLUMNS.get_field_index("coverage")]
OF_RULE = COLUMNS.names[COLUMNS.get_field_index("coverage") :]
STRUCTURE = (
    *("given", "subject", "body", "head", "pieces", "axes", "reference"),
    *("evidence", "tail", "prediction_evidence", "unit_evidence", "prediction_unit_evidence"),
)
LEARN_AGAIN = "learn the rule from data: its reference is kept in the rules file"


@dataclass(slots=True)
class Pool:
    """Formulas and expressions, each held once and known by its number."""

    _ids: dict[Node, int] = field(default_factory=dict)

    def add(self, node: Node | None) -> int | None:
        """The node's number."""
        return None if node is None else self._ids.setdefault(node, len(self._ids))

    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order of their numbers."""
        return tuple(self._ids)


def renumber(table: pa.Table, ids: pa.Array) -> pa.Table:
    """The table with every node number replaced by ids[number]."""
    table = table.combine_chunks()
    for name in ("subject", "head"):
        place, column = table.schema.get_field_index(name), table[name].combine_chunks()
        table = table.set_column(place, COLUMNS.field(name), ids.take(column))
    for name in ("given", "body", "pieces", "axes"):
        column = pa.concat_arrays(table[name].chunks) if table[name].num_chunks else None
        if column is None or not len(column):
            continue
        values = column.flatten()
        if name == "pieces":
            test, *rest = (values.field(i) for i in range(len(PIECE)))
            values = pa.StructArray.from_arrays([ids.take(test), *rest], fields=list(PIECE))
        else:
            values = ids.take(values)
        lengths = to_numpy(column.value_lengths(), np.int32, 0)
        offsets = from_numpy(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        made = pa.ListArray.from_arrays(offsets, values, mask=column.is_null())
        table = table.set_column(table.schema.get_field_index(name), COLUMNS.field(name), made)
    return table


def row_of(form: Form, pool: Pool) -> dict[str, Any]:
    """A form as one row of the structure columns."""
    lowers = [_value(piece.lower) for piece in form.pieces]
    uppers = [_value(piece.upper) for piece in form.pieces]
    pieces = [
        {"test": pool.add(piece.test), "lower": lower, "upper": upper, "support": piece.support}
        for piece, lower, upper in zip(form.pieces, lowers, uppers, strict=True)
    ]
    return {
        "kind": form.kind,
        "given": [pool.add(node) for node in form.given],
        "statistic": form.statistic,
        "subject": pool.add(form.subject),
        "body": [pool.add(node) for node in form.body],
        "head": pool.add(form.head),
        **over_columns(form.over),
        "axes": [pool.add(node) for node in form.axes] or None,
        "reference": form.reference and _plain_reference(form.reference),
        "pieces": pieces if len(pieces) > 1 else None,
        "lower": min((low for low in lowers if low is not None), default=None),
        "upper": max((high for high in uppers if high is not None), default=None),
    }


def over_columns(over: Over | None) -> dict[str, Any]:
    """The columns of how large mini-batches are."""
    if isinstance(over, Units):
        return {"over": over.n, "over_units": True}
    return {"over": over, "over_units": None}


def over_of(size: int | None, is_units: bool | None) -> Over | None:
    """How large mini-batches are, from the columns."""
    return Units(size) if is_units and size is not None else size


def form_of(row: dict[str, Any], nodes: tuple[Node, ...]) -> Form:
    """The form of one row of the structure columns."""
    kind: Kind = row["kind"]
    pieces: tuple[Piece, ...] = ()
    if row["pieces"]:
        pieces = tuple(
            Piece(_bound(p["lower"]), _bound(p["upper"]), _node(p["test"], nodes), p["support"])
            for p in row["pieces"]
        )
    elif KINDS[kind].has_bounds:
        pieces = (Piece(_bound(row["lower"]), _bound(row["upper"])),)
    return Form(
        kind=kind,
        given=tuple(nodes[index] for index in row["given"] or ()),
        statistic=row["statistic"],
        subject=_node(row["subject"], nodes),
        body=tuple(nodes[index] for index in row["body"] or ()),
        head=_node(row["head"], nodes),
        pieces=pieces,
        over=over_of(row["over"], row["over_units"]),
        axes=tuple(as_axis(nodes[index]) for index in row["axes"] or ()),
        reference=reference_of(row["reference"]),
    )


def _plain_reference(reference: Reference) -> dict[str, Any]:
    axes = [{"cuts": a.cuts, "numbers": a.numbers, "words": a.words} for a in reference.axes]
    return {"axes": axes, "counts": reference.counts}


def reference_of(plain: dict[str, Any] | None) -> Reference | None:
    """The reference of one row; raises where what a file holds is none."""
    if plain is None:
        return None
    try:
        return convert(plain, Reference)
    except ValidationError as error:
        raise SchemaError(f"The reference of a rule is none: {error}.", fix=LEARN_AGAIN) from None


def _node(index: int | None, nodes: tuple[Node, ...]) -> Node | None:
    return None if index is None else nodes[index]


def _bound(value: float | None) -> Number | None:
    return None if value is None else Number(value)


def _value(node: Node | None) -> float | None:
    return node.value if isinstance(node, Number) else None
