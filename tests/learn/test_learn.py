"""learn(): Algorithm 1 from data to rules."""

import math

import numpy as np
import pytest

import naive
import sqrl
from sqrl._data.draws import draw_batches, split_rows
from sqrl.errors import DataError, SchemaError, UnknownNameError


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    smoke = rng.random(n) < 0.3
    risk = 1 / (1 + np.exp(-(age - 50) / 8 - 1.5 * smoke + 0.5))
    return {
        "age": age,
        "weight": rng.normal(70, 12, n).round(1),
        "smoke": smoke,
        "ill": np.where(rng.random(n) < risk, "yes", "no").tolist(),
    }


LOGIC = {
    "let": {"Y": "values(ill)", "L": "literals(age/4, weight/4, smoke)"},
    "rules": ["? <= f1(L{1..2} => ill = Y) <= ? over 256"],
    "batches": {"train": 60, "valid": 30},
    "select": {"top": 5, "per": "Y", "by": "lower"},
}


def f1(body, head):
    both = np.sum(body & head)
    total = np.sum(body) + np.sum(head)
    return 2 * both / total if total else np.nan


def test_algorithm_1_by_hand():
    """Bounds on train and validation mini-batches, Jaccard, all recomputed with plain numpy."""
    data = people()
    rules = sqrl.learn(data, LOGIC, seed=3, keep="all")
    fit, held_out = split_rows(3000, 0.2, seed=3)
    train = fit[draw_batches(fit.size, 256, 60, seed=3, where="")]
    valid = held_out[draw_batches(held_out.size, 256, 30, seed=4, where="")]
    age, smoke = data["age"], data["smoke"]
    ill = np.array(data["ill"]) == "yes"
    cut = np.percentile(age[fit], 75)
    for text, body in {
        f"f1(age > {cut:g} and smoke => ill = yes)": (age > cut) & smoke,
        f"f1(not age > {cut:g} => ill = yes)": ~(age > cut),
    }.items():
        (rule,) = [rule for rule in rules if text in rule.text]
        on_train = np.percentile([f1(body[b], ill[b]) for b in train], [1, 99])
        on_valid = np.percentile([f1(body[b], ill[b]) for b in valid], [1, 99])
        overlap = min(on_train[1], on_valid[1]) - max(on_train[0], on_valid[0])
        hull = max(on_train[1], on_valid[1]) - min(on_train[0], on_valid[0])

        assert [rule.lower, rule.upper] == on_train.tolist()
        assert rule.jaccard == pytest.approx(max(0, overlap) / hull, abs=1e-15)
        assert rule.support == 60
        assert rule.rows == body[fit].sum()
        assert (rule.status == "unstable") == (rule.jaccard <= 0.5)


def test_the_best_rules_of_each_class_are_kept_and_every_candidate_is_accounted_for():
    """Counts of what became of the candidates add up."""
    rules = sqrl.learn(people(), LOGIC, seed=1)
    counts = rules.provenance.counts

    assert sum(counts[s] for s in counts if s != "candidates") == counts["candidates"]
    assert counts["selected"] == len(rules) == 10
    assert sum("ill = yes" in rule.text for rule in rules) == 5
    everything = sqrl.learn(people(), LOGIC, seed=1, keep="all")
    best = everything.filter("status = selected or status = valid").search("ill = yes")
    expected = best.sort("lower")[:5].sort("text").texts()
    assert expected == rules.search("ill = yes").sort("text").texts()


def test_redundant_rules_select_the_same_train_rows_as_a_shorter_one():
    """`age <= 35 and not age > 65` says no more than `age <= 35`."""
    rules = sqrl.learn(people(), LOGIC, seed=1, keep="all")
    fit, _ = split_rows(3000, 0.2, seed=1)
    table = sqrl.as_table(people()).take(fit)
    from sqrl._rows.rows import Rows

    rows = Rows(table, {})
    kept = {}
    for index, rule in enumerate(rules):
        if rule.status in {"selected", "valid"}:
            form = rules.form(index)
            kept[(rows.all_true(form.body).tobytes(), form.head)] = len(form.body)
    n_redundant = 0
    for index, rule in enumerate(rules):
        if rule.status == "redundant":
            form = rules.form(index)
            assert kept[(rows.all_true(form.body).tobytes(), form.head)] <= len(form.body)
            n_redundant += 1
    n_kept = sum(rule.status in {"selected", "valid"} for rule in rules)

    assert n_redundant > 0
    assert len(kept) == n_kept  # no two kept rules share head and rows


def test_interval_rules_hold_on_new_rows_as_often_as_they_say():
    """98 % rules from 4,000 rows are broken by about 2 % of 40,000 others."""
    schema = {"let": {"Y": "values(ill)"}, "rules": ["ill = Y => ? <= weight <= ?"]}
    rules = sqrl.learn(people(4000, seed=1), schema)
    new = people(40_000, seed=2)
    for rule in rules:
        mine = new["weight"][np.array(new["ill"]) == rule.text.split()[2]]
        outside = np.mean((mine < rule.lower) | (mine > rule.upper))
        n_train = rule.support

        assert abs(outside - 0.02) < 4 * np.sqrt(0.02 * 0.98 * (1 / n_train + 1 / mine.size))


