"""The review page as a person meets it: in Chromium, with the keyboard, wide and narrow."""

import json
from urllib.parse import urlsplit

import pytest

import sqrl as library
from axe import serious_faults
from browser import console, open_browser, requests, set_colours, set_computer, set_phone, until
from made_reports import HOSTILE
from made_review import many_row_rules, patients, serving, ward_rules
from sqrl._language.forms import Form, Piece
from sqrl._language.tree import Name, Number

RIGHT, ENTER, ESCAPE, END, DOWN, TAB = (
    "\ue014",
    "\ue007",
    "\ue00c",
    "\ue010",
    "\ue015",
    "\ue004",
)

ALL = ("\ue009a", "\ue000")  # Ctrl+A, and let go


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def rules():
    return ward_rules()


@pytest.fixture
def path(rules, tmp_path):
    rules.save(tmp_path / "rules.json")
    return tmp_path / "rules.json"


@pytest.fixture
def opened(browser, path):
    """The page, freshly opened; afterwards the console is empty and nobody else was asked."""
    with serving(path) as server:
        open_page(browser, server)
        yield browser
        assert console(browser) == []
        asked = {urlsplit(one).netloc for one in requests(browser)} - {""}  # of the empty tab
        assert asked == {server.hosts[0]}


def open_page(browser, server):
    set_computer(browser)
    browser.get("about:blank")
    console(browser), requests(browser)
    browser.get(server.address)
    until(lambda: text(browser, "#detail-title").startswith("Rule "))


def text(driver, selector):
    return driver.execute_script(
        "return document.querySelector(arguments[0])?.innerText ?? ''", selector
    )


def press(driver, *keys):
    """Press keys on what has the focus."""
    driver.switch_to.active_element.send_keys(*keys)


def decided(path):
    """The decisions in a file, by id; read without its rules, which may be many."""
    plain = json.loads(path.read_bytes()).get("decisions", [])
    return {one["id"]: library.Decision(**one) for one in plain}


def go_to(driver, id):
    """Move to the next rule, and wait until its values are there."""
    until(lambda: text(driver, "#detail-title") == f"Rule {id}")


def test_rules_are_decided_about_with_the_keyboard_alone(opened, path, rules):
    """Move, accept, reject, waive to a day, undo, withdraw: each is in the file; then filter."""
    ids = rules.ids()
    press(opened, "j")
    go_to(opened, ids[1])
    press(opened, "a")
    until(lambda: ids[1] in decided(path))
    press(opened, "j")
    go_to(opened, ids[2])
    press(opened, "r")
    press(opened, *ALL, "broken sensor", ENTER)
    until(lambda: ids[2] in decided(path))
    press(opened, DOWN)
    go_to(opened, ids[3])
    press(opened, "w")
    press(opened, "12312999", TAB, TAB)  # a date in English, and past its calendar
    press(opened, *ALL, "until the new laboratory", ENTER)
    until(lambda: ids[3] in decided(path))
    found = decided(path)

    assert {one: found[one].verdict for one in found} == {
        ids[1]: "accepted",
        ids[2]: "rejected",
        ids[3]: "waived",
    }
    assert (found[ids[2]].by, found[ids[2]].why) == ("Ann", "broken sensor")
    assert (found[ids[3]].until, found[ids[3]].why) == ("2999-12-31", "until the new laboratory")
    until(lambda: "waived to 2999-12-31" in text(opened, "#row-3"))
    press(opened, "k")
    press(opened, "u")
    until(lambda: ids[3] not in decided(path))
    press(opened, "k", "x")
    until(lambda: len(decided(path)) == 1)
    assert text(opened, "#said").endswith("saved to rules.json")
    press(opened, "x")
    until(lambda: text(opened, "#said") == f"Nothing was decided about {ids[2]}.")
    press(opened, "f")
    press(opened, DOWN, DOWN, ENTER)  # past those that are not decided
    until(lambda: text(opened, "#status") == f"1 of {len(rules)} rules")
    go_to(opened, ids[1])


