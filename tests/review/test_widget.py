"""review() in a notebook: what Python makes of the page's messages."""

import json
import sys

import pytest

import sqrl
from made_review import patients, ward_rules
from made_widget import StubWidget, stub_review
from sqrl._review.review import Review, _widget_class
from sqrl._review.session import Session
from sqrl._rules.schema import Schema
from sqrl.errors import DataError, MissingExtraError


@pytest.fixture(scope="module")
def rules():
    return ward_rules()


@pytest.fixture
def reviewed(rules):
    return stub_review(rules)


def tell(reviewed, **message):
    """What Python answers to a message of the page, as JSON would bring both."""
    reviewed.widget.hear(None, json.loads(json.dumps({"id": "a-1"} | message)), [])
    answer = json.loads(json.dumps(reviewed.widget.told.pop()))
    assert answer["id"] == "a-1"
    assert reviewed.widget.told == []
    return answer


def test_decisions_are_in_the_rules_of_the_review_and_not_in_those_given(reviewed, rules):
    """Accept, reject, waive and withdraw; rule sets do not change."""
    one, two, three, four = rules.ids()[:4]
    tell(reviewed, step={"do": "accept", "ids": [one], "why": "seen"})
    tell(reviewed, step={"do": "reject", "ids": [two], "why": "two kinds of thermometers"})
    tell(reviewed, step={"do": "accept", "ids": [four], "why": "seen"})
    tell(reviewed, step={"do": "withdraw", "ids": [four]})
    waive = {"do": "waive", "ids": [three], "why": "new laboratory", "until": "2999-12-31"}
    told = tell(reviewed, step=waive)
    found = {one.id: one for one in reviewed.rules.decisions}

    assert {id: found[id].verdict for id in found} == {
        one: "accepted", two: "rejected", three: "waived",
    }  # fmt: skip
    assert (found[three].by, found[three].until) == ("Ann", "2999-12-31")
    assert told["step"] is True
    assert told["answer"]["can_undo"] == 5
    assert [one["id"] for one in told["answer"]["decisions"]] == sorted(found)
    assert rules.decisions == ()
    assert repr(reviewed) == f"Review: {len(rules)} rules, 3 of them decided about"


def test_an_edited_bound_is_counted_on_all_rows_and_can_be_undone(reviewed, rules):
    """`learned` keeps the sentence as it was; undo brings back the rule to the letter."""
    one, values = rules.ids()[1], patients(4000)["heart_rate"]
    told = tell(reviewed, step={"do": "edit", "ids": [one], "lower": 60, "upper": 100.5})
    edited = reviewed.rules[1]

    assert (edited.lower, edited.upper, edited.learned) == (60.0, 100.5, rules[1].text)
    assert edited.evidence == [4000.0, float(((values < 60) | (values > 100.5)).sum())]
    assert told["answer"]["texts"] == {one: "60 <= heart_rate <= 100.5"}
    told = tell(reviewed, step={"do": "undo"})
    assert reviewed.rules[1] == rules.with_ids()[1]
    assert told["answer"]["changed"] == [one]
    assert tell(reviewed, step={"do": "undo"})["answer"]["changed"] == []


def test_the_page_is_told_what_it_shows(reviewed, rules):
    """Rules as columns first, then one at a time with a sketch of its values."""
    told = tell(reviewed, open=True)
    rule = tell(reviewed, rule=rules.ids()[1])

    assert told["step"] is False
    assert told["answer"]["rules"]["id"] == rules.ids()
    assert (told["answer"]["is_saved"], told["answer"]["by"]) == (False, "Ann")
    assert rule["answer"]["sketch"]["n"] == 4000


