"""The benchmark of scale runs on a few rows, and its page says what its results say."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scale_rules
import sqrl
from rendered import render

pytest.importorskip("duckdb", reason="needs the extra 'bench'")
pytest.importorskip("polars", reason="needs the extra 'frames'")
pytest.importorskip("sqlglot", reason="needs the extra 'export'")

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results" / "scale.json"
SECTIONS = {"learn", "check", "memory", "duckdb", "polars", "ray", "spark"}


@pytest.fixture(scope="module", autouse=True)
def _benchmarks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two small files of boxes."""
    from scale_data import Sizes, write_files

    return write_files(tmp_path_factory.mktemp("boxes"), 20_000, Sizes(10_000, 5000), seed=0)


@pytest.fixture(scope="module")
def small(_slowly, tmp_path_factory, files):
    """The results of a run over few rows, and their file."""
    path = tmp_path_factory.mktemp("scale") / "scale.json"
    options = ("--data", files[0].parent, "--rows", "0.02", "--file-rows", "10000")
    done = run("scale.py", *options, "--only", "learn,check,duckdb,polars", "-o", path)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()), path


def test_boxes_depend_on_the_seed_and_the_block_alone():
    """Anyone can make the same rows."""
    from scale_data import KINDS, boxes

    one = boxes(3000, seed=0, block=1)

    assert one.equals(boxes(3000, seed=0, block=1))
    assert not one.equals(boxes(3000, seed=0, block=2))
    assert not one.equals(boxes(3000, seed=1, block=1))
    assert set(one["type"].to_pylist()) == set(KINDS)
    assert {str(one[side].type) for side in ("left", "top", "right", "bottom")} == {"float"}


def test_files_without_room_are_refused_before_they_are_begun(tmp_path):
    """A full disk is found out at once."""
    from scale_data import Sizes, write_files

    with pytest.raises(SystemExit, match="give another folder with --data"):
        write_files(tmp_path, 10**15, Sizes(10**15, 10**15), seed=0)
    assert not list(tmp_path.iterdir())


def test_a_run_tells_time_memory_and_passes_of_each_task(small):
    """All that the bars are about."""
    results, path = small
    runs = [results["sections"][name]["runs"][0] for name in ("learn", "check")]

    assert set(results["sections"]) == {"learn", "check", "duckdb", "polars"}
    assert {"date", "commit", "machine", "versions", "seed", "rows", "data"} <= set(results)
    for one in runs:
        assert one["rows"] == 20_000
        assert one["seconds"] > 0
        assert one["passes"] >= 2
        assert 2**25 < one["peak"] < 2**31
    assert runs[0]["rules"] == 252
    assert str(path.parent) not in path.read_text()


def test_duckdb_finds_the_same(small):
    """Every count, and every quantile but for the last bit of interpolation."""
    section = small[0]["sections"]["duckdb"]

    assert [one["is_equal"] for one in section["check"] + section["export"]] == [True, True]
    assert section["learn"][0]["values"] == 42 * 2 + 210 * (4 * 2 + 3)
    assert section["learn"][0]["largest_difference"] < 1e-15


def test_polars_finds_the_same(small):
    """Every count and every quantile."""
    section = small[0]["sections"]["polars"]

    assert [one["is_equal"] for one in section["check"]] == [True]
    assert section["learn"][0]["values"] == 42 * 2 + 210 * (4 * 2 + 3)
    assert section["learn"][0]["largest_difference"] < 1e-15


def test_a_statistic_that_is_missing_breaks_no_rule_by_polars(tmp_path):
    """A box without height has no aspect ratio, in no query."""
    import scale_duckdb
    import scale_polars
    from scale_data import boxes

    table = boxes(20_000, seed=0, block=0)
    flat = [top if place % 9 == 0 else bottom for place, (top, bottom) in enumerate(_ends(table))]
    table = table.set_column(4, "bottom", pa.array(flat, pa.float32()))
    path = tmp_path / "boxes.parquet"
    pq.write_table(table, path)
    rules = sqrl.learn(str(path), "detection")
    connection = scale_duckdb.connect([str(path)], tmp_path, memory=2**30, threads=1)
    lazy = scale_polars.boxes([str(path)])

    assert scale_polars.counts(lazy, rules) == scale_duckdb.counts(connection, rules)
    assert max(scale_rules.differences(rules, *scale_polars.bounds(lazy))) < 1e-12


def _ends(table):
    return zip(table["top"].to_pylist(), table["bottom"].to_pylist(), strict=True)


def test_polars_that_wants_more_memory_than_it_may_have_has_failed(files, tmp_path, monkeypatch):
    """The larger sizes and the other libraries are measured nevertheless."""
    import scale_bench
    from scale_data import Sizes

    monkeypatch.setitem(scale_bench.MEMORIES, "polars", 2**20)
    bench = scale_bench.Bench(files, [20_000], Sizes(10_000, 5000), tmp_path, dict)
    sqrl.learn([str(path) for path in files], "detection").save(bench.rules(20_000))
    run = bench.run("learn", "polars", 20_000, rules=bench.rules(20_000))

    assert run["rows"] == 20_000
    assert run["failed"] == "took more than 0.000977 GiB of memory"
    assert run["peak"] > 2**20


