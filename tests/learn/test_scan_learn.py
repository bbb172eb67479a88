"""Rules learned from rows that are scanned are the rules learned in memory, to the last bit."""

import datetime
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from effort import often
from made_scans import (
    FEW,
    LOOSE,
    QUICK,
    SCHEMAS,
    bits,
    layouts,
    made_table,
    outcome,
    scanned,
    schema,
    tables,
)
from sqrl._scan import answers
from sqrl._scan.passes import Fetch, Pass
from sqrl._scan.scan import Scan
from sqrl.errors import DataError

SOME = settings(QUICK, max_examples=often(2, 3))
TABLE, VALID = made_table(1), made_table(2, 60)


def learned(data, *arguments, **options):
    """All of what is learned, or the error."""
    return outcome(lambda: bits(sqrl.learn(data, *arguments, **options)))


@pytest.mark.parametrize("form", sorted(SCHEMAS))
@SOME
@given(
    table=tables(),
    layout=layouts(),
    seed=st.integers(0, 99),
    keep=st.sampled_from(["selected", "all"]),
)
def test_every_form_of_rule_is_learned_as_in_memory(form, table, layout, seed, keep):
    """Whatever the table, the parts it is in, the rows read at once, and the threads."""
    options = {"seed": seed, "keep": keep}
    expected = learned(table, SCHEMAS[form], **options)

    assert learned(scanned(table, **layout), SCHEMAS[form], **options) == expected


@pytest.mark.parametrize("form", ["conditional", "bucketed twice", "class", "logic"])
def test_rows_may_come_one_by_one(form):
    """No chunk then has two values to compare, or two classes."""
    table = made_table(8, 45)
    found = learned(scanned(table, ends=(3, 3, 20), rows_at_once=1), SCHEMAS[form], keep="all")

    assert found == learned(table, SCHEMAS[form], keep="all")


@pytest.mark.parametrize("form", sorted(SCHEMAS))
def test_the_schemas_here_give_rules_to_compare(form):
    """A comparison of nothing with nothing would always succeed."""
    rules = sqrl.learn(TABLE, SCHEMAS[form], keep="all")
    statuses = {rule.status for rule in rules}

    assert "selected" in statuses
    assert len(rules) > 1 or form == "cuts"


@pytest.mark.parametrize("form", ["conditional", "class", "facts", "logic", "batch", "derived"])
@settings(QUICK, max_examples=2)
@given(table=tables(), valid=tables(min_rows=20), layout=layouts(), other=layouts())
def test_held_out_rows_may_be_given_apart(form, table, valid, layout, other):
    """They have parts, kinds and categories of their own."""
    expected = learned(table, SCHEMAS[form], valid=valid, keep="all")
    found = learned(
        scanned(table, **layout), SCHEMAS[form], valid=scanned(valid, **other), keep="all"
    )

    assert found == expected