def test_a_rule_about_the_rows_before_is_shown_with_its_values():
    """What follows from other rows is computed once, of all rows; what cannot be is a note."""
    schema = Schema(order="day", rules=("? <= delta(x) <= ?",))
    rules = sqrl.RuleSet.from_texts(["-5 <= delta(x) <= 5", "lag(z) <= 5"], schema=schema)
    rows = sqrl.as_table({"day": [3.0, 1.0, 2.0], "x": [9.0, 1.0, 2.0]})
    reviewed = Review(Session(rules, rows, by="Ann"), StubWidget())
    there, gone = (tell(reviewed, rule=one)["answer"] for one in reviewed.rules.ids())

    assert there["sketch"]["values"] == [1.0, 7.0]
    assert gone["note"] == "Unknown column 'lag(z)'."


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"rule": "nothing"}, "Unknown id of a rule 'nothing'."),
        ({"step": {"do": "accept", "ids": ["no"], "why": "x"}}, "Unknown id of a rule 'no'."),
        ({"step": {"do": "accept", "ids": ["d9434650"]}}, "The decision cannot be kept: "),
        ({"step": {"do": "eval"}}, "this is no step: Invalid enum value 'eval' - at `$.do`"),
        ({"step": {"do": "undo", "path": "/"}}, "this is no step: "),
        ({"step": []}, "this is no step: Expected `object`, got `array`"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(reviewed, rules, message, error):
    """The page has the words of the error, with how to mend it."""
    told = tell(reviewed, **message)

    assert told["error"].startswith(error)
    assert reviewed.rules.decisions == ()
    waive = {"do": "waive", "ids": [rules.ids()[0]], "why": "x", "until": "2001-01-01"}
    assert "has ended before it was made" in tell(reviewed, step=waive)["error"]


def test_a_fault_of_ours_is_told_too_and_not_swallowed(reviewed):
    """A page that waits for ever would be the worse."""
    reviewed._session.rule = None
    with pytest.raises(TypeError):
        reviewed.widget.hear(None, {"id": "a-1", "rule": "x"}, [])

    assert "the kernel's log" in reviewed.widget.told[0]["error"]


def test_rules_of_a_file_are_saved_at_every_step_unless_somebody_else_wrote_it(rules, tmp_path):
    """As `sqrl review` does it."""
    pytest.importorskip("anywidget")
    path = tmp_path / "rules.json"
    rules.save(path)
    reviewed = sqrl.review(path, patients(400), by="Bo")
    told = []
    reviewed.widget.send = told.append
    step = {"do": "accept", "ids": [rules.ids()[0]], "why": "seen"}
    reviewed.widget._handle_custom_msg({"id": "a-1", "step": step}, [])

    assert [one.by for one in sqrl.load_rules(path).decisions] == ["Bo"]
    path.write_text(path.read_text() + "\n")
    reviewed.widget._handle_custom_msg({"id": "a-2", "step": {"do": "undo"}}, [])
    assert told[1]["error"] == (
        "The rules file has changed since it was opened here.\n"
        f"  where: {path}\n  fix:   run the cell again"
    )
    assert len(reviewed.rules.decisions) == 1


def test_a_notebook_shows_the_widget_and_a_terminal_a_line(rules, monkeypatch):
    """Its state holds the script and nothing of the data; who decides is whoever is logged in."""
    pytest.importorskip("anywidget")
    monkeypatch.setattr("getpass.getuser", lambda: "cleo")
    reviewed = sqrl.review(rules, patients(400))
    shown = reviewed._repr_mimebundle_()[0]
    state = reviewed.widget.get_state()

    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "export default { render };" in state["_esm"]
    assert "heart_rate" not in json.dumps(state, default=str)
    assert reviewed._session.page_data()["by"] == "cleo"


def test_what_cannot_be_reviewed_is_said(rules, monkeypatch, tmp_path):
    """No rows, nobody who decides, no file."""
    with pytest.raises(DataError, match=r"The table has no rows\."):
        sqrl.review(rules, {"age": []}, by="Ann")
    with pytest.raises(sqrl.SqrlError, match=r"nothing\.json"):
        sqrl.review(tmp_path / "nothing.json", patients(4), by="Ann")

    def nobody():
        raise OSError

    monkeypatch.setattr("getpass.getuser", nobody)
    with pytest.raises(DataError) as raised:
        sqrl.review(rules, patients(4))
    assert str(raised.value) == (
        'It is not known who decides.\n  fix:   review(rules, data, by="Ann Lee")'
    )


def test_without_anywidget_it_says_what_to_install(rules, monkeypatch):
    """And what to do instead."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_class.cache_clear()
    with pytest.raises(MissingExtraError) as raised:
        sqrl.review(rules, patients(4), by="Ann")

    assert str(raised.value) == (
        "The review page in a notebook needs anywidget.\n"
        '  fix:   pip install "sqrl-rules[notebook]", or sqrl review rules.json --data FILE in a '
        "terminal"
    )
