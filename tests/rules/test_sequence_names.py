"""What a schema says of the order of rows, and what it must say."""

import pytest

from sqrl._rows.sequences import RowOrder
from sqrl._rules.schema import Schema, as_schema, parse_schema
from sqrl._rules.sequence_names import row_order_of, sequence_names
from sqrl.errors import SchemaError, SqrlError

RULES = ("? <= delta(pulse) <= ?",)


def test_one_column_or_a_list_says_the_order_and_the_entity():
    """In YAML and in Python alike, and they come back as they were."""
    text = "order: [day, hour]\nentity: patient\ncoverage: 0.98\nrules:\n  - '? <= lag(x)'\n"
    schema = parse_schema(text)

    assert row_order_of(schema) == RowOrder(("day", "hour"), ("patient",))
    assert schema.to_yaml() == text
    assert row_order_of(Schema(rules=("? <= x",))) is None


def test_names_are_found_wherever_a_schema_names_columns():
    """With holes filled: in rules, statistics, lists and literals."""
    schema = Schema(
        order="t",
        statistics={"speed": "delta(x) / since_last"},
        let={"A": ["x", "speed", "lag(y)"], "L": "literals(rolling_mean(A, 3)/4, lag(city))"},
        rules=("? <= delta(A) <= ?", "? <= f1(L => y = 1) <= ? over 9", "? <= speed"),
    )

    assert sequence_names(schema) == {
        *("delta(x)", "delta(speed)", "delta(lag(y))", "since_last", "lag(y)", "lag(city)"),
        *("rolling_mean(x, 3)", "rolling_mean(speed, 3)", "rolling_mean(lag(y), 3)"),
    }


ORDER = "fix:   add 'order: timestamp', and 'entity: patient' where rows are of several"
NEEDED = "looks at the rows before, and the schema does not say in which order rows come."


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"rules": RULES},
            f"delta(pulse) {NEEDED}\n  where: schema, rules[0], {RULES[0]}\n  {ORDER}",
        ),
        (
            {"rules": ["? <= x"], "statistics": {"x": "lag(y) + 1"}},
            f"lag(y) {NEEDED}\n  where: schema, statistics.x\n  {ORDER}",
        ),
        (
            {"rules": ["? <= A"], "let": {"A": ["lag(y)"]}},
            f"lag(y) {NEEDED}\n  where: schema, let.A\n  {ORDER}",
        ),
        (
            {"rules": RULES, "entity": "patient"},
            "The schema has an entity, but no order in which its rows come.\n"
            "  where: schema, entity\n"
            "  fix:   add 'order: timestamp', the column to sort rows by",
        ),
        (
            {"rules": RULES, "order": ["day", "day"]},
            "The schema's order names 'day' twice.\n  where: schema, order\n"
            "  fix:   write order: timestamp",
        ),
        (
            {"rules": RULES, "order": "day", "entity": []},
            "The schema's entity names no column.\n  where: schema, entity\n"
            "  fix:   write entity: patient",
        ),
        (
            {"rules": RULES, "order": "day", "entity": ["ward", "day"]},
            "'day' is both the order and the entity: each row would follow none.\n"
            "  where: schema, entity\n  fix:   leave one of them out",
        ),
        (
            {"rules": RULES, "order": 3},
            "Expected text or a list, got a whole number.\n  where: schema, order\n"
            "  fix:   write it like this: order: timestamp",
        ),
        (
            {"rules": ["? <= lagg(x)"], "order": "day"},
            "Unknown function 'lagg'.\n  where: schema, rules[0], ? <= lagg(x)\n"
            "  fix:   did you mean 'lag'?",
        ),
        (
            {"rules": ["? <= a"], "order": "day", "statistics": {"a": "lag(b)", "b": "delta(a)"}},
            "Statistic 'a' is defined by itself: a -> b -> a.\n  where: schema, statistics.a\n"
            "  fix:   define it by columns",
        ),
    ],
)
def test_a_schema_that_does_not_say_what_it_must_is_refused(data, message):
    """When it is made, with the way out."""
    with pytest.raises(SqrlError) as error:
        as_schema(data)

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("let", "message"),
    [
        (
            {"A": ["x / y"]},
            "delta(A) takes columns and statistics by their names, and 'A' stands for 'x / y'.\n"
            "  where: rules[0], ? <= delta(A)\n"
            "  fix:   give it a name under 'statistics' and write that",
        ),
        (
            {"A": "values(x)"},
            "delta(A) takes columns, and 'A' stands for values(x).\n"
            "  where: rules[0], ? <= delta(A)\n"
            "  fix:   write a list of columns under let: A: [width, height]",
        ),
    ],
)
def test_a_hole_in_such_a_name_stands_for_columns(let, message):
    """By their names: an expression has none."""
    with pytest.raises(SchemaError) as error:
        sequence_names(Schema(rules=("? <= delta(A)",), let=let, order="t"))

    assert str(error.value) == message
