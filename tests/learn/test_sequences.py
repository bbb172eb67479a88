"""Rules about what came before: learned, saved, checked, repaired, and refused."""

import numpy as np
import pytest

import sqrl
from sqrl.errors import SchemaError, SqrlError, UnknownNameError

DAYS, PEOPLE = 30, 20


def made_visits(seed=0):
    """Thirty days of twenty people whose pulse wanders, with rows in no order."""
    rng = np.random.default_rng(seed)
    pulse = 70 + np.cumsum(rng.normal(size=(PEOPLE, DAYS)), axis=1)
    shuffled = rng.permutation(PEOPLE * DAYS)
    columns = {
        "who": np.repeat([f"p{number}" for number in range(PEOPLE)], DAYS),
        "day": np.tile(np.arange(DAYS), PEOPLE),
        "pulse": pulse.ravel().round(3),
        "weight": rng.normal(size=PEOPLE * DAYS).round(3),
        "ward": rng.choice(["a", "b"], PEOPLE * DAYS),
    }
    return {name: values[shuffled].tolist() for name, values in columns.items()}


VISITS = made_visits()
SCHEMA = {
    "order": "day",
    "entity": "who",
    "validate": {"epsilon": 0.9},
    "statistics": {"both": "pulse + weight"},
    "let": {"A": ["pulse", "both"], "L": "literals(delta(A)/3, ward)", "Y": "values(ward)"},
    "rules": [
        "? <= delta(A) <= ?",
        "ward = Y => ? <= rolling_mean(pulse, 5) <= ? by delta(weight)/2",
        "lag(ward) in ?",
        "? <= since_last <= ?",
        "delta(pulse) > 0 => ? <= lag(pulse, 2) <= ?",
        "distance(delta(pulse)/4) <= ? over 64",
        "? <= mean(delta(pulse)) <= ? over 64",
        "? <= f1(L{1..2} => ward = b) <= ? over 64",
    ],
}


def deltas(visits, name="pulse"):
    """How far a column moves from one day of a person to the next, by a loop."""
    place = {}
    for row, key in enumerate(zip(visits["who"], visits["day"], strict=True)):
        place[key] = row
    found = [None] * len(visits["who"])
    for (who, day), row in place.items():
        if (who, day - 1) in place:
            found[row] = visits[name][row] - visits[name][place[who, day - 1]]
    return found


RULES = sqrl.learn(VISITS, SCHEMA)


def test_a_rule_about_a_delta_is_that_about_a_column_that_holds_it():
    """Everything after is the same: bounds, held-out rows, mini-batches, p-values."""
    given = {**VISITS, "moved": deltas(VISITS)}
    plain = {key: value for key, value in SCHEMA.items() if key in {"validate", "let"}}
    plain["let"] = {"L": "literals(moved/3, ward)"}
    forms = [
        "? <= {} <= ?",
        "ward = a => ? <= weight <= ? by {}/3",
        "distance({}/4) <= ? over 64",
        "? <= mean({}) <= ? over 64",
    ]
    ordered = {"order": "day", "entity": "who", "let": {"L": "literals(delta(pulse)/3, ward)"}}
    logic = "? <= f1(L{1..2} => ward = b) <= ? over 64"

    mine = sqrl.learn(
        VISITS, plain | ordered | {"rules": [*(f.format("delta(pulse)") for f in forms), logic]}
    )
    theirs = sqrl.learn(given, plain | {"rules": [*(f.format("moved") for f in forms), logic]})

    assert [text.replace("delta(pulse)", "moved") for text in mine.texts()] == theirs.texts()
    other = made_visits(1)
    found = sqrl.check(mine, other)
    expected = sqrl.check(theirs, {**other, "moved": deltas(other)})
    assert found.broken.tolist() == expected.broken.tolist()
    np.testing.assert_array_equal(found.p_value, expected.p_value)


def test_every_form_names_them_and_no_rule_is_of_a_hole():
    """In conditions, bounds, buckets, literals, shares and mini-batches."""
    named = " ".join(RULES.texts())

    for name in ("delta(pulse)", "delta(both)", "rolling_mean(pulse, 5)", "lag(ward)"):
        assert name in named
    assert "since_last" in named
    assert "delta(A)" not in named


