"""Rules as files: versioned JSON that people keep and edit, Parquet for all of them.

In JSON a rule's `text` is the rule; the numbers beside it are for other programs to read. Parquet
also holds the columns, so that hundreds of thousands of rules load without being parsed.
"""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from sqrl._data.arrow_arrays import from_values
from sqrl._data.given_path import given_path
from sqrl._data.read_file import read_file, refuse_device
from sqrl._data.write_file import replacing, write_atomically
from sqrl._language import parse_formula, to_text
from sqrl._language.kinds import KINDS
from sqrl._rules.decisions import Decision, in_order
from sqrl._rules.edited import edited_by_hand, forget_measured
from sqrl._rules.held_out import HeldOutScores, digest_of
from sqrl._rules.rule_columns import COLUMNS
from sqrl._rules.ruleset import Provenance, Rule, RuleSet
from sqrl._rules.schema import Schema
from sqrl._rules.sound import refuse_shapeless, refuse_unsound
from sqrl.errors import OutputError, RulesFileError, SqrlError

FORMAT = "sqrl-rules"
VERSION = 1
# Columns that older files do not have.
SINCE_FIRST = (
    *("axes", "reference", "tail", "prediction_evidence", "unit_evidence"),
    *("prediction_unit_evidence", "id", "over_units", "learned", "centre", "spread"),
)
LARGEST_JSON = 1 << 30
LARGEST_PARQUET = 1 << 33  # bytes, unpacked
MOST_RULES = 50_000_000
SUFFIXES = (".json", ".parquet")
MEASURED = (
    *("id", "learned", "coverage", "support", "rows", "jaccard", "status", "supports", "evidence"),
    *("reference", "tail", "prediction_evidence", "unit_evidence", "prediction_unit_evidence"),
    *("centre", "spread"),
)


class RulesFile(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON file of rules."""

    format: str
    version: int
    schema: Schema | None = None
    provenance: Provenance | None = None
    decisions: list[Decision] | msgspec.UnsetType = msgspec.UNSET  # left out where there are none
    rules: list[Rule]
    held_out: HeldOutScores | None = None


class _Header(msgspec.Struct, frozen=True):
    format: str | None = None
    version: int | None = None


class _ParquetHeader(msgspec.Struct, frozen=True, kw_only=True):
    nodes: list[str]
    schema: Schema | None
    provenance: Provenance | None
    held_out: HeldOutScores | None = None
    decisions: list[Decision] = []


def save_rules(rules: RuleSet, path: str | Path) -> None:
    """Write the rules to a .json or .parquet file; an old file stays until the new one is whole."""
    path = given_path(path, OutputError)
    check_suffix(path)
    if path.suffix == ".parquet":
        _save_parquet(rules, path)
        return
    _refuse_unbounded(rules, path)
    content = RulesFile(
        format=FORMAT,
        version=VERSION,
        schema=rules.schema,
        provenance=rules.provenance,
        decisions=list(in_order(rules.decisions)) or msgspec.UNSET,
        rules=list(rules),
        held_out=_signed(rules),
    )
    encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
    write_atomically(path, encoded + b"\n")


def _refuse_unbounded(rules: RuleSet, path: Path) -> None:
    """Raise where candidates are to be saved as JSON whose bounds nothing supports."""
    bounds = zip(rules.table["lower"].to_pylist(), rules.table["upper"].to_pylist(), strict=True)
    kinds = rules.table["kind"].to_pylist()
    without = [
        lower is None and upper is None and KINDS[kind].has_bounds
        for (lower, upper), kind in zip(bounds, kinds, strict=True)
    ]
    if any(without):
        raise OutputError(
            f"{sum(without):,} of the candidates have no bounds, and so are no rules.",
            where=str(path),
            fix="keep candidates in a .parquet file, or save rules.filter('status = selected')",
        )


def check_suffix(path: Path) -> None:
    """Raise where a rules file could not be written under this name."""
    if path.suffix not in SUFFIXES:
        raise OutputError(
            f"Rules are written as .json or .parquet, not {path.suffix or 'without a suffix'}.",
            where=str(path),
            fix=f"name it {path.stem or 'rules'}.json",
        )


def load_rules(path: str | Path) -> RuleSet:
    """The rules in a .json or .parquet file."""
    path = given_path(path, RulesFileError)
    if not path.exists():
        raise RulesFileError(
            "There is no such rules file.", where=str(path), fix="make one with 'sqrl learn'"
        )
    if path.is_dir():
        raise RulesFileError("This is a folder.", where=str(path), fix="name a rules file in it")
    try:
        rules = _load_parquet(path) if path.suffix == ".parquet" else _load_json(path)
    except RecursionError:
        raise _damaged(path, "it is nested too deeply") from None
    except ValueError as error:
        if isinstance(error, SqrlError):
            raise
        raise _damaged(path, str(error)) from None
    try:
        refuse_unsound(rules)
    except SqrlError as error:
        raise error.at(str(path)) from None
    return rules


def is_rules_file(path: Path) -> bool:
    """Whether a .json file begins as rules do, which is told from its first bytes."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        return (
            re.match(rb'\s*{\s*"format"\s*:\s*"%s"' % FORMAT.encode(), file.read(256)) is not None
        )


