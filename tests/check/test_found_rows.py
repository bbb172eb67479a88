"""Rows that break rules: ranked, with p-values that hold what they promise, and in words."""

import numpy as np
import pytest

import sqrl
from made_scans import scanned
from sqrl._check.found_rows import NO_PREDICTIONS, NO_SCORES
from sqrl._data.table import as_table, to_arrow
from sqrl.errors import DataError

SCHEMA = {
    "let": {"A": ["x", "y"], "B": ["x", "y"], "K": ["a", "b"]},
    "rules": ["? <= A <= ?", "? <= B <= ? by A/4", "k = K => ? <= A <= ?", "k in ?", "known(k)"],
}


def rows(n_rows, seed=0):
    """Two numbers of which one tells of the other, and a letter."""
    rng = np.random.default_rng(seed)
    x = rng.normal(50, 10, n_rows)
    letters = rng.choice(["a", "b"], n_rows).astype(object)
    return {"x": x, "y": 2 * x + rng.normal(0, 3, n_rows), "k": letters}


@pytest.fixture(scope="module")
def rules():
    return sqrl.learn(rows(8000), SCHEMA)


@pytest.fixture(scope="module")
def found(rules):
    """Four rows that are wrong, each in another way, among a hundred."""
    new = rows(100, 1)
    new["x"][3], new["y"][3] = 900.0, 100.0
    new["k"][7], new["k"][8] = "c", None
    new["x"][9], new["y"][9] = 50.0, 60.0
    return sqrl.check(rules, new)


def test_the_worst_rows_come_first_with_reasons(found):
    """What is wrong with each is said, the plainest of equally bad reasons."""
    worst = found.rows()
    said = {int(row): worst.reasons(place) for place, row in enumerate(worst.row[:4])}

    assert worst.row[0] == 3
    assert set(said) == {3, 7, 8, 9}
    assert said[3][0].startswith("x 900 is above ")
    assert said[3][0].endswith("the most that 99 % of all rows have")
    assert said[7] == ["k is c, and in all rows it is a or b"]
    assert said[8] == ["k is missing, and in all rows it is known"]
    assert "y 60 is below " in said[9][0]
    assert "rows with x between" in said[9][0]
    assert worst.significant[:4].all()
    assert (np.diff(worst.score) <= 0).all()
    assert (np.diff(worst.p_value) >= 0).all()


def test_rows_that_break_nothing_are_left_out(found):
    """Their p-value is 1, and there is nothing to say of them."""
    worst = found.rows()

    assert len(worst) == np.count_nonzero(found.row_counts())
    assert sorted(worst.row.tolist()) == np.flatnonzero(found.row_counts()).tolist()
    assert worst.n_significant == int(worst.significant.sum())


def test_p_values_are_ranks_among_the_held_out_rows(rules, found):
    """Of the sixteen hundred, none is as bad as the four."""
    worst = found.rows()

    assert worst.n_held_out == rules.held_out.labels.rows == 1600
    assert worst.p_value[:4].tolist() == [1 / 1601] * 4


def test_few_held_out_rows_cannot_single_out_a_row_among_many(rules):
    """The smallest p-value there can be is one over one and the held-out rows."""
    new = rows(2000, 1)
    new["x"][0] = 900.0
    one = sqrl.check(rules, new).rows()
    new["x"][: one.fewest] = 900.0

    assert one.fewest == 25  # 2,000 / (0.05 x 1,601)
    assert (int(one.row[0]), one.n_significant) == (0, 0)
    assert sqrl.check(rules, new).rows().n_significant >= 25


def test_tables_have_a_row_for_each_row(found):
    """Arrow, pandas and polars from 0, plain data from 1 as in files."""
    worst = found.rows()
    table, plain = worst.to_arrow(), worst.to_dict(2)

    assert table.column_names == ["row", "score", "p_value", "significant", "rules", "reasons"]
    assert table["row"].to_pylist() == worst.row.tolist()
    assert worst.to_pandas()["row"].tolist() == worst.row.tolist()
    assert worst.to_polars()["row"].to_list() == worst.row.tolist()
    assert plain["rows"][0]["row"] == worst.row[0] + 1 == 4
    assert plain["rows"][0]["rules"] == [rule + 1 for rule in worst.rules(0).tolist()]
    assert set(worst.rules(0).tolist()) == set(found.rules_of(3).tolist())
    assert (len(plain["rows"]), plain["broken"], plain["held_out"]) == (2, len(worst), 1600)


