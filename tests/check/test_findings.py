"""Findings: what has changed in people's words, the cause first, a plain fact before all."""

import numpy as np
import pyarrow as pa
import pytest

import sqrl
from made_scans import scanned
from sqrl._check.findings.findings import Finding

SCHEMA = {
    "let": {
        "A": ["age", "experience", "income"],
        "C": ["sex", "city"],
        "X": ["age", "experience", "sex", "city"],
    },
    "rules": [
        "known(X)",
        "? <= rate(known(income)) <= ? over 256",
        "C in ?",
        {"rule": "? <= A <= ?", "coverage": 1},
        "distance(A/10) <= ? over 256",
        "distance(C) <= ? over 256",
        "distance(A/4 given C) <= ? over 256",
        "distance(experience/4 given age/4) <= ? over 256",
    ],
}


def people(n_rows, seed):
    """Adults: experience goes with age, income with nothing; some incomes are not known."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows).astype(float)
    income = np.exp(rng.normal(10.5, 0.5, n_rows)).round()
    income[rng.random(n_rows) < 0.02] = np.nan
    return {
        "age": age,
        "experience": np.maximum(0, age - 18 - rng.integers(0, 6, n_rows)).astype(float),
        "income": income,
        "sex": rng.choice(["Female", "Male"], n_rows).astype(object),
        "city": rng.choice(["Bergen", "Oslo", "Rome"], n_rows, p=[0.3, 0.5, 0.2]).astype(object),
    }


@pytest.fixture(scope="module")
def rules():
    """What a careful person would watch of these people."""
    return sqrl.learn(people(6000, 0), SCHEMA)


@pytest.fixture
def rows():
    """Clean rows that a fault is planted in."""
    return people(2000, 1)


def only(rules, rows):
    """The one finding that there is."""
    findings = sqrl.check(rules, rows).findings()
    assert len(findings) == 1, [finding.text for finding in findings]
    assert isinstance(findings[0], Finding)
    return findings[0]


def test_clean_rows_have_no_findings(rules, rows):
    """Nothing has changed, so nothing is said."""
    assert sqrl.check(rules, rows).findings() == ()


# One fault, one finding: its kind, its column, its sentence


def test_a_value_never_seen_is_named_with_its_rows(rules, rows):
    """The README's own example: Male became M."""
    rows["sex"][rows["sex"] == "Male"] = "M"
    n_rows = int((rows["sex"] == "M").sum())
    finding = only(rules, rows)

    assert (finding.kind, finding.columns, finding.n_rows) == ("unseen", ("sex",), n_rows)
    assert finding.text == f"sex: value M, never seen in training, in {n_rows:,} of 2,000 rows"
    assert finding.effect == pytest.approx(n_rows / 2000)
    assert finding.p_value < 1e-50
    assert "sex in [Female, Male]" in {rules[rule].text for rule in finding.rules}


def test_a_value_that_differs_by_case_or_blanks_gets_a_hint(rules, rows):
    """Most new categories are old ones, spelt otherwise."""
    rows["city"][:100] = "oslo "
    finding = only(rules, rows)

    assert finding.text == (
        "city: value oslo , never seen in training, in 100 of 2,000 rows; 'oslo ' looks like 'Oslo'"
    )
    assert finding.advice == "spell city as it was in training"


def test_missing_values_are_told_before_and_after(rules, rows):
    """A rate that was learned, and one that was none."""
    rows["income"][:800] = np.nan
    share = np.isnan(rows["income"]).mean()
    finding = only(rules, rows)

    assert (finding.kind, finding.columns) == ("missing", ("income",))
    assert finding.text.startswith(f"income: missing in {100 * share:.3g} % of rows, was ")
    assert finding.n_rows == int(np.isnan(rows["income"]).sum())

    rows = people(2000, 1)
    rows["age"][:100] = np.nan
    assert only(rules, rows).text == "age: missing in 5 % of rows, was 0 %"


def test_a_column_without_any_value_is_a_plain_fact(rules, rows):
    """It takes no test to see that."""
    rows["income"][:] = np.nan
    finding = only(rules, rows)

    assert (finding.kind, finding.columns, finding.p_value) == ("missing", ("income",), None)
    assert finding.text == "income: missing in all 2,000 rows"


