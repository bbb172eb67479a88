"""Table: the same from any frame or file, and what can be asked of it."""

import pickle
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._data.column import column_sum
from sqrl._data.table import Table, as_table, fingerprint_of, read_table
from sqrl.errors import DataError, UnknownNameError

DATA = {"n": [3, None, 1], "x": [0.5, 2.5, None], "b": [True, None, False], "w": ["b", None, "a"]}


def refusal(action, error=DataError):
    """The text of the error that the action gives."""
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)


def rows(table):
    """The table's content as plain Python values, None where one is missing."""
    return {name: _plain(column) for name, column in table.columns.items()}


def _plain(column):
    values = column.values.tolist()
    if column.kind == "category":
        values = [column.categories[code] if code >= 0 else None for code in values]
    gaps = column.missing().tolist()
    return [None if gap else value for value, gap in zip(values, gaps, strict=True)]


def pandas_frame():
    """A frame with the newer types of pandas, and an index that is not a range."""
    columns = {
        "n": pd.array(DATA["n"], dtype="Int64"),
        "x": np.array([0.5, 2.5, np.nan]),
        "b": pd.array(DATA["b"], dtype="boolean"),
        "w": pd.Categorical(DATA["w"], categories=["unused", "b", "a"]),
    }
    return pd.DataFrame(columns, index=[7, 5, 9])


def polars_frame():
    """A frame with an enumeration."""
    return pl.DataFrame(DATA, schema_overrides={"w": pl.Enum(["unused", "b", "a"])})


