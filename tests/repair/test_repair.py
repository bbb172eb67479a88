"""repair(): the nearest predictions that keep the rules, and what is said of the others."""

import doctest
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import sqrl
from sqrl._repair import roles
from sqrl.errors import DataError, UnknownNameError


def rules_of(*texts, label=None):
    """Rules from sentences, with a schema where there is a label to name."""
    rules = sqrl.RuleSet.from_texts(texts)
    if label is None:
        return rules
    return sqrl.RuleSet(rules.table, rules.nodes, sqrl.Schema(label=label, rules=("? <= x <= ?",)))


def column(repaired, name):
    """The values of a column after repair."""
    return repaired.table[name].to_pylist()


def reasons(table):
    """Why each line of a table is there."""
    return table["reason"].to_pylist()


# Clip


def test_numbers_move_to_the_nearest_bound_of_the_rules_that_apply():
    """Each row has its own interval: what all the rules that apply to it have in common."""
    rules = rules_of("kind = a => 0 <= x <= 9", "kind = b => 5 <= x", "x <= 20")
    table = {"kind": ["a", "a", "a", "b", "b", None], "x": [3.0, 12.5, -1.0, 2.0, 30.0, 99.0]}
    mended = sqrl.repair(rules, table)

    assert column(mended, "x") == [3.0, 9.0, 0.0, 5.0, 20.0, 20.0]
    assert (mended.before.total, mended.after.total) == (5, 0)
    assert mended.before.broken.tolist() == [2, 1, 2]
    assert (mended.n_changed, mended.changed, mended.n_conflicts) == (5, {"x": 5}, 0)


def test_each_change_names_its_row_its_values_and_the_rule_it_is_owed_to():
    """Of several rules the one that reaches furthest."""
    rules = rules_of("0 <= x <= 9", "a > 1 => x <= 7", "0 <= y <= 1")
    mended = sqrl.repair(rules, {"a": [0, 2], "x": [9.5, 9.5], "y": [0.5, 3.0]})

    assert mended.changes.to_pylist() == [
        {"row": 0, "column": "x", "before": "9.5", "after": "9", "rule": 0, "text": "0 <= x <= 9"},
        {"row": 1, "column": "x", "before": "9.5", "after": "7", "rule": 1}
        | {"text": "a > 1 => x <= 7"},
        {"row": 1, "column": "y", "before": "3", "after": "1", "rule": 2, "text": "0 <= y <= 1"},
    ]


def test_the_bucket_of_a_row_decides_on_its_bounds():
    """Pieces as in rules with `by`; an unknown test is for none of them."""
    rules = rules_of("0 <= x <= 1 if z <= 0 else 2 <= x <= 3 if z <= 5 else 9 <= x")
    mended = sqrl.repair(rules, {"x": [7.0] * 4, "z": [0.0, 1.0, 6.0, None]})

    assert column(mended, "x") == [1.0, 3.0, 9.0, 7.0]


def test_an_interval_without_width_leaves_one_value():
    """Zero width is a width."""
    assert column(sqrl.repair(rules_of("2 <= x <= 2"), {"x": [1.0, 2.0, 3.0]}), "x") == [2.0] * 3


def test_missing_and_infinite_values():
    """What is missing stays so, null as null and nan as nan; infinity is far, but can be moved."""
    given = pa.table({"x": pa.array([None, np.nan, np.inf, -np.inf, 5.0], from_pandas=False)})
    mended = sqrl.repair(rules_of("0 <= x <= 1", "x <= 4"), given)
    found = mended.table["x"]

    assert found.null_count == 1
    assert np.isnan(found[1].as_py())
    assert found.to_pylist()[2:] == [1.0, 0.0, 1.0]


def test_a_table_without_rows_is_repaired_to_itself():
    """Nothing to do is no error."""
    given = pa.table({"x": pa.array([], pa.float32())})
    mended = sqrl.repair(rules_of("0 <= x <= 1", "mean(x) <= 3 over 4"), given)

    assert mended.table.equals(given)
    assert (mended.n_changed, mended.before.total, mended.after.total) == (0, 0, 0)


def test_where_rules_contradict_the_fewest_are_broken_nearest_first():
    """9 moves to 6, which keeps two of three; 5 and 0 cannot do better than stay."""
    rules = rules_of("0 <= x <= 2", "4 <= x <= 6", "x <= 7")
    mended = sqrl.repair(rules, {"x": [9.0, 5.0, 0.0, 3.0]})

    assert column(mended, "x") == [6.0, 5.0, 0.0, 2.0]  # of two as near the lower
    assert mended.conflicts["row"].to_pylist() == [0, 1, 2, 3]
    assert mended.conflicts["rule"].to_pylist() == [0, 0, 1, 1]
    assert set(reasons(mended.conflicts)) == {"the rules that apply contradict each other"}
    assert mended.n_conflicts == mended.after.total == 4


