"""What pages say of the review page's speed is what was measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_speed_of_the_page_is_as_the_pages_say():
    """A fifth of a second, more than 50 frames a second, and what the decision says."""
    found = json.loads((ROOT / "benchmarks" / "results" / "review_page.json").read_text())
    page, decision = (
        " ".join((ROOT / "docs" / name).read_text().split())
        for name in ("review.md", "decisions/0029-decisions-of-people.md")
    )
    drawn = [ms / 1000 for ms in found["drawn_ms"]]

    assert max(drawn) <= 0.2
    assert found["frames_a_second"] > 50
    assert f"With {found['rules']:,} rules the page is there in a fifth of a second" in page
    assert f"the page is drawn in {min(drawn):.1f} to {max(drawn):.1f} s" in decision
    assert f"a decision saved in {found['saved_ms'] / 1000:.1f} s" in decision
    assert f"a drag drawn at {int(found['frames_a_second'])} frames a second" in decision