@SOME
@given(table=tables(), layout=layouts(), form=st.sampled_from(sorted(SCHEMAS)))
def test_many_rounds_find_what_few_find(table, layout, form):
    """With room for a handful of numbers, order statistics take more passes, and are the same."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers, "LEAST_EACH", 1)
        patched.setattr(answers, "MOST_EACH", 1)
        found = learned(scanned(table, **layout), SCHEMAS[form], keep="all")

    assert found == learned(table, SCHEMAS[form], keep="all")


def test_little_memory_takes_more_passes_and_changes_no_bit():
    """The budget decides how often the rows are read, and nothing else."""
    table = made_table(5, 40_000)
    wanted = schema("kind = Y => ? <= A <= ?", "? <= a <= ? by b/4", bounds={})
    passes = {}
    for memory in (1 << 30, 1):
        data = scanned(table, ends=(9_000, 21_000), rows_at_once=8_000, threads=2, memory=memory)
        labels = set()
        found = learned(data, wanted, track=lambda label, *_, seen=labels: seen.add(label))
        passes[memory] = len(labels)
        assert found == learned(table, wanted)

    assert passes[1] > passes[1 << 30]


def test_a_statistic_of_the_users_own_is_computed_on_the_same_mini_batches():
    """Of values and of counts; it sees the same numbers in the same order."""

    @sqrl.statistic("last")
    def last(values):
        return values[:, -1] + 0.1 * np.nansum(values, axis=-1)

    @sqrl.statistic("excess", of="counts")
    def excess(body, head, both, rows):
        return both / rows - body * head / rows**2

    wanted = schema("kind = Y => ? <= last(a) <= ? over 8", "? <= excess(M => flag) <= ? over 8")

    assert learned(scanned(TABLE, ends=(7, 60)), wanted) == learned(TABLE, wanted)


@pytest.mark.parametrize(
    ("label", "valid"),
    [(None, None), ("kind", None), ("grade", made_table(2, 130)), ("a", None)],
)
def test_without_a_schema_the_same_one_is_proposed(label, valid):
    """Names of columns in any order, one of them of dates that has the name of a hole."""
    days = pa.array([datetime.date(2024, 1, 1)] * TABLE.num_rows)
    order = ["kind", "c", "a", "flag", "grade", "b"]
    table = TABLE.select(order).append_column("A", days)
    valid = None if valid is None else valid.append_column("A", days[:1].take([0] * len(valid)))
    held_out = None if valid is None else scanned(valid, ends=(9,))

    found = learned(scanned(table, ends=(20, 50)), valid=held_out, label=label)
    assert found == learned(table, valid=valid, label=label)
    assert isinstance(found[0], str)


def test_rows_that_are_missing_a_whole_part_long_change_nothing():
    """A part may have no value of a column at all, and another no row of a class."""
    table = pa.concat_tables([made_table(3, 60, missing=1.0), TABLE.slice(0, 50), VALID])
    for form in ("conditional", "bucketed twice", "class", "rate", "derived"):
        found = learned(scanned(table, ends=(60, 110), rows_at_once=20), SCHEMAS[form], keep="all")

        assert found == learned(table, SCHEMAS[form], keep="all")


def test_integers_too_large_for_a_float_in_one_part_make_the_column_unusable():
    """As they do in memory: no part may go on as if they were not there."""
    large = pa.array([5] * 119 + [2**53 + 1])
    table = TABLE.set_column(1, "b", large)
    wanted = {**FEW, "rules": ["? <= a <= ?"]}

    assert learned(scanned(table, ends=(60,)), wanted) == learned(table, wanted)
    refusal = learned(scanned(table, ends=(60,)), {**FEW, "rules": ["? <= b <= ?"]})
    assert refusal == learned(table, {**FEW, "rules": ["? <= b <= ?"]})
    assert refusal[1].startswith("Column 'b' holds neither numbers nor categories, not numbers.")


@dataclass
class Watched:
    """An engine that notes which jobs it runs."""

    engine: object
    jobs: list = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run(self, job, *arguments, **options):
        self.jobs.append(job)
        return self.engine.run(job, *arguments, **options)


def test_rules_of_one_size_share_their_mini_batches():
    """Rows of mini-batches are fetched once, however many templates ask for them."""
    rules = ["? <= mean(a) <= ? over 8", "? <= std(c) <= ? over 8", "? <= rate(flag) <= ? over 8"]
    engine = Watched(scanned(TABLE).engine)
    found = learned(Scan(engine), {**LOOSE, "rules": rules})
    passes = [job for job in engine.jobs if isinstance(job, Pass)]
    fetched = [one.of for job in passes for one in job.tallied if isinstance(one, Fetch)]

    assert found == learned(TABLE, {**LOOSE, "rules": rules})
    assert sorted(fetched) == ["train", "valid"]


def with_column(table, name, values):
    """The table with one column more, or another in place of one that it has."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, array)
    return table.append_column(name, array)


INFINITE = [0.5] * 77 + [np.inf] + [1.5] * 40 + [-np.inf, 2.0]
DAYS = [datetime.date(2024, 1, 1)] * 120
NAMES = [f"row {number}" for number in range(120)]
MANY = pa.table({"y": [f"w{i % 1500}" for i in range(3000)], "a": np.arange(3000.0)})


def literals(*items):
    """A schema with these literals, one of them wrong."""
    return {"let": {"L": f"literals({', '.join(items)})"}, "rules": ["L => ? <= a <= ?"]}


def derived(text):
    """A schema with a statistic."""
    return {"statistics": {"r": text}, "rules": ["? <= r <= ?"]}


def one(rule, **options):
    """A schema of one rule."""
    return {"rules": [rule], **options}