def test_infinite_values_find_the_nearest_of_contradicting_bounds():
    """From above the highest of the best, from below the lowest."""
    rules = rules_of("0 <= x <= 2", "4 <= x <= 6")

    assert column(sqrl.repair(rules, {"x": [np.inf, -np.inf]}), "x") == [6.0, 0.0]


def test_a_change_that_gains_nothing_is_not_made():
    """To keep the first rule would break one of the others, which contradict for a = 1."""
    rules = rules_of("x <= 5", "x <= 5 => y <= 1", "a = 1 => 3 <= y")
    mended = sqrl.repair(rules, {"a": [1, 0], "x": [9.0, 9.0], "y": [4.0, 4.0]}, columns=["x", "y"])

    assert column(mended, "x") == [9.0, 5.0]
    assert column(mended, "y") == [4.0, 1.0]
    assert mended.conflicts.to_pylist() == [
        {"row": 0, "rule": 0, "text": "x <= 5", "reason": "keeping it breaks another rule"}
    ]


def test_a_change_may_bring_other_rules_to_bear():
    """Moving x into the condition of the second rule moves y as well."""
    rules = rules_of("x <= 5", "x <= 5 => y <= 1")
    mended = sqrl.repair(rules, {"x": [9.0, 4.0], "y": [4.0, 0.0]}, columns=["y", "x"])

    assert column(mended, "x") == [5.0, 4.0]
    assert column(mended, "y") == [1.0, 0.0]
    assert mended.after.total == 0


def test_changes_that_switch_off_their_own_cause_are_taken_back():
    """Raising x makes y rise, and then nothing asks for a high x any more."""
    rules = rules_of("y <= 5 => 10 <= x", "x > 9 => 6 <= y")
    mended = sqrl.repair(rules, {"x": [3.0], "y": [4.0]}, columns=["x", "y"])

    assert (column(mended, "x"), column(mended, "y")) == ([3.0], [6.0])
    assert mended.after.total == 0


def test_rows_that_go_in_circles_are_left_as_they_were():
    """No value of x keeps both rules, and each sends it to the other."""
    rules = rules_of("x <= 5 => 6 <= x", "x > 5 => x <= 5")
    mended = sqrl.repair(rules, {"x": [1.0, 7.0]}, columns=["x"])

    assert column(mended, "x") == [1.0, 7.0]
    assert reasons(mended.conflicts) == ["changes went in circles"] * 2


# Types


def test_whole_numbers_stay_whole_where_the_bounds_allow():
    """A column of integers takes the nearest integer inside; null stays null."""
    given = pa.table({"x": pa.array([9, None, -4, 2], pa.int16())})
    mended = sqrl.repair(rules_of("-1.5 <= x <= 3.7"), given)

    assert mended.table["x"].type == pa.int16()
    assert column(mended, "x") == [3, None, -1, 2]
    assert mended.after.total == 0


def test_whole_numbers_become_floats_where_no_whole_number_is_allowed():
    """The rule is kept; the other rows keep their numbers."""
    given = pa.table({"a": [0, 1], "x": pa.array([9, 9], pa.int64())})
    mended = sqrl.repair(rules_of("a = 0 => 2.2 <= x <= 2.8", "a = 1 => x <= 8.5"), given)

    assert mended.table["x"].type == pa.float64()
    assert column(mended, "x") == [2.8, 8.0]


def test_bounds_beyond_the_type_make_it_a_float():
    """An int8 cannot be 300, nor a float16 a million."""
    for of, low in ((pa.int8(), 300), (pa.float16(), 1_000_000)):
        given = pa.table({"x": pa.array([np.float16(1), np.float16(2)]).cast(of)})
        mended = sqrl.repair(rules_of(f"{low} <= x"), given)

        assert mended.table["x"].type == pa.float64()
        assert column(mended, "x") == [low, low]


def test_single_precision_is_rounded_into_the_interval_not_out_of_it():
    """0.1 and 0.7 are not in float32: the bound nearest to them inside is taken."""
    given = pa.table({"x": pa.array([9.0, -9.0, 0.5], pa.float32())})
    mended = sqrl.repair(rules_of("0.1 <= x <= 0.7"), given)
    high, low, same = column(mended, "x")

    assert mended.table["x"].type == pa.float32()
    assert mended.after.total == 0
    assert 0.7 - 1e-7 < high <= 0.7
    assert 0.1 <= low < 0.1 + 1e-7
    assert same == 0.5


