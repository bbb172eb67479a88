"""Exported SQL in each dialect: quoted so that nothing in a rule can break out; errors in words."""

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import sqrl
from made_exports import NAMES, WORDS, run
from sqrl._language.names import name_text
from sqrl._language.printer import word_text
from sqrl.errors import DataError, LimitError, SchemaError, UnknownNameError
from sqrl.export import DIALECTS, to_dbt, to_pandera, to_sql

TEXTS = (
    "type = Car and not wet => 0.1 <= width / height <= 9",
    "sqrt(width) <= 1 if height <= 3 else sqrt(width) <= 2",
    "grade in [1, 2] => type = Van",
    "0.2 <= f1(width > 1 => type = Car) <= 0.4 over 256",
    "type = Car => 0 <= median(width) <= 3 over 256",
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_query_in_each_dialect(dialect, golden):
    """Read in review: functions, types and quotes are those of the database."""
    rules = sqrl.RuleSet.from_texts(TEXTS)
    text = to_sql(rules, table="road.boxes", dialect=dialect, batch_column="day")

    golden(f"export_{dialect}.sql", text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_and_categories_cannot_break_out_of_their_quotes(dialect):
    """One statement, whose columns are the rules' and whose literals are their categories."""
    rules = sqrl.RuleSet.from_texts(
        [
            f"{name_text(NAMES['kind'])} = {word_text(word)} => {name_text(name)} <= 1"
            for word in WORDS.values()
            for name in NAMES.values()
            if name != NAMES["kind"]
        ]
    )
    sql = to_sql(rules, table="boxes", dialect=dialect)
    statements = sqlglot.parse(sql, dialect=dialect)
    columns = {part.name for part in statements[0].find_all(exp.Column)}
    literals = {part.this for part in statements[0].find_all(exp.Literal) if part.is_string}

    assert len(statements) == 1
    assert set(NAMES.values()) <= columns
    assert set(WORDS.values()) <= literals
    assert set(rules.texts()) <= literals
    assert [table.name for table in statements[0].find_all(exp.Drop)] == []


def exported(texts, **given):
    """The rules as SQL."""
    return to_sql(sqrl.RuleSet.from_texts(texts), **given)


def message(error):
    """What an error says."""
    return str(error.value)


def test_mini_batch_rules_need_to_know_what_a_mini_batch_is():
    """The message says what to do, with and without a column for it."""
    texts = ["x <= 1", "mean(x) <= 1 over 4"]
    with pytest.raises(SchemaError) as unknown:
        exported(texts)
    with pytest.raises(SchemaError) as tests:
        to_dbt(sqrl.RuleSet.from_texts(texts * 2))
    with pytest.raises(SchemaError) as rows:
        exported(texts, rows=["id"], batch_column="batch")
    with pytest.raises(SchemaError) as frame:
        to_pandera(sqrl.RuleSet.from_texts(texts))

    leave_out = "leave them out: --where 'kind in [sample, class]'"
    name_it = "name the column that tells them apart: --batch-column batch"
    assert message(unknown) == (
        "1 rule is about mini-batches, and it is not known what these are.\n"
        f"  fix:   {name_it}; or {leave_out}"
    )
    assert message(tests).startswith("2 rules are about mini-batches, and it is not known")
    assert message(rows) == (
        f"1 rule is about mini-batches, which no single row breaks.\n  fix:   {leave_out}"
    )
    assert message(frame) == message(rows)


def test_no_rules_and_too_many_are_refused():
    """A query has an end."""
    rules = sqrl.RuleSet.from_texts(["x <= 1", "x <= 2"])
    with pytest.raises(DataError) as none:
        to_sql(rules[:0])
    with pytest.raises(LimitError) as many:
        to_sql(rules, limit=1)

    assert message(none) == (
        "There are no rules to export.\n  fix:   learn some, or filter fewer out"
    )
    assert message(many) == (
        "There are 2 rules; at most 1 are written into one query.\n"
        "  fix:   export the best, such as --where 'support > 1000', or raise --limit"
    )


def test_a_dialect_or_a_table_that_is_none_is_refused():
    """A table is a name: nothing else is read from it."""
    with pytest.raises(UnknownNameError) as dialect:
        exported(["x <= 1"], dialect="duckbd")
    assert message(dialect) == "Unknown dialect 'duckbd'.\n  fix:   did you mean 'duckdb'?"
    for table in (
        "",
        "a; DROP TABLE b",
        "(SELECT 1)",
        "read_csv('x')",
        "a JOIN b",
        "a b",
        "a -- b",
    ):
        with pytest.raises(DataError) as error:
            exported(["x <= 1"], table=table)
        assert message(error) == (
            f"{table!r} does not name a table.\n"
            '  fix:   write a name, such as boxes, road.boxes or "my table"'
        )
    assert 'FROM "my table"' in exported(["x <= 1"], table='"my table"')


def test_what_no_database_takes_is_refused():
    """A character that ends a statement whatever the quotes around it."""
    with pytest.raises(DataError) as error:
        exported(["kind = 'a\0b' => x <= 1"])

    assert message(error) == (
        "The category 'a\\x00b' has the character '\\x00', which cannot be exported.\n"
        "  fix:   leave out the rules that name it, or rename the category"
    )


def test_a_statistic_in_python_has_no_sql():
    """Also under a name that was a built-in one's."""

    @sqrl.statistic("test_export_spread")
    def spread(values):
        return values.max(axis=-1)

    with pytest.raises(SchemaError) as error:
        exported(["test_export_spread(x) <= 1 over 4"], batch_column="b")

    assert message(error) == (
        "The statistic 'test_export_spread' is a Python function, of which there is no SQL.\n"
        "  where: test_export_spread(x) <= 1 over 4\n"
        "  fix:   leave out the rules that use it, or check them with 'sqrl check'"
    )


def test_a_statistic_says_why_it_has_no_sql():
    """In the words of its author."""
    sqrl.statistic("test_export_last", no_sql="rows have no order there")(lambda v: v[:, -1])

    with pytest.raises(SchemaError) as error:
        exported(["test_export_last(x) <= 1 over 4"], batch_column="b")

    assert message(error) == (
        "The statistic 'test_export_last' has no SQL: rows have no order there.\n"
        "  where: test_export_last(x) <= 1 over 4\n"
        "  fix:   leave out the rules that use it, or check them with 'sqrl check'"
    )


@pytest.mark.parametrize(
    "sql",
    ["max(valu)", "1", "max(", "(SELECT max(value) FROM data)", "max(value); DROP TABLE data"],
)
def test_the_sql_of_a_statistic_is_an_aggregate_of_the_value(sql):
    """Whatever else it says is refused before it is part of a query."""
    sqrl.statistic("test_export_wrong", sql=sql)(lambda v: v[:, -1])

    with pytest.raises(SchemaError) as error:
        exported(["test_export_wrong(x) <= 1 over 4"], batch_column="b")

    assert message(error) == (
        f"The SQL of the statistic 'test_export_wrong' is not an aggregate: {sql!r}.\n"
        "  fix:   write one of value, such as 'max(value)'"
    )


def test_the_sql_of_a_statistic_is_translated():
    """It is written once, as DuckDB has it."""
    sqrl.statistic("test_export_any", sql="quantile_cont(value, 0.9)")(lambda v: v[:, -1])
    text = "test_export_any(x) <= 1 over 4"

    assert "QUANTILE_CONT(" in exported([text], batch_column="b", dialect="duckdb")
    assert "PERCENTILE_CONT(0.9) WITHIN GROUP" in exported(
        [text], batch_column="b", dialect="postgres"
    )


def test_arithmetic_of_counts_keeps_its_order_of_operations():
    """Parentheses stand where Python had them."""
    sqrl.statistic("test_export_order", of="counts")(
        lambda body, head, both, rows: (rows - (body - head)) * (both + 1) / -(body * (head / rows))
    )
    text = "test_export_order(x > 1 => y > 1) <= 1 over 4"
    table = pa.table({"x": [2, 2, 0, 2], "y": [2, 0, 2, 2], "b": [1] * 4})
    value = (4 - (3 - 3)) * (2 + 1) / -(3 * (3 / 4))
    for bound, broken in ((value - 1e-9, 1), (value + 1e-9, 0)):
        rules = sqrl.RuleSet.from_texts([text.replace("<= 1", f"<= {bound!r}")])
        query = to_sql(rules, batch_column="b", like=table)

        assert [line["violations"] for line in run(query, table)] == [broken]


def test_columns_that_would_hold_two_things_are_refused():
    """Where the rules contradict each other no table can satisfy them."""
    with pytest.raises(SchemaError) as both:
        exported(["kind = Car => x <= 1", "kind <= 1"])
    with pytest.raises(DataError) as prediction:
        exported(["x <= 1"], prediction="said")

    assert message(both) == (
        "The rules need both categories, such as Car, and numbers in column 'kind'.\n"
        "  fix:   leave out the rules of one kind, or name the columns apart"
    )
    assert message(prediction) == (
        "The rules do not say which column is the label.\n"
        "  fix:   learn them with a schema that has 'label:'"
    )


@pytest.mark.parametrize("export", [to_sql, to_pandera])
def test_functions_are_checked_alike_by_all_targets(export):
    """What `check` refuses is not written as code that would do something else."""
    with pytest.raises(SchemaError) as error:
        export(sqrl.RuleSet.from_texts(["log(a, b) <= 3"]))

    assert message(error) == (
        "log(...) takes one argument, not 2.\n  where: log(a, b)\n  fix:   write log(age)"
    )
