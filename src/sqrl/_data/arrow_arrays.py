"""Arrow arrays from plain values, and back.

Where pandas is installed, pyarrow.array imports it, which takes longer than most commands, to ask
whether what it was given is a Series. What is known to be none is built from its bytes here.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

NUMPY: dict[pa.DataType, type[np.generic]] = {
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.float64(): np.float64,
    pa.bool_(): np.bool_,
}


def from_numpy(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """The Arrow array of numbers or booleans in one dimension, null where one is missing.

    >>> from_numpy(np.array([1.5, 2.0]), np.array([False, True])).to_pylist()
    [1.5, None]
    """
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    is_boolean = plain.dtype.kind == "b"
    kind = pa.bool_() if is_boolean else pa.from_numpy_dtype(plain.dtype)
    content = pa.py_buffer(_bits(plain) if is_boolean else plain)
    valid = None if missing is None or not missing.any() else pa.py_buffer(_bits(~missing))
    return pa.Array.from_buffers(kind, plain.size, [valid, content])


def from_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The Arrow array of text, numbers, lists of these or structures; None is null.

    >>> from_values([[1, 2], None], pa.list_(pa.int32())).to_pylist()
    [[1, 2], None]
    """
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    # A mask given to pyarrow would import pyarrow.compute to invert it.
    valid = pa.py_buffer(_bits(~missing)) if missing.any() else None
    if pa.types.is_string(kind):
        return _text([value or "" for value in values], missing)
    if pa.types.is_list(kind):
        lists = [value or () for value in values]
        flat = from_values(list(chain.from_iterable(lists)), kind.value_type)
        offsets = pa.py_buffer(_ends([len(value) for value in lists]))
        return pa.Array.from_buffers(kind, len(values), [valid, offsets], children=[flat])
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        columns = [
            from_values([value and value[f.name] for value in values], f.type) for f in fields
        ]
        return pa.Array.from_buffers(kind, len(values), [valid], children=columns)
    numbers = [0 if value is None else value for value in values]
    return from_numpy(np.array(numbers, NUMPY[kind]), missing)


def repeated(value: Any, n: int, kind: pa.DataType) -> pa.Array:
    """The Arrow array of n times the same value.

    >>> repeated("a", 2, pa.string()).to_pylist()
    ['a', 'a']
    """
    return pa.repeat(from_values([value], kind)[0], n)


def to_numpy(data: pa.Array, dtype: type[np.generic], missing: float) -> NDArray[Any]:
    """A copy of a primitive Arrow array; pyarrow's own to_numpy would import pandas.

    >>> to_numpy(from_values([1, None], pa.int32()), np.int32, -1).tolist()
    [1, -1]
    """
    valid, content = data.buffers()
    if content is None:
        return np.full(len(data), missing, dtype)
    end = data.offset + len(data)
    values = np.frombuffer(content, dtype, count=end)[data.offset :].copy()
    if data.null_count:
        bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")
        values[bits[data.offset :] == 0] = missing
    return values


def put_numpy(data: pa.Array, dtype: type[np.generic], into: NDArray[np.float64]) -> None:
    """Write a primitive Arrow array of numbers into floats, nan where one is missing.

    >>> into = np.empty(2)
    >>> put_numpy(from_values([1, None], pa.int32()), np.int32, into)
    >>> into.tolist()
    [1.0, nan]
    """
    valid, content = data.buffers()
    if content is None:
        into[:] = np.nan
        return
    end = data.offset + len(data)
    into[:] = np.frombuffer(content, dtype, count=end)[data.offset :]
    if data.null_count:
        bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")
        into[bits[data.offset :] == 0] = np.nan


def _text(words: list[str], missing: NDArray[np.bool_]) -> pa.Array:
    encoded = [word.encode() for word in words]
    offsets = pa.py_buffer(_ends([len(word) for word in encoded]))
    valid = pa.py_buffer(_bits(~missing)) if missing.any() else None
    content = [valid, offsets, pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(words), content)


def _ends(lengths: list[int]) -> NDArray[np.int32]:
    ends = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))])
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{ends[-1]:,} bytes or items are too many for one array")
    return ends.astype(np.int32)


def _bits(values: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(values, bitorder="little")