def test_all_else_is_given_back_as_it_came():
    """Other columns, their types, the order of rows and the schema's metadata."""
    given = pa.table(
        {
            "when": pa.array([1, 2], pa.timestamp("s")),
            "x": pa.chunked_array([[9.0], [1.0]]),
            "name": pa.array(["é", None]).dictionary_encode(),
            "list": [[1], [2, 3]],
        }
    ).replace_schema_metadata({"made": "by hand"})
    mended = sqrl.repair(rules_of("0 <= x <= 5"), given)

    assert mended.table.schema.equals(given.schema, check_metadata=True)
    assert mended.table.drop_columns(["x"]).equals(given.drop_columns(["x"]))
    assert column(mended, "x") == [5.0, 1.0]


@pytest.mark.parametrize("kind", ["dict", "arrays", "pandas", "polars", "lazy", "path", "Table"])
def test_anything_that_is_a_table_can_be_repaired(tmp_path, kind):
    """The same predictions in every form give the same result."""
    plain = {"x": [9.0, 1.0], "said": ["a", None]}
    arrow = pa.table(plain)
    if kind in {"polars", "lazy"}:
        pl = pytest.importorskip("polars")
    makers = {
        "dict": lambda: plain,
        "arrays": lambda: {"x": np.array(plain["x"]), "said": np.array(plain["said"], object)},
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(plain, index=[5, 3]),
        "polars": lambda: pl.DataFrame(plain),
        "lazy": lambda: pl.LazyFrame(plain),
        "path": lambda: _written(tmp_path / "p.csv", "x,said\n9.0,a\n1.0,\n"),
        "Table": lambda: sqrl.as_table(arrow),
    }
    mended = sqrl.repair(rules_of("x <= 5", "said = a => x <= 4"), makers[kind]())

    assert column(mended, "x") == [4, 1]
    assert column(mended, "said") == ["a", None]


def _written(path, text):
    path.write_text(text)
    return path


# Labels

BOXES = {
    "said": ["Car", "Car", "Van", None, "Tram"],
    "width": [1.0, 9.0, 9.0, 9.0, 9.0],
    "p_car": [0.8, 0.6, 0.2, 0.3, 0.5],
    "p_van": [0.1, 0.1, 0.5, 0.3, 0.3],
    "p_tram": [0.1, 0.3, 0.3, 0.4, 0.2],
}
CHANCES = {"Car": "p_car", "Van": "p_van", "Tram": "p_tram"}


def test_the_likeliest_class_that_breaks_no_rule_is_taken():
    """Car is too narrow for 9; of the others Tram is likelier in row 1. Row 4 may stay."""
    rules = rules_of("type = Car => width <= 3", "type = Van => width <= 20")
    mended = sqrl.repair(rules, BOXES, prediction="said", probabilities=CHANCES)

    assert column(mended, "said") == ["Car", "Tram", "Van", None, "Tram"]
    assert "type" not in mended.table.column_names
    assert mended.changes.to_pylist() == [
        {"row": 1, "column": "said", "before": "Car", "after": "Tram", "rule": 0}
        | {"text": "type = Car => width <= 3"}
    ]


def test_rules_that_imply_a_class_rank_too():
    """Only Van is allowed above 8, however unlikely."""
    rules = rules_of("type = Car => width <= 3", "width > 8 => type = Van")
    mended = sqrl.repair(rules, BOXES, prediction="said", probabilities=CHANCES)

    assert column(mended, "said") == ["Car", "Van", "Van", None, "Van"]
    assert mended.after.total == 0


def test_where_every_class_breaks_a_rule_the_fewest_then_the_likeliest():
    """Car breaks two rules, Van and Tram one each; a class that is among the best stays."""
    rules = rules_of(
        "type = Car => width <= 3",
        "type = Car => width <= 4",
        "type = Van => width <= 3",
        "type = Tram => width <= 3",
    )
    mended = sqrl.repair(rules, BOXES, prediction="said", probabilities=CHANCES)

    assert column(mended, "said") == ["Car", "Tram", "Van", None, "Tram"]
    assert mended.conflicts["row"].to_pylist() == [1, 2, 4]
    assert set(reasons(mended.conflicts)) == {"every class breaks a rule"}


