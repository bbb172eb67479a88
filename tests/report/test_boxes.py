"""Reports on rules about boxes: the box in its frame, in scale; data stays data."""

import json
import re

import numpy as np
import pytest

import sqrl
from browser import console, open_browser
from made_reports import HOSTILE
from sqrl.report import write_report

RULES = sqrl.RuleSet.from_texts(
    ["type = Car => right - left <= 300", "bottom <= 300", "0.1 <= score <= 1"]
)


def boxes(**changes):
    """The first box is wide, the second low, the third outside of its image; all scores are low."""
    columns = {
        "image": ["a.png", "b.png", "c.png", "d.png"],
        "type": ["Car", "Car", "Car", "Car"],
        "left": [100.0, 10.0, -50.0, 10.0],
        "top": [50.0, 300.0, -10.0, 10.0],
        "right": [900.0, 60.0, 450.0, 30.0],
        "bottom": [250.0, 360.0, 100.0, 30.0],
        "score": [0.01, 0.02, 0.03, 0.04],
        "image_width": [1000.0, 1000.0, 400.0, 1000.0],
        "image_height": [400.0, 400.0, 200.0, 400.0],
    }
    return {name: value for name, value in {**columns, **changes}.items() if value is not None}


def page_of(table, path, rules=RULES):
    write_report(sqrl.check(rules, table), path)
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found)


def test_examples_of_rules_about_boxes_have_their_boxes(tmp_path):
    """Sides and the size of the image, by row; a rule about the score has none."""
    found = page_of(boxes(), tmp_path / "page.html")["boxes"]

    assert found == {
        "of": [0, 1],
        "rows": {
            "1": [100, 50, 900, 250, 1000, 400],
            "2": [10, 300, 60, 360, 1000, 400],
            "3": [-50, -10, 450, 100, 400, 200],
        },
        "reach": [900, 360],
    }


def test_a_derived_statistic_of_the_sides_is_about_boxes(tmp_path):
    """As in the shipped schemas, where no rule names a side."""
    schema = {"statistics": {"width": "right - left"}, "let": {"A": ["width"]}}
    rng = np.random.default_rng(0)
    train = {"left": rng.uniform(0, 9, 200), "right": rng.uniform(10, 20, 200)}
    rules = sqrl.learn(train, {**schema, "rules": ["? <= A <= ?"], "validate": False})
    table = boxes(right=[900.0, 60.0, 450.0, 22.0])  # the fourth is 12 pixels wide
    found = page_of(table, tmp_path / "page.html", rules)["boxes"]

    assert found["of"] == [0]
    assert set(found["rows"]) == {"1", "2", "3"}


def test_without_a_size_the_frame_is_as_far_as_boxes_reach(tmp_path):
    """And the page says so."""
    table = boxes(image_width=None, image_height=[400.0, np.nan, 200.0, 400.0])
    found = page_of(table, tmp_path / "page.html")["boxes"]

    assert found["rows"]["1"] == [100, 50, 900, 250, None, None]
    assert found["reach"] == [900, 360]


@pytest.mark.parametrize(
    "table",
    [
        boxes(top=None),
        boxes(top=["a", "b", "c", "d"]),
        boxes(right=[10.0, 20.0, 30.0, 40.0], bottom=[9.0, 9.0, 9.0, 9.0]),
    ],
    ids=["a side is missing", "a side is a word", "no rule about boxes is broken"],
)
def test_where_there_is_no_box_none_is_drawn(tmp_path, table):
    """Rows with only some of the sides are not boxes."""
    rules = sqrl.RuleSet.from_texts(["0.1 <= score <= 1", "right <= 5000"])

    assert page_of(table, tmp_path / "page.html", rules)["boxes"] is None


def test_a_box_whose_side_is_missing_is_not_drawn(tmp_path):
    """The others are."""
    found = page_of(boxes(top=[50.0, np.nan, -10.0, 10.0]), tmp_path / "page.html")["boxes"]

    assert set(found["rows"]) == {"1", "3"}


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        yield driver


def opened(driver, table, path, rule):
    """The figures of a rule, as the browser draws them."""
    page_of(table, path)
    driver.get(path.as_uri())
    driver.execute_script(
        """
        for (const one of document.querySelectorAll(".open-rule"))
          if (one.innerText.includes(arguments[0])) one.click();""",
        rule,
    )
    assert console(driver) == []
    return driver.execute_script("""
        const box = (one) => {
          const found = one.getBoundingClientRect();
          return [found.x, found.y, found.width, found.height];
        };
        return [...document.querySelectorAll(".frames figure")].map((figure) => ({
          image: box(figure.querySelector(".image")), box: box(figure.querySelector(".box")),
          guessed: figure.querySelector(".image").classList.contains("guess"),
          words: figure.querySelector("figcaption").innerText,
          label: figure.querySelector("svg").getAttribute("aria-label") }));""")


def shares(found):
    """Where the box is in its frame: left, top, width and height as shares of the frame's."""
    (x, y, wide, high), (left, top, width, height) = found["image"], found["box"]
    return [(left - x) / wide, (top - y) / high, width / wide, height / high]


def test_boxes_are_drawn_in_scale(browser, tmp_path):
    """A box of 800 x 200 at 100, 50 in a frame of 1000 x 400; one that leaves its frame, too."""
    wide, outside = opened(browser, boxes(), tmp_path / "page.html", "right - left")

    assert shares(wide) == pytest.approx([0.1, 0.125, 0.8, 0.5], abs=0.02)
    assert wide["image"][2] / wide["image"][3] == pytest.approx(2.5, rel=0.05)
    assert shares(outside) == pytest.approx([-0.125, -0.05, 1.25, 0.55], abs=0.03)
    assert wide["words"] == "Row 1 · Car · a.png"
    assert wide["label"] == "Row 1, Car, a.png: a box from 100, 50 to 900, 250"
    assert not wide["guessed"]


def test_a_guessed_frame_is_dashed_and_said_to_be_one(browser, tmp_path):
    """The reader must not take it for the image."""
    table = boxes(image_width=None)
    found = opened(browser, table, tmp_path / "page.html", "right - left")
    (said,) = browser.find_elements("css selector", ".guessed")

    assert all(one["guessed"] for one in found)
    assert said.text == (
        "The sizes of the images are not known: a dashed frame reaches as far as the boxes of all "
        "rows."
    )


def test_a_rule_about_something_else_has_no_frames(browser, tmp_path):
    """Nothing about a score can be seen in a box."""
    assert opened(browser, boxes(), tmp_path / "page.html", "score") == []


def test_nothing_in_a_name_or_a_class_runs(browser, tmp_path):
    """What comes from the data is set as text."""
    table = boxes(image=list(HOSTILE[:4]), type=list(HOSTILE[4:]))
    found = opened(browser, table, tmp_path / "page.html", "bottom")

    assert [one["words"] for one in found] == [f"Row 2 · {HOSTILE[5]} · {HOSTILE[1]}"]
    assert browser.execute_script("return window.hasRun") is None