def test_a_bound_is_moved_by_arrows_while_the_rows_beyond_follow(opened, path, rules):
    """The number on the page is the number a loop counts; Enter saves both."""
    values = patients(4000)["heart_rate"]
    press(opened, "j")
    go_to(opened, rules.ids()[1])
    until(lambda: "beyond" in text(opened, "#beyond"))
    before = text(opened, "#beyond")
    press(opened, "e")
    press(opened, *[RIGHT] * 30)
    until(lambda: text(opened, "#beyond") != before)
    lower = float(opened.execute_script("return document.getElementById('end-lower').value"))
    upper = rules[1].upper
    under, over = int((values < lower).sum()), int((values > upper).sum())

    assert lower > rules[1].lower
    assert f"{under + over:,} of 4,000 rows beyond" in text(opened, "#beyond")
    assert f"{under:,} below, {over:,} above" in text(opened, "#beyond")
    press(opened, ENTER)
    until(lambda: library.load_rules(path)[1].learned is not None)
    assert library.load_rules(path)[1].evidence == [4000.0, float(under + over)]


def test_bounds_are_saved_before_they_are_drawn(opened, path, rules):
    """On a slow machine Enter comes before the next frame: what was moved is not lost."""
    press(opened, "j")
    go_to(opened, rules.ids()[1])
    opened.execute_script("window.requestAnimationFrame = () => 0")
    press(opened, "e")
    press(opened, *[RIGHT] * 3, ENTER)

    until(lambda: library.load_rules(path)[1].learned is not None)


def test_bins_of_whole_numbers_hold_equally_many(opened):
    """Each bar is as many years wide as the next; nothing can be saved before something moved."""
    ages = patients(4000)["age"]
    until(lambda: "beyond" in text(opened, "#beyond"))
    low, high, bins = opened.execute_script(
        "return [review.state.axis.low, review.state.axis.high, review.state.axis.bins]"
    )
    height = "return review.state.axis.bars.map((one) => Number(one.getAttribute('height')))"
    drawn, red = (
        opened.execute_script(height),
        opened.execute_script(height.replace("bars", "reds")),
    )
    counts = [((ages > low + i) & (ages < low + i + 1)).sum() for i in range(int(high - low))]
    wide = round((high - low) / bins)
    wanted = [sum(counts[i : i + wide]) for i in range(0, len(counts), wide)]

    assert (low % 1, high % 1) == (0.5, 0.5)
    assert max(red) == 0  # no row lies beyond, though a bound lies within a bar
    assert [one / max(drawn) for one in drawn] == pytest.approx(
        [one / max(wanted) for one in wanted]
    )
    assert opened.execute_script("return document.getElementById('keep').disabled")


def test_a_bound_is_dragged_with_a_pointer(opened, path, rules):
    """The bars change colour as it goes, and nothing is saved before it is asked for."""
    from selenium.webdriver import ActionChains

    press(opened, "j")
    go_to(opened, rules.ids()[1])
    until(lambda: "beyond" in text(opened, "#beyond"))
    is_red = "(one) => Number(one.getAttribute('height')) > 0"
    reds = f"return review.state.axis.reds.filter({is_red}).length"
    before, file = opened.execute_script(reds), path.read_bytes()
    handle = opened.find_element("css selector", "#handle-upper rect:not(.grip)")
    ActionChains(opened).click_and_hold(handle).move_by_offset(-120, 0).release().perform()
    until(lambda: opened.execute_script(reds) > before)
    upper = float(opened.execute_script("return document.getElementById('end-upper').value"))

    assert rules[1].lower < upper < rules[1].upper
    assert opened.execute_script(reds) > before
    assert path.read_bytes() == file
    opened.find_element("css selector", "#back").click()
    until(lambda: opened.execute_script(reds) == before)


def test_what_is_accepted_is_what_is_seen(opened, path, rules):
    """Bounds that were moved are saved with the acceptance; if not, they are said to be lost."""
    one = rules.ids()[1]
    press(opened, "j")
    go_to(opened, one)
    until(lambda: "beyond" in text(opened, "#beyond"))
    press(opened, "e")
    press(opened, RIGHT, RIGHT)
    press(opened, "a")
    until(lambda: one in decided(path))
    edited = library.load_rules(path)[1]

    assert decided(path)[one].verdict == "accepted"
    assert edited.lower > rules[1].lower
    assert edited.learned == rules[1].text
    until(lambda: opened.execute_script("return review.state.opened.rule.learned !== null"))
    press(opened, "e")
    press(opened, RIGHT)
    press(opened, "j")
    until(lambda: "not saved" in text(opened, "#said"))
    assert text(opened, "#said") == f"The new bounds of {one} were not saved."
    assert library.load_rules(path)[1].lower == edited.lower


