"""Make docs/images/report*.png from made-up data: python docs/make_screenshot.py."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import sqrl
from sqrl.report import write_report

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from browser import open_browser, set_colours, set_phone  # type: ignore[import-not-found]  # noqa: E402
from made_reports import check_detections, demo_detections, demo_rules  # type: ignore[import-not-found]  # noqa: E402


def make_screenshots(folder: Path) -> None:
    """Write the report of a made-up detector as a computer and as a phone show it."""
    violations = check_detections(demo_rules(), demo_detections())
    with tempfile.TemporaryDirectory() as made, open_browser(1280, 1750) as driver:
        page = Path(made, "report.html")
        write_report(violations, page, reference=sqrl.demo_table(6000))
        _shoot(driver, page, folder / "report.png")
        set_phone(driver, height=1400)
        set_colours(driver, "dark")
        _shoot(driver, page, folder / "report-phone.png")


def _shoot(driver: Any, page: Path, image: Path) -> None:
    """Open the page and a rule: on a computer the first, on a phone the first in pieces."""
    driver.get(page.as_uri())
    driver.execute_script(
        "const isPhone = innerWidth < 600, rows = [...document.querySelectorAll('tr.rule')];"
        "const row = rows.find((one) => !isPhone || one.innerText.includes(' else '));"
        "row.querySelector('.open-rule').click();"
        "if (isPhone) row.scrollIntoView()"
    )
    driver.save_screenshot(str(image))


if __name__ == "__main__":
    (DOCS / "images").mkdir(exist_ok=True)
    make_screenshots(DOCS / "images")