def test_values_beyond_all_that_was_seen_are_told_with_a_sentinel(rules, rows):
    """-999 is named, for it is what people search for."""
    rows["age"][:12] = -999
    finding = only(rules, rows)

    assert (finding.kind, finding.columns, finding.n_rows) == ("range", ("age",), 12)
    assert finding.text == (
        "age: 12 of 2,000 rows beyond all that was seen (18 to 79): down to -999; -999 in 12 rows"
    )


def test_a_factor_of_units_is_guessed(rules, rows):
    """Thousands, pounds, inches: the median says which."""
    rows["income"][:300] *= 1000
    assert only(rules, rows).text.endswith("(times 1,000?)")

    rows = people(2000, 1)
    rows["income"] *= 0.4536
    finding = only(rules, rows)
    assert finding.kind == "distribution"
    assert finding.text.startswith("income is lower: median ")
    assert finding.text.endswith("(times 0.4536 (pounds to kg)?)")


def test_a_shifted_number_is_told_by_its_medians(rules, rows):
    """Higher or lower, from what to what."""
    rows["income"] *= 1.3
    finding = only(rules, rows)
    old, new = np.nanmedian(people(6000, 0)["income"]), np.nanmedian(rows["income"])
    text = finding.text.removeprefix("income is higher: median ").replace(",", "")
    after, before = text.split(" was ")

    assert (finding.kind, finding.columns) == ("distribution", ("income",))
    assert float(after) == pytest.approx(new, rel=1e-3)
    assert float(before) == pytest.approx(old, rel=0.02)


def test_a_number_that_stands_still_is_told(rules, rows):
    """A frozen sensor shows one value."""
    rows["income"][-400:] = 33_000
    assert only(rules, rows).text.startswith("income is 33,000 in 40")


def test_a_share_that_moved_is_told(rules, rows):
    """Of forty values the one that moved most is named."""
    rows["city"][rows["city"] == "Bergen"] = "Oslo"
    finding = only(rules, rows)

    assert (finding.kind, finding.columns) == ("distribution", ("city",))
    assert finding.text.startswith("city: Bergen in no row, was ")


def test_a_relation_that_broke_is_told_as_one(rules, rows):
    """Each column is as it was: what has changed lies between them."""
    rng = np.random.default_rng(2)
    rows["experience"] = rng.permutation(rows["experience"])
    finding = only(rules, rows)

    assert (finding.kind, set(finding.columns)) == ("relation", {"age", "experience"})
    assert " no longer goes with " in finding.text
    assert ": where age " in finding.text
    assert " of rows, was " in finding.text


# What explains what


def test_a_column_that_moved_because_another_did_is_evidence(rules, rows):
    """The old are gone, and so is their experience: one cause, one finding."""
    old = rows["age"] > 60
    finding = only(rules, {name: values[~old] for name, values in rows.items()})

    assert finding.columns == ("age",)
    assert finding.text.endswith("; that explains experience too")
    texts = {rules[rule].text for rule in finding.rules}
    assert any(text.startswith("distance(experience/10)") for text in texts)


@pytest.mark.parametrize("relation", ["distance(c given x/4)", "distance(x/4 given c)"])
def test_a_rule_about_two_columns_tells_what_follows_from_either(relation):
    """A scan keeps no rows: that more of `b` brings more high x is read from the rule's table."""

    def made(n_rows, share, seed):
        rng = np.random.default_rng(seed)
        c = rng.choice(["a", "b"], n_rows, p=[1 - share, share])
        return {"c": c.astype(object), "x": rng.normal(0, 1, n_rows) + 1.5 * (c == "b")}

    watched = ["distance(c) <= ? over 128", "distance(x/10) <= ? over 128"]
    rules = sqrl.learn(made(6000, 0.5, 0), {"rules": [*watched, f"{relation} <= ? over 128"]})
    finding = only(rules, scanned(pa.table(made(2000, 0.8, 1)), ends=(700,)))

    assert finding.columns == ("c",)
    assert finding.text.endswith("; that explains x too")


