"""Clip moves outputs to the nearest bound of the rules about their column."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._rules.ruleset import RuleSet
from sqrl._rules.schema import Schema
from sqrl.errors import AdaptError
from sqrl.methods import Clip

NAN = float("nan")


def rules_of(*texts):
    return RuleSet.from_texts(texts)


def test_clip_moves_outputs_to_the_nearest_bound():
    """Closed on both sides, open on one; a column without a rule and a missing value stay."""
    clip = Clip(rules_of("3 <= GCS <= 15", "HR <= 200", "T >= 30"), ["GCS", "HR", "T", "pH"])
    out = torch.tensor([[2.0, 250.0, 20.0, 99.0], [9.0, -5.0, 36.0, -9.0], [99.0, NAN, 30.0, 0.0]])
    made = clip.finish(None, out)

    assert made[:2].tolist() == [[3.0, 200.0, 30.0, 99.0], [9.0, -5.0, 36.0, -9.0]]
    assert made[2, 0] == 15.0
    assert made[2, 1].isnan()
    assert out[0, 0] == 2.0
    assert not clip.has_steps


def test_clip_takes_series_and_single_columns():
    """The last axis carries the columns; one column may come without an axis."""
    clip = Clip(rules_of("0 <= x <= 1"), ["x"])

    assert clip.finish(None, torch.tensor([-1.0, 0.5])).tolist() == [0.0, 0.5]
    assert clip.finish(None, torch.full((2, 3, 1), 7.0)).tolist() == [[[1.0]] * 3] * 2


def test_clip_takes_the_narrowest_of_several_rules():
    """Each of them is kept."""
    clip = Clip(rules_of("2 <= x", "x <= 5", "0 <= x <= 9", "1 <= x <= 6"), ["x"])

    assert clip.finish(None, torch.tensor([1.0, 7.0])).tolist() == [2.0, 5.0]


@given(
    lower=st.floats(-1e3, 1e3),
    width=st.floats(0.1, 10),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]),
)
@settings(max_examples=60, deadline=None)
def test_clipped_outputs_keep_the_rules_in_any_precision(lower, width, dtype):
    """A bound that the precision cannot hold is rounded inwards, wherever a value lies within."""
    lower, upper = float(f"{lower:.6g}"), float(f"{lower + width:.6g}")
    clip = Clip(rules_of(f"{lower!r} <= x <= {upper!r}"), ["x"])
    made = clip.finish(None, torch.tensor([-2e4, 2e4], dtype=dtype))
    grid = torch.tensor([lower, (lower + upper) / 2, upper]).to(dtype).double()
    is_possible = bool(((grid >= lower) & (grid <= upper)).any())

    assert made.dtype == dtype
    assert not is_possible or bool(((made.double() >= lower) & (made.double() <= upper)).all())


def test_clip_says_which_rules_it_leaves_out_and_why():
    """One reason for each kind of rule."""
    schema = Schema(statistics={"area": "w * h"}, rules=["? <= area <= ?"])
    texts = [
        "0 <= w <= 9",
        "h > 1 => w <= 5",
        "w <= 3 if h <= 1 else w <= 4",
        "w * h <= 9",
        "area <= 9",
        "depth <= 9",
        "mean(w) <= 3 over 64",
        "rate(w > 1) <= 0.5 over 64",
        "w > 5 => type = Car",
    ]
    made = rules_of(*texts)
    clip = Clip(RuleSet(made.table, made.nodes, schema), ["w", "h", "area"])

    assert list(clip.left_out.values()) == [
        "it has a condition",
        "it has a condition",
        "it bounds an expression, not a column",
        "it bounds an expression, not a column",
        "it bounds 'depth', which is no output",
        "it is about mini-batches",
        "it is about mini-batches",
        "it implies a class",
    ]
    assert list(clip.left_out) == made.texts()[1:]


@pytest.mark.parametrize(
    ("texts", "columns", "message"),
    [
        (
            ["h > 1 => w <= 5", "depth <= 9"],
            ["w"],
            "None of the 2 rules bounds an output by itself.\n"
            "  where: h > 1 => w <= 5 (it has a condition)\n"
            "  fix:   give rules such as '3 <= w <= 15'",
        ),
        (
            ["w <= 5", "w >= 6"],
            ["w"],
            "The rules leave no value for 'w': at least 6, at most 5.\n"
            "  fix:   leave one of the rules out",
        ),
    ],
)
def test_clip_refuses_rules_that_it_cannot_keep(texts, columns, message):
    """Nothing to clip to, or nothing left."""
    with pytest.raises(AdaptError) as caught:
        Clip(rules_of(*texts), columns)

    assert str(caught.value) == message


def test_clip_refuses_outputs_of_another_shape():
    """A column is never taken for another in silence."""
    with pytest.raises(AdaptError) as caught:
        Clip(rules_of("w <= 5"), ["w", "h"]).finish(None, torch.zeros(4, 3))

    assert str(caught.value) == (
        "The model's output has the shape (4, 3), and 2 columns are named.\n"
        "  fix:   name a column for each place of the last axis, in their order"
    )
