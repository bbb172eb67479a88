"""A sentence for each rule that a row breaks."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl import RuleSet, check, learn
from sqrl._check.sentences import readable, row_sentences, sentence
from sqrl.errors import DataError

SHAPE = re.compile(r"[xy] (\S+) is (above|below) (\S+), the (?:most|least) that ")


def why(text, data, *, coverage=0.98, prediction=None, row=0):
    """The sentence for one rule and one row."""
    rules = RuleSet.from_texts([text], coverage=[coverage])
    return sentence(check(rules, data, prediction=prediction), 0, row)


def test_a_value_above_its_bound_is_named_with_the_bound_and_with_whom_it_holds_for():
    """The sentence of the brief: two sides at 98 % leave 99 % below the upper bound."""
    said = why(
        "type = Pedestrian => 10 <= area <= 47795.75", {"type": ["Pedestrian"], "area": [61203]}
    )

    assert said == (
        "area 61,203 is above 47,796, the most that 99 % of rows with type = Pedestrian have"
    )


def test_a_value_below_its_bound_misses_the_least():
    """The other side, with the same share."""
    said = why("3 <= GCS <= 15", {"GCS": [2]})

    assert said == "GCS 2 is below 3, the least that 99 % of all rows have"


@pytest.mark.parametrize(("text", "share"), [("x <= 5", "98 %"), ("1 <= x <= 5", "99 %")])
def test_the_share_is_that_of_one_side(text, share):
    """A one-sided 98 % rule leaves 2 % out at its one side, a two-sided one 1 % at each."""
    assert f"the most that {share} of all rows have" in why(text, {"x": [9.0]})


def test_a_share_that_is_not_whole_keeps_its_digits():
    """99.5 % is not 100 %."""
    assert "99.5 % of all rows" in why("1 <= x <= 5", {"x": [9.0]}, coverage=0.99)


def test_a_rule_that_nobody_learned_has_no_share():
    """Bounds written by hand are what rows may have."""
    said = why(
        "smokes and age > 40 => x <= 5", {"smokes": [True], "age": [50], "x": [9]}, coverage=None
    )

    assert said == "x 9 is above 5, the most that rows with smokes and age above 40 may have"


BUCKETED = "type = Car => 1 <= w <= 2 if h <= 10 else 2 <= w <= 4 if h <= 2000 else 3 <= w <= 5"


@pytest.mark.parametrize(
    ("height", "bucket", "most"),
    [
        (5, "h up to 10", 2),
        (10, "h up to 10", 2),
        (11, "h between 10 and 2,000", 4),
        (3000, "h above 2,000", 5),
    ],
)
def test_a_bucketed_rule_names_the_bucket(height, bucket, most):
    """The piece whose turn it is on this row, and no other."""
    said = why(BUCKETED, {"type": ["Car"], "h": [height], "w": [9]})

    assert (
        said == f"w 9 is above {most}, the most that 99 % of rows with type = Car and {bucket} have"
    )


def test_buckets_within_buckets_name_both():
    """`by a/2, b/2`: the cut of b that counts is the one within this half of a."""
    text = "x <= 1 if a <= 5 and b <= 2 else x <= 2 if a <= 5 else x <= 3 if b <= 7 else x <= 4"
    cases = {(0, 0): (1, "a up to 5 and b up to 2"), (0, 3): (2, "b above 2 and a up to 5")}
    cases |= {(9, 3): (3, "a above 5 and b up to 7"), (9, 8): (4, "a above 5 and b above 7")}
    for (a, b), (most, bucket) in cases.items():
        said = why(text, {"a": [a], "b": [b], "x": [9]}, coverage=None)

        assert said == f"x 9 is above {most}, the most that rows with {bucket} may have"


def test_pieces_that_are_not_buckets_are_named_by_their_tests():
    """What was tried before was not so."""
    said = why("x <= 1 if old else x <= 2", {"old": [False], "x": [9]}, coverage=None)

    assert said == "x 9 is above 2, the most that rows with not old may have"


def test_a_class_rule_says_which_class_the_value_belongs_to():
    """The paper's text rules: the value lies where only one class's values lie."""
    data = {"joy": [0.63, 0.5], "said": ["neutral", "positive"]}
    said = why("0.31 <= joy < 0.64 => sentiment = positive", data, prediction="said")

    assert said == "joy 0.63 belongs to sentiment = positive alone, and the prediction is neutral"


def test_a_class_rule_on_labels_names_the_label():
    """Without a prediction it is the label itself that does not fit."""
    data = {"joy": [0.63], "b": [0.9], "sentiment": ["neutral"]}
    said = why("b > 0.73 and (joy < 0.1 or joy > 0.6) => sentiment = positive", data)

    assert said == (
        "joy 0.63 belongs to sentiment = positive alone where b above 0.73, "
        "and sentiment is neutral"
    )


def test_a_class_rule_about_facts_says_what_they_imply():
    """No value to name: the facts themselves."""
    said = why(
        "wet and kind = dog => sick = 1",
        {"wet": [True], "kind": ["dog"], "sick": [0]},
        coverage=None,
    )

    assert said == "kind = dog implies sick = 1 where wet, and sick is 0"


def test_numbers_that_look_alike_get_as_many_digits_as_it_takes():
    """Never "5 is above 5"."""
    said = why("x <= 47796", {"x": [47796.004]}, coverage=None)

    assert said == "x 47,796.004 is above 47,796, the most that all rows may have"


def test_names_of_any_kind_stay_on_one_line():
    """Spaces need no backticks here, and line ends no lines."""
    data = {"a\nb `c`": [9.0], "kind": ["Person\tsitting"]}
    said = why('kind = "Person\\tsitting" => `a\nb ``c``` <= 5', data)

    assert (
        said == "a b `c` 9 is above 5, the most that 98 % of rows with kind = Person sitting have"
    )


def test_derived_statistics_and_expressions_have_their_value():
    """The value is that of what the rule bounds."""
    assert why("a / b <= 2", {"a": [9.0], "b": [2.0]}).startswith("a / b 4.5 is above 2, ")


@pytest.mark.parametrize("text", ["x <= 5", "x <= 5 if y <= 1 else x <= 6", "x <= 9 => y = 1"])
def test_a_pair_that_is_not_broken_is_refused(text):
    """A sentence that is not true is worse than none."""
    found = check(RuleSet.from_texts([text]), {"x": [1.0], "y": [1]})
    with pytest.raises(DataError) as caught:
        sentence(found, 0, 0)

    assert caught.value.what == "Row 0 does not break rule 0."
    assert caught.value.fix == "take the pairs from violations.pair_rule and violations.pair_row"


def test_a_rules_row_sentences_come_worst_first():
    """By how many widths the row is off."""
    rules = RuleSet.from_texts(["0 <= a <= 10", "0 <= b <= 10", "0 <= c <= 10"])
    found = check(rules, {"a": [11.0, 0.0], "b": [90.0, 0.0], "c": [1.0, 99.0]})

    assert [said.split()[0] for said in row_sentences(found, 0)] == ["b", "a"]
    assert row_sentences(check(rules, {"a": [1.0], "b": [1.0], "c": [1.0]}), 0) == []


@given(st.floats(-1e300, 1e300))
def test_a_readable_number_is_near_the_number(value):
    """Four digits say it to one part in a thousand."""
    assert float(readable(value).replace(",", "")) == pytest.approx(value, rel=1e-3)


def test_every_broken_pair_of_learned_rules_has_a_sentence_that_is_true():
    """The value that is named lies on the side of the bound that is named."""
    rng = np.random.default_rng(0)
    n = 400
    data = {
        "k": rng.choice(["a", "b"], n).tolist(),
        "x": rng.normal(size=n),
        "y": rng.normal(size=n),
    }
    schema = {
        "label": "k",
        "let": {"Y": "values(k)"},
        "rules": ["k = Y => ? <= x <= ? by y/3", "k = Y => ? <= y", "? <= x + y <= ? => k = Y"],
        "coverage": 0.9,
        "validate": False,
    }
    found = check(learn(data, schema), data)

    assert found.pair_rule.size > 50
    for rule, row in zip(found.pair_rule.tolist(), found.pair_row.tolist(), strict=True):
        said = sentence(found, rule, row)
        if "belongs to" in said:
            continue
        value, side, bound = SHAPE.match(said).groups()
        assert (float(value) > float(bound)) == (side == "above")
        assert "95 %" in said if found.rules[rule].upper is not None else "90 %" in said
