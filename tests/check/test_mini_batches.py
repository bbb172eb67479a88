"""Rules about mini-batches against the language by definition, one mini-batch at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import strategies
from sqrl._check.evidence import Evidence
from sqrl._check.mini_batches import make_batches, measure_batches
from sqrl._data.table import as_table, take_rows
from sqrl._language import parse
from sqrl._language.forms import Form, Piece, read_form
from sqrl._language.tree import Name, Number
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import columns_of
from sqrl.errors import DataError

COUNTS = ["f1", "f1_given", "precision", "recall", "accuracy", "support", "lift"]
VALUES = ["mean", "std", "min", "max", "median"]


@st.composite
def batch_forms(draw):
    """A rule that bounds a statistic of a mini-batch of four rows."""
    formulas = strategies.table_formulas()
    kind = draw(st.sampled_from(["values", "share", "counts"]))
    parts = {"kind": "logic", "given": tuple(draw(st.lists(formulas, max_size=1)))}
    if kind == "values":
        parts |= {"kind": "batch", "statistic": draw(st.sampled_from(VALUES))}
        parts["subject"] = draw(st.sampled_from([Name("x"), Name("twice"), Name("bit")]))
    elif kind == "share":
        parts |= {"statistic": "rate", "body": tuple(draw(st.lists(formulas, min_size=1)))[:2]}
    else:
        body = tuple(draw(st.lists(formulas, min_size=1, max_size=2)))
        parts |= {"statistic": draw(st.sampled_from(COUNTS)), "body": body, "head": draw(formulas)}
    low = draw(st.integers(-2, 1))
    piece = Piece(Number(float(low)), Number(float(draw(st.integers(low, 2)))))
    return Form(**parts, pieces=(piece,), over=4)


@given(
    forms=st.lists(batch_forms(), min_size=1, max_size=3),
    rows=strategies.table_rows(max_size=14),
    n_batches=st.none() | st.integers(1, 5),
    at_once=st.sampled_from([1, 4, 9, 100]),
)
def test_every_mini_batch_is_measured_as_defined(forms, rows, n_batches, at_once):
    """The statistic of each mini-batch, whatever is missing, however few rows are held at once."""
    table = as_table(strategies.columns_of(rows))
    if n_batches is not None and len(rows) < 4:
        return
    batches = make_batches(len(rows), 4, n_batches, seed=1, where="rows")
    values = measure_batches(forms, table, strategies.STATISTICS, batches, at_once=at_once)

    assert values.shape == (len(forms), len(batches))
    for form, line in zip(forms, values, strict=True):
        for chosen, value in zip(batches, line, strict=True):
            expected = naive.batch_value(form, [rows[i] for i in chosen], strategies.STATISTICS)
            assert value == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


@given(form=batch_forms(), rows=strategies.table_rows(), at_once=st.sampled_from([1, 3, 100]))
def test_evidence_does_not_depend_on_how_many_rows_are_held_at_once(form, rows, at_once):
    """Counts and moments of the whole are those of its parts."""
    table = as_table(strategies.columns_of(rows))
    (whole,) = Evidence("valid", [form]).answer(Rows(table, strategies.STATISTICS))
    evidence = Evidence("valid", [form])
    tally = evidence.start()
    for first in range(0, len(rows), at_once):
        part = table.take(np.arange(first, min(first + at_once, len(rows))))
        tally = evidence.add(Rows(part, strategies.STATISTICS), first, tally)

    assert evidence.finish(tally)[0] == pytest.approx(whole)


def test_disjoint_mini_batches_hold_each_row_at_most_once():
    """Rows that do not fill a mini-batch are left out; which ones the seed decides."""
    batches = make_batches(103, 10, None, seed=0, where="rows")

    assert batches.shape == (10, 10)
    assert np.unique(batches).size == 100
    assert not np.array_equal(batches, make_batches(103, 10, None, seed=1, where="rows"))
    assert make_batches(3, 10, None, seed=0, where="rows").shape == (0, 10)


def test_drawn_mini_batches_need_enough_rows():
    """What was asked for by number is given or refused."""
    assert make_batches(12, 10, 4, seed=0, where="rows").shape == (4, 10)
    with pytest.raises(DataError, match="A mini-batch of 10 rows cannot be drawn from 3 rows"):
        make_batches(3, 10, 4, seed=0, where="rows")


def test_only_the_columns_that_rules_name_are_taken():
    """Behind a derived statistic, too; a slice shares memory with the table."""
    table = as_table({"x": [1.0, 2.0, 3.0], "y": [1.0, 1.0, 2.0], "other": ["a", "b", "c"]})
    form = read_form(parse("0 <= mean(ratio) <= 1 over 2"))
    taken = take_rows(table, slice(1, 3), columns_of([form], strategies.STATISTICS))

    assert taken.names == ("x", "y")
    assert taken.n_rows == 2
    assert np.shares_memory(taken["x"].values, table["x"].values)


def test_a_statistic_of_ones_own_may_give_infinity():
    """What is not finite is undefined, as everywhere."""
    from sqrl._language.statistics import statistic

    @statistic("test_reciprocal")
    def reciprocal(values):
        with np.errstate(divide="ignore"):
            return 1 / np.nansum(values, axis=-1)

    form = read_form(parse("0 <= test_reciprocal(x) <= 1 over 2"))
    values = measure_batches(
        [form], as_table({"x": [0.0, 0.0]}), {}, np.array([[0, 1]]), at_once=10
    )

    assert np.isnan(values).all()
