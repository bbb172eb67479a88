"""What the page of histories says of kills, cost and alarms is what was measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "history.md").read_text().replace("\n", " ")


def result(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def test_the_kills_were_as_the_page_says():
    """A hundred moments, and nothing lost."""
    found = result("history_kills")

    assert found["faults"] == []
    assert f"killed a writer at {found['kills']} random moments: nothing was lost" in PAGE


def test_the_cost_is_as_the_page_says():
    """A ratio of CPU time, which other work on the machine does not change."""
    found = result("history_cost")
    ratio, size = found["cpu"]["ratio"], found["history_bytes"]

    assert (found["rows"], found["rules"], found["windows"]) == (1_000_000, 300, 365)
    assert f"takes {ratio:.1f} times what it takes without" in PAGE
    assert f"a year of 300 rules is {size / 1e6:.0f} MB" in PAGE


def test_false_alarms_and_days_are_as_the_page_says():
    """Those of the detector, beside daily tests."""
    rendered = (ROOT / "docs" / "history-results.md").read_text()
    rows = [line.split("|")[1:-1] for line in rendered.splitlines() if line.startswith("|")]
    cells = {cell[0].strip(): [one.split()[0] for one in cell[1:]] for cell in rows[2:4]}
    found = [cell for cell in rows if cell[0].strip() in cells][2:4]

    assert f"there were {cells['history'][0]} false alarms a year" in PAGE
    days = [cell[1].split()[0] for cell in found]
    assert f"is found on day {days[0]}, by daily tests at the same promise on day {days[1]}" in PAGE