def test_search_filter_and_help_are_at_hand(opened, rules):
    """`/` goes to the search, Enter back to the list, `?` lists the keys."""
    press(opened, "/")
    press(opened, "creatinine mean", ENTER)
    until(lambda: text(opened, "#status") == f"1 of {len(rules)} rules")
    assert "mean(creatinine)" in text(opened, "#row-0")
    press(opened, "?")
    assert "accept" in text(opened, "#help")
    press(opened, ESCAPE)
    assert opened.execute_script("return document.querySelector('dialog[open]')") is None
    press(opened, "/")
    press(opened, *ALL, "nothing of the kind", ENTER)
    until(lambda: "No rule fits" in text(opened, "#list"))
    press(opened, "a", "r", "w", "j")  # with no rule to decide about


def test_of_many_rules_only_those_in_sight_are_made(browser, tmp_path):
    """Which is what makes it quick on any machine; the last is a key away."""
    path = tmp_path / "rules.json"
    rules = many_row_rules(2_000)
    rules.save(path)
    with serving(path) as server:
        open_page(browser, server)
        n_rows = "return document.querySelectorAll('.row').length"
        first = browser.execute_script(n_rows)
        press(browser, END)
        until(lambda: text(browser, "#detail-title") == f"Rule {rules.ids()[-1]}")

        assert text(browser, "#status") == "2,000 rules"
        assert 5 < first < 60
        assert browser.execute_script(n_rows) < 60
        press(browser, "a")
        until(lambda: rules.ids()[-1] in decided(path))
        assert console(browser) == []


def test_nothing_in_the_data_runs(browser, tmp_path):
    """Names of columns, reasons and who decides are text."""
    ends = (Piece(None, Number(9.0)),)
    forms = [Form(kind="sample", subject=Name(name), pieces=ends) for name in HOSTILE]
    rules = library.RuleSet.from_forms(forms)
    rules = rules.accept(rules.ids(), by=HOSTILE[0], why=HOSTILE[1])
    path = tmp_path / "rules.json"
    rules.save(path)
    with serving(path, {"age": [1.0]}, by=HOSTILE[2]) as server:
        open_page(browser, server)
        press(browser, "j", "j")

        assert browser.execute_script("return window.hasRun") is None
        assert HOSTILE[2] in text(browser, "#checked")
        assert console(browser) == []


def test_everything_that_can_be_used_has_a_name(opened):
    """What a screen reader says of each control; the list says where one is."""
    opened.execute_cdp_cmd("Accessibility.enable", {})
    nodes = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "textbox", "searchbox", "slider", "combobox", "listbox", "option"}
    used = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and node.get("role", {}).get("value") in roles
    ]
    active = "return document.getElementById('list').getAttribute('aria-activedescendant')"

    assert {"button", "slider", "listbox", "option", "searchbox"} <= {role for role, _ in used}
    assert [one for one in used if not one[1].strip()] == []
    assert opened.execute_script(active) == "row-0"
    assert opened.execute_script("return document.activeElement.id") == "list"


def test_axe_finds_no_serious_fault(browser, path, rules):
    """Neither on the page, with decisions of every kind, nor in what it asks with."""
    one, two, three = rules.ids()[:3]
    made = rules.accept(one, by="Ann", why="seen").reject(two, by="Bo", why="no")
    made.waive(three, until="2999-12-31", by="Bo", why="later").save(path)
    with serving(path) as server:
        open_page(browser, server)
        until(lambda: "beyond" in text(browser, "#beyond"))
        assert serious_faults(browser) == []
        press(browser, "w")
        assert serious_faults(browser) == []
        press(browser, ESCAPE)


def test_a_phone_shows_it_in_dark_and_does_not_scroll_sideways(browser, path):
    """Four hundred pixels are enough."""
    with serving(path) as server:
        open_page(browser, server)
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = browser.execute_script(ground)
        set_phone(browser, 400)
        set_colours(browser, "dark")
        wide = "return document.documentElement.scrollWidth"
        until(lambda: browser.execute_script(wide) <= 400)

        assert browser.execute_script(wide) <= 400
        assert browser.execute_script(ground) != light
        set_computer(browser)


def test_a_server_that_is_gone_is_said(browser, path, rules):
    """Nobody goes on deciding into nothing."""
    with serving(path) as server:
        open_page(browser, server)
    press(browser, "a")
    until(lambda: text(browser, "#fault") != "")

    assert text(browser, "#fault") == (
        "The server does not answer; it may have been stopped. Nothing was saved."
    )
    assert rules.ids()[0] not in decided(path)
    console(browser)
