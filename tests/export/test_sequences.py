"""Columns that follow from the rows before, as window functions and as pandas code."""

from datetime import date

import pyarrow as pa
import pytest

import sqrl
from made_exports import run
from sqrl.errors import SchemaError
from sqrl.export import to_pandera, to_sql
from sqrl.export._targets import DIALECTS

pytest.importorskip("sqlglot")
SCHEMA = sqrl.Schema(
    order="day",
    entity=["ward", "bed"],
    label="pulse",
    statistics={"steep": "delta(pulse) / since_last"},
    rules=("? <= pulse",),
)
VISITS = pa.table(
    {
        "ward": ["a", "a", "a", "b", "b", None],
        "bed": [1, 1, 1, 1, 1, 1],
        "day": [3, 1, 2, 5, None, 2],
        "pulse": [70.0, 60.0, 64.0, 90.0, 10.0, 11.0],
        "said": [61.0, 60.0, 60.5, 0.0, 0.0, 0.0],
        "state": ["ill", "well", "ill", "ill", "well", "well"],
    }
)
RULES = sqrl.RuleSet.from_texts(
    [
        "-5 <= delta(pulse) <= 5",
        "lag(state) = well => state = ill",
        "rolling_mean(pulse, 2) <= 65",
        "steep <= 5",
        "lag(delta(pulse)) <= 3",
    ],
    schema=SCHEMA,
)
COUNTS = [(2, 1), (1, 0), (4, 2), (2, 1), (1, 1)]


@pytest.mark.parametrize("like", [None, VISITS])
def test_sql_counts_what_check_counts(like):
    """Whether what columns hold is read off a table or guessed."""
    pytest.importorskip("duckdb")
    found = sqrl.check(RULES, VISITS)
    lines = run(to_sql(RULES, like=like), VISITS)

    assert list(zip(found.applicable.tolist(), found.broken.tolist(), strict=True)) == COUNTS
    assert [(line["applicable"], line["violations"]) for line in lines] == COUNTS


def test_a_prediction_is_followed_in_the_label_s_place():
    """As `check` does."""
    pytest.importorskip("duckdb")
    (line,) = run(to_sql(RULES[:1], prediction="said"), VISITS)
    found = sqrl.check(RULES[:1], VISITS, prediction="said")

    assert (line["applicable"], line["violations"]) == (2, 0)
    assert found.broken.tolist() == [0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_window_functions(dialect):
    """Of the rows of an entity, in order."""
    text = to_sql(RULES, dialect=dialect, like=VISITS)

    assert "LAG(" in text
    assert "PARTITION BY" in text


def test_a_frame_must_have_what_the_columns_follow_from():
    """The order and the entity too, and none of those that are computed."""
    text = to_pandera(RULES[:1], like=VISITS)

    assert "delta(frame, number(frame['pulse']), ['ward', 'bed'], ['day'], 1)" in text
    for name in ("ward", "bed", "day", "pulse"):
        assert f"'{name}': pandera.pandas.Column" in text
    assert "'delta(pulse)': " not in text


def test_a_column_that_the_table_has_is_read():
    """What the data says itself is not computed anew."""
    given = VISITS.append_column("delta(pulse)", pa.array([0.0] * 6))

    assert "LAG(" not in to_sql(RULES[:1], like=given)
    assert sqrl.check(RULES[:1], given).applicable.tolist() == [6]


@pytest.mark.parametrize("export", [to_sql, to_pandera])
def test_days_between_dates_are_not_exported(export):
    """Databases and frames hold dates each in their own way."""
    dates = VISITS.append_column("seen", pa.array([date(2024, 1, day) for day in range(1, 7)]))
    rules = sqrl.RuleSet.from_texts(["delta(seen) <= 5"], schema=SCHEMA)

    with pytest.raises(SchemaError) as error:
        export(rules, like=dates)

    assert str(error.value) == (
        "delta(seen) is not exported: 'seen' holds dates, which databases and frames count each "
        "in their own way.\n"
        "  fix:   leave out the rules that use it, or check them with 'sqrl check'"
    )