@pytest.mark.parametrize(("one", "other"), [("age", "income"), ("sex", "city")])
def test_columns_in_each_others_place_are_one_finding(rules, rows, one, other):
    """Numbers or categories written in another order: one cause, named as such."""
    rows[one], rows[other] = rows[other], rows[one]
    finding = only(rules, rows)

    assert set(finding.columns) == {one, other}
    first, second = finding.columns
    assert finding.text == (
        f"{first} and {second} look exchanged: each has the values that the other had"
    )


def test_two_columns_that_moved_elsewhere_are_not_exchanged(rules, rows):
    """A column that took the other's values while the other took none of its own is no exchange."""
    rows["income"] = rows["age"].copy()
    rows["age"] = rows["age"] + 30
    texts = [finding.text for finding in sqrl.check(rules, rows).findings()]

    assert len(texts) == 2
    assert not any("exchanged" in text for text in texts)


def test_two_faults_are_two_findings(rules, rows):
    """The clearer one first."""
    rows["sex"][:1000] = "X"
    rows["income"] *= 1.2
    findings = sqrl.check(rules, rows).findings()

    assert [finding.columns for finding in findings] == [("sex",), ("income",)]


def test_fewer_rows_are_no_explanation(rules, rows):
    """A column put back leaves few rows; that other changes no longer show then proves nothing."""
    rows["sex"][:1990] = "X"
    rows["income"][:] *= 1.2

    assert {finding.columns[0] for finding in sqrl.check(rules, rows).findings()} == {
        "sex",
        "income",
    }


# Plain facts


def test_a_column_that_is_gone_does_not_end_the_check(rules, rows):
    """What other columns say is still checked, and told."""
    rows["income"] *= 1.3
    rows["citty"] = rows.pop("city")
    gone, income = sqrl.check(rules, rows).findings()

    assert (gone.kind, gone.columns, gone.p_value) == ("gone", ("city",), None)
    n_rules = sum("city" in text for text in rules.texts())
    assert gone.text == f"column city is gone: {n_rules} rules cannot be checked"
    assert gone.advice == (
        "is it now called citty? put it back, or learn the rules again without it"
    )
    assert len(gone.rules) == n_rules
    assert income.columns == ("income",)


def test_text_in_a_number_is_counted_with_an_example(rules, rows):
    """What parses is read, the rest is missing."""
    rows["age"] = [*map(str, rows["age"][:-10]), *["unknown"] * 10]
    found = sqrl.check(rules, rows)
    (finding,) = found.findings()

    assert (finding.kind, finding.columns, finding.n_rows) == ("type", ("age",), 10)
    assert finding.text == (
        "age holds text in 10 of 2,000 rows, such as 'unknown'; it held numbers"
    )
    assert found.columns["age"].n_missing == 0


def test_numbers_that_came_as_text_alarm_nobody(rules, rows):
    """Another type is no other content."""
    rows["age"] = [str(value) for value in rows["age"]]

    assert sqrl.check(rules, rows).findings() == ()


def test_no_rows_and_nothing_that_applies_are_findings(rules):
    """A gate that checked nothing must not open."""
    (none,) = sqrl.check(rules, {name: [] for name in people(1, 0)}).findings()
    (no_rules,) = sqrl.check(rules[:0], people(9, 0)).findings()
    by_hand = sqrl.RuleSet.from_texts(["kind = a => x <= 9"])
    (idle,) = sqrl.check(by_hand, {"kind": ["b", "b"], "x": [1.0, 2.0]}).findings()

    assert {none.kind, no_rules.kind, idle.kind} == {"unchecked"}
    assert none.text == "nothing was checked: there are no rows"
    assert no_rules.text == "nothing was checked: there are no rules"
    assert idle.text == "nothing was checked: none of 1 rule applies to any of 2 rows"


# Rules by hand, scans, forms


