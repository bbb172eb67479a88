"""The review page in a notebook's cell: its module in Chromium, with a stub of the model."""

import pytest
from selenium.webdriver import ActionChains, Keys

import sqrl
from axe import serious_faults
from browser import console, open_browser, requests, set_computer, until
from made_reports import HOSTILE
from made_review import ward_rules
from made_widget import NOTEBOOK, Cell, stub_review
from sqrl._language.forms import Form, Piece
from sqrl._language.tree import Name, Number


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def rules():
    return ward_rules()


@pytest.fixture
def notebook(browser, tmp_path):
    """A plain page with styles and keys of its own; afterwards the console is empty."""
    path = tmp_path / "notebook.html"
    path.write_text(NOTEBOOK)
    set_computer(browser)
    browser.get(path.as_uri())
    console(browser), requests(browser)
    yield browser
    assert console(browser) == []
    inside = ("blob:", "data:")  # the module itself, and pictures of Chromium's own fields
    assert [one for one in requests(browser) if not one.startswith(inside)] == []


def show(driver, reviewed, id="cell", **options):
    """The page in a cell, once the first rule is there."""
    cell = Cell(driver, reviewed, id, **options)
    cell.until(lambda: cell.text("#detail-title").startswith("Rule "))
    return cell


def press(driver, *keys):
    ActionChains(driver).send_keys(*keys).perform()


def decided(reviewed):
    return {one.id: one.verdict for one in reviewed.rules.decisions}


def test_rules_are_decided_about_by_keys_that_the_notebook_does_not_hear(notebook, rules):
    """Accept, reject with a reason, waive to a day, edit a bound, undo: each is in Python."""
    reviewed = stub_review(rules)
    cell, ids = show(notebook, reviewed), rules.ids()
    assert notebook.execute_script("return document.activeElement === document.body")
    cell.inside("root.getElementById('list').focus()")
    press(notebook, "a")
    cell.until(lambda: ids[0] in decided(reviewed))
    press(notebook, "j")
    cell.until(lambda: cell.text("#detail-title") == f"Rule {ids[1]}")
    handles = "root.querySelector('#handle-lower, #handle-upper') !== null"
    cell.until(lambda: cell.inside(handles))  # drawn when its picture has come
    press(notebook, "e", *[Keys.ARROW_RIGHT] * 9, Keys.ENTER)
    cell.until(lambda: reviewed.rules[1].learned is not None)
    press(notebook, "j")
    cell.until(lambda: cell.text("#detail-title") == f"Rule {ids[2]}")
    press(notebook, "r", " indeed", Keys.ENTER)
    cell.until(lambda: ids[2] in decided(reviewed))
    press(notebook, "w", "12312999", Keys.ENTER)
    cell.until(lambda: decided(reviewed)[ids[2]] == "waived")
    press(notebook, "u")
    cell.until(lambda: decided(reviewed)[ids[2]] == "rejected")

    assert decided(reviewed) == {ids[0]: "accepted", ids[2]: "rejected"}
    assert reviewed.rules[1].lower > rules[1].lower
    assert (rules.decisions, rules[1].learned) == ((), None)
    cell.until(lambda: cell.text("#said") == "Undone")
    assert notebook.execute_script("return keys") == []
    ActionChains(notebook).key_down(Keys.CONTROL).send_keys("m").key_up(Keys.CONTROL).perform()
    assert notebook.execute_script("return keys.at(-1)") == "m"


def test_a_dragged_bound_reaches_python(notebook, rules):
    """By the handle and the button; the page says how many rows are beyond, Python counts them."""
    reviewed = stub_review(rules)
    cell = show(notebook, reviewed)
    cell.inside("root.getElementById('list').focus()")
    press(notebook, "j")
    cell.until(lambda: "beyond" in cell.text("#beyond") and "heart" in cell.text("#inside"))
    handle = cell.inside("root.querySelector('#handle-upper rect:not(.grip)')")
    ActionChains(notebook).click_and_hold(handle).move_by_offset(-60, 0).release().perform()
    cell.until(lambda: not cell.inside("root.getElementById('keep').disabled"))
    n_beyond = int(cell.text("#beyond").split(" of ")[0].replace(",", ""))
    cell.inside("root.getElementById('keep')").click()
    cell.until(lambda: reviewed.rules[1].learned is not None)

    assert rules[1].lower == reviewed.rules[1].lower
    assert reviewed.rules[1].upper < rules[1].upper
    assert reviewed.rules[1].evidence == [4000.0, float(n_beyond)]