def test_a_row_whose_probabilities_are_missing_is_left():
    """Nobody can say which class is likelier."""
    table = BOXES | {"p_van": [0.1, None, 0.5, 0.3, 0.3]}
    rules = rules_of("type = Car => width <= 3", "type = Van => width <= 20")
    mended = sqrl.repair(rules, table, prediction="said", probabilities=CHANCES)

    assert column(mended, "said") == BOXES["said"]
    assert reasons(mended.conflicts) == ["the probability of a class is missing"]


def test_without_probabilities_only_one_class_left_is_an_answer():
    """`type = Van` leaves one, `type != Car` leaves two, contradicting rules leave none."""
    rules = rules_of("a = 1 => type = Van", "a >= 2 => type != Car", "a = 3 => type = Car")
    table = {"a": [1, 2, 3, 0], "said": ["Car", "Car", "Tram", "Car"]}
    mended = sqrl.repair(rules, table, prediction="said")

    assert column(mended, "said") == ["Van", "Car", "Tram", "Car"]
    assert mended.conflicts["row"].to_pylist() == [1, 2]
    assert set(reasons(mended.conflicts)) == {"not exactly one class is allowed"}


def test_without_probabilities_rules_about_a_class_are_left_out():
    """That cars are narrower does not say what a wide one is."""
    rules = rules_of("type = Car => width <= 3", "width > 80 => type = Van")
    mended = sqrl.repair(rules, BOXES, prediction="said")

    assert mended.table.equals(pa.table(BOXES))
    assert mended.left_out.to_pylist() == [
        {"rule": 0, "text": "type = Car => width <= 3"}
        | {"reason": "another class can be chosen for it only with probabilities"}
        | {"violations_before": 1, "violations_after": 1}
    ]


@pytest.mark.parametrize(
    ("of", "values", "expected"),
    [
        (pa.bool_(), [True, False, None], [False, False, None]),
        (pa.int8(), [1, 0, None], [0, 0, None]),
        (pa.float32(), [1, 0, None], [0, 0, None]),
        (pa.string(), ["1", "0", None], ["0", "0", None]),
        (pa.large_string(), ["1", "0", None], ["0", "0", None]),
        (pa.dictionary(pa.int8(), pa.string()), ["1", "0", None], ["0", "0", None]),
    ],
    ids=str,
)
def test_labels_keep_their_type(of, values, expected):
    """The class 0 is written as the column writes it."""
    table = pa.table({"y": pa.array(values, of), "p": [0.9, 0.1, 0.5], "a": [1, 1, 1]})
    zero, one = ("false", True) if of == pa.bool_() else ("0", 1)
    rules = rules_of(f"a = 1 => y = {zero}", f"a = 2 => y = {str(one).lower()}")
    for more in ({}, {"probabilities": {one: "p"}}):
        mended = sqrl.repair(rules, table, prediction="y", **more)

        assert mended.table["y"].type == of
        assert column(mended, "y") == expected


def test_a_dictionary_keeps_its_order():
    """Ordered categories stay in order; a class that was not among them comes last."""
    words = pa.array(["low", "high"])
    parts = [pa.DictionaryArray.from_arrays(codes, words, ordered=True) for codes in ([0, 1], [1])]
    rules = rules_of("a = 1 => level = low", "a = 2 => level = none")
    table = pa.table({"level": pa.chunked_array(parts), "a": [0, 1, 2]})
    mended = sqrl.repair(rules, table, prediction="level")

    assert column(mended, "level") == ["low", "low", "none"]
    assert mended.table["level"].type.ordered
    assert mended.table["level"].chunk(0).dictionary.to_pylist() == ["low", "high", "none"]


def test_of_two_classes_one_probability_is_enough():
    """The other has the rest."""
    rules = rules_of("a = 1 => y = 0", "a = 2 => y = 1")
    mended = sqrl.repair(rules, {"y": [1, 1], "p": [0.9, 0.8], "a": [1, 3]}, probabilities={1: "p"})

    assert column(mended, "y") == [0, 1]


def test_label_and_numbers_are_repaired_together():
    """The rule about what a class bounds clips; the class is chosen by the others."""
    rules = rules_of("type = Van => 0 <= speed <= 90", "width > 8 => type = Van")
    table = BOXES | {"speed": [200.0] * 5}
    given = {"prediction": "said", "probabilities": CHANCES, "columns": ["speed"]}
    mended = sqrl.repair(rules, table, **given)

    assert column(mended, "said") == ["Car", "Van", "Van", None, "Van"]
    assert column(mended, "speed") == [200.0, 90.0, 90.0, 200.0, 90.0]
    assert mended.changed == {"said": 2, "speed": 3}
    assert mended.after.total == 0


