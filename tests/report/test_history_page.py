"""The page of a history as a person meets it: opened in Chromium, searched, on a phone."""

import json
import re

import pytest
from msgspec.structs import replace

from axe import serious_faults
from browser import (
    console,
    open_browser,
    requests,
    set_colours,
    set_computer,
    set_phone,
    settle,
)
from made_histories import made_history, made_record
from made_reports import HOSTILE
from sqrl._history.history import History
from sqrl._history.store import Store
from sqrl.errors import OutputError
from sqrl.report import write_report
from sqrl.report._history_contents import history_contents


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A history with an alarm, an accepted window and a waiver."""
    made = made_history(tmp_path_factory.mktemp("page") / "kept")
    made.store.change(lambda now: replace(now, accepted=("2026-01-02",)))
    made.waive("00000001", until="2026-01-05", why="known")
    return made


@pytest.fixture
def opened(browser, history, tmp_path):
    """The page, freshly opened; afterwards nothing may be in the console nor have been asked."""
    path = tmp_path / "history.html"
    write_report(history, path)
    set_computer(browser)
    console(browser), requests(browser)
    browser.get(path.as_uri())
    yield browser
    assert console(browser) == []
    assert requests(browser) == [path.as_uri()]


def texts(driver, selector):
    """The text of each element that is shown."""
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)", selector
    )


def test_the_page_shows_alarms_decisions_and_a_drawing_for_each_rule(opened):
    """Without a click."""
    assert opened.title == "Checks over time: kept"
    assert texts(opened, "#findings-title") == ["1 alarm"]
    assert texts(opened, ".cards .big")[:2] == ["12", "1"]
    accepted, waived = texts(opened, "#decisions-list li")
    assert accepted == "Window 2026-01-02 was accepted: it is part of the baseline."
    assert waived.startswith("00000001 is waived until 2026-01-05: known")
    assert texts(opened, ".multiple h3") == ["alarm\n0 <= x0 <= 9", "1 <= x1 <= 9"]
    for name in (".band", ".line", ".raised", ".away", ".taken"):
        assert opened.execute_script(f"return document.querySelector('.alarmed {name}') !== null")
    assert opened.execute_script(
        "return document.querySelectorAll('.multiple')[1].querySelectorAll('.waived').length"
    )


def test_a_rule_that_the_rules_file_waives_is_marked(browser, tmp_path):
    """In the windows that it was waived in, and with a badge where that is the last one."""
    made = made_history(tmp_path / "kept", waived=("00000000",))
    write_report(made, tmp_path / "history.html")
    browser.get((tmp_path / "history.html").as_uri())

    assert texts(browser, "#findings-title") == ["No alarms: the windows are like the baseline."]
    assert sorted(texts(browser, ".multiple h3")) == ["1 <= x1 <= 9", "waived\n0 <= x0 <= 9"]
    assert texts(browser, "#key .waived") == ["waived"]
    assert browser.execute_script("return document.querySelectorAll('svg .waived').length") == 1


def test_a_window_is_named_under_the_pointer(opened):
    """With its share, what is usual, and its evidence; the last one else."""
    say = "return document.querySelector('.alarmed .at').textContent"
    assert re.match(
        r"00000000 · 2026-01-12: .* % broken, usual .* %; evidence ", opened.execute_script(say)
    )
    opened.execute_script(
        "const svg = document.querySelector('.alarmed svg'), box = svg.getBoundingClientRect();"
        "svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + 6, clientY: 1}))"
    )

    assert "2026-01-01: " in opened.execute_script(say)


def test_axe_finds_no_serious_fault(opened):
    """In light and dark."""
    assert serious_faults(opened) == []


def test_rules_are_searched_and_filtered(opened):
    """By words, by id, and by the alarm that they are in."""
    search = opened.find_element("css selector", "#search")
    search.send_keys("00000001")
    assert texts(opened, ".multiple h3") == ["1 <= x1 <= 9"]
    assert texts(opened, "#status") == ["1 of 2 rules"]
    search.clear()
    search.send_keys("no such rule")
    assert texts(opened, "#multiples") == ["No rule fits. Change the search or show all."]
    opened.execute_script("find('search').value = ''; state.search = ''")
    opened.find_element("css selector", ".evidence").click()
    assert len(texts(opened, ".multiple h3")) == 1
    opened.find_element("css selector", "input[value=all]").find_element("xpath", "..").click()
    assert len(texts(opened, ".multiple h3")) == 2


def test_the_page_fits_a_phone_and_is_dark_where_that_is_wanted(opened):
    """Nothing is cut off at 390 pixels."""
    set_phone(opened)
    set_colours(opened, "dark")
    opened.refresh()
    settle(opened)
    wide, room = opened.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    back = "return getComputedStyle(document.body).backgroundColor"

    assert wide <= room == 390
    assert opened.execute_script(back) == "rgb(18, 21, 26)"
    assert texts(opened, "#theme") == ["Light"]
    requests(opened)
    url = opened.current_url
    opened.get(url)
    set_computer(opened)


def hostile_history(path):
    """A history in which every text is somebody's markup."""
    n = len(HOSTILE)
    store = Store(path)
    for at in ("2026-01-01", "2026-01-02"):
        store.put(
            made_record(
                at,
                broken=(100,) * n,
                texts=HOSTILE,
                source=HOSTILE[0],
                findings=HOSTILE,
                finding_rules=tuple((f"{place:08x}",) for place in range(n)),
                n_facts=n,
            )
        )
    history = History(path)
    for place, text in enumerate(HOSTILE):
        history.waive(f"{place:08x}", until="2026-01-01", why=text)
    return history