def test_two_views_of_a_review_agree_and_neither_mixes_with_the_notebooks_styles(notebook, rules):
    """A step in one is shown in the other; a view that is closed leaves nothing."""
    own = "return getComputedStyle(document.getElementById('own')).letterSpacing"
    size = "return getComputedStyle(document.querySelector('h1')).fontSize"
    before = [notebook.execute_script(one) for one in (own, size)]
    reviewed = stub_review(rules)
    cell, other = show(notebook, reviewed), show(notebook, reviewed, "other")
    cell.inside("root.getElementById('list').focus()")
    press(notebook, "a")
    other.until(lambda: "accepted" in other.text("#row-0"))

    assert "accepted" in cell.text("#row-0")
    assert other.text("#said") == ""
    assert [notebook.execute_script(one) for one in (own, size)] == before
    spacing = "getComputedStyle(root.getElementById('undo')).letterSpacing"
    assert cell.inside(spacing) == "normal"
    assert cell.inside("root.getElementById('list').clientHeight") > 100
    notebook.execute_script("views.other()")
    assert notebook.execute_script("return [heard.length, other.childElementCount]") == [1, 0]


def test_a_fault_is_told_and_nothing_in_the_data_runs(notebook):
    """Names of columns and who decides are text; so is what Python refuses."""
    ends = (Piece(None, Number(9.0)),)
    forms = [Form(kind="sample", subject=Name(name), pieces=ends) for name in HOSTILE]
    rules = sqrl.RuleSet.from_forms(forms)
    reviewed = stub_review(rules, by=HOSTILE[2] + "\n")
    cell = show(notebook, reviewed)
    cell.inside("root.getElementById('list').focus()")
    press(notebook, "j", "a")
    cell.until(lambda: cell.text("#fault") != "")

    assert cell.text("#fault").startswith("The decision cannot be kept: 'by' of a decision is one")
    assert HOSTILE[2] in cell.text("#checked")
    assert notebook.execute_script("return window.hasRun") is None


def test_a_kernel_that_is_busy_is_said_and_what_it_does_later_is_shown(notebook, rules):
    """No step is lost, and none looks done that is not."""
    reviewed = stub_review(rules)
    cell = show(notebook, reviewed, patience="800")
    cell.inside("root.getElementById('list').focus()")
    press(notebook, "a")
    until(lambda: cell.text("#fault") != "")
    assert cell.text("#fault").startswith("The kernel does not answer. If it is busy, this is done")
    assert "not decided" in cell.text("#row-0")
    cell.until(lambda: "accepted" in cell.text("#row-0"))

    assert decided(reviewed) == {rules.ids()[0]: "accepted"}
    assert cell.inside("root.getElementById('fault').hidden")


def test_the_widget_has_no_serious_fault_on_paper_or_in_the_dark(notebook, rules):
    """It is dark where the notebook is."""
    reviewed = stub_review(rules.accept(rules.ids()[0], by="Ann", why="seen"))
    assert show(notebook, reviewed).inside("root.host.dataset.theme") == "light"
    assert serious_faults(notebook) == []
    notebook.execute_script("document.body.style.background = '#111'; views.cell()")
    cell = show(notebook, reviewed, "other")
    assert cell.inside("root.host.dataset.theme") == "dark"
    ground = "getComputedStyle(root.querySelector('.page')).backgroundColor"
    assert cell.inside(ground) == "rgb(18, 21, 26)"
    notebook.execute_script("document.querySelector('h1').remove(); own.remove()")
    assert serious_faults(notebook) == []