def test_a_predicted_number_stands_in_for_the_label():
    """Regression: the truth beside it is not touched."""
    rules = rules_of("0 <= price <= 6", label="price")
    mended = sqrl.repair(rules, {"price": [7.0, 2.0], "guess": [9.0, 1.0]}, prediction="guess")

    assert mended.table.to_pydict() == {"price": [7.0, 2.0], "guess": [6.0, 1.0]}
    assert mended.before.prediction == "guess"


def test_labels_that_are_all_missing_stay_so():
    """No rule applies to them."""
    rules = rules_of("a = 1 => type = Van", "a = 2 => type = Car")
    table = {"a": [1], "said": [None], "p": [0.5]}
    for more in ({}, {"probabilities": {"Van": "p"}}):
        assert column(sqrl.repair(rules, table, prediction="said", **more), "said") == [None]


def test_the_label_can_be_named_among_the_columns():
    """As a class where rules imply it; as a number where rules bound it."""
    implied = sqrl.repair(rules_of("a = 1 => y = 0"), {"a": [1, 2], "y": [1, 1]}, columns=["y"])
    rules = rules_of("y = 1 => a <= 3", "0 <= y <= 5")
    bounded = sqrl.repair(rules, {"a": [1, 9], "y": [7, 1]}, columns=["y"])

    assert column(implied, "y") == [0, 1]
    assert column(bounded, "y") == [5, 1]
    assert reasons(bounded.left_out) == ["only its condition may change"]


# What is left out


def test_rules_that_no_row_can_repair_are_left_out_with_a_reason():
    """And with how they fared, since a repair may break them."""
    rules = rules_of(
        "0 <= x <= 5",
        "mean(x) <= 3 over 2",
        "0 <= f1(x > 3 => type = Car) <= 1 over 2",
        "0 <= z <= 1",
        "x - z <= 4",
        "x > 5 => z <= 0",
        "x > 5 => z > 0",
        "5.5 <= 1.1 * x",
    )
    table = {"x": [9.0, 9.0], "z": [0.0, 1.0], "type": ["Car", "Van"]}
    mended = sqrl.repair(rules, table, columns=["x"])

    assert mended.left_out["rule"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    assert reasons(mended.left_out) == [
        "about mini-batches, not about single rows",
        "about mini-batches, not about single rows",
        "names nothing that may change",
        "bounds an expression, not a column by itself",
        "only its condition may change",
        "implies something other than a class",
        "bounds an expression, not a column by itself",
    ]
    assert mended.left_out["violations_before"].to_pylist() == [1, 0, 0, 2, 1, 1, 0]
    assert mended.left_out["violations_after"].to_pylist() == [1, 0, 0, 1, 0, 0, 0]
    assert mended.reasons()["names nothing that may change"] == 1


def test_the_label_in_another_role_than_a_class_is_left_out():
    """Mixed with other columns in a formula, in a test, in what is bounded, or on both sides."""
    rules = rules_of(
        "type = Car or a > 1 => width <= 3",
        "width <= 3 if type = Car else width <= 9",
        "type = Car => type = Van",
        "width > 3 => type = Car or a > 1",
        "a > 1 => type = Van",
    )
    table = {"type": ["Car"], "a": [2], "width": [2.0], "p": [1.0], "q": [0.0]}
    mended = sqrl.repair(rules, table, probabilities={"Car": "p", "Van": "q"})

    assert reasons(mended.left_out) == ["speaks of the label in another way than as a class"] * 4
    assert column(mended, "type") == ["Van"]


# Which columns may change


def test_by_default_columns_that_rules_only_bound_may_change():
    """A condition is what a model was given."""
    mended = sqrl.repair(rules_of("a > 1 => x <= 5"), {"a": [9.0], "x": [9.0]})

    assert mended.table.to_pydict() == {"a": [9.0], "x": [5.0]}


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (
            ["a > 1 => x <= 5", "x <= 3 => 0 <= a <= 2"],
            {},
            "It is not clear whether 'x' is a prediction: some rules bound it, others use it.\n"
            "  where: dict\n"
            "  fix:   name the columns that may change, such as columns=['x']",
        ),
        (
            ["a > 1 => kind = k"],
            {},
            "Nothing says which columns are predictions.\n"
            "  where: dict\n"
            "  fix:   name them with columns=, or the column with the predicted class with "
            "prediction=",
        ),
        (
            ["x <= 5"],
            {"columns": ["kind"]},
            "Column 'kind' does not hold numbers, so it cannot be clipped.\n"
            "  where: dict\n"
            "  fix:   name the column with the predicted class with prediction=",
        ),
        (
            ["x <= 5"],
            {"prediction": "x"},
            "The rules do not say which column is the label.\n"
            "  fix:   learn them with a schema that has 'label:'",
        ),
        (
            ["a > 1 => y = 1"],
            {"probabilities": {"yes": "a"}},
            "The class 'yes' cannot be written to column 'y', which holds numbers.\n"
            "  fix:   name the classes as the column does",
        ),
    ],
)
def test_what_may_change_must_be_clear(texts, options, message):
    """A prediction is never guessed."""
    table = {"a": [1.0], "x": [9.0], "kind": ["k"], "y": [1]}
    with pytest.raises(DataError) as raised:
        sqrl.repair(rules_of(*texts), table, **options)

    assert str(raised.value) == message


