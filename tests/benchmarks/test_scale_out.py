"""The forecast for a cluster: its simulation by hand, its page, and scans that are disturbed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"


@pytest.fixture(scope="module", autouse=True)
def _benchmarks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield


@pytest.fixture(scope="module")
def results():
    """What was measured: of scale, and of what a cluster's time is made of."""
    names = ("scale.json", "scale_out.json")
    return tuple(json.loads((RESULTS / name).read_text()) for name in names)


def cost(**changed):
    from scale_model import PassCost

    nothing = {"part_seconds": 0.0, "merge_seconds": 0.0, "state_bytes": 0, "driver_seconds": 0.0}
    return PassCost(**(nothing | changed))


def seconds(n_parts, a_pass, **cluster):
    from scale_model import Cluster, simulate_pass

    return simulate_pass(n_parts, a_pass, Cluster(**({"nodes": 1, "cores": 1} | cluster)))


def test_parts_are_shared_out_to_cores():
    """Ten parts of a second each on four cores are three rounds."""
    assert seconds(10, cost(part_seconds=1.0), nodes=2, cores=2) == 3.0


def test_the_driver_starts_one_task_after_the_other():
    """Nine parts, and two merges of eight and of two states, on more cores than that."""
    assert seconds(9, cost(driver_seconds=1.0), nodes=100) == pytest.approx(11.0)


def test_states_are_merged_eight_at_a_time():
    """Seven merges of eight states, each of which has to be fetched first."""
    merging = cost(part_seconds=1.0, merge_seconds=0.5, state_bytes=100)

    assert seconds(8, merging, nodes=8, bytes_a_second=100.0) == 1.0 + 7 * 0.5 + 8 * 1.0


def test_a_slow_node_delays_the_pass_by_what_it_is_at():
    """Of four parts on two nodes the slow one has one, the other three."""
    slow = {"slow_nodes": 1, "times_slower": 3.0}

    assert seconds(4, cost(part_seconds=1.0), nodes=2, **slow) == 3.0


def test_what_a_lost_node_was_at_is_done_again():
    """It is lost at half a second of two parts, and one is left to do both one after the other."""
    assert seconds(2, cost(part_seconds=1.0), nodes=2, lost_nodes=1) == 2.0


def test_merges_are_counted_as_the_engine_makes_them():
    """Eight become one; a hundred need fifteen tasks."""
    from scale_model import n_merges

    assert [n_merges(n) for n in (1, 2, 8, 9, 15, 100)] == [0, 1, 1, 2, 2, 15]


def test_a_forecast_is_made_of_the_constants(results):
    """Bytes read by hand; the time is at least what each limit takes alone."""
    from scale_model import Cluster, forecast

    scale, out = results
    one = forecast(scale, out, "check", 10**9, 10**6, Cluster(nodes=8, cores=4))
    largest = max(scale["sections"]["check"]["runs"], key=lambda run: run["rows"])
    data = scale["data"]

    assert one["parts"] == 1000
    assert one["passes"] >= largest["passes"]
    a_row = data["bytes"] / (data["files"] * data["file_rows"])
    assert one["read_bytes"] == pytest.approx(one["passes"] * 1e9 * a_row)
    assert one["seconds"] >= one["alone"]["reading and counting"] * 0.999
    assert one["seconds"] >= one["alone"]["the driver"] * 0.999


def test_the_page_says_what_the_results_say(results):
    """Run benchmarks/render_scale_out.py where it does not."""
    from measure import put_between
    from render_scale_out import BEGIN, END, render

    page = (ROOT / "docs" / "scale.md").read_text()

    assert put_between(page, BEGIN, END, render(*results)) == page


def test_disturbed_scans_gave_the_same_bits(results):
    """As recorded, of many parts, some slow, some with their worker killed."""
    _, out = results

    assert out["commit"]["dirty"] is False
    for runs in out["disturbed"].values():
        assert len(runs) == 4
        assert len({run["digest"] for run in runs}) == 1
    assert out["disturbed"].keys() == {"learn", "check"}


def test_slow_parts_change_nothing():
    """The local engine, with parts that are made when they are read."""
    from scale_out import QUICK, MadePart, _engine, work

    n_parts, part_rows = QUICK.small
    parts = [MadePart(block, part_rows) for block in range(n_parts // 4)]
    slow = [MadePart(p.block, p.n_rows, seconds=0.02 * (p.block % 4 == 0)) for p in parts]

    assert work("learn", _engine("local", parts), None) == work(
        "learn", _engine("local", slow), None
    )


@pytest.mark.usefixtures("_slowly")
def test_the_whole_benchmark_runs(tmp_path):
    """On few small parts, with Ray."""
    pytest.importorskip("ray", reason="needs the extra 'ray'")
    path = tmp_path / "scale_out.json"
    command = [sys.executable, BENCHMARKS / "scale_out.py", "--quick", "-o", path]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads(path.read_text())

    assert all(run["is_equal"] for runs in found["disturbed"].values() for run in runs)
