"""What a history keeps of a check, for every kind of rule."""

import numpy as np
import pytest

import sqrl
from sqrl._history.record import record_of


def record(rules, data, **options):
    return record_of(sqrl.check(rules, data, **options), at="2026-11-17")


def learned(*, is_validated=True):
    rng = np.random.default_rng(0)
    n = 3000
    table = {
        "x": rng.normal(0, 1, n).round(3),
        "kind": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]).tolist(),
        "key": np.arange(n),
    }
    schema = sqrl.Schema(
        coverage=0.98,
        rules=(
            "? <= x <= ?",
            "? <= x <= ? by key/2",
            "kind in ?",
            "? <= mean(x) <= ? over 100",
            "std(x) <= ? over 100",
            "? <= rate(kind = a) <= ? over 100",
            "distance(kind) <= ? over 100",
            "repeats(key) <= ? over 100",
        ),
        validate=sqrl.Schema(rules=("x <= ?",)).validate if is_validated else False,
    )
    return sqrl.learn(table, schema=schema), table


def test_what_the_rules_file_waives_is_kept_by_the_day_of_the_window():
    """Whenever the check was made, with the p-value that the rule has."""
    rules = sqrl.RuleSet.from_texts(["x <= 9", "y <= 9"], coverage=[0.98] * 2, support=[999] * 2)
    first = rules.ids()[0]
    waived = rules.waive(first, until="2999-12-31", by="Ann", why="known")
    rows = {"x": [3.0, 12.0], "y": [3.0, 4.0]}
    found = sqrl.check(waived, rows)

    assert record_of(found, at="2999-12-31T23:00:00Z").waived == (first,)
    assert record_of(found, at="3000-01-01").waived == ()
    plain = record_of(sqrl.check(rules, rows), at="2026-11-17")
    assert record_of(found, at="2026-11-17").p_value.tolist() == plain.p_value.tolist()


@pytest.fixture(scope="module")
def rules_and_table():
    return learned()


def test_each_kind_of_rule_has_its_layout(rules_and_table):
    """And which moves break it; what does not add up over checks stands alone."""
    rules, table = rules_and_table
    found = record(rules, {name: values[:500] for name, values in table.items()})
    kinds = dict(
        zip(
            (form.statistic or form.kind for form in rules.forms()),
            zip(found.layout, found.sides, strict=True),
            strict=True,
        )
    )

    assert kinds == {
        "sample": ("outcomes", "up"),
        "class": ("outcomes", "up"),
        "mean": ("moments", "both"),
        "std": ("moments", "up"),
        "rate": ("counts", "both"),
        "distance": ("cells", "up"),
        "repeats": ("p", "up"),
    }
    for layout, evidence, reference, shape in zip(
        found.layout, found.evidence, found.reference, found.shape, strict=True
    ):
        assert (evidence is None) == (layout == "p")
        assert (shape is not None) == (layout == "cells")
        assert reference is None or len(reference) == len(evidence)


def test_bounds_count_as_rows_that_were_seen(rules_and_table):
    """A bound at an order statistic of n rows, and held-out rows beside it."""
    rules, table = rules_and_table
    found = record(rules, table)
    made, place = rules.provenance, 0
    held_out = rules.table["evidence"].to_pylist()[place]
    rows, broken = found.reference[place]

    assert rules[place].coverage == 0.98
    assert rows == rules[place].support + held_out[0]
    assert held_out[0] == made.valid_rows
    expected = 0.02 * rules[place].support
    assert broken - held_out[1] == pytest.approx(expected, abs=3)


def test_without_held_out_rows_bounds_are_all_there_is():
    """Rows that a bound was fitted to do not count again."""
    rules, table = learned(is_validated=False)
    found = record(rules, table)

    assert found.reference[0] == (3000.0, pytest.approx(60, abs=3))


def test_bounds_by_bucket_count_held_out_rows_alone(rules_and_table):
    """The outside of several intervals together is of no simple urn."""
    rules, table = rules_and_table
    found = record(rules, table)
    (place,) = (at for at, form in enumerate(rules.forms()) if len(form.pieces) > 1)

    assert found.reference[place] == tuple(rules.table["evidence"].to_pylist()[place])


def test_findings_name_their_rules_by_id():
    """Facts come first, and are counted."""
    rules = sqrl.RuleSet.from_texts(["x <= 9", "y <= 1"], coverage=[0.98] * 2, support=[900] * 2)
    found = record(rules, {"x": [50.0] * 60})

    assert found.findings[0] == "column y is gone: 1 rule cannot be checked"
    assert found.finding_rules == ((rules.ids()[1],), (rules.ids()[0],))
    assert found.n_facts == 1


def test_a_record_cannot_be_changed(rules_and_table):
    """Its arrays are copies that are read-only."""
    rules, table = rules_and_table
    found = record(rules, table)

    assert not found.broken.flags.writeable
    assert found.at == "2026-11-17"
    assert len(found.ids) == len(set(found.ids)) == len(rules)
