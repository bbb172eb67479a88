"""docs/reliability.md says what its results say, and these hold."""

import json
from pathlib import Path

from rendered import render

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def test_the_page_of_reliability_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    page, copy = ROOT / "docs" / "reliability.md", tmp_path / "page.md"
    copy.write_text(page.read_text())
    render("render_reliability", "--page", copy)

    assert copy.read_text() == page.read_text()


def test_nothing_was_found_that_is_not_mended():
    """A finding that stays is a promise that does not hold."""
    fuzz, kills = result("fuzz"), result("kills")

    assert [one for each in fuzz["targets"].values() for one in each["findings"]] == []
    assert kills["faults"] == []
    assert kills["runs"] >= 500
    assert fuzz["limits"] == {"cpu_seconds": 10, "bytes": 2 << 30}


def test_limits_on_the_page_are_those_of_the_code():
    """They are written once more for people to read."""
    from sqrl._data.draws import MOST_DRAWN
    from sqrl._data.formats import MAX_BYTES
    from sqrl._data.formats.boxes.label_files import MOST_IN_FILE, MOST_LINES
    from sqrl._data.formats.json_faults import MOST_DEPTH
    from sqrl._data.formats.json_lines import BLOCK_BYTES
    from sqrl._language.parser import DEEPEST_SENTENCE
    from sqrl._rules.files import LARGEST_JSON, LARGEST_PARQUET, MOST_RULES
    from sqrl._rules.schema import LARGEST_SCHEMA, LONGEST_CHAIN, MOST_CUTS

    text = (ROOT / "docs" / "reliability.md").read_text()
    for line in (
        f"| {MAX_BYTES >> 30} GiB, packed or not",
        f"| {BLOCK_BYTES >> 20} MiB, and {MOST_DEPTH} lists and objects",
        f"| {LARGEST_JSON >> 30} GiB of JSON; {LARGEST_PARQUET >> 30} GiB unpacked and"
        f" {MOST_RULES // 10**6} million rules",
        f"| {LARGEST_SCHEMA // 10**6} MB; {MOST_CUTS:,} buckets; {LONGEST_CHAIN} statistics",
        f"| {DEEPEST_SENTENCE} levels |",
        f"| {MOST_DRAWN:,} rows in all |",
        f"| {MOST_IN_FILE >> 20} MiB and {MOST_LINES:,} lines an image |",
    ):
        assert line in text