def test_the_order_of_the_rows_in_the_file_says_nothing():
    """Rows are sorted within their entity, whatever the file's order."""
    rows = np.argsort(VISITS["day"], kind="stable")
    ordered = {name: [values[row] for row in rows] for name, values in VISITS.items()}
    rules = sqrl.RuleSet.from_texts(["-1 <= delta(pulse) <= 1"], schema=RULES.schema)

    found, same = sqrl.check(rules, VISITS), sqrl.check(rules, ordered)

    moved = [value for value in deltas(VISITS) if value is not None]
    assert found.applicable.tolist() == [len(moved)]
    assert found.broken.tolist() == [sum(abs(value) > 1 for value in moved)]
    assert same.broken.tolist() == found.broken.tolist()


def test_a_rules_file_knows_the_order(tmp_path):
    """So that whoever checks has nothing to say."""
    RULES.save(tmp_path / "rules.json")
    loaded = sqrl.load_rules(tmp_path / "rules.json")

    assert loaded.texts() == RULES.texts()
    assert loaded.columns() == ("day", "pulse", "ward", "weight", "who")
    expected = sqrl.check(RULES, VISITS)
    assert sqrl.check(loaded, VISITS).broken.tolist() == expected.broken.tolist()


def test_held_out_rows_of_their_own_are_followed_among_themselves():
    """The row before is one of the same file."""
    rules = sqrl.learn(VISITS, SCHEMA, valid=made_visits(1))

    assert rules.provenance.valid_rows == len(VISITS["who"])
    assert "delta(pulse)" in " ".join(rules.texts())


def test_a_jump_is_found_and_a_shift_of_everything_is_not():
    """A delta sees what an interval of the value would not, and the other way round."""
    rules = sqrl.learn(VISITS, {**SCHEMA, "coverage": 0.9, "rules": ["? <= delta(pulse) <= ?"]})
    jumped = dict(VISITS)
    jumped["pulse"] = [
        pulse + 5 * (day % 2) for pulse, day in zip(VISITS["pulse"], VISITS["day"], strict=True)
    ]
    shifted = {**VISITS, "pulse": [pulse + 5 for pulse in VISITS["pulse"]]}

    assert sqrl.check(rules, jumped).n_significant == 1
    assert sqrl.check(rules, shifted).n_significant == 0


def test_a_column_that_is_gone_takes_with_it_what_follows_from_it():
    """One finding names the column, not each of those."""
    without = {name: values for name, values in VISITS.items() if name != "day"}
    rules = sqrl.RuleSet.from_texts(
        ["-9 <= delta(pulse) <= 9", "0 <= lag(weight) <= 1", "0 <= pulse <= 999"],
        schema=RULES.schema,
    )

    finding, *_ = sqrl.check(rules, without).findings()

    assert finding.text == "column day is gone: 2 rules cannot be checked"
    assert finding.columns == ("day", "delta(pulse)", "lag(weight)")


def test_a_column_that_holds_something_else_cannot_be_followed():
    """That is a finding too, as long as other rules can be checked."""
    texts = {**VISITS, "pulse": ["high"] * len(VISITS["who"])}
    rules = sqrl.RuleSet.from_texts(
        ["-9 <= delta(pulse) <= 9", "-9 <= weight <= 9"], schema=RULES.schema
    )

    (finding,) = sqrl.check(rules, texts).findings()

    assert finding.text == "delta(pulse) cannot be computed: 1 rule cannot be checked"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            RULES.schema,
            "Unknown column 'day'.\n  where: order, dict\n  fix:   use one of: who, pulse",
        ),
        (
            None,
            "The rules need a column 'delta(pulse)', which the data does not have.\n"
            "  where: dict\n"
            "  fix:   add it, or give the rules a schema that says in which order rows come "
            "('order:')",
        ),
    ],
)
def test_where_nothing_is_left_to_check_the_reason_is_said(schema, message):
    """The column that is gone, or that no schema says how to compute it."""
    rules = sqrl.RuleSet.from_texts(["-9 <= delta(pulse) <= 9"], schema=schema)

    with pytest.raises(UnknownNameError) as error:
        sqrl.check(rules, {"who": VISITS["who"], "pulse": VISITS["pulse"]})

    assert str(error.value) == message


