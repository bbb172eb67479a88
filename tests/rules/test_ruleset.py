"""RuleSet: columns that filter, sort, join and compare, and rules at the edge."""

import numpy as np
import pytest

import sqrl
from sqrl._rules.ruleset import RuleSet, concat_rules
from sqrl.errors import SchemaError, UnknownNameError

TEXTS = [
    "3 <= GCS <= 15",
    "type = Car => 0.07 <= aspect_ratio <= 2.77",
    "y <= 514.1 if area <= 4172 else 348.76 <= y <= 513.24 if area <= 13680.5 and b > 1"
    " else 1 <= y",
    "0.61 <= f1(age > 19834 and not cholesterol = 3 => cardio = 1) <= 0.66 over 4096",
    "0.5 <= precision(a or b => y = 1 or y = 2) over 16",
    "smoke => rate(a => b) <= 0.25 over 8",
    "not (a or b) => -0.02 <= mean(residual) <= 0.03 over 256",
    '(0 <= x < 3 or 5 < x <= 10) and smoke => y = "a b"',
    "0.25 <= rate(a or b) over 8",
]


def rules():
    return RuleSet.from_texts(
        TEXTS,
        coverage=[0.98] * len(TEXTS),
        support=list(range(100, 100 + len(TEXTS))),
        jaccard=[0.1 * i for i in range(len(TEXTS))],
    )


def test_a_rule_set_gives_back_the_sentences_it_was_made_of():
    """Columns and sentences say the same."""
    assert rules().texts() == TEXTS
    assert [rule.text for rule in rules()] == TEXTS


def test_bounds_are_columns_and_an_open_end_is_none():
    """Of a bucketed rule the outermost bounds stand in the columns."""
    made = rules()

    assert (made[0].lower, made[0].upper) == (3.0, 15.0)
    assert (made[4].lower, made[4].upper) == (0.5, None)
    assert (made[2].lower, made[2].upper) == (1.0, 514.1)


def test_slices_masks_and_places_give_rule_sets():
    """A rule set is indexed as an array is."""
    made = rules()

    assert made[2:4].texts() == TEXTS[2:4]
    assert made[[3, 0]].texts() == [TEXTS[3], TEXTS[0]]
    assert made[np.arange(len(TEXTS)) % 2 == 0].texts() == TEXTS[::2]
    assert made[-1].text == TEXTS[-1]
    with pytest.raises(IndexError):
        made[99]


def test_rules_are_filtered_by_a_formula_over_their_columns():
    """The language of rules is also the language of filters."""
    assert rules().filter("support > 104 and jaccard >= 0.6").texts() == TEXTS[6:]
    assert rules().filter("kind = class").texts() == [TEXTS[7]]
    assert rules().filter("`over` = 4096").texts() == [TEXTS[3]]


def test_an_unknown_column_in_a_filter_is_answered_with_the_nearest():
    """A typo costs one read of the message."""
    with pytest.raises(UnknownNameError, match="did you mean 'support'"):
        rules().filter("suport > 3")
    with pytest.raises(UnknownNameError, match="did you mean 'jaccard'"):
        rules().sort("jacard")


def test_rules_are_sorted_by_any_column_with_missing_values_last():
    """Width is a column too."""
    by_width = rules().sort("width", descending=False)

    assert by_width[0].text == TEXTS[6] or by_width[0].text == TEXTS[3]
    assert None in (by_width[-1].lower, by_width[-1].upper)
    assert rules().sort("support")[0].text == TEXTS[-1]
    assert rules().sort("text", descending=False).texts() == sorted(TEXTS)


def test_search_finds_a_word_in_any_case():
    """People look for a column's name."""
    assert rules().search("CARDIO").texts() == [TEXTS[3]]


def test_joined_sets_hold_each_rule_once():
    """Concatenation renumbers the formulas and drops what is said twice."""
    first, second = rules()[:5], rules()[3:]

    assert (first + second).texts() == TEXTS
    assert concat_rules([]).texts() == []
    assert concat_rules([second, first]).texts() == TEXTS[3:] + TEXTS[:3]


def test_a_template_is_not_a_rule():
    """Bounds that are not known cannot be kept."""
    with pytest.raises(SchemaError) as caught:
        RuleSet.from_texts(["3 <= GCS <= 15", "? <= GCS <= 15"])

    assert str(caught.value) == (
        "A template is not a rule: its bounds are not known yet.\n"
        "  where: rules[1], ? <= GCS <= 15\n"
        "  fix:   learn it from data, or write numbers for its bounds"
    )


def test_rules_become_data_frames():
    """pandas, polars and Arrow get the same columns."""
    made = rules()
    names = ["text", "kind", "statistic", "over", "lower", "upper"]

    assert made.to_arrow().column_names[:6] == names
    assert list(made.to_pandas().columns)[:6] == names
    assert made.to_polars().columns[:6] == names
    assert made.to_polars()["text"].to_list() == TEXTS


