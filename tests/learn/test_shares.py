"""Rules about shares: which cells there are, what the reference counts, and what is bounded."""

import numpy as np
import pyarrow as pa
import pytest

import naive
import sqrl
from made_scans import bits, scanned
from sqrl.errors import RulesFileError, SchemaError

SCHEMA = {"batches": {"train": 60, "valid": 30}, "validate": {"epsilon": 1.0}}


def made(seed, n_rows=1500):
    """Columns of words, of many numbers, of few, and of many with one that is frequent."""
    rng = np.random.default_rng(seed)
    often = np.exp(rng.normal(size=n_rows))
    often[rng.random(n_rows) < 0.4] = 0.0
    columns = {
        "city": rng.choice(["Oslo", "Bergen", "Bodo"], n_rows, p=[0.6, 0.3, 0.1]),
        "age": rng.normal(40, 10, n_rows),
        "few": rng.integers(0, 5, n_rows),
        "often": often,
        "ok": rng.random(n_rows) < 0.5,
    }
    return pa.table(
        {
            name: pa.array(values.tolist(), mask=rng.random(n_rows) < 0.05)
            for name, values in columns.items()
        }
    )


def learned(table, *rules, **more):
    """The rules of templates."""
    return sqrl.learn(table, {**SCHEMA, "rules": list(rules), **more})


def axes(rules, place=0):
    """The axes of a rule's reference."""
    return rules[place].reference.axes


def test_cells_are_words_few_numbers_or_buckets():
    """As many as the axis says; a number that is frequent has a cell of its own."""
    table = made(0)
    let = {"A": ["city", "age", "few", "often", "ok"]}
    rules = learned(table, "distance(A) <= ? over 64", "distance(A/4) <= ? over 64", let=let)
    city, age, few, often, ok = (axes(rules, place)[0] for place in range(5))

    assert city.words == ("Bergen", "Bodo", "Oslo")
    assert len(age.cuts) == 9
    assert few.numbers == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert np.nextafter(0.0, -1.0) in often.cuts
    assert 0.0 in often.cuts
    assert ok.numbers == (0.0, 1.0)
    assert len(axes(rules, 6)[0].cuts) == 3
    assert axes(rules, 7)[0].numbers == few.numbers  # no more than twice the buckets
    assert 0.0 in axes(rules, 8)[0].cuts
    assert np.nextafter(0.0, -1.0) in axes(rules, 8)[0].cuts


def test_the_most_frequent_words_have_cells_and_the_rest_one():
    """Fifty of them."""
    rng = np.random.default_rng(0)
    words = [f"w{n:03d}" for n in rng.zipf(1.3, 3000) % 300]
    rules = learned({"word": words}, "distance(word) <= ? over 64")
    reference = rules[0].reference

    assert len(reference.axes[0].words) == 50
    assert "w001" in reference.axes[0].words
    assert sum(reference.counts) == 3000
    assert reference.counts[-1] > 0


TEMPLATES = (
    "distance(A) <= ? over 64",
    "distance(A/4 given B/4) <= ? over 64",
    "city = Oslo => distance(age/3) <= ? over 64",
    "age in each of 2 => distance(few) <= ? over 64",
    "distance((age - few)/5) <= ? over 64",
)
LET = {"A": ["city", "age", "often"], "B": ["few", "city", "ok"]}


def test_the_reference_counts_all_rows_train_and_held_out():
    """By the definition, one row at a time."""
    table = made(1, 400)
    rules = learned(table, *TEMPLATES, let=LET)
    rows = table.to_pylist()

    assert len(rules) == 3 + 8 + 1 + 2 + 1
    for place in range(len(rules)):
        form = rules.form(place)
        mine = [row for row in rows if all(naive.truth(part, row) for part in form.given)]
        assert naive.cell_counts(form, mine) == list(form.reference.counts)


