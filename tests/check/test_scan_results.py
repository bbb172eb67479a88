"""What a check of scanned rows finds: all that needs no rows works, the rest refuses in words."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import fisher_exact

import sqrl
from made_scans import bits_of_check, made_table, scanned
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.scan import Scan
from sqrl.errors import DataError, OutputError, UnknownNameError
from sqrl.report._junit import junit_xml

RULES = sqrl.RuleSet.from_texts(
    [
        "-1 <= a <= 1",
        "kind = Car => b <= 2",
        "0 <= mean(a) <= 1 over 8",
        "rate(flag) <= 0.4 over 5",
        "flag and b > 2 => kind = Van",
    ]
)
NO_ROWS = (
    "These rows were scanned, never all in memory: it was counted how many of them break each rule,"
    " not kept which.\n"
    "  where: Table\n"
    "  fix:   check some of the rows, or write which with check(.., violations=FOLDER)"
)


@cache
def both(seed=11, n_rows=90, **options):
    """The results of the same rows, scanned and in memory."""
    table = made_table(seed, n_rows)
    return sqrl.check(RULES, scanned(table, ends=(30,)), **options), sqrl.check(
        RULES, table, **options
    )


def test_scans_and_tables_give_results_of_one_class():
    """Code that reads counts need not know where the rows were."""
    scan, table = both()

    assert type(scan) is type(table) is sqrl.Violations is sqrl.Tally
    assert (scan.has_rows, table.has_rows) == (False, True)
    assert bits_of_check(scan) == bits_of_check(table)
    assert repr(scan) == repr(table)
    assert scan._repr_html_() == table._repr_html_()


@pytest.mark.parametrize(
    "ask",
    [
        lambda found: found.table,
        lambda found: found.batches,
        lambda found: found.pair_rule,
        lambda found: found.pair_row,
        lambda found: found.pair_excess,
        lambda found: found.row_counts(),
        lambda found: found.row_degree(),
        lambda found: found.rows_of(0),
        lambda found: found.rules_of(0),
        lambda found: found.outcomes(0),
        lambda found: found.sentences(0),
        lambda found: found.slices(),
        lambda found: found.plot(0),
    ],
)
def test_what_needs_rows_says_that_they_were_scanned(ask):
    """What, where, and how to get them."""
    scan, table = both()
    with pytest.raises(DataError) as caught:
        ask(scan)

    assert str(caught.value) == NO_ROWS
    ask(table)


def test_mini_batches_and_the_drawing_of_all_rules_need_no_rows():
    """Statistics of mini-batches and counts are kept."""
    scan, table = both()

    assert scan.outcomes(2).tolist() == table.outcomes(2).tolist()
    assert scan.plot().get_xlabel() == table.plot().get_xlabel()


@pytest.mark.parametrize("places", [(0, 0), (0, 1), (1, 0)])
def test_counts_of_scans_are_compared(places):
    """By Fisher's exact test, as of different rows, also where one result is of a table."""
    before, after = both(1)[places[0]], both(2, 70)[places[1]]
    found = sqrl.compare(before, after)

    assert not found.is_paired
    for index in range(len(RULES)):
        table = [
            [int(one.broken[index]), int(one.applicable[index] - one.broken[index])]
            for one in (after, before)
        ]
        one_sided = min(fisher_exact(table, side).pvalue for side in ("less", "greater"))
        assert found.p_value[index] == pytest.approx(min(1, 2 * one_sided))
        assert found.change[index] == pytest.approx(after.share()[index] - before.share()[index])
    assert found.summary().endswith("beyond chance, on scanned rows, taken as different ones")


def test_mini_batches_that_share_rows_have_no_p_value_in_a_comparison_of_scans():
    """As in memory: whether they do is kept."""
    drawn = [both(seed, 70, batches=40) for seed in (1, 2)]
    scans, tables = (sqrl.compare(*pair) for pair in zip(*drawn, strict=True))

    assert np.isnan(scans.p_value).tolist() == [False, False, True, True, False]
    np.testing.assert_array_equal(scans.p_value, tables.p_value)
    assert drawn[0][0].overlapping == drawn[0][1].overlapping == {5, 8}
    assert both()[0].overlapping == both()[1].overlapping == frozenset()


def test_a_report_in_markdown_and_junit_need_no_rows(tmp_path):
    """Both are the same as in memory, to the last letter."""
    scan, table = both()
    for name, found in (("scan.md", scan), ("table.md", table)):
        sqrl.write_report(found, tmp_path / name, compared=found)

    assert (tmp_path / "scan.md").read_text() == (tmp_path / "table.md").read_text()
    assert junit_xml(scan, scan.broken > 0) == junit_xml(table, table.broken > 0)


@pytest.mark.parametrize("role", ["violations", "compared", "reference"])
def test_a_page_of_scanned_rows_is_refused(tmp_path, role):
    """It draws rows; nothing is written."""
    scan, table = both()
    given = {"violations": table, role: scan}
    with pytest.raises(DataError) as caught:
        sqrl.write_report(given.pop("violations"), tmp_path / "page.html", **given)

    assert str(caught.value) == (
        "A report shows rows, and these are scanned, never all in memory.\n"
        "  where: Table\n"
        "  fix:   end its name in .md, check some of the files, or use --engine memory"
    )
    assert list(tmp_path.iterdir()) == []


