"""How quick the review page is with many rules: python benchmarks/review_page.py [N].

Writes benchmarks/results/review_page.json: milliseconds until the page is drawn, until a decision
is saved, and frames a second while a bound is dragged, in headless Chromium.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import describe_run

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from browser import open_browser, until  # type: ignore[import-not-found]  # noqa: E402
from made_review import many_row_rules, serving  # type: ignore[import-not-found]  # noqa: E402

TIMES = 5
DRAWN = "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
DRAG = """
const done = arguments[arguments.length - 1], start = performance.now();
const low = review.state.opened.lower;
let frames = 0;
function tick() {
  review.setEnd("lower", low + (frames % 50) * 0.3);
  frames += 1;
  if (performance.now() - start < 2000) requestAnimationFrame(tick); else done(frames / 2);
}
requestAnimationFrame(tick);
"""


def measure(n_rules: int) -> dict[str, Any]:
    """What a person waits for."""
    with tempfile.TemporaryDirectory() as made, open_browser() as driver:
        path = Path(made, "rules.json")
        many_row_rules(n_rules).save(path)
        with serving(path) as server:
            drawn = []
            for _ in range(TIMES):
                driver.get(server.address)
                until(lambda: driver.execute_script("return review.state.opened !== null"))
                drawn.append(driver.execute_script(DRAWN))
            frames = driver.execute_async_script(DRAG)
            start = time.perf_counter()
            driver.switch_to.active_element.send_keys("\ue00c", "a")
            until(lambda: "saved" in driver.find_element("id", "said").text)
            saved = 1000 * (time.perf_counter() - start)
    return {
        **describe_run(("sqrl-rules", "selenium"), seed=0),
        "rules": n_rules,
        "drawn_ms": [round(one) for one in drawn],
        "saved_ms": round(saved),
        "frames_a_second": frames,
    }


if __name__ == "__main__":
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    (ROOT / "benchmarks" / "results" / "review_page.json").write_text(
        json.dumps(found, indent=1) + "\n"
    )
    print(found)
