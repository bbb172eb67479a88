"""How long a cluster takes for billions of rows, from constants that were measured on one machine.

A pass is simulated task by task: the driver starts one after the other, each core takes the next
when it is free, and a merging task follows every eight states, as in `_scan/engines/ray.py`. What a
pass costs a row, how many passes there are and what rows take on disk come from scale.json; what a
part costs beside its rows, the size of states and what a task costs the driver from scale_out.json.
"""

import heapq
from dataclasses import dataclass

from measure import Json
from sqrl._scan.engines.ray import FAN_IN


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes with so many cores, the network of each, and what goes wrong with some of them."""

    nodes: int
    cores: int
    bytes_a_second: float = 1.25e9  # of a node's network: 10 Gbit a second, an assumption
    slow_nodes: int = 0
    times_slower: float = 1.0
    lost_nodes: int = 0  # that end in the middle of a pass, once in each


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCost:
    """What one pass costs: seconds of a core for a part and a merge, bytes of a state."""

    part_seconds: float
    merge_seconds: float
    state_bytes: float
    driver_seconds: float  # for each task, one after the other


def forecast(scale: Json, out: Json, task: str, rows: int, part_rows: int, on: Cluster) -> Json:
    """Passes, bytes and seconds of `learn` or `check` over so many rows in parts of so many."""
    largest = max(scale["sections"][task]["runs"], key=lambda run: run["rows"])
    passes = largest["passes"] + more_passes(out, task)
    a_row = largest["cpu_seconds"] / largest["rows"] / largest["passes"]
    data = scale["data"]
    read = passes * rows * data["bytes"] / data["files"] / data["file_rows"]
    n_parts = -(-rows // part_rows)
    measured = out["constants"][task]
    per_pass = [
        PassCost(
            part_seconds=part_rows * a_row + measured["part_seconds"],
            merge_seconds=one["merge_seconds"],
            state_bytes=one["state_bytes"],
            driver_seconds=out["driver"]["seconds_a_task"],
        )
        for one in measured["passes"]
    ]
    # Passes that were not seen when states were measured cost what those seen cost on average.
    seconds = sum(simulate_pass(n_parts, cost, on) for cost in per_pass) / len(per_pass) * passes
    tasks = n_parts + n_merges(n_parts)
    states = sum(cost.state_bytes for cost in per_pass) / len(per_pass) * passes
    limits = {
        "reading and counting": passes * n_parts * per_pass[0].part_seconds / on.nodes / on.cores,
        "the driver": passes * tasks * per_pass[0].driver_seconds,
        "the network": tasks * states / on.nodes / on.bytes_a_second,
    }
    return {
        "task": task,
        "rows": rows,
        "parts": n_parts,
        "passes": passes,
        "read_bytes": read,
        "moved_bytes": tasks * states,
        "seconds": seconds,
        "alone": limits,
        "limit": max(limits, key=lambda name: limits[name]),
    }


def more_passes(out: Json, task: str) -> int:
    """How many passes more there are where rows are many times what memory holds, as tried out."""
    tried = {run["rows_a_gib"]: run["passes"] for run in out["passes"][task]}
    return max(0, int(tried[max(tried)] - tried[min(tried)]))


def n_merges(n_parts: int) -> int:
    """How many tasks merge the states of so many parts, eight at a time.

    >>> n_merges(64), n_merges(9), n_merges(1)
    (9, 2, 0)
    """
    merges = 0
    while n_parts > 1:
        some = min(FAN_IN, n_parts)
        n_parts, merges = n_parts - some + 1, merges + 1
    return merges


def simulate_pass(n_parts: int, cost: PassCost, on: Cluster) -> float:
    """Seconds until the states of all parts are merged into one.

    Slow nodes take longer for each task. Nodes that are lost in the middle of the pass do nothing
    from then on; that is noticed when a task of theirs should have been done, and it is done again.

    >>> cost = PassCost(part_seconds=1, merge_seconds=0, state_bytes=0, driver_seconds=0)
    >>> two_by_two = Cluster(nodes=2, cores=2)
    >>> simulate_pass(8, cost, two_by_two), simulate_pass(9, cost, two_by_two)
    (2.0, 3.0)
    >>> one_lost = Cluster(nodes=2, cores=2, lost_nodes=1)
    >>> simulate_pass(6, cost, two_by_two), simulate_pass(6, cost, one_lost)
    (2.0, 3.0)
    """
    lost_at = n_parts * cost.part_seconds / (2 * on.nodes * on.cores)
    free = [node for node in range(on.nodes) for _ in range(on.cores)]
    running: list[tuple[float, float, int, int]] = []  # when done and begun, the node, states
    waiting, ready, now, driver = n_parts, 0, 0.0, 0.0
    while waiting or running or ready > 1:
        while free and (waiting or ready >= FAN_IN or (ready > 1 and not running)):
            node = free.pop()
            if _is_lost(node, on) and max(now, driver) >= lost_at:
                continue
            n_states = min(FAN_IN, ready) if ready >= FAN_IN or not waiting else 0
            waiting, ready = waiting - (not n_states), ready - n_states
            driver = max(now, driver) + cost.driver_seconds
            seconds = cost.part_seconds
            if n_states:
                transfer = cost.state_bytes / on.bytes_a_second
                seconds = (n_states - 1) * cost.merge_seconds + n_states * transfer
            seconds *= on.times_slower if node < on.slow_nodes else 1.0
            heapq.heappush(running, (driver + seconds, driver, node, n_states))
        now, begun, node, n_states = heapq.heappop(running)
        if _is_lost(node, on) and begun < lost_at < now:
            waiting, ready = waiting + (not n_states), ready + n_states
        else:
            ready += 1
            free.append(node)
    return now


def _is_lost(node: int, on: Cluster) -> bool:
    return node >= on.nodes - on.lost_nodes
