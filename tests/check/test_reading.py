"""Columns that are gone or of another kind: what can be read is read, the rest is missing."""

import datetime

import numpy as np
import pandas as pd
import pytest

import sqrl
from sqrl._check.columns_now import UnseenValue

RULES = sqrl.RuleSet.from_texts(["0 <= x <= 9", "flag => x <= 3", "kind = a => y <= 5", "y <= 9"])
ROWS = {
    "x": [1.0, 20.0, 3.0],
    "flag": [True, False, None],
    "kind": ["a", "b", "a"],
    "y": [9.0, 1.0, 2.0],
}


def checked(**columns):
    """A check of the rows with some columns replaced, or left out where they are None."""
    rows = {name: values for name, values in {**ROWS, **columns}.items() if values is not None}
    return sqrl.check(RULES, rows)


def test_a_column_that_is_gone_applies_to_nothing():
    """Rules that name it have no sample; the others are as they were."""
    found = checked(x=None)

    assert found.applicable.tolist() == [0, 0, 2, 3]
    assert found.columns["x"].is_gone
    assert found.columns["x"].n_missing == 3
    assert [finding.kind for finding in found.findings()] == ["gone"]


@pytest.mark.parametrize(
    ("values", "read", "n_unread"),
    [
        (["1", " 20", "3.0"], [1.0, 20.0, 3.0], 0),
        (["1", "twenty", None], [1.0, np.nan, np.nan], 1),
        (["1e400", "nan", "-2"], [np.nan, np.nan, -2.0], 2),
        ([1, "twenty", 3.5], [1.0, np.nan, 3.5], 1),
    ],
)
def test_numbers_in_text_are_read(values, read, n_unread):
    """What does not parse, or is not finite, is missing and counted."""
    found = checked(x=values)

    assert found.table["x"].values.tolist() == pytest.approx(read, nan_ok=True)
    assert found.columns["x"].n_unread == n_unread
    assert found.columns["x"].n_missing == sum(value is None for value in values)


def test_text_among_numbers_of_a_frame_is_read():
    """A pandas column of objects, as a spreadsheet gives it."""
    found = sqrl.check(RULES, pd.DataFrame({**ROWS, "x": [1.0, "unknown", np.nan]}))
    (finding,) = found.findings()

    assert found.columns["x"].n_missing == 1
    assert finding.text == "x holds text in 1 of 3 rows, such as 'unknown'; it held numbers"


def test_truths_in_text_and_numbers_are_read():
    """True, 1 and 0; another number is no truth."""
    assert checked(flag=["True", "0", "yes"]).columns["flag"].n_unread == 1
    (finding,) = checked(flag=[1, 7, 0]).findings()

    assert (
        finding.text
        == "flag holds other numbers in 1 of 3 rows, such as '7'; it held true and false"
    )


def test_numbers_where_rules_name_words_stay_what_they_are():
    """A batch in which only the numbers among the categories occur alarms nobody."""
    rules = sqrl.RuleSet.from_texts(["code in [1, 2, x]", "y <= 9"])
    fine = sqrl.check(rules, {"code": [1, 2, 2], "y": [1.0, 2.0, 3.0]})
    odd = checked(kind=[5, 6, 7])

    assert fine.broken.tolist() == [0, 0]
    assert fine.findings() == ()
    (finding,) = odd.findings()
    assert finding.text == "kind holds numbers in 3 of 3 rows, such as '5'; it held text"


def test_dates_where_rules_need_numbers_are_not_read():
    """Nobody says which number a date would be."""
    (finding,) = checked(x=[datetime.date(2020, 1, 1)] * 3).findings()

    assert (finding.kind, finding.n_rows) == ("type", 3)
    assert finding.text == "x holds dates in 3 of 3 rows; it held numbers"


def test_numbers_where_rules_need_dates_or_text_are_told():
    """A number has no year; as text it is read as it is written."""
    rules = sqrl.RuleSet.from_texts(["days(born) <= 9", "length(name) <= 3", "y <= 9"])
    found = sqrl.check(rules, {"born": [1.0, 2.0], "name": [12, 1234], "y": [1.0, 2.0]})
    (finding,) = found.findings()

    assert finding.text == "born holds numbers in 2 of 2 rows; it held dates"
    assert found.applicable.tolist() == [0, 2, 2]
    assert found.broken.tolist() == [0, 1, 0]


def test_nothing_left_to_check_is_an_error():
    """As it was: what the rules need, and the nearest name."""
    with pytest.raises(sqrl.SqrlError, match="The rules need a column 'flag'"):
        sqrl.check(RULES[:2], {"z": [1.0]})
    with pytest.raises(sqrl.SqrlError, match="The rules need numbers in column 'x'"):
        sqrl.check(RULES[:1], {"x": ["wide"]})


def test_values_never_seen_are_counted_by_value():
    """The most frequent first, of words, numbers and truths; missing is no value."""
    rules = sqrl.RuleSet.from_texts(["c in [a, b]", "n in [1, 2]", "t = true"])
    rows = {
        "c": ["z", "a", "q", "z", None],
        "n": [1, 3, 3, None, 2],
        "t": [True, True, False, None, True],
    }
    found = sqrl.check(rules, rows).columns

    assert found["c"].unseen == (UnseenValue("z", 2), UnseenValue("q", 1))
    assert (found["c"].n_unseen, found["c"].known) == (3, ("a", "b"))
    assert found["n"].unseen == (UnseenValue("3", 2),)
    assert found["t"].unseen == (UnseenValue("false", 1),)
    assert (found["n"].least, found["n"].greatest, found["n"].n_missing) == (1, 3, 1)
