"""Make the pictures of pages in docs/images from made-up data: python docs/make_screenshot.py."""

import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import sqrl
from sqrl.report import write_report
from sqrl.report._text_demo import run_demo

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "helpers"))

from browser import open_browser, set_colours, set_phone, settle, until  # type: ignore[import-not-found]  # noqa: E402
from made_reports import (  # type: ignore[import-not-found]  # noqa: E402
    check_detections,
    demo_detections,
    demo_rules,
    plain_columns,
)
from made_review import serving, ward_rules  # type: ignore[import-not-found]  # noqa: E402

FIRST, N_DAYS, LOWER_FROM = date(2026, 9, 18), 60, 48


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


def make_demo_screenshot(folder: Path) -> None:
    """Write the page of `sqrl demo`, with the rule that is broken most beyond chance opened."""
    story = run_demo()
    with tempfile.TemporaryDirectory() as made, open_browser(1280, 1500) as driver:
        page = Path(made, "sqrl-demo.html")
        write_report(story.slipped, page, reference=story.people)
        _shoot(driver, page, folder / "demo.png")


def make_history_screenshots(folder: Path) -> None:
    """Write the history of a camera that slowly tilts, as a computer and as a phone show it."""
    with tempfile.TemporaryDirectory() as made, open_browser(1280, 1500) as driver:
        history = sqrl.History(Path(made, "camera"))
        rules = sqrl.learn(sqrl.demo_table())
        for day in range(N_DAYS):
            at = FIRST + timedelta(day)
            history.add(sqrl.check(rules, _boxes_of_a_day(day)), at=at)
        rule = history.timeline().ids[-1]
        history.waive(rule, until=FIRST + timedelta(20), why="the new lens was being set up")
        page = Path(made, "history.html")
        write_report(history, page)
        driver.get(page.as_uri())
        driver.save_screenshot(str(folder / "history.png"))
        set_phone(driver, width=400, height=1000)
        set_colours(driver, "dark")
        driver.get(page.as_uri())
        driver.execute_script("document.getElementById('rules').scrollIntoView()")
        driver.save_screenshot(str(folder / "history-phone.png"))


def _boxes_of_a_day(day: int) -> sqrl.Table:
    """A few hundred boxes; from one day on those in the frame are a little lower every day."""
    columns = plain_columns(sqrl.demo_table(400, seed=1000 + day))
    lower = 1.5 * max(0, day - LOWER_FROM)
    return sqrl.as_table(columns | {"bottom": columns["bottom"] + lower}, source=f"day {day}")


def make_review_screenshot(folder: Path) -> None:
    """Write the review page with some rules decided about, and a bound on the move."""
    rules = ward_rules()
    one, _, two, three = rules.ids()[:4]
    rules = rules.accept(one, by="Ann", why="all ages of the ward")
    rules = rules.reject(two, by="Bo", why="two kinds of thermometers")
    rules = rules.waive(three, until="2999-12-31", by="Bo", why="new laboratory")
    with tempfile.TemporaryDirectory() as made, open_browser(1280, 1000) as driver:
        path = Path(made, "rules.json")
        rules.save(path)
        with serving(path) as server:
            driver.get(server.address)
            until(
                lambda: driver.execute_script("return Boolean(document.querySelector('#beyond'))")
            )
            driver.switch_to.active_element.send_keys("j")
            until(lambda: rules.ids()[1] in driver.find_element("id", "detail-title").text)
            driver.execute_script(
                "review.setEnd('upper', 105); document.getElementById('handle-upper').focus();"
                "scrollTo(0, 0)"
            )
            until(lambda: "above" in driver.find_element("id", "beyond").text)
            driver.save_screenshot(str(folder / "review.png"))


def make_site_screenshot(folder: Path) -> None:
    """Write the start page of the site, which `make site` has built."""
    with open_browser(1280, 1000) as driver:
        set_colours(driver, "light")
        driver.get((DOCS.parent / "site" / "index.html").as_uri())
        driver.execute_script("document.documentElement.style.scrollbarWidth = 'none'")
        settle(driver)
        driver.save_screenshot(str(folder / "site.png"))


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
    makers = {
        "demo": make_demo_screenshot,
        "report": make_screenshots,
        "history": make_history_screenshots,
        "review": make_review_screenshot,
        "site": make_site_screenshot,
    }
    for name in sys.argv[1:] or makers:
        makers[name](DOCS / "images")
