"""Arrow arrays built from bytes are those that pyarrow makes of the same values."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._data.arrow_arrays import from_numpy, from_values, repeated, to_numpy

PIECE = pa.struct([("test", pa.int32()), ("lower", pa.float64())])
PIECES = st.fixed_dictionaries(
    {"test": st.none() | st.integers(0, 9), "lower": st.none() | st.floats(-9, 9)}
)
KINDS = {
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=5),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.list_(pa.int32()): st.lists(st.integers(0, 9), max_size=3),
    pa.list_(pa.float64()): st.lists(st.floats(-9, 9), max_size=3),
    pa.list_(PIECE): st.lists(PIECES, max_size=3),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_plain_values_make_the_array_that_pyarrow_makes(kind):
    """Text, numbers, lists and structures, with None in between, or none at all."""

    @settings(deadline=None)  # pyarrow.array imports pandas
    @given(st.lists(st.none() | KINDS[kind], max_size=12))
    def compare(values):
        made = from_values(values, kind)
        made.validate(full=True)

        assert made.type == kind
        assert made.equals(pa.array(values, kind))

    compare()


@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "u2", "u8", "f4", "f8", ">i4", ">f8"])
def test_numbers_of_any_width_keep_their_values(dtype):
    """Also booleans, which Arrow packs into bits, strided arrays, and other byte orders."""
    values = (np.arange(22) % 3).astype(dtype)[::2]
    missing = np.arange(11) % 4 == 1
    made = from_numpy(values, missing)
    made.validate(full=True)
    native = values.astype(values.dtype.newbyteorder("="))

    assert made.equals(pa.array(native, mask=missing))
    assert from_numpy(values).equals(pa.array(native))


def test_an_array_comes_back_as_it_was():
    """Slices and nulls included."""
    values = from_values([1, None, 3, None, 5], pa.int32())

    assert to_numpy(values.slice(1, 3), np.int32, -1).tolist() == [-1, 3, -1]
    assert to_numpy(pa.nulls(2, pa.int32()), np.int32, -1).tolist() == [-1, -1]


def test_a_value_is_repeated():
    """As often as asked for, which may be never."""
    assert repeated("a", 3, pa.string()).to_pylist() == ["a"] * 3
    assert len(repeated(1, 0, pa.int32())) == 0