def test_jupyter_shows_a_table_with_everything_escaped():
    """A category can be hostile; the page runs nothing of it."""
    hostile = RuleSet.from_texts(['t = "<script>alert(1)</script>" => 1 <= x <= 2'], support=[7])
    page = hostile._repr_html_()

    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<th>support</th>" in page


def test_a_long_set_is_shown_by_its_first_rules():
    """repr is for a glance."""
    assert repr(rules()).splitlines()[0] == "RuleSet of 9 rules"
    assert repr(rules()).splitlines()[-1] == "  ... and 4 more"
    assert repr(RuleSet.from_texts([])) == "RuleSet of 0 rules"


def test_a_diff_tells_what_appeared_vanished_and_moved():
    """Rules are the same where only their bounds differ."""
    old = RuleSet.from_texts(
        [
            "type = Car => 0 <= w <= 10",
            "type = Van => 0 <= w <= 10",
            "0.5 <= f1(a > 3 => y = 1) <= 0.6 over 8",
            "1 <= x <= 2 if a <= 3 else 2 <= x <= 4",
            "0 < x <= 3 => y = 1",
        ]
    )
    new = RuleSet.from_texts(
        [
            "type = Car => 0 <= w <= 12",
            "0.5 <= f1(a > 3 => y = 1) <= 0.6 over 8",
            "0.5 <= f1(a > 4 => y = 1) <= 0.6 over 8",
            "1 <= x <= 2 if a <= 3.5 else 2 <= x <= 4",
            "1 < x <= 3 => y = 1",
        ]
    )
    made = old.diff(new)

    assert made.summary() == "1 appeared, 1 vanished, 3 moved, 1 unchanged"
    assert made.appeared.texts() == ["0.5 <= f1(a > 4 => y = 1) <= 0.6 over 8"]
    assert made.vanished.texts() == ["type = Van => 0 <= w <= 10"]
    assert made.moved[0].by_widths != made.moved[0].by_widths or made.moved[0].by_widths >= 0.2
    assert not old.diff(old)
    assert "type = Car" in made._repr_html_()


def test_learned_logic_rules_print_as_the_general_printer_prints_them():
    """The quick text of logic rules and the tree's text are one."""
    rng = np.random.default_rng(0)
    table = {
        "a": rng.normal(size=400),
        "b c": rng.integers(0, 3, 400),
        "flag": rng.random(400) < 0.5,
        "y": rng.choice(["one", "two words"], 400),
    }
    schema = {
        "let": {"Y": "values(y)", "L": "literals(a/3, `b c`, flag, a > 1 or flag)"},
        "rules": ["? <= f1(L{1..2} => y = Y) <= ? over 64", "? <= recall(L => y = Y) over 64"],
    }
    made = sqrl.learn(table, schema, keep="all")

    assert RuleSet.from_texts(made.texts()).texts() == made.texts()
    forms = [made.form(index) for index in range(len(made))]
    assert RuleSet.from_forms(forms).texts() == made.texts()


def test_the_columns_of_rules_are_those_they_name_anywhere():
    """In conditions, bodies, heads, subjects and tests, and behind derived statistics."""
    expected = ["GCS", "a", "age", "area", "aspect_ratio", "b", "cardio", "cholesterol"]
    expected += ["residual", "smoke", "type", "x", "y"]
    schema = {"statistics": {"area": "w * h"}, "rules": ["? <= area <= ?"], "validate": False}
    learned = sqrl.learn({"w": np.arange(200.0), "h": np.arange(200.0)}, schema)

    assert rules().columns() == tuple(expected)
    assert learned.columns() == ("h", "w")
    assert rules()[:0].columns() == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type = Car => w <= 9", [True, False, False]),  # unknown is not true
        ("w <= 9", [True, True, True]),
        ("0 <= f1(w > 1 and h > 1 => type = Car) <= 1 over 2", [False, True, False]),
        ("type = Van => rate(w > 2 => h > 0) <= 1 over 2", [False, True, False]),
        ("1 < w <= 2 => type = Car", [False, False, True]),
    ],
)
def test_a_rules_condition_is_true_where_one_sees_it_is(text, expected):
    """The condition, and with it the body of a logic rule, on rows that are looked at by eye."""
    data = {"type": ["Car", "Van", None], "w": [1, 3, 2], "h": [5, 5, None]}

    assert RuleSet.from_texts([text]).condition_holds(0, data).tolist() == expected


def test_a_condition_may_name_derived_statistics():
    """Those of the schema that the rules were learned by."""
    schema = {"statistics": {"area": "w * h"}, "rules": ["area > 100 => ? <= w"], "validate": False}
    data = {"w": np.arange(200.0), "h": np.ones(200)}
    learned = sqrl.learn(data, schema)

    assert learned.condition_holds(0, data).tolist() == (np.arange(200) > 100).tolist()


def test_a_short_text_has_four_digits_and_is_still_a_rule():
    """Words and small numbers stay as they are."""
    rule = RuleSet.from_texts(["type = Car => 0.123456 <= area <= 98765.4321"])[0]

    assert rule.short_text == "type = Car => 0.1235 <= area <= 98765"
    assert RuleSet.from_texts([rule.short_text])[0].upper == 98765