def test_the_bound_is_a_quantile_of_the_distances_of_train_mini_batches():
    """And mini-batches of a check are measured by the definition."""
    table = made(2, 600)
    rules = learned(table, *TEMPLATES, let=LET)
    found = sqrl.check(rules, table)
    rows = table.to_pylist()

    assert found.broken.sum() < 0.15 * found.applicable.sum()
    for place, values in found.batch_values.items():
        expected = [
            naive.batch_value(rules.form(place), [rows[row] for row in batch])
            for batch in found.batches[64]
        ]
        np.testing.assert_allclose(values, np.array(expected, np.float64), atol=1e-12)
        assert found.evidence[place] == pytest.approx(rules[place].reference.counts)


def test_scanned_rows_give_the_same_bits():
    """References, bounds and evidence, whatever the parts."""
    table, new = made(3, 500), made(4, 300)
    given = {**SCHEMA, "rules": list(TEMPLATES), "let": LET}
    rules = sqrl.learn(table, given)
    found, again = sqrl.check(rules, new), sqrl.check(rules, scanned(new, ends=(7, 90)))

    assert bits(sqrl.learn(scanned(table, ends=(40, 41)), given)) == bits(rules)
    assert dict(found.evidence) == dict(again.evidence)
    np.testing.assert_array_equal(found.p_value, again.p_value)


def test_rules_about_shares_survive_a_file(tmp_path):
    """JSON and Parquet; texts, references and p-values."""
    rules = learned(made(5, 400), *TEMPLATES, let=LET)
    new = made(6, 200)
    for name in ("rules.json", "rules.parquet"):
        rules.save(tmp_path / name)
        loaded = sqrl.load_rules(tmp_path / name)

        assert loaded.texts() == rules.texts()
        assert loaded.forms() == rules.forms()
        np.testing.assert_array_equal(
            sqrl.check(loaded, new).p_value, sqrl.check(rules, new).p_value
        )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"counts": [', '"counts": [7, ', "a reference of 4 cells has 5 counts"),
        ('"counts": [', '"counts": [-', "none below 0"),
        ('"words": [', '"numbers": [1], "words": [', "only one of them"),
        ('"Bergen"', '"Oslo"', "words of an axis differ"),
        ('"axes": [', '"axes": [{"cuts": [2, 1]}, ', "rise"),
    ],
)
def test_a_damaged_reference_is_refused(tmp_path, old, new, why):
    """Lengths, signs and order are looked at before anything is computed."""
    path = tmp_path / "rules.json"
    learned(made(7, 400), "distance(city) <= ? over 64").save(path)
    text = " ".join(path.read_text().split()).replace("[ ", "[")
    assert old in text
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(RulesFileError, match=why):
        sqrl.load_rules(path)


def test_a_rule_about_shares_without_a_reference_is_refused():
    """There is nothing to compare with."""
    with pytest.raises(SchemaError) as error:
        sqrl.RuleSet.from_texts(["distance(age/10) <= 0.1 over 256"])

    assert str(error.value) == (
        "A rule about shares needs a reference to compare them with, and this has none.\n"
        "  where: rules[0], distance(age/10) <= 0.1 over 256\n"
        "  fix:   learn the rule from data: its reference is kept in the rules file"
    )


def test_too_many_cells_are_refused():
    """Before they are counted."""
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=3000), "b": rng.normal(size=3000)}

    with pytest.raises(SchemaError, match="are counted"):
        learned(table, "distance(a/900 given b/900) <= ? over 64")


def test_a_change_is_seen_by_the_distance_of_its_column_alone():
    """A category that vanished, in fewer rows than a mini-batch has."""
    table, new = made(8, 3000), made(9, 60).to_pydict()
    rules = learned(table, "distance(A) <= ? over 64", let={"A": ["city", "age", "few", "often"]})
    new["city"] = ["Bodo"] * 20 + new["city"][20:]
    found = sqrl.check(rules, new)

    assert found.significant.tolist() == [True, False, False, False]
    assert found.p_value[0] < 1e-6