ERRORS = {
    "unknown column": (TABLE, None, one("? <= flagg <= ?")),
    "unknown in a condition": (TABLE, None, one("kid = Car => ? <= a <= ?")),
    "unknown in a domain": (TABLE, None, one("? <= A <= ?", let={"A": ["a", "bb"]})),
    "unknown in values": (TABLE, None, one("kind = Y => ? <= a <= ?", let={"Y": "values(kid)"})),
    "unknown literal": (TABLE, None, literals("kid", "a/3")),
    "unknown bucket": (TABLE, None, literals("aa/3", "flag")),
    "unknown formula": (TABLE, None, literals("aa > 3", "flag")),
    "unknown function": (TABLE, None, literals("cosh(a)/3")),
    "unknown in a statistic": (TABLE, None, derived("aa / b")),
    "text in buckets": (TABLE, None, literals("kind/3", "flag")),
    "text in a statistic": (TABLE, None, derived("kind / b")),
    "text as numbers": (TABLE, None, one("? <= kind <= ?")),
    "a word among numbers": (TABLE, None, one("b = Car => ? <= a <= ?")),
    "neither true nor false": (TABLE, None, one("b => ? <= a <= ?")),
    "a statistic called as a column": (TABLE, None, one("? <= a <= ?", statistics={"a": "b / c"})),
    "a hole called as a column": (
        with_column(TABLE, "A", TABLE["a"]),
        None,
        one("? <= A <= ?", let={"A": ["a"]}),
    ),
    "an undeclared hole": (TABLE, None, one("kind = Y => ? <= a <= ?")),
    "infinite": (with_column(TABLE, "a", INFINITE), None, one("? <= a <= ?")),
    "infinite in literals": (with_column(TABLE, "x", INFINITE), None, literals("x/4", "flag")),
    "infinite in held-out rows": (
        TABLE,
        with_column(VALID, "a", [1.0] * 33 + [np.inf] * 27),
        one("? <= a <= ?"),
    ),
    "all missing": (with_column(TABLE, "a", [None] * 120), None, one("? <= a <= ?")),
    "words all missing": (
        with_column(TABLE, "kind", pa.nulls(120, pa.string())),
        None,
        one("kind = Car => ? <= a <= ?"),
    ),
    "a statistic all missing": (TABLE, None, derived("a / (b - b)")),
    "a statistic all missing, not validated": (
        TABLE,
        None,
        {**derived("a / (b - b)"), "validate": False},
    ),
    "all missing in held-out rows": (
        TABLE,
        with_column(VALID, "a", pa.nulls(60, pa.float64())),
        one("? <= a <= ?"),
    ),
    "a statistic all missing in held-out rows": (
        TABLE,
        with_column(VALID, "b", pa.nulls(60, pa.int64())),
        derived("a / b"),
    ),
    "text in held-out rows": (TABLE, with_column(VALID, "a", ["x"] * 60), one("? <= a <= ?")),
    "text in a statistic of held-out rows": (
        TABLE,
        with_column(VALID, "a", ["x"] * 60),
        derived("a / b"),
    ),
    "numbers in held-out rows": (
        TABLE,
        with_column(VALID, "kind", [1.0] * 60),
        one("kind = Car => ? <= a <= ?"),
    ),
    "absent in held-out rows": (TABLE, VALID.drop_columns(["a"]), one("? <= a <= ?")),
    "absent in a statistic of held-out rows": (TABLE, VALID.drop_columns(["a"]), derived("a / b")),
    "a constant label": (with_column(TABLE, "y", ["k"] * 120), None, one("b <= ?", label="y")),
    "a missing label": (with_column(TABLE, "y", [None] * 120), None, one("b <= ?", label="y")),
    "an unknown label": (TABLE, None, one("b <= ?", label="kid")),
    "a label that names rows": (with_column(TABLE, "y", NAMES), None, one("b <= ?", label="y")),
    "a label of many classes": (MANY, None, one("a <= ?", label="y")),
    "a label of dates": (with_column(TABLE, "y", DAYS), None, one("b <= ?", label="y")),
    "dates": (with_column(TABLE, "d", DAYS), None, one("? <= d <= ?")),
    "values of dates": (
        with_column(TABLE, "d", DAYS),
        None,
        one("d = Y => ? <= a <= ?", let={"Y": "values(d)"}),
    ),
    "many values": (MANY, None, one("y = Y => ? <= a <= ?", let={"Y": "values(y)"})),
    "many literals": (MANY, None, literals("y")),
    "constant literals": (with_column(TABLE, "y", [1.0] * 120), None, literals("y", "y/4")),
    "a literal twice": (TABLE, None, literals("a/4", "a/3")),
    "a class that is none": (TABLE, None, one("? <= a <= ? => b > 2")),
    "one row": (TABLE.slice(0, 1), None, one("b <= ?")),
    "two rows": (TABLE.slice(0, 2), None, one("b <= ?")),
    "no rows": (TABLE.slice(0, 0), None, one("b <= ?")),
    "no rows and no schema": (TABLE.slice(0, 0), None, None),
    "few rows and no schema": (TABLE.slice(0, 10), None, None),
    "no held-out rows": (TABLE, VALID.slice(0, 0), one("b <= ?")),
    "held-out rows for nothing": (TABLE, VALID, one("b <= ?", validate=False)),
    "large mini-batches": (TABLE, None, one("? <= mean(b) <= ? over 500")),
    "mini-batches too large to validate": (TABLE, None, one("? <= mean(b) <= ? over 50")),
    "mini-batches larger than held-out rows": (TABLE, VALID, one("? <= mean(b) <= ? over 80")),
    "too many candidates": (TABLE, None, {**SCHEMAS["logic"], "limit": 9}),
}


