"""The exported pandera schema finds the rows that `check` finds."""

import types

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from made_exports import forms, rules_of, tables
from sqrl.errors import DataError
from sqrl.export import to_pandera

pandera = pytest.importorskip("pandera.pandas")


def schema_of(rules, **given):
    """The schema that the exported file makes when Python runs it."""
    module = types.ModuleType("exported")
    exec(compile(to_pandera(rules, **given), "exported.py", "exec"), module.__dict__)
    return module.schema


def broken_rows(schema, frame):
    """For each rule that fails the rows that it names."""
    try:
        schema.validate(frame, lazy=True)
    except pandera.errors.SchemaErrors as error:
        cases = error.failure_cases
        return {check: set(rows["index"]) for check, rows in cases.groupby("check")}
    return {}


@settings(max_examples=20)
@given(made=st.lists(forms(), min_size=1, max_size=5), table=tables())
def test_every_rule_about_rows_fails_on_the_rows_that_check_names(made, table):
    """Whatever is missing, tied, infinite or hard to quote."""
    single = [form for form in made if form.kind in {"sample", "class"}]
    if not single:
        return
    rules = rules_of(single)
    try:
        schema = schema_of(rules, like=table)
    except DataError:  # a column of another kind, which a check reads as far as it can
        return
    found = sqrl.check(rules, table)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    rows = broken_rows(schema, frame)
    expected: dict[str, set[int]] = {}
    for rule, text in enumerate(rules.texts()):
        if found.broken[rule]:
            expected.setdefault(text, set()).update(found.rows_of(rule)[0].tolist())

    assert rows == expected


def test_frames_of_numpy_and_of_objects_are_understood():
    """Missing is None, NaN or NA; powers and functions are defined where `check` has them."""
    rules = sqrl.RuleSet.from_texts(
        [
            "wet => x <= 1",
            "x ** 0.5 <= 1",
            "log(x) <= 1",
            "min(x, 3) <= 2",
            "x <= 1 / 0 => x <= 5",
            "0 <= -x",
        ]
    )
    frame = pd.DataFrame({"wet": [True, None, True, False], "x": [None, 4.0, 9.0, -4.0]})
    found = sqrl.check(rules, frame)
    expected = {
        text: set(found.rows_of(rule)[0].tolist())
        for rule, text in enumerate(rules.texts())
        if found.broken[rule]
    }

    assert broken_rows(schema_of(rules), frame) == expected
    assert expected["x ** 0.5 <= 1"] == {1, 2}
    assert "x <= 1 / 0 => x <= 5" not in expected


def test_a_learned_rule_may_be_broken_as_often_as_chance_would():
    """A 98 % rule that 2 % of good rows break raises no alarm; ten times as many do."""
    rules = sqrl.RuleSet.from_texts(["x <= 97"], coverage=[0.98], support=[999])
    good, bad = pd.DataFrame({"x": range(100)}), pd.DataFrame({"x": range(60, 120)})
    schema = schema_of(rules)

    assert broken_rows(schema, good) == {}
    assert broken_rows(schema, bad) == {"x <= 97": set(range(38, 60))}


def test_a_frame_without_a_column_is_refused():
    """By pandera, with the name of the column; the prediction's where it stands in."""
    rules = sqrl.RuleSet.from_texts(["type = Car => x <= 1"])
    with pytest.raises(pandera.errors.SchemaError, match="column 'said' not in dataframe"):
        schema_of(rules, prediction="said").validate(pd.DataFrame({"x": [1.0], "type": ["Car"]}))


def test_statistics_made_of_statistics_are_written_once():
    """The file grows with what is defined, not with what it would be written out."""
    made = {"s0": "x"} | {f"s{i}": f"(s{i - 1} + s{i - 1}) / 2" for i in range(1, 41)}
    schema = sqrl.Schema(rules=("? <= s40 <= ?",), statistics=made)
    plain = sqrl.RuleSet.from_texts(["2 <= s40 <= 3"])

    assert len(to_pandera(sqrl.RuleSet(plain.table, plain.nodes, schema))) < 20_000


def test_the_file_holds_nothing_of_sqrl_and_no_code_of_the_rules():
    """Names and categories are constants in it."""
    rules = sqrl.RuleSet.from_texts(["`'])); import os; (('` = \"''' + os\" => x <= 1"])
    table = pa.table({"'])); import os; (('": ["''' + os"], "x": [9.0]})
    code = to_pandera(rules)

    assert "import sqrl" not in code
    assert broken_rows(schema_of(rules), table.to_pandas()) == {rules[0].text: {0}}