def test_a_misspelt_column_is_answered_with_the_nearest():
    """Also where it is one of the rules."""
    with pytest.raises(UnknownNameError, match="did you mean 'speed'"):
        sqrl.repair(rules_of("speed <= 5"), {"speed": [1.0]}, columns=["sped"])


def test_a_table_without_the_values_of_a_column_cannot_be_given_back():
    """A sqrl Table does not keep dates."""
    table = sqrl.as_table(pa.table({"x": [9.0], "day": pa.array([1], pa.date32())}))
    with pytest.raises(DataError) as raised:
        sqrl.repair(rules_of("x <= 5"), table)

    assert str(raised.value) == (
        "Column 'day' holds neither numbers nor categories, and a Table not even its values.\n"
        "  where: Table\n"
        "  fix:   give the file or the dataframe that the table was made of"
    )


# The result


def test_the_result_says_what_was_done():
    """In a line, in a few, in a notebook and as plain data; names from the data are escaped."""
    rules = rules_of("`<x>` <= 5", "4 <= `<x>` <= 9", "mean(`<x>`) <= 3 over 2")
    mended = sqrl.repair(rules, {"<x>": [1.0, 7.0, 4.5]})

    assert repr(mended) == (
        "Repaired: 2 of 3 rows changed; 2 violations of 2 rules before, 0 after; 1 rule left out"
    )
    assert list(mended.lines())[:6] == [
        "dict: 3 rows, 3 rules",
        "          2 rules repaired",
        "          2 rows changed: <x> 2",
        "          2 violations before",
        "          0 violations after",
        "          1 rule left out: about mini-batches, not about single rows; violations",
    ]
    assert "&lt;x&gt;" in mended._repr_html_()
    assert "<x>" not in mended._repr_html_()
    assert mended.to_dict()["changed"] == {"<x>": 2}
    assert len(mended) == 3


def test_portions_of_rows_change_nothing(monkeypatch):
    """Memory is bounded by repairing some rows at a time."""
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=60) for name in "xyz"} | {"said": list("abc" * 20)}
    chances = rng.dirichlet(np.ones(3), 60)
    table |= {f"p_{name}": chances[:, place] for place, name in enumerate("abc")}
    rules = rules_of(
        "x > 0 => -0.5 <= y <= 0.5",
        "-1 <= x <= 1 if y <= 0 else x <= 0.8",
        "kind = a => z <= 0",
        "kind = b => 0 <= z <= 1",
        "y > 0 => kind != c",
    )
    given = {"prediction": "said", "columns": ["x", "y"]}
    given["probabilities"] = {name: f"p_{name}" for name in "abc"}
    whole = sqrl.repair(rules, table, **given)
    monkeypatch.setattr("sqrl._repair.mend.MOST_AT_ONCE", 7)
    parts = sqrl.repair(rules, table, **given)

    assert whole.n_changed > 20
    assert parts.table.equals(whole.table)
    assert parts.changes.equals(whole.changes)
    assert parts.conflicts.equals(whole.conflicts)


def test_the_page_about_repair_is_true():
    """Its example runs, and it names every reason for which a rule is left out."""
    page = Path(__file__).parents[2] / "docs" / "repair.md"

    assert doctest.testfile(str(page), module_relative=False).failed == 0
    for reason in (
        *(roles.GROUPED, roles.UNTOUCHED, roles.EXPRESSION, roles.CONDITION),
        *(roles.MIXED, roles.UNRANKED, roles.NO_CLASS),
    ):
        assert f"| {reason} |" in page.read_text()


# Properties

