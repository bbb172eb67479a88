"""Mask keeps classes from being predicted that rules exclude."""

import pytest
import torch

from sqrl._adapt.batches import Batch, Categories
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema
from sqrl.errors import AdaptError, UnknownNameError
from sqrl.methods import Mask

NAN = float("nan")


def rules_of(*texts):
    return RuleSet.from_texts(texts)


def masked(texts, columns, out, **options):
    batch = Batch(None, {name: torch.tensor(values) for name, values in columns.items()})
    return Mask(rules_of(*texts), **options).finish(batch, torch.tensor(out)).isinf().tolist()


def test_mask_rules_out_the_classes_that_a_rule_excludes():
    """Only where its condition holds; where it is unknown the rule does not apply."""
    texts = ["age <= 50 => y = 0", "bmi > 40 => y != 0"]
    columns = {"age": [40.0, 60.0, 60.0, NAN], "bmi": [20.0, 50.0, 20.0, 20.0]}
    made = masked(texts, columns, [[0.0, 1.0]] * 4, classes=[0, 1])

    assert made == [[False, True], [True, False], [False, False], [False, False]]


def test_mask_leaves_a_row_alone_whose_classes_are_all_excluded():
    """Rules that contradict each other decide nothing."""
    texts = ["age <= 50 => y = 0", "bmi > 40 => y = 1"]

    assert masked(texts, {"age": [40.0], "bmi": [50.0]}, [[0.0, 1.0]]) == [[False, False]]


def test_mask_orders_classes_by_value():
    """10 comes after 2; classes in between that no rule names are known by their place."""
    texts = ["x > 0 => y = 10", "x > 9 => y = 2"]

    assert masked(texts, {"x": [1.0]}, [[5.0, 0.0]]) == [[True, False]]
    assert masked(["x > 0 => y = 1"], {"x": [1.0]}, [[5.0, 0.0, 1.0]]) == [[True, False, True]]


def test_mask_understands_any_head_about_the_label():
    """Membership and `or` exclude what they do not allow."""
    columns, out, classes = {"x": [1.0]}, [[0.0, 0.0, 0.0]], ["a", "b", "c"]

    for head in ("y in [a, b]", "y = a or y = b", "not y = c", "y != c"):
        made = masked([f"x > 0 => {head}"], columns, out, classes=classes, label="y")
        assert made == [[False, False, True]], head


def test_mask_reads_categories_and_derived_statistics():
    """Text columns, and expressions that the schema names."""
    made = rules_of("kind = bus and area > 5 => y = 1")
    schema = Schema(statistics={"area": "w * h"}, rules=["? <= area <= ? => y = 1"], label="y")
    mask = Mask(RuleSet(made.table, made.nodes, schema), classes=[0, 1])
    columns = {
        "kind": Categories(torch.tensor([0, 0, 1, -1]), ("bus", "car")),
        "w": torch.tensor([2.0, 3.0, 3.0, 3.0]),
        "h": torch.tensor([2.0, 2.0, 2.0, 2.0]),
    }
    out = mask.finish(Batch(None, columns), torch.zeros(4, 2))

    assert out.isinf().tolist() == [[False, False], [True, False], [False, False], [False, False]]


def test_mask_takes_columns_from_the_function_that_a_rule_loss_takes():
    """What it gives for the label is not looked at."""
    mask = Mask(
        rules_of("x > 0 => y = 1"),
        names=lambda batch, out: {"x": batch, "y": out.softmax(-1)},
        classes=[0, 1],
    )

    assert mask.finish(torch.tensor([1.0]), torch.zeros(1, 2)).tolist() == [[-torch.inf, 0.0]]


def test_mask_keeps_the_rest_of_the_output_and_its_precision():
    """A model's other outputs go through; the given ones are not changed in place."""
    mask = Mask(rules_of("x > 0 => y = 1"), classes=[0, 1])
    out = {"logits": torch.zeros(1, 2, dtype=torch.float16), "loss": 3}
    made = mask.finish(Batch(None, {"x": torch.tensor([1.0])}), out)

    assert made["loss"] == 3
    assert made["logits"].dtype == torch.float16
    assert made["logits"].tolist() == [[-torch.inf, 0.0]]
    assert out["logits"].tolist() == [[0.0, 0.0]]


def test_mask_says_which_rules_it_leaves_out_and_why():
    """Those that imply no class, or need the answer to be asked."""
    mask = Mask(rules_of("x > 0 => y = 1", "x <= 9", "y = 1 and x > 2 => y != 2"), label="y")

    assert mask.left_out == {
        "x <= 9": "it does not imply a class",
        "y = 1 and x > 2 => y != 2": "its condition is about 'y' itself",
    }
    assert Mask(rules_of("x > 0 => y = 1", "x > 0 => z = 1"), label="y").left_out == {
        "x > 0 => z = 1": "its head is not about 'y' alone"
    }


def test_mask_refuses_what_it_cannot_use():
    """Rules, labels, batches, outputs and columns."""
    rules, batch = rules_of("x > 0 => y = 1"), Batch(None, {"x": torch.tensor([1.0])})
    with pytest.raises(AdaptError) as no_rule:
        Mask(rules_of("x <= 9"), label="y")
    with pytest.raises(AdaptError) as no_label:
        Mask(rules_of("x > 0 => y = 1", "x > 0 => z = 1"))
    with pytest.raises(AdaptError) as no_batch:
        Mask(rules).finish(torch.zeros(1), torch.zeros(1, 2))
    with pytest.raises(AdaptError) as no_classes:
        Mask(rules).finish(batch, torch.zeros(1))
    with pytest.raises(AdaptError) as no_rows:
        Mask(rules).finish(batch, torch.zeros(3, 2))
    with pytest.raises(UnknownNameError) as no_column:
        Mask(rules).finish(Batch(None, {"xx": torch.zeros(1)}), torch.zeros(1, 2))

    assert str(no_rule.value) == (
        "None of the 1 rules excludes a class of 'y'.\n"
        "  where: x <= 9 (it does not imply a class)\n"
        "  fix:   give rules such as 'age <= 50 => y = 0'"
    )
    assert str(no_label.value) == (
        "The rules do not say which column the classes are of.\n  fix:   pass label='...'"
    )
    assert str(no_batch.value) == (
        "A batch is a Tensor, and it is not clear what its columns are.\n"
        "  fix:   make batches with sqrl.Batches, or pass names=lambda batch, out: {...}"
    )
    assert "has the shape (1,), not (rows, classes)" in str(no_classes.value)
    assert "The columns have 1 rows, the model's output 3." in str(no_rows.value)
    assert "The rules speak of 'x'" in str(no_column.value)