FRAMES = {
    "dict of lists": lambda: DATA,
    "dict of arrays": lambda: {name: np.array(DATA[name], object) for name in DATA},
    "dict of pandas series": lambda: dict(pandas_frame().items()),
    "dict of polars series": lambda: {series.name: series for series in polars_frame()},
    "pandas": pandas_frame,
    "pandas, as it guesses": lambda: pd.DataFrame(DATA),
    "pandas, objects": lambda: pd.DataFrame(DATA, dtype=object),
    "pandas, filtered": lambda: pd.concat([pandas_frame()] * 2).iloc[3:],
    "polars": polars_frame,
    "polars, categorical": lambda: pl.DataFrame(DATA).cast({"w": pl.Categorical}),
    "polars, lazy": lambda: polars_frame().lazy(),
    "pyarrow": lambda: pa.table(DATA),
    "pyarrow, in chunks": lambda: pa.concat_tables([pa.table(DATA)[:1], pa.table(DATA)[1:]]),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_every_frame_gives_the_same_table(frame):
    """Which library holds the data makes no difference."""
    table = as_table(frame())

    assert rows(table) == DATA
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds == {"n": "number", "x": "number", "b": "boolean", "w": "category"}
    assert table["w"].categories == ("a", "b")
    assert (table["n"].is_integer, table["x"].is_integer) == (True, False)
    assert table.fingerprint() == as_table(DATA).fingerprint()


def test_a_table_is_returned_as_it_is():
    """Whoever takes data may call as_table without thinking."""
    table = as_table(DATA)

    assert as_table(table) is table
    assert as_table(table, source="mine").source == "mine"


def test_a_path_is_read(tmp_path):
    """As text or as a Path."""
    path = tmp_path / "a.csv"
    path.write_text("n\n3\n")

    assert as_table(path).source == as_table(str(path)).source == "a.csv"
    assert rows(as_table(path, source="mine")) == {"n": [3.0]}


def test_numbers_for_names_become_text():
    """A frame made without names is still a table."""
    assert as_table(pd.DataFrame([[1, 2]])).names == ("0", "1")


@pytest.mark.parametrize("data", [3, [1, 2], None, np.zeros((2, 2)), pd.Series([1])])
def test_what_is_not_a_table_is_refused(data):
    """The message lists what is accepted."""
    name = type(data).__name__

    assert refusal(lambda: as_table(data)) == (
        f"A {name} is not a table.\n  where: {name}\n  fix:   pass a path, "
        "a pandas or polars DataFrame, a pyarrow Table or a dict of arrays"
    )


def test_a_frame_with_a_column_of_mixed_types_is_refused():
    """The message names the column."""
    frame = pd.DataFrame({"a": [1, "x"]})

    assert refusal(lambda: as_table(frame, source="mine")) == (
        "The data cannot be made a table: Could not convert 'x' with type str: tried to convert "
        "to int64 Conversion failed for column a with type object.\n  where: mine\n"
        "  fix:   give every column a name and one type of value"
    )


def test_names_that_occur_twice_are_refused():
    """Whichever library let them pass."""
    arrow = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    mapping = {"1": [1], 1: [2]}

    fix = "give every column a name of its own"
    what = "Column names occur more than once: 'a'."
    assert refusal(lambda: as_table(arrow)) == f"{what}\n  where: Table\n  fix:   {fix}"
    what = "Column names occur more than once: '1'."
    assert refusal(lambda: as_table(mapping)) == f"{what}\n  where: dict\n  fix:   {fix}"
    with pytest.raises(DataError, match=r"'a' 2 times"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_of_different_lengths_are_refused():
    """The first column says how many rows there are."""
    assert refusal(lambda: as_table({"a": [1, 2], "b": [1]})) == (
        "Column 'b' has 1 values, but there are 2 rows.\n  where: dict\n"
        "  fix:   give one value for every row"
    )


def test_a_misspelt_column_is_answered_with_the_nearest_one():
    """And with the table it was looked for in."""
    table = as_table({"height": [1], "weight": [2]}, source="people.csv")

    assert refusal(lambda: table["hieght"], UnknownNameError) == (
        "Unknown column 'hieght'.\n  where: people.csv\n  fix:   did you mean 'height'?"
    )
    assert "height" in table
    assert "hieght" not in table


def test_taking_rows_takes_them_in_every_column():
    """In the order asked for, as often as asked for; a mask selects."""
    table = as_table(DATA)
    some = table.take(np.array([2, 0, 0]))

    assert rows(some) == {name: [DATA[name][row] for row in (2, 0, 0)] for name in DATA}
    assert (len(some), some.source) == (3, "dict")
    assert len(table.take(np.array([True, False, True]))) == 2
    assert len(table.take(np.array([], dtype=int))) == 0


def test_new_columns_stand_after_the_old_ones():
    """The table they are added to stays as it was."""
    table = as_table({"n": [1, 2]})
    more = table.with_columns({"half": np.array([0.5, 1.0]), "word": ["a", None]})

    assert (table.names, more.names) == (("n",), ("n", "half", "word"))
    assert [more[name].kind for name in more] == ["number", "number", "category"]


def test_columns_may_be_replaced_where_that_is_said():
    """In their place; the others are the same objects."""
    table = as_table({"n": [1, 2], "word": ["a", "b"]})
    other = table.with_columns({"n": ["x", "y"], "more": [0, 0]}, replace=True)

    assert other.names == ("n", "word", "more")
    assert other["n"].distinct() == ("x", "y")
    assert other["word"] is table["word"]
    assert table["n"].distinct() == (1, 2)


def test_new_columns_must_fit():
    """One value a row, under a name that is free."""
    table = as_table({"n": [1, 2]}, source="a.csv")

    assert refusal(lambda: table.with_columns({"m": [1, 2, 3]})) == (
        "Column 'm' has 3 values, but there are 2 rows.\n  where: a.csv\n"
        "  fix:   give one value for every row"
    )
    assert refusal(lambda: table.with_columns({"n": [1, 2]})) == (
        "There is already a column named 'n'.\n  where: a.csv\n"
        "  fix:   give the new column another name"
    )


def test_the_order_of_columns_and_unused_categories_leave_the_fingerprint():
    """Neither is content: columns are found by name, words by their rows."""
    table = as_table(DATA)
    backwards = as_table({name: DATA[name] for name in reversed(DATA)})
    last = table.take(np.array([2]))

    assert backwards.fingerprint() == table.fingerprint()
    assert last.fingerprint() == as_table({name: DATA[name][2:] for name in DATA}).fingerprint()
    assert table.fingerprint(["n"]) == as_table({"n": DATA["n"]}).fingerprint()


CHANGES = {
    "a number": DATA | {"n": [3, None, 2]},
    "a number gone missing": DATA | {"n": [3, None, None]},
    "a boolean": DATA | {"b": [False, None, False]},
    "a word": DATA | {"w": ["b", None, "c"]},
    "a word gone missing": DATA | {"w": [None, None, "a"]},
    "two words exchanged": DATA | {"w": ["a", None, "b"]},
    "booleans as numbers": DATA | {"b": [1, None, 0]},
    "numbers as words": DATA | {"n": ["3", None, "1"]},
    "a new column": DATA | {"m": [1, 2, 3]},
    "an empty column": DATA | {"m": [None, None, None]},
    "a column gone": {name: DATA[name] for name in "nxb"},
    "a name": {name.upper(): values for name, values in DATA.items()},
    "names exchanged": DATA | {"n": DATA["x"], "x": DATA["n"]},
    "a row gone": {name: values[:2] for name, values in DATA.items()},
    "rows in another order": {name: values[::-1] for name, values in DATA.items()},
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES.keys())
def test_any_change_changes_the_fingerprint(changed):
    """Rules can tell whether they are shown the data they were learned from."""
    assert as_table(changed).fingerprint() != as_table(DATA).fingerprint()


def test_a_fingerprint_stays_the_same_from_version_to_version():
    """It is written into rules files."""
    assert as_table(DATA).fingerprint() == "15db477fd104571a"


NUMBERS = st.none() | st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0])


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.none() | st.text("abc", max_size=2))), st.integers(0, 50))
def test_a_fingerprint_is_made_of_parts(drawn, cut):
    """Of rows read one chunk after the other, whatever words each of them has seen."""

    def table(some):
        numbers, words = ([row[i] for row in some] for i in (0, 1))
        arrays = {"x": pa.array(numbers, pa.float64()), "w": pa.array(words, pa.string())}
        return as_table(pa.table(arrays))

    whole, start, end = table(drawn), table(drawn[:cut]), table(drawn[cut:])
    sums = {
        name: (whole[name].kind, column_sum(start[name]) + column_sum(end[name], len(start)))
        for name in whole
    }

    assert fingerprint_of(len(drawn), sums) == whole.fingerprint()


