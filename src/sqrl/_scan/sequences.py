"""Columns that follow from the rows before, of rows that are scanned.

The row before may lie in any part. Each engine brings the rows of an entity together in its own
way (see `portions`), and what is computed then lies beside the data by row number: to all later
passes these are columns like others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqrl._language.tree import Node
from sqrl._progress import Track
from sqrl._rows.sequences import RowOrder, is_sequence, with_possible_sequences
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.engines.ray import RayEngine
from sqrl._scan.engines.spark import SparkEngine
from sqrl._scan.facts import Scanned, look_at
from sqrl._scan.job import Engine
from sqrl._scan.look import Look
from sqrl._scan.portions import Wanted, portions_for
from sqrl._scan.resume import Resuming
from sqrl.errors import DataError, SqrlError


def add_sequences(
    engine: Engine,
    names: Iterable[str],
    row_order: RowOrder | None,
    statistics: Mapping[str, Node],
    *,
    memory: int,
    track: Track | None = None,
) -> Engine:
    """The engine over data that has those of the named columns too that follow from rows before.

    Raises where one cannot be computed.

    Cost: a pass over the columns that they follow from that looks, one that writes these once, and
    a read of what was written; on disk 8 bytes for each row and column, written and computed. With
    no entity all rows of these columns are in memory at once.
    """
    given = engine, names, row_order, statistics
    made, reason = add_possible_sequences(*given, memory=memory, track=track)
    if reason is not None:
        raise reason
    return made


def add_possible_sequences(
    engine: Engine,
    names: Iterable[str],
    row_order: RowOrder | None,
    statistics: Mapping[str, Node],
    *,
    memory: int,
    track: Track | None = None,
) -> tuple[Engine, SqrlError | None]:
    """The engine with all that can be computed of these columns, and the first reason why not all.

    See `add_sequences`.
    """
    found = sorted(name for name in names if is_sequence(name) and name not in engine.names)
    if row_order is None or not found:
        return engine, None
    wanted = Wanted(tuple(found), row_order, dict(statistics))
    there = wanted.behind & set(engine.names)
    look = Look(there, columns=there, with_fingerprint=False)
    scanned = look_at(engine, look, track=track)
    # What a column holds says whether it can be followed, without a single row.
    nowhere = scanned.facts.no_rows()
    computed, reason = with_possible_sequences(nowhere, found, row_order, statistics)
    possible = tuple(name for name in found if name in computed)
    if not possible:
        return engine, reason
    return _widen(scanned, replace(wanted, names=possible), memory, track), reason


def _widen(scanned: Scanned, wanted: Wanted, memory: int, track: Track | None) -> Engine:
    """The engine with the columns, computed now whatever is remembered of another run."""
    engine = scanned.engine
    inner = engine.engine if isinstance(engine, Resuming) else engine
    n_portions = portions_for(scanned.facts.n_rows, wanted, memory)
    data = Scanned(inner, scanned.firsts, scanned.facts)
    wider: Engine
    match inner:
        case LocalEngine():
            from sqrl._scan.engines.local_sequences import widen_local

            wider = widen_local(inner, data, wanted, n_portions, track)
        case RayEngine():
            from sqrl._scan.engines.ray_sequences import widen_ray

            wider = widen_ray(inner, data, wanted, n_portions)
        case SparkEngine():
            from sqrl._scan.engines.spark_sequences import widen_spark

            wider = widen_spark(inner, data, wanted, n_portions)
        case _:
            raise DataError(
                f"{wanted.names[0]} looks at the rows before, which may be in other parts, and "
                "this engine cannot bring them together.",
                where=engine.name,
                fix="compute it by groups of the entity, and give the data a column of that name",
            )
    return Resuming(wider, engine.folder, engine.used) if isinstance(engine, Resuming) else wider
