"""Mini-batches that are nearly all rows there are."""

import numpy as np
import pytest

import sqrl
from sqrl._rules.crowded_batches import crowded_batches
from sqrl.report._text_rules import summary_lines


def learned(over, n=600):
    data = {"x": np.random.default_rng(0).normal(0, 1, n)}
    return sqrl.learn(
        data, {"rules": [f"? <= mean(x) <= ? over {over}"], "validate": {"epsilon": 1}}, keep="all"
    )


def test_mini_batches_of_more_than_half_of_the_rows_are_noted():
    """Of 120 held-out rows 60 are a half, 61 are more; rules of people know of no rows."""
    (note,) = crowded_batches(learned(100))

    assert note == (
        "Mini-batches of 100 rows are drawn from 120 held-out rows: they share most of them, and "
        "vary 0.41 times as much as new ones. Bounds are too narrow; use 'over 32' or less."
    )
    assert crowded_batches(learned(60)) == []
    assert len(crowded_batches(learned(61))) == 1
    assert crowded_batches(sqrl.RuleSet.from_texts(["0 <= mean(x) <= 1 over 100"])) == []


def test_they_vary_as_much_less_as_is_said():
    """A mean of 100 rows of 120: the spread between draws is that of new rows times 0.41."""
    rng = np.random.default_rng(1)
    rows = rng.normal(0, 1, 120)
    drawn = [rng.choice(rows, 100, replace=False).mean() for _ in range(4000)]

    # The spread of 4,000 draws is known to about one part in ninety.
    assert abs(np.std(drawn) / (rows.std() / 10) - 0.41) < 0.03


def test_a_summary_of_what_was_learned_says_so():
    """As sqrl learn shows it, within 80 columns."""
    lines = summary_lines(learned(100))

    assert any("Mini-batches of 100 rows are drawn from 120 held-out rows" in one for one in lines)
    assert max(map(len, lines)) <= 80


def test_a_loss_notes_it():
    """Beside other notes for a reader of results."""
    torch = pytest.importorskip("torch", reason="the adapt extra is not installed")
    loss = sqrl.RuleLoss(learned(100), names=lambda _, out: {"x": out})
    loss(None, torch.zeros(100, requires_grad=True))

    assert loss.notes[0].startswith("Mini-batches of 100 rows are drawn from 120 held-out rows:")