def test_large_columns_add_up_as_small_ones_do():
    """Compiled loops, which take over where there are many rows, change nothing."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(200_000) < 0.1, np.nan, rng.normal(size=200_000))
    words = pa.array(rng.integers(0, 9, 200_000).astype(str))
    for column in as_table(pa.table({"x": values, "w": words})).columns.values():
        parts = (
            column_sum(column.take(np.arange(first, first + 10_000)), first)
            for first in range(0, 200_000, 10_000)
        )

        assert column_sum(column) == sum(parts) % 2**64


def test_a_column_with_nothing_in_it_has_no_kind():
    """An empty column of a CSV file is no number, no word and no boolean."""
    kinds = (pa.float64(), pa.bool_(), pa.string())
    tables = [as_table(pa.table({"a": pa.nulls(3, kind)})) for kind in kinds]
    others = as_table(pa.table({"a": pa.nulls(3, pa.binary())}))

    assert len({table.fingerprint() for table in tables}) == 1
    assert others.fingerprint() != tables[0].fingerprint()


def test_a_fingerprint_of_unknown_columns_is_refused():
    """Like every other use of a wrong name."""
    with pytest.raises(UnknownNameError, match="did you mean 'n'"):
        as_table({"n": [1]}).fingerprint(["N"])


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).map("x{}".format)
rows_of_three = st.lists(
    st.tuples(
        st.none() | st.floats(allow_nan=False),
        st.none() | st.integers(-(2**53), 2**53),
        st.none() | st.booleans(),
        st.none() | words,
    ),
    min_size=1,
)


@settings(deadline=None)
@given(rows_of_three)
def test_values_and_gaps_survive_every_journey(drawn):
    """Python to Arrow to a file and back: the same values, missing in the same places."""
    data = dict(zip("xnbw", (list(values) for values in zip(*drawn, strict=True)), strict=True))
    types = {"x": pa.float64(), "n": pa.int64(), "b": pa.bool_(), "w": pa.string()}
    arrow = pa.table(data, schema=pa.schema(types))
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(arrow, Path(folder, "a.parquet"))
        pyarrow.csv.write_csv(arrow, Path(folder, "a.csv"))
        tables = [as_table(data), as_table(arrow), as_table(pl.from_arrow(arrow))]
        tables += [read_table(Path(folder, name)) for name in ("a.parquet", "a.csv")]

    assert all(rows(table) == data for table in tables)
    assert len({table.fingerprint() for table in tables}) == 1


def test_the_html_view_shows_each_column_and_escapes_every_name():
    """What a notebook shows cannot be made to run by a file's header."""
    data = {"<b>": [1, None], "w": ["<i>", "a"], "d": np.array(["2020", "2021"], "datetime64[D]")}
    html = as_table(data, source="<script>.csv")._repr_html_()

    assert html == (
        "<table><caption>&lt;script&gt;.csv: 2 rows, 3 columns</caption>"
        "<thead><tr><th>name</th><th>kind</th><th>missing</th><th>values</th></tr></thead><tbody>"
        "<tr><td>&lt;b&gt;</td><td>number</td><td>1</td><td>1 .. 1</td></tr>"
        "<tr><td>w</td><td>category</td><td>0</td><td>2 distinct</td></tr>"
        "<tr><td>d</td><td>date</td><td>0</td><td>2020-01-01 .. 2021-01-01</td></tr>"
        "</tbody></table>"
    )


