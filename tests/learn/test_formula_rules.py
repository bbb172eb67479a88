"""Rules that are formulas: known(x), x in ?, given => x in ?, held against their definition."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import sqrl
import strategies
from made_scans import bits, layouts, scanned
from sqrl._data.table import as_table
from sqrl._language import parse_formula, to_text
from sqrl._language.tree import Name
from sqrl._learn.bounds.value_counts import ValueCounts
from sqrl._rows.cells import Grid
from sqrl._rows.rows import Rows
from sqrl.errors import SchemaError

N = 400


def made(seed=0, n=N):
    """Countries, each with its currencies; a number of few values, and one that some rows lack."""
    rng = np.random.default_rng(seed)
    country = rng.choice(["NO", "SE", "DE"], n)
    other = np.where(rng.random(n) < 0.5, "SEK", "EUR")
    currency = np.where(country == "NO", "NOK", np.where(country == "SE", other, "EUR"))
    income = rng.normal(10, 2, n)
    return pa.table(
        {
            "country": country,
            "currency": currency,
            "grade": rng.integers(1, 4, n),
            "smoke": rng.random(n) < 0.5,
            "income": income,
            "age": pa.array(rng.integers(20, 70, n), mask=rng.random(n) < 0.2),
        }
    )


def learned(rules, table=None, **schema):
    """The texts of the rules that templates give, and the counts of what became of all."""
    found = sqrl.learn(made() if table is None else table, {"rules": rules, **schema})
    return found.texts(), found.provenance.counts


def test_what_no_train_row_lacks_is_known():
    """A single row without a value refutes it."""
    texts, counts = learned(["known(A)"], let={"A": ["income", "currency", "age"]})

    assert texts == ["known(income)", "known(currency)"]
    assert counts["unstable"] == 1


def test_sets_are_the_values_of_the_train_rows():
    """Of categories, numbers, booleans and expressions; one value is an equation."""
    names = ["country", "grade", "smoke", "grade - grade"]
    texts, _ = learned(["C in ?"], let={"C": names})

    assert texts == [
        "country in [DE, NO, SE]",
        "grade in [1, 2, 3]",
        "smoke in [false, true]",
        "grade - grade = 0",
    ]


def test_a_condition_that_leaves_all_values_says_nothing():
    """It is dropped, and so is what a condition says of itself."""
    let = {"Y": "values(country)", "C": ["currency", "grade", "country"]}
    texts, counts = learned(["country = Y => C in ?"], let=let)

    assert texts == [
        "country = DE => currency = EUR",
        "country = NO => currency = NOK",
        "country = SE => currency in [EUR, SEK]",
    ]
    assert counts["redundant"] == 6


def test_too_many_values_are_no_set():
    """More than 1,000, or fewer rows than a bound needs."""
    table = pa.table({"id": np.arange(3000.0), "word": [f"w{n}" for n in range(3000)]})
    texts, counts = learned(["A in ?"], table, let={"A": ["id", "word"]})

    assert texts == []
    assert counts["unsupported"] == 2
    few, counts = learned(["country in ?"], made(n=40))
    assert (few, counts["unsupported"]) == ([], 1)


def test_values_that_held_out_rows_do_not_have_are_unstable():
    """Agreement is the share of held-out rows that hold, and must reach the coverage."""
    train, valid = made(), made(1)
    strange = np.where(np.arange(N) < 20, "XX", valid["country"].to_numpy(zero_copy_only=False))
    valid = valid.set_column(0, "country", pa.array(strange))
    schema = {"rules": ["country in ?"], "coverage": 0.95}
    (rule,) = sqrl.learn(train, schema, valid=valid)

    assert rule.jaccard == 0.95
    assert rule.evidence == [2 * N, 20]  # no train row alone has its country
    assert rule.support == N
    assert len(sqrl.learn(train, schema | {"coverage": 0.96}, valid=valid)) == 0


def test_rules_survive_files_and_find_what_was_never_seen(tmp_path):
    """With a p-value against held-out rows."""
    rules = sqrl.learn(
        made(),
        {
            "let": {"Y": "values(country)"},
            "rules": ["known(income)", "currency in ?", "country = Y => currency in ?"],
        },
    )
    for name in ("rules.json", "rules.parquet"):
        rules.save(tmp_path / name)
        again = sqrl.load_rules(tmp_path / name)
        assert (again.texts(), again.ids()) == (rules.texts(), rules.ids())
        assert [rule.evidence for rule in again] == [rule.evidence for rule in rules]
    new = made(2).to_pydict()
    new["currency"][:30] = ["XXX"] * 30
    new["income"][:30] = [None] * 30
    found = sqrl.check(rules, new)

    assert found.broken[:2].tolist() == [30, 30]
    assert (found.p_value[:2] < 0.01).all()
    assert found.sentences(0)[:2] == [
        "income is missing, and in all rows it is known",
        "currency is XXX, and in all rows it is EUR or NOK or SEK",
    ]


@pytest.mark.parametrize(("formula", "share"), [("age > 200", 0), ("known(income)", 1)])
def test_what_never_or_always_happens_is_learned(formula, share):
    """A share of 0 or 1 is a rule like any other, and two of them are two rules."""
    rules = [f"? <= rate({formula}) <= ? over 32", "? <= rate(country = Rome) <= ? over 32"]
    texts, _ = learned(rules)

    assert texts == [
        f"{share} <= rate({formula}) <= {share} over 32",
        "0 <= rate(country = Rome) <= 0 over 32",
    ]


@settings(deadline=None, max_examples=25)
@given(
    rows=strategies.table_rows(min_size=2),
    condition=strategies.table_formulas(),
    name=st.sampled_from(["x", "flag", "bit", "kind"]),
)
def test_sets_are_what_the_definition_says(rows, condition, name):
    """Whatever the condition, in memory."""
    table = strategies.columns_of(rows)
    statistics = {key: to_text(tree) for key, tree in strategies.STATISTICS.items()}
    seen = naive.values_seen(Name(name), (condition,), rows, strategies.STATISTICS)
    schema = {
        "statistics": statistics,
        "rules": [f"({to_text(condition)}) => {name} in ?"],
        "bounds": {"min_support": 1},
        "validate": False,
    }
    try:
        rules = sqrl.learn(table, schema, keep="all")
    except sqrl.errors.SqrlError:  # a column without a value, or a formula that says nothing
        return
    found = [] if not len(rules) else naive.constants(rules.form(0).head)

    assert sorted(found, key=str) == sorted(seen, key=str)


@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 99), layout=layouts(200))
def test_parts_give_the_same_bits_as_memory(seed, layout):
    """Conditions, buckets, sets, counts and agreement."""
    table = made(seed, 200)
    schema = {
        "let": {"Y": "values(country)", "C": ["currency", "grade", "smoke", "income"]},
        "rules": [
            "known(age)",
            "C in ?",
            "country = Y => C in ?",
            "age in each of 3 => currency in ?",
            "country = Y => known(income) or known(age)",
            "? <= rate(age > 40) <= ? over 32",
        ],
        "coverage": 0.9,
        "bounds": {"min_support": 5},
    }

    rules = sqrl.learn(table, schema, keep="all")
    assert bits(sqrl.learn(scanned(table, **layout), schema, keep="all")) == bits(rules)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 99))
def test_rates_of_unknown_formulas_are_learned_as_defined(seed):
    """Rows where the formula is unknown are no part of the share, literals included."""
    table = made(seed, 120)
    schema = {
        "let": {"L": "literals(age/2, smoke)"},
        "rules": ["? <= rate(L{1..2}) <= ? over 16", "? <= rate(age > 40) <= ? over 16"],
        "batches": {"train": 9},
        "bounds": {"min_support": 1},
        "coverage": 0.5,
        "validate": False,
    }
    rules, rows = sqrl.learn(table, schema, seed=seed, keep="all"), table.to_pylist()
    drawn = sqrl._data.draws.draw_batches(120, 16, 9, seed=seed, where="")
    for place, rule in enumerate(rules):
        form = rules.form(place)
        values = [naive.batch_value(form, [rows[row] for row in batch]) for batch in drawn]
        expected = np.percentile([value for value in values if value is not None], [25, 75])

        np.testing.assert_allclose(
            [rule.lower, rule.upper], expected, rtol=1e-12, err_msg=rule.text
        )


def test_negations_of_one_of_two_values_name_the_other():
    """Whatever is not one of two values is the other; of three nothing is renamed."""
    schema = {
        "let": {"L": "literals(sex, country, income/2)"},
        "rules": ["? <= f1(L{1} => grade = 1) <= ? over 32"],
    }
    table = made().append_column("sex", pa.array(["Female", "Male"] * (N // 2)))
    rules = sqrl.learn(table, schema | {"validate": False})
    bodies = {to_text(rules.form(place).body[0]) for place in range(len(rules))}
    cut = [body for body in bodies if body.startswith("income")]

    assert {body for body in bodies if "sex" in body} == {"sex = Female", "sex = Male"}
    assert {body for body in bodies if "not" in body} == {
        f"not country = {name}" for name in ("DE", "NO", "SE")
    }
    assert len(cut) == 2


def test_a_template_of_values_cannot_be_a_rule():
    """The message says what to write."""
    with pytest.raises(SchemaError) as caught:
        sqrl.RuleSet.from_texts(["city in ?"])

    assert str(caught.value) == (
        "A template is not a rule: its values are not known yet.\n"
        "  where: rules[0], city in ?\n"
        "  fix:   learn it from data, or write the values: in [a, b]"
    )


def test_a_formula_is_parsed_once_and_read_back():
    """`known` of a formula asks whether it is true or false."""
    assert to_text(parse_formula("known(  a>1 )and known(b)")) == "known(a > 1) and known(b)"


def test_values_that_few_rows_have_are_expected_to_go_on_appearing():
    """Clean rows of a column with many rare values: p-values hold their level."""
    rng = np.random.default_rng(0)

    def drawn(n):
        return {"word": [f"w{n}" for n in np.minimum(rng.zipf(1.8, n), 5000)]}

    below = 0
    for _ in range(60):
        rules = sqrl.learn(drawn(800), {"rules": ["word in ?"], "coverage": 0.8})
        assert rules[0].evidence[1] > 20  # rows that alone have their word, and held-out ones
        below += sqrl.check(rules, drawn(400)).p_value[0] <= 0.05

    assert below <= 8  # 60 checks of clean rows at 5 %: 8 and more has a probability of 1 %


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.sampled_from([-0.0, 0.0, 2.0, None]),
            st.floats(0, 1),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_values_are_counted_as_a_loop_counts_them(drawn):
    """Words, numbers with one zero and formulas; on all rows, which are counted once, and some."""
    word, number, other = (list(column) for column in zip(*drawn, strict=True))
    rows = Rows(
        as_table({"word": [*word, "c"], "number": [*number, 5.0], "other": [*other, 0.5]}), {}
    )
    items = Name("word"), Name("number"), parse_formula("number > 1"), parse_formula("known(word)")
    some = parse_formula("other > 0.4")
    grid = Grid(((), (some,)), ((), ()), (), (), np.zeros(1, np.int64))
    found = ValueCounts("train", grid, items, ((0, 1),) * len(items)).answer(rows)

    is_over = [None if value is None else value > 1 for value in [*number, 5.0]]
    columns = [*word, "c"], [*number, 5.0], is_over, [value is not None for value in [*word, "c"]]
    chosen = [value > 0.4 for value in [*other, 0.5]]
    for counted, column in zip(found, columns, strict=True):
        values = [getattr(value, "text", getattr(value, "value", None)) for value in counted.values]
        everywhere = [column.count(value) for value in values]
        where_some = [
            sum(one == value for one, is_in in zip(column, chosen, strict=True) if is_in)
            for value in values
        ]
        assert set(values) >= {value for value in column if value is not None}
        assert counted.counts.tolist() == [everywhere, everywhere, where_some]
