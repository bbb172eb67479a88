"""The sample that searches begin with: the same rows on every engine, and no more than allowed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqrl
from sqrl._data.table import as_table
from sqrl._scan import sample as module
from sqrl._scan.facts import look_at
from sqrl._scan.look import Look
from sqrl._scan.sample import sample_every, sampled_rows
from sqrl._scan.scan import scan


@given(st.integers(0, 300), st.integers(1, 40), st.lists(st.integers(0, 300), max_size=5))
def test_one_row_of_each_so_many_is_chosen_however_rows_are_divided(n_rows, every, cuts):
    """By the number of the row alone."""
    edges = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    parts = [first + sampled_rows(first, last - first, every) for first, last in pairwise(edges)]
    rows = np.concatenate(parts)

    assert rows.tolist() == sampled_rows(0, n_rows, every).tolist()
    assert np.unique(rows // every).size == rows.size
    assert n_rows // every <= rows.size <= -(-n_rows // every)


def test_a_sample_fits_its_part_of_the_memory():
    """More columns and less memory leave fewer rows; few rows leave one in sixteen."""
    for n_rows, n_columns, memory in [(10**8, 5, 2**30), (10**8, 500, 2**30), (10**6, 5, 2**20)]:
        every = sample_every(n_rows, n_columns, memory)

        assert n_rows / every * n_columns * 8 <= memory / 32
        assert n_rows / every <= module.MOST_ROWS
    assert sample_every(100, 5, 2**30) == 16


def test_the_sample_has_the_values_of_its_rows():
    """Numbers as they are, words by their codes among all words, and what is missing."""
    n_rows = 1000
    words = np.array(["b", "a", None, "é"], object)[np.arange(n_rows) % 7 % 4].tolist()
    numbers = [None if row % 5 == 0 else row / 3 for row in range(n_rows)]
    table = {"word": words, "number": numbers, "other": [[row] for row in range(n_rows)]}
    engine = scan(table).engine
    look = Look(frozenset({"word", "number", "other"}), every=20)
    found = look_at(engine, look).sample.table
    rows = sampled_rows(0, n_rows, 20)
    expected = as_table(table).take(rows)

    assert found.n_rows == rows.size
    assert found["word"].categories == ("a", "b", "é")
    for name in ("word", "number"):
        mine, theirs = (sorted(map(repr, one[name].values.tolist())) for one in (found, expected))
        assert mine == theirs
    assert found["other"].kind == "other"


@pytest.mark.parametrize("memory", [1 << 30, 1 << 20])
def test_a_scan_learns_in_four_passes_where_guesses_fit(memory):
    """Columns, cut points, bounds, evidence; with less memory some values take two passes."""
    rng = np.random.default_rng(2)
    table = {"x": rng.normal(size=30_000), "z": rng.normal(size=30_000)}
    table["kind"] = rng.choice(["a", "b"], 30_000).tolist()
    schema = {
        "let": {"Y": "values(kind)"},
        "rules": ["kind = Y => ? <= x <= ? by z/4"],
        "validate": False,
    }
    heard = set()
    rules = sqrl.learn(scan(table, memory=memory), schema, track=lambda *news: heard.add(news[0]))
    passes = [label for label in heard if label.startswith("pass")]

    assert rules.texts() == sqrl.learn(table, schema).texts()
    assert len(passes) == 3 if memory == 1 << 30 else 3 <= len(passes) <= 5
