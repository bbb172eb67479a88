"""Which faults are caught, and how often clean rows raise an alarm: sqrl beside other tools.

    python benchmarks/power.py [--tools TOOL ...] [--quick] [-o results.json]
    python benchmarks/power.py --make-envs DIR     environments of other tools
    python benchmarks/power.py --envs DIR --tools evidently alibi-detect tfdv
    python benchmarks/power.py --merge FILE ...    results measured apart, into one file

Each table is halved. A tool learns from one half; batches of clean rows are drawn from the other,
faults planted in them, and the tool asked. Every tool decides as it does by default. A tool that
refuses a batch with an error (a column gone, text in a number) has caught the fault. What the file
already has is not measured again, so that a run can be stopped, and tools be measured apart.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import sqrl
from datasets import data_folder
from measure import HERE, Json, describe_commit, describe_machine, describe_versions
from power_batches import CLEAN, Batch, Batches
from power_envs import PACKAGES, Child, Decision, make_environments, names_of, why_not
from power_faults import faults
from power_results import Measured, Place, Results, read_results
from power_tables import tables
from power_tools import LIBRARIES, TOOLS, Tool

SIZES = (500, 2000)
OUTPUT = HERE / "results" / "power.json"
SAVE_AFTER = 60  # seconds
Ask = Callable[[Batches, Sequence[Batch]], Iterator[Decision]]


def main() -> None:
    """Make environments, merge files, or measure."""
    arguments = _parse()
    warnings.filterwarnings("ignore")
    if arguments.make_envs:
        make_environments(arguments.make_envs)
        return
    results = _opened(arguments)
    if arguments.merge:
        for path in arguments.merge:
            results.merge(read_results(path))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            _measure(results, arguments, Path(scratch))
    results.save(arguments.output)
    print("\n".join(lines(results)))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few batches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="the folder of real tables")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument(
        "--tools", nargs="+", default=list(TOOLS), choices=[*TOOLS, *PACKAGES], metavar="TOOL"
    )
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--clean", type=int, default=200, help="clean batches a table and size")
    parser.add_argument("--repeats", type=int, default=4, help="batches a fault, table and size")
    parser.add_argument("--limit", type=float, help="seconds for a tool, table and size")
    parser.add_argument("--anew", action="store_true", help="forget what these tools said before")
    parser.add_argument("--make-envs", type=Path, metavar="DIR")
    parser.add_argument("--envs", type=Path, metavar="DIR")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.clean, arguments.repeats = 10, 1
    return arguments


def _opened(arguments: argparse.Namespace) -> Results:
    """The results in the file, or new ones; what was measured of other code is not added to."""
    kinds = {CLEAN: False} | {fault.kind: fault.must_alarm for fault in faults()}
    new = Results(arguments.seed, kinds)
    if not arguments.output.exists():
        return new
    results = read_results(arguments.output)
    if (results.seed, results.kinds) != (new.seed, new.kinds):
        raise SystemExit(
            f"{arguments.output.name} has another seed or other kinds. Give another -o."
        )
    for name in _names(arguments.tools) if not arguments.merge else ():
        if arguments.anew:
            results.tools.pop(name, None)
        before = results.tools.get(name)
        if before and name.startswith("sqrl") and before.conditions["code"] != _code():
            raise SystemExit(
                f"{name} was measured with other code. Measure all of it again with --anew, "
                "or give another -o."
            )
    return results


def _names(tools: Sequence[str]) -> list[str]:
    return [name for tool in tools for name in (names_of(tool) if tool in PACKAGES else (tool,))]


def _measure(results: Results, arguments: argparse.Namespace, scratch: Path) -> None:
    """Every batch that a tool was not yet asked about."""
    tools = list(arguments.tools)
    for tool in [tool for tool in tools if tool in PACKAGES]:
        reason = why_not(tool, arguments.envs or Path())
        if reason:
            results.not_measured |= dict.fromkeys(names_of(tool), reason)
            tools.remove(tool)
    children = {
        tool: Child(tool, arguments.envs, scratch, arguments.limit)
        for tool in tools
        if tool in PACKAGES
    }
    for source in tables(data_folder(arguments.data), arguments.tables, seed=arguments.seed):
        results.tables[source.name] = {
            "rows": len(source.frame),
            "columns": len(source.frame.columns),
            "label": source.label,
            "is_real": source.is_real,
        }
        for size in arguments.sizes:
            batches = Batches(source, size, arguments.seed)
            if batches.fits():
                results.same_batches(batches.place, batches.digest())
                for tool in tools:
                    _measure_tool(results, arguments, batches, tool, children.get(tool))
        results.save(arguments.output)
    for child in children.values():
        child.stop()


def _measure_tool(
    results: Results,
    arguments: argparse.Namespace,
    batches: Batches,
    tool: str,
    child: Child | None,
) -> None:
    if tool == "sqrl --label" and batches.source.label is None:
        return
    names = _names([tool])
    said = _said_before(results, names, batches.place)
    wanted = [
        one
        for one in batches.wanted(clean=arguments.clean, repeats=arguments.repeats)
        if said[0].lacks(one) and (not arguments.kinds or one.kind in arguments.kinds)
    ]
    made = [batch for batch in map(batches.make, wanted) if batch is not None]
    if not made:
        return
    print(f"{batches.place}, {tool}: {len(made)} batches", file=sys.stderr, flush=True)
    if child is not None:
        decisions = child.ask(batches, made)
    else:
        decisions = _ask(tool, batches, made, arguments.limit)
    saved = time.monotonic()
    for decision in decisions:
        place = results.tools[decision.tool].places[batches.place]
        place.count(decision.batch, decision.alarm, decision.seconds)
        if time.monotonic() - saved > SAVE_AFTER:
            results.save(arguments.output)
            saved = time.monotonic()
    for name in names:
        results.tools[name].conditions |= {
            "version": child.version if child is not None else describe_versions(LIBRARIES),
            **_conditions(),
        }
    results.save(arguments.output)


def _said_before(results: Results, names: Sequence[str], place: str) -> list[Place]:
    """Where each of a tool's decisions is counted."""
    found = []
    for name in names:
        measured = results.tools.setdefault(name, Measured(_conditions()))
        found.append(measured.places.setdefault(place, Place()))
    return found