def test_a_class_with_too_few_samples_is_unsupported_and_said_so():
    """A bound learned from 40 samples is not a 98 % bound."""
    data = {
        "x": np.arange(500.0),
        "kind": ["common"] * 455 + ["rare"] * 45,
    }
    schema = {"let": {"Y": "values(kind)"}, "rules": ["kind = Y => ? <= x <= ?"], "validate": False}
    rules = sqrl.learn(data, schema)

    assert rules.texts() == ["kind = common => 4.54 <= x <= 449.46"]
    assert rules.provenance.counts["unsupported"] == 1


def test_tolerance_bounds_are_order_statistics():
    """The bounds are values of the data, far enough out for the confidence."""
    data = {"x": np.arange(1000.0)}
    schema = {"rules": ["? <= x <= ?"], "bounds": {"method": "tolerance"}, "validate": False}
    (rule,) = sqrl.learn(data, schema)

    # 2k is the largest with P(Binomial(1000, 0.02) >= 2k) >= 0.95: k = 6.
    assert (rule.lower, rule.upper) == (5.0, 994.0)


def test_a_validation_table_can_be_given():
    """Then nothing is held out of the train rows."""
    rules = sqrl.learn(people(seed=1), LOGIC, valid=people(1000, seed=2))

    assert rules.provenance.train_rows == 3000
    assert rules.provenance.valid_rows == 1000


def test_without_validation_there_is_no_jaccard():
    """`validate: false` keeps every supported rule."""
    schema = {**LOGIC, "validate": False}
    rules = sqrl.learn(people(), schema)

    assert rules[0].jaccard is None
    assert rules.provenance.valid_rows == 0


def test_rules_conditional_on_enumerated_facts():
    """`L{1..2} => ? <= weight <= ?` bounds a number under every fact, redundant facts dropped."""
    schema = {
        "let": {"L": "literals(age/3, smoke)"},
        "rules": ["L{1..2} => ? <= weight <= ?"],
        "validate": False,
    }
    data = people()
    rules = sqrl.learn(data, schema)
    cut = np.percentile(data["age"], 200 / 3)
    mask = (data["age"] > cut) & data["smoke"]
    (rule,) = [r for r in rules if r.text.startswith(f"age > {cut:g} and smoke =>")]

    assert [rule.lower, rule.upper] == np.percentile(data["weight"][mask], [1, 99]).tolist()
    assert rules.provenance.counts["redundant"] > 0


def test_extractors_add_columns_that_rules_can_name():
    """A function computes statistics in batches, once for the same rows."""
    calls = []

    @sqrl.extractor(inputs=["weight", "ill"], outputs=["root", "is_ill"], batch_size=1000)
    def extract(batch):
        calls.append(len(batch["weight"]))
        return {"root": np.sqrt(batch["weight"]), "is_ill": batch["ill"] == "yes"}

    data = people()
    schema = {"rules": ["is_ill => ? <= root <= ?"], "validate": False}
    for _ in range(2):
        rules = sqrl.learn(data, schema, extractors=[extract])
    mine = np.sqrt(data["weight"][np.array(data["ill"]) == "yes"])

    assert calls == [1000, 1000, 1000]
    assert [rules[0].lower, rules[0].upper] == np.percentile(mine, [1, 99]).tolist()
    assert rules.provenance.extractors == ["extract"]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"roott": 1}, "The extractor gave ['roott'], not ['root']."),
        ([1, 2], "The extractor gave list, not ['root']."),
        ({"root": np.zeros(3)}, "Column 'root' has shape (3,) for 1024 rows."),
        ({"root": [[1], [1, 2]]}, "Column 'root' has shape () for 1024 rows."),
    ],
)
def test_an_extractor_that_gives_something_else_is_told_so(returned, message):
    """The message names the extractor and what it gave."""
    extract = sqrl.extractor(inputs=["weight"], outputs=["root"], name="roots")(lambda _: returned)
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(people(), {"rules": ["? <= root <= ?"]}, extractors=[extract])

    assert caught.value.what == message
    assert caught.value.where == "extractor 'roots'"


def test_an_unknown_column_is_answered_with_the_nearest_name():
    """Before any work is done."""
    with pytest.raises(UnknownNameError) as caught:
        sqrl.learn(people(), {"rules": ["? <= wieght <= ?"]})

    assert str(caught.value) == (
        "Unknown column or statistic 'wieght'.\n  where: dict\n  fix:   did you mean 'weight'?"
    )


def test_infinite_values_and_columns_without_values_are_refused():
    """No quantile of those means anything."""
    with pytest.raises(
        DataError, match=r"Column 'x' has infinite values \(1 of them\), the first in"
    ):
        sqrl.learn({"x": [1.0, np.inf, 2.0]}, {"rules": ["? <= x <= ?"], "validate": False})
    with pytest.raises(DataError, match="'x' is missing or undefined on every row"):
        sqrl.learn({"x": [None, None], "y": [1, 2]}, {"rules": ["? <= x <= ?"], "validate": False})
    with pytest.raises(DataError, match="'r' is missing or undefined on every row"):
        sqrl.learn(
            {"x": [1.0, 2.0], "y": [0.0, 0.0]},
            {"statistics": {"r": "x / y"}, "rules": ["? <= r <= ?"], "validate": False},
        )


