"""What a proposed schema watches of rows that follow one another."""

import numpy as np
import pyarrow as pa
import pytest

import sqrl
from made_scans import bits, scanned
from sqrl._learn import propose as proposing
from sqrl.errors import SchemaError, UnknownNameError


def visits(n_people=20, n_days=30, seed=0):
    """People whose pulse wanders from day to day and whose weight does not, in no order."""
    rng = np.random.default_rng(seed)
    n_rows = n_people * n_days
    shuffled = rng.permutation(n_rows)
    columns = {
        "who": np.repeat([f"p{number}" for number in range(n_people)], n_days),
        "day": np.tile(np.arange(n_days), n_people),
        "pulse": (70 + np.cumsum(rng.normal(size=(n_people, n_days)), axis=1)).ravel().round(2),
        "weight": rng.normal(size=n_rows).round(3),
        "ward": rng.choice(["a", "b"], n_rows),
        "grade": rng.integers(0, 4, n_rows),
    }
    return {name: values[shuffled].tolist() for name, values in columns.items()}


VISITS = visits()
RULES = sqrl.learn(VISITS, order="day", entity="who")


def frozen(data):
    """The data, in which the pulse stays what it was on the fifteenth day."""
    who, day, pulse = (np.array(data[name]) for name in ("who", "day", "pulse"))
    for one in np.unique(who):
        mine = who == one
        pulse[mine & (day > 15)] = pulse[mine & (day == 15)][0]
    return {**data, "pulse": pulse.tolist()}


def test_a_proposed_schema_watches_how_far_numbers_move_and_how_soon():
    """Numbers on a scale, not grades; a time that is always the same is a value that is learned."""
    schema = RULES.schema

    assert (schema.order, schema.entity) == ("day", "who")
    assert schema.let["S"] == ["delta(pulse)", "delta(weight)"]
    assert schema.let["T"] == ["since_last"]
    assert schema.sentences.count("? <= S <= ?") == 2
    assert "distance(S/10) <= ? over 32" in schema.sentences
    assert "since_last = 1" in RULES.texts()


def test_columns_that_say_the_order_are_watched_for_missing_values_alone():
    """New rows come later, and may be of other people."""
    reason = "says which rows follow one another: only missing values are watched"

    assert RULES.schema.left_out == {"who": reason, "day": reason}
    assert {"who", "day"} <= set(RULES.schema.let["K"])
    later = {**visits(seed=1), "day": [day + 1000 for day in VISITS["day"]]}
    assert not any("day" in one.columns for one in sqrl.check(RULES, later).findings())


def test_clean_moves_raise_no_alarm_and_those_of_a_frozen_sensor_do():
    """Its values are all usual, and so are its moves; that so many are none is not."""
    clean, broken = (
        {name: one.text for one in sqrl.check(RULES, data).findings() for name in one.columns}
        for data in (visits(seed=1), frozen(visits(seed=1)))
    )

    assert not {"delta(pulse)", "delta(weight)", "since_last"} & clean.keys()
    assert broken["delta(pulse)"].startswith("delta(pulse) is 0 in 281 of 600 rows")


@pytest.mark.parametrize("unit", [None, "who"])
def test_rows_of_several_entities_that_say_the_same_are_no_repeats(unit):
    """Who it was and when is part of the key, also where the entity is the unit."""
    schema = sqrl.propose_schema(VISITS, order="day", entity="who", unit=unit)
    (repeats,) = (sentence for sentence in schema.sentences if "repeats" in sentence)

    assert repeats.startswith("repeats(key(who, day, pulse, weight, ward, grade)) <= ? over ")


def test_a_scan_proposes_what_memory_does(monkeypatch):
    """Moves are computed before rows are drawn."""
    monkeypatch.setattr(proposing, "PROPOSED_FROM", 300)
    table = pa.table(VISITS)

    found = sqrl.learn(scanned(table, ends=(100, 350), name="dict"), order="day", entity="who")

    assert bits(found) == bits(sqrl.learn(VISITS, order="day", entity="who"))


def test_the_order_can_be_given_beside_a_schema():
    """Where that does not say it; where it does, it must say the same."""
    mapping = {"rules": ["? <= delta(pulse) <= ?"]}
    given = sqrl.learn(VISITS, mapping, order=["day"], entity="who")
    within = sqrl.learn(VISITS, {**mapping, "order": ["day"], "entity": "who"}, order="day")

    assert given.texts() == within.texts()
    with pytest.raises(SchemaError) as error:
        sqrl.learn(VISITS, {**mapping, "order": "day", "entity": "who"}, entity="ward")
    assert str(error.value) == (
        "The schema's entity is 'who', not 'ward'.\n  fix:   leave one of them out"
    )
    plan = sqrl.plan(VISITS, mapping, order="day", entity="who")
    assert plan.templates[0].examples == ("? <= delta(pulse) <= ?",)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"order": "dya"},
            UnknownNameError,
            "Unknown column 'dya'.\n  where: order, dict\n  fix:   did you mean 'day'?",
        ),
        (
            {"order": "day", "entity": "hwo"},
            UnknownNameError,
            "Unknown column 'hwo'.\n  where: entity, dict\n  fix:   did you mean 'who'?",
        ),
        (
            {"entity": "who"},
            SchemaError,
            "The schema has an entity, but no order in which its rows come.\n  where: entity\n"
            "  fix:   add 'order: timestamp', the column to sort rows by",
        ),
    ],
)
def test_an_order_that_is_not_there_is_refused(options, kind, message):
    """In memory and in a scan, with the nearest name."""
    for data in (VISITS, scanned(pa.table(VISITS), ends=(100,), name="dict")):
        with pytest.raises(kind) as error:
            sqrl.learn(data, **options)

        assert str(error.value) == message


def test_several_columns_may_say_the_order_and_the_entity():
    """There is then no one time between rows."""
    rows = {**VISITS, "half": [day % 2 for day in VISITS["day"]]}
    schema = sqrl.propose_schema(sqrl.as_table(rows), order=["day", "half"], entity=["who", "ward"])

    assert schema.order == ["day", "half"]
    assert "since_last" not in schema.to_yaml()
    assert schema.let["S"] == ["delta(pulse)", "delta(weight)"]