def _load_json(path: Path) -> RuleSet:
    fix = "keep so many rules in Parquet"
    content = read_file(path, most=LARGEST_JSON, error=RulesFileError, fix=fix)
    if content.lstrip()[:1] not in {b"{", b""}:  # JSON of ours is an object
        raise _another_file(path)
    try:
        header = msgspec.json.decode(content, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from None
    _check_version(header.format, header.version, path)
    try:
        file = msgspec.json.decode(content, type=RulesFile)
        measured = {name: [getattr(rule, name) for rule in file.rules] for name in MEASURED}
        rules = RuleSet.from_texts([rule.text for rule in file.rules], schema=None, **measured)
        decisions = in_order(file.decisions or ())
        rules = forget_measured(rules, list(map(edited_by_hand, file.rules, rules.forms())))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from None
    except SqrlError as error:
        raise error.at(str(path)) from None
    loaded = RuleSet(rules.table, rules.nodes, file.schema, file.provenance, None, decisions)
    return _with_scores(loaded, file.held_out)


def _signed(rules: RuleSet) -> HeldOutScores | None:
    """The scores of held-out rows, with the digest of the rules they are saved with."""
    if rules.held_out is None:
        return None
    return msgspec.structs.replace(rules.held_out, rules=digest_of(rules.texts()))


def _with_scores(rules: RuleSet, scores: HeldOutScores | None) -> RuleSet:
    """The rules with the scores of held-out rows, unless a sentence was edited since."""
    if scores is None or scores.rules != digest_of(rules.texts()):
        return rules
    return replace(rules, held_out=scores)


def _check_version(format_name: str | None, version: int | None, path: Path) -> None:
    if format_name != FORMAT:
        raise _another_file(path)
    if version != VERSION:
        raise RulesFileError(
            f"The rules file has format version {version}; this sqrl reads version {VERSION}.",
            where=str(path),
            fix="learn the rules again, or use the sqrl that wrote them",
        )


def _another_file(path: Path) -> RulesFileError:
    fix = "make one with 'sqrl learn'"
    return RulesFileError("This is not a rules file.", where=str(path), fix=fix)


def _damaged(path: Path, why: str) -> RulesFileError:
    return RulesFileError(
        f"The rules file is damaged: {why.rstrip('.')}.",
        where=str(path),
        fix="it may have been cut off or edited by hand; learn the rules again",
    )


def _save_parquet(rules: RuleSet, path: Path) -> None:
    import pyarrow.parquet as pq

    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "nodes": [to_text(node) for node in rules.nodes],
        "schema": msgspec.to_builtins(rules.schema) if rules.schema else None,
        "provenance": msgspec.to_builtins(rules.provenance) if rules.provenance else None,
        "held_out": msgspec.to_builtins(_signed(rules)),
        "decisions": msgspec.to_builtins(in_order(rules.decisions)),
    }
    table = rules.with_ids().table.add_column(0, "text", from_values(rules.texts(), pa.string()))
    table = table.replace_schema_metadata({FORMAT: msgspec.json.encode(header)})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _load_parquet(path: Path) -> RuleSet:
    table = _read_table(path)
    encoded = (table.schema.metadata or {}).get(FORMAT.encode())
    if encoded is None:
        raise _another_file(path)
    try:
        begin = msgspec.json.decode(encoded, type=_Header)
        _check_version(begin.format, begin.version, path)
        header = msgspec.json.decode(encoded, type=_ParquetHeader)
        nodes = tuple(parse_formula(text) for text in header.nodes)
        for name in SINCE_FIRST:
            if name not in table.column_names:
                nulls = pa.nulls(table.num_rows, COLUMNS.field(name).type)
                table = table.append_column(COLUMNS.field(name), nulls)
        columns = table.select(COLUMNS.names).cast(COLUMNS)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, pa.ArrowException) as error:
        raise _damaged(path, str(error).partition("\n")[0]) from None
    except SqrlError as error:
        raise error.at(str(path)) from None
    kinds = columns["kind"].to_pylist()
    for kind in dict.fromkeys(kinds):
        if kind not in KINDS:
            raise _damaged(path, f"there are no rules of kind {kind!r}")
    _check_ids(columns, len(nodes), path)
    try:
        decisions = in_order(header.decisions)
        rules = RuleSet(columns, nodes, header.schema, header.provenance, None, decisions)
        refuse_shapeless(rules)
    except SqrlError as error:
        raise error.at(str(path)) from None
    return _with_scores(rules, header.held_out)


def _read_table(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        refuse_device(path, RulesFileError)
        file = pq.ParquetFile(path)
        _refuse_large(file.metadata, path)
        table = file.read()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, SqrlError):
            raise
        raise _damaged(path, str(error).partition("\n")[0]) from None
    return table


def _refuse_large(footer: Any, path: Path) -> None:
    """Raise where a Parquet file says that it unpacks to more than we read."""
    groups = (footer.row_group(at) for at in range(footer.num_row_groups))
    n_bytes = sum(group.total_byte_size for group in groups)
    if n_bytes > LARGEST_PARQUET or footer.num_rows > MOST_RULES:
        raise RulesFileError(
            f"The file has {footer.num_rows:,} rules in {n_bytes:,} bytes; at most {MOST_RULES:,}"
            f" in {LARGEST_PARQUET:,} are read.",
            where=str(path),
            fix="keep those that matter: sqrl rules FILE --where 'status = selected'",
        )


def _check_ids(table: pa.Table, n_nodes: int, path: Path) -> None:
    """Raise where a rule refers to a formula that the file does not hold."""
    import pyarrow.compute as pc

    ids = [table["subject"], table["head"], pc.list_flatten(table["given"])]
    ids += [pc.list_flatten(table["axes"])]
    ids += [pc.list_flatten(table["body"]), pc.struct_field(pc.list_flatten(table["pieces"]), 0)]
    for column in ids:
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < n_nodes:
            raise _damaged(path, "a rule refers to a formula that is not in the file")