def test_one_statistic_a_query_gives_the_same_bounds(files, tmp_path):
    """What DuckDB is asked where memory is short is the same work."""
    import scale_duckdb

    names = [str(path) for path in files]
    connection = scale_duckdb.connect(names, tmp_path, memory=2**30, threads=1)
    at_once = scale_duckdb.bounds(connection, at_once=True)
    one_by_one = scale_duckdb.bounds(connection, at_once=False)

    assert at_once == one_by_one
    assert (len(at_once[0]), len(at_once[1])) == (42, 210)


def test_rules_that_differ_in_a_bit_have_another_digest(files):
    """Equal says something."""
    from scale_child import digest_of_rules

    rules = sqrl.learn(str(files[0]), "detection")
    others = sqrl.learn(str(files[1]), "detection")

    assert digest_of_rules(rules) == digest_of_rules(sqrl.learn(str(files[0]), "detection"))
    assert digest_of_rules(rules) != digest_of_rules(others)


@pytest.mark.parametrize(
    ("peak", "seconds", "met"),
    [
        (2**30, 130.0, [True, True, True]),
        (2**31 + 2**28, 130.0, [False, False, True]),
        (2**30, 131.0, [True, True, False]),
    ],
)
def test_bars_are_about_peak_growth_of_it_and_time(peak, seconds, met):
    """2 GiB; at most 1.3 times as much memory, and 13 times as much time, for 10 times the rows."""
    from scale import growth_bars

    few = {"rows": 10, "peak": 2**30, "seconds": 10.0}
    many = {"rows": 100, "peak": peak, "seconds": seconds}

    assert [one["met"] for one in growth_bars("learn", [few, many])] == met


def test_bars_beside_duckdb_are_about_the_way_that_it_finishes_soonest():
    """0.6 of its time, and nothing where it fails."""
    from scale import share_bars

    section = {
        "learn": [
            {"rows": 10, "seconds": 10.0},
            {"rows": 20, "failed": "Out of memory", "seconds": 1.0},
            {"rows": 20, "seconds": 30.0},
            {"rows": 50, "failed": "not done"},
        ],
        "check": [{"rows": 10, "seconds": 4.0}],
    }
    ours = {
        "learn": {n: {"seconds": s} for n, s in ((10, 6.0), (20, 19.0), (50, 40.0))},
        "check": {10: {"seconds": 5.0}},
    }
    bars = share_bars(section, ours)

    assert [one["what"] for one in bars] == [
        "learn: time of 10 rows over DuckDB's",
        "learn: time of 20 rows over DuckDB's",
        "check: time of 10 rows over DuckDB's",
    ]
    assert [one["met"] for one in bars] == [True, False, False]


def test_a_section_that_fails_leaves_the_others_be(files, tmp_path, monkeypatch):
    """A run of hours loses one section, and says which."""
    import scale
    from scale_data import Sizes

    def fail(_):
        raise RuntimeError("scale_child.py failed: no cluster")

    works = {"ray": fail, "spark": lambda bench: bench.save("spark", {"learn": {}})}
    monkeypatch.setattr(scale, "SECTIONS", works)
    monkeypatch.setattr(scale, "warm_up", lambda _: None)
    path = tmp_path / "scale.json"

    with pytest.raises(SystemExit, match="not measured to the end: ray"):
        scale.measure(files[0].parent, path, [20_000], Sizes(10_000, 5000), [])
    assert set(json.loads(path.read_text())["sections"]) == {"spark"}


def test_rows_that_are_no_whole_files_are_refused(tmp_path):
    """The first so many rows are the first files."""
    done = run("scale.py", "--rows", "0.003", "--file-rows", "2000", "--data", tmp_path)

    assert done.returncode == 1
    assert "Rows come in files of 2,000" in done.stderr


def test_the_page_shows_what_was_measured(small, tmp_path):
    """With sections missing it is still a page."""
    render("render_scale", "--results", small[1], "--docs", tmp_path)
    page = (tmp_path / "scale-results.md").read_text()

    assert "learn, 20,000 rows" in page
    assert "DuckDB: counts of all 252 rules equal ours exactly in 2 of 2 runs." in page
    assert "polars: counts of all 252 rules equal ours exactly in 1 of 1 runs." in page
    assert "## Beside DuckDB and polars" in page
    assert "Spark |" not in page


def test_the_page_is_what_the_results_say(tmp_path):
    """docs/scale-results.md is never edited by hand, and shows every section of a full run."""
    results = json.loads(RESULTS.read_text())
    render("render_scale", "--docs", tmp_path)

    written = (tmp_path / "scale-results.md").read_text()
    assert written == (ROOT / "docs" / "scale-results.md").read_text()
    assert set(results["sections"]) | {"polars"} == SECTIONS  # which was measured later
    assert max(results["rows"]) == 100_000_000
