"""Checks of rows that are scanned count what checks in memory count, to the last bit."""

from functools import cache
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sqrl
from made_scans import (
    QUICK,
    SCHEMAS,
    Pieces,
    bits_of_check,
    layouts,
    made_table,
    outcome,
    scanned,
    schema,
    tables,
)
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.scan import Scan
from sqrl.errors import DataError, OutputError

SOME = settings(QUICK, max_examples=4)
LABELLED = schema(
    "kind = Y => ? <= a <= ?",
    "? <= a <= ? => kind = Y",
    "? <= f1(M => kind = Y) <= ? over 8",
    label="kind",
)


@cache
def learned(form):
    """The rules of a form, learned in memory."""
    return sqrl.learn(made_table(11, 200), LABELLED if form == "labelled" else SCHEMAS[form])


def checked(rules, data, **options):
    """All that a check finds, or its error."""
    return outcome(lambda: bits_of_check(sqrl.check(rules, data, **options)))


@pytest.mark.parametrize("form", sorted(SCHEMAS))
@SOME
@given(
    table=tables(min_rows=1),
    layout=layouts(),
    seed=st.integers(0, 9),
    batches=st.none() | st.integers(1, 5),
    memory=st.sampled_from([1, 9_000, 1 << 30]),
)
def test_every_form_of_rule_is_checked_as_in_memory(form, table, layout, seed, batches, memory):
    """Counts, p-values and effects; with room for one mini-batch at a time, or for all."""
    rules = learned(form)
    options = {"seed": seed, "batches": batches}
    found = checked(rules, scanned(table, memory=memory, **layout), **options)

    assert len(rules)
    assert found == checked(rules, table, **options)


def predicted(table, seed, *, words=("Car", "Van", "Person sitting", "Tram", None)):
    """The table with what a model said: classes, some unknown to the rules, some missing."""
    said = np.random.default_rng(seed).choice(np.array(words, object), table.num_rows)
    return table.append_column("said", pa.array(said.tolist(), pa.string()))


@SOME
@given(
    table=tables(),
    layout=layouts(),
    seed=st.integers(0, 9),
    keeps_label=st.booleans(),
    batches=st.none() | st.just(3),
)
def test_predictions_take_the_place_of_the_label(table, layout, seed, keeps_label, batches):
    """Also where the label itself is not in the data; notes say which values nobody speaks of."""
    data = predicted(table, seed)
    data = data if keeps_label else data.drop_columns(["kind"])
    options = {"prediction": "said", "batches": batches}
    rules = learned("labelled")

    assert checked(rules, scanned(data, **layout), **options) == checked(rules, data, **options)


def test_notes_count_rows_without_a_label_and_with_one_that_no_rule_speaks_of():
    """In the words and numbers of a check in memory."""
    table = predicted(made_table(7, 90), 7)
    rules = learned("labelled")
    found = sqrl.check(rules, scanned(table, ends=(20, 61)), prediction="said")
    missing = table["said"].null_count
    tram = table["said"].to_pylist().count("Tram")

    assert found.notes == sqrl.check(rules, table, prediction="said").notes
    assert found.notes[0] == f"{missing} of 90 rows have no value in 'said'"
    assert found.notes[1] == (
        f"{tram} of 90 rows have a value in 'said' of which no rule speaks: Tram"
    )


@pytest.mark.parametrize("n_classes", [5, 1500])
def test_classes_may_be_numbers_and_many(n_classes):
    """More than can be enumerated: a rule about one of them is still checked."""
    rules = sqrl.RuleSet.from_texts(["y = 3 => 0 <= a <= 2000", "y = 4 => a <= 10"])
    numbers = np.random.default_rng(0).permutation(np.arange(3000) % n_classes)
    table = pa.table({"said": numbers, "a": np.arange(3000.0)})
    data = scanned(table, ends=(1000,), rows_at_once=800)
    found = checked(rules, data, prediction="said")

    assert found == checked(rules, table, prediction="said")
    assert isinstance(found[0], str)


@pytest.mark.parametrize("form", [*sorted(SCHEMAS), "none"])
@pytest.mark.parametrize("rows", [0, 3])
def test_too_few_rows_for_a_mini_batch_and_no_rows_at_all(form, rows):
    """Nothing is counted, and the notes say so; no rules are no trouble either."""
    rules = learned("sample")[:0] if form == "none" else learned(form)
    table = made_table(3, 40).slice(0, rows)
    expected = checked(rules, table)

    assert isinstance(expected[0], str)
    assert checked(rules, scanned(table, ends=(1, 1))) == expected
    assert checked(rules, sqrl.scan(table)) == expected
    assert checked(rules, scanned(table), batches=2) == checked(rules, table, batches=2)


def test_a_table_without_parts_has_no_rows():
    """As when no file of a folder has any."""
    table = made_table(3).slice(0, 0)
    nothing = Scan(LocalEngine("Table", (), 1, tuple(table.column_names)))

    for form in ("conditional", "bucketed", "logic", "labelled"):
        assert checked(learned(form), nothing) == checked(learned(form), table)


def test_rules_that_no_row_is_about_have_no_share():
    """Their counts are zero and their p-values unknown."""
    table = made_table(5, 60, missing=1.0)
    for form in ("conditional", "bucketed twice", "class", "logic", "batch"):
        found = checked(learned(form), scanned(table, ends=(9,)))

        assert found == checked(learned(form), table)


