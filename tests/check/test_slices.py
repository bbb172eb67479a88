"""Slices: where violations gather."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from sqrl import RuleSet, check
from sqrl._check.slices import slices
from sqrl._language import parse_formula
from sqrl._rows.rows import Rows
from sqrl.errors import UnknownNameError


def broken_where(mask, **columns):
    """Violations of one rule by the rows of a mask."""
    data = {**columns, "bad": np.asarray(mask, float)}
    return check(RuleSet.from_texts(["bad <= 0.5"]), data)


def test_a_slice_counts_rows_inside_and_outside():
    """Eight of ten rows of b, one of ten of a."""
    mask = [True] + [False] * 9 + [True] * 8 + [False] * 2
    found = slices(broken_where(mask, kind=["a"] * 10 + ["b"] * 10), columns=["kind"]).to_pylist()

    first = found[0]
    assert first["condition"] == "kind = b"
    assert (first["rows"], first["broken"]) == (10, 8)
    assert first["share"] == 0.8
    assert first["share_outside"] == pytest.approx(0.1)
    assert first["excess"] == pytest.approx(7.0)
    assert first["rules_a_row"] == 0.8
    assert first["p_value"] == pytest.approx(
        fisher_exact([[8, 2], [1, 9]], alternative="greater").pvalue
    )
    assert first["significant"]
    assert not found[1]["significant"]


def test_numbers_are_cut_into_quarters_and_few_values_are_taken_one_by_one():
    """Conditions in the language of rules, which select the rows that were counted."""
    rng = np.random.default_rng(0)
    n = 500
    columns = {
        "x": rng.normal(size=n),
        "tied": np.minimum(rng.integers(0, 40, n), 20),
        "grade": rng.integers(1, 4, n),
        "smokes": rng.random(n) < 0.3,
        "kind of": rng.choice(["a b", "c"], n).tolist(),
    }
    columns["x"][:50] = np.nan
    found = broken_where(rng.random(n) < 0.2, **columns)
    rows = Rows(found.table, {})
    names = list(columns)
    table = slices(found, columns=names, most=100).to_pylist()

    assert len([row for row in table if row["column"] == "x"]) == 4
    assert {row["condition"] for row in table if row["column"] == "grade"} == {
        "grade = 1",
        "grade = 2",
        "grade = 3",
    }
    broken = found.row_counts() > 0
    for row in table:
        mask = rows.truths(parse_formula(row["condition"])).true
        assert (mask.sum(), (mask & broken).sum()) == (row["rows"], row["broken"])
    for name in set(names) - {"x"}:
        assert sum(row["rows"] for row in table if row["column"] == name) == n


def test_chance_alone_makes_hardly_any_slice_significant():
    """Over all slices the share of false alarms is held down."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(40):
        columns = {f"x{i}": rng.normal(size=300) for i in range(10)}
        found = broken_where(rng.random(300) < 0.1, **columns)
        alarms += any(slices(found, columns=list(columns))["significant"].to_pylist())

    assert alarms <= 6


def test_statistics_that_the_rules_derive_are_columns_too():
    """Where boxes are large, not where their right edge is."""
    from sqrl import learn

    rng = np.random.default_rng(0)
    data = {"w": rng.uniform(1, 9, 400), "h": rng.uniform(1, 9, 400)}
    schema = {"statistics": {"area": "w * h"}, "rules": ["area <= ?"], "validate": False}
    found = slices(check(learn(data, {**schema, "coverage": 0.9}), data))

    assert found["condition"][0].as_py().startswith("area > ")
    assert found["share_outside"][0].as_py() == 0


def test_nothing_to_slice_gives_an_empty_table():
    """Constant columns, names of rows, and no rows at all."""
    n = 1200
    found = broken_where(np.zeros(n), name=[f"row {i}" for i in range(n)], same=["a"] * n)

    assert slices(found).num_rows == 0
    assert slices(broken_where([], x=[])).num_rows == 0
    assert "significant" in slices(found).column_names


def test_no_violations_make_no_slice_significant():
    """Everything holds everywhere."""
    found = slices(broken_where(np.zeros(40), x=np.arange(40)))

    assert found["share"].to_pylist() == [0.0] * 4
    assert not any(found["significant"].to_pylist())


def test_an_unknown_column_is_answered_with_the_nearest_one():
    """As everywhere."""
    with pytest.raises(UnknownNameError, match="did you mean 'height'"):
        slices(broken_where([True, False], height=[1, 2]), columns=["hieght"])


def test_at_most_so_many_slices_come_back():
    """The first are those to look at."""
    found = broken_where(np.arange(100) > 90, x=np.arange(100), y=np.arange(100)[::-1])

    assert slices(found, most=1)["condition"].to_pylist() == ["x > 74"]