def test_a_repair_leaves_rules_alone_that_look_at_rows_that_it_changes():
    """Clipping a value would move what comes after; the account counts them anew."""
    rules = sqrl.RuleSet.from_texts(
        ["-1 <= delta(pulse) <= 1", "66 <= pulse <= 74", "delta(weight) > 0 => pulse <= 70"],
        schema=RULES.schema,
    )

    mended = sqrl.repair(rules, VISITS, columns=["pulse"])

    (line,) = mended.left_out.to_pylist()
    assert line["reason"] == "looks at the rows before, which may change as well"
    moved = {name: mended.table[name].to_pylist() for name in VISITS}
    for key, visits in (("violations_before", VISITS), ("violations_after", moved)):
        assert line[key] == sum(abs(v) > 1 for v in deltas(visits) if v is not None)
    assert mended.table.column_names == list(VISITS)
    assert mended.after.total == 0


def test_a_prediction_takes_the_place_of_what_rows_before_had():
    """`delta(pulse)` of predictions is of predictions; learning with them is refused."""
    rules = sqrl.RuleSet.from_texts(
        ["-1 <= delta(pulse) <= 1"],
        schema=sqrl.Schema(order="day", entity="who", label="pulse", rules=("? <= delta(pulse)",)),
    )
    said = {**VISITS, "said": [0.0] * len(VISITS["who"])}

    assert sqrl.check(rules, said, prediction="said").broken.tolist() == [0]
    with pytest.raises(SchemaError) as error:
        sqrl.learn(said, rules.schema, prediction="said")
    assert str(error.value) == (
        "delta(pulse) follows from the label 'pulse' of the rows before, whose place the "
        "prediction 'said' cannot take while rules are learned.\n"
        "  fix:   leave that rule out, or the prediction"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"rules": ["? <= delta(B) <= ?"], "let": {}},
            "The hole 'B' has no domain.\n  where: rules[0], ? <= delta(B) <= ?\n"
            "  fix:   add it under 'let', such as 'B: [width, height]'",
        ),
        (
            {"rules": ["? <= delta(pulze) <= ?"], "let": {}},
            "Unknown column 'pulze'.\n  where: dict\n  fix:   did you mean 'pulse'?",
        ),
        (
            {"rules": ["? <= delta(A) <= ?", "? <= delta(pulse) <= ?"], "let": {"A": ["pulse"]}},
            "The template makes rules that rules[0] makes too.\n"
            "  where: rules[1], ? <= delta(pulse) <= ?\n"
            "  fix:   leave one of them out, or give their holes different domains",
        ),
    ],
)
def test_what_a_schema_gets_wrong_is_said(changed, message):
    """A hole inside a name is a hole like any other."""
    with pytest.raises(SqrlError) as error:
        sqrl.learn(VISITS, {**SCHEMA, **changed})

    assert str(error.value) == message


def test_a_loss_asks_for_columns_that_no_mini_batch_could_compute():
    """They are computed of all rows beforehand, and handed over by their name."""
    torch = pytest.importorskip("torch")
    rules = sqrl.RuleSet.from_texts(["-1 <= delta(pulse) <= 1"], schema=RULES.schema)
    moved = rules.with_sequences(VISITS)["delta(pulse)"].values
    values = torch.tensor(moved, requires_grad=True)

    given = sqrl.RuleLoss(rules, lambda _batch, _out: {"delta(pulse)": values})
    measured = given.measure(None, None, hard=True)

    assert int(measured.broken[0]) == sqrl.check(rules, VISITS).broken[0]
    lacking = sqrl.RuleLoss(rules, lambda _batch, _out: {"pulse": values})
    with pytest.raises(UnknownNameError) as error:
        lacking.measure(None, None, hard=True)
    assert str(error.value) == (
        "The rules speak of 'delta(pulse)', which the names function does not give.\n"
        "  fix:   compute it for all rows, by rules.with_sequences(data), and return it from "
        "names=lambda batch, out: {...}"
    )


def test_two_predictions_of_the_same_rows_are_compared_row_by_row():
    """Though what follows from the rows before is then not the same."""
    schema = sqrl.Schema(order="day", entity="who", label="pulse", rules=("? <= delta(pulse)",))
    rules = sqrl.RuleSet.from_texts(["-1 <= delta(pulse) <= 1"], schema=schema)
    said = {**VISITS, "said": [0.0] * len(VISITS["who"]), "other": VISITS["pulse"]}
    before, after = (sqrl.check(rules, said, prediction=name) for name in ("said", "other"))

    assert sqrl.compare(before, after).is_paired