STEPS = [step / 2 for step in range(-6, 7)]
numbers = st.none() | st.sampled_from(STEPS)
rows_of_numbers = st.lists(
    st.fixed_dictionaries({"x": numbers, "y": numbers, "z": numbers}), min_size=1, max_size=6
)


@st.composite
def intervals(draw, subject, conditions):
    """A rule that bounds the subject: either side open, of any width, in pieces or not."""
    low, high = sorted(draw(st.tuples(st.sampled_from(STEPS), st.sampled_from(STEPS))))
    shape = draw(st.sampled_from(["{l} <= {s} <= {h}", "{l} <= {s}", "{s} <= {h}", "{p}"]))
    test = f"{draw(st.sampled_from(conditions))} <= {draw(st.sampled_from(STEPS))}"
    piece = f"{low} <= {subject} <= {high} if {test} else {subject} <= {low}"
    text = shape.format(l=low, h=high, s=subject, p=piece)
    if draw(st.booleans()):
        text = f"{draw(st.sampled_from(conditions))} > {draw(st.sampled_from(STEPS))} => {text}"
    return text


def as_columns(rows):
    """Rows as a table of float64, None being null."""
    names = rows[0].keys()
    return pa.table({name: pa.array([row[name] for row in rows], pa.float64()) for name in names})


def count_broken(rules, row):
    """How many rules a row breaks, by definition."""
    forms = [rules.form(place) for place in range(len(rules))]
    return sum(naive.outcome(form, row) == "broken" for form in forms)


@given(rows=rows_of_numbers, texts=st.lists(intervals("x", ["y", "z"]), min_size=1, max_size=5))
def test_each_number_is_the_nearest_that_breaks_the_fewest_rules(rows, texts):
    """Against every value of a grid that has all the bounds and what lies between them."""
    rules = rules_of(*texts)
    mended = sqrl.repair(rules, as_columns(rows), columns=["x"])
    grid = [step / 4 for step in range(-16, 17)]
    for row, after in zip(rows, mended.table.to_pylist(), strict=True):
        if row["x"] is None:
            assert after["x"] is None
            continue
        best = min(
            (count_broken(rules, row | {"x": value}), abs(value - row["x"]))
            for value in [*grid, row["x"]]
        )
        assert (count_broken(rules, after), abs(after["x"] - row["x"])) == best
        assert after == row | {"x": after["x"]}


@given(
    rows=rows_of_numbers,
    texts=st.lists(
        intervals("x", ["x", "y", "z"]) | intervals("y", ["x", "y", "z"]), min_size=1, max_size=5
    ),
)
def test_whatever_the_rules_no_row_is_worse_and_repairing_twice_is_repairing_once(rows, texts):
    """Rules that switch each other on and off: held against the definition, row by row."""
    rules = rules_of(*texts)
    mended = sqrl.repair(rules, as_columns(rows), columns=["x", "y"])
    again = sqrl.repair(rules, mended.table, columns=["x", "y"])
    in_conflict = set(mended.conflicts["row"].to_pylist())
    for place, (row, after) in enumerate(zip(rows, mended.table.to_pylist(), strict=True)):
        before, left = count_broken(rules, row), count_broken(rules, after)

        assert (left > 0) == (place in in_conflict)
        assert after == row if not before else left < before or after == row
        assert after["z"] == row["z"]
        for name in ("x", "y"):
            assert (after[name] is None) == (row[name] is None)
            if after[name] != row[name]:  # nothing that changed could have stayed
                assert count_broken(rules, after | {name: row[name]}) > left or left
    assert again.table.equals(mended.table)
    assert sqrl.check(rules, mended.table).total == mended.after.total == again.before.total


CLASSES = ("a", "b", "c")
class_rules = st.one_of(
    st.builds("z > {} => said = {}".format, st.sampled_from(STEPS), st.sampled_from(CLASSES)),
    st.builds("z <= {} => said != {}".format, st.sampled_from(STEPS), st.sampled_from(CLASSES)),
    st.builds("said = {} => z <= {}".format, st.sampled_from(CLASSES), st.sampled_from(STEPS)),
    st.builds("said in [a, {}] => {} <= z".format, st.sampled_from("bc"), st.sampled_from(STEPS)),
)
rows_of_labels = st.lists(
    st.fixed_dictionaries(
        {
            "z": numbers,
            "said": st.none() | st.sampled_from([*CLASSES, "d"]),
            "order": st.permutations((0.5, 0.3, 0.2)),
        }
    ),
    min_size=1,
    max_size=6,
)


