"""Sums over units: what a loop over units gives, whatever the parts, and a sample of many units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sqrl._check import unit_sums
from sqrl._check.unit_lines import evidence_of, lines_of, n_scored, powers
from sqrl._check.unit_sums import FINEST, CountUnits, unit_marks
from sqrl._data.table import as_table
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._language.reference import CellAxis, Reference
from sqrl._rows.rows import Rows
from sqrl._rows.units import unit_keys

TEXTS = [
    "x <= 2",
    "kind = a => 0 <= x <= 2",
    "kind in [a, b]",
    "f1(x > 1 => kind = a) <= 0.9 over 4",
    "rate(x > 1) <= 0.5 over 4",
    "0 <= mean(x) <= 2 over 4",
    "std(x) <= 2 over 4",
    "median(x) <= 2 over 4",
    "max(x) <= 2 over 4",
    "min(x) >= 0 over 4",
]
FORMS = [read_form(parse(text)) for text in TEXTS]
# What held-out rows say of each: rows, mean, variance, and the cuts that the test needs.
EVIDENCE = [None] * 5 + [
    [9, 1.0, 4.0],
    [9, 1.0, 4.0, 1.0, 3.0],
    [9, 1.0, 4.0, 1.5, 4.0],
    [9, 1.0, 4.0, 2.0, 3.0, 8.0, 0.0],
    [9, 1.0, 4.0, 0.5, 0.0, 1.0, 0.0],
]
MARKS = [unit_marks(form, one) for form, one in zip(FORMS, EVIDENCE, strict=True)]
rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.one_of(st.none(), st.integers(-2, 4).map(float)),
        st.sampled_from(["a", "b", "c", None]),
    ),
    min_size=1,
    max_size=25,
)


def table_of(drawn):
    image, x, kind = zip(*drawn, strict=True)
    return as_table({"image": list(image), "x": [*x, 1.0][: len(x)], "kind": list(kind)})


def naive(drawn):
    """The sums of each unit and rule, by a loop."""
    found = {}
    for image, x, kind in drawn:
        sums = found.setdefault(image, [0] * 26)
        k, is_a = x is not None, kind == "a"
        above = k and x > 1
        head_known = kind is not None
        body, head = above and head_known, is_a
        far = 0 if not k else round((x - 1.0) / 2.0 * FINEST)
        square = 0 if not k else round(((x - 1.0) / 2.0) ** 2 * FINEST)
        values = [
            *(k, k and x > 2),
            *(k and is_a, k and is_a and not 0 <= x <= 2),
            *(head_known, kind == "c"),
            *(body, head, body and head, head_known),
            *(above, above, above, k),
            *(k, far, k, square),
            *(k, k and x <= 1.5),
            *(k, k and x <= 2.0, k and x > 3.0),
            *(k, k and x <= 0.5, k and x < 0.0),
        ]
        for place, value in enumerate(values):
            sums[place] += int(value)
    return found


@given(rows, st.integers(0, 25))
def test_sums_are_those_of_a_loop_however_rows_are_divided(drawn, cut):
    """Counts and fixed-point sums of each unit, added up over two parts in either order."""
    if not any(x is not None for _, x, _ in drawn) or not any(kind for *_, kind in drawn):
        return
    table, asked = table_of(drawn), CountUnits("train", ("image",), FORMS, MARKS)
    parts = [np.arange(len(drawn))[:cut], np.arange(len(drawn))[cut:]]
    tallies = [
        asked.add(Rows(table.take(part), {}), 0, asked.start()) for part in parts if part.size
    ]
    merged = asked.start()
    for tally in reversed(tallies):
        merged = asked.merge(merged, tally)
    whole, halves = asked.answer(Rows(table, {})), asked.finish(merged)
    keys = dict(
        zip(unit_keys(Rows(table, {}), ["image"]).tolist(), (d[0] for d in drawn), strict=True)
    )

    assert halves.keys.tolist() == whole.keys.tolist()
    assert halves.sums.tolist() == whole.sums.tolist()
    assert {
        keys[k]: s for k, s in zip(whole.keys.tolist(), whole.sums.tolist(), strict=True)
    } == naive(drawn)


def test_of_many_units_those_with_the_smallest_keys_are_kept(monkeypatch):
    """The sample is the same whatever the parts, and its units are whole."""
    monkeypatch.setattr(unit_sums, "MOST_UNITS", 8)
    monkeypatch.setattr(unit_sums, "FEWEST_KEPT", 4)
    table = as_table(
        {"image": [k % 40 for k in range(200)], "x": [float(k % 3) for k in range(200)]}
    )
    asked = CountUnits("train", ("image",), FORMS[:1], MARKS[:1])
    whole = asked.answer(Rows(table, {}))
    tally = asked.start()
    for first in range(0, 200, 23):
        part = table.take(np.arange(first, min(first + 23, 200)))
        tally = asked.merge(asked.add(Rows(part, {}), 0, asked.start()), tally)
    smallest = np.unique(unit_keys(Rows(table, {}), ["image"]))[:8]

    assert whole.keys.tolist() == smallest.tolist()
    assert tally["keys"].tolist() == whole.keys.tolist()
    assert tally["sums"].tolist() == whole.sums.tolist()
    assert (whole.sums[:, 0] == 5).all()


def test_a_rule_about_shares_has_lines_for_order_and_cells():
    """Scores are centred in each stratum of the reference, so that the reference adds up to 0."""
    reference = Reference(
        axes=(CellAxis(cuts=(1.0, 2.0)), CellAxis(words=("a",))), counts=(10, 20, 30, 40, 5, 5)
    )
    form = replace(read_form(parse("distance(x/3 given kind) <= 0.2 over 8")), reference=reference)
    order, *cells = lines_of(form, np.array([reference.counts]))

    assert n_scored(form) == 1
    assert len(cells) == 6
    assert abs(order.hits[0]) < 1e-9
    assert [(c.trials[0], c.hits[0]) for c in cells[:3]] == [(60, 10), (60, 20), (60, 30)]


def test_units_of_several_groups_add_up():
    """Train and held-out units are one reference."""
    one, other = np.array([[3, 1], [2, 0]]), np.array([[4, 4]])
    both = [powers(line) for line in lines_of(FORMS[0], np.concatenate([one, other]))]

    assert evidence_of(FORMS[0], [one, other]) == both[0].tolist()


@pytest.mark.parametrize(("place", "n_marks"), [(0, 0), (5, 2), (6, 2), (7, 1), (8, 2)])
def test_marks_are_what_held_out_rows_have_fixed(place, n_marks):
    """Of a mean its centre and scale, of a median its cut, of ends the cut and the end."""
    assert len(MARKS[place]) == n_marks