def test_hostile_texts_are_shown_and_nothing_runs(browser, tmp_path):
    """Markup in rules, causes and reasons is text; no dialog, no request, no marker."""
    path = tmp_path / "history.html"
    write_report(hostile_history(tmp_path / "kept"), path, title=HOSTILE[1])
    console(browser), requests(browser)
    browser.get(path.as_uri())
    settle(browser)

    assert browser.execute_script("return typeof window.hasRun") == "undefined"
    assert browser.title == HOSTILE[1]
    assert HOSTILE[0] in texts(browser, "#findings-list")[0]
    assert HOSTILE[2] in texts(browser, "#decisions-list")[0]
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert console(browser) == []
    assert requests(browser) == [path.as_uri()]


@pytest.mark.parametrize("n_windows", [0, 1])
def test_few_windows_make_a_page_too(browser, tmp_path, n_windows):
    """One, or none yet."""
    history = made_history(tmp_path / "kept", n_windows)
    path = tmp_path / "history.html"
    write_report(history, path)
    console(browser)
    browser.get(path.as_uri())

    assert console(browser) == []
    assert texts(browser, "#findings-title") == ["No alarms: the windows are like the baseline."]
    assert len(texts(browser, ".multiple")) == 2 * n_windows


# Without a browser


def test_nothing_from_the_data_is_markup(tmp_path):
    """The page's data is one inert block, in which no letter can end it."""
    path = tmp_path / "history.html"
    write_report(hostile_history(tmp_path / "kept"), path, title=HOSTILE[1])
    page = path.read_text()
    block = re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL).group(1)

    assert json.loads(block)["title"] == HOSTILE[1]
    assert not set("<>&") & set(block)
    assert page.count("<script") == 2


def test_the_contents_are_those_of_the_timeline(history):
    """Rounded for the eye; what is not known is null."""
    found, timeline = history_contents(history), history.timeline()

    assert found["at"] == list(timeline.at)
    assert found["baseline"] == timeline.in_baseline.astype(int).tolist()
    first = found["rules"][0]
    assert first["id"] == timeline.alarms[0].rules[0]
    assert first["share"] == pytest.approx(timeline.share[0], abs=1e-6)
    assert first["alarms"] == [alarm.at for alarm in timeline.alarms]
    assert max(first["evidence"]) >= 1 > max(found["rules"][1]["evidence"])


def test_only_a_page_can_be_written(history, tmp_path):
    """Said before any work."""
    with pytest.raises(OutputError) as caught:
        write_report(history, tmp_path / "history.md")

    assert str(caught.value) == (
        "The page of a history cannot be written as '.md'.\n"
        f"  where: {tmp_path / 'history.md'}\n"
        "  fix:   end the name in .html"
    )