def test_progress_is_reported_for_train_and_validation():
    """A caller can draw a bar."""
    seen = set()
    sqrl.learn(people(), LOGIC, track=lambda label, done, total: seen.add((label, done == total)))

    assert {("train", True), ("validation", True)} <= seen


def test_a_plan_counts_what_learn_would_enumerate():
    """The closed form and the enumeration agree, and examples read as rules."""
    made = sqrl.plan(people(), LOGIC)
    rules = sqrl.learn(people(), LOGIC)

    assert made.n_candidates == rules.provenance.counts["candidates"]
    assert made.nbytes > 0
    assert made.templates[0].examples[0].startswith("? <= f1(age <= ")


def test_numbers_and_booleans_and_categories_can_all_be_labels():
    """A head is a value of a column of any type."""
    data = people()
    for label, first in (("smoke", "smoke = false"), ("ill", "ill = no")):
        schema = {
            "let": {"Y": f"values({label})", "L": "literals(age/4)"},
            "rules": [f"? <= f1(L => {label} = Y) <= ? over 128"],
        }
        assert any(first in text for text in sqrl.learn(data, schema, keep="all").texts())


def test_at_coverage_1_bounds_are_the_ends_of_all_train_rows():
    """However far the tails reach; rows beyond are tested exactly."""
    rng = np.random.default_rng(0)
    table = {"x": rng.lognormal(0, 3, 1000)}
    schema = {"rules": ["? <= x <= ?", {"rule": "? <= x <= ?", "coverage": 1}]}
    usual, whole = sqrl.learn(table, schema | {"validate": False})

    assert (whole.lower, whole.upper) == (table["x"].min(), table["x"].max())
    assert (usual.coverage, whole.coverage) == (0.98, 1.0)
    assert [rule.coverage for rule in sqrl.learn(table, schema)] == [1.0]  # tails differ
    found = sqrl.check(
        sqrl.learn(table, schema | {"validate": False}), {"x": [1.0] * 97 + [1e9] * 3}
    )
    # Of 1,100 rows the three outermost but two, which may lie on either side, are new.
    assert found.p_value[1] == pytest.approx(urn(3, new=100, old=1000), rel=1e-9)
    assert found.sentences(99)[1].endswith("the most that any row had")


def urn(broken, *, new, old):
    """The chance that so many new rows come before two old ones, of all in any order."""
    chance = 0.0
    for before in range(2):  # old rows among the first, before the last of the broken ones
        orders = math.comb(broken - 1 + before, before)
        rows = math.perm(new, broken) * math.perm(old, before)
        chance += orders * rows / math.perm(new + old, broken + before)
    return chance


def test_few_rows_have_no_ends_at_coverage_1():
    """As few as give no 98 % bound."""
    schema = {"rules": [{"rule": "? <= x <= ?", "coverage": 1}], "validate": False}

    assert len(sqrl.learn({"x": np.arange(49.0)}, schema)) == 0
    assert len(sqrl.learn({"x": np.arange(50.0)}, schema)) == 1


def test_a_candidate_without_bounds_keeps_the_sides_of_its_template(tmp_path):
    """Too few samples give no bound; `x <= ?` is not said as `? <= x <= ?`, nor after a file."""
    rows = {"x": list(range(100)), "k": ["a"] * 97 + ["b"] * 3}
    schema = {
        "let": {"K": "values(k)"},
        "rules": ["k = K => x <= ?", "k = K => ? <= x", "k = K => ? <= x <= ?"],
        "coverage": 0.9,
    }
    rules = sqrl.learn(rows, schema, keep="all")
    rules.save(tmp_path / "all.parquet")
    texts = [rule.text for rule in rules if rule.status == "unsupported"]

    assert texts == ["k = b => x <= ?", "k = b => ? <= x", "k = b => ? <= x <= ?"]
    assert sqrl.load_rules(tmp_path / "all.parquet").texts() == rules.texts()


@pytest.mark.parametrize("method", ["percentile", "tolerance"])
def test_no_row_is_in_the_bodies_of_two_classes(method):
    """Each class loses the very intervals that the others have."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    rows = {"x": rng.normal(2.0 * kind, 1.5), "kind": np.array(["a", "b", "c"])[kind].tolist()}
    schema = {
        "let": {"Y": "values(kind)"},
        "rules": ["? <= x <= ? => kind = Y"],
        "coverage": 0.5,
        "validate": False,
        "bounds": {"method": method, "min_support": 3},
    }
    rules = sqrl.learn(rows, schema)
    bodies = [rules.form(at).given for at in range(len(rules))]
    in_one = sum(
        any(naive.conjunction(body, {"x": x}) is True for body in bodies)
        for x in rows["x"].tolist()
    )

    assert len(rules) >= 2
    assert sqrl.check(rules, rows).applicable.sum() == in_one
