"""The report as a person meets it: opened in Chromium, sorted, searched, read with the keyboard."""

import functools
import http.server
import threading

import pytest

import sqrl
from axe import serious_faults
from browser import (
    console,
    open_browser,
    requests,
    set_colours,
    set_computer,
    set_phone,
    settle,
    until,
)
from made_reports import (
    HOSTILE,
    check_detections,
    demo_detections,
    demo_rules,
    hostile_result,
    many_rules,
)
from sqrl.report import write_report


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def violations():
    return check_detections(demo_rules(), demo_detections(), with_probabilities=True)


@pytest.fixture(scope="module")
def page(violations, tmp_path_factory):
    """A report with everything in it: a reference, a comparison and two counts."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    before = sqrl.check(violations.rules, sqrl.demo_table(4096, seed=7))
    write_report(violations, path, compared=before, reference=sqrl.demo_table(6000))
    return path


@pytest.fixture
def opened(browser, page):
    """The report, freshly opened; afterwards nothing may be in the console nor have been asked."""
    set_computer(browser)
    console(browser), requests(browser)
    browser.get(page.as_uri())
    yield browser
    assert console(browser) == []
    assert requests(browser) == [page.as_uri()]


def texts(driver, selector):
    """The text of each element that is shown."""
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)", selector
    )


def click(driver, selector):
    driver.find_element("css selector", selector).click()


def press(driver, *keys):
    """Press keys as a person would, on what has the focus."""
    driver.switch_to.active_element.send_keys(*keys)


def column(driver, label):
    """A column of the table as numbers."""
    found = texts(driver, f'tr.rule td[data-label="{label}"]')
    return [float(text.split()[0].replace(",", "")) for text in found]


def sort_by(driver, label):
    driver.find_element("xpath", f"//th/button[text()='{label}']").click()


def test_the_page_shows_what_was_checked(opened, violations):
    """The summary is there without a click."""
    assert opened.title == "Rules checked on detector.csv"
    assert texts(opened, "h1") == ["Rules checked on detector.csv"]
    assert texts(opened, ".cards .big")[0] == f"{violations.n_significant}"
    assert len(texts(opened, "tr.rule")) == len(violations)
    assert "chance" in texts(opened, "#story")[0]
    assert texts(opened, "#overview svg") != []


def test_sorting_by_a_column_orders_the_rules_and_says_so(opened, violations):
    """First the largest, with a second click the smallest."""
    sort_by(opened, "Broken")
    down = column(opened, "Broken")
    said = opened.find_element("css selector", "[aria-sort]").get_attribute("aria-sort")
    sort_by(opened, "Broken")
    up = column(opened, "Broken")

    assert down == sorted(violations.broken.tolist(), reverse=True)
    assert up == down[::-1]
    assert said == "descending"


def test_rules_without_a_p_value_come_last_in_either_order(opened):
    """What is not known is neither small nor large."""
    for _ in range(2):
        sort_by(opened, "p-value")
        found = texts(opened, 'tr.rule td[data-label="p-value"]')
        assert found[-2:] == ["\u2013", "\u2013"]


def test_searching_keeps_the_rules_with_all_the_words(opened, violations):
    """In any case and in any order."""
    opened.find_element("id", "search").send_keys("BOTTOM pedestrian")
    found = texts(opened, ".open-rule")
    wanted = [t for t in violations.rules.texts() if "bottom" in t and "Pedestrian" in t]

    assert len(found) == len(wanted) > 0
    assert texts(opened, "#status") == [f"{len(wanted)} of {len(violations)} rules"]
    opened.find_element("id", "search").send_keys(" nothing like it")
    assert texts(opened, "tbody .empty") == ["No rule fits. Change the search or show all."]


def test_filters_show_rules_beyond_chance_or_broken(opened, violations):
    """Each says how many there are."""
    click(opened, "#filter label:nth-of-type(1)")
    assert set(texts(opened, "tr.rule .badge")) == {"beyond chance"}
    assert len(texts(opened, "tr.rule")) == violations.n_significant
    click(opened, "#filter label:nth-of-type(2)")
    assert len(texts(opened, "tr.rule")) == (violations.broken > 0).sum()
    click(opened, "#filter label:nth-of-type(3)")
    assert len(texts(opened, "tr.rule")) == len(violations)


def test_a_rule_is_opened_and_closed_with_the_keyboard(opened):
    """Tab to the first rule, down to the second, Enter."""
    from selenium.webdriver.common.keys import Keys

    opened.execute_script("document.querySelector('#head th:last-child button').focus()")
    press(opened, Keys.TAB)
    press(opened, Keys.ARROW_DOWN)
    row = "tr.rule:nth-of-type(2)"
    focused = opened.execute_script("return document.activeElement.closest('tr').rowIndex")
    outline = opened.switch_to.active_element.value_of_css_property("outline-style")
    press(opened, Keys.ENTER)

    assert focused == 2
    assert outline == "solid"
    button = opened.find_element("css selector", f"{row} .open-rule")
    assert button.get_attribute("aria-expanded") == "true"
    assert len(texts(opened, "tr.detail .sentence")) == 1
    press(opened, Keys.ENTER)
    assert button.get_attribute("aria-expanded") == "false"
    assert texts(opened, "tr.detail") == []


def test_an_opened_rule_has_its_sentence_drawing_numbers_and_rows(opened, violations):
    """All four, for every rule there is; only mini-batch rules and unbroken ones have no rows."""
    rule = int(violations.worst()[0])
    click(opened, f'tr[data-rule="{rule}"] .open-rule')
    sentence = texts(opened, ".sentence")[0]

    assert " ".join(sentence.split()) == violations.rules[rule].text
    opened.execute_script(
        "document.querySelectorAll('tr.rule:not(.open) .open-rule').forEach((one) => one.click())"
    )
    assert len(texts(opened, "tr.detail")) == len(violations)
    assert len(texts(opened, "tr.detail .facts")) == len(violations)
    without = "return document.querySelectorAll('tr.detail:not(:has(svg))').length"
    assert opened.execute_script(without) == 0
    with_rows = sum(violations.rows_of(index)[0].size > 0 for index in range(len(violations)))
    assert len(texts(opened, "tr.detail .scroll table")) == with_rows
    assert not any("null" in t or "NaN" in t or "undefined" in t for t in texts(opened, "main"))
    numbers = opened.execute_script("return document.querySelector('main').innerHTML")
    assert "NaN" not in numbers


def test_a_rule_about_a_class_has_rows_but_no_distance(opened, violations):
    """A class is right or wrong, not far out."""
    kinds = [violations.rules.form(index).kind for index in range(len(violations))]
    rule = kinds.index("class")
    click(opened, f'tr[data-rule="{rule}"] .open-rule')
    heads = texts(opened, "tr.detail .scroll th")

    assert heads[:2] == ["Row", "right"]
    assert "Outside by" not in heads
    assert f"5 rows that break it, of {violations.broken[rule]:,}" in texts(opened, "tr.detail h3")


def test_before_and_after_stand_side_by_side(opened, violations):
    """Two counts, the difference, and a bar for each."""
    rule = int(violations.worst()[0])
    click(opened, f'tr[data-rule="{rule}"] .open-rule')

    assert len(texts(opened, "tr.detail .pair .bar")) == 2
    assert "percentage points" in texts(opened, "tr.detail")[0]
    sort_by(opened, "Change")
    change = texts(opened, 'tr.rule td[data-label="Change"]')
    assert change[0].startswith("+")


def test_the_button_changes_the_colours(opened):
    """From what the system prefers to the other, and back."""
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = opened.execute_script(colour)
    click(opened, "#theme")
    dark = opened.execute_script(colour)
    click(opened, "#theme")

    assert light != dark
    assert opened.execute_script(colour) == light


def test_axe_finds_no_serious_fault(opened):
    """With a rule opened, in light and dark."""
    click(opened, "#body .open-rule")

    assert serious_faults(opened) == []


def test_dark_is_shown_where_the_system_prefers_it(browser, page):
    """Without a click."""
    set_colours(browser, "dark")
    browser.get(page.as_uri())
    red, *_ = browser.execute_script(
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )

    assert red < 60
    assert texts(browser, "#theme") == ["Light"]
    set_colours(browser, "light")


def test_a_phone_needs_no_sideways_scrolling(browser, page):
    """Also not with a rule open."""
    set_phone(browser)
    browser.get(page.as_uri())
    click(browser, "tr.rule .open-rule")
    wide, room = browser.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )

    assert wide <= room == 390
    assert (
        browser.execute_script("return getComputedStyle(document.querySelector('tr.rule')).display")
        == "block"
    )
    set_computer(browser)


def test_hostile_strings_are_shown_and_nothing_runs(browser, tmp_path):
    """Markup in names, categories and values is text; no dialog, no request, no marker."""
    path = tmp_path / "report.html"
    result = hostile_result()
    write_report(result, path, title=HOSTILE[1], explanation=HOSTILE[0], compared=result)
    console(browser), requests(browser)
    browser.get(path.as_uri())
    browser.execute_script("document.querySelectorAll('.open-rule').forEach((one) => one.click())")
    settle(browser)

    assert browser.execute_script("return typeof window.hasRun") == "undefined"
    assert browser.title == HOSTILE[1]
    assert HOSTILE[0] in texts(browser, "main")[0]
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelectorAll('img, a[href^=j]').length") == 0
    assert console(browser) == []
    assert requests(browser) == [path.as_uri()]


def test_a_script_put_into_the_page_is_stopped_by_its_policy(browser, page):
    """A second fence: even markup that got through would not run."""
    browser.get(page.as_uri())
    browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"hasRun = 1\">');"
        "const made = document.createElement('script'); made.textContent = 'window.hasRun = 1';"
        "document.body.append(made)"
    )
    settle(browser)

    assert browser.execute_script("return typeof window.hasRun") == "undefined"
    assert any("Content Security Policy" in line for line in console(browser))


def test_served_over_http_the_page_asks_for_nothing(browser, page):
    """Also not for an icon: reports are put on servers of build systems."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        asked: list[str] = []  # noqa: RUF012  (the server makes a handler for each request)

        def log_message(self, *_):
            self.asked.append(self.path)

    handler = functools.partial(Quiet, directory=str(page.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        console(browser)
        browser.get(f"http://127.0.0.1:{server.server_address[1]}/report.html")
        settle(browser)
        server.shutdown()

    assert Quiet.asked == ["/report.html"]
    assert console(browser) == []


def test_ten_thousand_rules_open_as_a_page_of_a_few_thousand_elements(browser, tmp_path):
    """What is not looked at is not made, neither when the page opens nor by a search."""
    path = tmp_path / "report.html"
    write_report(many_rules(), path)
    browser.get("about:blank")
    browser.get(path.as_uri())
    count = "return document.querySelectorAll('*').length"
    opened = browser.execute_script(count)
    browser.execute_script(
        "const box = document.getElementById('search');"
        "box.value = 'kind_3 measurement_42'; box.dispatchEvent(new Event('input'))"
    )
    settle(browser)

    assert 0 < len(texts(browser, "tr.rule")) <= 100
    assert opened < 5000
    assert browser.execute_script(count) < 5000


def test_more_rules_are_made_as_one_scrolls(browser, tmp_path):
    """And with the button, for those who do not scroll."""
    path = tmp_path / "report.html"
    write_report(many_rules(1000, 500), path)
    browser.get(path.as_uri())
    first = len(texts(browser, "tr.rule"))
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    until(lambda: len(texts(browser, "tr.rule")) > first)
    second = len(texts(browser, "tr.rule"))
    browser.execute_script("document.getElementById('more').click()")

    assert first == 100
    assert second > first
    assert len(texts(browser, "tr.rule")) > second


def test_a_waived_rule_says_so(browser, violations, tmp_path):
    """With until when, by whom and why, once it is opened."""
    rules = violations.rules
    one = rules.ids()[int(violations.worst(1)[0])]
    rules = rules.waive(one, until="2999-12-31", by="Ann", why="new camera")
    path = tmp_path / "report.html"
    write_report(check_detections(rules, demo_detections()), path)
    set_computer(browser)
    console(browser)
    browser.get(path.as_uri())
    browser.execute_script(
        "const rows = [...document.querySelectorAll('tr.rule')];"
        "rows.find((one) => one.innerText.includes('waived')).querySelector('.open-rule').click()"
    )

    assert "and waived until 2999-12-31 by Ann: new camera" in texts(browser, ".result")[0]
    assert console(browser) == []