def _conditions() -> Json:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": {key: value for key, value in describe_commit().items() if key != "rooms"},
        "code": _code(),
        "machine": describe_machine(),
        "load": round(os.getloadavg()[0], 1),
    }


def _code() -> str:
    """Tells one state of the product's code from another, whatever else was committed."""
    digest = hashlib.sha256()
    for path in sorted(Path(sqrl.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _ask(
    tool: str, batches: Batches, wanted: Sequence[Batch], limit: float | None
) -> Iterator[Decision]:
    """Decisions of a tool that lives in this process."""
    learned: dict[int, Tool] = {}
    started = time.monotonic()
    for batch in wanted:
        if limit and time.monotonic() - started > limit:
            return
        if batch.halving not in learned:
            reference = batches.reference(batch.halving)
            learned[batch.halving] = TOOLS[tool](reference, batches.source.label)
        start = time.perf_counter()
        alarm = learned[batch.halving](batch.rows)
        yield Decision(batch, tool, alarm, time.perf_counter() - start)


def lines(results: Results) -> Iterator[str]:
    """The results as a table: a line a kind, a column a tool."""
    for size in results.sizes():
        yield f"\n{size} rows{'':28}" + "".join(f"{tool[:14]:>16}" for tool in results.tools)
        for kind, must in results.kinds.items():
            cells = [tool.pooled(kind, (size,)) for tool in results.tools.values()]
            if any(cell.n for cell in cells):
                shares = [f"{100 * c.n_raised / c.n:16.0f}" if c.n else f"{'':16}" for c in cells]
                yield f"{'  ' if must else 'no alarm: '}{kind:36.36}{''.join(shares)}"
        means = [results.mean_power(tool, size) for tool in results.tools]
        yield f"{'mean over kinds':38}" + "".join(f"{100 * mean:16.1f}" for mean in means)


if __name__ == "__main__":
    main()