def test_rows_show_as_text_and_in_notebooks(found):
    """The first twenty, with a summary; names and values are escaped."""
    worst = found.rows()
    lines = repr(worst).splitlines()

    assert lines[0] == f"FoundRows: {worst.summary()}"
    assert lines[1].startswith("  row 3        p 0.00062 *  x 900 is above ")
    assert "<td>0.00062</td><td>yes</td><td>x 900 is above " in worst._repr_html_()


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_that_makes_no_sense_is_refused(found, level):
    """As in `check`."""
    with pytest.raises(DataError, match="The level is") as caught:
        found.rows(level=level)

    assert caught.value.fix == "give a share between 0 and 1, such as 0.05"


def test_rows_that_were_scanned_are_refused(rules):
    """It was counted how many rows break a rule, not kept which."""
    table = to_arrow(as_table(rows(50)))
    with pytest.raises(DataError, match="These rows were scanned, never all in memory"):
        sqrl.check(rules, scanned(table)).rows()


def test_rules_without_scores_still_rank(rules, found):
    """Written by hand, or by an older sqrl: no p-value, and a note."""
    by_hand = sqrl.RuleSet.from_texts(rules.texts(), coverage=rules.table["coverage"].to_pylist())
    worst = sqrl.check(by_hand, found.table).rows()

    assert worst.note == NO_SCORES
    assert set(worst.row[:2].tolist()) <= {3, 7, 8, 9}
    assert np.isnan(worst.p_value).all()
    assert not worst.significant.any()
    assert repr(worst).splitlines()[-1] == f"note: {NO_SCORES}"


def test_a_part_of_the_rules_is_no_surer_than_all_of_them(rules, found):
    """Rows break fewer rules of a part, and are compared with the same held-out rows."""
    some = sqrl.check(rules.take(np.arange(4)), found.table)

    assert (some.row_scores() <= found.row_scores()).all()


def test_joined_rules_have_no_scores(rules):
    """Held-out rows were never held against both together."""
    assert (rules + sqrl.RuleSet.from_texts(["x <= 3"])).held_out is None
    assert (rules + rules[:0]).held_out == rules.held_out


def test_rules_that_were_not_selected_do_not_count():
    """The scores of held-out rows are made of those that were."""
    train = rows(4000)
    everything = sqrl.learn(train, SCHEMA, keep="all")
    status = np.array(everything.table["status"].to_pylist())
    selected = everything.take(np.flatnonzero(status == "selected"))
    new = rows(500, 3)

    assert everything.held_out == selected.held_out
    scores = [sqrl.check(some, new).row_scores() for some in (everything, selected)]
    assert (scores[0] == scores[1]).all()


def test_p_values_of_clean_rows_are_no_smaller_than_chance(rules):
    """Over many clean rows no p-value is undershot more often than it says."""
    p = np.ones(20_000)
    worst = sqrl.check(rules, rows(20_000, 5)).rows()
    p[worst.row] = worst.p_value

    for level in (0.01, 0.02, 0.05):  # three standard deviations of 1,600 held-out rows
        assert (p <= level).mean() <= level + 3 * np.sqrt(level / 1600)


def test_the_share_of_false_alarms_among_significant_rows_is_kept(rules):
    """With one row in twenty-five wrong, over twenty batches."""
    shares = []
    for seed in range(20):
        new = rows(500, 100 + seed)
        new["x"][:20] += 200
        worst = sqrl.check(rules, new).rows(level=0.1)
        called = worst.row[worst.significant]
        shares.append((called >= 20).sum() / max(called.size, 1))
        assert (called < 20).sum() == 20

    assert np.mean(shares) <= 0.1


def test_predictions_have_p_values_only_of_held_out_predictions():
    """With them the rank is among predictions; without them there is none, and a note."""
    train = rows(4000)
    train["said"] = train["k"]
    schema = {"label": "k", "let": {"K": "values(k)"}, "rules": ["k = K => ? <= x <= ?"]}
    without, with_them = sqrl.learn(train, schema), sqrl.learn(train, schema, prediction="said")
    new = {**rows(50, 1), "said": rows(50, 1)["k"]}
    none, some = (sqrl.check(one, new, prediction="said").rows() for one in (without, with_them))

    assert none.note == NO_PREDICTIONS
    assert some.note is None
    assert with_them.held_out.predictions == with_them.held_out.labels == without.held_out.labels