def test_explaining_and_repairing_scans_is_refused(tmp_path):
    """A scan, a glob, a folder and a list of files are all never in memory together."""
    table = made_table(3, 30)
    pq.write_table(table, tmp_path / "a.parquet")
    for data, where in (
        (scanned(table), "Table"),
        (f"{tmp_path}/*.parquet", f"{tmp_path}/*.parquet"),
        (str(tmp_path), str(tmp_path)),
        ([str(tmp_path / "a.parquet")], str([str(tmp_path / "a.parquet")])),
    ):
        for what, work in (
            ("A repair", lambda data: sqrl.repair(RULES, data)),
            ("An explanation", lambda d: sqrl.explain(RULES, d, prediction="kind", truth="kind")),
        ):
            with pytest.raises(DataError) as caught:
                work(data)
            assert str(caught.value) == (
                f"{what} needs all rows in memory, and these are scanned.\n"
                f"  where: {where}\n"
                "  fix:   give some of the rows, such as one file"
            )


class Counting:
    """An engine that counts how often jobs go through the rows."""

    runs = 0

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run(self, *given, **options):
        Counting.runs += 1
        return self.engine.run(*given, **options)


def read_back(folder):
    """The rows that were written, in the order of the files' names."""
    return [row for file in sorted(folder.iterdir()) for row in pq.read_table(file).to_pylist()]


def test_rows_are_counted_and_written_in_one_pass(tmp_path):
    """One pass looks at the columns, one counts and writes; the result is as without."""
    table = made_table(7, 90)
    scan = scanned(table, ends=(20, 61))
    Counting.runs = 0
    counting = Scan(Counting(scan.engine), scan.memory)
    found = sqrl.check(RULES, counting, violations=tmp_path / "broken")
    n_runs = Counting.runs
    sqrl.write_violations(RULES, table, tmp_path / "later")

    assert n_runs == 2
    assert bits_of_check(found) == bits_of_check(sqrl.check(RULES, table))
    assert read_back(tmp_path / "broken") == read_back(tmp_path / "later")
    assert len(read_back(tmp_path / "broken")) == 90


def test_rows_in_memory_are_written_to_a_folder_or_a_file(tmp_path):
    """The folder is that of a scan; the file has a line for each broken pair."""
    table = made_table(7, 90)
    found = sqrl.check(RULES, table, violations=tmp_path / "broken")
    sqrl.check(RULES, table, violations=tmp_path / "pairs.parquet")
    sqrl.write_violations(RULES, scanned(table), tmp_path / "scanned")
    pairs = pq.read_table(tmp_path / "pairs.parquet")

    assert read_back(tmp_path / "broken") == read_back(tmp_path / "scanned")
    assert pairs["row"].to_pylist() == (found.pair_row + 1).tolist()
    assert pairs["rule"].to_pylist() == (found.pair_rule + 1).tolist()


def test_a_file_of_pairs_of_scanned_rows_is_refused(tmp_path):
    """Before any work: a folder has to be named."""
    with pytest.raises(OutputError) as caught:
        sqrl.check(RULES, scanned(made_table(7)), violations=tmp_path / "broken.csv")

    assert str(caught.value) == (
        "A .csv file lists broken rows that are in memory, and these are scanned.\n"
        f"  where: {tmp_path / 'broken.csv'}\n"
        "  fix:   name a folder, such as broken"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_check_that_fails_leaves_no_folder(tmp_path):
    """Neither the one asked for nor what was begun of it."""
    nothing = pa.table({"other": [1.0, 2.0]})
    with pytest.raises(UnknownNameError, match="The rules need a column 'a'"):
        sqrl.check(RULES, nothing, violations=tmp_path / "broken")

    assert list(tmp_path.iterdir()) == []


def test_rows_are_written_though_the_passes_are_remembered(tmp_path):
    """A pass that writes has to happen, whatever a folder knows of an earlier one."""
    pq.write_table(made_table(7, 90), tmp_path / "a.parquet")
    for name in ("one", "two"):
        data = sqrl.scan(tmp_path / "a.parquet", resume=tmp_path / "kept")
        sqrl.check(RULES, data)
        sqrl.check(RULES, data, violations=tmp_path / name)

    assert read_back(tmp_path / "one") == read_back(tmp_path / "two")
    assert len(read_back(tmp_path / "two")) == 90


def test_a_label_of_numbers_is_noted_alike():
    """Values of which no rule speaks, and missing ones, are counted wherever the rows are."""
    rules = sqrl.RuleSet.from_texts(["y = 1 => a <= 3", "y = 2 => a <= 4"])
    table = pa.table({"y": [1, 2, 3, None, 3, -0.0], "a": np.arange(6.0)})
    engine = LocalEngine("Table", scanned(table, ends=(2, 4)).engine.parts, 1, ("y", "a"))

    assert sqrl.check(rules, Scan(engine)).notes == sqrl.check(rules, table).notes
    assert sqrl.check(rules, table).notes == (
        "1 of 6 rows have no value in 'y'",
        "3 of 6 rows have a value in 'y' of which no rule speaks: 0, 3",
    )