@given(rows=rows_of_labels, texts=st.lists(class_rules, min_size=1, max_size=5))
def test_each_label_stays_or_is_the_likeliest_that_breaks_the_fewest_rules(rows, texts):
    """Against trying every class on every row."""
    anchors = [f"said = {name} => z <= 100" for name in CLASSES]  # so that each class is known
    rules = rules_of(*anchors, *texts, label="said")
    rows = [{"z": None, "said": "a", "order": (0.5, 0.3, 0.2)}, *rows]
    table = {"z": pa.array([row["z"] for row in rows], pa.float64())}
    table["said"] = pa.array([row["said"] for row in rows], pa.string())
    for place, name in enumerate(CLASSES):
        table[f"p_{name}"] = [row["order"][place] for row in rows]
    given = {"probabilities": {name: f"p_{name}" for name in CLASSES}, "prediction": "said"}
    mended = sqrl.repair(rules, pa.table(table), **given)
    again = sqrl.repair(rules, mended.table, **given)
    for row, after in zip(rows, mended.table["said"].to_pylist(), strict=True):
        own = count_broken(rules, row)
        tried = [
            (count_broken(rules, row | {"said": name}), -row["order"][place], name)
            for place, name in enumerate(CLASSES)
        ]
        best = min(tried)
        stays = row["said"] is None or own <= best[0]

        assert after == (row["said"] if stays else best[2])
    assert again.table.equals(mended.table)


@given(
    values=st.lists(st.none() | st.integers(-100, 100), min_size=1, max_size=8),
    bounds=st.tuples(st.floats(-100, 100), st.floats(-100, 100)).map(sorted),
    of=st.sampled_from([pa.int8(), pa.int64(), pa.uint8(), pa.float32(), pa.float16()]),
)
def test_every_type_ends_inside_its_bounds(values, bounds, of):
    """Whatever the type, what is repaired keeps the rule, and what kept it is the same bits."""
    if of == pa.uint8():
        values = [value if value is None else abs(value) for value in values]
    given = pa.table({"x": pa.array(values, pa.float64()).cast(of)})
    rules = rules_of(f"{bounds[0]!r} <= x <= {bounds[1]!r}")
    mended = sqrl.repair(rules, given)

    assert sqrl.check(rules, mended.table).total == 0
    assert mended.table["x"].type in {of, pa.float64()}
    for before, after in zip(given["x"].to_pylist(), column(mended, "x"), strict=True):
        if before is None or bounds[0] <= before <= bounds[1]:
            assert after == before


def test_the_old_order_of_rules_and_predictions_is_taken_with_a_warning():
    """repair(predictions, rules) was written by many; it gives what it gave."""
    rules, given = rules_of("x <= 4"), {"x": [1.0, 9.0]}
    with pytest.warns(DeprecationWarning, match=r"^repair\(\) takes the rules first: repair\("):
        mended = sqrl.repair(given, rules)

    assert column(mended, "x") == column(sqrl.repair(rules, given), "x") == [1.0, 4.0]


@pytest.mark.parametrize(
    ("given", "upper", "expected"),
    [
        (pa.array([Decimal("1.5"), Decimal("99.5")]), 5.25, [Decimal("1.5"), Decimal("5.2")]),
        (pa.array([Decimal(1), None, Decimal(99)]), 5.25, [Decimal(1), None, Decimal(5)]),
        (pa.array([Decimal("0.3"), Decimal("9.9")]), 0.7, [Decimal("0.3"), Decimal("0.7")]),
        (pa.array([1.5, 99.0]).dictionary_encode(), 5.25, [1.5, 5.25]),
        (pa.array([1, None, 99], pa.int8()).dictionary_encode(), 5.25, [1, None, 5]),
        (pa.array([Decimal(7), Decimal(99)]).dictionary_encode(), 8.5, [Decimal(7), Decimal(8)]),
    ],
)
def test_decimals_and_dictionaries_keep_their_type(given, upper, expected):
    """The nearest value that the type has lies within the bounds."""
    rules = sqrl.RuleSet.from_texts([f"0 <= x <= {upper}"])
    table = sqrl.repair(rules, pa.table({"x": given})).table

    assert table["x"].type == given.type
    assert table["x"].to_pylist() == expected


def test_a_decimal_without_a_value_in_the_bounds_becomes_a_float():
    """As an integer does."""
    rules = sqrl.RuleSet.from_texts(["2.25 <= x <= 2.75"])
    given = pa.table({"x": pa.array([Decimal(7)])})

    assert sqrl.repair(rules, given).table["x"].to_pylist() == [2.75]