MISFITS = {
    "no column": made_table(1).select(["flag"]),
    "an unknown prediction": made_table(1),
    "predictions of other classes": predicted(made_table(1), 1, words=("x", "y")),
}
ODD = {
    "an absent column": made_table(1).drop_columns(["a"]),
    "text for numbers": made_table(1).set_column(0, "a", pa.array(["x", "1.5"] * 60)),
    "numbers for text": made_table(1).set_column(5, "kind", pa.array([1.0] * 120)),
    "large integers": made_table(1).set_column(0, "a", pa.array([1] * 119 + [2**60 + 1])),
}


@pytest.mark.parametrize("case", sorted(MISFITS))
def test_data_that_does_not_fit_the_rules_is_told_in_the_same_words(case):
    """What the rules need, what the data has instead, and what to do."""
    table = MISFITS[case]
    prediction = "said" if "prediction" in case else None
    rules = learned("labelled")
    expected = outcome(sqrl.check, rules, table, prediction=prediction)

    assert outcome(sqrl.check, rules, scanned(table, ends=(50,)), prediction=prediction) == expected
    assert issubclass(expected[0], DataError | sqrl.SqrlError)


@pytest.mark.parametrize("case", sorted(ODD))
def test_columns_that_are_gone_or_of_another_kind_are_read_alike(case):
    """Counts, p-values and plain facts are those of rows in memory, to the last bit."""
    rules = learned("labelled") + learned("sample")
    whole, parts = (sqrl.check(rules, data) for data in (ODD[case], scanned(ODD[case], ends=(50,))))
    facts = [
        [(one.kind, one.columns, one.text, one.n_rows) for one in found.findings()[:1]]
        for found in (whole, parts)
    ]

    assert bits_of_check(parts) == bits_of_check(whole)
    assert repr(parts.columns) == repr(whole.columns)
    assert facts[0] == facts[1]


def read_back(folder):
    """The rows that were written, in the order of the files' names."""
    return [row for file in sorted(folder.iterdir()) for row in pq.read_table(file).to_pylist()]


def by_row(found):
    """The rules that each row breaks, by a plain loop over the broken pairs."""
    pairs = sorted(zip(found.pair_row.tolist(), found.pair_rule.tolist(), strict=True))
    broken = {row: [rule + 1 for _, rule in mine] for row, mine in groupby(pairs, lambda p: p[0])}
    return [{"row": row + 1, "violations": broken.get(row, [])} for row in range(found.n_rows)]


@pytest.mark.parametrize("form", ["conditional", "bucketed", "class", "batch", "labelled"])
@SOME
@given(table=tables(min_rows=1), layout=layouts(), seed=st.integers(0, 9))
def test_written_violations_are_those_of_every_row(tmp_path_factory, form, table, layout, seed):
    """Numbers from 1, a row for each row, in order; rules about mini-batches are of no row."""
    rules = learned(form) + learned("batch")
    prediction = "said" if form == "labelled" else None
    table = predicted(table, seed)
    assume(
        set(table["said"].to_pylist()) - {"Tram", None}
    )  # predictions that name no class: refused
    folder = tmp_path_factory.mktemp("written") / "violations"
    n_files = sqrl.write_violations(rules, scanned(table, **layout), folder, prediction=prediction)

    assert read_back(folder) == by_row(sqrl.check(rules, table, prediction=prediction))
    assert len(list(folder.iterdir())) == n_files


def test_violations_can_be_written_of_a_table_and_into_an_empty_folder(tmp_path):
    """A table in memory is scanned like any other."""
    table, folder = made_table(3, 30), tmp_path / "out"
    folder.mkdir()
    n_files = sqrl.write_violations(learned("class"), table, folder)

    assert n_files == 1
    assert read_back(folder) == by_row(sqrl.check(learned("class"), table))


def test_no_rows_leave_an_empty_folder(tmp_path):
    """The answer to which rows break rules is then complete."""
    folder = tmp_path / "out"

    assert sqrl.write_violations(learned("class"), made_table(3).slice(0, 0), folder) == 0
    assert list(folder.iterdir()) == []


def test_a_folder_that_holds_something_is_refused(tmp_path):
    """Before any work, and nothing in it is touched."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep me")
    (tmp_path / "file").write_text("keep me too")
    for name, what in (
        ("out", "The folder holds other files, such as 'mine.txt'."),
        ("file", "The output is a file."),
        ("no/where", "The folder of the output does not exist."),
    ):
        with pytest.raises(OutputError) as caught:
            sqrl.write_violations(learned("class"), made_table(3), tmp_path / name)
        assert caught.value.what == what

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "mine.txt", "out"]


class Breaks(Pieces):
    """A part that cannot be read to its end when it is read for the second time."""

    seen = 0

    def read(self, columns):
        for batch in super().read(columns):
            if Breaks.seen > 3:
                raise DataError("The file is damaged.", where=self.name)
            Breaks.seen += 1
            yield batch


def test_an_error_in_the_middle_leaves_nothing_behind(tmp_path):
    """Neither the folder nor the unfinished one: half an answer looks like a whole one."""
    table = made_table(3)
    Breaks.seen = 0
    parts = (Pieces("part 0", table, 50), Breaks("part 1", table, 50))
    engine = LocalEngine("Table", parts, 1, tuple(table.column_names))
    with pytest.raises(DataError, match="part 1"):
        sqrl.write_violations(learned("class"), Scan(engine), tmp_path / "out")

    assert list(tmp_path.iterdir()) == []