@pytest.mark.parametrize("case", sorted(ERRORS))
def test_what_is_amiss_is_told_in_the_same_words(case):
    """Where memory says what is wrong, where, and what to do, a scan says the same."""
    table, valid, wanted = ERRORS[case]
    held_out = None if valid is None else scanned(valid, ends=(11,))
    expected = outcome(sqrl.learn, table, wanted, valid=valid)
    data = scanned(table, ends=(20, 50), rows_at_once=40)

    assert outcome(sqrl.learn, data, wanted, valid=held_out) == expected
    assert isinstance(expected[1], str)


def test_infinite_values_that_no_rule_speaks_of_are_no_ones_business():
    """Neither a column that is not used, nor one whose buckets cannot be told apart."""
    halves = [np.inf] * 60 + [-np.inf] * 60
    for values in (INFINITE, halves):
        table = with_column(TABLE, "x", values)
        assert learned(scanned(table), one("? <= a <= ?")) == learned(table, one("? <= a <= ?"))
    wanted = {**LOOSE, **literals("x/4", "flag")}

    assert learned(scanned(table), wanted) == learned(table, wanted)
    assert isinstance(learned(table, wanted)[0], str)


def test_mini_batches_that_do_not_fit_are_refused_before_they_are_fetched():
    """The message says how much memory they would take."""
    with pytest.raises(DataError) as caught:
        sqrl.learn(scanned(TABLE, memory=1000), one("? <= mean(a) <= ? over 8"))

    assert caught.value.what == (
        "100 mini-batches of 8 rows take 19,200 bytes, more than the 1,000 allowed."
    )


@pytest.fixture
def files(tmp_path):
    """Five Parquet files of one table, in the order of its rows."""
    for number in range(5):
        rows = TABLE.slice(number * 24, 24)
        pq.write_table(rows, tmp_path / f"part-{number}.parquet", row_group_size=10)
    return tmp_path


def without_source(found):
    """What was learned but for the name of the data."""
    rules, nodes, texts, made, *others = found
    return rules, nodes, texts, {**made, "source": ""}, *others


@pytest.mark.parametrize("form", ["conditional", "logic", "batch"])
def test_files_give_the_rules_of_the_table_that_they_are_cut_from(files, form):
    """A folder is scanned; so is a list of its files in their order."""
    expected = without_source(learned(TABLE, SCHEMAS[form]))

    assert without_source(learned(files, SCHEMAS[form])) == expected
    assert without_source(learned(sorted(files.iterdir()), SCHEMAS[form])) == expected


def test_a_damaged_file_is_named_or_left_out(files):
    """One among many: the rules are then those of the others."""
    bad = files / "part-2.parquet"
    bad.write_bytes(bad.read_bytes()[:-30])
    others = pa.concat_tables([TABLE.slice(0, 48), TABLE.slice(72)])
    with pytest.raises(DataError, match=r"part-2\.parquet"):
        sqrl.learn(files, SCHEMAS["conditional"])
    data = sqrl.scan(files, skip_damaged=True)

    assert [Path(one.split()[0]).name for one in data.skipped] == ["part-2.parquet"]
    found = without_source(learned(data, SCHEMAS["conditional"]))
    assert found == without_source(learned(others, SCHEMAS["conditional"]))


def test_damage_that_shows_only_when_rows_are_read_is_named_too(files):
    """The footer of a file can be sound where its pages are not."""
    bad = files / "part-3.parquet"
    data = bytearray(bad.read_bytes())
    column = pq.ParquetFile(bad).metadata.row_group(0).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    bad.write_bytes(data)

    with pytest.raises(DataError, match=r"part-3\.parquet"):
        sqrl.learn(files, SCHEMAS["conditional"])