def test_rules_by_hand_are_told_too():
    """Whatever a rule says, its finding says how it is broken."""
    rules = sqrl.RuleSet.from_texts(
        ["kind = a => 0 <= x <= 9", "mean(z) <= 3 over 8", "kind = a => x + z <= 20"],
        coverage=[0.98, 0.98, None],
        support=[900, 100, None],
    )
    rows = {"kind": ["a"] * 50, "x": [30.0] * 50, "z": [1.0] * 50}
    (finding,) = sqrl.check(rules, rows).findings()

    assert (finding.kind, finding.columns, finding.rules) == ("relation", ("kind", "x"), (0,))
    assert finding.text == (
        "kind no longer goes with x: where kind = a, x is outside 0 to 9 in 50 of 50 rows "
        "(about 1.1 expected)"
    )


@pytest.mark.parametrize("fault", ["unseen", "missing", "range", "gone", "shift", "text"])
def test_scanned_rows_have_the_same_findings_in_fewer_words(rules, fault):
    """Kind, column, rows, rules and p-value are those of rows in memory."""
    rows = people(2000, 1)
    if fault == "unseen":
        rows["sex"][:200] = "M"
    elif fault == "missing":
        rows["age"][:200] = np.nan
    elif fault == "range":
        rows["age"][:9] = 200
    elif fault == "gone":
        del rows["city"]
    elif fault == "shift":
        rows["income"] *= 1.4
    else:
        rows["age"] = np.array([*map(str, rows["age"][:-9]), *["?"] * 9])
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in rows.items()})
    (one,) = sqrl.check(rules, table).findings()
    (other,) = sqrl.check(rules, scanned(table, ends=(700,), rows_at_once=300)).findings()

    assert (one.kind, one.columns, one.n_rows) == (other.kind, other.columns, other.n_rows)
    assert (one.rules, one.effect, one.p_value) == (other.rules, other.effect, other.p_value)
    assert other.text[:20] == one.text[:20]


def test_findings_are_plain_data_in_json(rules, rows):
    """Beside the fields that others rely on."""
    rows["sex"][:200] = "M"
    found = sqrl.check(rules, rows)
    (told,) = found.to_dict()["findings"]
    (finding,) = found.findings()

    assert told == {
        "kind": "unseen",
        "columns": ["sex"],
        "text": finding.text,
        "n_rows": 200,
        "rules": list(finding.rules),
        "effect": finding.effect,
        "p_value": finding.p_value,
        "advice": finding.advice,
    }


def test_a_value_that_is_rare_is_noted_and_no_finding(rules, rows):
    """One odd row is no change, and yet nobody should have to search for it."""
    rows["city"][0] = "Trondheim"
    found = sqrl.check(rules, rows)

    assert found.findings() == ()
    assert "city: value Trondheim, never seen in training, in 1 of 2,000 rows" in found.notes


def test_a_prediction_is_called_by_its_own_name():
    """The label's rules speak of the column that takes its place."""
    rng = np.random.default_rng(0)
    kinds = {"kind": rng.choice(["a", "b"], 3000).astype(object), "x": rng.normal(size=3000)}
    rules = sqrl.learn(kinds, {"label": "kind", "rules": ["kind in ?", "? <= x <= ?"]})
    rows = {"said": ["a"] * 150 + ["c"] * 50, "x": rng.normal(size=200)}
    (finding,) = sqrl.check(rules, rows, prediction="said").findings()

    assert finding.text == "said: value c, never seen in training, in 50 of 200 rows"


def test_derived_columns_are_called_by_their_names():
    """The columns behind them are the finding's; the sentence says what the rule says."""
    rng = np.random.default_rng(0)
    boxes = {"left": rng.uniform(0, 9, 2000), "kind": rng.choice(["a", "b"], 2000).astype(object)}
    boxes["right"] = boxes["left"] + rng.uniform(1, 2, 2000)
    schema = {"statistics": {"width": "right - left"}, "let": {"K": "values(kind)"}}
    for rules, words in (
        (["? <= width <= ?"], "width is outside "),
        (["kind = K => ? <= width <= ?"], "width no longer goes with kind: where kind = "),
    ):
        learned = sqrl.learn(boxes, {**schema, "rules": rules})
        wide = {**boxes, "right": boxes["right"] + (np.arange(2000) < 600)}
        finding = sqrl.check(learned, wide).findings()[0]

        assert finding.kind == "relation"
        assert {"left", "right"} <= set(finding.columns)
        assert finding.text.startswith(words)