def test_the_html_view_of_a_wide_table_is_cut():
    """A thousand columns do not fill a notebook."""
    html = as_table({f"c{number}": [1] for number in range(130)})._repr_html_()

    assert html.count("<tr>") == 101
    assert html.endswith("</table><p>and 30 more columns</p>")


def test_a_table_can_be_sent_to_another_process():
    """Work can be spread over several."""
    table = pickle.loads(pickle.dumps(as_table(DATA)))

    assert isinstance(table, Table)
    assert table.fingerprint() == as_table(DATA).fingerprint()


def test_reading_files_imports_no_dataframe_library(tmp_path):
    """The command line stays quick, and works without pandas and polars."""
    table = pa.table(DATA)
    pyarrow.csv.write_csv(table, tmp_path / "a.csv")
    pq.write_table(table, tmp_path / "a.parquet")
    code = (
        "import sys, numpy; from sqrl._data.table import read_table\n"
        "for path in sys.argv[1:]:\n"
        "    read_table(path).with_columns({'m': numpy.zeros(3)}).fingerprint()\n"
        "print(sorted({'pandas', 'polars', 'numba', 'narwhals'} & set(sys.modules)))"
    )
    files = [str(tmp_path / name) for name in ("a.csv", "a.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("text", ["0.7", "0.3", "-12.30", "1.1", "123456789.987654321", "7"])
def test_a_decimal_is_the_float_nearest_to_it(text):
    """As the same digits in a CSV file are: a rule written with them is kept."""
    column = as_table(pa.table({"x": pa.array([Decimal(text), None])}))["x"]

    assert column.values.tolist()[0] == float(text)
    assert np.isnan(column.values[1])
