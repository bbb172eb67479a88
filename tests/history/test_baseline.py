"""Baselines: evidence of parts adds up to that of all rows."""

import numpy as np
import pytest

from sqrl._check.evidence import Evidence
from sqrl._check.value_tests import value_test_of
from sqrl._data.table import as_table
from sqrl._history.baseline import add_evidence, identity_of
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._rows.rows import Rows

MARKS = {"mean": (), "std": (0.5,), "median": (0.4,), "min": (-0.9, -2.0), "max": (0.9, 2.0)}


def rows_of(seed, n):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(0.1, 1.0, n), "y": rng.integers(0, 2, n)}


@pytest.mark.parametrize("statistic", MARKS)
def test_values_of_two_parts_add_up_to_those_of_all_rows(statistic):
    """Moments, and what the test of each statistic counts beside them."""
    form = read_form(parse(f"0 <= {statistic}(x) <= 2 over 64"))
    assert len(MARKS[statistic]) == value_test_of(form).n_marks
    one, other = rows_of(0, 200), rows_of(1, 50)
    both = {name: np.concatenate([one[name], other[name]]) for name in one}
    asked = Evidence("valid", [form], [MARKS[statistic]])
    parts = [tuple(asked.answer(Rows(as_table(part), {}))[0]) for part in (one, other, both)]

    added = add_evidence("moments", statistic, parts[0], parts[1])

    assert added == pytest.approx(parts[2], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "layout"), [("x <= 1", "outcomes"), ("rate(x > 1 and y = 1) <= 0.9 over 64", "counts")]
)
def test_counts_of_two_parts_add_up(text, layout):
    """Of rules about rows and of formulas."""
    form = read_form(parse(text))
    one, other = rows_of(0, 200), rows_of(1, 50)
    both = {name: np.concatenate([one[name], other[name]]) for name in one}
    answers = [
        tuple(Evidence("valid", [form]).answer(Rows(as_table(part), {}))[0])
        for part in (one, other, both)
    ]

    assert form.evidence == layout
    assert add_evidence(layout, form.statistic, answers[0], answers[1]) == answers[2]


def test_a_part_without_rows_adds_nothing():
    """Neither does one that there is no evidence of."""
    nan = float("nan")
    assert add_evidence("moments", "mean", (5.0, 1.0, 2.0), (0.0, nan, nan)) == (5.0, 1.0, 2.0)
    assert add_evidence("moments", "mean", (0.0, nan, nan), (5.0, 1.0, 2.0)) == (5.0, 1.0, 2.0)
    assert add_evidence("outcomes", None, None, (5.0, 1.0)) == (5.0, 1.0)
    assert add_evidence("outcomes", None, (5.0, 1.0), None) == (5.0, 1.0)


def test_evidence_about_other_marks_does_not_add_up():
    """A median of other held-out rows is another cut, even where the sentence is the same."""
    one, other = (9.0, 0.0, 1.0, 0.4, 5.0), (9.0, 0.0, 1.0, 0.5, 5.0)

    assert identity_of("m", "moments", "median", one) != identity_of(
        "m", "moments", "median", other
    )
    assert identity_of("m", "moments", "median", one) == identity_of(
        "m", "moments", "median", (*one[:4], 7.0)
    )
